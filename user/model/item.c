/* SPDX-License-Identifier: BSD-2-Clause */
#include "model/item.h"

#include <errno.h>

const char *loss_name(enum loss_cause cause)
{
	static const char *const names[LOSS_CAUSES] = {
		[LOSS_RING_FULL] = "ring_full",       [LOSS_READ_FAULT] = "read_fault",
		[LOSS_SEQUENCE_GAP] = "sequence_gap", [LOSS_UNMATCHED] = "unmatched",
		[LOSS_TRUNCATED] = "truncated",       [LOSS_SCHED] = "sched",
	};

	return (unsigned int)cause < LOSS_CAUSES ? names[cause] : "unknown";
}

/* Slots of the types whose size is fixed; 0: any. */
static const u8 fixed_slots[256] = {
	[VMSPAN_SPAN] = sizeof(struct vmspan_span) / VMSPAN_SLOT,
	[VMSPAN_EVENT] = sizeof(struct vmspan_event) / VMSPAN_SLOT,
	[VMSPAN_GC] = sizeof(struct vmspan_gc) / VMSPAN_SLOT,
	[VMSPAN_BLOCK] = sizeof(struct vmspan_block) / VMSPAN_SLOT,
	[VMSPAN_INPUT] = sizeof(struct vmspan_mark) / VMSPAN_SLOT,
	[VMSPAN_FRAME] = sizeof(struct vmspan_mark) / VMSPAN_SLOT,
	[VMSPAN_VALUE] = sizeof(struct vmspan_mark) / VMSPAN_SLOT,
	[VMSPAN_OFF] = sizeof(struct vmspan_span) / VMSPAN_SLOT,
	[VMSPAN_WAKE] = sizeof(struct vmspan_wake) / VMSPAN_SLOT,
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

int batch_check(const void *data, u32 bytes, u32 records)
{
	const u8 *p = data;
	u32 at = 0, n = 0;

	while (at < bytes) {
		const struct vmspan_head *h = (const void *)(p + at);

		if (bytes - at < VMSPAN_SLOT || !h->slots ||
		    h->slots * (u32)VMSPAN_SLOT > bytes - at)
			return -EBADMSG;
		if (fixed_slots[h->type] && h->slots != fixed_slots[h->type])
			return -EBADMSG;
		if (h->type >= VMSPAN_DEF_GROUP && h->type <= VMSPAN_DEF_LAST &&
		    !def_fits((const void *)h))
			return -EBADMSG;
		if (h->type == VMSPAN_SAMPLE && !sample_fits((const void *)h))
			return -EBADMSG;
		at += h->slots * (u32)VMSPAN_SLOT;
		n++;
	}
	return records == UINT32_MAX || n == records ? 0 : -EBADMSG;
}
