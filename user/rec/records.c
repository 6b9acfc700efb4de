/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Each function below serves both directions: `writing` is a constant where it
 * is inlined, so what is written and what is read cannot drift apart.
 */
#include "rec/nest.h"
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

CODE void number(struct records *r, struct coder *c, const bool writing, enum kind kind, u64 where,
		 u64 *v)
{
	u32 at = shape_hash((where ^ where >> 29) * 32 + (u32)kind, RECORDS_PLACES);

	code_number(c, writing, &r->places[at], &r->kinds[kind], v);
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

/* What tells the times of a record, in steps. */
struct times {
	u64 v[2];
	s64 rest[2]; /* in cycles; only unless `whole` */
	bool whole;
};

CODE struct times times_of(const struct steps *steps, u64 a, u64 b)
{
	struct times n = { 0 };
	bool first = steps_whole(steps, a, &n.v[0]);

	n.whole = steps_whole(steps, b, &n.v[1]) && first;
	if (!n.whole) {
		n.rest[0] = steps_nearest(steps, a, &n.v[0]);
		n.rest[1] = steps_nearest(steps, b, &n.v[1]);
	}
	return n;
}

CODE struct times stay_times(const struct records *r, const struct records_thread *t,
			     const struct stay *s, u64 begin, u64 end)
{
	return s->parent ? times_of(&r->steps, s->first - begin, end - t->end)
			 : times_of(&r->steps, begin - t->end, end - begin);
}

/* Of `count` times; `plain`: it is known that they are whole. */
CODE void code_rests(struct records *r, struct coder *c, const bool writing, bool plain, u64 where,
		     struct times *n, u32 count)
{
	u32 i;

	if (plain || flag(c, writing, writing && n->whole)) {
		n->rest[0] = n->rest[1] = 0;
		return;
	}
	for (i = 0; i < count; i++) {
		u64 v = writing ? (u64)n->rest[i] : 0;

		number_rare(r, c, writing, KIND_REST, where, &v);
		n->rest[i] = (s64)v;
	}
}

CODE void code_stay(struct records *r, struct records_thread *t, struct coder *c,
		    const bool writing, bool plain, u64 shape, u64 before, const struct stay *s,
		    struct times *n, u64 *begin, u64 *end)
{
	u64 where = shape + before * 7, from, to;
	bool event = (shape & 0xff) == VMSPAN_EVENT;

	number(r, c, writing, s->parent ? KIND_PARENT_HEAD : KIND_LEAF_GAP, where, &n->v[0]);
	number(r, c, writing, s->parent ? KIND_PARENT_TAIL : KIND_LEAF_TIME, where, &n->v[1]);
	code_rests(r, c, writing, plain, event, n, 2);
	if (writing && !event) {
		stay_done(t, s, *begin, *end);
		return;
	}
	from = r->steps.step * n->v[0];
	from = s->parent ? s->first - from : t->end + from;
	to = r->steps.step * n->v[1];
	if (!writing) {
		*begin = s->parent ? from - (u64)n->rest[0] : from + (u64)n->rest[0];
		*end = to + (u64)n->rest[1] + (s->parent ? t->end : *begin);
	}
	/*
	 * An event's readings come right behind others. The counter never
	 * stands still between two, so some are a cycle ahead of their step, and
	 * what follows is not. Other records' rests say that it is another
	 * CPU's counter.
	 */
	if (event)
		stay_done(t, s, from, to + (s->parent ? t->end : from));
	else
		stay_done(t, s, *begin, *end);
}

/* ------------------------------------------------------------- Records -- */

union record {
	struct vmspan_head h;
	struct vmspan_span span;
	struct vmspan_event event;
	struct vmspan_gc gc;
	struct vmspan_block block;
	struct vmspan_mark mark;
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
		    const bool writing, bool plain, u64 shape, u64 before, const struct stay *s,
		    struct times *n, struct vmspan_span *v)
{
	code_stay(r, t, c, writing, plain, shape, before, s, n, &v->begin, &v->end);
	if (!plain) {
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
		    const bool writing, bool plain, u64 shape, u64 before, const struct stay *s,
		    struct times *n, struct vmspan_mark *m)
{
	u64 v = (u64)m->value;

	number(r, c, writing, KIND_MARK_GAP, shape + before * 7, &n->v[0]);
	code_rests(r, c, writing, plain, 0, n, 1);
	if (!plain || (shape & 0xff) == VMSPAN_VALUE)
		number(r, c, writing, KIND_MARK_VALUE, shape, &v);
	if (!writing) {
		m->time = t->end + r->steps.step * n->v[0] + (u64)n->rest[0];
		m->value = (s64)v;
	}
	stay_done(t, s, m->time, m->time);
	if (!plain) {
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
		     const bool writing, bool plain, u64 shape, u64 before, const struct stay *s,
		     struct times *n, struct vmspan_event *e)
{
	u64 gap;

	if (!plain) {
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
	code_stay(r, t, c, writing, plain, shape, before, s, n, &e->begin, &e->end);
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
		return !(u->event.reserved[0] | u->event.reserved[1] | u->event.reserved[2]);
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
	switch (u->h.type) {
	case VMSPAN_EVENT:
		return stay_times(r, t, s, u->event.begin, u->event.end);
	case VMSPAN_INPUT:
	case VMSPAN_FRAME:
	case VMSPAN_VALUE:
		return times_of(&r->steps, u->mark.time - t->end, 0);
	}
	return stay_times(r, t, s, u->span.begin, u->span.end);
}

CODE void code_fields(struct records *r, struct records_thread *t, struct coder *c,
		      const bool writing, bool plain, u64 shape, u64 before, const struct stay *s,
		      struct times *n, union record *u)
{
	switch (shape & 0xff) {
	case VMSPAN_SPAN:
		code_span(r, t, c, writing, plain, shape, before, s, n, &u->span);
		break;
	case VMSPAN_EVENT:
		code_event(r, t, c, writing, plain, shape, before, s, n, &u->event);
		break;
	case VMSPAN_GC:
		code_span(r, t, c, writing, plain, shape, before, s, n, &u->span);
		code_gc(r, c, writing, shape, &u->gc);
		break;
	case VMSPAN_BLOCK:
		code_span(r, t, c, writing, plain, shape, before, s, n, &u->span);
		number(r, c, writing, KIND_PEER, shape, &u->block.peer);
		break;
	default:
		code_mark(r, t, c, writing, plain, shape, before, s, n, &u->mark);
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

CODE void record_done(struct records *r, struct records_thread *t, const struct guess *g, u64 shape,
		      bool far)
{
	if (!far)
		shape_learn(g, shape_add(&r->shapes, shape));
	t->recent[1] = t->recent[0];
	t->recent[0] = shape;
}

/* Spans are most of all there is: for them `span` is a constant. */
CODE void record_code(struct records *r, struct records_thread *t, struct coder *c,
		      const union record *u, u64 shape, const bool span)
{
	u64 before = t->recent[0];
	struct guess g = shape_guess(&r->shapes, t->recent);
	bool coded = span || (shape_coded(shape) && record_regular(u)), plain = false, expected;
	bool far = shape == shape_far(&r->shapes, &g);
	struct stay s;
	struct times n;

	if (span) {
		s = stay_of(t, shape, true);
		n = stay_times(r, t, &s, u->span.begin, u->span.end);
		plain = n.whole && span_plain(&u->span, t);
	} else if (coded) {
		s = stay_of(t, shape, false);
		n = record_times(r, t, &s, u);
		plain = n.whole && record_plain(u, t, shape);
	}
	expected = plain && far;
	flag(c, true, expected);
	if (!expected) {
		shape_put(&r->shapes, &c->out, &g, shape);
		if (shape_coded(shape)) {
			flag(c, true, plain);
			if (!plain)
				flag(c, true, coded);
		}
	}
	/* Nothing is stored through it while writing: it may be read only. */
	if (span)
		code_span(r, t, c, true, plain, shape, before, &s, &n,
			  (struct vmspan_span *)&u->span);
	else if (coded)
		code_fields(r, t, c, true, plain, shape, before, &s, &n, (union record *)u);
	else
		code_raw(t, c, true, shape, (union record *)u);
	record_done(r, t, &g, shape, far);
}

CODE_RARE void record_write_other(struct records *r, struct records_thread *t, struct coder *c,
				  const union record *u, u64 shape)
{
	record_code(r, t, c, u, shape, false);
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
		u64 shape = head_shape(&u->h);

		if ((shape & 0xffff) == SPAN_SHAPE)
			record_code(r, t, &c, u, shape, true);
		else
			record_write_other(r, t, &c, u, shape);
		p += u->h.slots * VMSPAN_SLOT;
	}
	return bits_end(&c.out);
}

static int record_read(struct records *r, struct records_thread *t, struct coder *c,
		       union record *u, u32 room, u32 *size)
{
	u64 before = t->recent[0], shape;
	struct guess g = shape_guess(&r->shapes, t->recent);
	bool expected = flag(c, false, 0), plain = expected, coded;
	struct stay s;
	struct times n;

	shape = expected ? shape_far(&r->shapes, &g) : shape_get(&r->shapes, &c->in, &g);
	coded = shape_coded(shape);
	if (expected && !coded)
		return -EBADMSG;
	if (coded && !expected) {
		plain = flag(c, false, 0);
		if (!plain)
			coded = flag(c, false, 0);
	}
	*size = (u32)(shape >> 8 & 0xff) * VMSPAN_SLOT;
	if (!*size || *size > room || c->in.bad)
		return -EBADMSG;
	if (coded && (shape & 0xffff) == SPAN_SHAPE) {
		u->h = head_of(shape);
		s = stay_of(t, shape, true);
		code_span(r, t, c, false, plain, shape, before, &s, &n, &u->span);
	} else if (coded) {
		memset(u, 0, *size);
		u->h = head_of(shape);
		s = stay_of(t, shape, false);
		code_fields(r, t, c, false, plain, shape, before, &s, &n, u);
	} else {
		u->words[0] = shape;
		code_raw(t, c, false, shape, u);
		/* The words must agree with what they were announced as. */
		if (head_shape(&u->h) != shape)
			return -EBADMSG;
	}
	record_done(r, t, &g, shape, expected || shape == shape_far(&r->shapes, &g));
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
