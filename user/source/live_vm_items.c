/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the programs of stock VMs put into the ring -> the records an
 * instrumented process would have made, in streams of a registry of their own.
 * Names in it come from the target.
 */
#include "source/live_vm_int.h"

#include "source/defs.h"

#include "attach/vm.h"
#include "probe/vm.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Beyond these a process's groups and labels are one; threads start anew. */
#define GROUPS_MAX 65536
#define LABELS_MAX 4096
#define STREAMS_MAX 65536
/* Of those that a profile says something about. Without what is not remembered of the rest no wait is an idle one. */
#define FRAMES_MAX 65536

/* ---- State ---- */

static void stream_free(struct live *l, struct vm_stream *s)
{
	waits_free(s);
	stays_free(l, s);
	free(s);
}

void live_vm_free(struct live *l, struct process *p)
{
	struct vm_state *v = p->vm_state;
	u64 key, value;
	size_t at = 0;

	if (!v)
		return;
	while (map_next(&v->streams, &at, &key, &value))
		stream_free(l, (void *)(uintptr_t)value);
	map_free(&v->streams);
	map_free(&v->calls);
	map_free(&v->frames);
	intern_free(v->groups);
	intern_free(v->labels);
	jvm_free(v->jvm);
	free(v);
	p->vm_state = NULL;
}

struct vm_state *vm_state_of(struct process *p)
{
	struct vm_state *v = p->vm_state;

	if (v)
		return v;
	v = calloc(1, sizeof(*v));
	if (!v)
		return NULL;
	v->groups = intern_new();
	v->labels = intern_new();
	if (v->groups && v->labels) {
		p->vm_state = v;
		return v;
	}
	intern_free(v->groups);
	intern_free(v->labels);
	free(v);
	return NULL;
}

static struct vm_stream *stream_of(struct vm_state *v, u32 tid)
{
	u64 *at = map_get(&v->streams, tid);
	struct vm_stream *s;

	if (at)
		return (struct vm_stream *)(uintptr_t)*at;
	if (v->streams.len >= STREAMS_MAX)
		return NULL;
	s = calloc(1, sizeof(*s));
	if (s && map_put(&v->streams, tid, (u64)(uintptr_t)s)) {
		free(s);
		return NULL;
	}
	return s;
}

/* ---- Definitions ---- */

int vm_define(struct live *l, const struct process *p, u8 type, u32 id, u8 kind, u8 flags,
	      u32 group, const char *name)
{
	const struct def_of d = { type, kind, flags, id, group, name, strlen(name) };
	u64 room[DEF_ROOM / sizeof(u64)];
	struct item it = { .type = ITEM_DEFS };

	it.defs = (struct item_defs){
		.pid = p->pid, .registry = VM_REGISTRY, .data = room, .bytes = def_write(room, &d)
	};
	return live_emit(l, &it);
}

u32 vm_compartment(struct live *l, struct process *p, u8 kind, const char *name)
{
	struct vm_state *v = vm_state_of(p);
	char full[VMSPAN_NAME_MAX + 8];
	u32 before;
	s64 id;

	if (!v)
		return 0;
	if (intern_count(v->groups) >= GROUPS_MAX)
		name = "(other)";
	snprintf(full, sizeof(full), "%c%s", (char)('0' + kind), name);
	before = intern_count(v->groups);
	id = intern_put(v->groups, full, strlen(full));
	if (id < 0)
		return 0;
	if (intern_count(v->groups) != before &&
	    (vm_define(l, p, VMSPAN_DEF_GROUP, (u32)id + 1, kind, 0, 0, name) ||
	     vm_define(l, p, VMSPAN_DEF_COMPARTMENT, (u32)id + 1, 0, 0, (u32)id + 1, name)))
		return 0;
	return (u32)id + 1;
}

u32 vm_function(struct live *l, struct process *p, u32 group, const char *name)
{
	struct vm_state *v = vm_state_of(p);
	char full[VMSPAN_NAME_MAX + 16];
	u32 before;
	s64 id;

	if (!v || intern_count(v->groups) >= GROUPS_MAX)
		return group;
	snprintf(full, sizeof(full), "f%u %s", group, name);
	before = intern_count(v->groups);
	id = intern_put(v->groups, full, strlen(full));
	if (id < 0)
		return 0;
	if (intern_count(v->groups) != before &&
	    vm_define(l, p, VMSPAN_DEF_COMPARTMENT, (u32)id + 1, 0, 0, group, name))
		return 0;
	return (u32)id + 1;
}

u32 vm_label(struct live *l, struct process *p, const char *text)
{
	struct vm_state *v = vm_state_of(p);
	u32 before;
	s64 id;

	if (!v || !*text)
		return 0;
	before = intern_count(v->labels);
	if (before >= LABELS_MAX)
		text = "(other)";
	id = intern_put(v->labels, text, strlen(text));
	if (id < 0)
		return 0;
	if (intern_count(v->labels) != before)
		vm_define(l, p, VMSPAN_DEF_LABEL, (u32)id + 1, 0, 0, 0, text);
	return (u32)id + 1;
}

/* ---- Texts ---- */

static size_t put_utf8(char *to, size_t n, size_t cap, u32 c)
{
	if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		c = 0xfffd;
	if (n + 4 >= cap)
		return n;
	if (c < 0x80) {
		to[n++] = (char)c;
	} else if (c < 0x800) {
		to[n++] = (char)(0xc0 | c >> 6);
		to[n++] = (char)(0x80 | (c & 0x3f));
	} else if (c < 0x10000) {
		to[n++] = (char)(0xe0 | c >> 12);
		to[n++] = (char)(0x80 | (c >> 6 & 0x3f));
		to[n++] = (char)(0x80 | (c & 0x3f));
	} else {
		to[n++] = (char)(0xf0 | c >> 18);
		to[n++] = (char)(0x80 | (c >> 12 & 0x3f));
		to[n++] = (char)(0x80 | (c >> 6 & 0x3f));
		to[n++] = (char)(0x80 | (c & 0x3f));
	}
	return n;
}

void vm_text(const char *from, size_t len, unsigned int unit, char *to, size_t cap)
{
	size_t i, n = 0;

	for (i = 0; i + (unit ? unit : 1) <= len; i += unit ? unit : 1) {
		u32 c = 0;

		memcpy(&c, from + i, unit ? unit : 1);
		if (!c)
			break;
		if (unit)
			n = put_utf8(to, n, cap, c);
		else if (n + 1 < cap)
			to[n++] = from[i];
	}
	to[n] = 0;
}

/* ---- Records ---- */

int vm_emit(struct live *l, struct process *p, struct vm_stream *s, u32 tid, u32 records,
	    const void *data, u32 bytes)
{
	struct item it = { .type = ITEM_BATCH };

	if (l->vm_told) {
		s->seq += records;
		l->vm_told->records += records;
		return buf_put(&l->vm_told->data, data, bytes) ? l->failed = -ENOMEM : 0;
	}
	it.batch = (struct item_batch){
		.pid = p->pid,
		.tid = tid,
		.registry = VM_REGISTRY,
		.thread = tid,
		.seq = s->seq,
		.records = records,
		.bytes = bytes,
		.data = data,
	};
	s->seq += records;
	return live_emit(l, &it);
}

void vm_count_record(struct vm_stream *s, u32 iteration)
{
	if (s->iteration != iteration)
		s->records = 0;
	s->iteration = iteration;
	s->records++;
}

int vm_define_frame(struct live *l, struct process *p, u32 id, const char *file,
		    const char *function)
{
	char name[VMSPAN_NAME_MAX + 1], group[VM_NAME_MAX];
	u32 is = vm_frame_is(p->vm_profile, file, function), comp;
	u8 kind = VMSPAN_PACKAGE;
	bool named = false;

	if (is && p->vm_state->frames.len < FRAMES_MAX)
		map_put(&p->vm_state->frames, id, is);
	if (!vm_group(p->vm_profile, file, &kind, &named, group, sizeof(group)))
		snprintf(group, sizeof(group), "(unknown)");
	comp = vm_compartment(l, p, kind, group);
	if (l->failed)
		return l->failed;
	snprintf(name, sizeof(name), "%.100s (%.148s)", function[0] ? function : "(main)",
		 strlen(file) > 148 ? file + strlen(file) - 148 : file);
	return vm_define(l, p, VMSPAN_DEF_FRAME, id, kind, named ? VMSPAN_FRAME_NAMED : 0, comp,
			 name);
}

static int take_frame(struct live *l, struct process *p, const struct wire_frame *w)
{
	char file[3 * VM_FILE + 8], function[3 * VM_FUNCTION + 8];

	if (w->file_len > VM_FILE || w->function_len > VM_FUNCTION || w->file_unit > 4 ||
	    w->function_unit > 4)
		return live_emit_loss(l, LOSS_MALFORMED, 1, 0);
	if (!p->vm_profile) /* it is another program by now */
		return live_emit_loss(l, LOSS_READ_FAULT, 1, 0);
	if (p->vm_state->jvm)
		return jvm_take_frame(l, p, p->vm_state->jvm, w);
	vm_text(w->file, w->file_len, w->file_unit, file, sizeof(file));
	vm_text(w->function, w->function_len, w->function_unit, function, sizeof(function));
	return vm_define_frame(l, p, w->id, file, function);
}

int vm_emit_sample(struct live *l, struct process *p, struct vm_stream *s, u32 tid,
		   struct vmspan_sample *r)
{
	vm_count_record(s, r->iteration);
	return vm_emit(l, p, s, tid, 1, r, r->h.slots * (u32)VMSPAN_SLOT);
}

void vm_look(struct process *p, const struct wire_sample *w, union vm_look *to)
{
	struct vmspan_sample *r = &to->r;
	struct jvm *j = p->vm_state->jvm;
	u32 count = w->count;

	memset(to, 0, sizeof(*to));
	r->flags = w->flags & SAMPLE_RECORDED;
	if (j)
		count = jvm_frames(j, w->frames, count, r->frames, &r->flags);
	else
		memcpy(r->frames, w->frames, count * sizeof(u32));
	r->h.type = VMSPAN_SAMPLE;
	r->h.slots = (u8)((sizeof(*r) + count * sizeof(u32) + VMSPAN_SLOT - 1) / VMSPAN_SLOT);
	r->h.depth = (u16)count;
}

static int take_sample(struct live *l, struct process *p, struct vm_stream *s,
		       const struct wire_sample *w)
{
	union vm_look look;
	struct vmspan_sample *r = &look.r;

	if (w->count > VM_FRAMES)
		return live_emit_loss(l, LOSS_MALFORMED, 1, 0);
	vm_look(p, w, &look);
	s->in_vm |= r->h.depth != 0;
	/* The end of a stay on the CPU is told by itself. */
	if (w->flags & SAMPLE_OFF)
		return w->turn_kind == TURN_BURST ? 0 : waits_take_begin(l, p, s, w, &look);
	waits_seen(s);
	if (w->turn_kind == TURN_BURST)
		stays_look(l, p, s, w->h.tid, r);
	r->time = live_cycles(l, w->time);
	r->weight = w->weight;
	r->cpu = w->cpu;
	r->iteration = waits_iteration(s, w->iteration);
	return vm_emit_sample(l, p, s, w->h.tid, r);
}

/* It came; 0 or l->failed. */
static int gc_seen(struct live *l, struct process *p, const struct wire_stay *w)
{
	if (live_watch_hit(l, p, VM_GC_BEGIN))
		return l->failed;
	return w->part == STAY_PART ? live_often_swept(l, p, w->end) : 0;
}

static int take_gc(struct live *l, struct process *p, struct vm_stream *s,
		   const struct wire_stay *w)
{
	struct vmspan_gc r = {
		.h = { .type = VMSPAN_GC,
		       .slots = sizeof(r) / VMSPAN_SLOT,
		       .depth = w->part ? VMSPAN_F_PART : 0 },
		.begin = live_cycles(l, w->begin),
		.end = live_cycles(l, w->end),
		.cpu_begin = w->cpu_begin,
		.cpu_end = w->cpu_end,
		.iteration = w->iteration ? waits_iteration(s, w->iteration) : 0,
	};

	if (r.iteration)
		vm_count_record(s, r.iteration);
	return vm_emit(l, p, s, w->h.tid, 1, &r, sizeof(r));
}

/* A request's path, without what makes each one different. */
static u32 request_of(struct live *l, struct process *p, const struct wire_turn *w)
{
	char text[VM_TEXT + 1];

	vm_text(w->text, w->text_len, 0, text, sizeof(text));
	text[strcspn(text, "?#")] = 0;
	return vm_label(l, p, text);
}

/* The probe that began it; VM_ROLES: none. */
static enum vm_role role_of_turn(u32 kind)
{
	return kind == TURN_REQUEST     ? VM_REQUEST_BEGIN
	       : kind == TURN_STATEMENT ? VM_STATUS
	       : kind == TURN_SAFEPOINT ? VM_STALL_BEGIN
					: VM_ROLES;
}

void vm_event(struct live *l, struct vm_stream *s, const struct wire_turn *w, u32 label,
	      struct vmspan_event *e)
{
	u64 wall = w->end - w->begin;

	*e = (struct vmspan_event){
		.h = { VMSPAN_EVENT, sizeof(*e) / VMSPAN_SLOT, 0, w->iteration },
		.begin = live_cycles(l, w->begin),
		.end = live_cycles(l, w->end),
		.mono_begin = w->begin,
		.mono_end = w->end,
		.cpu_ns_begin = s->cpu_ns,
		.cpu_begin = w->cpu_begin,
		.cpu_end = w->cpu_end,
		.label = label,
		.records = s->iteration == w->iteration ? s->records : 0,
	};
	s->cpu_ns += wall - min_u64(wall, w->off_ns);
	e->cpu_ns_end = s->cpu_ns;
	s->records = 0;
}

/* It is in no figure, nor are the stacks that were seen in it. */
static int take_unended(struct live *l, struct process *p, const struct wire_turn *w, u32 label)
{
	struct item it = { .type = ITEM_UNFINISHED,
			   .unfinished = { .pid = p->pid,
					   .tid = w->h.tid,
					   .registry = VM_REGISTRY,
					   .why = UNFINISHED_TRACE,
					   .event = true,
					   .label = label,
					   .begin_ns = w->begin,
					   .until_ns = w->end } };

	return l->failed ? l->failed : live_emit(l, &it);
}

static int take_turn(struct live *l, struct process *p, struct vm_stream *s,
		     const struct wire_turn *from)
{
	bool stall = from->kind == TURN_SAFEPOINT;
	struct wire_turn turn, *w = &turn;
	struct vmspan_event e;
	u32 label = 0;

	if (from->end < from->begin || from->text_len > VM_TEXT || from->title_len > VM_TITLE)
		return live_emit_loss(l, LOSS_MALFORMED, 1, 0);
	if (!l->vm_told && live_watch_hit(l, p, role_of_turn(from->kind)))
		return l->failed;
	if (from->kind == TURN_STATEMENT || from->kind == TURN_IDLE)
		return from->ended & TURN_GOES_ON
			       ? take_unended(l, p, from, statement_label(l, p, from))
			       : statement_take(l, p, s, from);
	if (from->kind == TURN_REQUEST)
		label = request_of(l, p, from);
	else if (from->kind == TURN_BURST || stall)
		label = vm_label(l, p, stall ? "safepoint" : "burst");
	memcpy(w, from, WIRE_TURN_BARE);
	if (!waits_rest(s, w))
		return l->failed;
	if (l->failed || w->ended & TURN_GOES_ON)
		return take_unended(l, p, w, label);
	w->iteration = waits_iteration(s, w->iteration);
	vm_event(l, s, w, label, &e);
	if (!stall && !l->calls) {
		e.h.depth = VMSPAN_F_SAMPLED;
		e.stolen_ns = min_u64(w->stolen_ns, w->end - w->begin);
	}
	return vm_emit(l, p, s, w->h.tid, 1, &e, sizeof(e));
}

int vm_take(struct live *l, struct process *p, struct vm_stream *s, const struct wire_head *h)
{
	if (h->kind == WIRE_VM_SAMPLE)
		return take_sample(l, p, s, (const void *)h);
	if (h->kind == WIRE_VM_GC)
		return take_gc(l, p, s, (const void *)h);
	return take_turn(l, p, s, (const void *)h);
}

int live_vm_record(struct live *l, const struct wire_head *h, size_t size)
{
	static const size_t sizes[] = {
		[WIRE_VM_FRAME] = sizeof(struct wire_frame),
		[WIRE_VM_SAMPLE] = sizeof(struct wire_sample),
		[WIRE_VM_TURN] = WIRE_TURN_BARE,
		[WIRE_VM_GC] = sizeof(struct wire_stay),
		[WIRE_VM_CALL] = sizeof(struct wire_call),
		[WIRE_VM_CALLS] = sizeof(struct wire_head),
		[WIRE_VM_WAIT] = sizeof(struct wire_stay),
	};
	struct process *p = process_find(l, h->pid);
	struct vm_state *v = p ? vm_state_of(p) : NULL;
	struct vm_stream *s;

	if (size < sizes[h->kind])
		return live_emit_loss(l, LOSS_MALFORMED, 1, 0);
	if (!v) /* it is another program by now, or over */
		return live_emit_loss(l, LOSS_READ_FAULT, 1, 0);
	if (process_tell(l, p))
		return l->failed;
	if (h->kind == WIRE_VM_FRAME)
		return take_frame(l, p, (const void *)h);
	if ((h->kind == WIRE_VM_CALL || h->kind == WIRE_VM_CALLS) &&
	    live_watch_hit(l, p, VM_CALL_BEGIN))
		return l->failed;
	if (h->kind == WIRE_VM_CALL)
		return calls_take_function(l, p, (const void *)h);
	s = stream_of(v, h->tid);
	if (!s)
		return live_emit_loss(l, LOSS_LIMIT, 1, 0);
	if (process_thread(l, p, h->tid))
		return l->failed;
	if (h->kind == WIRE_VM_CALLS)
		return calls_take(l, p, s, h, size);
	if (h->kind == WIRE_VM_WAIT)
		return p->vm_profile && !vm_walks(p->vm_profile)
			       ? statement_take_wait(l, p, s, (const void *)h)
			       : waits_take_end(l, p, s, (const void *)h);
	if (h->kind == WIRE_VM_SAMPLE && !(((const struct wire_sample *)h)->flags & SAMPLE_OFF))
		vm_looked(l->t, ((const struct wire_sample *)h)->cpu);
	if (h->kind == WIRE_VM_GC && gc_seen(l, p, (const void *)h))
		return l->failed;
	return stays_keep(l, p, s, h) ? l->failed : vm_take(l, p, s, h);
}

int live_vm_rest(struct live *l, struct process *p)
{
	u64 key, value;
	size_t at = 0;

	while (p->vm_state && !l->failed && map_next(&p->vm_state->streams, &at, &key, &value))
		stays_rest(l, p, (struct vm_stream *)(uintptr_t)value);
	return l->failed;
}

int live_vm_thread_end(struct live *l, struct process *p, u32 tid)
{
	u64 *at = p->vm_state ? map_get(&p->vm_state->streams, tid) : NULL;
	struct vm_stream *s = at ? (struct vm_stream *)(uintptr_t)*at : NULL;

	if (!s)
		return 0;
	stays_rest(l, p, s);
	stream_free(l, s);
	map_del(&p->vm_state->streams, tid);
	return l->failed;
}
