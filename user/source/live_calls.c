/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Exact calls of stock VMs: what the function probes' programs put into the
 * ring -> spans in the thread's stream, before the event that holds them.
 */
#include "source/live_vm_int.h"

#include "probe/vm.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Functions told apart; the kernel gives old ones new numbers when it has
 * forgotten them. */
#define CALLS_MAX (1u << 20)

int calls_take_function(struct live *l, struct process *p, const struct wire_call *w)
{
	char file[VM_FILE + 1], scope[VM_SCOPE + 1], function[VM_FUNCTION + 1],
		name[VMSPAN_NAME_MAX + 1], group[VM_NAME_MAX];
	struct vm_state *v = p->vm_state;
	u8 kind = VMSPAN_PACKAGE;
	bool named = false;
	u32 comp;

	if (w->file_len > VM_FILE || w->scope_len > VM_SCOPE || w->function_len > VM_FUNCTION)
		return live_emit_loss(l, LOSS_MALFORMED, 1, 0);
	if (!p->vm_profile) /* it is another program by now */
		return live_emit_loss(l, LOSS_READ_FAULT, 1, 0);
	if (v->calls.len >= CALLS_MAX)
		return live_emit_loss(l, LOSS_LIMIT, 1, 0);
	vm_text(w->file, w->file_len, 0, file, sizeof(file));
	vm_text(w->scope, w->scope_len, 0, scope, sizeof(scope));
	vm_text(w->function, w->function_len, 0, function, sizeof(function));
	if (!vm_group(p->vm_profile, file, &kind, &named, group, sizeof(group)))
		snprintf(group, sizeof(group), "(unknown)");
	comp = vm_compartment(l, p, kind, group);
	if (!comp)
		return l->failed;
	snprintf(name, sizeof(name), "%.40s%s%.80s (%.120s)", scope, scope[0] ? "::" : "",
		 function[0] ? function : "(main)",
		 strlen(file) > 120 ? file + strlen(file) - 120 : file);
	comp = vm_function(l, p, comp, name);
	if (comp && map_put(&v->calls, w->id, comp))
		return l->failed = -ENOMEM;
	return l->failed;
}

/* The compartment of a function whose news were lost. */
static u32 unknown(struct live *l, struct process *p)
{
	return vm_compartment(l, p, VMSPAN_PACKAGE, "(unknown)");
}

/* The kernel's ids and times are made those of the stream. */
static int translate(struct live *l, struct process *p, struct vm_stream *s, void *data, u32 bytes)
{
	struct vm_state *v = p->vm_state;
	u32 at, slots;

	for (at = 0; at < bytes; at += slots * VMSPAN_SLOT) {
		struct vmspan_span *r = (void *)((char *)data + at);

		slots = r->h.slots;
		if (r->h.type == VMSPAN_SPAN) {
			u64 *known = map_get(&v->calls, r->h.id);

			r->h.id = known ? (u32)*known : unknown(l, p);
			if (!r->h.id)
				return l->failed;
		}
		r->begin = live_cycles(l, r->begin);
		r->end = live_cycles(l, r->end);
		vm_count_record(s, r->iteration);
	}
	return 0;
}

int calls_take(struct live *l, struct process *p, struct vm_stream *s, const struct wire_head *h,
	       size_t size)
{
	u64 room[(WIRE_MIDDLE - VMSPAN_BATCH_HEADER) / 8];
	const struct vmspan_batch *b = (const void *)(h + 1);
	struct item it = { .type = ITEM_BATCH };
	u32 bytes;

	if (size < sizeof(*h) + sizeof(*b) || h->bytes > size - sizeof(*h) || h->bytes < sizeof(*b))
		return live_emit_loss(l, LOSS_MALFORMED, 0, 1);
	bytes = h->bytes - (u32)sizeof(*b);
	if (bytes > sizeof(room) || batch_check(b + 1, bytes, b->records))
		return live_emit_loss(l, LOSS_MALFORMED, b->records, 1);
	memcpy(room, b + 1, bytes);
	/* What was lost before it leaves a gap in the stream, and in its event. */
	if (b->seq > s->calls_seq) {
		u64 missing = b->seq - s->calls_seq;

		s->seq += missing;
		if (s->iteration != ((struct vmspan_span *)room)->iteration)
			vm_count_record(s, ((struct vmspan_span *)room)->iteration);
		s->records += (u32)missing;
	}
	s->calls_seq = b->seq + b->records;
	if (translate(l, p, s, room, bytes))
		return l->failed;
	it.batch = (struct item_batch){
		.pid = p->pid,
		.tid = h->tid,
		.registry = VM_REGISTRY,
		.thread = h->tid,
		.seq = s->seq,
		.records = b->records,
		.bytes = bytes,
		.data = room,
		.too_deep = b->too_deep,
		.unmatched = b->unmatched,
		.repaired = b->repaired,
	};
	s->seq += b->records;
	return live_emit(l, &it);
}
