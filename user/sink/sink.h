/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What sinks share: the meaning of a report's head, sort keys, selection.
 * Sinks see model types only.
 */
#ifndef SINK_SINK_H
#define SINK_SINK_H

#include "base/json.h"
#include "model/model.h"
#include "model/snapshot.h"

/* Where the figures come from; printed as "source" in JSON. */
struct report_source {
	const char *kind; /* "live" or "recording" */
	const char *file; /* or NULL */
	const char *method; /* "exact" or "sampled" */
	const char *nested; /* "drop" or "suspend" */
	const char *migrated; /* "discard", "keep" or "split" */
	u64 cycles_hz;
	const char *note; /* what is wrong with the recording, or NULL */
	bool histograms; /* groups show theirs */
	u64 interval_ns; /* of a stream of objects: time since the last; 0: none */
};

/* Selection and order of group rows. */
struct view {
	const char *sort; /* a key of sort_keys[]; NULL: "self" */
	bool reverse;
	/* Group filter, or NULL: fnmatch(3) on "kind:name", or, when it holds
	 * no ':', on the name alone. */
	const char *glob;
	u32 limit; /* rows at most; 0: all */
};

/* The keys `--sort` takes, NULL-terminated: self, wall, cpu, max, p99, ... */
extern const char *const sort_keys[];
bool sort_key_valid(const char *key);
/* What rows are sorted by, largest first; 0 for every row by "name". NULL:
 * "self". */
u64 sort_key_of(const char *key, const struct group_stats *s);
/* Does the group "kind:name" pass the filter? NULL lets all pass. */
bool group_matches(const char *name, const char *glob);
/* A quantile of a group's wall by event; never above its maximum, as the edge
 * of a histogram's bucket may be. */
u64 group_quantile(const struct group_stats *s, unsigned int permille);
/* Groups of s selected and sorted: an array of pointers to free(), *n long. */
const struct snapshot_group **view_rows(const struct snapshot *s, const struct view *v, u32 *n);

/* One JSON object, schema 1, without a line end. */
void report_json(struct json *j, const struct snapshot *s, const struct report_source *src,
		 const struct view *v);
/* The same for people. width: columns of the terminal; color: may use SGR. */
void report_text(struct out *o, const struct snapshot *s, const struct report_source *src,
		 const struct view *v, unsigned int width, bool color);

#endif
