/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Time in buckets, a lane a thread. The width doubles whenever the trace has
 * outgrown the buckets, so memory stays the same whatever its length.
 */
#include "sink/html_int.h"
#include "base/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

u32 html_lanes_new(struct html_lanes *l, const struct model_thread *t, struct html_names *names)
{
	if (l->count == HTML_LANES_MAX) {
		struct html_lane *last = &l->lane[HTML_LANES_MAX - 1];

		l->others = true;
		last->pid = last->tid = 0;
		last->process = last->name = NAME_OTHER;
		return HTML_LANES_MAX - 1;
	}
	l->lane[l->count] = (struct html_lane){
		.pid = t->pid,
		.tid = t->tid,
		.process = html_name(names, t->process),
		.name = html_name(names, t->name),
	};
	return l->count++;
}

/* The candidate stays while it has more votes than all others together. */
static void vote(struct html_bucket *b, u32 group, u64 weight)
{
	if (b->group == group || !b->weight) {
		b->group = group;
		b->weight += weight;
	} else if (b->weight >= weight) {
		b->weight -= weight;
	} else {
		b->group = group;
		b->weight = weight - b->weight;
	}
}

void html_bucket_join(struct html_bucket *a, const struct html_bucket *b)
{
	if (b->busy_ns)
		vote(a, b->group, b->weight);
	a->busy_ns += b->busy_ns;
	a->max_ns = max_u64(a->max_ns, b->max_ns);
	a->count += b->count;
}

static void halve(struct html_lanes *l)
{
	u32 i, k;

	for (i = 0; i < l->count; i++) {
		struct html_lane *lane = &l->lane[i];

		for (k = 0; k < lane->len; k += 2) {
			struct html_bucket b = lane->bucket[k];

			if (k + 1 < lane->len)
				html_bucket_join(&b, &lane->bucket[k + 1]);
			lane->bucket[k / 2] = b;
		}
		lane->len = (lane->len + 1) / 2;
	}
	l->width_ns *= 2;
}

static int reach(struct html_lane *lane, u32 len)
{
	if (array_room(lane->bucket, lane->cap, len))
		return -ENOMEM;
	if (len > lane->len) {
		memset(lane->bucket + lane->len, 0, (len - lane->len) * sizeof(*lane->bucket));
		lane->len = len;
	}
	return 0;
}

int html_lanes_add(struct html_lanes *l, u32 index, u64 begin, u64 end, u32 group)
{
	struct html_lane *lane = &l->lane[index];
	u64 first, last, i;

	if (end < begin)
		end = begin;
	/* A width that could overflow says nothing any more. */
	while (end / l->width_ns >= HTML_BUCKETS_MAX && l->width_ns < 1ull << 62)
		halve(l);
	first = min_u64(begin / l->width_ns, HTML_BUCKETS_MAX - 1);
	last = min_u64((end > begin ? end - 1 : end) / l->width_ns, HTML_BUCKETS_MAX - 1);
	if (reach(lane, (u32)last + 1))
		return -ENOMEM;
	lane->events++;
	lane->bucket[first].count++;
	for (i = first; i <= last; i++) {
		u64 from = max_u64(begin, i * l->width_ns);
		u64 to = min_u64(end, (i + 1) * l->width_ns);
		struct html_bucket *b = &lane->bucket[i];

		vote(b, group, to > from ? to - from : 0);
		b->busy_ns += to > from ? to - from : 0;
		b->max_ns = max_u64(b->max_ns, end - begin);
	}
	return 0;
}

void html_lanes_fit(struct html_lanes *l, u32 max)
{
	for (;;) {
		u64 sum = 0;
		u32 i;

		for (i = 0; i < l->count; i++)
			sum += l->lane[i].len;
		if (sum <= max || sum <= 2 * l->count)
			return;
		halve(l);
	}
}

void html_lanes_release(struct html_lanes *l)
{
	u32 i;

	for (i = 0; i < l->count; i++)
		free(l->lane[i].bucket);
	*l = (struct html_lanes){ 0 };
}
