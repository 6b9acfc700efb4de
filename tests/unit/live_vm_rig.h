/* SPDX-License-Identifier: BSD-2-Clause */
/* A source with one process that runs a stock VM, of which the test tells what the kernel side does: what becomes of
 * it. */
#ifndef TESTS_LIVE_VM_RIG_H
#define TESTS_LIVE_VM_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "source/live_vm_int.h"

#define TID 4711

static struct {
	struct live l;
	struct process p;
	u32 groups, losses, events, samples;
	struct vmspan_event event; /* the last */
	struct vmspan_sample sample; /* the last */
	u32 wants; /* what the kernel side was told */
	bool wanted; /* the last */
	struct item_unfinished unfinished; /* the last */
	struct buf open; /* what the kernel side says that threads are in */
	u64 open_before; /* that it was asked with */
	u64 ahead,
		step; /* ns: of the clock, which gets so much further ahead each time that it is read */
} rig;

u64 __real_clock_mono_ns(void);
u64 __wrap_clock_mono_ns(void);

u64 __wrap_clock_mono_ns(void)
{
	rig.ahead += rig.step;
	return __real_clock_mono_ns() + rig.ahead;
}

void __wrap_vm_want_waits(struct tracer *t, u32 tid, bool wanted);
void __wrap_vm_looked(struct tracer *t, u32 cpu);
int __wrap_vm_open_turns(struct tracer *t, u64 before_ns, struct buf *to);

void __wrap_vm_want_waits(struct tracer *t, u32 tid, bool wanted)
{
	(void)t;
	assert_int_equal(tid, TID);
	rig.wanted = wanted;
	rig.wants++;
}

void __wrap_vm_looked(struct tracer *t, u32 cpu)
{
	(void)t;
	(void)cpu;
}

int __wrap_vm_open_turns(struct tracer *t, u64 before_ns, struct buf *to)
{
	(void)t;
	rig.open_before = before_ns;
	return rig.open.len ? buf_put(to, rig.open.data, rig.open.len) : 0;
}

static int take(void *ctx, const struct item *it)
{
	const struct vmspan_head *h;

	(void)ctx;
	rig.losses += it->type == ITEM_LOSS;
	if (it->type == ITEM_UNFINISHED)
		rig.unfinished = it->unfinished;
	if (it->type != ITEM_DEFS && it->type != ITEM_BATCH)
		return 0;
	h = it->type == ITEM_DEFS ? it->defs.data : it->batch.data;
	rig.groups += h->type == VMSPAN_DEF_GROUP;
	if (h->type == VMSPAN_EVENT) {
		rig.event = *(const struct vmspan_event *)(const void *)h;
		rig.events++;
	} else if (h->type == VMSPAN_SAMPLE) {
		rig.sample = *(const struct vmspan_sample *)(const void *)h;
		rig.samples++;
	}
	return 0;
}

static int rig_open(void **state)
{
	(void)state;
	memset(&rig, 0, sizeof(rig));
	rig.p = (struct process){ .pid = (u32)getpid(), .pidfd = -1, .told = true };
	rig.l.fn = take;
	rig.l.calls = true;
	rig.l.s.info.clock = CLOCK_MONO;
	return map_put(&rig.l.processes, rig.p.pid, (u64)(uintptr_t)&rig.p) ||
	       map_put(&rig.p.threads, TID, 1);
}

static int rig_close(void **state)
{
	(void)state;
	live_vm_free(&rig.l, &rig.p);
	map_free(&rig.p.threads);
	map_free(&rig.l.processes);
	clock_free(&rig.l.clocks);
	buf_free(&rig.open);
	return 0;
}

#endif
