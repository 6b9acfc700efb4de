/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/alert_proc.h"
#include "base/map.h"
#include "sink/alert.h"

#include <errno.h>
#include <stdlib.h>

#define KEPT 64 /* times of each sort */
#define ENDED_KEPT 1024 /* processes */

struct times {
	u64 ns[KEPT]; /* a ring; 0: none */
	u32 at;
};

struct seen {
	u32 pid;
	bool ended;
	u64 frame_ns; /* of the last frame; 0: none */
	struct times inputs;
	struct times late; /* frames that came too late */
};

struct marks_seen {
	struct map by_pid; /* pid -> struct seen * */
	u32 ended;
};

struct marks_seen *marks_seen_new(void)
{
	return calloc(1, sizeof(struct marks_seen));
}

void marks_seen_free(struct marks_seen *m)
{
	u64 key, value;
	size_t at = 0;

	if (!m)
		return;
	while (map_next(&m->by_pid, &at, &key, &value))
		free((struct seen *)(uintptr_t)value);
	map_free(&m->by_pid);
	free(m);
}

static void drop_ended(struct marks_seen *m)
{
	u64 key, value;
	size_t at = 0;

	m->ended = 0;
	while (map_next(&m->by_pid, &at, &key, &value)) {
		struct seen *s = (struct seen *)(uintptr_t)value;

		if (!s->ended)
			continue;
		map_del(&m->by_pid, key);
		free(s);
		at = 0; /* the map has changed */
	}
}

static struct seen *seen_of(struct marks_seen *m, u32 pid)
{
	u64 *at = map_get(&m->by_pid, pid);
	struct seen *s;

	if (at)
		return (struct seen *)(uintptr_t)*at;
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->pid = pid;
	if (map_put(&m->by_pid, pid, (u64)(uintptr_t)s)) {
		free(s);
		return NULL;
	}
	return s;
}

int marks_seen_add(struct marks_seen *m, const struct model_mark *mk)
{
	struct seen *s;

	if (mk->type != VMSPAN_INPUT && mk->type != VMSPAN_FRAME)
		return 0;
	s = seen_of(m, mk->thread->pid);
	if (!s)
		return -ENOMEM;
	s->ended = false;
	if (mk->type == VMSPAN_INPUT) {
		s->inputs.ns[s->inputs.at++ % KEPT] = mk->time_ns;
		return 0;
	}
	if (s->frame_ns && mk->time_ns >= s->frame_ns + ALERT_FRAME_NS)
		s->late.ns[s->late.at++ % KEPT] = mk->time_ns;
	s->frame_ns = max_u64(s->frame_ns, mk->time_ns);
	return 0;
}

void marks_seen_end(struct marks_seen *m, u32 pid)
{
	u64 *at = map_get(&m->by_pid, pid);

	if (!at)
		return;
	((struct seen *)(uintptr_t)*at)->ended = true;
	if (++m->ended > ENDED_KEPT)
		drop_ended(m);
}

static bool any_within(const struct times *t, u64 from, u64 to)
{
	u32 i;

	for (i = 0; i < KEPT; i++)
		if (t->ns[i] && t->ns[i] >= from && t->ns[i] <= to)
			return true;
	return false;
}

unsigned int marks_seen_reasons(const struct marks_seen *m, u32 pid, u64 begin_ns, u64 end_ns,
				u64 until_ns)
{
	u64 *at = map_get(&m->by_pid, pid);
	const struct seen *s = at ? (struct seen *)(uintptr_t)*at : NULL;
	u64 before = begin_ns - min_u64(begin_ns, ALERT_INPUT_NS);
	unsigned int reasons = 0;

	if (!s)
		return 0;
	if (any_within(&s->inputs, before, end_ns))
		reasons |= ALERT_IN_INPUT;
	if (any_within(&s->late, begin_ns, until_ns))
		reasons |= ALERT_IN_ANIMATION;
	return reasons;
}

u64 marks_seen_input(const struct marks_seen *m, u32 pid, u64 ns)
{
	u64 *at = map_get(&m->by_pid, pid), last = 0;
	const struct seen *s = at ? (struct seen *)(uintptr_t)*at : NULL;
	u32 i;

	for (i = 0; s && i < KEPT; i++)
		if (s->inputs.ns[i] <= ns)
			last = max_u64(last, s->inputs.ns[i]);
	return last;
}
