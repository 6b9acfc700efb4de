/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Do the counters of the CPUs agree? Measured, not believed: readings are
 * passed to and fro between the first CPU and each of the others, and each
 * exchange bounds by how much the two can differ.
 */
#ifndef ATTACH_TSC_SYNC_H
#define ATTACH_TSC_SYNC_H

#include "base/err.h"

/*
 * What is certain about the other's counter minus ours, in cycles: it was read
 * between two readings of ours. All exchanges together: the tightest bounds.
 */
struct tsc_bound {
	s64 least, most; /* INT64_MIN, INT64_MAX: nothing yet */
};
void tsc_bound_add(struct tsc_bound *b, u64 before, u64 other, u64 after);

struct tsc_sync {
	u32 cpus; /* measured, the first one counted; 1: there was nothing to compare */
	u32 unmeasured; /* too busy, or time was up */
	u64 error_ns; /* no two differ by more */
	u64 apart_ns; /* some two differ by at least so much; 0: all may be equal */
	u32 worst[2]; /* those two */
};

/* Reads the counter of the CPU it runs on, `cpu`. */
typedef u64 (*tsc_counter)(u32 cpu);

/*
 * Takes 50 ms at most, on the CPUs this thread may use; where it runs is then as
 * before. counter NULL: the real one, which counts `hz` a second. 0, -ENODATA
 * (no pair could be measured), or other negative errno.
 */
int tsc_sync_measure(struct tsc_sync *s, tsc_counter counter, u64 hz);

/*
 * More than this apart, an interval that begins on one CPU and ends on another
 * is wrong by more than the marks themselves. Fills *err; `without`, a sentence, says what can be
 * done without.
 */
#define TSC_APART_NS 1000
bool tsc_sync_refuses(const struct tsc_sync *s, const char *without, struct err *err);

#endif
