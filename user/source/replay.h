/* SPDX-License-Identifier: BSD-2-Clause */
/* A recording as a source. */
#ifndef SOURCE_REPLAY_H
#define SOURCE_REPLAY_H

#include "source/source.h"

/* Opens a recording. NULL with *err filled. A recording that is cut or was
 * never finished is read up to its last whole chunk; replay_note() says so. */
struct source *replay_open(const char *path, struct err *err);
/* After poll() returned 0: what is wrong with the recording, in words, or
 * NULL when it is whole. Owned by the source. */
const char *replay_note(const struct source *s);

#endif
