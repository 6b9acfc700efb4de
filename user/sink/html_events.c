/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The longest events. Up to twice as many as wanted are held; then the
 * shorter half goes, so an event costs no more than a sort of its share. What
 * has gone sets a floor: everything longer is there.
 */
#include "sink/html_int.h"
#include "base/array.h"

#include <errno.h>
#include <stdlib.h>

static u64 event_ns(const struct html_event *e)
{
	return e->ledger.event_wall_ns;
}

/* Longest first; of equals the earlier one. */
static int compare_length(const void *a, const void *b)
{
	const struct html_event *x = a, *y = b;

	if (event_ns(x) != event_ns(y))
		return event_ns(x) < event_ns(y) ? 1 : -1;
	return x->serial < y->serial ? -1 : 1;
}

static int compare_time(const void *a, const void *b)
{
	const struct html_event *x = a, *y = b;

	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return x->serial < y->serial ? -1 : 1;
}

static void drop_tree(struct html_events *l, struct html_event *e)
{
	l->nodes -= e->node_len;
	free(e->nodes);
	e->nodes = NULL;
	e->node_len = 0;
}

/* By length: events beyond the limit go, then trees beyond theirs. */
static void drop(struct html_events *l)
{
	u64 nodes = 0;
	u32 i;

	if (!l->len)
		return;
	qsort(l->event, l->len, sizeof(*l->event), compare_length);
	for (i = l->keep; i < l->len; i++) {
		l->floor_ns = max_u64(l->floor_ns, event_ns(&l->event[i]));
		l->trees_dropped += l->event[i].node_len != 0;
		drop_tree(l, &l->event[i]);
		l->dropped++;
	}
	l->len = (u32)min_u64(l->len, l->keep);
	for (i = 0; i < l->len; i++) {
		struct html_event *e = &l->event[i];

		nodes += e->node_len;
		if (nodes <= l->node_keep || !e->node_len)
			continue;
		l->tree_floor_ns = max_u64(l->tree_floor_ns, event_ns(e));
		l->trees_dropped++;
		drop_tree(l, e);
	}
	l->tree_floor_ns = max_u64(l->tree_floor_ns, l->floor_ns);
}

int html_events_add(struct html_events *l, struct html_event *e)
{
	if (l->floor_ns && event_ns(e) <= l->floor_ns) {
		free(e->nodes);
		l->dropped++;
		return 0;
	}
	if (array_room(l->event, l->cap, l->len + 1)) {
		free(e->nodes);
		return -ENOMEM;
	}
	l->event[l->len++] = *e;
	l->nodes += e->node_len;
	if (l->len >= 2 * l->keep || l->nodes >= 2 * l->node_keep)
		drop(l);
	return 0;
}

void html_events_trim(struct html_events *l)
{
	drop(l);
	if (l->len)
		qsort(l->event, l->len, sizeof(*l->event), compare_time);
}

void html_events_release(struct html_events *l)
{
	u32 i;

	for (i = 0; i < l->len; i++)
		free(l->event[i].nodes);
	free(l->event);
	*l = (struct html_events){ 0 };
}
