/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/live_trial.h"

#include "attach/trap.h"
#include "attach/vm.h"
#include "source/live_int.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define HALF_NS (400 * NSEC_PER_MSEC)
#define FULL_NS (600 * NSEC_PER_MSEC)

/* Between two looks. */
struct used {
	u64 wall, cpu; /* ns; cpu: of all targets */
	struct vm_runs runs;
};

static u64 cpu_of(u32 pid)
{
	struct timespec ts;
	clockid_t clock;

	if (clock_getcpuclockid((pid_t)pid, &clock) || clock_gettime(clock, &ts))
		return 0;
	return (u64)ts.tv_sec * NSEC_PER_SEC + (u64)ts.tv_nsec;
}

static int look(const struct live *l, struct used *u, struct err *err)
{
	u64 key, value;
	size_t at = 0;
	int r;

	*u = (struct used){ .wall = clock_mono_ns() };
	while (map_next(&l->processes, &at, &key, &value))
		u->cpu += cpu_of((u32)key);
	r = vm_runs(l->t, &u->runs);
	return r ? err_set(err, r, "reading how often the programs ran: %s", strerror(-r)) : 0;
}

/* A process that ended takes its time with it. */
static u64 less(u64 a, u64 b)
{
	return a - min_u64(a, b);
}

static int ignore(void *ctx, const struct item *it)
{
	(void)ctx;
	(void)it;
	return 0;
}

/* Runs for `ns`; *u: what that used. */
static int run(struct source *s, u64 ns, struct used *u, struct err *err)
{
	const struct live *l = (const struct live *)s;
	struct used first, last;
	u64 now, end;
	int r = look(l, &first, err);

	end = first.wall + ns;
	for (now = first.wall; !r && now < end; now = clock_mono_ns()) {
		r = source_poll(s, (int)((end - now) / NSEC_PER_MSEC) + 1, -1, ignore, NULL, err);
		if (!r)
			return err_set(err, -ESRCH, "the program ended in the trial second");
		r = r < 0 ? r : 0;
	}
	if (!r)
		r = look(l, &last, err);
	if (r)
		return r;
	*u = (struct used){
		.wall = last.wall - first.wall,
		.cpu = less(last.cpu, first.cpu),
		.runs = { last.runs.begins - first.runs.begins, last.runs.ends - first.runs.ends,
			  last.runs.begin_ns - first.runs.begin_ns,
			  last.runs.end_ns - first.runs.end_ns },
	};
	return 0;
}

/* One part of the trial. trap_ns: NULL when it is known. */
static int part(const struct live_config *config, u64 ns, struct used *u, u64 *trap_ns,
		struct err *err)
{
	struct source *s = live_open(config, err);
	int r;

	if (!s)
		return err->code ? err->code : -EIO;
	r = trap_ns ? trap_cost(((const struct live *)s)->t, trap_ns, err) : 0;
	if (!r)
		r = run(s, ns, u, err);
	source_free(s);
	return r;
}

/* Less than this many calls tell of nothing. */
#define CALLS_MIN 100

static void work_out(const struct used *half, const struct used *full, struct call_price *to)
{
	u64 with, trap;

	to->calls = full->runs.ends;
	to->wall_ns = full->wall;
	if (full->runs.ends < CALLS_MIN || half->runs.ends < CALLS_MIN)
		return;
	to->traced_ns = full->cpu / full->runs.ends;
	with = half->cpu / half->runs.ends;
	trap = to->trap_ns + half->runs.end_ns / half->runs.ends;
	to->bare_ns = less(with, trap);
	/* A trap differs by some percent from program to program. */
	to->least = to->bare_ns < with / 10;
	if (to->least)
		to->bare_ns = max_u64(with / 10, 1);
}

int live_trial(const struct live_config *config, struct call_price *to, struct err *err)
{
	struct live_config c = *config;
	struct used half = { 0 }, full = { 0 };
	int fd = vm_count_runs(), r;

	*to = (struct call_price){ 0 };
	if (fd < 0)
		return err_set(err, fd, "measuring what programs cost: %s", strerror(-fd));
	c.returns_only = true;
	r = part(&c, HALF_NS, &half, &to->trap_ns, err);
	c.returns_only = false;
	if (!r)
		r = part(&c, FULL_NS, &full, NULL, err);
	close(fd);
	if (!r)
		work_out(&half, &full, to);
	return r;
}
