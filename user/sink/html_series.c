/* SPDX-License-Identifier: BSD-2-Clause */
/* Heap sizes and other values over time, and the collections. */
#include "sink/html_int.h"
#include "base/array.h"

#include <errno.h>
#include <stdlib.h>

static int compare_points(const void *a, const void *b)
{
	const struct html_point *x = a, *y = b;

	return (x->time_ns > y->time_ns) - (x->time_ns < y->time_ns);
}

/* Of every four points the least and the greatest stay: peaks are kept. Of
 * equal ones it is the first and the last, so these are always two. */
static void thin(struct html_series *s)
{
	u32 i, k, kept = 0;

	qsort(s->point, s->len, sizeof(*s->point), compare_points);
	for (i = 0; i + 4 <= s->len; i += 4) {
		u32 low = i, high = i;

		for (k = i + 1; k < i + 4; k++) {
			if (s->point[k].value < s->point[low].value)
				low = k;
			if (s->point[k].value >= s->point[high].value)
				high = k;
		}
		s->point[kept] = s->point[low < high ? low : high];
		s->point[kept + 1] = s->point[low < high ? high : low];
		kept += 2;
	}
	for (; i < s->len; i++)
		s->point[kept++] = s->point[i];
	s->len = kept;
	s->thinned = true;
}

static struct html_series *find(struct html_heap *h, u32 pid, u32 label)
{
	u32 i;

	for (i = 0; i < h->count; i++)
		if (h->series[i].pid == pid && h->series[i].label == label)
			return &h->series[i];
	if (h->count == HTML_SERIES_MAX)
		return NULL;
	h->series[h->count] = (struct html_series){ .pid = pid, .label = label };
	return &h->series[h->count++];
}

int html_heap_point(struct html_heap *h, u32 pid, u32 label, u64 time_ns, s64 value)
{
	struct html_series *s = find(h, pid, label);

	if (!s) {
		h->series_refused++;
		return 0;
	}
	if (s->len == HTML_POINTS_MAX)
		thin(s);
	if (array_room(s->point, s->cap, s->len + 1))
		return -ENOMEM;
	s->point[s->len++] = (struct html_point){ time_ns, value };
	return 0;
}

static u64 gc_ns(const struct html_gc *g)
{
	return g->end_ns > g->begin_ns ? g->end_ns - g->begin_ns : 0;
}

static int compare_pauses(const void *a, const void *b)
{
	u64 x = gc_ns(a), y = gc_ns(b);

	return (x < y) - (x > y);
}

static int compare_gcs(const void *a, const void *b)
{
	const struct html_gc *x = a, *y = b;

	return (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);
}

int html_heap_gc(struct html_heap *h, const struct html_gc *gc)
{
	int rc = 0;

	if (gc->before || gc->after) {
		rc = html_heap_point(h, gc->pid, NAME_HEAP, gc->begin_ns, (s64)gc->before);
		if (!rc)
			rc = html_heap_point(h, gc->pid, NAME_HEAP, gc->end_ns, (s64)gc->after);
	}
	if (rc)
		return rc;
	/* The longest pauses stay. */
	if (h->gc_len == 2 * HTML_GCS_MAX) {
		qsort(h->gc, h->gc_len, sizeof(*h->gc), compare_pauses);
		h->gc_dropped += h->gc_len - HTML_GCS_MAX;
		h->gc_len = HTML_GCS_MAX;
	}
	if (array_room(h->gc, h->gc_cap, h->gc_len + 1))
		return -ENOMEM;
	h->gc[h->gc_len++] = *gc;
	return 0;
}

void html_heap_sort(struct html_heap *h)
{
	u32 i;

	for (i = 0; i < h->count; i++)
		qsort(h->series[i].point, h->series[i].len, sizeof(struct html_point),
		      compare_points);
	if (h->gc_len)
		qsort(h->gc, h->gc_len, sizeof(*h->gc), compare_gcs);
}

void html_heap_release(struct html_heap *h)
{
	u32 i;

	for (i = 0; i < h->count; i++)
		free(h->series[i].point);
	free(h->gc);
	*h = (struct html_heap){ 0 };
}
