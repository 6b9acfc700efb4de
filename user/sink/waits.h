/* SPDX-License-Identifier: BSD-2-Clause */
/* On whom groups waited (exact mode), for people and as JSON. */
#ifndef SINK_WAITS_H
#define SINK_WAITS_H

#include "base/json.h"
#include "model/stats.h"

/* The longest `most` of them, a line each; nothing when there are none.
 * 0 or -ENOMEM. */
int waits_text(struct out *o, const struct model_wait *w, u32 n, u32 most, unsigned int width);
/* "addon:b of helper (123)", without what is not known. Returns dst. */
#define WAITS_PEER_MAX 640
char *waits_peer_text(char *dst, size_t cap, const struct model_wait *w);
/* The key "waits" and an array. */
void waits_json(struct json *j, const struct model_wait *w, u32 n);

#endif
