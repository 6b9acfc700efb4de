/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which work of another process a blocking call waited for: the events of its
 * peer that ran at the same time. Where no call was announced, exact mode knows
 * the process that ended an event's wait. The streams of two processes do not
 * come in step, so the newest of both kinds are remembered for each process.
 */
#ifndef SINK_FLOWS_H
#define SINK_FLOWS_H

#include "base/map.h"
#include "model/model.h"

struct flow_end {
	u32 pid;
	u64 thread; /* model_thread.id */
	u64 begin, end; /* ns */
	u64 slice; /* begin of the slice it is, or is in */
	bool event; /* that slice is an event; else a call */
};

/* A call and one event it waited for. 0 or a negative errno. */
typedef int (*flow_fn)(void *ctx, const struct flow_end *call, const struct flow_end *event);

struct flow_side;

struct flows {
	struct flow_side *sides; /* owned, one a process */
	u32 count, cap;
	struct map side_of; /* pid -> index */
	flow_fn fn;
	void *ctx;
};

void flows_init(struct flows *f, flow_fn fn, void *ctx);
void flows_release(struct flows *f);
/* Every span and event of the trace, once it is written. 0, -ENOMEM, or what
 * fn returned. */
int flows_span(struct flows *f, const struct model_span *s);
int flows_event(struct flows *f, const struct model_event *e);

#endif
