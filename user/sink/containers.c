/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/containers.h"

#include "base/map.h"
#include "base/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
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

void container_keys(struct json *j, const struct snapshot_container *c)
{
	json_key_string(j, "runtime", c->runtime);
	json_key_string(j, "id", c->id);
	json_key_string(j, "name", c->name);
}

void container_json(struct json *j, const struct snapshot_container *c)
{
	if (!c->runtime)
		return;
	json_key_object(j, "container");
	container_keys(j, c);
	json_end_object(j);
}

static void add(struct container_sum *to, const struct snapshot_process *p)
{
	/* It may have been renamed; what is summed up has its name of before. */
	if (!to->container.runtime || !p->sum)
		to->container = p->container;
	to->number = p->container_number;
	to->processes += !p->ended && !p->sum;
	event_stats_add(&to->events, &p->events);
	gc_stats_add(&to->gc, &p->gc);
	ledger_add(&to->ledger, &p->ledger);
}

int container_sums_take(struct container_sums *c, const struct snapshot *s)
{
	struct map places = { 0 };
	int rc = 0;
	u32 i;

	*c = (struct container_sums){
		.list = calloc((size_t)s->process_count + 1, sizeof(*c->list)),
		.of = calloc((size_t)s->process_count + 1, sizeof(*c->of)),
	};
	if (!c->list || !c->of)
		rc = -ENOMEM;
	for (i = 0; i < s->process_count && !rc; i++) {
		const struct snapshot_process *p = &s->processes[i];
		u64 *at = map_get(&places, p->container_number);

		c->of[i] = UINT32_MAX;
		if (!p->container_number)
			continue;
		c->of[i] = at ? (u32)*at : c->count;
		if (!at)
			rc = map_put(&places, p->container_number, c->count++);
		add(&c->list[c->of[i]], p);
	}
	for (i = 0; i < s->process_count && !rc; i++)
		c->of[i] = (u32)min_u64(c->of[i], c->count);
	map_free(&places);
	if (rc)
		container_sums_free(c);
	return rc;
}

void container_sums_free(struct container_sums *c)
{
	free(c->list);
	free(c->of);
	*c = (struct container_sums){ 0 };
}
