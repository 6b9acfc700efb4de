/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Each function below serves both directions: `writing` is a constant where it
 * is inlined, so what is written and what is read cannot drift apart.
 */
#include "rec/records.h"
#include "model/item.h"

#include <string.h>

#define CODE static inline __attribute__((always_inline))

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
	KIND_LABEL,
	KIND_RECORDS,
	KIND_MONO_BEGIN,
	KIND_MONO_TIME,
	KIND_CPU_NS_BEGIN,
	KIND_CPU_NS_TIME,
	KIND_BYTES_BEFORE,
	KIND_BYTES_AFTER,
	KIND_PEER,
};

static u32 hash(u64 v, u32 size)
{
	return (u32)((v * 0x9e3779b97f4a7c15ull) >> 32) & (size - 1);
}

void records_reset(struct records *r, u64 mono_mult)
{
	memset(r, 0, offsetof(struct records, threads));
	r->mono_mult = mono_mult;
}

/* ------------------------------------------------------------- Threads -- */

static u16 *thread_slot(struct records *r, u32 pid, u32 tid, u64 registry, u32 thread)
{
	u32 size = ARRAY_SIZE(r->thread_at);
	u32 i = hash(((u64)tid << 32 | pid) ^ (registry << 8) ^ thread, size);

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
	u32 at = hash((where ^ where >> 29) * 32 + (u32)kind, RECORDS_PLACES);

	code_number(c, writing, &r->places[at], &r->kinds[kind], v);
}

/* A field that is expected to be `guess`. */
CODE void near(struct records *r, struct coder *c, const bool writing, enum kind kind, u64 guess,
	       u64 *v)
{
	u64 d = *v - guess;

	number(r, c, writing, kind, 0, &d);
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

CODE void number_u32(struct records *r, struct coder *c, const bool writing, enum kind kind,
		     u64 where, u32 *v)
{
	u64 wide = *v;

	number(r, c, writing, kind, where, &wide);
	if (!writing)
		*v = (u32)wide;
}

CODE u32 flag(struct coder *c, const bool writing, u32 v)
{
	if (writing)
		bits_put(&c->out, v, 1);
	else
		v = (u32)bits_get(&c->in, 1);
	return v;
}

/* -------------------------------------------------------------- Shapes -- */

/* The head of a record as one number, without an event's iteration. */
static u64 head_shape(const struct vmspan_head *h)
{
	return (u64)h->type | (u64)h->slots << 8 | (u64)h->depth << 16 |
	       (u64)(h->type == VMSPAN_EVENT ? 0 : h->id) << 32;
}

static struct vmspan_head head_of(u64 shape)
{
	return (struct vmspan_head){ (u8)shape, (u8)(shape >> 8), (u16)(shape >> 16),
				     (u32)(shape >> 32) };
}

/* Type and slots of the shape of every span. */
#define SPAN_SHAPE (VMSPAN_SPAN | 1u << 8)

static u16 *shape_slot(struct records *r, u64 shape)
{
	u32 size = ARRAY_SIZE(r->shape_at), i = hash(shape, size);

	while (r->shape_at[i] && r->shapes[r->shape_at[i] - 1] != shape)
		i = (i + 1) & (size - 1);
	return &r->shape_at[i];
}

/* What a record's head is expected to be, from the ones before it. */
struct guess {
	u64 *far;
	struct records_pair *near;
};

static struct guess guess_head(struct records *r, const struct records_thread *t)
{
	const u64 *p = t->recent;
	u64 near = p[0] * 31 + p[1], far = (near * 31 + p[2]) * 31 + p[3];

	return (struct guess){ &r->guess_far[hash(far, RECORDS_GUESSES)],
			       &r->guess_near[hash(near, RECORDS_GUESSES)] };
}

static void guess_learn(const struct guess *g, u64 shape)
{
	*g->far = shape;
	if (g->near->last == shape)
		return;
	g->near->other = g->near->last;
	g->near->last = shape;
}

/* How a shape is told that was not expected, or not with plain fields. */
enum {
	SHAPE_FAR,
	SHAPE_LAST,
	SHAPE_OTHER,
	SHAPE_LISTED,
	SHAPE_NEW, /* as SHAPE_LISTED, and a one */
};

static u32 shape_how(const struct guess *g, u64 shape, bool listed)
{
	return shape == *g->far          ? SHAPE_FAR
	       : shape == g->near->last  ? SHAPE_LAST
	       : shape == g->near->other ? SHAPE_OTHER
	       : listed                  ? SHAPE_LISTED
					 : SHAPE_NEW;
}

static void shape_list(struct records *r, u64 shape)
{
	u16 *slot = shape_slot(r, shape);

	if (*slot || r->shape_len == RECORDS_SHAPES)
		return;
	r->shapes[r->shape_len] = shape;
	*slot = (u16)++r->shape_len;
}

static void shape_write(struct records *r, struct coder *c, const struct guess *g, u64 shape)
{
	u16 slot = *shape_slot(r, shape);
	u32 how = shape_how(g, shape, slot);

	bits_put(&c->out, how < SHAPE_LISTED ? how : SHAPE_LISTED, 2);
	if (how < SHAPE_LISTED)
		return;
	bits_put(&c->out, how == SHAPE_NEW, 1);
	if (how == SHAPE_LISTED) {
		bits_put(&c->out, slot - 1u, bit_length(r->shape_len));
		return;
	}
	bits_put_word(&c->out, shape);
	shape_list(r, shape);
}

static u64 shape_read(struct records *r, struct coder *c, const struct guess *g)
{
	u64 at, shape;

	switch (bits_get(&c->in, 2)) {
	case SHAPE_FAR:
		return *g->far;
	case SHAPE_LAST:
		return g->near->last;
	case SHAPE_OTHER:
		return g->near->other;
	}
	if (bits_get(&c->in, 1)) {
		shape = bits_get_word(&c->in);
		shape_list(r, shape);
		return shape;
	}
	at = bits_get(&c->in, bit_length(r->shape_len));
	if (at < r->shape_len)
		return r->shapes[at];
	c->in.bad = true;
	return 0;
}

/* ------------------------------------------------------------- Nesting -- */

/* Spans at depth d lie inside events that began at depth d. */
static u32 level_of(u64 shape)
{
	u32 depth = (u32)(shape >> 16) & VMSPAN_DEPTH_MASK, type = (u32)(shape & 0xff);

	return depth * 2 + (type != VMSPAN_EVENT);
}

/*
 * What has completed above `level` since lies inside the record that completes
 * now: true, and where the first of it began. From then on the record stands
 * for them.
 */
static bool nest_children(struct records_thread *t, u32 level, u64 *first)
{
	bool any = false;

	while (t->open_len && t->open[t->open_len - 1].level > level) {
		*first = t->open[--t->open_len].begin;
		any = true;
	}
	return any;
}

static void nest_done(struct records_thread *t, u32 level, u64 begin)
{
	if (t->open_len && t->open[t->open_len - 1].level == level)
		return;
	if (t->open_len == RECORDS_OPEN)
		t->open_len = 0;
	t->open[t->open_len++] = (struct records_open){ level, begin };
}

/* --------------------------------------------------------------- Times -- */

CODE void code_stay(struct records *r, struct records_thread *t, struct coder *c,
		    const bool writing, u64 shape, u64 before, u64 *begin, u64 *end)
{
	u32 level = level_of(shape);
	/* Next to the one before it: nothing lies inside. */
	bool beside = t->open_len && t->open[t->open_len - 1].level == level, parent;
	u64 first = 0, where = shape + before * 7, v;

	parent = !beside && nest_children(t, level, &first);
	v = parent ? first - *begin : *begin - t->end;
	number(r, c, writing, parent ? KIND_PARENT_HEAD : KIND_LEAF_GAP, where, &v);
	if (!writing)
		*begin = parent ? first - v : t->end + v;
	v = *end - (parent ? t->end : *begin);
	number(r, c, writing, parent ? KIND_PARENT_TAIL : KIND_LEAF_TIME, where, &v);
	if (!writing)
		*end = v + (parent ? t->end : *begin);
	t->end = *end;
	if (!beside)
		nest_done(t, level, *begin);
}

CODE void code_span(struct records *r, struct records_thread *t, struct coder *c,
		    const bool writing, bool plain, u64 shape, u64 before, struct vmspan_span *s)
{
	code_stay(r, t, c, writing, shape, before, &s->begin, &s->end);
	if (plain) {
		if (!writing) {
			s->cpu_begin = s->cpu_end = t->cpu;
			s->iteration = t->iteration;
		}
		return;
	}
	near_u16(r, c, writing, KIND_CPU_BEGIN, t->cpu, &s->cpu_begin);
	near_u16(r, c, writing, KIND_CPU_END, s->cpu_begin, &s->cpu_end);
	near_u32(r, c, writing, KIND_ITERATION, t->iteration, &s->iteration);
	t->cpu = s->cpu_end;
	t->iteration = s->iteration;
}

CODE void code_gc(struct records *r, struct coder *c, const bool writing, u64 shape,
		  struct vmspan_gc *g)
{
	number(r, c, writing, KIND_BYTES_BEFORE, shape, &g->bytes_before);
	number(r, c, writing, KIND_BYTES_AFTER, shape, &g->bytes_after);
}

CODE void code_mark(struct records *r, struct records_thread *t, struct coder *c,
		    const bool writing, bool plain, u64 shape, u64 before, struct vmspan_mark *m)
{
	u32 level = level_of(shape);
	u64 v = m->time - t->end, first;

	number(r, c, writing, KIND_MARK_GAP, shape + before * 7, &v);
	t->end += v;
	nest_children(t, level, &first);
	nest_done(t, level, t->end);
	if (!writing)
		m->time = t->end;
	v = (u64)m->value;
	number(r, c, writing, KIND_MARK_VALUE, shape, &v);
	if (!writing)
		m->value = (s64)v;
	if (plain) {
		if (!writing) {
			m->cpu = t->cpu;
			m->iteration = t->iteration;
		}
		return;
	}
	near_u16(r, c, writing, KIND_CPU_BEGIN, t->cpu, &m->cpu);
	near_u32(r, c, writing, KIND_ITERATION, t->iteration, &m->iteration);
	t->cpu = m->cpu;
	t->iteration = m->iteration;
}

static u64 cycles_ns(const struct records *r, u64 cycles)
{
	return (u64)(((__int128)(s64)cycles * r->mono_mult) >> 32);
}

CODE void code_event(struct records *r, struct records_thread *t, struct coder *c,
		     const bool writing, bool plain, u64 shape, u64 before, struct vmspan_event *e)
{
	u64 time;

	if (plain && !writing) {
		e->h.id = t->iteration;
		e->cpu_begin = e->cpu_end = t->cpu;
	} else if (!plain) {
		near_u32(r, c, writing, KIND_ITERATION, t->iteration, &e->h.id);
		near_u16(r, c, writing, KIND_CPU_BEGIN, t->cpu, &e->cpu_begin);
		near_u16(r, c, writing, KIND_CPU_END, e->cpu_begin, &e->cpu_end);
		near_u32(r, c, writing, KIND_PARENT, 0, &e->parent);
	}
	number_u32(r, c, writing, KIND_LABEL, before, &e->label);
	near_u32(r, c, writing, KIND_RECORDS, t->since, &e->records);
	code_stay(r, t, c, writing, shape, before, &e->begin, &e->end);
	near(r, c, writing, KIND_MONO_BEGIN, t->mono + cycles_ns(r, e->begin - t->mono_cycles),
	     &e->mono_begin);
	time = e->mono_begin + cycles_ns(r, e->end - e->begin);
	near(r, c, writing, KIND_MONO_TIME, time, &e->mono_end);
	near(r, c, writing, KIND_CPU_NS_BEGIN, t->cpu_ns, &e->cpu_ns_begin);
	time = e->cpu_ns_begin + (e->mono_end - e->mono_begin);
	near(r, c, writing, KIND_CPU_NS_TIME, time, &e->cpu_ns_end);
	t->cpu = e->cpu_end;
	t->mono = e->mono_end;
	t->mono_cycles = e->end;
	t->cpu_ns = e->cpu_ns_end;
	t->since = UINT32_MAX; /* the count below makes it 0 */
	if (e->h.id > t->iteration_last)
		t->iteration_last = e->h.id;
	t->iteration = e->parent ? e->parent : t->iteration_last + 1;
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

/* Does it run where and in what the thread's last one ran? */
static bool record_plain(const union record *u, const struct records_thread *t)
{
	switch (u->h.type) {
	case VMSPAN_EVENT:
		return u->event.cpu_begin == t->cpu && u->event.cpu_end == t->cpu &&
		       u->h.id == t->iteration && !u->event.parent;
	case VMSPAN_INPUT:
	case VMSPAN_FRAME:
	case VMSPAN_VALUE:
		return u->mark.cpu == t->cpu && u->mark.iteration == t->iteration;
	}
	return span_plain(&u->span, t);
}

CODE void code_fields(struct records *r, struct records_thread *t, struct coder *c,
		      const bool writing, bool plain, u64 shape, u64 before, union record *u)
{
	switch (shape & 0xff) {
	case VMSPAN_SPAN:
		code_span(r, t, c, writing, plain, shape, before, &u->span);
		break;
	case VMSPAN_EVENT:
		code_event(r, t, c, writing, plain, shape, before, &u->event);
		break;
	case VMSPAN_GC:
		code_span(r, t, c, writing, plain, shape, before, &u->span);
		code_gc(r, c, writing, shape, &u->gc);
		break;
	case VMSPAN_BLOCK:
		code_span(r, t, c, writing, plain, shape, before, &u->span);
		number(r, c, writing, KIND_PEER, shape, &u->block.peer);
		break;
	default:
		code_mark(r, t, c, writing, plain, shape, before, &u->mark);
		break;
	}
}

CODE void code_raw(struct coder *c, const bool writing, u64 shape, union record *u)
{
	u32 words = (u32)(shape >> 8 & 0xff) * (VMSPAN_SLOT / 8), i;

	/* Of an event the shape does not tell the id. */
	for (i = (shape & 0xff) == VMSPAN_EVENT ? 0 : 1; i < words; i++) {
		if (writing)
			bits_put_word(&c->out, u->words[i]);
		else
			u->words[i] = bits_get_word(&c->in);
	}
}

static void record_done(struct records_thread *t, const struct guess *g, u64 shape)
{
	guess_learn(g, shape);
	t->recent[3] = t->recent[2];
	t->recent[2] = t->recent[1];
	t->recent[1] = t->recent[0];
	t->recent[0] = shape;
	t->since++;
}

/* Spans are most of all there is: for them `span` is a constant. */
CODE void record_code(struct records *r, struct records_thread *t, struct coder *c,
		      const union record *u, u64 shape, const bool span)
{
	u64 before = t->recent[0];
	struct guess g = guess_head(r, t);
	bool coded = span || (shape_coded(shape) && record_regular(u));
	bool plain = coded && (span ? span_plain(&u->span, t) : record_plain(u, t));
	bool expected = shape == *g.far && plain;

	flag(c, true, expected);
	if (!expected) {
		shape_write(r, c, &g, shape);
		if (shape_coded(shape)) {
			flag(c, true, plain);
			if (!plain)
				flag(c, true, coded);
		}
	}
	/* Nothing is stored through it while writing: it may be read only. */
	if (span)
		code_span(r, t, c, true, plain, shape, before, (struct vmspan_span *)&u->span);
	else if (coded)
		code_fields(r, t, c, true, plain, shape, before, (union record *)u);
	else
		code_raw(c, true, shape, (union record *)u);
	record_done(t, &g, shape);
}

static void record_write(struct records *r, struct records_thread *t, struct coder *c,
			 const union record *u)
{
	u64 shape = head_shape(&u->h);

	if ((shape & 0xffff) == SPAN_SHAPE)
		record_code(r, t, c, u, shape, true);
	else
		record_code(r, t, c, u, shape, false);
}

size_t records_bound(u32 records, u32 bytes)
{
	/* A field of 2 bytes may take 11: PLACE_STEP_MAX + 64 bits. */
	return (size_t)bytes * 3 + (size_t)records * 64 + 16 + BITS_PAD;
}

u8 *records_write(struct records *r, struct records_thread *t, u8 *out, const void *data,
		  u32 records)
{
	struct coder c = { .out.at = out };
	const u8 *p = data;

	for (; records; records--) {
		const union record *u = (const void *)p;

		record_write(r, t, &c, u);
		p += u->h.slots * VMSPAN_SLOT;
	}
	return bits_end(&c.out);
}

static int record_read(struct records *r, struct records_thread *t, struct coder *c,
		       union record *u, u32 room, u32 *size)
{
	u64 before = t->recent[0], shape;
	struct guess g = guess_head(r, t);
	bool coded = true, plain = true;

	shape = *g.far;
	if (!flag(c, false, 0)) {
		shape = shape_read(r, c, &g);
		coded = shape_coded(shape);
		if (coded) {
			plain = flag(c, false, 0);
			if (!plain)
				coded = flag(c, false, 0);
		}
	} else if (!shape_coded(shape)) {
		return -EBADMSG;
	}
	*size = (u32)(shape >> 8 & 0xff) * VMSPAN_SLOT;
	if (!*size || *size > room || c->in.bad)
		return -EBADMSG;
	if (coded && (shape & 0xffff) == SPAN_SHAPE) {
		u->h = head_of(shape);
		code_span(r, t, c, false, plain, shape, before, &u->span);
	} else if (coded) {
		memset(u, 0, *size);
		u->h = head_of(shape);
		code_fields(r, t, c, false, plain, shape, before, u);
	} else {
		u->words[0] = shape;
		code_raw(c, false, shape, u);
		/* The words must agree with what they were announced as. */
		if (head_shape(&u->h) != shape)
			return -EBADMSG;
	}
	record_done(t, &g, shape);
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
