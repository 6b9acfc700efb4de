/* SPDX-License-Identifier: BSD-2-Clause */
/* What the tracer says of a process: what is not as it should be, and which container it runs in. */
#include "model/registry.h"

#include <errno.h>
#include <stdlib.h>

bool proc_left_out(const struct proc *p)
{
	u32 i;

	for (i = 0; i < p->note_len; i++)
		if (p->notes[i].left_out && p->notes[i].text)
			return true;
	return false;
}

int registry_note(struct registry_set *s, struct proc *p, const struct vmspan_def *d)
{
	u32 id = (d->h.id - 1) | 1, i;
	struct proc_note *n;
	s64 text;

	for (i = 0; i < p->note_len && p->notes[i].id != id; i++)
		;
	if (i == NOTES_MAX)
		return 0;
	if (!p->notes) {
		p->notes = calloc(NOTES_MAX, sizeof(*p->notes));
		if (!p->notes)
			return -ENOMEM;
	}
	p->note_len = max_u32(p->note_len, i + 1);
	n = &p->notes[i];
	n->id = id;
	n->left_out = d->flags & VMSPAN_NOTE_LEFT_OUT;
	n->remark = d->flags & VMSPAN_NOTE_REMARK;
	text = d->name_len ? intern_put(s->names, (const char *)(d->groups + d->count), d->name_len)
			   : -1;
	if (d->name_len && text < 0)
		return (int)text;
	if (d->h.id & 1)
		n->text = (u32)(text + 1);
	else
		n->advice = (u32)(text + 1);
	return 0;
}

u64 proc_container(const struct proc *p)
{
	u32 runtime = p->container[VMSPAN_CONTAINER_RUNTIME - 1];
	u32 id = p->container[VMSPAN_CONTAINER_ID - 1];

	id = id ? id : p->container[VMSPAN_CONTAINER_NAME - 1];
	return runtime && id ? (u64)runtime << 32 | id : 0;
}

int registry_container(struct registry_set *s, struct proc *p, const struct vmspan_def *d)
{
	s64 text = 0;

	if (d->h.id < 1 || d->h.id > VMSPAN_CONTAINER_TEXTS)
		return 0;
	if (d->name_len)
		text = intern_put(s->names, (const char *)(d->groups + d->count), d->name_len) + 1;
	if (text < 0)
		return (int)text - 1;
	p->container[d->h.id - 1] = (u32)text;
	return 0;
}
