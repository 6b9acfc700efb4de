/* SPDX-License-Identifier: BSD-2-Clause */
/* What the parts of the Firefox exporter share. For firefox*.c only. */
#ifndef SINK_FIREFOX_PRIV_H
#define SINK_FIREFOX_PRIV_H

#include "sink/firefox.h"
#include "sink/samples.h"

#define MS_DIGITS 6 /* times are ms with all their ns */
/* The loader keeps categories in bytes. Groups beyond go by their kinds. */
#define FIREFOX_GROUPS_MAX 200

struct firefox {
	struct slices slices; /* first: its observer's ctx is ours */
	struct json json;
	struct export_config config;
	int rc; /* of reading back */
	u64 row; /* of the column under way */
	/* Groups of sampled code, names by number; each has a category. */
	u32 groups[FIREFOX_GROUPS_MAX];
	u32 group_count;
	struct map group_of; /* name -> index into groups */
};

static inline void key_empty(struct json *j, const char *key)
{
	json_key_array(j, key);
	json_end_array(j);
}

/* ---- Sampled stacks, and the tables of functions (firefox_samples.c) ---- */

/* Once everything has come, before anything is written. 0 or -ENOMEM. */
int firefox_find_groups(struct firefox *f);
/* The categories of sampled groups, behind firefox_categories(). */
void firefox_group_categories(struct firefox *f);
/* "samples" of a thread; thread < 0: of none. */
void firefox_samples(struct firefox *f, s64 thread);
/* "shared": tables and strings that all threads use. */
void firefox_shared(struct firefox *f);

#endif
