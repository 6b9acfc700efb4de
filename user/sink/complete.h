/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How complete a figure is, decided in one place for every sink.
 *
 * A lost record may have been of any group, and the kernel's counts do not
 * say whose it was. So one loss makes every group of the trace incomplete; so does
 * a process that was asked for and is not traced, or not all of it, and time of stock
 * VMs in which nobody looked at a stack. A group is also incomplete when an event it took part in lacks data.
 */
#ifndef SINK_COMPLETE_H
#define SINK_COMPLETE_H

#include "model/snapshot.h"

u64 lost_records(const struct loss_stats *l);
/* Of them those that are such: some losses are of what nobody can count. */
u64 lost_counted(const struct loss_stats *l);
/* Was something lost of which nobody knows how many records it was? */
bool lost_uncounted(const struct loss_stats *l);
/* Batches count too: a loss may be known by them alone. */
/* Has something been lost for the cause of which nobody knows how many records it had? Of batches it is known where any
 * record of that cause is counted; of a recording never. */
bool lost_unknown(const struct loss_stats *l, enum loss_cause cause);
bool lost_any(const struct loss_stats *l);
/* Of sampled events: is there time that no look at a stack stands for? A hundredth of all is none. */
bool unseen_time(const struct snapshot *s);
bool snapshot_complete(const struct snapshot *s);
/* The causes for which events lack data, in words for machines ("records") and of one event, for people: "records
 * of it are missing". */
const char *missing_name(enum missing missing);
const char *missing_text(enum missing missing);
/* g: of a group of s. */
bool group_complete(const struct snapshot *s, const struct group_stats *g);

#endif
