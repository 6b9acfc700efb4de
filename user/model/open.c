/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Events that have not ended: what they come to if they end now. The records that would say so are taken
 * by a copy of the thread's stream, by the same rules as all others, and summed apart.
 */
#include "model/model_priv.h"
#include "base/array.h"
#include "model/scale.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void sum_free(struct open_sum *sum)
{
	while (sum->row_len)
		hist_free(&sum->rows[--sum->row_len].stats.hist);
	free(sum->rows);
	map_free(&sum->row_of);
	unfinished_clear(&sum->what);
	free(sum);
}

void open_free(struct stream *st)
{
	if (!st->open)
		return;
	sum_free(st->open);
	st->open = NULL;
	st->proc->opens--;
}

/* Calls fn with each stream that has something open. 0, or what fn returned. */
static int each_open(const struct registry_set *set,
		     int (*fn)(void *ctx, u32 process, struct stream *st), void *ctx)
{
	u64 key, value;
	int rc = 0;
	size_t at;
	u32 i, k;

	for (i = 0; i < set->proc_len; i++)
		for (k = 0; set->procs[i]->opens && k < set->procs[i]->registry_len; k++)
			for (at = 0; !rc && map_next(&set->procs[i]->registries[k]->threads, &at,
						     &key, &value);) {
				struct stream *st = (struct stream *)(uintptr_t)value;

				rc = st->open ? fn(ctx, i, st) : 0;
			}
	return rc;
}

static int forget(void *ctx, u32 process, struct stream *st)
{
	(void)ctx;
	(void)process;
	open_free(st);
	return 0;
}

void open_forget_all(const struct model *m)
{
	each_open(&m->set, forget, NULL);
}

struct group_stats *open_row(struct open_sum *sum, u32 row)
{
	const u64 *at = map_get(&sum->row_of, row);

	if (at)
		return &sum->rows[*at].stats;
	if (array_room(sum->rows, sum->row_cap, sum->row_len + 1) ||
	    map_put(&sum->row_of, row, sum->row_len))
		return NULL;
	sum->rows[sum->row_len] = (struct open_row){ .row = row };
	return &sum->rows[sum->row_len++].stats;
}

/*
 * Exact mode: for what has not been handed over there is no scheduler's record. That the thread had no
 * CPU meanwhile, it says itself; why, its state does, as it is now.
 */
static int add_off(const struct open_sum *sum, struct sched *s, u64 begin, u64 end)
{
	const struct vmspan_span off = {
		.h = { .type = VMSPAN_OFF, .slots = 1, .depth = (u16)sum->off },
		.begin = begin,
		.end = end,
	};

	return sched_add(s, &off);
}

/* Up to here the scheduler's record has come. */
static u64 known_until(const struct sched *s)
{
	return s->len ? s->offs[s->len - 1].end : 0;
}

int open_away(const struct model *m, struct stream *st, const struct vmspan_span *s)
{
	u64 begin = max_u64(s->begin, known_until(st->sched));

	if (s->end != m->sum->end) /* what lies before it is in the record */
		return begin > s->begin ? 0 : add_off(m->sum, st->sched, s->begin, s->end);
	return m->sum->rest || begin >= s->end ? 0 : add_off(m->sum, st->sched, begin, s->end);
}

/* How long a thread had no CPU, by its own clock: cycles, of which an event's `of` took its `wall`. */
static u64 off_by_clock(const struct vmspan_event *of, u64 wall, u64 cpu)
{
	u64 all = of->mono_end - of->mono_begin;

	return wall > cpu && all ? scale(wall - cpu, of->end - of->begin, all) : 0;
}

/* What of it is known in an event: taken by what has ended in it, or waiting for its end. */
static u64 off_known(const struct stream *st, const struct vmspan_event *e)
{
	const struct sched *s = st->sched;
	u64 sum = 0;
	u32 i;

	for (i = 0; i < st->turn_len; i++) {
		const struct turn *t = st->turns[i];

		cycles_add(&sum, t->off);
		cycles_add(&sum, off_by_clock(e, t->nested_wall_ns, t->nested_cpu_ns));
	}
	for (i = 0; i < s->len; i++)
		if (s->offs[i].begin >= e->begin)
			cycles_add(&sum, s->offs[i].end - s->offs[i].begin);
	return sum;
}

/* The rest is now, at the end of the event: the innermost that is open has it. */
static int add_rest(const struct open_sum *sum, struct stream *st, const struct vmspan_event *e)
{
	u64 off = off_by_clock(e, e->mono_end - e->mono_begin, e->cpu_ns_end - e->cpu_ns_begin);
	u64 known = off_known(st, e);
	u64 rest = off - min_u64(off, known), least = max_u64(known_until(st->sched), e->begin);

	rest = min_u64(rest, e->end - min_u64(e->end, least));
	return rest ? add_off(sum, st->sched, e->end - rest, e->end) : 0;
}

/* The stream once more, as far as its open events go. */
static int fork_stream(struct model *m, const struct stream *st, struct stream *to)
{
	u32 i;

	*to = *st;
	to->turn_len = 0;
	to->held_len = 0;
	to->sampler = st->sampler ? sampler_copy(st->sampler) : NULL;
	to->open = NULL;
	to->sched = stream_is_exact(m, st) ? sched_copy(st->sched) : NULL;
	if ((stream_is_exact(m, st) && !to->sched) || (st->sampler && !to->sampler))
		return -ENOMEM;
	for (i = 0; i < st->turn_len; i++) {
		struct turn *t = model_turn_of(m, to, st->turns[i]->iteration);

		if (!t || turn_copy(t, st->turns[i]))
			return -ENOMEM;
	}
	return 0;
}

/* As stream_order() would hand the batch out. */
static void follow(struct stream *to, const struct item_batch *b)
{
	if (!to->started) {
		to->first = b->seq;
	} else if (b->seq > to->next) {
		to->gap_end = b->seq;
		to->gap_open = true;
	}
}

/* Those that had ended and have not come, then what is open. */
static int take_records(struct model *m, struct stream *to, const struct item_batch *b)
{
	struct item_batch ended = *b, open = *b;
	const u8 *p = b->data, *end = p + b->bytes;
	const struct vmspan_event *outermost = NULL;
	int rc;

	for (ended.records = 0; p < end; ended.records++) {
		const struct vmspan_span *s = (const void *)p;

		if (s->end == m->sum->end && s->h.type != VMSPAN_AWAY)
			break;
		p += (size_t)s->h.slots * VMSPAN_SLOT;
	}
	ended.bytes = (u32)(p - (const u8 *)b->data);
	open.data = p;
	open.bytes -= ended.bytes;
	open.records -= ended.records;
	open.seq += ended.records;
	for (; p < end; p += (size_t)((const struct vmspan_head *)p)->slots * VMSPAN_SLOT)
		if (((const struct vmspan_head *)p)->type == VMSPAN_EVENT)
			outermost = (const void *)p;
	m->sum->rest = outermost != NULL;
	rc = model_records(m, to, &ended);
	if (!rc && to->sched && outermost)
		rc = add_rest(m->sum, to, outermost);
	return rc ? rc : model_records(m, to, &open);
}

/* The figures of the trace stay as they are. */
static int sum_up(struct model *m, const struct stream *st, const struct item_batch *b,
		  struct open_sum *sum)
{
	const struct model_observer *observer = m->observer;
	struct repair_stats repairs = m->repairs;
	u64 spans = m->spans, records = m->records, inputs = m->inputs, frames = m->frames;
	struct stream to;
	int rc = fork_stream(m, st, &to);

	follow(&to, b);
	m->sum = sum;
	m->observer = observer ? observer->open : NULL;
	if (!rc)
		rc = take_records(m, &to, b);
	while (to.turn_len)
		model_turn_done(m, &to, to.turns[to.turn_len - 1]);
	sched_free(to.sched);
	sampler_free(to.sampler);
	m->sum = NULL;
	m->observer = observer;
	m->repairs = repairs;
	m->spans = spans;
	m->records = records;
	m->inputs = inputs;
	m->frames = frames;
	return rc;
}

/* Of the last record: what is open ends together. */
static u64 end_of(const struct item_batch *b)
{
	const u8 *p = b->data, *end = p + b->bytes;
	const struct vmspan_span *last = NULL;

	while (p < end) {
		last = (const void *)p;
		p += (size_t)last->h.slots * VMSPAN_SLOT;
	}
	return last ? last->end : 0;
}

/* No stay says whose it is, but looks at its stack do. */
static int name_sampled(const struct model *m, const struct item_batch *b, struct open_sum *sum)
{
	const char *group = model_group_of(m, b->pid, b->registry, sum->held_by);
	char *name = group && !sum->what.group[0] ? strdup(group) : NULL;

	if (!name)
		return group && !sum->what.group[0] ? -ENOMEM : 0;
	free((char *)sum->what.group);
	sum->what.group = name;
	return 0;
}

int model_open(struct model *m, const struct item_open *it)
{
	const struct item_batch *b = &it->batch;
	struct open_sum *sum;
	struct stream *st;
	int rc;

	if (!b->pid) {
		open_forget_all(m);
		return 0;
	}
	st = model_stream(m, b);
	if (st && !st->sched && model_stream_sched(st, b))
		return -ENOMEM;
	if (!st || !model_in_range(m, it->what.begin_ns))
		return 0;
	open_free(st);
	sum = calloc(1, sizeof(*sum));
	if (!sum)
		return -ENOMEM;
	sum->end = end_of(b);
	sum->off = it->off;
	rc = unfinished_fill(m, &it->what, &sum->what);
	if (!rc)
		rc = sum_up(m, st, b, sum);
	if (!rc && sum->held_by)
		rc = name_sampled(m, b, sum);
	/* What is no event by the rules is none of those that go on. */
	if (rc || !sum->events.count) {
		sum_free(sum);
		return rc;
	}
	st->open = sum;
	st->proc->opens++;
	return 0;
}

/* ---- All of them ---- */

static int add_sum(void *ctx, u32 process, struct stream *st)
{
	const struct open_sum *sum = st->open;
	struct open_all *to = ctx;
	u32 i;

	if (array_room(to->sums, to->sum_cap, to->sum_len + 1) ||
	    array_room(to->rows, to->row_cap, to->row_len + sum->row_len))
		return -ENOMEM;
	to->sums[to->sum_len++] = (struct open_in){ process, sum };
	for (i = 0; i < sum->row_len; i++)
		to->rows[to->row_len++] =
			(struct open_at){ process, sum->rows[i].row, &sum->rows[i].stats };
	return 0;
}

static int by_place(const void *a, const void *b)
{
	const struct open_at *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return x->row < y->row ? -1 : x->row > y->row;
}

int open_collect(const struct registry_set *set, struct open_all *to)
{
	int rc = each_open(set, add_sum, to);

	if (to->row_len)
		qsort(to->rows, to->row_len, sizeof(*to->rows), by_place);
	return rc;
}

void open_all_free(struct open_all *o)
{
	free(o->sums);
	free(o->rows);
}

u32 open_rows_at(const struct open_all *o, u32 *at, u32 process, u32 row)
{
	u32 from = *at;

	while (*at < o->row_len && o->rows[*at].process == process && o->rows[*at].row == row)
		++*at;
	return *at - from;
}

static int longer_first(const void *a, const void *b)
{
	const struct open_in *x = a, *y = b;

	return x->sum->what.for_ns < y->sum->what.for_ns   ? 1
	       : x->sum->what.for_ns > y->sum->what.for_ns ? -1
							   : 0;
}

void open_longest_first(struct open_all *o)
{
	if (o->sum_len)
		qsort(o->sums, o->sum_len, sizeof(*o->sums), longer_first);
}
