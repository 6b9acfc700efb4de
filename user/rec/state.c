/* SPDX-License-Identifier: BSD-2-Clause */
#include "rec/state.h"
#include "rec/sched_ends.h"
#include "base/buf.h"
#include "base/map.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Definitions of a registry. Forked processes share them until they differ. */
struct defs {
	u32 refs;
	size_t dead; /* bytes of definitions replaced by later ones */
	struct buf data; /* struct vmspan_def records; type 0: dead */
	struct map at; /* type and id -> offset in data */
};

struct process {
	u32 pid, ppid;
	bool announced, ended;
	u64 mono_ns;
	char *name, *vm; /* NULL: "" */
	u32 registry_len;
	struct registry {
		u64 address;
		struct defs *defs;
	} * registries;
};

struct thread {
	u32 pid, tid;
	u64 mono_ns;
	char *name;
};

struct state {
	struct item_clock clock;
	struct item_cost cost;
	bool has_cost;
	struct process *processes; /* in order of first sight */
	u32 process_len, process_cap;
	struct map by_pid; /* -> index in processes */
	struct thread *threads;
	u32 thread_len, thread_cap;
	struct map by_tid; /* pid << 32 | tid -> index in threads */
	struct sched_ends sched;
	u64 bytes, dropped;
};

struct state *state_new(void)
{
	return calloc(1, sizeof(struct state));
}

/* --------------------------------------------------------- Definitions -- */

static void defs_put(struct state *s, struct defs *d)
{
	if (--d->refs)
		return;
	s->bytes -= d->data.len;
	buf_free(&d->data);
	map_free(&d->at);
	free(d);
}

static u64 def_key(const struct vmspan_def *def)
{
	return (u64)def->h.type << 32 | def->h.id;
}

static u32 def_bytes(const struct vmspan_def *def)
{
	return def->h.slots * (u32)VMSPAN_SLOT;
}

static int defs_append(struct state *s, struct defs *d, const struct vmspan_def *def)
{
	size_t at = d->data.len;

	if (buf_put(&d->data, def, def_bytes(def)) || map_put(&d->at, def_key(def), at)) {
		d->data.len = at;
		return -ENOMEM;
	}
	s->bytes += def_bytes(def);
	return 0;
}

/* A copy without the dead; NULL without memory. `notes`: with what is said of one process alone. */
static struct defs *defs_copy(struct state *s, const struct defs *from, bool notes)
{
	struct defs *d = calloc(1, sizeof(*d));
	size_t at = 0;

	if (!d)
		return NULL;
	d->refs = 1;
	while (from && at < from->data.len) {
		const struct vmspan_def *def = (const void *)(from->data.data + at);

		if (def->h.type && (notes || def->h.type != VMSPAN_DEF_NOTE) &&
		    defs_append(s, d, def)) {
			defs_put(s, d);
			return NULL;
		}
		at += def_bytes(def);
	}
	return d;
}

/* Makes *d one that belongs to nobody else and holds few dead. */
static int defs_own(struct state *s, struct defs **d)
{
	struct defs *copy;

	if ((*d)->refs == 1 && (*d)->dead <= (*d)->data.len / 2 + STATE_PIECE)
		return 0;
	copy = defs_copy(s, *d, true);
	if (!copy)
		return -ENOMEM;
	defs_put(s, *d);
	*d = copy;
	return 0;
}

static int defs_define(struct state *s, struct defs **d, const struct vmspan_def *def)
{
	u32 bytes = def_bytes(def);
	u64 *at = map_get(&(*d)->at, def_key(def));
	struct vmspan_def *old = at ? (void *)((*d)->data.data + *at) : NULL;

	if (old && def_bytes(old) == bytes && !memcmp(old, def, bytes))
		return 0;
	if (!old &&
	    ((*d)->data.len + bytes > STATE_REGISTRY_BYTES || s->bytes + bytes > STATE_ALL_BYTES)) {
		s->dropped++;
		return 0;
	}
	if (defs_own(s, d))
		return -ENOMEM;
	at = map_get(&(*d)->at, def_key(def));
	if (at) {
		old = (void *)((*d)->data.data + *at);
		if (def_bytes(old) == bytes) {
			memcpy(old, def, bytes);
			return 0;
		}
		old->h.type = 0;
		(*d)->dead += def_bytes(old);
	}
	return defs_append(s, *d, def);
}

/* ----------------------------------------------------------- Processes -- */

static char *copy_name(const char *s)
{
	return s && *s ? strndup(s, STATE_NAME) : NULL;
}

static void process_clear(struct state *s, struct process *p)
{
	u32 i;

	for (i = 0; i < p->registry_len; i++)
		defs_put(s, p->registries[i].defs);
	free(p->registries);
	free(p->name);
	free(p->vm);
	*p = (struct process){ .pid = p->pid };
}

static struct process *process_find(const struct state *s, u32 pid)
{
	u64 *at = map_get(&s->by_pid, pid);

	return at ? &s->processes[*at] : NULL;
}

/* Makes room for one more of `size` bytes. 0, -ENOMEM, or -ENOSPC at `max`. */
static int table_grow(void **table, u32 len, u32 *cap, u32 max, size_t size)
{
	u32 next = *cap ? *cap * 2 : 16;
	void *t;

	if (len < *cap)
		return 0;
	if (len >= max)
		return -ENOSPC;
	t = realloc(*table, next * size);
	if (!t)
		return -ENOMEM;
	*table = t;
	*cap = next;
	return 0;
}

/* The process's place, made if there is none. Else *rc says why not. */
static struct process *process_at(struct state *s, u32 pid, int *rc)
{
	struct process *p = process_find(s, pid);

	*rc = 0;
	if (p)
		return p;
	*rc = table_grow((void **)&s->processes, s->process_len, &s->process_cap, STATE_PROCESSES,
			 sizeof(*p));
	if (!*rc)
		*rc = map_put(&s->by_pid, pid, s->process_len);
	if (*rc)
		return NULL;
	p = &s->processes[s->process_len++];
	*p = (struct process){ .pid = pid };
	return p;
}

/* A forked child begins with its parent's definitions. Notes are the tracer's, each of its process alone. */
static int process_inherit(struct state *s, struct process *p, const struct process *parent)
{
	u32 i;

	if (!parent->registry_len || p == parent)
		return 0;
	p->registries = calloc(parent->registry_len, sizeof(*p->registries));
	if (!p->registries)
		return -ENOMEM;
	for (i = 0; i < parent->registry_len; i++) {
		struct registry r = parent->registries[i];

		if (r.address == ITEM_TRACER_REGISTRY)
			r.defs = defs_copy(s, r.defs, false);
		else
			r.defs->refs++;
		if (!r.defs)
			return -ENOMEM;
		p->registries[p->registry_len++] = r;
	}
	return 0;
}

static void thread_del(struct state *s, u32 at)
{
	struct thread *t = &s->threads[at], *last = &s->threads[--s->thread_len];

	map_del(&s->by_tid, (u64)t->pid << 32 | t->tid);
	free(t->name);
	if (t == last)
		return;
	*t = *last;
	/* The key is there: nothing is added, so nothing can fail. */
	*map_get(&s->by_tid, (u64)t->pid << 32 | t->tid) = at;
}

static void threads_forget(struct state *s, u32 pid)
{
	u32 i;

	sched_ends_forget(&s->sched, pid);
	for (i = s->thread_len; i--;)
		if (s->threads[i].pid == pid)
			thread_del(s, i);
}

static int note_process(struct state *s, const struct item_process *it)
{
	struct process *p, *parent;
	int rc;

	p = process_at(s, it->pid, &rc);
	if (!p) {
		s->dropped += rc == -ENOSPC;
		return rc == -ENOSPC ? 0 : rc;
	}
	if (it->change == PROCESS_EXIT) {
		p->ended = true;
		return 0;
	}
	if (it->change != PROCESS_SEEN || p->ended) {
		process_clear(s, p);
		threads_forget(s, it->pid);
	}
	free(p->name);
	free(p->vm);
	p->name = copy_name(it->name);
	p->vm = copy_name(it->vm);
	p->ppid = it->ppid;
	p->mono_ns = it->mono_ns;
	p->announced = true;
	parent = it->change == PROCESS_FORK ? process_find(s, it->ppid) : NULL;
	if (!parent)
		return 0;
	if (!p->vm)
		p->vm = copy_name(parent->vm);
	return process_inherit(s, p, parent);
}

static int note_def(struct state *s, u32 pid, u64 registry, const struct vmspan_def *def)
{
	struct registry *r;
	struct process *p;
	u32 i;
	int rc;

	p = process_at(s, pid, &rc);
	if (!p) {
		s->dropped += rc == -ENOSPC;
		return rc == -ENOSPC ? 0 : rc;
	}
	for (i = 0; i < p->registry_len; i++)
		if (p->registries[i].address == registry)
			return defs_define(s, &p->registries[i].defs, def);
	if (p->registry_len == STATE_REGISTRIES) {
		s->dropped++;
		return 0;
	}
	r = realloc(p->registries, (p->registry_len + 1) * sizeof(*r));
	if (!r)
		return -ENOMEM;
	p->registries = r;
	r += p->registry_len;
	*r = (struct registry){ registry, defs_copy(s, NULL, true) };
	if (!r->defs)
		return -ENOMEM;
	p->registry_len++;
	return defs_define(s, &r->defs, def);
}

static int note_records(struct state *s, u32 pid, u64 registry, const void *data, u32 bytes)
{
	const u8 *p = data, *end = p + bytes;
	int rc = 0;

	while (!rc && p < end) {
		const struct vmspan_head *h = (const void *)p;

		if (h->type >= VMSPAN_DEF_GROUP && h->type <= VMSPAN_DEF_LAST)
			rc = note_def(s, pid, registry, (const void *)h);
		p += h->slots * VMSPAN_SLOT;
	}
	return rc;
}

/* ------------------------------------------------------------- Threads -- */

static int note_thread(struct state *s, const struct item_thread *it)
{
	u64 key = (u64)it->pid << 32 | it->tid, *at = map_get(&s->by_tid, key);
	struct thread *t;
	int rc;

	if (it->ended) {
		if (at)
			thread_del(s, (u32)*at);
		sched_ends_forget_thread(&s->sched, it->pid, it->tid);
		return 0;
	}
	if (at) {
		t = &s->threads[*at];
		free(t->name);
	} else {
		rc = table_grow((void **)&s->threads, s->thread_len, &s->thread_cap, STATE_THREADS,
				sizeof(*t));
		if (!rc)
			rc = map_put(&s->by_tid, key, s->thread_len);
		if (rc)
			return rc == -ENOSPC ? 0 : rc;
		t = &s->threads[s->thread_len++];
	}
	*t = (struct thread){ it->pid, it->tid, it->mono_ns, copy_name(it->name) };
	return 0;
}

static int note_sched(struct state *s, const struct item_batch *b)
{
	int rc;
	struct sched_end *e = sched_end_of(&s->sched, b, STATE_THREADS, &rc);

	if (e)
		sched_end_note(e, b);
	return rc == -ENOSPC ? 0 : rc;
}

int state_note(struct state *s, const struct item *it)
{
	if (sched_is_of(it))
		return note_sched(s, &it->batch);
	switch (it->type) {
	case ITEM_CLOCK:
		s->clock = it->clock;
		return 0;
	case ITEM_PROCESS:
		return note_process(s, &it->process);
	case ITEM_THREAD:
		return note_thread(s, &it->thread);
	case ITEM_DEFS:
		return note_records(s, it->defs.pid, it->defs.registry, it->defs.data,
				    it->defs.bytes);
	case ITEM_BATCH:
		return note_records(s, it->batch.pid, it->batch.registry, it->batch.data,
				    it->batch.bytes);
	case ITEM_COST:
		s->cost = it->cost;
		s->has_cost = true;
		return 0;
	case ITEM_LOSS:
	case ITEM_UNFINISHED:
	case ITEM_OPEN:
		return 0;
	}
	return 0;
}

const struct item_clock *state_clock(const struct state *s)
{
	return &s->clock;
}

u64 state_bytes(const struct state *s)
{
	return s->bytes;
}

u64 state_dropped(const struct state *s)
{
	return s->dropped;
}

/* ------------------------------------------------------------ Emitting -- */

struct emit {
	item_fn fn;
	void *ctx;
	u64 missing;
};

static int emit_item(struct emit *e, const struct item *it)
{
	int rc = e->fn(e->ctx, it);

	return rc > 0 ? 0 : rc;
}

static int emit_process(struct emit *e, const struct process *p, enum process_change change)
{
	struct item it = { .type = ITEM_PROCESS };

	it.process = (struct item_process){
		.change = change,
		.pid = p->pid,
		.ppid = p->ppid,
		.mono_ns = p->mono_ns,
		.name = p->name ? p->name : "",
		.vm = p->vm ? p->vm : "",
	};
	return emit_item(e, &it);
}

static int emit_piece(struct emit *e, struct item *it, u32 count)
{
	int rc;

	if (!it->defs.bytes)
		return 0;
	rc = e->fn(e->ctx, it);
	if (rc > 0)
		e->missing += count;
	it->defs.bytes = 0;
	return rc < 0 ? rc : 0;
}

static int emit_defs(struct emit *e, u32 pid, const struct registry *r)
{
	static_assert(STATE_PIECE % VMSPAN_SLOT == 0 && STATE_PIECE >= 512, "holds any name");
	u64 piece[STATE_PIECE / 8];
	struct item it = { .type = ITEM_DEFS, .defs = { pid, r->address, piece, 0 } };
	const struct buf *data = &r->defs->data;
	size_t at = 0;
	u32 count = 0;
	int rc = 0;

	while (!rc && at < data->len) {
		const struct vmspan_def *def = (const void *)(data->data + at);
		u32 bytes = def_bytes(def);

		at += bytes;
		if (!def->h.type)
			continue;
		if (bytes > STATE_PIECE) {
			e->missing++;
			continue;
		}
		if (it.defs.bytes + bytes > STATE_PIECE) {
			rc = emit_piece(e, &it, count);
			count = 0;
		}
		memcpy((u8 *)piece + it.defs.bytes, def, bytes);
		it.defs.bytes += bytes;
		count++;
	}
	return rc ? rc : emit_piece(e, &it, count);
}

static int emit_start(void *ctx, const struct item *it)
{
	return emit_item(ctx, it);
}

static int emit_processes(struct emit *e, const struct state *s)
{
	u32 i, k;
	int rc = 0;

	for (i = 0; !rc && i < s->process_len; i++)
		if (s->processes[i].announced)
			rc = emit_process(e, &s->processes[i], PROCESS_SEEN);
	for (i = 0; !rc && i < s->thread_len; i++) {
		const struct thread *t = &s->threads[i];
		struct item it = { .type = ITEM_THREAD };

		it.thread = (struct item_thread){ t->pid, t->tid, false, t->mono_ns,
						  t->name ? t->name : "" };
		rc = emit_item(e, &it);
	}
	for (i = 0; !rc && i < s->sched.len; i++)
		rc = sched_end_start(&s->sched.ends[i], emit_start, e);
	for (i = 0; !rc && i < s->process_len; i++) {
		const struct process *p = &s->processes[i];

		for (k = 0; !rc && k < p->registry_len; k++)
			rc = emit_defs(e, p->pid, &p->registries[k]);
		if (!rc && p->announced && p->ended)
			rc = emit_process(e, p, PROCESS_EXIT);
	}
	return rc;
}

static int forget_ended(struct state *s)
{
	struct map by_pid = { 0 };
	u32 i, kept = 0;

	for (i = 0; i < s->process_len; i++) {
		if (!s->processes[i].ended && map_put(&by_pid, s->processes[i].pid, kept++)) {
			map_free(&by_pid);
			return -ENOMEM;
		}
	}
	for (i = s->thread_len; kept < s->process_len && i--;) {
		const struct process *p = process_find(s, s->threads[i].pid);

		if (p && p->ended)
			thread_del(s, i);
	}
	for (i = s->sched.len; i--;) {
		const struct process *p = process_find(s, s->sched.ends[i].pid);

		if (p && p->ended)
			sched_ends_drop(&s->sched, i);
	}
	for (i = 0, kept = 0; i < s->process_len; i++) {
		if (s->processes[i].ended)
			process_clear(s, &s->processes[i]);
		else
			s->processes[kept++] = s->processes[i];
	}
	s->process_len = kept;
	map_free(&s->by_pid);
	s->by_pid = by_pid;
	return 0;
}

int state_emit(struct state *s, item_fn fn, void *ctx)
{
	struct emit e = { fn, ctx, s->dropped };
	struct item it = { .type = ITEM_CLOCK, .clock = s->clock };
	int rc = 0;

	if (s->clock.mono_ns)
		rc = emit_item(&e, &it);
	if (!rc && s->has_cost) {
		it = (struct item){ .type = ITEM_COST, .cost = s->cost };
		rc = emit_item(&e, &it);
	}
	if (!rc)
		rc = emit_processes(&e, s);
	if (!rc && e.missing) {
		it = (struct item){ .type = ITEM_LOSS };
		it.loss = (struct item_loss){ LOSS_LIMIT, e.missing, 0, false };
		rc = emit_item(&e, &it);
	}
	return rc ? rc : forget_ended(s);
}

void state_free(struct state *s)
{
	u32 i;

	if (!s)
		return;
	for (i = 0; i < s->process_len; i++)
		process_clear(s, &s->processes[i]);
	for (i = 0; i < s->thread_len; i++)
		free(s->threads[i].name);
	free(s->processes);
	free(s->threads);
	map_free(&s->by_pid);
	map_free(&s->by_tid);
	sched_ends_free(&s->sched);
	free(s);
}
