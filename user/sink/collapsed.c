/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/collapsed.h"
#include "base/array.h"
#include "base/text.h"
#include "sink/samples.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Stacks kept apart; time of what is beyond goes to the stack around it. */
#define NODES_MAX (1u << 20)
#define DEPTH_MAX 4096 /* of slices_walk() */
#define FRAME_BYTES 1024

struct node {
	u32 parent; /* 0: none; node 0 is the root of all */
	u32 name;
	u64 ns;
};

struct collapsed {
	struct slices slices; /* first: its observer's ctx is ours */
	struct out *out;
	struct model_observer observer;
	struct node *nodes;
	u32 count, cap;
	struct map node_of; /* parent << 32 | name */
	/* of the thread under way */
	u32 thread_node;
	bool stock;
	struct open {
		u32 node;
		bool lossy; /* what may lack something is lost here */
		u32 event; /* place of the event around it, + 1; 0: none */
		u64 waits; /* event: blocked time that no call has shown yet */
	} stack[DEPTH_MAX];
	u32 depth;
	bool sampled; /* stacks were looked at: they tell the events' time */
	bool exact; /* the scheduler says when a thread waits */
	int rc;
};

static u32 name_id(struct collapsed *c, const char *text)
{
	s64 id = intern_put(c->slices.names, text, strlen(text));

	if (id < 0) {
		c->rc = (int)id;
		return 0;
	}
	return (u32)id;
}

static u32 find_node(struct collapsed *c, u32 parent, u32 name)
{
	u64 key = (u64)parent << 32 | name, *known = map_get(&c->node_of, key);

	if (known)
		return (u32)*known;
	if (c->count == NODES_MAX)
		return parent;
	if (array_room(c->nodes, c->cap, c->count + 1)) {
		c->rc = -ENOMEM;
		return parent;
	}
	if (map_put(&c->node_of, key, c->count)) {
		c->rc = -ENOMEM;
		return parent;
	}
	c->nodes[c->count] = (struct node){ parent, name, 0 };
	return c->count++;
}

static void add(struct collapsed *c, u32 parent, const char *name, u64 ns)
{
	u32 node;

	if (!ns)
		return;
	node = find_node(c, parent, name_id(c, name));
	if (!c->rc)
		c->nodes[node].ns += ns;
}

static u32 begin_event(struct collapsed *c, u32 parent, const struct slice *s)
{
	const char *label = slices_name(&c->slices, s->name);
	u32 node = find_node(c, parent, label[0] ? s->name : name_id(c, "event"));

	if (c->sampled && c->stock)
		return node;
	/* Which stack lost it is not known. */
	add(c, node, "(native)", s->event.ledger.native_ns);
	add(c, node, "(lost)", s->event.ledger.lost_ns);
	return node;
}

/* An event has told what was lost in it; what ran outside of events has none to tell it. */
static void add_lost(struct collapsed *c, const struct open *around, u32 node,
		     const struct slice *s)
{
	if (!around->event)
		add(c, node, "(lost)", s->self_ns);
}

static u32 begin_span(struct collapsed *c, const struct open *around, const struct slice *s)
{
	const char *group = slices_name(&c->slices, s->group);
	u32 name = group[0] ? s->group : name_id(c, "(no group)"), node = around->node;

	if (node == c->thread_node || c->nodes[node].name != name)
		node = find_node(c, node, name);
	if (s->fate == SPAN_MOVED)
		add(c, node, "(moved)", s->self_ns);
	else if (s->fate == SPAN_STALE)
		add(c, node, "(stale)", s->self_ns);
	else if (s->fate == SPAN_KEPT || (s->fate == SPAN_LOST && !around->lossy))
		c->nodes[node].ns += s->self_ns;
	else
		add_lost(c, around, node, s);
	return node;
}

static int walk_edge(void *ctx, const struct slice *s, bool begin)
{
	struct collapsed *c = ctx;
	struct open around = { .node = c->thread_node };
	struct open o;

	if (slice_instant(s))
		return 0;
	if (!begin) {
		struct open *ended = &c->stack[--c->depth];

		if (s->kind == SLICE_EVENT && c->exact && !c->stock)
			add(c, ended->node, "(waiting)", ended->waits);
		return c->rc;
	}
	if (c->depth)
		around = c->stack[c->depth - 1];
	else if (s->kind != SLICE_EVENT)
		around.lossy = s->fate == SPAN_LOST; /* an event of its own */
	o = around;
	if (s->kind == SLICE_EVENT) {
		/* A nested event is beside the one around it, not in it. */
		o.node = begin_event(c, c->thread_node, s);
		o.lossy = s->missing;
		o.event = c->depth + 1;
		o.waits = s->event.ledger.blocked_ns;
	} else if (s->kind == SLICE_SPAN) {
		o.node = begin_span(c, &around, s);
	} else if (s->fate == SPAN_KEPT || (s->fate == SPAN_LOST && !around.lossy)) {
		add(c, around.node, s->kind == SLICE_GC ? "(gc)" : "(blocked)", s->self_ns);
		if (s->kind == SLICE_BLOCK && around.event) {
			u64 *waits = &c->stack[around.event - 1].waits;

			*waits -= min_u64(*waits, s->self_ns);
		}
	} else {
		add_lost(c, &around, around.node, s);
	}
	c->stack[c->depth++] = o;
	return c->rc;
}

static u32 thread_node(struct collapsed *c, const char *process, u32 pid, const char *thread)
{
	char text[400];
	u32 node;

	snprintf(text, sizeof(text), "%s (%u)", process[0] ? process : "process", pid);
	node = find_node(c, 0, name_id(c, text));
	return find_node(c, node, name_id(c, thread[0] ? thread : "thread"));
}

/* A whole stack of functions, for the time it stands for. */
static int take_sample(void *ctx, const struct model_sample *s)
{
	struct collapsed *c = ctx;
	u32 node = thread_node(c, s->thread->process, s->thread->pid, s->thread->name), i;

	c->sampled = true;
	for (i = s->count; i-- > 0 && !c->rc;)
		node = find_node(c, node, name_id(c, s->frames[i]));
	if (c->rc)
		return c->rc;
	if (samples_kind(s) != SAMPLED_CODE)
		add(c, node, sampled_word(samples_kind(s)), s->weight_ns);
	else
		c->nodes[node].ns += s->weight_ns;
	return c->rc;
}

static int walk_thread(struct collapsed *c, u32 thread)
{
	const struct slice_thread *t = &c->slices.threads[thread];

	c->thread_node =
		thread_node(c, slices_name(&c->slices, c->slices.processes[t->process].name),
			    t->pid, slices_name(&c->slices, t->name));
	c->stock = t->stock;
	c->depth = 0;
	return c->rc ? c->rc : slices_walk(&c->slices, thread, walk_edge, c);
}

/* A frame may hold anything but what the format lives on. */
static void put_frame(struct out *out, const char *name)
{
	char clean[FRAME_BYTES], *p;

	text_clean(clean, sizeof(clean), name, strlen(name));
	for (p = clean; *p; p++)
		if (*p == ';')
			*p = ':';
	out_puts(out, clean);
}

static void put_line(struct collapsed *c, u32 node)
{
	u32 path[DEPTH_MAX + 8], n = 0;
	u64 ns = c->nodes[node].ns;

	for (; node && n < ARRAY_SIZE(path); node = c->nodes[node].parent)
		path[n++] = node;
	while (n--) {
		put_frame(c->out, slices_name(&c->slices, c->nodes[path[n]].name));
		out_puts(c->out, n ? ";" : " ");
	}
	out_printf(c->out, "%" PRIu64 "\n", ns);
}

static void collapsed_free(void *ctx)
{
	struct collapsed *c = ctx;

	if (!c)
		return;
	slices_release(&c->slices);
	map_free(&c->node_of);
	free(c->nodes);
	free(c);
}

static void *collapsed_begin(struct out *out, const struct export_config *config, struct model *m)
{
	struct collapsed *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->out = out;
	if (slices_init(&c->slices, config)) {
		collapsed_free(c);
		return NULL;
	}
	/* The root has the name 0: no other node may be its own child by it. */
	find_node(c, 0, name_id(c, ""));
	c->observer = slices_observer;
	c->observer.sample = take_sample;
	model_observe(m, &c->observer, &c->slices);
	return c;
}

static int collapsed_end(void *ctx, const struct snapshot *s, const struct report_source *src)
{
	struct collapsed *c = ctx;
	u32 i, *order = slices_order(&c->slices);
	int rc = order ? c->rc : -ENOMEM;

	(void)s;
	c->exact = src->migrated && !strcmp(src->migrated, "split");
	for (i = 0; !rc && i < c->slices.thread_count; i++)
		rc = walk_thread(c, order[i]);
	for (i = 1; !rc && i < c->count; i++)
		if (c->nodes[i].ns)
			put_line(c, i);
	free(order);
	return rc;
}

const struct exporter collapsed_exporter = {
	.name = "collapsed",
	.suffix = ".collapsed.txt",
	.about = "time by stack of groups, a line a stack, for flame graphs",
	.begin = collapsed_begin,
	.end = collapsed_end,
	.free = collapsed_free,
};
