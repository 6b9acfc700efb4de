/* SPDX-License-Identifier: BSD-2-Clause */
/* On whom groups waited (exact mode), for people and as JSON. */
#ifndef SINK_WAITS_H
#define SINK_WAITS_H

#include "base/json.h"
#include "model/stats.h"

/* How many there are of the groups that match; NULL: of all. */
u32 waits_count(const struct model_wait *w, u32 n, const char *glob);
/* The longest `most` of those, a line each; nothing when there are none. 0 or -ENOMEM. */
int waits_text(struct out *o, const struct model_wait *w, u32 n, const char *glob, u32 most,
	       unsigned int width);
/* "addon:b of helper (123)", without what is not known. Returns dst. */
#define WAITS_PEER_MAX 640
char *waits_peer_text(char *dst, size_t cap, const struct model_wait *w);
/* The key "waits" and an array. */
void waits_json(struct json *j, const struct model_wait *w, u32 n);

#endif
