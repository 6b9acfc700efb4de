/* SPDX-License-Identifier: BSD-2-Clause */
#include "sdk/vmspan.h"

#include "tools/host/mark.h"

#include <stdio.h>
#include <stdlib.h>

#include "tools/host/util.h"

static const char *const label_names[LABELS] = {
	[LABEL_LOAD] = "load",
	[LABEL_TIMER] = "timer",
	[LABEL_INPUT] = "input",
	[LABEL_FRAME] = "frame",
	[LABEL_MESSAGE] = "message",
	[LABEL_IDLE] = "idle",
	[LABEL_DIALOG] = "dialog",
	[LABEL_DEEP] = "deep",
	[LABEL_BUSY] = "busy",
	[LABEL_CLICK] = "click",
	[LABEL_KEY] = "key",
	[LABEL_CLOSE] = "close",
	[LABEL_SHOWN] = "shown",
	[LABEL_HEAP] = "heap bytes",
	[LABEL_GC_IDLE] = "idle",
	[LABEL_GC_ALLOCATION] = "allocation",
	[LABEL_GC_REQUEST] = "request",
	[LABEL_DISK] = "disk",
};

static u32 defined(struct marks *m, u32 id)
{
	if (!id)
		die("no memory for another definition");
	if (m->running)
		m->ledger->counts.definitions++;
	else
		m->before++;
	return id;
}

void marks_free(struct marks *m)
{
	u32 i;

	for (i = 0; i < m->group_count; i++)
		free(m->groups[i]);
	for (i = 0; i < m->compartment_count; i++)
		free(m->compartments[i]);
	free(m->groups);
	free(m->compartments);
}

void marks_init(struct marks *m, struct ledger *l)
{
	int i;

	*m = (struct marks){ .groups = xcalloc(1, sizeof(*m->groups)),
			     .group_count = 1,
			     .ledger = l };
	for (i = 0; i < LABELS; i++)
		m->labels[i] = defined(m, vmspan_label(label_names[i]));
}

struct group *marks_group(struct marks *m, enum vmspan_kind kind, const char *name)
{
	struct group *g = xcalloc(1, sizeof(*g));

	g->id = defined(m, vmspan_group(kind, name));
	g->index = m->group_count;
	g->kind = kind;
	snprintf(g->name, sizeof(g->name), "%s", name);
	m->groups = xgrow(m->groups, m->group_count + 1, sizeof(*m->groups));
	m->groups[m->group_count++] = g;
	return g;
}

void marks_rename(struct marks *m, struct group *g, const char *name)
{
	vmspan_group_rename(g->id, g->kind, name);
	defined(m, g->id);
	snprintf(g->name, sizeof(g->name), "%s", name);
}

struct compartment *marks_compartment(struct marks *m, const char *name,
				      const struct group *const *groups, u32 count)
{
	struct compartment *c = xcalloc(1, sizeof(*c));
	u32 ids[VMSPAN_GROUPS_MAX];

	for (c->count = 0; c->count < count && c->count < VMSPAN_GROUPS_MAX; c->count++) {
		c->groups[c->count] = groups[c->count];
		ids[c->count] = groups[c->count]->id;
	}
	c->id = defined(m, vmspan_compartment(name, ids, c->count));
	m->compartments =
		xgrow(m->compartments, m->compartment_count + 1, sizeof(*m->compartments));
	m->compartments[m->compartment_count++] = c;
	return c;
}

void mark_event_begin(const struct marks *m, struct ledger *l, enum label what)
{
	ledger_event_begin(l);
	vmspan_event_begin(m->labels[what]);
}

void mark_event_end(struct ledger *l)
{
	vmspan_event_end();
	ledger_event_end(l);
}

void mark_enter(struct ledger *l, const struct compartment *c)
{
	ledger_enter(l, c);
	vmspan_enter(c->id);
}

void mark_leave(struct ledger *l, const struct compartment *c)
{
	vmspan_leave(c->id);
	ledger_leave(l, c);
}

void mark_gc_begin(const struct marks *m, struct ledger *l, enum label why, u64 bytes)
{
	ledger_stay_begin(l, VMSPAN_ID_GC);
	vmspan_gc_begin(m->labels[why], bytes);
}

void mark_gc_end(struct ledger *l, u64 before, u64 after)
{
	vmspan_gc_end(after);
	ledger_stay_end(l, VMSPAN_ID_GC, before > after ? before - after : 0);
}

void mark_block_begin(const struct marks *m, struct ledger *l, enum label what, u32 peer)
{
	ledger_stay_begin(l, VMSPAN_ID_BLOCK);
	vmspan_block_begin(m->labels[what], peer);
}

void mark_block_end(struct ledger *l)
{
	vmspan_block_end();
	ledger_stay_end(l, VMSPAN_ID_BLOCK, 0);
}

void mark_input(const struct marks *m, struct ledger *l, enum label what)
{
	l->counts.inputs++;
	vmspan_input(m->labels[what]);
}

void mark_frame(const struct marks *m, struct ledger *l, enum label what)
{
	l->counts.frames++;
	vmspan_frame(m->labels[what]);
}

void mark_value(const struct marks *m, struct ledger *l, enum label what, s64 value)
{
	l->counts.values++;
	vmspan_value(m->labels[what], value);
}
