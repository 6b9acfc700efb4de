/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two passes over the recording. The first finds the last clock item before
 * the part: it becomes the new recording's first, and the model leaves out
 * what began before it. The second copies: of batches before that clock only
 * the definitions in them.
 */
#include "rec/cut.h"
#include "rec/rec.h"
#include "rec/sched_ends.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct cut {
	u64 begin_ns, end_ns;
	struct item_clock first; /* the clock the part begins with */
	struct item_cost cost; /* the newest that was left out */
	bool begun, ended, has_cost;
	struct rec_writer *to;
	struct sched_ends sched; /* owned */
};

static int find_first(void *ctx, const struct item *it)
{
	struct cut *c = ctx;
	const struct item_clock *k = &it->clock;

	if (it->type != ITEM_CLOCK)
		return 0;
	if (!c->first.mono_ns || (k->mono_ns <= c->begin_ns && k->mono_ns >= c->first.mono_ns))
		c->first = *k;
	return 0;
}

/* The definitions of a batch that is left out. */
static int copy_defs(struct cut *c, const struct item_batch *b)
{
	const u8 *p = b->data, *end = p + b->bytes;
	int rc = 0;

	while (!rc && p < end) {
		const struct vmspan_head *h = (const void *)p;
		struct item it = { .type = ITEM_DEFS };

		if (h->type >= VMSPAN_DEF_GROUP && h->type <= VMSPAN_DEF_LABEL) {
			it.defs = (struct item_defs){ b->pid, b->registry, p,
						      h->slots * (u32)VMSPAN_SLOT };
			rc = rec_item(c->to, &it);
		}
		p += (size_t)h->slots * VMSPAN_SLOT;
	}
	return rc;
}

/* Of a batch of the scheduler's that is left out, only where it ends. */
static int skip_sched(struct cut *c, const struct item_batch *b)
{
	int rc;
	struct sched_end *e = sched_end_of(&c->sched, b, UINT32_MAX, &rc);

	if (e)
		sched_end_note(e, b);
	return rc;
}

static int put_item(void *ctx, const struct item *it)
{
	return rec_item(ctx, it);
}

/* The part begins: what was left out of each stream ends with a start. */
static int start_streams(struct cut *c)
{
	int rc = 0;
	u32 i;

	for (i = 0; i < c->sched.len && !rc; i++) {
		c->sched.ends[i].kept = true;
		rc = sched_end_start(&c->sched.ends[i], put_item, c->to);
	}
	return rc;
}

static const struct vmspan_span *first_off(const struct item_batch *b)
{
	const u8 *at = b->data, *end = at + b->bytes;

	for (; at < end; at += at[1] * (u32)VMSPAN_SLOT)
		if (*at == VMSPAN_OFF)
			return (const void *)at;
	return NULL;
}

static int copy_sched(struct cut *c, const struct item *it)
{
	const struct vmspan_span *first = first_off(&it->batch);
	int rc;
	struct sched_end *e = sched_end_of(&c->sched, &it->batch, UINT32_MAX, &rc);

	if (!e)
		return rc;
	/* A ring may have lost the beginning before we came. */
	if (!e->kept && it->batch.seq && first &&
	    (first->h.depth & VMSPAN_DEPTH_MASK) != VMSPAN_OFF_START) {
		e->next = it->batch.seq;
		e->cycles = first->begin;
		rc = sched_end_start(e, put_item, c->to);
	}
	e->kept = true;
	return rc ? rc : rec_item(c->to, it);
}

static int copy_batch(struct cut *c, const struct item *it)
{
	bool sched = it->batch.registry == ITEM_SCHED_REGISTRY;

	if (c->begun)
		return sched ? copy_sched(c, it) : rec_item(c->to, it);
	return sched ? skip_sched(c, &it->batch) : copy_defs(c, &it->batch);
}

/* Before the part. */
static int put_cost(struct cut *c)
{
	struct item it = { .type = ITEM_COST, .cost = c->cost };

	c->has_cost = false;
	return rec_item(c->to, &it);
}

static int copy_clock(struct cut *c, const struct item *it)
{
	bool begun = c->begun;
	int rc = 0;

	c->begun |= it->clock.mono_ns >= c->first.mono_ns;
	if (c->begun && !begun)
		rc = start_streams(c);
	if (!rc && c->begun && c->has_cost)
		rc = put_cost(c);
	/* The first is written already. */
	if (rc || it->clock.mono_ns <= c->first.mono_ns)
		return rc;
	c->ended = it->clock.mono_ns > c->end_ns;
	return rec_item(c->to, it);
}

static int copy_item(void *ctx, const struct item *it)
{
	struct cut *c = ctx;

	if (c->ended)
		return 0;
	switch (it->type) {
	case ITEM_CLOCK:
		return copy_clock(c, it);
	case ITEM_BATCH:
		return copy_batch(c, it);
	case ITEM_LOSS:
	case ITEM_UNFINISHED:
		return c->begun ? rec_item(c->to, it) : 0;
	case ITEM_COST:
		if (c->begun)
			return rec_item(c->to, it);
		c->cost = it->cost;
		c->has_cost = true;
		return 0;
	default:
		return rec_item(c->to, it);
	}
}

static int pass(const char *from, item_fn fn, struct cut *c, struct source_info *info,
		struct err *err)
{
	struct rec_reader *r = rec_open(from, info, err);
	int rc;

	if (!r)
		return err->code ? err->code : -EIO;
	rec_goes_on(r);
	do
		rc = rec_read(r, fn, c, err);
	while (rc > 0 && !c->ended);
	rec_reader_free(r);
	return rc < 0 ? rc : 0;
}

static int copy(const char *from, struct cut *c, struct err *err)
{
	struct item clock = { .type = ITEM_CLOCK, .clock = c->first };
	struct source_info info;
	int rc = 0;

	/* What the recording begins with, losses too, is of a part that begins before any clock in it. */
	c->begun = c->first.mono_ns > c->begin_ns;
	if (c->first.mono_ns)
		rc = rec_item(c->to, &clock);
	return rc ? rc : pass(from, copy_item, c, &info, err);
}

static int add_open(struct cut *c, const struct item_unfinished *open, u32 count)
{
	struct item it = { .type = ITEM_UNFINISHED };
	int rc = 0;

	while (!rc && count--) {
		it.unfinished = *open++;
		rc = rec_item(c->to, &it);
	}
	return rc;
}

int rec_cut(const char *from, const char *to, u64 begin_ns, u64 end_ns,
	    const struct item_unfinished *open, u32 open_count, struct err *err)
{
	struct cut c = { .begin_ns = begin_ns, .end_ns = end_ns };
	struct err own = { 0 }, closing = { 0 };
	struct source_info info;
	int rc, closed;

	err = err ? err : &own;
	rc = pass(from, find_first, &c, &info, err);
	if (rc)
		return rc;
	c.to = rec_create(to, &info, NULL, err);
	if (!c.to) {
		/* It may be there already, without room for its head. */
		unlink(to);
		return err->code ? err->code : -EIO;
	}
	rc = copy(from, &c, err);
	if (!rc)
		rc = add_open(&c, open, open_count);
	closed = rec_close(c.to, &closing);
	sched_ends_free(&c.sched);
	/* The writer's words are of a recording that stays as far as it got: not this one. */
	if (closed && (!rc || closing.code)) {
		rc = closed;
		*err = (struct err){ 0 };
	}
	if (!rc)
		return 0;
	unlink(to);
	return err->code ? rc : err_set(err, rc, "cannot write %s: %s", to, strerror(-rc));
}
