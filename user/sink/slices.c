/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/slices.h"
#include "base/array.h"
#include "sink/samples.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HEAP_COUNTER (1ull << 63)

static size_t slice_size(const struct slice *s)
{
	static const struct slice *const none;
	size_t head = offsetof(struct slice, span);

	switch ((enum slice_kind)s->kind) {
	case SLICE_SPAN:
		return head + sizeof(none->span);
	case SLICE_GC:
		return head + sizeof(none->gc);
	case SLICE_BLOCK:
		return head + sizeof(none->block);
	case SLICE_EVENT:
		return head + sizeof(none->event);
	case SLICE_INPUT:
	case SLICE_FRAME:
	case SLICE_KINDS:
		break;
	}
	return head;
}

int slices_init(struct slices *s, const struct export_config *config)
{
	s64 stream;

	*s = (struct slices){ .start_ns = config->start_ns };
	s->spool = spool_new(config->directory ? config->directory : "/var/tmp");
	s->names = intern_new();
	if (!s->spool || !s->names)
		return -ENOMEM;
	stream = spool_stream(s->spool);
	if (stream < 0)
		return (int)stream;
	s->walk_stream = (u32)stream;
	return 0;
}

void slices_release(struct slices *s)
{
	spool_free(s->spool);
	intern_free(s->names);
	samples_free(s->samples);
	free(s->threads);
	free(s->processes);
	free(s->counters);
	map_free(&s->thread_of);
	map_free(&s->process_of);
	map_free(&s->counter_of);
	*s = (struct slices){ 0 };
}

const char *slices_name(const struct slices *s, u32 id)
{
	return intern_get(s->names, id, NULL);
}

const char *group_kind(const char *group, char kind[16])
{
	size_t n = group ? strcspn(group, ":") : 0;

	if (!n || n >= 16 || !group[n])
		return "span";
	memcpy(kind, group, n);
	kind[n] = 0;
	return kind;
}

const char *fate_name(enum span_fate fate)
{
	static const char *const names[] = {
		[SPAN_KEPT] = "kept", [SPAN_MOVED] = "moved", [SPAN_STALE] = "stale",
		[SPAN_LOST] = "lost", [SPAN_BAD] = "bad",
	};

	return (unsigned int)fate < ARRAY_SIZE(names) ? names[fate] : "unknown";
}

int slices_put_name(struct slices *s, const char *text, u32 *id)
{
	s64 at = intern_put(s->names, text ? text : "", text ? strlen(text) : 0);

	if (at < 0)
		return (int)at;
	*id = (u32)at;
	return 0;
}

static int find_process(struct slices *s, u32 pid, const char *name, u32 *index)
{
	u64 *known = map_get(&s->process_of, pid);
	struct slice_process *p;
	int rc;

	if (!known) {
		rc = array_room(s->processes, s->process_cap, s->process_count + 1);
		if (!rc)
			rc = map_put(&s->process_of, pid, s->process_count);
		if (rc)
			return rc;
		s->processes[s->process_count] = (struct slice_process){ .pid = pid };
		*index = s->process_count++;
	} else {
		*index = (u32)*known;
	}
	p = &s->processes[*index];
	return !known || name[0] ? slices_put_name(s, name, &p->name) : 0;
}

int slices_thread(struct slices *s, const struct model_thread *t, u32 *index)
{
	u64 *known = map_get(&s->thread_of, t->id);
	struct slice_thread th = { .pid = t->pid, .tid = t->tid, .stock = t->stock };
	s64 stream;
	int rc;

	if (known) {
		*index = (u32)*known;
		return 0;
	}
	rc = find_process(s, t->pid, t->process ? t->process : "", &th.process);
	if (!rc)
		rc = slices_put_name(s, t->name, &th.name);
	if (!rc)
		rc = array_room(s->threads, s->thread_cap, s->thread_count + 1);
	if (rc)
		return rc;
	stream = spool_stream(s->spool);
	if (stream < 0)
		return (int)stream;
	th.stream = (u32)stream;
	s->processes[th.process].threads++;
	*index = s->thread_count;
	s->threads[s->thread_count++] = th;
	return map_put(&s->thread_of, t->id, *index);
}

u64 slices_time(const struct slices *s, u64 ns)
{
	return ns > s->start_ns ? ns - s->start_ns : 0;
}

static int put_slice(struct slices *s, const struct model_thread *t, struct slice *slice)
{
	struct slice_thread *th;
	u32 index;
	int rc = slices_thread(s, t, &index);

	if (rc)
		return rc;
	th = &s->threads[index];
	slice->end = max_u64(slice->begin, slice->end);
	slice->astray = slice->end < th->last_end;
	th->astray += slice->astray;
	th->last_end = max_u64(th->last_end, slice->end);
	s->end = max_u64(s->end, slice->end);
	return spool_put(s->spool, th->stream, slice, slice_size(slice));
}

static int put_sample(struct slices *s, const struct model_thread *t, const char *label, bool heap,
		      u64 ns, s64 value)
{
	struct slice_sample sample = { slices_time(s, ns), value };
	struct slice_counter *c, fresh = { .heap = heap };
	u64 key, *known;
	s64 stream;
	int rc = slices_thread(s, t, &fresh.thread);

	if (!rc)
		rc = slices_put_name(s, label, &fresh.name);
	if (rc)
		return rc;
	key = (u64)fresh.thread << 32 | fresh.name | (heap ? HEAP_COUNTER : 0);
	known = map_get(&s->counter_of, key);
	if (!known) {
		rc = array_room(s->counters, s->counter_cap, s->counter_count + 1);
		if (!rc)
			rc = map_put(&s->counter_of, key, s->counter_count);
		stream = rc ? rc : spool_stream(s->spool);
		if (stream < 0)
			return (int)stream;
		fresh.stream = (u32)stream;
		s->counters[s->counter_count++] = fresh;
		known = map_get(&s->counter_of, key);
	}
	c = &s->counters[*known];
	c->last = sample.time = max_u64(c->last, sample.time);
	s->end = max_u64(s->end, sample.time);
	return spool_put(s->spool, c->stream, &sample, sizeof(sample));
}

static int take_span(void *ctx, const struct model_span *sp)
{
	struct slices *s = ctx;
	struct slice slice = {
		.begin = slices_time(s, sp->begin_ns),
		.end = slices_time(s, sp->end_ns),
		.self_ns = sp->self_ns,
		.iteration = sp->iteration,
		.cpu_begin = sp->cpu_begin,
		.cpu_end = sp->cpu_end,
		.depth = sp->depth,
		.fate = (u8)sp->fate,
		.repaired = sp->repaired,
	};
	int rc = slices_put_name(s, sp->name, &slice.name);

	if (!rc)
		rc = slices_put_name(s, sp->group, &slice.group);
	if (rc)
		return rc;
	if (sp->type == VMSPAN_GC) {
		slice.kind = SLICE_GC;
		slice.gc.bytes_before = sp->bytes_before;
		slice.gc.bytes_after = sp->bytes_after;
		if (sp->bytes_before || sp->bytes_after) {
			rc = put_sample(s, sp->thread, "gc heap", true, sp->begin_ns,
					(s64)sp->bytes_before);
			if (!rc)
				rc = put_sample(s, sp->thread, "gc heap", true, sp->end_ns,
						(s64)sp->bytes_after);
		}
	} else if (sp->type == VMSPAN_BLOCK) {
		slice.kind = SLICE_BLOCK;
		slice.block.peer = sp->peer;
	} else {
		slice.kind = SLICE_SPAN;
		slice.span.blocked_ns = sp->blocked_ns;
		slice.span.gc_ns = sp->gc_ns;
	}
	return rc ? rc : put_slice(s, sp->thread, &slice);
}

static int take_event(void *ctx, const struct model_event *e)
{
	struct slices *s = ctx;
	struct slice slice = {
		.kind = SLICE_EVENT,
		.begin = slices_time(s, e->begin_ns),
		.end = slices_time(s, e->end_ns),
		.iteration = e->iteration,
		.cpu_begin = e->cpu_begin,
		.cpu_end = e->cpu_end,
		.missing = (u8)e->missing,
		.event = { .cpu_ns = e->cpu_ns,
			   .stolen_ns = e->stolen_ns,
			   .ledger = e->ledger,
			   .parent = e->parent },
	};
	const char *top;
	int rc;

	if (e->implicit)
		return 0;
	top = event_top(e, &slice.event.top_ns);
	rc = slices_put_name(s, e->label, &slice.name);
	if (!rc)
		rc = slices_put_name(s, top, &slice.group);
	return rc ? rc : put_slice(s, e->thread, &slice);
}

static int take_mark(void *ctx, const struct model_mark *m)
{
	struct slices *s = ctx;
	struct slice slice = {
		.kind = m->type == VMSPAN_INPUT ? SLICE_INPUT : SLICE_FRAME,
		.begin = slices_time(s, m->time_ns),
		.iteration = m->iteration,
	};
	int rc;

	if (m->type == VMSPAN_VALUE)
		return put_sample(s, m->thread, m->label && m->label[0] ? m->label : "value", false,
				  m->time_ns, m->value);
	slice.end = slice.begin;
	rc = slices_put_name(s, m->label, &slice.name);
	if (!rc)
		rc = slices_put_name(s, "", &slice.group);
	return rc ? rc : put_slice(s, m->thread, &slice);
}

static int take_process(void *ctx, const struct item_process *p)
{
	struct slices *s = ctx;
	u32 index;

	/* Only those that show something get a place. */
	if (p->change == PROCESS_EXIT || !p->name || !map_get(&s->process_of, p->pid))
		return 0;
	return find_process(s, p->pid, p->name, &index);
}

static int take_thread(void *ctx, const struct model_thread *t)
{
	struct slices *s = ctx;
	u64 *known = map_get(&s->thread_of, t->id);

	return known ? slices_put_name(s, t->name, &s->threads[*known].name) : 0;
}

static int take_sample(void *ctx, const struct model_sample *m)
{
	return samples_take(ctx, m);
}

const struct model_observer slices_observer = {
	.span = take_span,
	.event = take_event,
	.mark = take_mark,
	.process = take_process,
	.sample = take_sample,
	.thread = take_thread,
};
