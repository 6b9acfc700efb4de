/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stays under way. A thread that hangs in a compartment hands nothing over;
 * its stack in the target's memory says where it is, and since when, or the marks
 * that have come and those in its ring do.
 */
#include "source/live_int.h"
#include "source/marks.h"

#include <stdlib.h>

/* Of one look, over all processes; a forged list of threads ends there. */
#define RUNNING_THREADS 8192
/* Frames of one thread: the innermost ones. */
#define RUNNING_DEPTH 16

struct look {
	const struct live *l;
	u64 now, least; /* cycles */
	u32 threads;
	struct live_stay *to;
	u32 count, max;
};

static u64 to_ns(const struct live *l, u64 cycles)
{
	u64 hz = l->s.info.clock == CLOCK_TSC ? l->s.info.cycles_hz : NSEC_PER_SEC;

	return hz ? (u64)((double)cycles * 1e9 / (double)hz) : 0;
}

/* A stay with others around it. False: it is not old enough, nor are those inside of it. */
static bool add(struct look *k, struct live_stay stay, u64 begin)
{
	if (k->count == k->max || begin > k->now || k->now - begin < k->least)
		return false;
	if (stay.compartment >= VMSPAN_ID_MARKS)
		return true;
	stay.for_ns = to_ns(k->l, k->now - begin);
	k->to[k->count++] = stay;
	return true;
}

/* Those of a thread, outermost first. */
static void look_at_thread(struct look *k, u32 pid, u64 registry, u64 address,
			   const struct abi1_thread *head)
{
	u32 from = head->depth > RUNNING_DEPTH ? head->depth - RUNNING_DEPTH + 1 : 1;
	u32 n = head->depth - from + 1, i;
	struct abi1_open open[RUNNING_DEPTH];
	u32 before = k->count;

	if (target_read(pid, address + offsetof(struct abi1_thread, open) + from * sizeof(open[0]),
			open, n * sizeof(open[0])))
		return;
	for (i = 0; i < n; i++)
		if (!add(k,
			 (struct live_stay){ .pid = pid,
					     .tid = head->tid,
					     .registry = registry,
					     .compartment = open[i].id,
					     .depth = from + i - 1 },
			 open[i].begin))
			break;
	if (k->count > before)
		k->to[k->count - 1].innermost = true;
}

/* ---- By marks ---- */

struct look_marks {
	struct look *k;
	u32 pid;
	u64 registry;
};

static bool look_at_marks(void *ctx, u32 tid, const struct marks *m)
{
	const struct look_marks *w = ctx;
	struct look *k = w->k;
	u32 i = m->depth > RUNNING_DEPTH ? m->depth - RUNNING_DEPTH : 0, before = k->count;

	for (; i < m->depth; i++)
		if (!add(k,
			 (struct live_stay){ .pid = w->pid,
					     .tid = tid,
					     .registry = w->registry,
					     .compartment = m->open[i].id,
					     .depth = i },
			 m->open[i].begin))
			break;
	if (k->count > before)
		k->to[k->count - 1].innermost = true;
	return k->count < k->max;
}

/* ---- All of them ---- */

static void look_at_registry(struct look *k, u32 pid, u64 registry)
{
	struct abi1_registry head;
	struct abi1_thread t;
	u64 at;

	if (target_abi1(pid, registry, &head))
		return;
	for (at = head.threads; at && k->threads < RUNNING_THREADS; at = t.next, k->threads++) {
		if (target_read(pid, at, &t, offsetof(struct abi1_thread, turn)) ||
		    t.magic != VMSPAN_MAGIC)
			return;
		/* A stack of another session was open when an earlier trace ended. */
		if (t.tid && t.session == head.session && t.depth && t.depth <= VMSPAN_DEPTH_MAX)
			look_at_thread(k, pid, registry, at, &t);
	}
}

u32 live_running(const struct source *s, u64 least_ns, struct live_stay *to, u32 max)
{
	const struct live *l = (const struct live *)s;
	struct look k = { .l = l, .now = clock_cycles(), .to = to, .max = max };
	u64 hz = l->s.info.cycles_hz, key, value;
	size_t at = 0;
	u32 i;

	/* Stacks hold readings of the CPU's counter. */
	if (l->s.info.clock != CLOCK_TSC)
		return 0;
	k.least = (u64)((double)least_ns * (double)hz / 1e9);
	while (map_next(&l->processes, &at, &key, &value)) {
		const struct process *p = (const struct process *)(uintptr_t)value;

		for (i = 0; i < p->registry_count && k.count < max; i++) {
			const struct registry *r = &p->registries[i];
			struct look_marks w = { &k, p->pid, r->address };
			u32 left = RUNNING_THREADS - k.threads;

			if (r->abi1) {
				look_at_registry(&k, p->pid, r->address);
			} else {
				live_rings_open(p, r, &left, look_at_marks, &w);
				k.threads = RUNNING_THREADS - left;
			}
		}
	}
	return k.count;
}
