/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stays under way. A thread that hangs in a compartment hands nothing over;
 * its stack in the target's memory says where it is, and since when.
 */
#include "source/live_int.h"

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

/* The stays of a thread, outermost first. */
static void look_at_thread(struct look *k, u32 pid, u64 registry, u64 address,
			   const struct abi1_thread *head)
{
	u32 from = head->depth > RUNNING_DEPTH ? head->depth - RUNNING_DEPTH + 1 : 1;
	u32 n = head->depth - from + 1, i;
	struct abi1_open open[RUNNING_DEPTH];
	struct live_stay *last = NULL;

	if (target_read(pid, address + offsetof(struct abi1_thread, open) + from * sizeof(open[0]),
			open, n * sizeof(open[0])))
		return;
	for (i = 0; i < n && k->count < k->max; i++) {
		const struct abi1_open *o = &open[i];

		/* Younger ones are inside: none of them is old enough either. */
		if (o->begin > k->now || k->now - o->begin < k->least)
			break;
		if (o->id >= VMSPAN_ID_MARKS)
			continue;
		last = &k->to[k->count++];
		*last = (struct live_stay){
			.pid = pid,
			.tid = head->tid,
			.registry = registry,
			.compartment = o->id,
			.depth = from + i - 1,
			.for_ns = to_ns(k->l, k->now - o->begin),
		};
	}
	if (last)
		last->innermost = true;
}

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

		for (i = 0; i < p->registry_count && k.count < max; i++)
			look_at_registry(&k, p->pid, p->registries[i].address);
	}
	return k.count;
}
