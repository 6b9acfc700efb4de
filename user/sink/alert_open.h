/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Events that go on: their trees so far, beside those of the stream, and which groups were told of in
 * each. What a look shows is gone with it: the next one shows it anew.
 */
#ifndef SINK_ALERT_OPEN_H
#define SINK_ALERT_OPEN_H

#include "sink/alert_tree.h"

#define OPEN_GROUPS 64 /* of one event that are told of */
#define OPEN_EVENTS \
	4096 /* that something was told of, and that have not been seen to end: the latest */

struct opens;

struct opens *opens_new(void);
void opens_free(struct opens *o);
/* A span of such an event, as if it ended now. trees: what has ended in it. 0 or -ENOMEM. */
int opens_span(struct opens *o, const struct trees *trees, const struct model_span *s);
/* The same of a look at its stack. */
int opens_sample(struct opens *o, const struct trees *trees, const struct model_sample *s);
/* The event, behind its spans: with `keep` its tree so far (refs 1), else NULL, as without memory. */
struct tree *opens_event(struct opens *o, const struct trees *trees, const struct model_event *e,
			 bool keep);
enum told_how {
	TOLD_ALREADY, /* or there is no memory for it */
	TOLD_FIRST,
	TOLD_LATER, /* it was, but was not notable then (struct alert) */
};
enum told_how opens_tell(struct opens *o, const struct model_event *e, const char *group,
			 bool notable);
/* An event has ended. */
void opens_end(struct opens *o, const struct model_event *e);
/* A process has. */
void opens_process(struct opens *o, u32 pid);

#endif
