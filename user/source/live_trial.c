/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/live_trial.h"

#include "attach/trap.h"
#include "attach/vm.h"
#include "source/live_int.h"
#include "source/trial.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* With nothing armed, with half, with all. */
_Static_assert(TRIAL_WORKS == CALLS, "every system call that is counted");
#define NONE_NS (300 * NSEC_PER_MSEC)
#define HALF_NS (300 * NSEC_PER_MSEC)
#define ALL_NS (400 * NSEC_PER_MSEC)
/* At most so many times as long, where half of a part is not used. */
#define LONGER 3

static u64 cpu_of(u32 pid)
{
	struct timespec ts;
	clockid_t clock;

	if (clock_getcpuclockid((pid_t)pid, &clock) || clock_gettime(clock, &ts))
		return 0;
	return (u64)ts.tv_sec * NSEC_PER_SEC + (u64)ts.tv_nsec;
}

static u64 cpu_of_all(const struct live *l)
{
	u64 key, value, ns = 0;
	size_t at = 0;

	while (map_next(&l->processes, &at, &key, &value))
		ns += cpu_of((u32)key);
	return ns;
}

static int look(const struct live *l, struct trial_part *p, struct err *err)
{
	struct vm_runs runs;
	int r;

	*p = (struct trial_part){ .wall_ns = clock_mono_ns() };
	vm_work(l->t, p->work);
	p->cpu_ns = cpu_of_all(l);
	r = vm_runs(l->t, &runs);
	if (r)
		return err_set(err, r, "reading how often the programs ran: %s", strerror(-r));
	p->calls = runs.ends;
	p->end_ns = runs.end_ns;
	return 0;
}

/* A process that ended takes its time with it. */
static void subtract(struct trial_part *p, const struct trial_part *first)
{
	u32 i;

	p->wall_ns -= first->wall_ns;
	p->cpu_ns = less_u64(p->cpu_ns, first->cpu_ns);
	p->calls -= first->calls;
	p->end_ns -= first->end_ns;
	for (i = 0; i < TRIAL_WORKS; i++)
		p->work[i] -= first->work[i];
}

/* Counts calls where the kernel does not. */
static int take(void *ctx, const struct item *it)
{
	const struct vmspan_head *h = it->type == ITEM_BATCH ? it->batch.data : NULL;

	if (h && h->type == VMSPAN_SPAN)
		*(u64 *)ctx += it->batch.records;
	return 0;
}

static bool stopped(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) > 0;
}

/* Runs for `ns`, longer where the targets had little of the CPU; *p: what that used. */
static int run(struct source *s, u64 ns, int stop_fd, struct trial_part *p, struct err *err)
{
	const struct live *l = (const struct live *)s;
	struct trial_part first;
	u64 now, end, seen = 0;
	int r = look(l, &first, err);

	end = first.wall_ns + ns;
	for (now = first.wall_ns; !r && now < end; now = clock_mono_ns()) {
		u64 wanted = now + NSEC_PER_SEC / 20;

		if (wanted > end && now < first.wall_ns + LONGER * ns &&
		    less_u64(cpu_of_all(l), first.cpu_ns) < ns / 2)
			end = wanted;
		r = source_poll(s, (int)((end - now) / NSEC_PER_MSEC) + 1, stop_fd, take, &seen,
				err);
		if (!r)
			return err_set(err, -ESRCH, "the program ended in the trial second");
		if (r > 0 && stopped(stop_fd))
			return err_set(err, -EINTR, "interrupted");
		r = r < 0 ? r : 0;
	}
	if (!r)
		r = look(l, p, err);
	if (!r)
		subtract(p, &first);
	if (!r && !p->calls)
		p->calls = seen;
	return r;
}

/* One part of the trial. trap_ns: NULL when it is known. */
static int part(struct live_config *config, enum live_trial_part what, u64 ns, int stop_fd,
		struct trial_part *p, u64 *trap_ns, struct err *err)
{
	struct source *s;
	int r;

	config->trial = what;
	s = live_open(config, err);
	if (!s)
		return err->code ? err->code : -EIO;
	r = vm_count_work(((const struct live *)s)->t, err);
	if (!r && trap_ns)
		r = trap_cost(((const struct live *)s)->t, trap_ns, err);
	if (!r)
		r = run(s, ns, stop_fd, p, err);
	source_free(s);
	return r;
}

int live_trial(const struct live_config *config, int stop_fd, struct call_price *to,
	       struct err *err)
{
	struct trial_part none = { 0 }, half = { 0 }, all = { 0 };
	struct live_config c = *config;
	int fd = vm_count_runs(), r;
	u64 trap_ns = 0;

	*to = (struct call_price){ 0 };
	if (fd == -EPERM) {
		err_set_status(err, fd, EXIT_PERMISSION,
			       "what exact calls cost cannot be tried without CAP_SYS_ADMIN");
		err_hint(err, "Run vmspan as root (sudo). With --yes they are traced whatever they "
			      "cost.");
		return fd;
	}
	if (fd < 0)
		return err_set(err, fd, "measuring what programs cost: %s", strerror(-fd));
	r = part(&c, TRIAL_NONE, NONE_NS, stop_fd, &none, &trap_ns, err);
	if (!r)
		r = part(&c, TRIAL_RETURNS, HALF_NS, stop_fd, &half, NULL, err);
	close(fd);
	/* That the kernel counts costs some percent: the price is without. */
	if (!r)
		r = part(&c, TRIAL_ALL, ALL_NS, stop_fd, &all, NULL, err);
	if (!r)
		trial_price(&none, &half, &all, trap_ns, to);
	return r;
}
