/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/history.h"
#include "base/map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Less than this share of an interval, in 1/10000, is drawn as such: noise
 * must not fill the row. */
#define LEAST_SCALE 50

struct track {
	u64 last_self_ns;
	u16 share[HISTORY_LEN]; /* of the interval, in 1/10000; a ring */
};

struct history {
	struct map index; /* group id -> tracks */
	struct track *tracks;
	u32 count, cap;
	u32 intervals; /* so far */
};

struct history *history_new(void)
{
	return calloc(1, sizeof(struct history));
}

void history_free(struct history *h)
{
	if (!h)
		return;
	map_free(&h->index);
	free(h->tracks);
	free(h);
}

static struct track *track_of(struct history *h, u64 group)
{
	u64 *at = map_get(&h->index, group);
	struct track *grown;

	if (at)
		return &h->tracks[*at];
	if (h->count == h->cap) {
		u32 cap = h->cap ? h->cap + h->cap / 2 : 64;

		grown = realloc(h->tracks, cap * sizeof(*grown));
		if (!grown)
			return NULL;
		h->tracks = grown;
		h->cap = cap;
	}
	if (map_put(&h->index, group, h->count))
		return NULL;
	memset(&h->tracks[h->count], 0, sizeof(*grown));
	return &h->tracks[h->count++];
}

int history_add(struct history *h, const struct snapshot *total, u64 elapsed_ns)
{
	u32 at = h->intervals++ % HISTORY_LEN, i;

	for (i = 0; i < h->count; i++)
		h->tracks[i].share[at] = 0;
	for (i = 0; i < total->group_count; i++) {
		const struct snapshot_group *g = &total->groups[i];
		struct track *t = track_of(h, g->id);
		u64 self;

		if (!t)
			return -ENOMEM;
		self = g->stats.self_ns - min_u64(t->last_self_ns, g->stats.self_ns);
		t->last_self_ns = g->stats.self_ns;
		t->share[at] = (u16)min_u64(
			(u64)((double)self * 10000 / (double)max_u64(elapsed_ns, 1)), UINT16_MAX);
	}
	return 0;
}

void history_put(const struct history *h, u64 group, unsigned int columns, bool ascii,
		 struct out *o)
{
	static const char *const blocks[] = { " ",
					      "\xe2\x96\x81",
					      "\xe2\x96\x82",
					      "\xe2\x96\x83",
					      "\xe2\x96\x84",
					      "\xe2\x96\x85",
					      "\xe2\x96\x86",
					      "\xe2\x96\x87",
					      "\xe2\x96\x88" };
	static const char *const signs[] = { " ", ".", ":", "-", "=", "+", "*", "#", "@" };
	const u64 *at = h ? map_get(&h->index, group) : NULL;
	const struct track *t = at ? &h->tracks[*at] : NULL;
	unsigned int i, scale = LEAST_SCALE;

	for (i = 0; t && i < HISTORY_LEN; i++)
		scale = t->share[i] > scale ? t->share[i] : scale;
	for (i = 0; i < columns; i++) {
		unsigned int age = columns - 1 - i, share = 0, level;

		if (t && age < HISTORY_LEN && age < h->intervals)
			share = t->share[(h->intervals - 1 - age) % HISTORY_LEN];
		/* Rounded up: what is not nothing shows. */
		level = (share * 8 + scale - 1) / scale;
		out_puts(o, ascii ? signs[level] : blocks[level]);
	}
}
