/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A source of canonical items: a live trace or a recording.
 */
#ifndef SOURCE_SOURCE_H
#define SOURCE_SOURCE_H

#include "base/err.h"
#include "model/item.h"

enum source_clock {
	CLOCK_TSC = 1, /* the CPU's counter (x86-64 TSC, aarch64 cntvct) */
	CLOCK_MONO = 2, /* CLOCK_MONOTONIC: 1 cycle is 1 ns */
};

/* What a report says about where its figures come from. */
struct source_info {
	enum source_clock clock;
	u64 cycles_hz; /* nominal; the clock items say the exact rate */
	u32 cycles_step; /* the counter's times mostly differ by multiples; 0: not known */
	bool sampled; /* method: sampled, else exact */
	bool exact; /* the scheduler's record is in the stream */
	u64 start_mono_ns, start_real_ns;
	char host[64]; /* node name */
	char tool[32]; /* version that captured it */
};

struct source {
	const struct source_ops *ops;
	struct source_info info;
};

struct source_ops {
	/*
	 * Hands items to fn until there are none, or a bounded amount of them
	 * has been handed over. Waits for the first at most timeout_ms (-1: no
	 * limit; 0: not at all); returns early when stop_fd (-1: none) becomes
	 * readable. Returns 1 when there may be more, 0 at the end of the
	 * stream, negative errno on failure or what fn returned.
	 */
	int (*poll)(struct source *s, int timeout_ms, int stop_fd, item_fn fn, void *ctx,
		    struct err *err);
	/*
	 * Ends the capture: nothing new is produced, what is under way is
	 * handed to fn, then the final losses and a clock item. A recording
	 * needs none of it. 0 or negative errno.
	 */
	int (*stop)(struct source *s, item_fn fn, void *ctx, struct err *err);
	void (*free)(struct source *s);
};

static inline int source_poll(struct source *s, int timeout_ms, int stop_fd, item_fn fn, void *ctx,
			      struct err *err)
{
	return s->ops->poll(s, timeout_ms, stop_fd, fn, ctx, err);
}

static inline int source_stop(struct source *s, item_fn fn, void *ctx, struct err *err)
{
	return s->ops->stop(s, fn, ctx, err);
}

static inline void source_free(struct source *s)
{
	if (s)
		s->ops->free(s);
}

#endif
