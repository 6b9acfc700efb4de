/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/alert_tree.h"
#include "base/array.h"
#include "base/map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Threads with an open event. One that dies inside an event is forgotten when
 * this many others came after it. */
#define FORESTS_MAX 4096

struct waiting {
	u16 depth;
	struct tree_node *node;
};

/* What one event of one thread has closed so far. */
struct forest {
	u64 thread;
	u32 pid, iteration;
	struct tree *tree; /* its roots are not yet linked */
	struct waiting *wait; /* depths ascend */
	u32 len, cap;
	u64 used; /* trees.clock at the last change */
	struct forest *next; /* other iterations of the thread */
};

struct trees {
	struct map forests; /* thread id -> struct forest * */
	u32 count;
	u64 clock;
};

struct trees *trees_new(void)
{
	return calloc(1, sizeof(struct trees));
}

static void free_nodes(struct tree *t, struct tree_node *n)
{
	while (n) {
		struct tree_node *next = n->next;

		free_nodes(t, n->child);
		free(n);
		t->nodes--;
		n = next;
	}
}

void tree_unref(struct tree *t)
{
	if (!t || --t->refs)
		return;
	free_nodes(t, t->roots);
	stacks_free(&t->stacks);
	free(t);
}

static void forest_free(struct forest *f)
{
	u32 i;

	if (f->tree) {
		for (i = 0; i < f->len; i++)
			free_nodes(f->tree, f->wait[i].node);
		tree_unref(f->tree);
	}
	free(f->wait);
	free(f);
}

void trees_free(struct trees *t)
{
	u64 key, value;
	size_t at = 0;

	if (!t)
		return;
	while (map_next(&t->forests, &at, &key, &value)) {
		struct forest *f = (struct forest *)(uintptr_t)value, *next;

		for (; f; f = next) {
			next = f->next;
			forest_free(f);
		}
	}
	map_free(&t->forests);
	free(t);
}

/* ---- Forests ---- */

static void unlink_forest(struct trees *t, struct forest *gone)
{
	u64 *at = map_get(&t->forests, gone->thread);
	struct forest *head = (struct forest *)(uintptr_t)*at, **p = &head;

	while (*p != gone)
		p = &(*p)->next;
	*p = gone->next;
	if (head)
		*at = (u64)(uintptr_t)head;
	else
		map_del(&t->forests, gone->thread);
	t->count--;
}

static struct forest *find(const struct trees *t, u64 thread, u32 iteration)
{
	u64 *at = map_get(&t->forests, thread);
	struct forest *f = at ? (struct forest *)(uintptr_t)*at : NULL;

	while (f && f->iteration != iteration)
		f = f->next;
	return f;
}

static void drop_oldest(struct trees *t)
{
	struct forest *oldest = NULL, *f;
	u64 key, value;
	size_t at = 0;

	while (map_next(&t->forests, &at, &key, &value))
		for (f = (struct forest *)(uintptr_t)value; f; f = f->next)
			if (!oldest || f->used < oldest->used)
				oldest = f;
	unlink_forest(t, oldest);
	forest_free(oldest);
}

static struct forest *forest_of(struct trees *t, const struct model_thread *thread, u32 iteration)
{
	struct forest *f = find(t, thread->id, iteration);
	u64 *at;

	if (f)
		return f;
	if (t->count == FORESTS_MAX)
		drop_oldest(t);
	f = calloc(1, sizeof(*f));
	if (!f)
		return NULL;
	f->tree = calloc(1, sizeof(*f->tree));
	if (!f->tree) {
		free(f);
		return NULL;
	}
	f->tree->refs = 1;
	f->thread = thread->id;
	f->pid = thread->pid;
	f->iteration = iteration;
	at = map_get(&t->forests, f->thread);
	f->next = at ? (struct forest *)(uintptr_t)*at : NULL;
	if (map_put(&t->forests, f->thread, (u64)(uintptr_t)f)) {
		forest_free(f);
		return NULL;
	}
	t->count++;
	return f;
}

void trees_process(struct trees *t, u32 pid)
{
	u64 key, value;
	size_t at = 0;

	while (map_next(&t->forests, &at, &key, &value)) {
		struct forest *f = (struct forest *)(uintptr_t)value;

		if (f->pid != pid)
			continue;
		unlink_forest(t, f);
		forest_free(f);
		at = 0; /* the map has changed */
	}
}

/* ---- Nodes ---- */

/* Names are the model's own: the same text is the same pointer. */
static bool alike(const struct tree_node *a, const struct tree_node *b)
{
	return a->name == b->name && a->type == b->type && a->peer == b->peer &&
	       a->group_count == b->group_count &&
	       !memcmp(a->groups, b->groups, a->group_count * sizeof(*a->groups));
}

static void node_absorb(struct tree *t, struct tree_node *to, struct tree_node *from);

/* Puts a node among siblings, into the one that is like it if there is one. */
static void adopt(struct tree *t, struct tree_node **list, struct tree_node *n)
{
	struct tree_node *x = *list;
	u32 i;

	for (i = 0; x && i < TREE_SIBLINGS; i++, x = x->next)
		if (alike(x, n)) {
			node_absorb(t, x, n);
			return;
		}
	n->next = *list;
	*list = n;
}

/* Takes over sums and children, and frees. */
static void node_absorb(struct tree *t, struct tree_node *to, struct tree_node *from)
{
	struct tree_node *c = from->child, *next;

	to->total_ns += from->total_ns;
	to->longest_ns = max_u64(to->longest_ns, from->longest_ns);
	to->off_ns += from->off_ns;
	to->count += from->count;
	to->discarded += from->discarded;
	for (; c; c = next) {
		next = c->next;
		adopt(t, &to->child, c);
	}
	free(from);
	t->nodes--;
}

static struct tree_node *node_new(struct tree *t, const struct model_span *s)
{
	struct tree_node *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	t->nodes++;
	*n = (struct tree_node){
		.name = s->name,
		.group = s->group,
		.type = s->type,
		.peer = s->peer,
		.total_ns = s->end_ns > s->begin_ns ? s->end_ns - s->begin_ns : 0,
		.off_ns = s->off_ns,
		.count = 1,
		.discarded = s->fate != SPAN_KEPT,
	};
	n->longest_ns = n->total_ns;
	n->group_count = (u32)min_u64(s->group_count, TREE_GROUPS);
	if (n->group_count)
		memcpy(n->groups, s->groups, n->group_count * sizeof(*n->groups));
	return n;
}

static void note_cpu(struct tree *t, u16 cpu)
{
	u32 i;

	for (i = 0; i < t->cpu_count; i++)
		if (t->cpus[i] == cpu)
			return;
	if (t->cpu_count == TREE_CPUS)
		t->more_cpus = true;
	else
		t->cpus[t->cpu_count++] = cpu;
}

/* A node and its siblings, and what is in them. NULL without memory, with *rc set. */
static struct tree_node *copy_nodes(struct tree *to, const struct tree_node *from, int *rc)
{
	struct tree_node *first = NULL, **last = &first;

	for (; from && !*rc; from = from->next) {
		struct tree_node *n = malloc(sizeof(*n));

		if (!n) {
			*rc = -ENOMEM;
			break;
		}
		*n = *from;
		to->nodes++;
		n->next = NULL;
		*last = n;
		last = &n->next;
		n->child = copy_nodes(to, from->child, rc);
	}
	return first;
}

static int wait_push(struct forest *f, u16 depth, struct tree_node *n)
{
	if (array_room(f->wait, f->cap, f->len + 1))
		return -ENOMEM;
	f->wait[f->len++] = (struct waiting){ depth, n };
	return 0;
}

/* What waits is in no list of siblings. */
static struct tree_node *copy_node(struct tree *to, const struct tree_node *from, int *rc)
{
	struct tree_node one = *from;

	one.next = NULL;
	return copy_nodes(to, &one, rc);
}

static int copy_forest(struct forest *to, const struct forest *from)
{
	struct tree *t = to->tree;
	int rc = stacks_copy(&t->stacks, &from->tree->stacks);
	u32 i;

	t->omitted = from->tree->omitted;
	memcpy(t->cpus, from->tree->cpus, sizeof(t->cpus));
	t->cpu_count = from->tree->cpu_count;
	t->more_cpus = from->tree->more_cpus;
	for (i = 0; !rc && i < from->len; i++) {
		struct tree_node *n = copy_node(t, from->wait[i].node, &rc);

		if (n && wait_push(to, from->wait[i].depth, n)) {
			free_nodes(t, n);
			rc = -ENOMEM;
		}
	}
	return rc;
}

int trees_copy(struct trees *to, const struct trees *from, const struct model_thread *thread,
	       u32 iteration)
{
	const struct forest *f = find(from, thread->id, iteration);
	struct forest *copy;

	if (!f || find(to, thread->id, iteration))
		return 0;
	copy = forest_of(to, thread, iteration);
	if (!copy)
		return -ENOMEM;
	copy->used = ++to->clock;
	return copy_forest(copy, f);
}

/* The closed stay of this depth that n is to be added to, or NULL. */
static struct tree_node *wait_find(const struct forest *f, u16 depth, const struct tree_node *n)
{
	u32 i;

	for (i = f->len; i-- && f->wait[i].depth == depth && f->len - i <= TREE_SIBLINGS;)
		if (alike(f->wait[i].node, n))
			return f->wait[i].node;
	return NULL;
}

/* Too many: what is around says more than what is inside. False: nothing is
 * left of the node either. */
static bool trim(struct tree *t, struct tree_node *n)
{
	if (t->nodes <= TREE_NODES)
		return true;
	t->omitted += !n->child;
	while (n->child) {
		struct tree_node *c = n->child;

		t->omitted += c->count;
		n->child = c->next;
		c->next = NULL;
		free_nodes(t, c);
	}
	if (t->nodes <= TREE_NODES)
		return true;
	free_nodes(t, n);
	return false;
}

int trees_span(struct trees *t, const struct model_span *s)
{
	struct forest *f = forest_of(t, s->thread, s->iteration);
	struct tree_node *n, *same;

	if (!f)
		return -ENOMEM;
	f->used = ++t->clock;
	note_cpu(f->tree, s->cpu_begin);
	note_cpu(f->tree, s->cpu_end);
	n = node_new(f->tree, s);
	if (!n)
		return -ENOMEM;
	/* What was closed deeper is inside. */
	while (f->len && f->wait[f->len - 1].depth > s->depth) {
		struct tree_node *c = f->wait[--f->len].node;

		c->next = NULL;
		adopt(f->tree, &n->child, c);
	}
	same = wait_find(f, s->depth, n);
	if (same) {
		node_absorb(f->tree, same, n);
	} else if (trim(f->tree, n) && wait_push(f, s->depth, n)) {
		free_nodes(f->tree, n);
		return -ENOMEM;
	}
	return 0;
}

/* Longest first. Lists are short: they came through adopt(). */
static struct tree_node *sort(struct tree_node *list)
{
	struct tree_node *sorted = NULL, *next, **p;

	for (; list; list = next) {
		next = list->next;
		list->child = sort(list->child);
		for (p = &sorted; *p && (*p)->total_ns >= list->total_ns;)
			p = &(*p)->next;
		list->next = *p;
		*p = list;
	}
	return sorted;
}

int trees_sample(struct trees *t, const struct model_sample *s)
{
	struct forest *f = forest_of(t, s->thread, s->iteration);

	if (!f)
		return -ENOMEM;
	f->used = ++t->clock;
	return stacks_add(&f->tree->stacks, s);
}

struct tree *trees_event(struct trees *t, const struct model_event *e, bool keep)
{
	struct forest *f = find(t, e->thread->id, e->iteration);
	struct tree *tree = NULL;

	if (!f)
		return NULL;
	unlink_forest(t, f);
	if (keep) {
		tree = f->tree;
		f->tree = NULL;
		while (f->len) {
			struct tree_node *n = f->wait[--f->len].node;

			n->next = NULL;
			adopt(tree, &tree->roots, n);
		}
		tree->roots = sort(tree->roots);
		stacks_sort(&tree->stacks);
	}
	forest_free(f);
	return tree;
}

u64 tree_self(const struct tree_node *n)
{
	const struct tree_node *c;
	u64 inside = 0;

	for (c = n->child; c; c = c->next)
		inside += c->total_ns;
	return n->total_ns - min_u64(inside, n->total_ns);
}
