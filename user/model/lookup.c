/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of what has not been measured yet. */
#include "model/model_priv.h"

/* A recording may have a chain of any length; nobody forks so deep before the first batch. */
#define PARENTS 64

static const struct comp *find_comp(const struct proc *p, u64 address, u32 id,
				    const struct registry **r)
{
	u32 i, n;

	/* A forked child's registry is made with its first batch. */
	for (n = 0; p && n < PARENTS; n++, p = p->parent) {
		for (i = 0; i < p->registry_len; i++) {
			*r = p->registries[i];
			if ((*r)->address == address)
				return id < (*r)->comp_len ? (*r)->comps[id] : NULL;
		}
	}
	return NULL;
}

static const struct proc *proc_of(const struct model *m, u32 pid)
{
	const u64 *at = map_get(&m->set.by_pid, pid);

	return at ? (const struct proc *)(uintptr_t)*at : NULL;
}

const char *model_compartment(const struct model *m, u32 pid, u64 address, u32 compartment)
{
	const struct proc *p = proc_of(m, pid);
	const struct registry *r;
	const struct comp *c = p ? find_comp(p, address, compartment, &r) : NULL;

	return c ? registry_name(&m->set, c->name) : NULL;
}

const char *model_label(const struct model *m, u32 pid, u64 address, u32 label)
{
	const struct proc *p = proc_of(m, pid);
	u32 i, n;

	for (n = 0; p && n < PARENTS; n++, p = p->parent)
		for (i = 0; i < p->registry_len; i++)
			if (p->registries[i]->address == address)
				return registry_label(&m->set, p->registries[i], label);
	return "";
}

const char *model_group_of(const struct model *m, u32 pid, u64 address, u32 compartment)
{
	const struct proc *p = proc_of(m, pid);
	const struct registry *r;
	const struct comp *c = p ? find_comp(p, address, compartment, &r) : NULL;
	u32 i;

	for (i = 0; c && i < c->group_count; i++) {
		u32 id = c->groups[i];

		/* Rows belong to a process: a parent's would not fit here. */
		if (id < r->group_len && r->groups[id].row < p->row_len &&
		    r->groups[id].row != ROW_NONE)
			return registry_name(&m->set, p->rows[r->groups[id].row].name);
	}
	return c ? registry_name(&m->set, c->name) : NULL;
}
