/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The event loop of a main thread: a queue of tasks by deadline. Each task is
 * one turn. In virtual time the clock jumps to the next deadline; in real
 * time the loop waits for it.
 */
#ifndef HOST_LOOP_H
#define HOST_LOOP_H

#include "base/types.h"

struct world;
struct compartment;

enum task_kind {
	TASK_LOAD, /* a page has come: its title is known */
	TASK_TIMER, /* a function that a script left */
	TASK_INPUT, /* the user clicks or types; comes again and again */
	TASK_FRAME, /* a frame is painted; comes again */
	TASK_IDLE, /* a collection between the turns of scripts; comes again */
	TASK_MESSAGE, /* a worker has answered */
	TASK_DIALOG, /* a page opens a dialog: a nested loop */
	TASK_CLOSE, /* the user closes the dialog */
	TASK_DEEP, /* compartments nested as deep as asked */
};

struct task {
	u64 due; /* us since the loop began */
	u64 order; /* of arrival, between equals */
	enum task_kind kind;
	u32 number; /* timer: of the kept function; load: page */
	struct compartment *to;
	struct job *job; /* owned */
};

struct loop {
	struct task *heap;
	size_t count, cap;
	u64 order, now; /* now: us since the loop began */
	u64 epoch; /* real time: CLOCK_MONOTONIC when it began, ns */
	u32 timers; /* functions left so far */
	bool real;
};

/* `turns` turns, or until a stop is requested. */
void loop_run(struct world *w);
/* A dialog: turns of a loop inside the current turn until the user closes it. */
void loop_dialog(struct world *w);
/* A task `ms` from now. */
void loop_post(struct world *w, struct task t, double ms);
/* Milliseconds since the loop began. */
double loop_clock(const struct world *w);
void loop_free(struct loop *l);

#endif
