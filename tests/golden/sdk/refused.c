/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory that is not to be had is asked for now and then, not at each mark; and marks begin when it is there. */
/* However slow this machine is. */
#define VMSPAN__REFUSED_FOR (1ull << 62)
#include "vmspan.h"

#include <stdio.h>
#include <sys/resource.h>

static vmspan_u32 comp;

#define EXPECT(c)                                         \
	do {                                              \
		if (!(c)) {                               \
			printf("%d: %s\n", __LINE__, #c); \
			return 1;                         \
		}                                         \
	} while (0)

static int no_more_memory(int yes)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_AS, &r))
		return -1;
	r.rlim_cur = yes ? 0 : r.rlim_max;
	return setrlimit(RLIMIT_AS, &r);
}

static void mark(void)
{
	vmspan_enter(comp);
	vmspan_leave(comp);
}

int main(void)
{
	struct vmspan_registry *r = &vmspan_registry_2;
	struct vmspan_process *p = (struct vmspan_process *)(size_t)r->process;

	comp = vmspan_compartment("comp", NULL, 0);
	r->semaphore = 1;
	/* A ring. */
	EXPECT(!no_more_memory(1));
	errno = 77;
	mark();
	EXPECT(errno == 77 && p->lost_threads == 2 && p->refused && !p->rings);
	EXPECT(!no_more_memory(0));
	mark();
	EXPECT(p->lost_threads == 4 && !p->rings);
	p->refused -= 1ull << 62; /* long ago */
	mark();
	EXPECT(p->lost_threads == 4 && p->rings);
	/* The process's block. */
	r->process = 0;
	EXPECT(!no_more_memory(1));
	EXPECT(!vmspan__process() && r->refused && !r->joining);
	EXPECT(!no_more_memory(0));
	EXPECT(!vmspan__process());
	r->refused -= 1ull << 62;
	EXPECT(vmspan__process() && r->process);
	return 0;
}
