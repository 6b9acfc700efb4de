/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The flight recorder of `watch --dump DIR`: a ring recording in memory, from
 * which the seconds around an alert are written to a file. Limited in number,
 * size and rate. Time is the stream's.
 */
#ifndef CMD_WATCH_DUMP_H
#define CMD_WATCH_DUMP_H

#include "cmd/output.h"
#include "source/source.h"

#define DUMP_RING_BYTES (16ull << 20)
#define DUMP_BEFORE_NS (10 * NSEC_PER_SEC)
#define DUMP_AFTER_NS (2 * NSEC_PER_SEC)
#define DUMP_EVERY_NS (60 * NSEC_PER_SEC)
#define DUMP_MAX 16

struct dump_config {
	const char *dir; /* borrowed; made if it is not there */
	u64 ring_bytes, before_ns, after_ns, every_ns; /* 0: default; every_ns 1: no limit */
	u32 max; /* 0: default. The oldest of its kind makes room */
	void (*clock)(enum source_clock clock,
		      struct item_clock *now); /* as in struct rec_options */
};

struct dump_counts {
	u64 written, failed;
	u64 skipped; /* alerts too soon after another's dump */
	u64 removed; /* old ones */
};

struct dump;

struct dump *dump_open(const struct dump_config *config, const struct source_info *info,
		       struct err *err);
/* An item_fn; ctx is the recorder. Never fails: an error is told once and the
 * watch goes on without it. */
int dump_item(void *d, const struct item *it);
/*
 * An alert: plans a dump around its event. Returns the path that the file will
 * have, valid until the next call, or NULL if there will be none. real_ns: of
 * the event's end, for the name.
 */
const char *dump_alert(struct dump *d, const char *group, u64 begin_ns, u64 end_ns, u64 real_ns);
/* When dump_advance() is wanted, ns of the stream; 0: not. */
u64 dump_due(const struct dump *d);
/* Everything before ns has been seen: writes what is due. */
void dump_advance(struct dump *d, u64 ns);
/* The end of the stream: writes what was planned, whole or not. */
void dump_flush(struct dump *d);
void dump_counts(const struct dump *d, struct dump_counts *c);
void dump_free(struct dump *d);

#endif
