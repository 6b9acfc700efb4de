/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/marks.h"

#include "base/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void marks_init(struct marks *m, marks_ns_fn ns, void *ctx)
{
	memset(m, 0, sizeof(*m));
	m->ns = ns;
	m->ns_ctx = ctx;
	m->cpu = UINT16_MAX;
	m->known = UINT64_MAX;
}

void marks_free(struct marks *m)
{
	buf_free(&m->out);
	free(m->open);
	free(m->event);
}

int marks_fork(struct marks *to, const struct marks *from)
{
	*to = *from;
	memset(&to->out, 0, sizeof(to->out));
	to->open = NULL;
	to->event = NULL;
	to->open_max = to->event_max = 0;
	if (array_room(to->open, to->open_max, from->depth) ||
	    array_room(to->event, to->event_max, from->events) ||
	    (from->out.len && buf_put(&to->out, from->out.data, from->out.len))) {
		marks_free(to);
		return -ENOMEM;
	}
	if (from->depth)
		memcpy(to->open, from->open, from->depth * sizeof(*to->open));
	if (from->events)
		memcpy(to->event, from->event, from->events * sizeof(*to->event));
	return 0;
}

void marks_taken(struct marks *m)
{
	m->seq += m->records;
	m->records = 0;
	m->out.len = 0;
	m->outside_taken |= m->outside;
	m->outside = false;
}

/* Zeroes for a record; NULL: no memory. */
static void *record(struct marks *m, u8 type, u32 slots)
{
	size_t bytes = slots * (size_t)VMSPAN_SLOT;
	struct vmspan_head *h = (void *)buf_space(&m->out, bytes);

	if (!h)
		return NULL;
	memset(h, 0, bytes);
	m->out.len += bytes;
	h->type = type;
	h->slots = (u8)slots;
	m->records++;
	return h;
}

static struct marks_event *event_now(struct marks *m)
{
	return m->events ? &m->event[m->events - 1] : NULL;
}

/* Marks do not reach below the event that they are in. */
static u32 base_of(struct marks *m)
{
	return m->events ? event_now(m)->base : 0;
}

static u32 iteration_of(struct marks *m)
{
	return m->events ? event_now(m)->iteration : 0;
}

static struct marks_open *top(struct marks *m)
{
	return m->depth > base_of(m) && !m->too_deep_open ? &m->open[m->depth - 1] : NULL;
}

/* ---- Stays ---- */

static int push(struct marks *m, u32 id, u32 label, u64 value)
{
	if (m->depth == VMSPAN_DEPTH_MAX) {
		m->too_deep_open++;
		m->too_deep++;
		return 0;
	}
	if (array_room(m->open, m->open_max, m->depth + 1))
		return -ENOMEM;
	m->open[m->depth++] = (struct marks_open){
		.begin = m->last, .id = id, .label = label, .value = value, .cpu = m->cpu
	};
	return 0;
}

/* Ends the innermost stay. */
static int pop(struct marks *m, u64 value, u32 flags)
{
	const struct marks_open *o = &m->open[--m->depth]; /* stays where it is */
	u8 type = o->id == VMSPAN_ID_GC      ? VMSPAN_GC
		  : o->id == VMSPAN_ID_BLOCK ? VMSPAN_BLOCK
					     : VMSPAN_SPAN;
	struct vmspan_span *s = record(m, type, type == VMSPAN_SPAN ? 1 : 2);

	if (!s)
		return -ENOMEM;
	s->h.depth = (u16)(m->depth | flags | (o->lacks ? VMSPAN_F_LACKS : 0));
	s->h.id = type == VMSPAN_SPAN ? o->id : o->label;
	s->begin = o->begin;
	s->end = m->last;
	s->cpu_begin = o->cpu;
	s->cpu_end = m->cpu;
	s->iteration = iteration_of(m);
	if (type == VMSPAN_GC) {
		((struct vmspan_gc *)s)->bytes_before = o->value;
		((struct vmspan_gc *)s)->bytes_after = value;
	} else if (type == VMSPAN_BLOCK) {
		((struct vmspan_block *)s)->peer = o->value;
	}
	m->repaired += flags & VMSPAN_F_REPAIRED ? 1 : 0;
	m->outside |= type == VMSPAN_SPAN && !m->events;
	return 0;
}

/* Ends what was never left above `depth`. */
static int unwind(struct marks *m, u32 depth)
{
	int e = 0;

	while (!e && m->depth > depth)
		e = pop(m, 0, VMSPAN_F_REPAIRED);
	return e;
}

static int enter(struct marks *m, u32 id)
{
	struct marks_open *o = top(m);

	if (!o || o->id != id)
		return push(m, id, 0, 0);
	o->reentered++;
	return 0;
}

/*
 * What lies above the newest stay of `id` in this event was left without a mark
 * (an exception, a longjmp).
 */
static int leave(struct marks *m, u32 id, u64 value)
{
	struct marks_open *o = top(m);
	u32 base = base_of(m), d = m->depth;
	int e;

	if (!o || o->id != id) {
		/* Those that were open when the event began are not this event's to close. */
		if (m->too_deep_open > (m->events ? event_now(m)->too_deep_open : 0)) {
			m->too_deep_open--;
			return 0;
		}
		while (d > base && m->open[d - 1].id != id)
			d--;
		if (d <= base) {
			/* At the bottom of what is known it may be that of an enter from
			 * before the trace: no sign of anything wrong. */
			m->unmatched += (m->depth || m->events) && !m->doubtful;
			return 0;
		}
		e = unwind(m, d);
		if (e)
			return e;
		o = &m->open[d - 1];
	}
	if (o->reentered) {
		o->reentered--;
		return 0;
	}
	return pop(m, value, 0);
}

/* ---- Events ---- */

/* The CPU time of the thread, now. Since its clock was told it has had its CPU all the time, as far as
 * is known. */
static u64 cpu_ns(const struct marks *m, u64 mono)
{
	return m->cpu_known ? m->switch_cpu_ns + mono - m->switch_mono : mono;
}

/* How long it was told before: unseen, the thread may have had no CPU meanwhile. */
static u64 unread_ns(const struct marks *m, u64 mono)
{
	return m->cpu_known ? mono - min_u64(mono, m->switch_mono) : UINT64_MAX / 2;
}

static int event_begin(struct marks *m, u32 label)
{
	struct marks_event *v;

	m->unplaced = false;
	if (m->events == VMSPAN_EVENT_MAX) {
		m->events_over++;
		m->too_deep++;
		return 0;
	}
	if (array_room(m->event, m->event_max, m->events + 1))
		return -ENOMEM;
	v = &m->event[m->events++];
	*v = (struct marks_event){
		.begin = m->last,
		.mono = m->ns(m->ns_ctx, m->last),
		.first = m->seq + m->records,
		.iteration = ++m->iteration_last,
		.label = label,
		.base = m->depth,
		.too_deep_open = m->too_deep_open,
		.cpu = m->cpu,
	};
	v->cpu_ns = cpu_ns(m, v->mono);
	v->unread_ns = unread_ns(m, v->mono);
	v->away_ns = m->away_ns;
	m->begun = true;
	return 0;
}

/* So much the two clocks may differ by in an event without a switch: their readings, interrupts. */
#define UNTOLD_NS 100000

/* Is all told of when the thread had no CPU in this event? */
static bool told(const struct marks *m, const struct marks_event *v, u64 wall, u64 cpu)
{
	u64 away = m->away_ns - v->away_ns;

	return m->known <= v->begin && wall <= cpu + away + UNTOLD_NS + wall / 100;
}

/* Its CPU time may be off by what its clock was unread for at its ends, and that by more than a hundredth. */
static u32 coarse(u64 wall, u64 unread_begin, u64 unread_end)
{
	if (unread_begin + unread_end <= wall / 100)
		return 0;
	return VMSPAN_F_COARSE |
	       (max_u64(unread_begin, unread_end) <= VMSPAN_UNREAD_NS ? VMSPAN_F_UNREAD : 0);
}

/* So many events in each other nobody has begun: who ends more never began them. */
#define EVENTS_MOST 256

/* Of what has been made and not been taken only the points stay. */
static void keep_points(struct marks *m)
{
	u8 *from = m->out.data, *to = from, *end = from + m->out.len;
	u32 bytes;

	m->records = 0;
	for (; from < end; from += bytes) {
		const struct vmspan_head *h = (const void *)from;

		bytes = h->slots * (u32)VMSPAN_SLOT;
		if (h->type != VMSPAN_INPUT && h->type != VMSPAN_FRAME && h->type != VMSPAN_VALUE)
			continue;
		memmove(to, from, bytes);
		to += bytes;
		m->records++;
	}
	m->out.len = (size_t)(to - m->out.data);
}

/* The end of an event from before the trace. Stays in it are its, and it is in no figure. */
static void ended_unbegun(struct marks *m)
{
	if (m->gapped || m->begun_before == EVENTS_MOST)
		return;
	m->begun_before++;
	m->begun_before_end = m->last;
	m->misplaced += m->outside_taken || (m->outside && !m->unplaced);
	if (m->unplaced) {
		keep_points(m);
		m->depth = m->too_deep_open = 0;
	}
	m->unplaced = m->outside = m->outside_taken = false;
}

/* `cpu` is the thread's clock at the end, told `unread` ns before. */
static int event_end(struct marks *m, u64 cpu, u64 unread)
{
	struct marks_event *v = event_now(m);
	struct vmspan_event *r;
	u64 wall;
	int e;

	if (m->events_over) {
		m->events_over--;
		return 0;
	}
	if (!v) {
		ended_unbegun(m);
		return 0;
	}
	e = unwind(m, v->base);
	if (e)
		return e;
	m->too_deep_open = v->too_deep_open;
	m->events--;
	r = record(m, VMSPAN_EVENT, sizeof(*r) / VMSPAN_SLOT);
	if (!r)
		return -ENOMEM;
	r->h.depth = (u16)(v->base | (v->lacks ? VMSPAN_F_LACKS : 0));
	r->h.id = v->iteration;
	r->begin = v->begin;
	r->end = m->last;
	r->mono_begin = v->mono;
	r->mono_end = m->ns(m->ns_ctx, m->last);
	r->cpu_ns_begin = v->cpu_ns;
	r->cpu_ns_end = max_u64(cpu, v->cpu_ns);
	wall = r->mono_end - r->mono_begin;
	cpu = r->cpu_ns_end - r->cpu_ns_begin;
	if (told(m, v, wall, cpu))
		r->h.depth |= VMSPAN_F_SWITCHES;
	else
		r->h.depth |= coarse(wall, v->unread_ns, unread);
	r->cpu_begin = v->cpu;
	r->cpu_end = m->cpu;
	r->parent = iteration_of(m);
	r->label = v->label;
	r->records = (u32)(m->seq + m->records - 1 - v->first);
	return 0;
}

/* The same without a word of its clock. */
static int event_end_unread(struct marks *m)
{
	u64 mono = m->ns(m->ns_ctx, m->last);

	return event_end(m, cpu_ns(m, mono), unread_ns(m, mono));
}

/* What the thread was in is over, but for so many events, the outermost ones. */
static int unwind_events(struct marks *m, u32 keep)
{
	int e = 0;

	m->events_over = (u32)min_u64(m->events_over, keep - min_u64(keep, m->events));
	while (!e && m->events > keep)
		e = event_end_unread(m);
	if (keep)
		return e;
	m->too_deep_open = 0;
	m->doubtful = false;
	e = e ? e : unwind(m, 0);
	/* An end of one from before comes no more. */
	m->unplaced = m->outside = m->outside_taken = false;
	return e;
}

/* ---- Marks ---- */

static int point(struct marks *m, u8 type, u32 label, u64 value)
{
	struct vmspan_point *p = record(m, type, 1);

	if (!p)
		return -ENOMEM;
	p->h.depth = (u16)m->depth;
	p->h.id = label;
	p->time = m->last;
	p->value = (vmspan_i64)value;
	p->cpu = m->cpu;
	p->iteration = iteration_of(m);
	return 0;
}

/* No thread loses its CPU for less; an interrupt may take as much, and the two clocks may
 * differ by it. */
#define AWAY_LEAST_NS 1000

/* Between the mark before and this one the thread had no CPU for `ns`, of `all` since the last
 * switch. */
static int away(struct marks *m, u16 cpu, u64 ns, u64 all)
{
	u64 cycles = (u64)((double)(m->last - m->switch_cycles) * ((double)ns / (double)all));
	struct vmspan_span *s = record(m, VMSPAN_AWAY, 1);

	if (!s)
		return -ENOMEM;
	/* More than there is room for: of some of it nobody knows where it was. */
	if (cycles > m->last - m->before) {
		cycles = m->last - m->before;
		m->known = m->last;
	}
	s->h.depth = (u16)m->depth;
	s->begin = m->last - cycles;
	s->end = m->last;
	s->cpu_begin = m->cpu;
	s->cpu_end = cpu;
	s->iteration = iteration_of(m);
	m->away_ns += ns;
	return 0;
}

/* The thread's clock, as of the newest mark. */
static void clock_told(struct marks *m, u64 mono, u64 ns)
{
	m->switch_cycles = m->last;
	m->switch_mono = mono;
	m->switch_cpu_ns = ns;
	m->cpu_known = true;
}

/* A switch right behind an event's begin: as much was had by then at most, and so much less as may have been had
 * since. */
static void begun_before(const struct marks *m, struct marks_event *v, u64 mono, u64 ns)
{
	if (!m->cpu_known)
		v->cpu_ns = ns;
	else if (ns >= m->switch_cpu_ns)
		v->cpu_ns = min_u64(v->cpu_ns, ns);
	v->unread_ns = min_u64(v->unread_ns, mono - min_u64(mono, v->mono));
}

static int switched(struct marks *m, u32 cpu, u64 ns, bool begun)
{
	u64 mono = m->ns(m->ns_ctx, m->last), wall = mono - m->switch_mono;
	u64 on = ns - min_u64(ns, m->switch_cpu_ns);
	int e = 0;

	if (begun)
		begun_before(m, event_now(m), mono, ns);
	if (m->known != UINT64_MAX && mono > m->switch_mono && wall > on + AWAY_LEAST_NS)
		e = away(m, (u16)cpu, wall - on, wall);
	else if (m->known == UINT64_MAX && m->switches)
		m->known = m->last;
	m->cpu = (u16)cpu;
	clock_told(m, mono, ns);
	return e;
}

/* Since the mark before, which may be an event's begin, the thread had its CPU. A clock that goes
 * back is none: a switch has come in between, and said more. */
static void clocked(struct marks *m, u64 ns, bool begun)
{
	u64 mono = m->ns(m->ns_ctx, m->last);

	if (m->cpu_known && ns < m->switch_cpu_ns)
		return;
	if (begun) {
		event_now(m)->cpu_ns = ns - min_u64(ns, mono - min_u64(mono, event_now(m)->mono));
		event_now(m)->unread_ns = 0;
	}
	clock_told(m, mono, ns);
}

static int one(struct marks *m, const struct vmspan_mark *in, u64 value)
{
	bool begun = m->begun;

	m->begun = false;
	m->clocks += in->type == VMSPAN_MARK_SWITCH || in->type == VMSPAN_MARK_CLOCK;
	switch (in->type) {
	case VMSPAN_MARK_ENTER:
	case VMSPAN_MARK_LEAVE:
		/* No compartment has such an id; the stack uses it otherwise. */
		if (in->id >= VMSPAN_ID_MARKS) {
			m->no_ids++;
			return 0;
		}
		return in->type == VMSPAN_MARK_ENTER ? enter(m, in->id) : leave(m, in->id, 0);
	case VMSPAN_MARK_EVENT_BEGIN:
		if (m->doubtful) {
			int e = event_end_unread(m);

			m->doubtful = false;
			if (e)
				return e;
		}
		return event_begin(m, in->id);
	case VMSPAN_MARK_UNWIND:
		return unwind_events(m, in->id);
	case VMSPAN_MARK_GC_BEGIN:
		return push(m, VMSPAN_ID_GC, in->id, value);
	case VMSPAN_MARK_GC_END:
		return leave(m, VMSPAN_ID_GC, value);
	case VMSPAN_MARK_BLOCK_BEGIN:
		return push(m, VMSPAN_ID_BLOCK, in->id, value);
	case VMSPAN_MARK_BLOCK_END:
		return leave(m, VMSPAN_ID_BLOCK, 0);
	case VMSPAN_MARK_INPUT:
		return point(m, VMSPAN_INPUT, in->id, 0);
	case VMSPAN_MARK_FRAME:
		return point(m, VMSPAN_FRAME, in->id, 0);
	case VMSPAN_MARK_VALUE:
		return point(m, VMSPAN_VALUE, in->id, value);
	case VMSPAN_MARK_SWITCH:
		return switched(m, in->id, value, begun);
	case VMSPAN_MARK_CLOCK:
		clocked(m, value, begun);
		return 0;
	default:
		return 0;
	}
}

static bool has_value(u32 type)
{
	return type == VMSPAN_MARK_SWITCH || type == VMSPAN_MARK_CLOCK ||
	       type == VMSPAN_MARK_VALUE || type == VMSPAN_MARK_GC_BEGIN ||
	       type == VMSPAN_MARK_GC_END || type == VMSPAN_MARK_BLOCK_BEGIN;
}

static void go_on(struct marks *m, u64 cycles)
{
	m->before = m->last;
	m->last = max_u64(m->last, cycles);
}

/* The end of an event that has been kept, with what follows it, if that is known. */
static int end(struct marks *m, const struct vmspan_mark *in, u64 value)
{
	u64 mono, cpu, unread;

	if (!m->end.type)
		return 0;
	m->end.type = 0;
	m->begun = m->doubtful = false;
	go_on(m, m->end.cycles);
	mono = m->ns(m->ns_ctx, m->last);
	cpu = cpu_ns(m, mono);
	unread = unread_ns(m, mono);
	if (in && in->type == VMSPAN_MARK_CLOCK && m->cpu_known && value >= m->switch_cpu_ns) {
		u64 since = m->ns(m->ns_ctx, max_u64(in->cycles, m->last)) - mono;

		cpu = value - min_u64(value, since);
		unread = 0;
	}
	/* A switch came in between: it had not had more. */
	if (in && in->type == VMSPAN_MARK_SWITCH && m->cpu_known && value >= m->switch_cpu_ns)
		cpu = min_u64(cpu, value);
	return event_end(m, cpu, unread);
}

static int next(struct marks *m, const struct vmspan_mark *in, u64 value)
{
	int e = end(m, in, value);

	if (e)
		return e;
	if (in->type == VMSPAN_MARK_EVENT_END) {
		m->end = *in;
		return 0;
	}
	go_on(m, in->cycles);
	return one(m, in, value);
}

int marks_take(struct marks *m, const struct vmspan_mark *in, u32 n, bool more_comes)
{
	u32 i;
	int e = 0;

	if (n && m->held.type) {
		e = next(m, &m->held, in[0].type == VMSPAN_MARK_MORE ? in[0].cycles : 0);
		m->held.type = 0;
	}
	for (i = 0; i < n && !e; i++) {
		bool more = i + 1 < n && in[i + 1].type == VMSPAN_MARK_MORE;

		if (in[i].type == VMSPAN_MARK_MORE || in[i].type == VMSPAN_MARK_FILL)
			continue;
		if (i + 1 == n && has_value(in[i].type))
			m->held = in[i];
		else
			e = next(m, &in[i], more ? in[i + 1].cycles : 0);
	}
	return e || more_comes || (n && m->held.type) ? e : end(m, NULL, 0);
}

/* What the thread's clock says now: had it lost its CPU, a mark would say so as it came back. */
static int seen(struct marks *m, const struct marks_seen_at *now)
{
	u64 mono = m->ns(m->ns_ctx, m->last), on, since;

	/* Without its clock of before this one says nothing. */
	if (!now->known || !m->cpu_known || now->cpu_ns < m->switch_cpu_ns)
		return 0;
	on = now->cpu_ns - m->switch_cpu_ns;
	since = mono - min_u64(mono, m->switch_mono);
	on += min_u64(now->late_ns, since - min_u64(since, on));
	return switched(m, m->cpu, m->switch_cpu_ns + on, false);
}

/* A collection has freed nothing yet. */
static int closed(struct marks *m, u32 depth)
{
	int e = 0;

	while (!e && m->depth > depth)
		e = pop(m, m->open[m->depth - 1].value, 0);
	return e;
}

int marks_close(struct marks *m, const struct marks_seen_at *now)
{
	int e = end(m, NULL, 0);

	m->held.type = 0;
	m->begun = false;
	m->events_over = m->too_deep_open = 0;
	go_on(m, now->cycles);
	if (!e)
		e = seen(m, now);
	while (!e && m->events) {
		e = closed(m, event_now(m)->base);
		if (!e)
			e = event_end_unread(m);
	}
	return e ? e : closed(m, 0);
}

u64 marks_open_since(const struct marks *m)
{
	u32 outside = m->events ? m->event[0].base : m->depth;

	if (m->doubtful)
		return 0;
	/* Collections and calls outside of everything are no event. */
	if (outside && m->open[0].id < VMSPAN_ID_MARKS)
		return m->open[0].begin;
	return m->events ? m->event[0].begin : 0;
}

void marks_untold(struct marks *m)
{
	m->switches = false;
	m->known = UINT64_MAX;
}

void marks_lost(struct marks *m)
{
	u32 i;

	m->gapped = true;
	for (i = 0; i < m->depth; i++)
		m->open[i].lacks = true;
	for (i = 0; i < m->events; i++)
		m->event[i].lacks = true;
}

void marks_gap(struct marks *m, u64 n)
{
	m->seq += n;
	m->gapped |= n > 0;
	m->unplaced = !n && !m->events;
	m->outside = m->outside_taken = false;
	m->known = UINT64_MAX;
	m->held.type = m->end.type = 0;
	m->begun = false;
	m->depth = m->too_deep_open = m->events_over = 0;
	m->events = m->events ? 1 : 0;
	if (m->events) {
		m->event[0].base = m->event[0].too_deep_open = 0;
		m->doubtful = true;
	}
}
