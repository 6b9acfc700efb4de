/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is not as it should be with processes, for `watch` and `stat`, which go on: on stderr, once of each process, and
 * again where it was right in between.
 */
#ifndef CMD_WATCH_NOTES_H
#define CMD_WATCH_NOTES_H

#include "model/item.h"
#include "model/snapshot.h"

/* All 0 to begin with. */
struct watch_notes {
	struct intern *said; /* owned, or NULL: what held when they were said last */
	bool news; /* a note has gone by */
};

void watch_notes_item(struct watch_notes *n, const struct item *it);
/* Says those that are new. 0 or -ENOMEM. */
int watch_notes_say(struct watch_notes *n, const struct snapshot *s);
/* The same where a note has gone by. */
int watch_notes_news(struct watch_notes *n, struct model *m);
void watch_notes_free(struct watch_notes *n);

#endif
