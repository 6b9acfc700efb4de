/* SPDX-License-Identifier: BSD-2-Clause */
/* Snapshots made by hand, so that every figure in an output is known. */
#ifndef TESTS_SINK_FIXTURE_H
#define TESTS_SINK_FIXTURE_H

#include "model/snapshot.h"
#include "sink/sink.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS NSEC_PER_MSEC
/* A name that attacks terminals and parsers. */
#define HOSTILE "addon:\033]0;x\007\xff<b>\xe2\x80\xae\n\"\\\xf0\x9f\x92\xa9"

struct fixture {
	struct snapshot s;
	struct report_source source;
	char (*names)[64];
};

static inline void fixture_free(struct fixture *f)
{
	u32 i;

	for (i = 0; i < f->s.group_count; i++)
		hist_free(&f->s.groups[i].stats.hist);
	free(f->s.groups);
	free(f->s.children);
	free(f->s.processes);
	free(f->names);
	free(f);
}

static inline struct fixture *fixture_new(u32 groups)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert(f);
	f->s.processes = calloc(2, sizeof(*f->s.processes));
	f->s.groups = calloc(groups + 1, sizeof(*f->s.groups));
	f->s.children = calloc(groups + 1, sizeof(*f->s.children));
	f->names = calloc(groups + 1, sizeof(*f->names));
	assert(f->s.processes && f->s.groups && f->s.children && f->names);
	f->source = (struct report_source){
		.kind = "recording",
		.file = "demo.vmspan",
		.method = "exact",
		.nested = "drop",
		.migrated = "discard",
		.cycles_hz = 2100000000,
	};
	return f;
}

/* A group in the first process, charged `wall` in each of `events` events. */
static inline struct snapshot_group *fixture_group(struct fixture *f, const char *name,
						   const char *kind, u64 events, u64 wall)
{
	struct snapshot_group *g = &f->s.groups[f->s.group_count];
	struct group_stats *t = &g->stats;
	u64 i;

	*g = (struct snapshot_group){ .id = f->s.group_count + 1,
				      .name = name,
				      .kind = kind,
				      .first_child = f->s.child_count,
				      .children = 1 };
	t->ticks = t->spans = t->stayed = 2 * events;
	t->events = events;
	t->wall_ns = events * wall;
	t->self_ns = t->wall_ns / 2;
	t->cpu_ns = t->wall_ns / 4;
	t->max_ns = wall;
	for (i = 0; i < events; i++)
		assert(!hist_add(&t->hist, wall));
	for (i = 0; i < JANK_BUCKETS; i++)
		t->durations[i] = wall > (MS << i) ? events : 0;
	f->s.children[f->s.child_count] =
		(struct snapshot_child){ .row = f->s.child_count, .stats = *t };
	f->s.child_count++;
	f->s.children[f->s.child_count - 1].stats.hist = (struct hist){ 0 };
	f->s.group_count++;
	return g;
}

/* Two processes, two groups, 200 events; the ledger sums. */
static inline struct fixture *fixture_demo(void)
{
	struct fixture *f = fixture_new(2);
	struct snapshot *s = &f->s;
	struct snapshot_group *g;

	s->begin_ns = 5000;
	s->end_ns = 5000 + 2 * NSEC_PER_SEC;
	s->process_count = 2;
	s->processes[0] = (struct snapshot_process){
		.pid = 42, .ppid = 1, .id = 1, .name = "host", .vm = "sdk", .events.count = 199
	};
	s->processes[1] = (struct snapshot_process){ .pid = 43,
						     .ppid = 42,
						     .id = 2,
						     .name = "kid",
						     .vm = "",
						     .ended = true,
						     .events.count = 1 };
	s->events = (struct event_stats){ .count = 200,
					  .implicit = 3,
					  .wall_ns = 1200 * MS,
					  .cpu_ns = 600 * MS,
					  .max_ns = 214 * MS };
	s->events.durations[0] = 200;
	s->events.durations[6] = 3;
	s->ledger = (struct ledger){ .self_ns = 900 * MS,
				     .gc_ns = 100 * MS,
				     .native_ns = 200 * MS,
				     .event_wall_ns = 1200 * MS };
	s->gc = (struct gc_stats){ 4, 100 * MS, 50 * MS, 3 << 20 };
	s->spans = 16;
	s->records = 220;
	s->inputs = 1;
	s->frames = 2;
	fixture_group(f, "page:shop", "page", 5, 2 * MS);
	g = fixture_group(f, "addon:tracker", "addon", 3, 200 * MS);
	g->stats.gc_ns = 366 * MS;
	g->stats.self_ns = 200 * MS;
	g->stats.blocked_ns = 1;
	return f;
}

/* What was written, as a string to free(). */
static inline char *fixture_text(struct out *o)
{
	char *text;

	assert(!o->error);
	text = o->buf.len ? strndup((const char *)o->buf.data, o->buf.len) : strdup("");
	assert(text);
	out_close(o);
	return text;
}

/* Leaves JSON in $VMSPAN_DUMP, for a reader that is not ours. */
static inline void dump(const char *name, const char *text)
{
	const char *dir = getenv("VMSPAN_DUMP");
	char path[512];
	FILE *file;

	if (!dir)
		return;
	snprintf(path, sizeof(path), "%s/%s.json", dir, name);
	file = fopen(path, "w");
	assert(file);
	fputs(text, file);
	if (fclose(file))
		abort();
}

#endif
