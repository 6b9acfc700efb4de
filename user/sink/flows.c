/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/flows.h"
#include "base/array.h"

#include <errno.h>
#include <stdlib.h>

enum {
	FLOW_PROCESSES = 4096,
	FLOW_CALLS = 64, /* newest calls that wait for a process */
	FLOW_EVENTS = 256, /* its newest events */
};

/* A process as the others' peer. */
struct flow_side {
	struct flow_end calls[FLOW_CALLS], events[FLOW_EVENTS];
	u32 call_count, event_count; /* ever; rings */
};

void flows_init(struct flows *f, flow_fn fn, void *ctx)
{
	*f = (struct flows){ .fn = fn, .ctx = ctx };
}

void flows_release(struct flows *f)
{
	free(f->sides);
	map_free(&f->side_of);
	*f = (struct flows){ 0 };
}

static int find_side(struct flows *f, u32 pid, struct flow_side **side)
{
	u64 *known = map_get(&f->side_of, pid);

	*side = NULL;
	if (known) {
		*side = &f->sides[*known];
		return 0;
	}
	if (f->count == FLOW_PROCESSES)
		return 0;
	if (array_room(f->sides, f->cap, f->count + 1))
		return -ENOMEM;
	if (map_put(&f->side_of, pid, f->count))
		return -ENOMEM;
	*side = &f->sides[f->count++];
	(*side)->call_count = (*side)->event_count = 0;
	return 0;
}

static bool overlap(const struct flow_end *a, const struct flow_end *b)
{
	return a->begin < b->end && b->begin < a->end;
}

/* Was the wait announced too? Then its call is there already. */
static bool announced(const struct flow_side *side, const struct flow_end *wait)
{
	u32 i;

	for (i = 0; i < min_u64(side->call_count, FLOW_CALLS); i++)
		if (side->calls[i].thread == wait->thread && overlap(&side->calls[i], wait))
			return true;
	return false;
}

static int add_call(struct flows *f, const struct flow_end *call, u32 peer)
{
	struct flow_side *side;
	int rc = find_side(f, peer, &side);
	u32 i;

	if (rc || !side || (call->event && announced(side, call)))
		return rc;
	side->calls[side->call_count++ % FLOW_CALLS] = *call;
	for (i = 0; !rc && i < min_u64(side->event_count, FLOW_EVENTS); i++)
		if (overlap(call, &side->events[i]))
			rc = f->fn(f->ctx, call, &side->events[i]);
	return rc;
}

int flows_span(struct flows *f, const struct model_span *s)
{
	struct flow_end call = { s->thread->pid, s->thread->id, s->begin_ns,
				 s->end_ns,      s->begin_ns,   false };

	if (s->type != VMSPAN_BLOCK || !s->peer || s->peer > INT32_MAX || s->peer == s->thread->pid)
		return 0;
	return add_call(f, &call, (u32)s->peer);
}

/* The waits of an event that nobody announced. */
static int add_waits(struct flows *f, const struct model_event *e)
{
	int rc = 0;
	u32 i;

	for (i = 0; !rc && i < e->wait_count; i++) {
		const struct model_wait *w = &e->waits[i];
		struct flow_end call = { e->thread->pid, e->thread->id, w->begin_ns,
					 e->end_ns,      e->begin_ns,   true };

		/* Of several only the first's begin is known. */
		if (w->count == 1)
			call.end = min_u64(e->end_ns, w->begin_ns + w->ns);
		if (w->peer_pid && w->peer_pid != e->thread->pid)
			rc = add_call(f, &call, w->peer_pid);
	}
	return rc;
}

int flows_event(struct flows *f, const struct model_event *e)
{
	struct flow_end event = { e->thread->pid, e->thread->id, e->begin_ns,
				  e->end_ns,      e->begin_ns,   true };
	struct flow_side *side;
	int rc;
	u32 i;

	if (e->implicit)
		return 0;
	rc = add_waits(f, e);
	/* A nested event is inside one that is shown. */
	if (rc || e->parent)
		return rc;
	rc = find_side(f, e->thread->pid, &side);
	if (rc || !side)
		return rc;
	side->events[side->event_count++ % FLOW_EVENTS] = event;
	for (i = 0; !rc && i < min_u64(side->call_count, FLOW_CALLS); i++)
		if (overlap(&side->calls[i], &event))
			rc = f->fn(f->ctx, &side->calls[i], &event);
	return rc;
}
