/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Events that go on for long, while they do. Whoever hangs marks nothing: what it is in, and since
 * when, its marks have said; for how long it had a CPU meanwhile, /proc knows.
 */
#include "source/live_mark_rings.h"

#include "base/task_stat.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Who runs has its clock brought up to date at ticks: at least 100 a second, where there are any. */
#define TICK_NS (10 * NSEC_PER_MSEC)
/* For so long at one time; the next time goes on behind those that were told of. */
#define OPEN_LOOK_NS (50 * NSEC_PER_MSEC)
/* Of all of them at once, as for a dump, which is to have whoever hangs; nobody drains the ring meanwhile. */
#define ALL_OPEN_NS (500 * NSEC_PER_MSEC)

struct telling {
	struct live *l;
	struct process *p;
	struct registry *r;
	u64 end_ns;
	u32 skip, seen; /* threads: of the times before, and so far */
	bool over;
};

/* A file of /proc, which is one line, whatever a name in it holds; cut to fit. */
static bool read_file(u32 pid, u32 tid, const char *name, char *to, size_t size)
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/task/%u/%s", pid, tid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, to, size - 1);
	close(fd);
	to[n > 0 ? n : 0] = 0;
	return n > 0;
}

/* Why a thread in this state (proc(5)) has no CPU. Of one that runs or wants to, others had it, or
 * somebody would be blamed wrongly. */
static u32 off_by_state(char state)
{
	if (state == 'R')
		return VMSPAN_OFF_PREEMPTED;
	return state == 'T' || state == 't' ? VMSPAN_OFF_STOPPED : VMSPAN_OFF_SLEEPING;
}

/* How it is now, and the enum vmspan_off of that. */
static struct marks_seen_at look_at_thread(const struct telling *k, u32 tid, u32 *off)
{
	struct marks_seen_at now = { .cycles = clock_cycles() };
	char text[TASK_STAT_MAX], state = 0;
	const char *stat = task_stat(k->p->pid, tid, text);

	*off = VMSPAN_OFF_SLEEPING;
	if (!stat)
		return now;
	state = *stat;
	now.known = read_file(k->p->pid, tid, "schedstat", text, sizeof(text)) &&
		    sscanf(text, "%" SCNu64, &now.cpu_ns) == 1;
	if (state == 'R')
		now.late_ns = TICK_NS;
	*off = off_by_state(state);
	return now;
}

static int tell(struct telling *k, const struct ring_reader *t, const struct vmspan_ring *g,
		struct marks *m)
{
	struct item it = { .type = ITEM_OPEN };
	struct marks_seen_at now = look_at_thread(k, t->tid, &it.open.off);
	struct item_batch *b = &it.open.batch;
	struct batch_sum sum;

	mark_ring_is_in(&it.open.what, m, m->ns(m->ns_ctx, now.cycles));
	if (marks_close(m, &now))
		return k->l->failed = -ENOMEM;
	if (batch_sum(m->out.data, (u32)m->out.len, m->records, &sum) || process_tell(k->l, k->p) ||
	    live_marked(k->l, k->p) || process_thread(k->l, k->p, t->tid) ||
	    live_define(k->l, k->p, k->r, m->out.data, (u32)m->out.len, &sum))
		return k->l->failed;
	it.open.what.pid = b->pid = k->p->pid;
	it.open.what.tid = b->tid = t->tid;
	it.open.what.registry = b->registry = k->r->address;
	b->thread = g->thread;
	b->seq = m->seq;
	b->records = m->records;
	b->bytes = (u32)m->out.len;
	b->data = m->out.data;
	return live_emit(k->l, &it);
}

/* Has this been open for long enough? Forged times may be any. */
static bool is_old(const struct marks *m)
{
	u64 since = marks_open_since(m), begin, now;

	if (!since)
		return false;
	begin = m->ns(m->ns_ctx, since);
	now = m->ns(m->ns_ctx, clock_cycles());
	return begin < now && now - begin >= OPEN_LEAST_NS;
}

static int tell_thread(struct telling *k, u32 thread, const struct ring_reader *t)
{
	const u64 *known = map_get(&k->r->tids, t->tid);
	struct vmspan_ring g;
	struct marks m;
	int e = 0;

	/* Until the tracer has seen the thread its number is what it says itself. */
	if (!known || *known != thread || !mark_ring_head(k->p, thread, t, &g))
		return 0;
	/* Marks that have not been taken may have ended it, or begun it. */
	if ((g.head <= t->seen && !is_old(&t->m)) || !mark_ring_now(k->p, t, &g, &m))
		return 0;
	if (is_old(&m))
		e = tell(k, t, &g, &m);
	marks_free(&m);
	return e;
}

static int tell_registry(struct telling *k)
{
	u64 thread, value;
	size_t at = 0;
	int e = 0;

	while (!e && map_next(&k->r->rings, &at, &thread, &value)) {
		/* One at least, however busy the machine is. */
		k->over = k->seen > k->skip && clock_mono_ns() >= k->end_ns;
		if (k->over)
			break;
		if (k->seen++ < k->skip)
			continue;
		e = tell_thread(k, (u32)thread, (const struct ring_reader *)(uintptr_t)value);
	}
	return e;
}

int live_tell_all_open(struct source *s, item_fn fn, void *ctx)
{
	struct live *l = (struct live *)s;
	u64 end = clock_mono_ns() + ALL_OPEN_NS;
	int r;

	l->open_seen = l->vm_open_seen = 0;
	do
		r = live_tell_open(s, fn, ctx);
	while (!r && (l->open_seen || l->vm_open_seen) && clock_mono_ns() < end);
	return r;
}

int live_tell_open(struct source *s, item_fn fn, void *ctx)
{
	struct live *l = (struct live *)s;
	u64 now = clock_mono_ns(), key, value;
	struct telling k = { .l = l, .end_ns = now + OPEN_LOOK_NS, .skip = l->open_seen };
	struct item none = { .type = ITEM_OPEN };
	size_t at = 0;
	u32 i;

	l->fn = fn;
	l->ctx = ctx;
	l->failed = 0;
	if (!l->started || l->detached)
		return 0;
	/* Where nothing comes nobody has read the clocks for long, and a machine may have slept. */
	if (now - l->clock_ns >= LIVE_CLOCK_NS && live_emit_clock(l))
		return l->failed;
	if (live_emit(l, &none) || !l->parts[TRACE_TURNS].on)
		return l->failed;
	while (!k.over && map_next(&l->processes, &at, &key, &value)) {
		k.p = (struct process *)(uintptr_t)value;
		for (i = 0; !k.over && i < k.p->registry_count; i++) {
			k.r = &k.p->registries[i];
			if (tell_registry(&k))
				return l->failed;
		}
	}
	l->open_seen = k.over ? k.seen : 0;
	return live_vm_tell_open(l);
}
