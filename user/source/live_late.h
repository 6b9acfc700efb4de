/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What processes marked before their marks were on: what the SDK says of what is loaded, and when a look found it.
 * What returns an int: 0, or l->failed.
 */
#ifndef SOURCE_LIVE_LATE_H
#define SOURCE_LIVE_LATE_H

#include "source/live_int.h"

/* A copy of the SDK that has said where it is, and that its marks are off, and that no look has seen since. */
struct unseen_copy {
	u64 at; /* address of its struct vmspan_registry */
	u32 which; /* `loaded` in that */
	bool waits;
	u64 said_ns; /* CLOCK_MONOTONIC */
};

/* Nobody could be told of its marks for a while: a loss. */
int process_missed(struct live *l);
/* Would what begins in it now wait for this tracer? To be asked before it is armed: then it may be gone. */
bool process_waits(const struct process *p);
/* Marks have been turned on in one more file. If its SDK had waited for that in vain, it is a loss. */
int process_armed(struct live *l, struct process *p, u64 mono_ns);
/* Which of the copies of the SDK that ever lay there it is: `loaded` in its struct vmspan_registry. 0: not known. */
u32 copy_which(u32 pid, u64 at);
/* A look has come to an end, with r as process_attach() has it. */
int process_looked(struct live *l, struct process *p, int r);
/* The SDK says that it has been loaded: a look is due. */
int process_loaded(struct live *l, const struct wire_life *w);
/* The same of a process that is known, and will be looked at. */
int process_loads(struct live *l, struct process *p, const struct wire_life *w);
/* It, or its program, has ended: what nobody came to see is a loss. */
int process_missed_by_its_end(struct live *l, const struct process *p, u64 end_ns);
/* process_look() at the end of the trace, of those where something has been loaded that nobody has looked at. */
int process_look_last(struct live *l);

#endif
