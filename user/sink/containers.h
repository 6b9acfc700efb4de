/* SPDX-License-Identifier: BSD-2-Clause */
/* Containers in words and in JSON; of what is traced and of what could be. */
#ifndef SINK_CONTAINERS_H
#define SINK_CONTAINERS_H

#include "base/json.h"
#include "model/snapshot.h"

/* "podman:web", fit for a terminal; where no name is known with the first digits of the id, cut at the end; "": none.
 * Returns `to`. */
#define CONTAINER_LABEL_MAX 256
const char *container_label(const struct snapshot_container *c, char to[CONTAINER_LABEL_MAX]);
/* The key "container" of a process; nothing where there is none. */
void container_json(struct json *j, const struct snapshot_container *c);

#endif
