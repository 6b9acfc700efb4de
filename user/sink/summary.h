/* SPDX-License-Identifier: BSD-2-Clause */
/* Sentences about a snapshot that more than one sink says. No line ends. */
#ifndef SINK_SUMMARY_H
#define SINK_SUMMARY_H

#include "base/out.h"
#include "model/snapshot.h"

/* "demohost (4242) and 2 more processes" */
void summary_target(struct out *o, const struct snapshot *s);
/* "complete", "complete (a hypervisor took 1.20 ms of CPU time)" or "INCOMPLETE: 3 of 200 events lack data (a
 * hypervisor took 1.20 ms of their CPU time), 1,280 records lost, 2 processes left out, in whole or in part" */
void summary_complete(struct out *o, const struct snapshot *s);
/* "2 processes left out, in whole or in part"; nothing where none is. */
void summary_left_out(struct out *o, const struct snapshot *s);
/* "not measured: collections for 4.20 s, and not now". False: all was, and nothing is said. */
bool summary_parts(struct out *o, const struct snapshot *s);
/* "; 2 events had not ended: at most 5.01 s so far in addon:x"; nothing where all have. */
void summary_unfinished(struct out *o, const struct snapshot *s);
/* "; 1 event goes on: 3.09 s so far in plugin:hog"; nothing where none does. */
void summary_open(struct out *o, const struct snapshot *s);
/* "marking took about 26.1 ms of CPU time: 1,234,567 marks, 312 traps". False: it is not known, and
 * nothing is said. */
bool summary_cost(struct out *o, const struct snapshot *s);
/* Why no more is known of one: "the process ended". */
const char *unfinished_why_text(enum unfinished_why why);
/* "1,280 records lost because the ring buffer was full, ..."; nothing when
 * nothing was lost. */
void summary_losses(struct out *o, const struct loss_stats *l);
/* Names the worst group and what is bad about it. */
void summary_worst(struct out *o, const struct snapshot *s, bool interval);
/* Where much is charged to nobody, the group to blame may be another one:
 * says so after `before`, or prints nothing. */
void summary_nobody(struct out *o, const struct ledger *l, const char *before);
/* What is bad about one group: a sentence that begins after its name. */
void summary_group(struct out *o, const struct snapshot *s, const struct snapshot_group *g,
		   bool interval);
/* The group a person should look at first, or NULL. */
const struct snapshot_group *worst_group(const struct snapshot *s);

/* Top and own groups hold what others hold too: they say less. */
bool group_general(const struct snapshot_group *g);
/*
 * How much a group is to blame. Callers are charged for what they call, so
 * the largest wall would blame whoever stands outermost. What counts is a
 * group's own time, and how much of its wall that is.
 */
double group_blame(const struct group_stats *g);

#endif
