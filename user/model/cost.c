/* SPDX-License-Identifier: BSD-2-Clause */
/* What being traced has taken: totals of the trace, of which the range asked for has a part. */
#include "model/model_priv.h"

/* They came before the clock that follows them: as of the one before it, four a second. */
void model_cost(struct model *m, const struct item_cost *c)
{
	u64 now = m->clock.last_ns, at = now > m->begin_ns ? now - m->begin_ns : 0;

	if (!m->cost_known || at < m->config.from_ns)
		m->cost_before = *c;
	m->cost_known = true;
	if (!m->config.to_ns || at < m->config.to_ns)
		m->cost = *c;
}

/* A recording may say anything. */
void cost_subtract(struct item_cost *c, const struct item_cost *then)
{
	c->marks -= min_u64(then->marks, c->marks);
	c->traps -= min_u64(then->traps, c->traps);
	c->cpu_ns -= min_u64(then->cpu_ns, c->cpu_ns);
}
