/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Each function below serves both directions: `writing` is a constant where it
 * is inlined, so what is written and what is read cannot drift apart.
 */
#include "rec/form.h"
#include "model/item.h"

#include <errno.h>
#include <string.h>

#define CODE static inline __attribute__((always_inline))
/* What spans rarely need stays out of their way. */
#define CODE_RARE static __attribute__((noinline))

enum {
	EVENT_SLOTS = sizeof(struct vmspan_event) / VMSPAN_SLOT
};

/* Kinds of numbers. Each has a place of its own that lends to new ones. */
enum kind {
	/* Two numbers that lie side by side, under the first one's kind. */
	KIND_LEAF_GAP, /* end of the record before -> begin of one without children */
	KIND_LEAF_TIME, /* its begin -> its end */
	KIND_PARENT_HEAD, /* begin -> begin of the first child */
	KIND_PARENT_TAIL, /* end of the last child -> end */
	KIND_MARK_GAP,
	KIND_MARK_VALUE,
	KIND_ITERATION,
	KIND_CPU_BEGIN,
	KIND_CPU_END,
	KIND_PARENT,
	KIND_REST, /* of a time that is no whole number of steps */
	KIND_RECORDS,
	KIND_MONO_BEGIN,
	KIND_MONO_TIME,
	KIND_CPU_NS_BEGIN,
	KIND_CPU_NS_TIME,
	KIND_BYTES_BEFORE,
	KIND_BYTES_AFTER,
	KIND_PEER,
	KIND_CLOCK_REST, /* of MONO_BEGIN; the three others' follow */
};

void records_reset(struct records *r, u64 mono_mult, u64 step)
{
	memset(r, 0, offsetof(struct records, threads));
	r->mono_mult = mono_mult;
	steps_init(&r->steps, mono_mult, step);
}

/* ------------------------------------------------------------- Threads -- */

static u16 *thread_slot(struct records *r, u32 pid, u32 tid, u64 registry, u32 thread)
{
	u32 size = ARRAY_SIZE(r->thread_at);
	u32 i = shape_hash(((u64)tid << 32 | pid) ^ (registry << 8) ^ thread, size);

	for (; r->thread_at[i]; i = (i + 1) & (size - 1)) {
		const struct records_thread *t = &r->threads[r->thread_at[i] - 1];

		if (t->pid == pid && t->tid == tid && t->registry == registry &&
		    t->thread == thread)
			break;
	}
	return &r->thread_at[i];
}

struct records_thread *records_find(struct records *r, u32 pid, u32 tid, u64 registry, u32 thread)
{
	u16 at = *thread_slot(r, pid, tid, registry, thread);

	return at ? &r->threads[at - 1] : NULL;
}

struct records_thread *records_add(struct records *r, u32 pid, u32 tid, u64 registry, u32 thread)
{
	struct records_thread *t;

	if (r->thread_len == RECORDS_THREADS)
		return NULL;
	*thread_slot(r, pid, tid, registry, thread) = (u16)(r->thread_len + 1);
	t = &r->threads[r->thread_len++];
	*t = (struct records_thread){
		.pid = pid, .tid = tid, .registry = registry, .thread = thread
	};
	return t;
}

/* ------------------------------------------------------------- Numbers -- */

CODE u32 place_at(enum kind kind, u64 where, u32 places)
{
	return shape_hash(where + ((u64)kind << 8), places);
}

CODE void number(struct records *r, struct coder *c, const bool writing, enum kind kind, u64 where,
		 u64 *v)
{
	struct place *p = &r->places[place_at(kind, where, RECORDS_PLACES)];

	code_number(c, writing, p, &r->kinds[kind], v);
}

/* Both times of a record: one look, and mostly one line of memory. */
CODE void number_pair(struct records *r, struct coder *c, const bool writing, enum kind kind,
		      u64 where, u64 v[2])
{
	struct place *p = &r->places[place_at(kind, where, RECORDS_PLACES / 2) * 2];

	code_number(c, writing, p, &r->kinds[kind], &v[0]);
	code_number(c, writing, p + 1, &r->kinds[kind + 1], &v[1]);
}

CODE_RARE void number_rare(struct records *r, struct coder *c, bool writing, enum kind kind,
			   u64 where, u64 *v)
{
	if (writing)
		number(r, c, true, kind, where, v);
	else
		number(r, c, false, kind, where, v);
}

/* A field that is expected to be `guess`. */
CODE void near(struct records *r, struct coder *c, const bool writing, enum kind kind, u64 guess,
	       u64 *v)
{
	u64 d = *v - guess;

	number_rare(r, c, writing, kind, 0, &d);
	if (!writing)
		*v = guess + d;
}

CODE void near_u32(struct records *r, struct coder *c, const bool writing, enum kind kind,
		   u32 guess, u32 *v)
{
	u64 wide = *v;

	near(r, c, writing, kind, guess, &wide);
	if (!writing)
		*v = (u32)wide;
}

CODE void near_u16(struct records *r, struct coder *c, const bool writing, enum kind kind,
		   u16 guess, u16 *v)
{
	u64 wide = *v;

	near(r, c, writing, kind, guess, &wide);
	if (!writing)
		*v = (u16)wide;
}

CODE u32 flag(struct coder *c, const bool writing, u32 v)
{
	if (writing)
		bits_put(&c->out, v, 1);
	else
		v = (u32)bits_get(&c->in, 1);
	return v;
}

/* ---------------------------------------------------------------- Head -- */

/*
 * The head of a record as one number. Of an event its label stands for the
 * iteration: that is a number, this a kind.
 */
static u64 head_shape(const struct vmspan_head *h)
{
	u32 id = h->id;

	if (h->type == VMSPAN_EVENT)
		id = h->slots == EVENT_SLOTS ? ((const struct vmspan_event *)h)->label : 0;
	return (u64)h->type | (u64)h->slots << 8 | (u64)h->depth << 16 | (u64)id << 32;
}

static struct vmspan_head head_of(u64 shape)
{
	return (struct vmspan_head){ (u8)shape, (u8)(shape >> 8), (u16)(shape >> 16),
				     (u32)(shape >> 32) };
}

/* Type and slots of the shape of every span. */
#define SPAN_SHAPE (VMSPAN_SPAN | 1u << 8)

/* --------------------------------------------------------------- Times -- */

/*
 * What the form leaves to be said of the rests. True if what follows goes by the
 * steps of before: both times ahead, or any other rest, are another counter's.
 */
CODE bool code_rests(struct records *r, struct coder *c, const bool writing, enum form form,
		     struct times *n)
{
	u32 ahead, i;

	if (form == FORM_AHEAD) {
		ahead = times_ahead(n);
		if (writing)
			bits_put(&c->out, ahead, 2);
		else
			ahead = (u32)bits_get(&c->in, 2);
		n->rest[0] = ahead & 1;
		n->rest[1] = ahead >> 1;
		return ahead != 3;
	}
	if (form == FORM_PLAIN || flag(c, writing, writing && n->whole)) {
		n->rest[0] = n->rest[1] = 0;
		return true;
	}
	for (i = 0; i < ARRAY_SIZE(n->rest); i++) {
		u64 v = (u64)n->rest[i];

		number_rare(r, c, writing, KIND_REST, 0, &v);
		n->rest[i] = (s64)v;
	}
	return false;
}

CODE void code_stay(struct records *r, struct records_thread *t, struct coder *c,
		    const bool writing, enum form form, u64 shape, u64 before, const struct stay *s,
		    struct times *n, u64 *begin, u64 *end)
{
	u64 from, to;
	bool same;

	number_pair(r, c, writing, s->parent ? KIND_PARENT_HEAD : KIND_LEAF_GAP, shape + before * 7,
		    n->v);
	same = code_rests(r, c, writing, form, n);
	if (writing) {
		from = *begin - (u64)n->rest[0];
		to = *end - (u64)n->rest[1];
	} else {
		from = r->steps.step * n->v[0];
		from = s->parent ? s->first - from : t->end + from;
		to = r->steps.step * n->v[1] + (s->parent ? t->end : from);
		*begin = from + (u64)n->rest[0];
		*end = to + (u64)n->rest[1];
	}
	/* What follows is not ahead, so times are kept as they are without. */
	stay_done(t, s, same ? from : *begin, same ? to : *end);
}

/* ------------------------------------------------------------- Records -- */

union record {
	struct vmspan_head h;
	struct vmspan_span span;
	struct vmspan_event event;
	struct vmspan_gc gc;
	struct vmspan_block block;
	struct vmspan_point mark;
	u64 words[255 * VMSPAN_SLOT / 8];
};

/* What follows an event inside another: one more in it, or the rest of it? */
CODE void after_learn(struct records *r, struct records_thread *t, u32 iteration)
{
	if (!t->after)
		return;
	r->after[t->after - 1] = iteration != t->after_parent;
	t->after = 0;
}

CODE void code_span(struct records *r, struct records_thread *t, struct coder *c,
		    const bool writing, enum form form, u64 shape, u64 before, const struct stay *s,
		    struct times *n, struct vmspan_span *v)
{
	code_stay(r, t, c, writing, form, shape, before, s, n, &v->begin, &v->end);
	if (form == FORM_MOVED) {
		near_u16(r, c, writing, KIND_CPU_BEGIN, t->cpu, &v->cpu_begin);
		near_u16(r, c, writing, KIND_CPU_END, v->cpu_begin, &v->cpu_end);
		near_u32(r, c, writing, KIND_ITERATION, t->iteration, &v->iteration);
		t->cpu = v->cpu_end;
		t->iteration = v->iteration;
	} else if (!writing) {
		v->cpu_begin = v->cpu_end = t->cpu;
		v->iteration = t->iteration;
	}
	after_learn(r, t, t->iteration);
}

CODE void code_gc(struct records *r, struct coder *c, const bool writing, u64 shape,
		  struct vmspan_gc *g)
{
	number(r, c, writing, KIND_BYTES_BEFORE, shape, &g->bytes_before);
	number(r, c, writing, KIND_BYTES_AFTER, shape, &g->bytes_after);
}

CODE void code_mark(struct records *r, struct records_thread *t, struct coder *c,
		    const bool writing, enum form form, u64 shape, u64 before, const struct stay *s,
		    struct times *n, struct vmspan_point *m)
{
	u64 v = (u64)m->value, at;
	bool same;

	number(r, c, writing, KIND_MARK_GAP, shape + before * 7, &n->v[0]);
	same = code_rests(r, c, writing, form, n);
	if (form == FORM_MOVED || (shape & 0xff) == VMSPAN_VALUE)
		number(r, c, writing, KIND_MARK_VALUE, shape, &v);
	at = t->end + r->steps.step * n->v[0];
	if (!writing) {
		m->time = at + (u64)n->rest[0];
		m->value = (s64)v;
	}
	at = same ? at : m->time;
	stay_done(t, s, at, at);
	if (form == FORM_MOVED) {
		near_u16(r, c, writing, KIND_CPU_BEGIN, t->cpu, &m->cpu);
		near_u32(r, c, writing, KIND_ITERATION, t->iteration, &m->iteration);
		t->cpu = m->cpu;
		t->iteration = m->iteration;
	} else if (!writing) {
		m->cpu = t->cpu;
		m->iteration = t->iteration;
	}
	after_learn(r, t, t->iteration);
}

/* ---------------------------------------------------------------- Events -- */

enum {
	GAP_SHORT = 1 << 14
}; /* ns: a thread that waits does so for longer */

static u64 cycles_ns(const struct records *r, u64 cycles)
{
	return (u64)(((__int128)(s64)cycles * r->mono_mult) >> 32);
}

/* Clocks are made from the counter, so they are off by whole steps, too. */
CODE void code_clock(struct records *r, struct coder *c, const bool writing, enum kind kind,
		     u64 where, u64 guess, u64 *v)
{
	u64 n = *v - guess;

	if (writing && r->steps.ns)
		n = steps_of_ns(&r->steps, (s64)n);
	number(r, c, writing, kind, where, &n);
	if (r->steps.ns)
		near(r, c, writing, KIND_CLOCK_REST + (kind - KIND_MONO_BEGIN),
		     guess + cycles_ns(r, r->steps.step * n), v);
	else if (!writing)
		*v = guess + n;
}

/* The event that one at this depth lies in. */
static u32 parent_guess(const struct records_thread *t, u64 shape, u32 iteration)
{
	u32 depth = depth_of(shape), parent = t->parent[depth % RECORDS_LOOPS];

	return !depth ? 0 : parent ? parent : iteration - 1;
}

static void event_done(struct records *r, struct records_thread *t, u64 shape,
		       const struct vmspan_event *e)
{
	u32 depth = depth_of(shape) % RECORDS_LOOPS;

	t->cpu = e->cpu_end;
	t->mono = e->mono_end;
	t->mono_cycles = e->end;
	t->cpu_ns = e->cpu_ns_end;
	if (e->h.id > t->iteration_last)
		t->iteration_last = e->h.id;
	t->parent[depth] = e->parent;
	memset(&t->parent[depth + 1], 0, (RECORDS_LOOPS - 1 - depth) * sizeof(t->parent[0]));
	after_learn(r, t, e->h.id);
	t->iteration = t->iteration_last + 1;
	if (!e->parent)
		return;
	t->after = 1 + shape_hash(shape, RECORDS_AFTER);
	t->after_parent = e->parent;
	if (!r->after[t->after - 1])
		t->iteration = e->parent;
}

CODE void code_event(struct records *r, struct records_thread *t, struct coder *c,
		     const bool writing, enum form form, u64 shape, u64 before,
		     const struct stay *s, struct times *n, struct vmspan_event *e)
{
	u64 gap;

	if (form == FORM_MOVED) {
		near_u32(r, c, writing, KIND_ITERATION, t->iteration, &e->h.id);
		near_u16(r, c, writing, KIND_CPU_BEGIN, t->cpu, &e->cpu_begin);
		near_u16(r, c, writing, KIND_CPU_END, e->cpu_begin, &e->cpu_end);
		near_u32(r, c, writing, KIND_PARENT, parent_guess(t, shape, e->h.id), &e->parent);
	} else if (!writing) {
		e->h.id = t->iteration;
		e->cpu_begin = e->cpu_end = t->cpu;
		e->parent = parent_guess(t, shape, e->h.id);
	}
	near_u32(r, c, writing, KIND_RECORDS, s->inner, &e->records);
	code_stay(r, t, c, writing, form, shape, before, s, n, &e->begin, &e->end);
	code_clock(r, c, writing, KIND_MONO_BEGIN, 0,
		   t->mono + cycles_ns(r, e->begin - t->mono_cycles), &e->mono_begin);
	code_clock(r, c, writing, KIND_MONO_TIME, 0,
		   e->mono_begin + cycles_ns(r, e->end - e->begin), &e->mono_end);
	gap = e->mono_begin - t->mono;
	code_clock(r, c, writing, KIND_CPU_NS_BEGIN, gap < GAP_SHORT,
		   t->cpu_ns + (gap < GAP_SHORT ? gap : 0), &e->cpu_ns_begin);
	code_clock(r, c, writing, KIND_CPU_NS_TIME, 0,
		   e->cpu_ns_begin + (e->mono_end - e->mono_begin), &e->cpu_ns_end);
	if (!writing)
		e->label = (u32)(shape >> 32);
	event_done(r, t, shape, e);
}

/* ----------------------------------------------------------- Any record -- */

/* Does the shape say that it is a type we code, in its size? */
static bool shape_coded(u64 shape)
{
	u32 type = (u32)(shape & 0xff);

	return type >= VMSPAN_SPAN && type <= VMSPAN_VALUE &&
	       record_slots[type] == (shape >> 8 & 0xff);
}

/* Are the fields nobody uses zero? */
static bool record_regular(const union record *u)
{
	switch (u->h.type) {
	case VMSPAN_EVENT:
		return !(u->event.stolen_ns | u->event.reserved[0] | u->event.reserved[1]);
	case VMSPAN_GC:
		return !(u->gc.reserved[0] | u->gc.reserved[1]);
	case VMSPAN_BLOCK:
		return !(u->block.reserved[0] | u->block.reserved[1] | u->block.reserved[2]);
	case VMSPAN_INPUT:
	case VMSPAN_FRAME:
	case VMSPAN_VALUE:
		return !u->mark.pad;
	}
	return true;
}

static bool span_plain(const struct vmspan_span *s, const struct records_thread *t)
{
	return s->cpu_begin == t->cpu && s->cpu_end == t->cpu && s->iteration == t->iteration;
}

/* Does it run where, and in what, it is expected to? */
static bool record_plain(const union record *u, const struct records_thread *t, u64 shape)
{
	switch (u->h.type) {
	case VMSPAN_EVENT:
		return u->event.cpu_begin == t->cpu && u->event.cpu_end == t->cpu &&
		       u->h.id == t->iteration &&
		       u->event.parent == parent_guess(t, shape, u->h.id);
	case VMSPAN_INPUT:
	case VMSPAN_FRAME:
	case VMSPAN_VALUE:
		return u->mark.cpu == t->cpu && u->mark.iteration == t->iteration &&
		       (u->h.type == VMSPAN_VALUE || !u->mark.value);
	}
	return span_plain(&u->span, t);
}

static struct times record_times(const struct records *r, const struct records_thread *t,
				 const struct stay *s, const union record *u)
{
	bool event = u->h.type == VMSPAN_EVENT;
	u64 begin = event ? u->event.begin : u->span.begin;
	u64 end = event ? u->event.end : u->span.end;
	struct times n = { 0 };

	switch (u->h.type) {
	case VMSPAN_INPUT:
	case VMSPAN_FRAME:
	case VMSPAN_VALUE:
		n.whole = steps_whole(&r->steps, u->mark.time - t->end, &n.v[0]);
		if (!n.whole)
			n.rest[0] = steps_nearest(&r->steps, u->mark.time - t->end, &n.v[0]);
		return n;
	}
	n = stay_times(&r->steps, t, s, begin, end);
	return n.whole ? n : stay_rests(&r->steps, t, s, begin, end);
}

CODE void code_fields(struct records *r, struct records_thread *t, struct coder *c,
		      const bool writing, enum form form, u64 shape, u64 before,
		      const struct stay *s, struct times *n, union record *u)
{
	switch (shape & 0xff) {
	case VMSPAN_SPAN:
		code_span(r, t, c, writing, form, shape, before, s, n, &u->span);
		break;
	case VMSPAN_EVENT:
		code_event(r, t, c, writing, form, shape, before, s, n, &u->event);
		break;
	case VMSPAN_GC:
		code_span(r, t, c, writing, form, shape, before, s, n, &u->span);
		code_gc(r, c, writing, shape, &u->gc);
		break;
	case VMSPAN_BLOCK:
		code_span(r, t, c, writing, form, shape, before, s, n, &u->span);
		number(r, c, writing, KIND_PEER, shape, &u->block.peer);
		break;
	default:
		code_mark(r, t, c, writing, form, shape, before, s, n, &u->mark);
		break;
	}
}

CODE void code_raw(struct records_thread *t, struct coder *c, const bool writing, u64 shape,
		   union record *u)
{
	u32 words = (u32)(shape >> 8 & 0xff) * (VMSPAN_SLOT / 8), i;

	t->loose++;
	/* Of an event the shape does not tell the id. */
	for (i = (shape & 0xff) == VMSPAN_EVENT ? 0 : 1; i < words; i++) {
		if (writing)
			bits_put_word(&c->out, u->words[i]);
		else
			u->words[i] = bits_get_word(&c->in);
	}
}

CODE void record_done(struct records_thread *t, u64 shape)
{
	t->recent[1] = t->recent[0];
	t->recent[0] = shape;
}

/* Of a shape that was not the far guess. */
CODE void record_learn(struct records *r, struct records_thread *t, u64 *far, u16 *near, u64 shape)
{
	if (*far != shape) {
		*far = shape;
		shape_learn(near, shape_add(&r->shapes, shape));
	}
	record_done(t, shape);
}

/* Most of all records are spans like the one expected. False: this is none. */
CODE bool span_write(struct records *r, struct records_thread *t, struct coder *c,
		     const union record *u)
{
	const struct vmspan_span *span = &u->span;
	u64 shape = u->words[0];
	struct stay s;
	struct times n;

	if ((shape & 0xffff) != SPAN_SHAPE || shape != *shape_far(&r->shapes, t->recent) ||
	    !span_plain(span, t))
		return false;
	s = stay_of(t, shape, true);
	n = stay_times(&r->steps, t, &s, span->begin, span->end);
	if (!n.whole) {
		n = stay_rests(&r->steps, t, &s, span->begin, span->end);
		if (!times_ahead(&n))
			return false;
	}
	flag(c, true, n.whole);
	if (!n.whole)
		shape_put_far(&c->out);
	/* Nothing is stored through it while writing: it may be read only. */
	code_span(r, t, c, true, n.whole ? FORM_PLAIN : FORM_AHEAD, shape, t->recent[0], &s, &n,
		  (struct vmspan_span *)(uintptr_t)span);
	record_done(t, shape);
	return true;
}

/* Any record. The coder goes by value, or it could not stay in registers outside. */
CODE_RARE struct coder record_write(struct records *r, struct records_thread *t, struct coder c,
				    union record *u)
{
	u64 shape = head_shape(&u->h), before = t->recent[0];
	u64 *far = shape_far(&r->shapes, t->recent);
	u16 *near = shape_near(&r->shapes, t->recent);
	enum form form = FORM_RAW;
	struct times n = { 0 };
	struct stay s = { 0 };

	if (shape_coded(shape) && record_regular(u)) {
		s = stay_of(t, shape, false);
		n = record_times(r, t, &s, u);
		form = !record_plain(u, t, shape) ? FORM_MOVED
		       : n.whole                  ? FORM_PLAIN
		       : times_ahead(&n)          ? FORM_AHEAD
						  : FORM_MOVED;
	}
	flag(&c, true, form == FORM_PLAIN && shape == *far);
	if (form == FORM_AHEAD && shape == *far) {
		shape_put_far(&c.out);
	} else if (form != FORM_PLAIN || shape != *far) {
		shape_put(&r->shapes, &c.out, near, shape);
		if (shape_coded(shape))
			form_put(&c.out, form);
	}
	if (form == FORM_RAW)
		code_raw(t, &c, true, shape, u);
	else
		code_fields(r, t, &c, true, form, shape, before, &s, &n, u);
	record_learn(r, t, far, near, shape);
	return c;
}

size_t records_bound(u32 records, u32 bytes)
{
	/* A number may take 12 bytes: PLACE_STEP_MAX + 64 bits. One is told of
	 * 2 bytes at least, two of the 8 of a time. */
	return (size_t)bytes * 6 + (size_t)records * 64 + 16 + BITS_PAD;
}

u8 *records_write(struct records *r, struct records_thread *t, u8 *out, const void *data,
		  u32 records)
{
	struct coder c = { .out.at = out };
	const u8 *p = data;

	for (; records; records--) {
		const union record *u = (const void *)p;

		bits_store(&c.out);
		if (!span_write(r, t, &c, u))
			c = record_write(r, t, c, (union record *)u);
		p += u->h.slots * VMSPAN_SLOT;
	}
	return bits_end(&c.out);
}

static int record_read(struct records *r, struct records_thread *t, struct coder *c,
		       union record *u, u32 room, u32 *size)
{
	u64 before = t->recent[0], shape;
	u64 *far = shape_far(&r->shapes, t->recent);
	u16 *near = shape_near(&r->shapes, t->recent);
	enum form form = FORM_PLAIN;
	struct times n = { 0 };
	struct stay s;

	shape = *far;
	if (!flag(c, false, 0)) {
		form = FORM_AHEAD;
		if (!shape_get(&r->shapes, &c->in, near, &shape))
			form = shape_coded(shape) ? form_get(&c->in) : FORM_RAW;
	}
	if (form != FORM_RAW && !shape_coded(shape))
		return -EBADMSG;
	*size = (u32)(shape >> 8 & 0xff) * VMSPAN_SLOT;
	if (!*size || *size > room || c->in.bad)
		return -EBADMSG;
	if (form == FORM_PLAIN && (shape & 0xffff) == SPAN_SHAPE) {
		u->words[0] = shape;
		s = stay_of(t, shape, true);
		code_span(r, t, c, false, FORM_PLAIN, shape, before, &s, &n, &u->span);
	} else if (form != FORM_RAW) {
		memset(u, 0, *size);
		u->h = head_of(shape);
		s = stay_of(t, shape, false);
		code_fields(r, t, c, false, form, shape, before, &s, &n, u);
	} else {
		u->words[0] = shape;
		code_raw(t, c, false, shape, u);
		/* The words must agree with what they were announced as. */
		if (head_shape(&u->h) != shape)
			return -EBADMSG;
	}
	record_learn(r, t, far, near, shape);
	return c->in.bad ? -EBADMSG : 0;
}

int records_read(struct records *r, struct records_thread *t, const u8 *in, size_t len, void *data,
		 u32 size, u32 *records, u32 *bytes, size_t *used)
{
	struct coder c = { .in = { .data = in, .end = (u64)len * 8 } };
	bool turn = *records == RECORDS_TURN, more = *records;
	u32 count = 0, n;
	u8 *p = data;
	int rc;

	*bytes = 0;
	while (more) {
		rc = record_read(r, t, &c, (void *)(p + *bytes), size - *bytes, &n);
		if (rc)
			return rc;
		count++;
		more = turn ? p[*bytes] != VMSPAN_EVENT : count < *records;
		*bytes += n;
	}
	*records = count;
	*used = (size_t)((c.in.at + 7) / 8);
	return 0;
}
