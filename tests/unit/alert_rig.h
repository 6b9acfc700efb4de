/* SPDX-License-Identifier: BSD-2-Clause */
/* A model, its alerts and a thread, for tests of alerts. */
#ifndef TESTS_ALERT_RIG_H
#define TESTS_ALERT_RIG_H

#include "sim.h"
#include "sink/alert.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#define MS NSEC_PER_MSEC

enum {
	TOP = 1,
	SHOP,
	TRACKER,
	MAIL, /* groups */
	IN_SHOP = 1,
	IN_TRACKER,
	IN_MAIL, /* compartments */
};

/* What an observer has heard, and in which order over all of them. */
struct heard {
	const char *who;
	struct rig *rig;
	u32 alerts, batches;
	u64 last_total, last_id, last_blocked, uncharged, charged;
	u32 occurrences;
	unsigned int reasons;
	enum alert_cause cause;
	bool stands_in;
	u32 *own; /* if set: counts those of CAUSE_OWN */
	char inner[64], text[512], order[256];
	u64 remove; /* listener to remove when an alert comes */
	int fail; /* to return */
};

struct rig {
	struct model *m;
	struct alerts *a;
	struct sim *s;
	struct heard all;
	char order[1024]; /* "who:group " ... */
	u32 fed;
};

static inline int hear(void *ctx, const struct alert *a)
{
	struct heard *h = ctx;
	size_t len = strlen(h->rig->order);

	h->alerts++;
	h->last_total = a->total_ns;
	h->uncharged = a->uncharged_ns;
	h->charged = a->group_wall_ns;
	h->last_id = a->id;
	h->last_blocked = a->highest_blocked_ns;
	h->occurrences = a->occurrences;
	h->reasons = a->reasons;
	h->cause = a->cause;
	h->stands_in = a->stands_in;
	if (h->own)
		*h->own += a->cause == CAUSE_OWN;
	snprintf(h->inner, sizeof(h->inner), "%s", a->inner ? a->inner : "");
	alert_sentence(h->text, sizeof(h->text), a);
	snprintf(h->rig->order + len, sizeof(h->rig->order) - len, "%s:%s ", h->who, a->group);
	if (h->remove)
		assert_int_equal(listen_remove(alerts_listeners(h->rig->a), h->remove), 0);
	h->remove = 0;
	return h->fail;
}

static inline int hear_batch(void *ctx, const struct alert_batch *b)
{
	struct heard *h = ctx;

	assert_true(b->count);
	h->batches++;
	return 0;
}

static const struct alert_observer observer = { .alert = hear, .batch = hear_batch };

static inline u64 listen(struct rig *r, struct heard *h, const char *who, const char *glob)
{
	u64 id = 0;

	h->who = who;
	h->rig = r;
	assert_int_equal(listen_add(alerts_listeners(r->a), glob, &observer, h, &id), 0);
	return id;
}

static inline void rig_open(struct rig *r, const struct alert_config *config)
{
	struct model_config mc = { 0 };
	struct alert_config none = { 0 };
	const u32 shop[] = { SHOP }, tracker[] = { TRACKER }, mail[] = { MAIL };

	*r = (struct rig){ 0 };
	r->m = model_new(&mc);
	r->a = alerts_new(config ? config : &none);
	r->s = sim_new(7);
	assert_true(r->m && r->a);
	model_observe(r->m, &alerts_observer, r->a);
	sim_start(r->m, "host");
	sim_define(r->m, SIM_PID, VMSPAN_DEF_GROUP, SHOP, VMSPAN_PAGE, "shop", NULL, 0);
	sim_define(r->m, SIM_PID, VMSPAN_DEF_GROUP, TRACKER, VMSPAN_ADDON, "tracker", NULL, 0);
	sim_define(r->m, SIM_PID, VMSPAN_DEF_GROUP, MAIL, VMSPAN_PAGE, "mail", NULL, 0);
	sim_define(r->m, SIM_PID, VMSPAN_DEF_COMPARTMENT, IN_SHOP, 0, "shop", shop, 1);
	sim_define(r->m, SIM_PID, VMSPAN_DEF_COMPARTMENT, IN_TRACKER, 0, "tracker", tracker, 1);
	sim_define(r->m, SIM_PID, VMSPAN_DEF_COMPARTMENT, IN_MAIL, 0, "mail", mail, 1);
}

static inline void rig_close(struct rig *r)
{
	alerts_free(r->a);
	model_free(r->m);
	free(r->s);
}

/* Hands over what the thread has done since the last time. */
static inline int feed(struct rig *r)
{
	int rc = 0;

	if (r->fed < r->s->records)
		rc = sim_batch(r->s, r->m, SIM_PID, r->fed, r->s->records);
	r->fed = r->s->records;
	return rc;
}

/* An event in which the compartment runs for `ns` from `at` on. */
static inline void turn(struct rig *r, u64 at, u32 comp, u64 ns)
{
	sim_event(r->s, at);
	sim_enter(r->s, at, comp, VMSPAN_SPAN);
	sim_leave(r->s, at + ns);
	sim_event_end(r->s, at + ns);
	assert_int_equal(feed(r), 0);
}

static inline void mark(struct rig *r, u64 at, u8 type)
{
	struct vmspan_point *m = sim_record(r->s, type, 1, r->s->depth, 0);

	m->time = at;
	m->iteration = sim_iteration(r->s);
}

#endif
