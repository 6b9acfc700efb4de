/* SPDX-License-Identifier: BSD-2-Clause */
#include "model/registry.h"
#include "model/sample.h"
#include "base/array.h"
#include "base/text.h"
#include "model/sched.h"
#include "model/snapshot.h"

#include <errno.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <stdlib.h>
#include <string.h>

int registry_init(struct registry_set *s, bool own_groups)
{
	*s = (struct registry_set){ .names = intern_new(), .own_groups = own_groups };
	return s->names ? 0 : -ENOMEM;
}

static void registry_one_free(struct registry *r, void (*free_stream)(void *))
{
	u64 key, value;
	size_t at = 0;
	u32 i;

	while (map_next(&r->threads, &at, &key, &value))
		free_stream((void *)(uintptr_t)value);
	map_free(&r->threads);
	sampler_free(r->left);
	for (i = 0; i < r->comp_len; i++)
		free(r->comps[i]);
	free(r->comps);
	free(r->groups);
	free(r->labels);
	map_free(&r->frame_of);
	free(r->frames);
	free(r);
}

static void names_forget(struct proc *p)
{
	u64 tid, name;
	size_t at = 0;

	while (map_next(&p->thread_names, &at, &tid, &name))
		free((char *)(uintptr_t)name);
	map_free(&p->thread_names);
}

static void proc_free(struct proc *p, void (*free_stream)(void *))
{
	u64 tid, sched;
	size_t at = 0;
	u32 k;

	while (map_next(&p->scheds, &at, &tid, &sched))
		sched_free((void *)(uintptr_t)sched);
	map_free(&p->scheds);

	for (k = 0; k < p->registry_len; k++)
		registry_one_free(p->registries[k], free_stream);
	for (k = 0; k < p->row_len; k++)
		hist_free(&p->rows[k].stats.hist);
	free(p->rows);
	free(p->notes);
	map_free(&p->row_of);
	names_forget(p);
	free(p);
}

/* Which rows a compartment charges is worked out again when it is next used. */
static void resolve_all(struct registry_set *s)
{
	u32 i, k;

	for (i = 0; i < s->proc_len; i++)
		for (k = 0; k < s->procs[i]->registry_len; k++)
			s->procs[i]->registries[k]->generation++;
}

static int own_add(struct registry_set *s, const char *glob)
{
	struct own_glob *own = realloc(s->own, (s->own_len + 1) * sizeof(*own));

	if (!own)
		return -ENOMEM;
	s->own = own;
	own[s->own_len] = (struct own_glob){ .glob = strdup(glob), .users = 1 };
	if (!own[s->own_len].glob)
		return -ENOMEM;
	s->own_len++;
	return 0;
}

int registry_own(struct registry_set *s, const char *glob, bool on)
{
	u32 i = 0;
	int rc = 0;

	while (i < s->own_len && strcmp(s->own[i].glob, glob))
		i++;
	if (i == s->own_len) {
		rc = on ? own_add(s, glob) : -ENOENT;
	} else if (on) {
		s->own[i].users++;
		return 0;
	} else if (--s->own[i].users) {
		return 0;
	} else {
		free(s->own[i].glob);
		s->own[i] = s->own[--s->own_len];
	}
	if (!rc)
		resolve_all(s);
	return rc;
}

void registry_free(struct registry_set *s, void (*free_stream)(void *))
{
	u32 i;

	for (i = 0; i < s->proc_len; i++)
		proc_free(s->procs[i], free_stream);
	free(s->procs);
	for (i = 0; i < s->own_len; i++)
		free(s->own[i].glob);
	free(s->own);
	map_free(&s->by_pid);
	map_free(&s->sums);
	intern_free(s->names);
}

const char *registry_name(const struct registry_set *s, u32 intern_id)
{
	return intern_get(s->names, intern_id, NULL);
}

/* Intern id of "kind:name". */
static s64 full_name(struct registry_set *s, unsigned int kind, const char *name, size_t len)
{
	char text[16 + VMSPAN_NAME_MAX + 1];
	size_t at = strlen(kind_name(kind));

	if (len > VMSPAN_NAME_MAX)
		len = VMSPAN_NAME_MAX;
	memcpy(text, kind_name(kind), at);
	text[at++] = ':';
	memcpy(text + at, name, len);
	return intern_put(s->names, text, at + len);
}

/* The row of that name in the process, made when new. ROW_NONE: no memory. */
static u32 proc_row(struct registry_set *s, struct proc *p, u8 kind, const char *name, size_t len)
{
	s64 id = full_name(s, kind, name, len);
	u64 *at;

	if (id < 0)
		return ROW_NONE;
	at = map_get(&p->row_of, (u64)id);
	if (at)
		return (u32)*at;
	if (p->row_len == ROW_MAX) {
		/* Row ROW_MAX - 1 takes whatever comes beyond. */
		p->rows[ROW_MAX - 1].kind = VMSPAN_TENANT;
		id = intern_put(s->names, "tenant:(other)", strlen("tenant:(other)"));
		if (id >= 0)
			p->rows[ROW_MAX - 1].name = (u32)id;
		return ROW_MAX - 1;
	}
	if (array_room(p->rows, p->row_cap, p->row_len + 1))
		return ROW_NONE;
	if (map_put(&p->row_of, (u64)id, p->row_len))
		return ROW_NONE;
	p->rows[p->row_len] = (struct row){ .name = (u32)id, .kind = kind };
	return p->row_len++;
}

static struct proc *proc_add(struct registry_set *s, u32 pid, u32 ppid, const char *name,
			     const char *vm)
{
	struct proc *p = calloc(1, sizeof(*p));
	s64 name_id = intern_put(s->names, name, strnlen(name, VMSPAN_NAME_MAX));
	s64 vm_id = intern_put(s->names, vm, strnlen(vm, VMSPAN_NAME_MAX));

	if (!p || name_id < 0 || vm_id < 0)
		goto fail;
	if (array_room(s->procs, s->proc_cap, s->proc_len + 1))
		goto fail;
	p->pid = pid;
	p->ppid = ppid;
	p->name = (u32)name_id;
	p->vm = (u32)vm_id;
	p->id = ++s->id_last;
	p->top = proc_row(s, p, VMSPAN_TOP, name, strnlen(name, VMSPAN_NAME_MAX));
	if (p->top == ROW_NONE || map_put(&s->by_pid, pid, (u64)(uintptr_t)p)) {
		free(p->rows);
		map_free(&p->row_of);
		goto fail;
	}
	s->procs[s->proc_len++] = p;
	return p;
fail:
	free(p);
	return NULL;
}

static struct proc *proc_find(const struct registry_set *s, u32 pid)
{
	u64 *at = map_get(&s->by_pid, pid);

	return at ? (struct proc *)(uintptr_t)*at : NULL;
}

struct proc *registry_proc(struct registry_set *s, u32 pid)
{
	struct proc *p = proc_find(s, pid);

	/* An ended one too: its last batches may come behind its end. */
	return p ? p : proc_add(s, pid, 0, "?", "");
}

static void proc_end(struct registry_set *s, struct proc *p)
{
	if (!p || p->ended)
		return;
	p->ended = true;
	s->ended++;
}

static int proc_add_to(struct registry_set *s, struct proc *to, const struct proc *p)
{
	u32 i;

	event_stats_add(&to->events, &p->events);
	gc_stats_add(&to->gc, &p->gc);
	ledger_add(&to->ledger, &p->ledger);
	for (i = 0; i < p->row_len; i++) {
		const char *name = strchr(registry_name(s, p->rows[i].name), ':') + 1;
		u32 row;

		if (!p->rows[i].stats.events)
			continue;
		row = proc_row(s, to, p->rows[i].kind, name, strlen(name));
		if (row == ROW_NONE || group_stats_add(&to->rows[row].stats, &p->rows[i].stats))
			return -ENOMEM;
	}
	return 0;
}

/* NULL: no memory. */
static struct proc *sum_of(struct registry_set *s, const struct proc *p)
{
	u64 container = proc_container(p), *at = map_get(&s->sums, container);
	struct proc *sum;

	if (!at && s->sums.len >= CONTAINERS_MAX) {
		container = 0;
		at = map_get(&s->sums, 0);
	}
	if (at)
		return (struct proc *)(uintptr_t)*at;
	sum = proc_add(s, 0, 0, "(ended)", "");
	if (!sum || map_put(&s->sums, container, (u64)(uintptr_t)sum))
		return NULL;
	/* Whoever says that process 0 has ended, means another. */
	map_del(&s->by_pid, 0);
	sum->sum = true;
	if (container)
		memcpy(sum->container, p->container, sizeof(sum->container));
	return sum;
}

/* Half of them at once, so that it is rare. */
int registry_fold(struct registry_set *s, void (*free_stream)(void *))
{
	u32 i, kept = 0, fold = ENDED_MAX / 2;

	if (s->ended <= ENDED_MAX)
		return 0;
	/* A sum that is new comes behind them all. */
	for (i = 0; i < s->proc_len; i++) {
		struct proc *p = s->procs[i], *sum;
		u32 k;

		if (!fold || !p->ended) {
			s->procs[kept++] = p;
			continue;
		}
		sum = sum_of(s, p);
		if (!sum || proc_add_to(s, sum, p)) {
			/* All that are left stay where one can find them. */
			memmove(&s->procs[kept], &s->procs[i],
				(s->proc_len - i) * sizeof(*s->procs));
			s->proc_len -= i - kept;
			return -ENOMEM;
		}
		s->left_out += proc_left_out(p);
		for (k = 0; k < s->proc_len; k++)
			if (k < kept || k > i)
				if (s->procs[k]->parent == p)
					s->procs[k]->parent = p->parent;
		if (proc_find(s, p->pid) == p)
			map_del(&s->by_pid, p->pid);
		proc_free(p, free_stream);
		s->ended--;
		fold--;
	}
	s->proc_len = kept;
#ifdef __GLIBC__
	/* What was freed lies in thousands of holes between what lives on: without this
	 * a watch over 20,000 processes held a quarter more than it used. */
	malloc_trim(0);
#endif
	return 0;
}

int registry_process(struct registry_set *s, const struct item_process *it)
{
	struct proc *p = proc_find(s, it->pid), *parent;

	switch (it->change) {
	case PROCESS_SEEN:
		if (p && !p->ended)
			return 0;
		break;
	case PROCESS_EXIT:
		proc_end(s, p);
		return 0;
	case PROCESS_EXEC:
	case PROCESS_FORK: /* the end of one with this number is in a part that is missing */
		proc_end(s, p);
		break;
	}
	parent = it->change == PROCESS_FORK ? proc_find(s, it->ppid) : NULL;
	p = proc_add(s, it->pid, it->ppid, it->name, it->vm);
	if (!p)
		return -ENOMEM;
	p->parent = parent;
	if (parent && !*it->vm)
		p->vm = parent->vm;
	if (parent)
		memcpy(p->container, parent->container, sizeof(p->container));
	return 0;
}

static int copy_definitions(struct registry_set *s, struct proc *p, struct registry *r,
			    const struct proc *parent, const struct registry *from);

void registry_sched_lost(struct registry_set *s)
{
	u64 tid, sched;
	size_t at;
	u32 i;

	for (i = 0; i < s->proc_len; i++)
		for (at = 0; map_next(&s->procs[i]->scheds, &at, &tid, &sched);)
			sched_lost((struct sched *)(uintptr_t)sched);
}

static bool is_the_tracers(u64 address)
{
	return address == ITEM_SCHED_REGISTRY || address == ITEM_TRACER_REGISTRY;
}

struct registry *registry_at(struct registry_set *s, struct proc *p, u64 address)
{
	const struct proc *parent;
	struct registry *r;
	u32 i, depth = 0, others = 0;

	for (i = 0; i < p->registry_len; i++) {
		if (p->registries[i]->address == address)
			return p->registries[i];
		others += !is_the_tracers(p->registries[i]->address);
	}
	if (!is_the_tracers(address) && others == ITEM_REGISTRIES)
		return NULL;
	r = calloc(1, sizeof(*r));
	if (!r)
		return NULL;
	r->address = address;
	r->generation = 1;
	p->registries[p->registry_len++] = r;
	for (parent = p->parent; parent && depth < 64; parent = parent->parent, depth++)
		for (i = 0; i < parent->registry_len; i++)
			if (parent->registries[i]->address == address)
				return copy_definitions(s, p, r, parent, parent->registries[i])
					       ? NULL
					       : r;
	return r;
}

/* Makes array[id] exist in a table of `size`-byte entries, zero-filled. */
static int table_cover(void **table, u32 *len, u32 id, size_t size)
{
	u32 cap = *len ? *len : 16;
	void *t;

	if (id < *len)
		return 0;
	if (id >= REGISTRY_ID_MAX)
		return -ERANGE;
	while (cap <= id)
		cap *= 2;
	t = realloc(*table, cap * size);
	if (!t)
		return -ENOMEM;
	memset((char *)t + *len * size, 0, (cap - *len) * size);
	*table = t;
	*len = cap;
	return 0;
}

static int groups_cover(struct registry *r, u32 id)
{
	u32 had = r->group_len, i;
	int rc = table_cover((void **)&r->groups, &r->group_len, id, sizeof(*r->groups));

	for (i = had; !rc && i < r->group_len; i++)
		r->groups[i].row = ROW_NONE;
	return rc;
}

static int define_group(struct registry_set *s, struct proc *p, struct registry *r, u32 id, u8 kind,
			u8 flags, const char *name, size_t len)
{
	struct group_def *g;
	s64 full;
	u32 row;

	if (groups_cover(r, id))
		return 0;
	g = &r->groups[id];
	g->inactive = flags & VMSPAN_GROUP_INACTIVE;
	full = full_name(s, kind, name, len);
	if (full < 0)
		return -ENOMEM;
	if (g->row != ROW_NONE && p->rows[g->row].name == (u32)full)
		return 0;
	/* A rename keeps the row, and with it what was charged so far. */
	if (g->row != ROW_NONE && p->rows[g->row].refs == 1 && !map_get(&p->row_of, (u64)full)) {
		map_del(&p->row_of, p->rows[g->row].name);
		if (map_put(&p->row_of, (u64)full, g->row))
			return -ENOMEM;
		p->rows[g->row].name = (u32)full;
		p->rows[g->row].kind = kind;
		return 0;
	}
	row = proc_row(s, p, kind, name, len);
	if (row == ROW_NONE)
		return -ENOMEM;
	if (g->row != ROW_NONE)
		p->rows[g->row].refs--;
	p->rows[row].refs++;
	g->row = row;
	r->generation++;
	return 0;
}

static struct comp *comp_cover(struct registry *r, u32 id)
{
	if (table_cover((void **)&r->comps, &r->comp_len, id, sizeof(struct comp *)))
		return NULL;
	if (!r->comps[id])
		r->comps[id] = calloc(1, sizeof(struct comp));
	return r->comps[id];
}

const struct frame_def *registry_frame(const struct registry *r, u32 id)
{
	u64 *at = map_get(&r->frame_of, id);

	return at ? &r->frames[*at] : NULL;
}

static int define_frame(struct registry_set *s, struct registry *r, const struct vmspan_def *d)
{
	s64 name = intern_put(s->names, (const char *)(d->groups + d->count), d->name_len);
	u64 *at = map_get(&r->frame_of, d->h.id), index = at ? *at : r->frame_len;

	if (name < 0)
		return (int)name;
	if (d->count != 1 || (!at && r->frame_len >= REGISTRY_ID_MAX))
		return 0;
	if (array_room(r->frames, r->frame_cap, index + 1))
		return -ENOMEM;
	if (!at && map_put(&r->frame_of, d->h.id, index))
		return -ENOMEM;
	r->frame_len += !at;
	r->frames[index] = (struct frame_def){ .comp = d->groups[0],
					       .name = (u32)name,
					       .named = d->flags & VMSPAN_FRAME_NAMED };
	return 0;
}

int registry_define(struct registry_set *s, struct proc *p, struct registry *r,
		    const struct vmspan_def *d)
{
	const char *name = (const char *)(d->groups + d->count);
	struct comp *c;
	s64 id;

	switch (d->h.type) {
	case VMSPAN_DEF_FRAME:
		return define_frame(s, r, d);
	case VMSPAN_DEF_NOTE:
		return d->h.id && r->address == ITEM_TRACER_REGISTRY ? registry_note(s, p, d) : 0;
	case VMSPAN_DEF_CONTAINER:
		return r->address == ITEM_TRACER_REGISTRY ? registry_container(s, p, d) : 0;
	case VMSPAN_DEF_GROUP:
		return define_group(s, p, r, d->h.id, d->kind, d->flags, name, d->name_len);
	case VMSPAN_DEF_COMPARTMENT:
		c = d->h.id < REGISTRY_ID_MAX - 1 ? comp_cover(r, d->h.id) : NULL;
		if (!c)
			return d->h.id < REGISTRY_ID_MAX - 1 ? -ENOMEM : 0;
		id = intern_put(s->names, name, d->name_len);
		if (id < 0)
			return (int)id;
		c->name = (u32)id;
		c->group_count = d->count;
		memcpy(c->groups, d->groups, d->count * sizeof(u32));
		c->generation = 0;
		return 0;
	case VMSPAN_DEF_LABEL:
		if (table_cover((void **)&r->labels, &r->label_len, d->h.id, sizeof(u32)))
			return 0;
		id = intern_put(s->names, name, d->name_len);
		if (id < 0)
			return (int)id;
		r->labels[d->h.id] = (u32)id + 1;
		return 0;
	}
	return 0;
}

static int copy_definitions(struct registry_set *s, struct proc *p, struct registry *r,
			    const struct proc *parent, const struct registry *from)
{
	u32 i;

	for (i = 0; i < from->group_len; i++) {
		const struct row *row;
		const char *name;

		if (from->groups[i].row == ROW_NONE)
			continue;
		row = &parent->rows[from->groups[i].row];
		name = strchr(registry_name(s, row->name), ':') + 1;
		if (define_group(s, p, r, i, row->kind,
				 from->groups[i].inactive ? VMSPAN_GROUP_INACTIVE : 0, name,
				 strlen(name)))
			return -ENOMEM;
	}
	for (i = 0; i < from->comp_len; i++) {
		struct comp *c;

		if (!from->comps[i])
			continue;
		c = comp_cover(r, i);
		if (!c)
			return -ENOMEM;
		c->name = from->comps[i]->name;
		c->group_count = from->comps[i]->group_count;
		memcpy(c->groups, from->comps[i]->groups, sizeof(c->groups));
	}
	for (i = 0; i < from->label_len; i++) {
		if (!from->labels[i])
			continue;
		if (table_cover((void **)&r->labels, &r->label_len, i, sizeof(u32)))
			return -ENOMEM;
		r->labels[i] = from->labels[i];
	}
	return 0;
}

static void comp_add_row(struct comp *c, u32 row)
{
	u32 i;

	for (i = 0; i < c->row_count; i++)
		if (c->rows[i] == row)
			return;
	c->rows[c->row_count++] = row;
}

static bool wants_own(const struct registry_set *s, const struct proc *p, const struct comp *c)
{
	u32 i, k;

	for (i = 0; i < s->own_len; i++)
		for (k = 0; k < c->row_count; k++)
			if (glob_matches(registry_name(s, p->rows[c->rows[k]].name),
					 s->own[i].glob))
				return true;
	return s->own_groups;
}

/* Named groups first, so that the first row is the one people would name. */
static int comp_resolve(struct registry_set *s, struct proc *p, struct registry *r, struct comp *c)
{
	const char *name = registry_name(s, c->name);
	u32 i, own;

	c->row_count = 0;
	c->turn_uid = 0;
	for (i = 0; i < c->group_count; i++) {
		u32 id = c->groups[i];

		if (id < r->group_len && r->groups[id].row != ROW_NONE && !r->groups[id].inactive)
			comp_add_row(c, r->groups[id].row);
	}
	if (wants_own(s, p, c)) {
		own = proc_row(s, p, VMSPAN_COMPARTMENT, name, strlen(name));
		if (own == ROW_NONE)
			return -ENOMEM;
		comp_add_row(c, own);
	}
	comp_add_row(c, p->top);
	c->generation = r->generation;
	return 0;
}

struct comp *registry_comp_slow(struct registry_set *s, struct proc *p, struct registry *r, u32 id)
{
	struct comp *c;

	if (id >= REGISTRY_ID_MAX)
		id = REGISTRY_ID_MAX - 1;
	c = id < r->comp_len ? r->comps[id] : NULL;
	if (!c) {
		s64 name = intern_put(s->names, "(unknown)", strlen("(unknown)"));

		c = name < 0 ? NULL : comp_cover(r, id);
		if (!c)
			return NULL;
		c->name = (u32)name;
	}
	if (c->generation != r->generation && comp_resolve(s, p, r, c))
		return NULL;
	return c;
}

const char *registry_label(const struct registry_set *s, const struct registry *r, u32 id)
{
	return id < r->label_len && r->labels[id] ? registry_name(s, r->labels[id] - 1) : "";
}
