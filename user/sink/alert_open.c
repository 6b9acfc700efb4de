/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/alert_open.h"
#include "base/map.h"

#include <stdlib.h>

/* An event that something was told of. */
struct told {
	u64 thread;
	u32 pid, iteration;
	u64 used; /* opens.clock when it was told of last */
	u32 count;
	struct {
		const char *name; /* the model's own: the same text is the same pointer */
		bool notable;
	} groups[OPEN_GROUPS];
	struct told *next; /* other iterations of the thread */
};

struct opens {
	struct trees *trees;
	struct map told; /* thread id -> struct told * */
	u32 count;
	u64 clock;
};

struct opens *opens_new(void)
{
	struct opens *o = calloc(1, sizeof(*o));

	if (!o)
		return NULL;
	o->trees = trees_new();
	if (o->trees)
		return o;
	free(o);
	return NULL;
}

/* Frees those of the list that are meant: of all processes with pid 0, of all iterations with
 * NULL. Returns what is left. */
static struct told *drop(struct opens *o, struct told *list, u32 pid, const u32 *iteration)
{
	struct told **p = &list, *x;

	while ((x = *p)) {
		if ((pid && x->pid != pid) || (iteration && x->iteration != *iteration)) {
			p = &x->next;
			continue;
		}
		*p = x->next;
		free(x);
		o->count--;
	}
	return list;
}

void opens_free(struct opens *o)
{
	u64 key, value;
	size_t at = 0;

	if (!o)
		return;
	while (map_next(&o->told, &at, &key, &value))
		drop(o, (struct told *)(uintptr_t)value, 0, NULL);
	map_free(&o->told);
	trees_free(o->trees);
	free(o);
}

int opens_span(struct opens *o, const struct trees *trees, const struct model_span *s)
{
	int rc = trees_copy(o->trees, trees, s->thread, s->iteration);

	return rc ? rc : trees_span(o->trees, s);
}

int opens_sample(struct opens *o, const struct trees *trees, const struct model_sample *s)
{
	int rc = trees_copy(o->trees, trees, s->thread, s->iteration);

	return rc ? rc : trees_sample(o->trees, s);
}

struct tree *opens_event(struct opens *o, const struct trees *trees, const struct model_event *e,
			 bool keep)
{
	/* All its stays may have ended. Without memory there is no tree. */
	if (keep && trees_copy(o->trees, trees, e->thread, e->iteration))
		keep = false;
	return trees_event(o->trees, e, keep);
}

static struct told *told_of(const struct opens *o, const struct model_event *e)
{
	u64 *at = o->count ? map_get(&o->told, e->thread->id) : NULL;
	struct told *x = at ? (struct told *)(uintptr_t)*at : NULL;

	while (x && x->iteration != e->iteration)
		x = x->next;
	return x;
}

/* Frees it, and its thread's place if it was the last one there. */
static void forget(struct opens *o, u64 thread, u32 iteration)
{
	u64 *at = map_get(&o->told, thread);
	struct told *left = at ? drop(o, (struct told *)(uintptr_t)*at, 0, &iteration) : NULL;

	if (left)
		*at = (u64)(uintptr_t)left;
	else if (at)
		map_del(&o->told, thread);
}

/* One whose end nobody has seen, its thread's for example: others are to be told of. */
static void forget_oldest(struct opens *o)
{
	struct told *oldest = NULL, *x;
	u64 key, value;
	size_t at = 0;

	while (map_next(&o->told, &at, &key, &value))
		for (x = (struct told *)(uintptr_t)value; x; x = x->next)
			if (!oldest || x->used < oldest->used)
				oldest = x;
	forget(o, oldest->thread, oldest->iteration);
}

static struct told *told_new(struct opens *o, const struct model_event *e)
{
	struct told *x = calloc(1, sizeof(*x));
	u64 *at;

	if (!x)
		return NULL;
	if (o->count == OPEN_EVENTS)
		forget_oldest(o);
	at = map_get(&o->told, e->thread->id);
	*x = (struct told){ .thread = e->thread->id,
			    .pid = e->thread->pid,
			    .iteration = e->iteration,
			    .next = at ? (struct told *)(uintptr_t)*at : NULL };
	if (map_put(&o->told, x->thread, (u64)(uintptr_t)x)) {
		free(x);
		return NULL;
	}
	o->count++;
	return x;
}

/* Where the group is among those that were told of, or would be. */
static u32 place_of(const struct told *x, const char *group)
{
	u32 i = 0;

	while (i < x->count && x->groups[i].name != group)
		i++;
	return i;
}

enum told_how opens_tell(struct opens *o, const struct model_event *e, const char *group,
			 bool notable)
{
	struct told *x = told_of(o, e);
	u32 i;

	if (!x)
		x = told_new(o, e);
	i = x ? place_of(x, group) : OPEN_GROUPS;
	if (i == OPEN_GROUPS)
		return TOLD_ALREADY;
	x->used = ++o->clock;
	if (i == x->count) {
		x->groups[x->count++].name = group;
		x->groups[i].notable = notable;
		return TOLD_FIRST;
	}
	if (!notable || x->groups[i].notable)
		return TOLD_ALREADY;
	x->groups[i].notable = true;
	return TOLD_LATER;
}

void opens_end(struct opens *o, const struct model_event *e)
{
	if (o->count)
		forget(o, e->thread->id, e->iteration);
}

void opens_process(struct opens *o, u32 pid)
{
	u64 key, value;
	size_t at = 0;

	trees_process(o->trees, pid);
	while (map_next(&o->told, &at, &key, &value)) {
		struct told *list = (struct told *)(uintptr_t)value;

		/* A thread is of one process. */
		if (list->pid != pid)
			continue;
		drop(o, list, pid, NULL);
		map_del(&o->told, key);
		at = 0; /* the map has changed */
	}
}
