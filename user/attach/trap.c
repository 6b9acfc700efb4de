/* SPDX-License-Identifier: BSD-2-Clause */
#include "attach/trap.h"

#include "attach/kernel.h"
#include "attach/tracer_int.h"
#include "probe/maps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A nop, as the sites of probes are. */
__asm__(".pushsection .text\n"
	".globl vmspan_trap_site\n"
	".hidden vmspan_trap_site\n"
	".type vmspan_trap_site, %function\n"
	"vmspan_trap_site: nop\n"
	"ret\n"
	".popsection\n");
extern void vmspan_trap_site(void);

#define ROUNDS 7
#define TRAPS 3000

/* Where it lies in the file that holds it. 0 or negative errno. */
static int find_site(u64 *offset)
{
	u64 at = (u64)(uintptr_t)vmspan_trap_site;
	struct maps m;
	int r = maps_read((u32)getpid(), &m);
	u32 i;

	if (r)
		return r;
	r = -ENOENT;
	for (i = 0; i < m.count && r; i++) {
		const struct map_entry *e = &m.entries[i];

		if (at < e->start || at >= e->end)
			continue;
		*offset = at - e->start + e->pgoff;
		r = 0;
	}
	maps_free(&m);
	return r;
}

static u64 thread_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (u64)ts.tv_sec * NSEC_PER_SEC + (u64)ts.tv_nsec;
}

static u64 one_round(void)
{
	u64 begin = thread_ns();
	int i;

	for (i = 0; i < TRAPS; i++)
		vmspan_trap_site();
	return (thread_ns() - begin) / TRAPS;
}

static int compare(const void *a, const void *b)
{
	const u64 *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

int trap_cost(const struct tracer *t, u64 *ns, struct err *err)
{
	u64 rounds[ROUNDS], offset;
	struct bpf_link *link;
	int i, r = find_site(&offset);

	if (r)
		return err_set(err, r, "finding our own code in memory: %s", strerror(-r));
	link = bpf_program__attach_uprobe(t->skel->progs.armed, false, 0, "/proc/self/exe", offset);
	if (!link)
		return kernel_error(err, -errno, "measuring what a trap costs");
	one_round();
	for (i = 0; i < ROUNDS; i++)
		rounds[i] = one_round();
	bpf_link__destroy(link);
	qsort(rounds, ROUNDS, sizeof(rounds[0]), compare);
	*ns = rounds[ROUNDS / 2];
	return 0;
}
