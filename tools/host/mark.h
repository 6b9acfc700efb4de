/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The marks of the host: each goes to the SDK and into the thread's own
 * ledger. mark.c is the only file of the host that sees the SDK.
 */
#ifndef HOST_MARK_H
#define HOST_MARK_H

#include "tools/host/ledger.h"

enum label {
	LABEL_LOAD, /* kinds of turns */
	LABEL_TIMER,
	LABEL_INPUT,
	LABEL_FRAME,
	LABEL_MESSAGE,
	LABEL_IDLE,
	LABEL_DIALOG,
	LABEL_DEEP,
	LABEL_BUSY,
	LABEL_CLICK, /* inputs */
	LABEL_KEY,
	LABEL_CLOSE,
	LABEL_SHOWN, /* frames */
	LABEL_HEAP, /* values */
	LABEL_GC_IDLE, /* reasons of collections */
	LABEL_GC_ALLOCATION,
	LABEL_GC_REQUEST,
	LABEL_DISK, /* blocking calls */
	LABELS
};

/* All that is defined. One thread defines. */
struct marks {
	u32 labels[LABELS];
	struct group **groups; /* by index; owned. 0, the top group, is NULL */
	u32 group_count;
	struct compartment **compartments; /* owned */
	u32 compartment_count;
	u64 before; /* definitions made before the run: not in its stream */
	bool running; /* definitions are counted in the ledger */
	struct ledger *ledger; /* of the thread that defines */
};

void marks_init(struct marks *m, struct ledger *l);
void marks_free(struct marks *m);
/* Both live until marks_free. Names end at VMSPAN_NAME_MAX bytes. */
struct group *marks_group(struct marks *m, enum vmspan_kind kind, const char *name);
void marks_rename(struct marks *m, struct group *g, const char *name);
struct compartment *marks_compartment(struct marks *m, const char *name,
				      const struct group *const *groups, u32 count);

void mark_event_begin(const struct marks *m, struct ledger *l, enum label what);
void mark_event_end(struct ledger *l);
void mark_enter(struct ledger *l, const struct compartment *c);
void mark_leave(struct ledger *l, const struct compartment *c);
void mark_gc_begin(const struct marks *m, struct ledger *l, enum label why, u64 bytes);
void mark_gc_end(struct ledger *l, u64 before, u64 after);
void mark_block_begin(const struct marks *m, struct ledger *l, enum label what, u32 peer);
void mark_block_end(struct ledger *l);
void mark_input(const struct marks *m, struct ledger *l, enum label what);
void mark_frame(const struct marks *m, struct ledger *l, enum label what);
void mark_value(const struct marks *m, struct ledger *l, enum label what, s64 value);

#endif
