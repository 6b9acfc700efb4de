/* SPDX-License-Identifier: BSD-2-Clause */
/* Which groups a view shows, and in which order. */
#include "sink/sink.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

u64 group_quantile(const struct group_stats *s, unsigned int permille)
{
	return min_u64(hist_quantile(&s->hist, permille), s->max_ns);
}

/*
 * Janky first, as the original's monitor ordered its rows: by the longest
 * bucket that holds anything, then by how much it holds.
 */
static u64 jank_key(const struct group_stats *s)
{
	unsigned int i = JANK_BUCKETS;

	while (i && !s->durations[i - 1])
		i--;
	return i ? (u64)i << 56 | min_u64(s->durations[i - 1], (1ull << 56) - 1) : 0;
}

/* Largest first; "name" alone is in the order of the alphabet. */
#define SORT_KEYS(X)                   \
	X(self, s->self_ns)            \
	X(wall, s->wall_ns)            \
	X(cpu, s->cpu_ns)              \
	X(blocked, s->blocked_ns)      \
	X(gc, s->gc_ns)                \
	X(max, s->max_ns)              \
	X(p50, group_quantile(s, 500)) \
	X(p99, group_quantile(s, 990)) \
	X(jank, jank_key(s))           \
	X(ticks, s->ticks)             \
	X(events, s->events)           \
	X(spans, s->spans)             \
	X(moved, s->moved)             \
	X(uncharged, s->uncharged_ns)  \
	X(stale, s->stale)             \
	X(name, 0 * s->ticks)

#define AS_FUNCTION(key, value)                           \
	static u64 key_##key(const struct group_stats *s) \
	{                                                 \
		return value;                             \
	}
SORT_KEYS(AS_FUNCTION)

#define AS_NAME(key, value) #key,
const char *const sort_keys[] = { SORT_KEYS(AS_NAME) NULL };

#define AS_POINTER(key, value) key_##key,
static u64 (*const key_functions[])(const struct group_stats *) = { SORT_KEYS(AS_POINTER) };

static int sort_key_find(const char *key)
{
	int i;

	for (i = 0; sort_keys[i]; i++)
		if (!strcmp(sort_keys[i], key))
			return i;
	return -1;
}

bool sort_key_valid(const char *key)
{
	return sort_key_find(key) >= 0;
}

u64 sort_key_of(const char *key, const struct group_stats *s)
{
	int i = key ? sort_key_find(key) : 0;

	return key_functions[i < 0 ? 0 : i](s);
}

bool group_matches(const char *name, const char *glob)
{
	return glob_matches(name, glob);
}

struct sort_row {
	u64 key;
	const struct snapshot_group *group;
};

static int compare_names(const void *a, const void *b)
{
	const struct sort_row *x = a, *y = b;
	int order = strcmp(x->group->name, y->group->name);

	return order ? order : (x->group->id > y->group->id) - (x->group->id < y->group->id);
}

static int compare_keys(const void *a, const void *b)
{
	const struct sort_row *x = a, *y = b;
	u64 wx = x->group->stats.wall_ns, wy = y->group->stats.wall_ns;

	if (x->key != y->key)
		return x->key < y->key ? 1 : -1;
	if (wx != wy)
		return wx < wy ? 1 : -1;
	return compare_names(a, b);
}

const struct snapshot_group **view_rows(const struct snapshot *s, const struct view *v, u32 *n)
{
	int key = v->sort ? sort_key_find(v->sort) : 0;
	const struct snapshot_group **rows;
	struct sort_row *sorted;
	u32 i, count = 0;

	*n = 0;
	rows = calloc((size_t)s->group_count + 1, sizeof(*rows));
	sorted = calloc((size_t)s->group_count + 1, sizeof(*sorted));
	if (!rows || !sorted) {
		free(rows);
		free(sorted);
		return NULL;
	}
	if (key < 0)
		key = 0;
	for (i = 0; i < s->group_count; i++) {
		if (!group_matches(s->groups[i].name, v->glob))
			continue;
		sorted[count].key = key_functions[key](&s->groups[i].stats);
		sorted[count++].group = &s->groups[i];
	}
	qsort(sorted, count, sizeof(*sorted),
	      key_functions[key] == key_name ? compare_names : compare_keys);
	*n = v->limit && v->limit < count ? v->limit : count;
	for (i = 0; i < *n; i++)
		rows[i] = sorted[v->reverse ? count - 1 - i : i].group;
	free(sorted);
	return rows;
}
