/* SPDX-License-Identifier: BSD-2-Clause */
/* Single spans and marks, as observers see them. */
#include "model/model_priv.h"
#include "model/scale.h"

int show_span(struct model *m, struct stream *st, const struct vmspan_span *s, const struct comp *c,
	      const struct stay *stay)
{
	const struct vmspan_gc *gc = s->h.type == VMSPAN_GC ? (const void *)s : NULL;
	const struct vmspan_block *block = s->h.type == VMSPAN_BLOCK ? (const void *)s : NULL;
	const char *groups[VMSPAN_GROUPS_MAX + 1];
	struct model_span out;
	u32 count = 0;

	/* The process as a whole is the last one, and is told of no span. */
	for (; c && count + 1 < c->row_count; count++)
		groups[count] = registry_name(&m->set, st->proc->rows[c->rows[count]].name);
	out = (struct model_span){
		.thread = &st->pub,
		.type = (enum vmspan_type)s->h.type,
		.fate = stay->fate,
		.name = c ? registry_name(&m->set, c->name)
			  : registry_label(&m->set, st->registry, s->h.id),
		.group = c ? registry_name(&m->set, st->proc->rows[c->rows[0]].name) : "",
		.groups = groups,
		.group_count = count,
		.begin_ns = clock_ns(&m->clock, s->begin),
		.end_ns = clock_ns(&m->clock, s->end),
		.cpu_begin = s->cpu_begin,
		.cpu_end = s->cpu_end,
		.depth = s->h.depth & VMSPAN_DEPTH_MASK,
		.repaired = s->h.depth & VMSPAN_F_REPAIRED,
		.iteration = s->iteration,
		.bytes_before = gc ? gc->bytes_before : 0,
		.bytes_after = gc ? gc->bytes_after : 0,
		.peer = block ? block->peer : 0,
	};

	if (!m->config.all_spans && !model_in_range(m, out.begin_ns))
		return 0;
	if (stay->cycles && out.end_ns > out.begin_ns) {
		u64 ns = out.end_ns - out.begin_ns;

		out.self_ns = scale(stay->self, ns, stay->cycles);
		out.blocked_ns = scale(stay->blocked, ns, stay->cycles);
		out.gc_ns = scale(stay->gc, ns, stay->cycles);
		out.off_ns = scale(min_u64(stay->off, stay->cycles), ns, stay->cycles);
	}
	return m->observer->span(m->observer_ctx, &out);
}

int show_mark(struct model *m, struct stream *st, const struct vmspan_point *mk)
{
	struct model_mark out = {
		.thread = &st->pub,
		.type = (enum vmspan_type)mk->h.type,
		.label = registry_label(&m->set, st->registry, mk->h.id),
		.value = mk->value,
		.time_ns = clock_ns(&m->clock, mk->time),
		.iteration = mk->iteration,
	};

	if (mk->time < m->attach_cycles || !model_in_range(m, out.time_ns))
		return 0;
	m->inputs += mk->h.type == VMSPAN_INPUT;
	m->frames += mk->h.type == VMSPAN_FRAME;
	if (!m->observer || !m->observer->mark)
		return 0;
	return m->observer->mark(m->observer_ctx, &out);
}
