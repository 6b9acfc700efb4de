/* SPDX-License-Identifier: BSD-2-Clause */
/* What is not as it should be with processes, said once for all of the same. */
#ifndef SINK_NOTES_H
#define SINK_NOTES_H

#include "base/out.h"
#include "model/snapshot.h"

#define NOTE_LINES 16 /* different ones that are said */

struct note_line {
	const struct snapshot_note *note; /* of the first process that has it */
	u32 more; /* other processes */
};

/* The different notes, in order, and behind them remarks; at most NOTE_LINES. How many. */
u32 note_lines(const struct snapshot *s, struct note_line to[NOTE_LINES]);
/* "note: python3.11 (42) and 2 more processes: TEXT". No line end. */
void note_text(struct out *o, const struct snapshot *s, const struct note_line *l);
/* "  -> ADVICE", or nothing. No line end. */
bool note_advice(struct out *o, const struct note_line *l);
/* For a view that prints no other notes, lines: why processes were left out, and what to do; where something is
 * lost, all that is wrong, since that may be why. */
void notes_at_end(struct out *o, const struct snapshot *s);

#endif
