/* SPDX-License-Identifier: BSD-2-Clause */
/* Definitions that the source makes itself, as records. */
#ifndef SOURCE_DEFS_H
#define SOURCE_DEFS_H

#include "base/record.h"
#include "base/types.h"

struct def_of {
	u8 type, kind, flags;
	u32 id;
	u32 group; /* a compartment's, or the compartment of a frame; 0: none */
	const char *name;
	size_t len; /* of a longer name VMSPAN_NAME_MAX bytes are taken */
};

/* Bytes that one takes at most. */
#define DEF_ROOM                                                                         \
	((sizeof(struct vmspan_def) + sizeof(u32) + VMSPAN_NAME_MAX + VMSPAN_SLOT - 1) / \
	 VMSPAN_SLOT * VMSPAN_SLOT)

/* Writes it to a place at a multiple of 8 bytes. How many it takes. */
u32 def_write(void *to, const struct def_of *d);

#endif
