/* SPDX-License-Identifier: BSD-2-Clause */
#include "model/wait.h"
#include "base/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool same_peer(const struct peer *a, const struct peer *b)
{
	return a->pid == b->pid && a->comp == b->comp && a->registry == b->registry &&
	       !memcmp(a->comm, b->comm, sizeof(a->comm));
}

int waits_add(struct turn_waits *w, const struct peer *p, u64 begin, u64 end)
{
	if (w->len == WAITS_TURN)
		return 0;
	if (array_room(w->at, w->cap, w->len + 1))
		return -ENOMEM;
	w->at[w->len++] = (struct turn_wait){ *p, WAIT_OPEN, begin, end - begin, 1 };
	w->open++;
	return 0;
}

/* The entry of this owner and peer among the first n. */
static struct turn_wait *find(struct turn_waits *w, u32 n, const struct turn_wait *like, u32 owner)
{
	u32 i;

	for (i = 0; i < n; i++)
		if (w->at[i].owner == owner && same_peer(&w->at[i].peer, &like->peer))
			return &w->at[i];
	return NULL;
}

void waits_own(struct turn_waits *w, u64 begin, u32 owner)
{
	u32 i, keep = 0;

	if (!w->open)
		return;
	for (i = 0; i < w->len; i++) {
		struct turn_wait e = w->at[i], *to = NULL;

		if (e.owner == WAIT_OPEN && e.begin >= begin) {
			w->open--;
			e.owner = owner;
			to = find(w, keep, &e, owner);
		}
		if (to) {
			to->cycles += e.cycles;
			to->count += e.count;
		} else {
			w->at[keep++] = e;
		}
	}
	w->len = keep;
}

static u64 key_of(const struct wait_row *r)
{
	const u32 words[] = { r->pid,      r->process,      r->group,
			      r->peer_pid, r->peer_process, r->peer_group };
	u64 h = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(words); i++)
		h = (h ^ words[i]) * 0x9e3779b97f4a7c15ull;
	return h ^ h >> 32;
}

static bool same_row(const struct wait_row *a, const struct wait_row *b)
{
	return a->pid == b->pid && a->process == b->process && a->group == b->group &&
	       a->peer_pid == b->peer_pid && a->peer_process == b->peer_process &&
	       a->peer_group == b->peer_group;
}

struct wait_row *wait_row_of(struct wait_rows *w, const struct wait_row *key)
{
	u64 hash = key_of(key), *at = map_get(&w->at, hash);

	/* Two rows of one hash: names somebody chose. The first keeps it. */
	if (at && same_row(&w->rows[*at], key))
		return &w->rows[*at];
	if (at || w->len >= WAITS_MAX) {
		static const struct wait_row others;

		if (key->peer_pid)
			return wait_row_of(w, &others);
	}
	if (array_room(w->rows, w->cap, w->len + 1))
		return NULL;
	if (map_put(&w->at, hash, w->len))
		return NULL;
	w->rows[w->len] = *key;
	w->rows[w->len].ns = w->rows[w->len].count = 0;
	return &w->rows[w->len++];
}

void wait_rows_free(struct wait_rows *w)
{
	free(w->rows);
	map_free(&w->at);
}
