/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Looks at the stacks of sampled VMs, put aside by thread beside the slices:
 * each stack and each function once, the looks themselves in the spool. For
 * formats that want tables of functions and stacks.
 */
#ifndef SINK_SAMPLES_H
#define SINK_SAMPLES_H

#include "sink/slices.h"

/* Stacks kept apart; what is beyond counts for the stack around it. */
#define SAMPLES_STACKS_MAX (1u << 20)

enum sampled_kind {
	SAMPLED_CODE, /* a function of the program */
	SAMPLED_NATIVE, /* the thread ran, and there was no frame */
	SAMPLED_WAITING, /* innermost of a thread that waited */
	SAMPLED_GC, /* innermost of one that collected */
	SAMPLED_KINDS
};

/* Names are ids of struct slices.names. */
struct sampled_frame {
	u32 name; /* "function (file)", or "(waiting)" and the like */
	u32 group; /* "kind:name"; of what is no code that of "" */
	u8 kind; /* enum sampled_kind */
};

struct sampled_stack {
	u32 caller; /* the stack around it, of a lower number; 0: none */
	u32 frame; /* innermost: index into frames */
};

/* A look. What it stands for ended at `time`. */
struct sampled {
	u64 time; /* ns since the start of the trace; never falls in a thread */
	u64 weight_ns;
	u32 stack; /* index into stacks, never 0 */
	u32 iteration; /* of the event it is in */
	bool cut; /* outer frames are left out */
};

/* Of struct slices.samples. All of it is set once every item has come. */
struct samples {
	struct sampled_frame *frames;
	struct sampled_stack *stacks; /* [0] is no stack */
	u32 frame_count, stack_count;
	/* private */
	u32 frame_cap, stack_cap;
	struct map frame_of; /* kind << 62 | group << 32 | name */
	struct map stack_of; /* caller << 32 | frame */
	struct map stream_of; /* thread index -> index of streams */
	struct samples_stream *streams;
	u32 stream_count, stream_cap;
};

/* After slices_init(): looks are put aside too, and freed with the slices. 0 or
 * -ENOMEM. */
int samples_want(struct slices *s);
/* What slices_observer does with a look. */
int samples_take(struct slices *s, const struct model_sample *m);
void samples_free(struct samples *s); /* NULL is allowed */

/* How many looks there were at a thread's stack. */
u64 samples_count(const struct slices *s, u32 thread);
typedef int (*sampled_fn)(void *ctx, const struct sampled *look);
/* The looks at a thread's stack in the order of time. */
int samples_each(struct slices *s, u32 thread, sampled_fn fn, void *ctx);
/* Frames of a stack, outermost first, into `to` of SAMPLED_DEPTH; how many. */
#define SAMPLED_DEPTH (VMSPAN_DEPTH_MAX + 1)
u32 samples_path(const struct samples *s, u32 stack, u32 *to);

/* What a look says of the innermost: SAMPLED_CODE when its frames say it. */
enum sampled_kind samples_kind(const struct model_sample *m);
/* "(waiting)"; NULL for code. */
const char *sampled_word(enum sampled_kind kind);

#endif
