/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads get names, and end. */
#include "model/model_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The thread is gone: settles what waits and forgets it. */
static int stream_end(struct model *m, struct registry *r, u64 key, struct stream *st, bool all)
{
	int rc = stream_drain(st, model_batch, m, &m->missing);

	if (!rc)
		rc = sample_leave(m, st, all);
	map_del(&r->threads, key);
	stream_free(st);
	return rc;
}

/* A stream may have had another number. */
static void forget_sched(const struct proc *p, const struct sched *s)
{
	u64 key, value;
	size_t at;
	u32 i;

	for (i = 0; i < p->registry_len; i++)
		for (at = 0; map_next(&p->registries[i]->threads, &at, &key, &value);)
			if (((struct stream *)(uintptr_t)value)->sched == s)
				((struct stream *)(uintptr_t)value)->sched = NULL;
}

int model_threads_end(struct model *m, struct proc *p, u32 tid)
{
	u64 key, value;
	size_t at;
	int rc = 0;
	u32 i;

	for (i = 0; i < p->registry_len; i++) {
		struct registry *r = p->registries[i];

		for (at = 0; !rc && map_next(&r->threads, &at, &key, &value);) {
			struct stream *st = (struct stream *)(uintptr_t)value;

			if (tid && st->pub.tid != tid)
				continue;
			rc = stream_end(m, r, key, st, !tid);
			at = 0; /* the map has changed */
		}
	}
	if (!tid && !rc)
		rc = sample_rest(m, p);
	for (at = 0; map_next(&p->scheds, &at, &key, &value);) {
		if (tid && key != tid)
			continue;
		forget_sched(p, (void *)(uintptr_t)value);
		sched_free((void *)(uintptr_t)value);
		map_del(&p->scheds, key);
		at = 0;
	}
	return rc;
}

/* Remembers the name for marks to come: most threads are named before their
 * first batch. */
static int remember_name(struct proc *p, u32 tid, const char *text)
{
	u64 *known = map_get(&p->thread_names, tid);
	char *name;

	if (!known && p->thread_names.len >= THREAD_NAMES_MAX)
		return 0;
	name = strdup(text);
	if (!name)
		return -ENOMEM;
	if (known) {
		free((char *)(uintptr_t)*known);
		*known = (u64)(uintptr_t)name;
	} else if (map_put(&p->thread_names, tid, (u64)(uintptr_t)name)) {
		free(name);
		return -ENOMEM;
	}
	return 0;
}

static int stream_named(struct model *m, struct stream *st, const char *text)
{
	char *name;

	if (!strcmp(st->pub.name, text))
		return 0;
	name = strdup(text);
	if (!name)
		return -ENOMEM;
	free((char *)st->pub.name);
	st->pub.name = name;
	if (!m->observer || !m->observer->thread)
		return 0;
	return m->observer->thread(m->observer_ctx, &st->pub);
}

static int thread_named(struct model *m, struct proc *p, u32 tid, const char *text)
{
	u64 key, value;
	size_t at;
	u32 i;
	int rc = remember_name(p, tid, text);

	for (i = 0; i < p->registry_len; i++)
		for (at = 0; !rc && map_next(&p->registries[i]->threads, &at, &key, &value);) {
			struct stream *st = (struct stream *)(uintptr_t)value;

			if (st->pub.tid == tid)
				rc = stream_named(m, st, text);
		}
	return rc;
}

int model_thread_item(struct model *m, const struct item_thread *it)
{
	struct proc *p = registry_proc(&m->set, it->pid);
	u64 *known;
	int rc = 0;

	if (!p)
		return -ENOMEM;
	if (*it->name)
		rc = thread_named(m, p, it->tid, it->name);
	if (rc || !it->ended)
		return rc;
	known = map_get(&p->thread_names, it->tid);
	if (known) {
		free((char *)(uintptr_t)*known);
		map_del(&p->thread_names, it->tid);
	}
	return model_threads_end(m, p, it->tid);
}

/* What still waits when the stream ends. Events under way are not counted:
 * they have not ended. */
int model_finish(struct model *m)
{
	u64 key, value;
	size_t at;
	u32 i, k;
	int rc;

	for (i = 0; i < m->set.proc_len; i++) {
		for (k = 0; k < m->set.procs[i]->registry_len; k++) {
			const struct map *threads = &m->set.procs[i]->registries[k]->threads;

			for (at = 0; map_next(threads, &at, &key, &value);) {
				struct stream *st = (struct stream *)(uintptr_t)value;

				rc = stream_drain(st, model_batch, m, &m->missing);
				if (!rc)
					rc = sample_leave(m, st, true);
				if (rc)
					return rc;
			}
		}
		rc = sample_rest(m, m->set.procs[i]);
		if (rc)
			return rc;
	}
	open_forget_all(m);
	return 0;
}
