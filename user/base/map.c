/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* The finalizer of SplitMix64 (Steele, Lea, Flood 2014), keyed. */
static size_t map_hash(const struct map *m, u64 key)
{
	key ^= m->seed;
	key = (key ^ (key >> 30)) * 0xbf58476d1ce4e5b9ull;
	key = (key ^ (key >> 27)) * 0x94d049bb133111ebull;
	return (size_t)(key ^ (key >> 31)) & (m->cap - 1);
}

static struct map_slot *map_find(const struct map *m, u64 key)
{
	size_t i = map_hash(m, key);

	while (m->slots[i].used && m->slots[i].key != key)
		i = (i + 1) & (m->cap - 1);
	return &m->slots[i];
}

u64 *map_get(const struct map *m, u64 key)
{
	struct map_slot *s;

	if (!m->len)
		return NULL;
	s = map_find(m, key);
	return s->used ? &s->value : NULL;
}

static int map_grow(struct map *m)
{
	struct map next = { .cap = m->cap ? m->cap * 2 : 16, .len = m->len, .seed = m->seed };
	size_t i;

	if (!m->cap && getrandom(&next.seed, sizeof(next.seed), GRND_NONBLOCK) < 0)
		next.seed = (u64)(uintptr_t)m;
	next.slots = calloc(next.cap, sizeof(*next.slots));
	if (!next.slots)
		return -ENOMEM;
	for (i = 0; i < m->cap; i++)
		if (m->slots[i].used)
			*map_find(&next, m->slots[i].key) = m->slots[i];
	free(m->slots);
	*m = next;
	return 0;
}

int map_put(struct map *m, u64 key, u64 value)
{
	struct map_slot *s;

	if (m->len + 1 > m->cap - m->cap / 4 && map_grow(m))
		return -ENOMEM;
	s = map_find(m, key);
	if (!s->used) {
		s->used = true;
		s->key = key;
		m->len++;
	}
	s->value = value;
	return 0;
}

bool map_del(struct map *m, u64 key)
{
	size_t hole, i;

	if (!m->len)
		return false;
	hole = (size_t)(map_find(m, key) - m->slots);
	if (!m->slots[hole].used)
		return false;
	m->len--;
	/* Close the gap: move back each entry that probed across the hole. */
	for (i = (hole + 1) & (m->cap - 1); m->slots[i].used; i = (i + 1) & (m->cap - 1)) {
		size_t home = map_hash(m, m->slots[i].key);

		if (((i - home) & (m->cap - 1)) >= ((i - hole) & (m->cap - 1))) {
			m->slots[hole] = m->slots[i];
			hole = i;
		}
	}
	m->slots[hole].used = false;
	return true;
}

bool map_next(const struct map *m, size_t *at, u64 *key, u64 *value)
{
	for (; *at < m->cap; (*at)++) {
		const struct map_slot *s = &m->slots[*at];

		if (s->used) {
			*key = s->key;
			*value = s->value;
			(*at)++;
			return true;
		}
	}
	return false;
}

int map_copy(struct map *to, const struct map *from)
{
	u64 key, value;
	size_t at = 0;

	while (map_next(from, &at, &key, &value))
		if (map_put(to, key, value))
			return -ENOMEM;
	return 0;
}

void map_clear(struct map *m)
{
	if (m->cap > 64 && m->len < m->cap / 8) {
		free(m->slots);
		m->slots = NULL;
		m->cap = 0;
	} else if (m->len) {
		memset(m->slots, 0, m->cap * sizeof(*m->slots));
	}
	m->len = 0;
}

void map_free(struct map *m)
{
	free(m->slots);
	*m = (struct map){ 0 };
}
