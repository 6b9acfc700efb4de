/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/defs.h"

#include <string.h>

u32 def_write(void *to, const struct def_of *d)
{
	struct vmspan_def *r = to;
	size_t len = d->len < VMSPAN_NAME_MAX ? d->len : VMSPAN_NAME_MAX;
	u32 count = d->group != 0;
	size_t slots = (sizeof(*r) + count * sizeof(u32) + len + VMSPAN_SLOT - 1) / VMSPAN_SLOT;

	memset(r, 0, slots * VMSPAN_SLOT);
	r->h = (struct vmspan_head){ .type = d->type, .slots = (u8)slots, .id = d->id };
	r->kind = d->kind;
	r->flags = d->flags;
	r->count = (u8)count;
	r->name_len = (u8)len;
	if (count)
		r->groups[0] = d->group;
	memcpy(r->groups + count, d->name, len);
	return (u32)slots * VMSPAN_SLOT;
}
