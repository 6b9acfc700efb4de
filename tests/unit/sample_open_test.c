/* SPDX-License-Identifier: BSD-2-Clause */
/* Sampled events that go on: the figures are those of a trace in which they end now, and alerts say what their stacks
 * were. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "each_nth.h"
#include "sim.h"
#include "sink/alert.h"

#define MS NSEC_PER_MSEC
#define PERIOD (10 * MS)
#define GROUPS 5u
#define LOOKS 400

static struct model *start(void)
{
	static const char *const names[GROUPS] = { "a", "b", "c", "d", "e" };
	struct model *m = model_new(&(struct model_config){ 0 });
	u32 i;

	assert_non_null(m);
	sim_start(m, "test");
	for (i = 0; i < GROUPS; i++)
		sim_package(m, i + 1, names[i], 0);
	return m;
}

static void look(struct sim *s, u64 time, u64 weight, u16 flags, u32 iteration, u32 inner,
		 u32 outer)
{
	struct vmspan_sample *r = sim_record(s, VMSPAN_SAMPLE, 2, !inner ? 0 : outer ? 2 : 1, 0);

	r->time = time;
	r->weight = weight;
	r->flags = flags;
	r->iteration = iteration;
	r->frames[0] = inner;
	r->frames[1] = outer;
}

static void event(struct sim *s, u64 begin, u64 end, u64 off, u32 iteration, u32 records)
{
	struct vmspan_event *e = sim_record(s, VMSPAN_EVENT, 3, VMSPAN_F_SAMPLED, iteration);

	e->begin = e->mono_begin = begin;
	e->end = e->mono_end = end;
	e->cpu_ns_end = end - begin - off;
	e->records = records;
}

/* What `s` has, from its record `from` on, goes on as if it ended now. */
static void tell(struct model *m, const struct sim *s, u32 from, u64 begin, u64 end)
{
	struct item it = { .type = ITEM_OPEN };

	it.open.batch = sim_item(s, SIM_PID, from, s->records).batch;
	it.open.what = (struct item_unfinished){ .pid = SIM_PID,
						 .tid = s->tid,
						 .registry = SIM_REGISTRY,
						 .event = true,
						 .begin_ns = begin,
						 .until_ns = end };
	assert_int_equal(model_item(m, &it), 0);
}

static struct snapshot *seen(const struct model *m)
{
	struct snapshot *snap = snapshot_take(m);

	assert_non_null(snap);
	assert_int_equal(ledger_sum(&snap->ledger), snap->ledger.event_wall_ns);
	assert_int_equal(snap->events.wall_ns, snap->ledger.event_wall_ns);
	return snap;
}

static void same_group(const struct snapshot *x, const struct snapshot *y, const char *name)
{
	static const struct snapshot_group none;
	const struct snapshot_group *a = snapshot_group(x, name), *b = snapshot_group(y, name);
	const struct group_stats *p = &(a ? a : &none)->stats, *q = &(b ? b : &none)->stats;

	assert_int_equal(p->self_ns, q->self_ns);
	assert_int_equal(p->wall_ns, q->wall_ns);
	assert_int_equal(p->cpu_ns, q->cpu_ns);
	assert_int_equal(p->blocked_ns, q->blocked_ns);
	assert_int_equal(p->max_ns, q->max_ns);
	assert_int_equal(p->events, q->events);
	assert_int_equal(p->samples, q->samples);
	assert_int_equal(p->self_samples, q->self_samples);
	assert_memory_equal(p->durations, q->durations, sizeof(p->durations));
}

static void same(const struct snapshot *x, const struct snapshot *y)
{
	static const char *const names[GROUPS] = { "package:a", "package:b", "package:c",
						   "package:d", "package:e" };
	u32 i;

	assert_int_equal(x->events.count, y->events.count);
	assert_int_equal(x->events.wall_ns, y->events.wall_ns);
	assert_int_equal(x->events.cpu_ns, y->events.cpu_ns);
	assert_int_equal(x->events.max_ns, y->events.max_ns);
	assert_int_equal(x->events.samples, y->events.samples);
	assert_memory_equal(&x->ledger, &y->ledger, sizeof(x->ledger));
	for (i = 0; i < GROUPS; i++)
		same_group(x, y, names[i]);
}

/* Events one after the other, each with 4 looks or more while it runs; cut anywhere in one. */
static void at_a_random_time(unsigned int seed)
{
	struct model *m = start(), *ended = start();
	struct sim *s = sim_new(1), *c = sim_new(1);
	u32 iteration, n = 1 + (u32)seed % 4, first, i, looks;
	struct snapshot *x, *y;
	u64 t = MS, begin = 0, off = 0;

	srandom(seed);
	for (iteration = 1; iteration <= n; iteration++) {
		first = s->records;
		begin = t;
		off = 0;
		looks = 4 + (u32)random() % 60;
		for (i = 0; i < looks; i++) {
			u32 inner = (u32)random() % (GROUPS + 1),
			    outer = (u32)random() % (GROUPS + 1);

			t += PERIOD;
			look(s, t, PERIOD, 0, iteration, inner, outer);
			if (random() % 8)
				continue;
			look(s, t + 7 * MS, 7 * MS, VMSPAN_SAMPLE_OFF, iteration, inner, outer);
			t += 7 * MS;
			off += 7 * MS;
		}
		if (iteration < n)
			event(s, begin, t, off, iteration, s->records - first);
	}
	assert_int_equal(sim_batch(s, m, SIM_PID, 0, s->records), 0);
	assert_int_equal(sim_batch(s, ended, SIM_PID, 0, s->records), 0);
	/* The last one, and a wait in it that goes on. */
	c->seq_first = s->records;
	t += 3 * MS;
	if (seed % 2) {
		look(c, t + 90 * MS, 90 * MS, VMSPAN_SAMPLE_OFF, n, 1, 2);
		t += 90 * MS;
		off += 90 * MS;
	}
	event(c, begin, t, off, n, s->records - first + c->records);
	/* Asking changes nothing of the next answer. */
	for (i = 0; i < 2; i++) {
		tell(m, c, 0, begin, t);
		if (!i)
			assert_int_equal(sim_batch(c, ended, SIM_PID, 0, c->records), 0);
		x = seen(m);
		y = seen(ended);
		same(x, y);
		assert_int_equal(x->open_count, 1);
		assert_int_equal(x->events.open.events, 1);
		assert_int_equal(x->events.open.max_ns, t - begin);
		assert_int_equal(y->events.open.events, 0);
		assert_string_not_equal(x->open[0].group, "");
		snapshot_free(x);
		snapshot_free(y);
	}
	/* It ends then, and is counted once. */
	assert_int_equal(sim_batch(c, m, SIM_PID, 0, c->records), 0);
	x = seen(m);
	y = seen(ended);
	same(x, y);
	assert_int_equal(x->open_count, 0);
	assert_int_equal(x->events.open.events, 0);
	snapshot_free(x);
	snapshot_free(y);
	model_free(m);
	model_free(ended);
	free(s);
	free(c);
}

static void random_times(void **state)
{
	unsigned int seed;

	(void)state;
	for (seed = 1; seed <= 200; seed += EACH_NTH(5))
		at_a_random_time(seed);
}

/* The group in which most of it was spent, else that which waits. */
static void what_goes_on_is_called_by_its_stacks(void **state)
{
	struct model *m = start();
	struct sim *s = sim_new(1), *c = sim_new(1);
	struct snapshot *snap;
	u32 i;

	(void)state;
	for (i = 1; i <= 10; i++)
		look(s, i * PERIOD, PERIOD, 0, 1, i < 4 ? 1 : 2, 3);
	assert_int_equal(sim_batch(s, m, SIM_PID, 0, s->records), 0);
	c->seq_first = s->records;
	event(c, MS, 111 * MS, 0, 1, 10);
	tell(m, c, 0, MS, 111 * MS);
	snap = seen(m);
	assert_string_equal(snap->open[0].group, "package:b");
	snapshot_free(snap);
	model_free(m);
	free(c);
	/* However little is known of what ran, and of what waited before. */
	m = start();
	c = sim_new(1);
	look(c, 6 * MS, MS, VMSPAN_SAMPLE_OFF, 1, 1, 0);
	look(c, 500 * MS, 490 * MS, VMSPAN_SAMPLE_OFF, 1, 4, 5);
	event(c, 5 * MS, 500 * MS, 490 * MS, 1, 2);
	tell(m, c, 0, 5 * MS, 500 * MS);
	snap = seen(m);
	assert_string_equal(snap->open[0].group, "package:d");
	assert_int_equal(snap->ledger.blocked_ns, 491 * MS);
	/* What ran was looked at by nobody. */
	assert_int_equal(snap->ledger.lost_ns, 4 * MS);
	snapshot_free(snap);
	model_free(m);
	free(c);
	/* A request is read for 40 ms, and then waits for long. */
	m = start();
	c = sim_new(1);
	for (i = 1; i <= 4; i++)
		look(c, i * PERIOD, PERIOD, 0, 1, 1, 3);
	look(c, 900 * MS, 850 * MS, VMSPAN_SAMPLE_OFF, 1, 2, 3);
	event(c, 5 * MS, 900 * MS, 850 * MS, 1, 5);
	tell(m, c, 0, 5 * MS, 900 * MS);
	snap = seen(m);
	assert_string_equal(snap->open[0].group, "package:b");
	snapshot_free(snap);
	model_free(m);
	free(s);
	free(c);
}

/* Events that ran for a short time are pooled until there are looks enough to share that by. What they waited is known at
 * once, and that there was one that everybody has seen. */
static void long_waits_are_counted_as_they_end(void **state)
{
	struct model *m = start();
	struct sim *s = sim_new(1);
	struct snapshot *snap;

	(void)state;
	look(s, 3000 * MS, 2990 * MS, VMSPAN_SAMPLE_OFF, 1, 1, 0);
	event(s, 9 * MS, 3001 * MS, 2990 * MS, 1, 1);
	/* Of the short one nobody could have seen that it goes on. */
	look(s, 3070 * MS, 60 * MS, VMSPAN_SAMPLE_OFF, 2, 1, 0);
	event(s, 3005 * MS, 3075 * MS, 60 * MS, 2, 1);
	assert_int_equal(sim_batch(s, m, SIM_PID, 0, s->records), 0);
	snap = seen(m);
	assert_int_equal(snap->events.count, 1);
	assert_int_equal(snap->events.max_ns, 2992 * MS);
	assert_int_equal(snap->events.wall_ns, 3050 * MS);
	assert_int_equal(snap->ledger.blocked_ns, 3050 * MS);
	snapshot_free(snap);
	assert_int_equal(model_finish(m), 0);
	snap = seen(m);
	assert_int_equal(snap->events.count, 2);
	assert_int_equal(snap->events.wall_ns, 3062 * MS);
	assert_int_equal(snap->events.cpu_ns, 12 * MS);
	assert_int_equal(snap->ledger.lost_ns, 12 * MS);
	snapshot_free(snap);
	model_free(m);
	free(s);
}

/* ---- Alerts ---- */

static char *heard;
static u32 opens, alerts;

static int hear(void *ctx, const struct alert *a)
{
	struct out text;

	(void)ctx;
	/* Of the process as a whole too. */
	if (strcmp(a->group, "package:b"))
		return 0;
	opens += a->open;
	alerts += !a->open;
	out_open_memory(&text);
	alert_tree_text(&text, a, 8);
	out_printf(&text, "%s %llu", a->group, (unsigned long long)a->total_ns);
	free(heard);
	heard = strndup((const char *)text.buf.data, text.buf.len);
	out_close(&text);
	return 0;
}

static void alerts_say_what_the_stacks_of_it_are(void **state)
{
	static const struct alert_observer observer = { .alert = hear, .open = hear };
	struct alerts *a = alerts_new(&(struct alert_config){ .threshold_ns = 50 * MS });
	struct sim *s = sim_new(1), *c = sim_new(1);
	struct model *m = start();
	u64 id;
	u32 i;

	(void)state;
	model_observe(m, &alerts_observer, a);
	assert_int_equal(listen_add(alerts_listeners(a), NULL, &observer, NULL, &id), 0);
	for (i = 1; i <= 120; i++)
		look(s, i * PERIOD, PERIOD, 0, 1, 2, 0);
	assert_int_equal(sim_batch(s, m, SIM_PID, 0, s->records), 0);
	c->seq_first = s->records;
	look(c, 1900 * MS, 695 * MS, VMSPAN_SAMPLE_OFF, 1, 2, 0);
	event(c, 5 * MS, 1900 * MS, 695 * MS, 1, 121);
	/* Once, however often it is looked at. */
	for (i = 0; i < 3; i++) {
		tell(m, c, 0, 5 * MS, 1900 * MS);
		assert_int_equal(alerts_looked(a), 0);
	}
	assert_int_equal(opens, 1);
	assert_int_equal(alerts, 0);
	assert_non_null(strstr(heard, "    seen 121 times, 1.90 s running:"));
	assert_non_null(strstr(heard, "package:b 1895000000"));
	/* The wait that was told of is none of its own. */
	free(c);
	c = sim_new(1);
	c->seq_first = s->records;
	event(c, 5 * MS, 1215 * MS, 0, 1, 120);
	assert_int_equal(sim_batch(c, m, SIM_PID, 0, c->records), 0);
	assert_int_equal(model_finish(m), 0);
	assert_int_equal(alerts_flush(a), 0);
	assert_int_equal(opens, 1);
	assert_int_equal(alerts, 1);
	assert_non_null(strstr(heard, "    seen 120 times, 1.20 s running:"));
	alerts_free(a);
	model_free(m);
	free(s);
	free(c);
	free(heard);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_times),
		cmocka_unit_test(what_goes_on_is_called_by_its_stacks),
		cmocka_unit_test(long_waits_are_counted_as_they_end),
		cmocka_unit_test(alerts_say_what_the_stacks_of_it_are),
	};

	return cmocka_run_group_tests_name("sample_open", tests, NULL, NULL);
}
