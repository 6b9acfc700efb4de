/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two passes over the recording. The first finds the last clock item before
 * the part: it becomes the new recording's first, and the model leaves out
 * what began before it. The second copies: of batches before that clock only
 * the definitions in them.
 */
#include "rec/cut.h"
#include "rec/rec.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

struct cut {
	u64 begin_ns, end_ns;
	struct item_clock first; /* the clock the part begins with */
	bool begun, ended;
	struct rec_writer *to;
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

static int copy_item(void *ctx, const struct item *it)
{
	struct cut *c = ctx;

	if (c->ended)
		return 0;
	switch (it->type) {
	case ITEM_CLOCK:
		/* The first is written already. */
		if (it->clock.mono_ns <= c->first.mono_ns) {
			c->begun |= it->clock.mono_ns == c->first.mono_ns;
			return 0;
		}
		c->begun = true;
		c->ended = it->clock.mono_ns > c->end_ns;
		return rec_item(c->to, it);
	case ITEM_BATCH:
		return c->begun ? rec_item(c->to, it) : copy_defs(c, &it->batch);
	case ITEM_LOSS:
		return c->begun ? rec_item(c->to, it) : 0;
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

	if (c->first.mono_ns)
		rc = rec_item(c->to, &clock);
	return rc ? rc : pass(from, copy_item, c, &info, err);
}

int rec_cut(const char *from, const char *to, u64 begin_ns, u64 end_ns, struct err *err)
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
	closed = rec_close(c.to, &closing);
	/* The writer has the words for a write that failed. */
	if (closed && (!rc || closing.code)) {
		rc = closed;
		*err = closing;
	}
	if (!rc)
		return 0;
	unlink(to);
	return err->code ? rc : err_set(err, rc, "cannot write %s: %s", to, strerror(-rc));
}
