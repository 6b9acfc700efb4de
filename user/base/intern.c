/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/intern.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

struct intern_entry {
	char *text;
	size_t len;
	u64 hash;
};

struct intern {
	struct intern_entry *entries;
	u32 len, cap;
	u32 *table; /* index + 1 into entries; 0: empty */
	u32 table_cap; /* power of two, at most half full */
	u64 seed;
};

/* FNV-1a, then mixed, keyed by a random seed: names come from the target. */
static u64 intern_hash(const struct intern *t, const char *s, size_t len)
{
	u64 h = 0xcbf29ce484222325ull ^ t->seed;
	size_t i;

	for (i = 0; i < len; i++)
		h = (h ^ (u8)s[i]) * 0x100000001b3ull;
	h ^= h >> 29;
	h *= 0xbf58476d1ce4e5b9ull;
	return h ^ (h >> 32);
}

struct intern *intern_new(void)
{
	struct intern *t = calloc(1, sizeof(*t));

	if (t && getrandom(&t->seed, sizeof(t->seed), GRND_NONBLOCK) < 0)
		t->seed = (u64)(uintptr_t)t;
	return t;
}

void intern_free(struct intern *t)
{
	u32 i;

	if (!t)
		return;
	for (i = 0; i < t->len; i++)
		free(t->entries[i].text);
	free(t->entries);
	free(t->table);
	free(t);
}

static u32 *intern_place(const struct intern *t, u64 hash, const char *s, size_t len)
{
	u32 i = (u32)hash & (t->table_cap - 1);

	for (; t->table[i]; i = (i + 1) & (t->table_cap - 1)) {
		const struct intern_entry *e = &t->entries[t->table[i] - 1];

		if (s && e->hash == hash && e->len == len && !memcmp(e->text, s, len))
			break;
	}
	return &t->table[i];
}

static int intern_grow(struct intern *t)
{
	u32 cap = t->cap ? t->cap * 2 : 64, i;
	struct intern_entry *entries;
	u32 *table;

	if (cap > 1u << 30)
		return -ENOSPC;
	entries = realloc(t->entries, cap * sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	t->entries = entries;
	table = calloc((size_t)cap * 2, sizeof(*table));
	if (!table)
		return -ENOMEM;
	free(t->table);
	t->table = table;
	t->cap = cap;
	t->table_cap = cap * 2;
	for (i = 0; i < t->len; i++)
		*intern_place(t, entries[i].hash, NULL, 0) = i + 1;
	return 0;
}

s64 intern_put(struct intern *t, const char *s, size_t len)
{
	u64 hash = intern_hash(t, s, len);
	u32 *place;
	char *text;
	int rc;

	if (t->table) {
		place = intern_place(t, hash, s, len);
		if (*place)
			return *place - 1;
	}
	if (t->len == t->cap) {
		rc = intern_grow(t);
		if (rc)
			return rc;
	}
	text = malloc(len + 1);
	if (!text)
		return -ENOMEM;
	if (len)
		memcpy(text, s, len);
	text[len] = 0;
	place = intern_place(t, hash, s, len);
	t->entries[t->len] = (struct intern_entry){ text, len, hash };
	*place = ++t->len;
	return t->len - 1;
}

s64 intern_find(const struct intern *t, const char *s, size_t len)
{
	u32 *place;

	if (!t->table)
		return -ENOENT;
	place = intern_place(t, intern_hash(t, s, len), s, len);
	return *place ? (s64)*place - 1 : -ENOENT;
}

const char *intern_get(const struct intern *t, u32 id, size_t *len)
{
	if (len)
		*len = t->entries[id].len;
	return t->entries[id].text;
}

u32 intern_count(const struct intern *t)
{
	return t->len;
}
