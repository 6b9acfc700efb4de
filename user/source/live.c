/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/live_int.h"
#include "source/live_late.h"

#include "attach/exact.h"
#include "attach/kernel.h"
#include "attach/vm.h"
#include "source/live_cost.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

static struct live *of(struct source *s)
{
	return (struct live *)s;
}

int live_emit(struct live *l, const struct item *it)
{
	if (!l->failed && l->fn)
		l->failed = l->fn(l->ctx, it);
	return l->failed;
}

int live_emit_loss(struct live *l, enum loss_cause cause, u64 records, u64 batches)
{
	struct item it = { .type = ITEM_LOSS,
			   .loss = { .cause = cause, .records = records, .batches = batches } };

	return live_emit(l, &it);
}

u64 live_cycles(const struct live *l, u64 ns)
{
	return l->s.info.clock == CLOCK_MONO ? ns : clock_cycles_of(&l->clocks, ns);
}

u64 live_mono_ns(const struct live *l, u64 cycles)
{
	return clock_ns(&l->clocks, cycles);
}

static int emit_clock(struct live *l, const struct item_clock *c)
{
	struct item it = { .type = ITEM_CLOCK, .clock = *c };

	l->clock_ns = c->mono_ns;
	if (clock_add(&l->clocks, c->cycles, c->mono_ns, l->s.info.cycles_hz))
		return l->failed = -ENOMEM;
	/* The stream begins and ends with a clock. */
	if (l->cost_told && live_cost_emit(l))
		return l->failed;
	return live_emit(l, &it);
}

int live_emit_clock(struct live *l)
{
	struct item_clock c;

	clock_read(l->s.info.clock, &c);
	return emit_clock(l, &c);
}

static int by_number(const void *a, const void *b)
{
	const struct process *const *p = a, *const *q = b;

	return (*p)->number < (*q)->number ? -1 : (*p)->number > (*q)->number;
}

/* The targets as they were named, not as the map has them. */
static int start_processes(struct live *l)
{
	struct process **list = calloc(l->processes.len + 1, sizeof(struct process *));
	u64 key, value;
	size_t at = 0, n = 0, i;

	if (!list)
		return l->failed = -ENOMEM;
	while (map_next(&l->processes, &at, &key, &value))
		list[n++] = (struct process *)(uintptr_t)value;
	qsort(list, n, sizeof(struct process *), by_number);
	for (i = 0; i < n; i++)
		/* Others are spoken of when they have something to say. */
		if (!list[i]->adopted && !list[i]->candidate && process_tell(l, list[i]))
			break;
	free(list);
	return l->failed;
}

/* The first items: the clock from before the trace, the targets, and their
 * definitions. */
static int start(struct live *l)
{
	l->started = true;
	if (emit_clock(l, &l->first) || live_cost_emit(l) || start_processes(l))
		return l->failed;
	return parts_tell(l);
}

/* After a drain: what comes at its end. */
static int after_drain(struct live *l, int taken)
{
	bool empty = !l->more;

	if (empty && process_settle(l, !taken))
		return l->failed;
	if (taken && live_losses(l))
		return l->failed;
	if (taken)
		vm_vary(l->t, clock_mono_ns());
	if (l->vm_hz)
		vm_look_again(l->t);
	/* The last one says when the trace ended, not when all of it was taken in. */
	if (taken && !l->detached && clock_mono_ns() - l->clock_ns >= LIVE_CLOCK_NS)
		live_emit_clock(l);
	return l->failed;
}

static int finish(struct live *l, struct err *err)
{
	l->finished = true;
	if (live_losses(l) || live_emit_clock(l))
		return l->failed;
	return l->attached_once ? 0 : live_nothing_traced(l, err);
}

static int drain(struct live *l, struct err *err)
{
	int n = ring_drain(l);

	if (n < 0)
		return l->failed ? n : err_set(err, n, "reading the ring buffer: %s", strerror(-n));
	return after_drain(l, n) ? l->failed : n;
}

static u64 deadline(int timeout_ms)
{
	return timeout_ms < 0 ? UINT64_MAX : clock_mono_ns() + (u64)timeout_ms * NSEC_PER_MSEC;
}

static int live_poll(struct source *s, int timeout_ms, int stop_fd, item_fn fn, void *ctx,
		     struct err *err)
{
	struct live *l = of(s);
	u64 end = deadline(timeout_ms);
	int n, stopped = 0;

	l->fn = fn;
	l->ctx = ctx;
	l->failed = 0;
	if (!l->started)
		return start(l) ? l->failed : 1;
	if (l->finished)
		return 0;
	n = parts_settle(l, err);
	if (n)
		return n;
	for (;;) {
		/* After a full drain there is nothing to wait for. */
		if (!l->more) {
			stopped = ring_wait(l, end, stop_fd);
			if (stopped < 0)
				return err_set(err, stopped, "waiting for data: %s",
					       strerror(-stopped));
		}
		n = drain(l, err);
		if (n < 0)
			return n;
		if (!l->processes.len && !l->more && !sweep_wanted(&l->sweep))
			return finish(l, err);
		if (n || stopped || (end != UINT64_MAX && clock_mono_ns() >= end))
			return 1;
	}
}

/* Everything in the ring; bounded, since nothing is added any more but by
 * other processes' last flushes. */
int live_drain(struct live *l, struct err *err)
{
	u64 rounds = 2 * tracer_ring_bytes(l->t) / sizeof(struct wire_head) / RING_DRAIN + 1;
	int n;

	do {
		n = drain(l, err);
	} while (n >= 0 && l->more && rounds--);
	return n < 0 ? n : 0;
}

u32 live_left(const struct source *s)
{
	const struct attachment *a;
	u32 n = 0, i;

	for (a = ((const struct live *)s)->buried; a; a = a->next) {
		n += a->armed != NULL;
		for (i = 0; i < PROBE_LINKS_MAX; i++)
			n += a->links.of[i] != NULL;
	}
	return n;
}

int live_take_all(struct source *s, item_fn fn, void *ctx, struct err *err)
{
	struct live *l = of(s);
	struct item_clock now;
	int r;

	l->fn = fn;
	l->ctx = ctx;
	l->failed = 0;
	if (!l->started || l->detached || l->finished)
		return 0;
	/* Before the ring is drained: what ends meanwhile may not be in it yet. */
	clock_read(l->s.info.clock, &now);
	r = live_drain(l, err);
	return r || now.mono_ns <= l->clock_ns ? r : emit_clock(l, &now);
}

int live_tails(struct live *l)
{
	u64 key, value;
	size_t at = 0;
	u32 i;

	while (map_next(&l->processes, &at, &key, &value)) {
		struct process *p = (struct process *)(uintptr_t)value;

		if (process_young(l, p))
			return l->failed;
		live_rings_end(l, p);
		for (i = 0; i < p->registry_count; i++) {
			struct registry *r = &p->registries[i];

			if ((r->due && registry_read(l, p, r)) ||
			    (r->abi1 ? registry_tails(l, p, r) : live_rings_read(l, p, r)) ||
			    (r->wanted_count && registry_read(l, p, r)))
				return l->failed;
		}
		/* At a pause there is still time. */
		if (l->detached && registries_end(l, p))
			return l->failed;
	}
	return 0;
}

static int last_words(struct live *l)
{
	u64 key, value;
	size_t at = 0;

	while (map_next(&l->processes, &at, &key, &value))
		if (process_last_words(l, (struct process *)(uintptr_t)value, UNFINISHED_TRACE))
			return l->failed;
	return 0;
}

static int unfinished(struct live *l)
{
	u64 key, value;
	size_t at = 0;
	int r = 0;

	while (!r && map_next(&l->processes, &at, &key, &value)) {
		struct process *p = (struct process *)(uintptr_t)value;

		r = live_vm_rest(l, p);
		if (!r)
			r = live_unfinished(l, p, UNFINISHED_TRACE, l->last.mono_ns);
	}
	return r;
}

/*
 * The way back, in this order:
 *  0. Stock VMs are looked at no more, from one moment on: what is under way then is told of. What has been loaded
 *     and was not looked at yet, is: the trace may lack its marks.
 *  1. armed (or the conventional probes) goes: no new mark begins. The carrier
 *     is still there for the batches under way, and so is `traced`.
 *  2. What the direct stopwatch holds is handed over, then the ring drained.
 *  3. The carriers go; the ring is drained of what came meanwhile.
 *  4. What threads have gathered and not flushed is read from their memory:
 *     last, so that its sequence numbers follow what was drained.
 *  5. Losses and the clock of step 1 close the stream. The programs that watch fork and
 *     exit live on until free: they hurt nobody, and the ring takes the rest.
 */
static int live_stop(struct source *s, item_fn fn, void *ctx, struct err *err)
{
	struct live *l = of(s);
	int r = 0;

	l->fn = fn;
	l->ctx = ctx;
	l->failed = 0;
	if (l->detached)
		return 0;
	if (!l->started)
		r = start(l);
	/* What has been loaded by now is told of in the ring. */
	if (!r && !l->finished)
		r = live_drain(l, err);
	if (!r && !l->finished)
		r = process_look_last(l);
	l->detached = true;
	if (!r)
		r = live_silence_last(l);
	if (l->vm_hz)
		vm_end(l->t);
	process_disarm_all(l);
	l->last = l->marks_off_at;
	live_vm_detach(l);
	tracer_tail(l->t);
	if (!r)
		r = live_drain(l, err);
	process_detach_all(l);
	tracer_rest(l->t);
	if (!r)
		r = live_drain(l, err);
	if (!r)
		r = live_tails(l);
	if (!r && !l->finished)
		r = last_words(l);
	if (!r && !l->finished)
		r = unfinished(l);
	if (!r && !l->finished)
		r = live_losses(l);
	if (!r && !l->finished)
		r = emit_clock(l, &l->last);
	l->finished = true;
	command_reap(&l->command, false);
	/* Who ends a command, or a sweep, early may have done so before there was anything. */
	if (!r && !l->attached_once && !l->command.pid && !sweep_wanted(&l->sweep))
		return live_nothing_traced(l, err);
	return r;
}

static void forget_looked(struct live *l)
{
	while (l->looked_count)
		if (l->looked[--l->looked_count] >= 0)
			close(l->looked[l->looked_count]);
	free(l->looked);
	l->looked = NULL;
}

static void live_free(struct source *s)
{
	struct live *l = of(s);
	u64 key, value;
	size_t at = 0;

	l->fn = NULL;
	if (l->t) {
		process_disarm_all(l);
		live_vm_detach(l);
		process_detach_all(l);
	}
	while (map_next(&l->processes, &at, &key, &value))
		process_free(l, (struct process *)(uintptr_t)value);
	map_free(&l->processes);
	process_free_buried(l);
	free(l->carriers);
	forget_looked(l);
	ring_close(&l->ring);
	command_free(&l->command);
	tracer_free(l->t);
	plan_cache_free(&l->cache);
	vm_cache_free(&l->vm_cache);
	clock_free(&l->clocks);
	free(l);
}

static const struct source_ops live_ops = {
	.poll = live_poll,
	.stop = live_stop,
	.free = live_free,
};

/* ---- Opening ---- */

/* A file, a pidfd and some links a process. */
static void raise_nofile(void)
{
	struct rlimit r;

	if (!getrlimit(RLIMIT_NOFILE, &r) && r.rlim_cur < r.rlim_max) {
		r.rlim_cur = r.rlim_max;
		setrlimit(RLIMIT_NOFILE, &r);
	}
}

static void fill_info(struct live *l)
{
	struct source_info *i = &l->s.info;
	struct utsname u;

	i->cycles_hz = clock_hz(i->clock);
	i->cycles_step = clock_step(i->clock);
	clock_read(i->clock, &l->first);
	i->start_mono_ns = l->first.mono_ns;
	i->start_real_ns = l->first.real_ns;
	if (!uname(&u))
		snprintf(i->host, sizeof(i->host), "%.63s", u.nodename);
	snprintf(i->tool, sizeof(i->tool), "%s", VMSPAN_VERSION);
}

static int open_tracer(struct live *l, const struct live_config *c, const struct live_needs *n,
		       struct err *err)
{
	struct tracer_config tc = {
		.ring_bytes = c->ring_bytes ? c->ring_bytes : LIVE_RING_BYTES,
		.alert_ns = c->alert_ns,
		.direct = n->direct,
		.children = !c->no_children,
		.sweep = sweep_wanted(&c->sweep),
		.names = c->sweep.comm_count && !c->sweep.all,
		.groups = c->sweep.cgroup_count && !c->sweep.all,
		.vm_hz = l->vm_hz,
		.exact = c->exact,
		.calls = c->calls,
		.trial = c->trial != TRIAL_NOT,
	};
	bool only_vms;

	l->alert_ns = c->alert_ns;
	l->switches = kernel_rseq_tells_all();
	l->t = tracer_open(&tc, err);
	/* A sweep can do without them where they cannot be loaded. */
	if (!l->t && l->vm_hz && !n->vm && err->code != -EPERM && err->code != -EACCES) {
		*err = (struct err){ 0 };
		l->vm_hz = tc.vm_hz = 0;
		l->t = tracer_open(&tc, err);
	}
	if (!l->t)
		return err->code;
	/* Stock VMs are measured in ns; beside others those are made cycles. */
	only_vms = n->vm && !n->sdk && !n->awaited && !sweep_wanted(&c->sweep);
	l->s.info.clock = only_vms || (n->direct && !tracer_has_tsc(l->t)) ? CLOCK_MONO : CLOCK_TSC;
	return ring_open(&l->ring, l, err);
}

/* Spans that began before this reading are not of this trace. It is taken right before
 * the first mark can be made: the trace is as long as its marks are on. */
static void begin(struct live *l)
{
	if (!l->first.mono_ns)
		fill_info(l);
}

static void watch_sched(struct live *l)
{
	if (tracer_has_sched(l->t) && part_wanted(l, TRACE_BLOCKING))
		tracer_watch_sched(l->t);
}

static int open_pids(struct live *l, const struct live_config *c, struct err *err)
{
	struct process *p;
	u32 i;
	int r;

	for (i = 0; i < c->pid_count; i++) {
		if (process_find(l, c->pids[i]))
			continue;
		p = process_new(l, c->pids[i], 0);
		if (!p)
			return err_set(err, -ENOMEM, "no memory");
		if (process_is_over(l->looked[i]))
			return err_set(err, -ESRCH,
				       "process %u ended while it was being attached to", p->pid);
		/* Before its probes: no batch and no child falls between. */
		r = tracer_trace(l->t, p->pid, err);
		if (r)
			return r;
		watch_sched(l);
		begin(l);
		r = process_look_present(l, p, err);
		/* What it waits for may be there, in a file that it may not open: then that is said. */
		if ((r == -ENOENT || r == -EAGAIN) && c->wait) {
			*err = (struct err){ 0 };
			r = 0;
		}
		if (r)
			return r;
	}
	if (sweep_wanted(&c->sweep)) {
		watch_sched(l);
		begin(l);
		r = sweep_open(l, err);
		if (r)
			return r;
	}
	return c->no_children ? children_left_out(l, err) : children_open(l, err);
}

static int open_command(struct live *l, char *const *argv, bool followed, struct err *err)
{
	struct err none = { 0 };
	struct process *p;
	struct plan plan;
	char *path;
	int fd, r;

	r = command_start(&l->command, argv, followed, &fd, &path, err);
	if (!r) {
		p = process_new(l, (u32)l->command.pid, (u32)getpid());
		r = p ? tracer_trace(l->t, p->pid, err) : err_set(err, -ENOMEM, "no memory");
	}
	if (!r) {
		watch_sched(l);
		p->command = true;
		/* A script, or a program that only starts others, has no probes. */
		if (fd >= 0 && !plan_file(fd, path, &l->cache, &plan, &none)) {
			r = process_attach_file(l, p, &plan, err);
			plan_free(&plan);
		}
	}
	if (!r)
		r = command_go(&l->command, argv, err);
	if (!r)
		snprintf(p->name, sizeof(p->name), "%s",
			 strrchr(path, '/') ? strrchr(path, '/') + 1 : path);
	if (fd >= 0)
		close(fd);
	free(path);
	return r;
}

static int check_counters(const struct live_config *c, struct err *err)
{
	static const char without[] =
		"Without --keep-moved, spans that change CPU are discarded and counted.";

	return !c->keep_moved || exact_counters_agree(without, err) ? 0 : err->code;
}

struct source *live_open(const struct live_config *config, struct err *err)
{
	struct live *l = calloc(1, sizeof(*l));
	struct err own = { 0 };
	struct live_needs needs;
	int r;

	err = err ? err : &own;
	if (!l) {
		err_set(err, -ENOMEM, "no memory");
		return NULL;
	}
	l->s.ops = &live_ops;
	l->method = config->method;
	l->calls = config->calls;
	l->containers = true;
	parts_open(l, config->without);
	l->trial = config->trial;
	l->sweep = config->sweep;
	l->ring.epfd = l->command.go = l->command.result = l->command.status = -1;
	raise_nofile();
	live_cost_open(l);
	r = check_counters(config, err);
	if (!r)
		r = live_look(l, config, &needs, err);
	if (!r)
		r = open_tracer(l, config, &needs, err);
	l->direct = !r && needs.direct;
	/* What a process is attached with depends on it. */
	l->s.info.exact = !r && tracer_has_sched(l->t);
	/* Their last records before the news of their ends. */
	if (!r && l->vm_hz)
		r = vm_watch_life(l->t, err);
	if (!r)
		r = tracer_watch_life(l->t, err);
	if (!r)
		r = open_pids(l, config, err);
	if (!r)
		begin(l);
	l->open_ns = clock_mono_ns();
	forget_looked(l);
	if (!r && config->command)
		r = open_command(l, config->command, !config->no_children, err);
	if (!r) {
		/* Some kernels refuse it only now. */
		l->s.info.exact = tracer_has_sched(l->t);
		l->tails = tracer_has_tails(l->t);
		return &l->s;
	}
	live_free(&l->s);
	return NULL;
}

const struct err *live_no_exact(const struct source *s)
{
	return tracer_no_exact(((const struct live *)s)->t);
}

u32 live_not_about(const struct source *s)
{
	const struct live *l = (const struct live *)s;

	return l->s.info.exact ? l->not_exact : 0;
}

u32 live_attached(const struct source *s)
{
	const struct live *l = (const struct live *)s;
	u64 key, value;
	size_t at = 0;
	u32 n = 0;

	while (map_next(&l->processes, &at, &key, &value)) {
		const struct process *p = (struct process *)(uintptr_t)value;

		n += p->attachments || p->vm_profile;
	}
	return n;
}

int live_wakeups(const struct source *s, u64 *n)
{
	u64 counters[COUNT_MAX];
	int r = tracer_counters(((const struct live *)s)->t, counters);

	*n = r ? 0 : counters[COUNT_WAKEUPS];
	return r;
}

int live_command_status(const struct source *s)
{
	return ((const struct live *)s)->command.status;
}
