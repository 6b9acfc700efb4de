/* SPDX-License-Identifier: BSD-2-Clause */
/* Snapshots in little memory: most figures of most groups are small or 0. */
#include "base/map.h"
#include "base/varint.h"
#include "model/model_priv.h"
#include "model/snapshot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Figures are structs of u64 alone, so they travel as arrays of them. */
#define WORDS_OF(type) (sizeof(type) / sizeof(u64))
#define GROUP_WORDS (offsetof(struct group_stats, hist) / sizeof(u64))
_Static_assert(offsetof(struct group_stats, hist) % sizeof(u64) == 0, "figures are u64");
_Static_assert(sizeof(struct event_stats) % sizeof(u64) == 0, "figures are u64");
_Static_assert(sizeof(struct ledger) % sizeof(u64) == 0, "figures are u64");

static void put_words(struct buf *b, const void *from, size_t n)
{
	u64 word;
	size_t i;

	for (i = 0; i < n; i++) {
		memcpy(&word, (const u8 *)from + i * sizeof(word), sizeof(word));
		buf_put_uleb(b, word);
	}
}

static void put_hist(struct buf *b, const struct hist *h)
{
	unsigned int i;

	buf_put_uleb(b, h->first);
	buf_put_uleb(b, h->len);
	for (i = 0; i < h->len; i++)
		buf_put_uleb(b, h->counts[i]);
}

static void put_stats(struct buf *b, const struct group_stats *s)
{
	put_words(b, s, GROUP_WORDS);
	put_hist(b, &s->hist);
}

int snapshot_pack(const struct snapshot *s, struct buf *to)
{
	u32 i, k;

	buf_put_uleb(to, s->end_ns);
	put_words(to, &s->events, WORDS_OF(s->events));
	put_words(to, &s->gc, WORDS_OF(s->gc));
	put_words(to, &s->ledger, WORDS_OF(s->ledger));
	put_words(to, &s->losses, WORDS_OF(s->losses));
	put_words(to, &s->repairs, WORDS_OF(s->repairs));
	for (i = 0; i < TRACE_PARTS; i++)
		put_words(to, &s->parts[i].ns, 1);
	put_words(to, &s->spans, 1);
	put_words(to, &s->records, 1);
	put_words(to, &s->inputs, 1);
	put_words(to, &s->frames, 1);
	put_words(to, &s->unfinished_count, 1);
	put_words(to, &s->cost, WORDS_OF(s->cost));
	buf_put_uleb(to, s->process_count);
	for (i = 0; i < s->process_count; i++) {
		const struct snapshot_process *p = &s->processes[i];

		buf_put_uleb(to, p->id);
		buf_put_uleb(to, p->container_number);
		put_words(to, &p->events, WORDS_OF(p->events));
		put_words(to, &p->gc, WORDS_OF(p->gc));
		put_words(to, &p->ledger, WORDS_OF(p->ledger));
	}
	buf_put_uleb(to, s->group_count);
	for (i = 0; i < s->group_count; i++) {
		const struct snapshot_group *g = &s->groups[i];

		buf_put_uleb(to, g->id);
		put_stats(to, &g->stats);
		buf_put_uleb(to, g->children);
		for (k = 0; k < g->children; k++) {
			const struct snapshot_child *c = &s->children[g->first_child + k];

			buf_put_uleb(to, s->processes[c->process].id);
			/* An only child is its group once more. */
			if (g->children > 1)
				put_stats(to, &c->stats);
		}
	}
	return to->failed ? -ENOMEM : 0;
}

/* What is read back. Failure sticks; figures are then 0. */
struct unpack {
	const u8 *at, *end;
	int error;
};

static u64 get_word(struct unpack *u)
{
	u64 v = 0;

	if (!u->error)
		u->error = varint_get(&u->at, u->end, &v);
	return u->error ? 0 : v;
}

static void get_words(struct unpack *u, void *to, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		u64 word = get_word(u);

		memcpy((u8 *)to + i * sizeof(word), &word, sizeof(word));
	}
}

/* Figures whose histogram uses `counts`, of the given capacity. */
static void get_stats(struct unpack *u, struct group_stats *s, u32 *counts, size_t cap)
{
	u64 first, len, i;

	memset(s, 0, sizeof(*s));
	get_words(u, s, GROUP_WORDS);
	first = get_word(u);
	len = get_word(u);
	if (len > cap || first > UINT16_MAX)
		u->error = -EBADMSG;
	if (u->error)
		return;
	s->hist = (struct hist){ .counts = counts, .first = (u16)first, .len = (u16)len };
	for (i = 0; i < len; i++) {
		counts[i] = (u32)get_word(u);
		s->hist.total += counts[i];
	}
}

/* What is known of the earlier snapshot. */
struct earlier {
	struct unpack *from;
	const struct snapshot *then; /* its processes */
	const u32 *places; /* of these in the later one */
	struct map groups; /* id -> place in the later one */
};

static struct snapshot_child *child_of(const struct earlier *e, struct snapshot *s,
				       const struct snapshot_group *g, u64 process)
{
	u32 at = snapshot_process_at(e->then, process);

	return g && at != UINT32_MAX ? snapshot_child_at(s, g, e->places[at]) : NULL;
}

static void subtract_group(const struct earlier *e, struct snapshot *s)
{
	u32 counts[1024];
	struct group_stats before;
	struct unpack *u = e->from;
	const u64 *place = map_get(&e->groups, get_word(u));
	struct snapshot_group *g = place ? &s->groups[*place] : NULL;
	u64 children, i;

	get_stats(u, &before, counts, ARRAY_SIZE(counts));
	if (g && !u->error)
		group_stats_subtract(&g->stats, &before);
	children = get_word(u);
	for (i = 0; i < children && !u->error; i++) {
		struct snapshot_child *c = child_of(e, s, g, get_word(u));

		if (children > 1)
			get_stats(u, &before, counts, ARRAY_SIZE(counts));
		if (c && !u->error)
			group_stats_subtract(&c->stats, &before);
	}
}

static int subtract_groups(struct earlier *e, struct snapshot *s)
{
	u64 n, i;
	int rc = 0;

	for (i = 0; i < s->group_count && !rc; i++)
		rc = map_put(&e->groups, s->groups[i].id, i);
	n = rc ? 0 : get_word(e->from);
	for (i = 0; i < n && !e->from->error; i++)
		subtract_group(e, s);
	map_free(&e->groups);
	return rc ? rc : e->from->error;
}

int snapshot_since(struct snapshot *s, const struct buf *packed)
{
	struct unpack u = { packed->data, packed->data + packed->len, 0 };
	struct snapshot then = { 0 };
	u32 *places;
	u64 n, i;
	int rc;

	then.end_ns = get_word(&u);
	get_words(&u, &then.events, WORDS_OF(then.events));
	get_words(&u, &then.gc, WORDS_OF(then.gc));
	get_words(&u, &then.ledger, WORDS_OF(then.ledger));
	get_words(&u, &then.losses, WORDS_OF(then.losses));
	get_words(&u, &then.repairs, WORDS_OF(then.repairs));
	for (i = 0; i < TRACE_PARTS; i++)
		get_words(&u, &then.parts[i].ns, 1);
	get_words(&u, &then.spans, 1);
	get_words(&u, &then.records, 1);
	get_words(&u, &then.inputs, 1);
	get_words(&u, &then.frames, 1);
	get_words(&u, &then.unfinished_count, 1);
	get_words(&u, &then.cost, WORDS_OF(then.cost));
	n = get_word(&u);
	/* A process takes more bytes than one, so this bounds the memory. */
	if (u.error || n > packed->len)
		return -EBADMSG;
	then.processes = calloc(n + 1, sizeof(*then.processes));
	if (!then.processes)
		return -ENOMEM;
	then.process_count = (u32)n;
	for (i = 0; i < n; i++) {
		struct snapshot_process *p = &then.processes[i];

		p->id = get_word(&u);
		p->container_number = get_word(&u);
		get_words(&u, &p->events, WORDS_OF(p->events));
		get_words(&u, &p->gc, WORDS_OF(p->gc));
		get_words(&u, &p->ledger, WORDS_OF(p->ledger));
	}
	s->wait_count = 0; /* they are not packed */
	places = u.error ? NULL : snapshot_places(s, &then);
	rc = u.error ? u.error : places ? 0 : -ENOMEM;
	if (!rc) {
		struct earlier e = { .from = &u, .then = &then, .places = places };

		snapshot_subtract_totals(s, &then, places);
		rc = subtract_groups(&e, s);
	}
	free(places);
	free(then.processes);
	return rc;
}
