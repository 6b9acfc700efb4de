/* SPDX-License-Identifier: BSD-2-Clause */
#include "model/item.h"

#include <errno.h>

const char *loss_name(enum loss_cause cause)
{
	static const char *const names[LOSS_CAUSES] = {
		[LOSS_RING_FULL] = "ring_full",
		[LOSS_READ_FAULT] = "read_fault",
		[LOSS_SEQUENCE_GAP] = "sequence_gap",
		[LOSS_UNMATCHED] = "unmatched",
		[LOSS_TRUNCATED] = "truncated",
		[LOSS_SCHED] = "sched",
		[LOSS_NO_SCHED] = "no_sched",
		[LOSS_TOO_DEEP] = "too_deep",
		[LOSS_NOT_MADE] = "not_made",
		[LOSS_MALFORMED] = "malformed",
		[LOSS_LIMIT] = "limit",
		[LOSS_MARKS_OFF] = "marks_off",
		[LOSS_NAMES] = "names",
		[LOSS_OTHER] = "other",
	};

	return (unsigned int)cause < LOSS_CAUSES ? names[cause] : "unknown";
}

const u8 record_slots[256] = {
	[VMSPAN_SPAN] = sizeof(struct vmspan_span) / VMSPAN_SLOT,
	[VMSPAN_EVENT] = sizeof(struct vmspan_event) / VMSPAN_SLOT,
	[VMSPAN_GC] = sizeof(struct vmspan_gc) / VMSPAN_SLOT,
	[VMSPAN_BLOCK] = sizeof(struct vmspan_block) / VMSPAN_SLOT,
	[VMSPAN_INPUT] = sizeof(struct vmspan_point) / VMSPAN_SLOT,
	[VMSPAN_FRAME] = sizeof(struct vmspan_point) / VMSPAN_SLOT,
	[VMSPAN_VALUE] = sizeof(struct vmspan_point) / VMSPAN_SLOT,
	[VMSPAN_OFF] = sizeof(struct vmspan_span) / VMSPAN_SLOT,
	[VMSPAN_WAKE] = sizeof(struct vmspan_wake) / VMSPAN_SLOT,
	[VMSPAN_AWAY] = sizeof(struct vmspan_span) / VMSPAN_SLOT,
};

/* The groups and the name must lie within the definition's slots. */
static bool def_fits(const struct vmspan_def *d)
{
	return d->count <= VMSPAN_GROUPS_MAX &&
	       sizeof(*d) + d->count * sizeof(d->groups[0]) + d->name_len <=
		       (size_t)d->h.slots * VMSPAN_SLOT;
}

static bool sample_fits(const struct vmspan_sample *s)
{
	return sizeof(*s) + (s->h.depth & VMSPAN_DEPTH_MASK) * sizeof(s->frames[0]) <=
	       (size_t)s->h.slots * VMSPAN_SLOT;
}

/* Size and contents of one record; what it is adds to the sum. */
static int record_sum(const struct vmspan_head *h, u32 left, struct batch_sum *sum)
{
	if (!h->slots || h->slots * (u32)VMSPAN_SLOT > left)
		return -EBADMSG;
	if (record_slots[h->type] && h->slots != record_slots[h->type])
		return -EBADMSG;
	switch (h->type) {
	case VMSPAN_EVENT:
		sum->turn = !sum->events && left == sizeof(struct vmspan_event);
		sum->events++;
		sum->label_last = max_u32(sum->label_last, ((const struct vmspan_event *)h)->label);
		return 0;
	case VMSPAN_GC:
	case VMSPAN_BLOCK:
	case VMSPAN_INPUT:
	case VMSPAN_FRAME:
	case VMSPAN_VALUE:
		sum->label_last = max_u32(sum->label_last, h->id);
		return 0;
	case VMSPAN_SAMPLE:
		return sample_fits((const void *)h) ? 0 : -EBADMSG;
	}
	if (h->type < VMSPAN_DEF_GROUP || h->type > VMSPAN_DEF_LAST)
		return 0;
	sum->defs++;
	return def_fits((const void *)h) ? 0 : -EBADMSG;
}

int batch_sum(const void *data, u32 bytes, u32 records, struct batch_sum *sum)
{
	const u8 *p = data, *end = p + bytes;
	u32 n = 0, spans = 0, last = 0;

	*sum = (struct batch_sum){ 0 };
	for (; p < end; n++) {
		const struct vmspan_head *h = (const void *)p;

		if (end - p < VMSPAN_SLOT)
			return -EBADMSG;
		if (h->type == VMSPAN_SPAN && h->slots == 1) {
			spans++;
			last = max_u32(last, h->id);
		} else if (record_sum(h, (u32)(end - p), sum)) {
			return -EBADMSG;
		}
		p += h->slots * (u32)VMSPAN_SLOT;
	}
	sum->spans = spans;
	sum->compartment_last = last;
	return records == UINT32_MAX || n == records ? 0 : -EBADMSG;
}

bool unfinished_is_sound(const struct item_unfinished *u)
{
	u64 before = u->begin_ns;
	u32 i;

	if (u->why < UNFINISHED_TRACE || u->why > UNFINISHED_EXEC || u->begin_ns > u->until_ns ||
	    u->stay_count > UNFINISHED_STAYS || u->stay_count > u->depth ||
	    (!u->event && !u->stay_count))
		return false;
	for (i = 0; i < u->stay_count; i++) {
		if (u->stay_ns[i] < before || u->stay_ns[i] > u->until_ns)
			return false;
		before = u->stay_ns[i];
	}
	return true;
}

int batch_check(const void *data, u32 bytes, u32 records)
{
	struct batch_sum sum;

	return batch_sum(data, bytes, records, &sum);
}
