/* SPDX-License-Identifier: BSD-2-Clause */
#include "model/item.h"

#include <errno.h>
#include <stddef.h>

/* Slots a known type must have; 0: any number. */
static const u8 slots_of[256] = {
	[VMSPAN_SPAN] = sizeof(struct vmspan_span) / VMSPAN_SLOT,
	[VMSPAN_EVENT] = sizeof(struct vmspan_event) / VMSPAN_SLOT,
	[VMSPAN_GC] = sizeof(struct vmspan_gc) / VMSPAN_SLOT,
	[VMSPAN_BLOCK] = sizeof(struct vmspan_block) / VMSPAN_SLOT,
	[VMSPAN_INPUT] = sizeof(struct vmspan_mark) / VMSPAN_SLOT,
	[VMSPAN_FRAME] = sizeof(struct vmspan_mark) / VMSPAN_SLOT,
	[VMSPAN_VALUE] = sizeof(struct vmspan_mark) / VMSPAN_SLOT,
};

static bool is_def(u8 type)
{
	return type >= VMSPAN_DEF_GROUP && type <= VMSPAN_DEF_LABEL;
}

static bool def_fits(const struct vmspan_def *d)
{
	size_t size = d->h.slots * (size_t)VMSPAN_SLOT;

	return d->count <= VMSPAN_GROUPS_MAX &&
	       sizeof(*d) + d->count * sizeof(d->groups[0]) + d->name_len <= size;
}

int batch_check(const void *data, u32 bytes, u32 records)
{
	const u8 *p = data;
	u32 at = 0, n = 0;

	if (bytes % VMSPAN_SLOT)
		return -EBADMSG;
	for (; at < bytes; n++) {
		const struct vmspan_head *h = (const void *)(p + at);
		u32 size = h->slots * (u32)VMSPAN_SLOT;

		if (!size || size > bytes - at)
			return -EBADMSG;
		if (slots_of[h->type] && slots_of[h->type] != h->slots)
			return -EBADMSG;
		if (is_def(h->type) && !def_fits((const void *)h))
			return -EBADMSG;
		at += size;
	}
	return records == UINT32_MAX || records == n ? 0 : -EBADMSG;
}
