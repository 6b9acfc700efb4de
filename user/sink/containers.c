/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/containers.h"

#include "base/text.h"

#include <stdio.h>
#include <string.h>

/* As many digits of an id as Docker and Podman show. */
#define ID_SHOWN 12

const char *container_label(const struct snapshot_container *c, char to[CONTAINER_LABEL_MAX])
{
	char runtime[64];
	size_t n;

	*to = 0;
	if (!c->runtime)
		return to;
	text_clean(runtime, sizeof(runtime), c->runtime, strlen(c->runtime));
	n = (size_t)snprintf(to, CONTAINER_LABEL_MAX, "%s:", runtime);
	if (*c->name)
		text_clean(to + n, CONTAINER_LABEL_MAX - n, c->name, strlen(c->name));
	else
		text_clean(to + n, CONTAINER_LABEL_MAX - n, c->id, strnlen(c->id, ID_SHOWN));
	return to;
}

void container_json(struct json *j, const struct snapshot_container *c)
{
	if (!c->runtime)
		return;
	json_key_object(j, "container");
	json_key_string(j, "runtime", c->runtime);
	json_key_string(j, "id", c->id);
	json_key_string(j, "name", c->name);
	json_end_object(j);
}
