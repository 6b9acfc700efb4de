/* SPDX-License-Identifier: BSD-2-Clause */
/* An export into memory. */
#ifndef TESTS_EXPORT_RIG_H
#define TESTS_EXPORT_RIG_H

#include "sink_fixture.h"
#include "sim.h"
#include "sink/export.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static inline unsigned int count_of(const char *text, const char *what)
{
	unsigned int n = 0;

	for (; (text = strstr(text, what)); text += strlen(what))
		n++;
	return n;
}

struct export
{
	const struct exporter *x;
	struct out o;
	void *state;
};

static inline void export_begin(struct export *e, const char *format, const struct export_config *c,
				struct model *m)
{
	e->x = exporter_find(format);
	assert_non_null(e->x);
	out_open_memory(&e->o);
	e->state = e->x->begin(&e->o, c, m);
	assert_non_null(e->state);
}

/* The output stays in e->o. */
static inline void export_end(struct export *e, struct model *m, const struct report_source *source)
{
	struct snapshot *snap;

	assert_int_equal(model_finish(m), 0);
	snap = snapshot_take(m);
	assert_non_null(snap);
	assert_int_equal(e->x->end(e->state, snap, source), 0);
	e->x->free(e->state);
	snapshot_free(snap);
}

#endif
