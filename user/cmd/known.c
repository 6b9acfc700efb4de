/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/known.h"

#include "base/intern.h"
#include "model/snapshot.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A registry cannot hold more; a hostile recording could. */
#define NAMES_MAX (2u << 20)

/* Processes and their registries are numbered: 24 bits are plenty. */
static u64 space_of(struct known_names *k, u32 pid, u64 registry)
{
	u64 key = registry * 0x9e3779b97f4a7c15ull ^ pid, *at = map_get(&k->spaces, key);

	if (at)
		return *at;
	map_put(&k->spaces, key, k->spaces.len & 0xffffff);
	return (k->spaces.len - 1) & 0xffffff;
}

static struct known_name *place(struct known_names *k, u64 space, u8 type, u32 id)
{
	u64 key = space << 40 | (u64)type << 32 | id, *at = map_get(&k->index, key);
	struct known_name *grown;

	if (at)
		return &k->list[*at - 1];
	if (k->count == NAMES_MAX)
		return NULL;
	if ((k->count & (k->count - 1)) == 0) {
		grown = realloc(k->list, (k->count ? 2 * k->count : 1) * sizeof(*grown));
		if (!grown)
			return NULL;
		k->list = grown;
	}
	if (map_put(&k->index, key, k->count + 1))
		return NULL;
	k->list[k->count] = (struct known_name){ .type = type, .id = id };
	return &k->list[k->count++];
}

static int define(struct known_names *k, u64 space, const struct vmspan_def *d)
{
	struct known_name *n = place(k, space, d->h.type, d->h.id);
	char *name = malloc(d->name_len + 1u);

	if (!n || !name) {
		free(name);
		return -ENOMEM;
	}
	memcpy(name, d->groups + d->count, d->name_len);
	name[d->name_len] = 0;
	free(n->name);
	n->name = name;
	n->len = d->name_len;
	n->kind =
		d->h.type == VMSPAN_DEF_GROUP ? kind_name(d->kind) : kind_name(VMSPAN_COMPARTMENT);
	return 0;
}

int known_add(struct known_names *k, u32 pid, u64 registry, const void *data, u32 bytes)
{
	u64 space = space_of(k, pid, registry);
	u32 at = 0;
	int r = 0;

	while (at < bytes && !r) {
		const struct vmspan_head *h = (const void *)((const u8 *)data + at);

		if (h->type == VMSPAN_DEF_GROUP || h->type == VMSPAN_DEF_COMPARTMENT)
			r = define(k, space, (const void *)h);
		at += h->slots * (u32)VMSPAN_SLOT;
	}
	return r;
}

void known_each(const struct known_names *k, u8 type,
		void (*fn)(void *ctx, const struct known_name *n), void *ctx)
{
	struct intern *seen = intern_new();
	char text[64 + VMSPAN_NAME_MAX];
	u32 i;

	for (i = 0; seen && i < k->count; i++) {
		const struct known_name *n = &k->list[i];
		u32 before = intern_count(seen);
		int kind;

		if (n->type != type || !n->kind)
			continue;
		kind = snprintf(text, 64, "%s:", n->kind);
		memcpy(text + kind, n->name, n->len);
		if (intern_put(seen, text, (size_t)kind + n->len) == before)
			fn(ctx, n);
	}
	intern_free(seen);
}

static void count_one(void *ctx, const struct known_name *n)
{
	(void)n;
	++*(u32 *)ctx;
}

u32 known_count(const struct known_names *k, u8 type)
{
	u32 n = 0;

	known_each(k, type, count_one, &n);
	return n;
}

void known_free(struct known_names *k)
{
	u32 i;

	for (i = 0; i < k->count; i++)
		free(k->list[i].name);
	free(k->list);
	map_free(&k->index);
	map_free(&k->spaces);
	memset(k, 0, sizeof(*k));
}
