/* SPDX-License-Identifier: BSD-2-Clause */
/* The examples of user/model/LEDGER.md, run as they stand there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include <cmocka.h>

#include "sim.h"
#include "sink/figures.h"

struct example {
	struct sim *sim, *sched;
	struct model *model;
	u64 off; /* when the thread lost the CPU */
	u32 reason;
	struct model_config config;
	struct {
		char name[64];
	} names[32]; /* compartment id - 1 */
	u32 count, groups;
	bool dropped[256]; /* records */
	bool fed;
	struct snapshot *snap;
	int checks;
};

static u32 example_group(struct example *x, const char *full)
{
	const char *colon = strchr(full, ':');
	u8 kind = !strncmp(full, "page", 4) ? VMSPAN_PAGE : VMSPAN_ADDON;

	sim_define(x->model, SIM_PID, VMSPAN_DEF_GROUP, ++x->groups, kind, colon + 1, NULL, 0);
	return x->groups;
}

static u32 example_comp(struct example *x, const char *name)
{
	char group[80];
	u32 i, id;

	for (i = 0; i < x->count; i++)
		if (!strcmp(x->names[i].name, name))
			return i + 1;
	snprintf(group, sizeof(group), "addon:%s", name);
	id = example_group(x, group);
	snprintf(x->names[x->count].name, sizeof(x->names[0].name), "%s", name);
	sim_define(x->model, SIM_PID, VMSPAN_DEF_COMPARTMENT, ++x->count, 0, name, &id, 1);
	return x->count;
}

static void example_model(struct example *x)
{
	if (x->model)
		return;
	x->model = model_new(&x->config);
	sim_start(x->model, "test");
}

static void example_feed(struct example *x)
{
	u32 i;

	if (x->fed)
		return;
	x->fed = true;
	if (x->sched)
		sim_feed_sched(x->sched, x->model);
	for (i = 0; i < x->sim->records; i++)
		if (!x->dropped[i])
			assert_int_equal(sim_batch(x->sim, x->model, SIM_PID, i, i + 1), 0);
	assert_int_equal(model_finish(x->model), 0);
	x->snap = snapshot_take(x->model);
	assert_non_null(x->snap);
}

/* One `key=value` of a `=` line against the snapshot. */
static void example_check(const struct example *x, const char *what, const char *name,
			  const char *key, const char *value)
{
	const struct snapshot *s = x->snap;
	const struct snapshot_group *g = NULL;
	static const struct group_stats none;
	const struct group_stats *st = &none;
	char have[200] = "?";
	u32 i, at = 0;
	const struct {
		const char *what, *key;
		const u64 *value;
	} table[] = {
		{ "ledger", "self", &s->ledger.self_ns },
		{ "ledger", "gc", &s->ledger.gc_ns },
		{ "ledger", "blocked", &s->ledger.blocked_ns },
		{ "ledger", "native", &s->ledger.native_ns },
		{ "ledger", "moved", &s->ledger.moved_ns },
		{ "ledger", "stale", &s->ledger.stale_ns },
		{ "ledger", "lost", &s->ledger.lost_ns },
		{ "ledger", "wall", &s->ledger.event_wall_ns },
		{ "events", "count", &s->events.count },
		{ "events", "incomplete", &s->events.incomplete },
		{ "events", "implicit", &s->events.implicit },
		{ "native", "preempted", &s->ledger.native_off_ns[VMSPAN_OFF_PREEMPTED] },
		{ "native", "sleeping", &s->ledger.native_off_ns[VMSPAN_OFF_SLEEPING] },
		{ "preempted", "ns", &s->ledger.preempted_ns },
		{ "preempted", "stopped", &s->ledger.stopped_ns },
		{ "preempted", "frozen", &s->ledger.frozen_ns },
		{ "preempted", "throttled", &s->ledger.throttled_ns },
		{ "repairs", "repaired", &s->repairs.repaired },
		{ "losses", "sequence_gap", &s->losses.records[LOSS_SEQUENCE_GAP] },
	};

	if (!strcmp(what, "group")) {
		g = snapshot_group(s, name);
		assert_non_null(g);
		st = &g->stats;
	}
	const struct {
		const char *key;
		u64 value;
	} fields[] = {
		{ "wall", st->wall_ns },
		{ "self", st->self_ns },
		{ "gc", st->gc_ns },
		{ "blocked", st->blocked_ns },
		{ "ticks", st->ticks },
		{ "events", st->events },
		{ "spans", st->spans },
		{ "stayed", st->stayed },
		{ "moved", st->moved },
		{ "stale", st->stale },
		{ "max", st->max_ns },
		{ "cpu", st->cpu_ns },
		{ "margin", st->cpu_margin_ns },
		{ "uncharged", st->uncharged_ns },
	};

	for (i = 0; i < ARRAY_SIZE(table); i++)
		if (!strcmp(what, table[i].what) && !strcmp(key, table[i].key))
			snprintf(have, sizeof(have), "%" PRIu64, *table[i].value);
	for (i = 0; g && i < ARRAY_SIZE(fields); i++)
		if (!strcmp(key, fields[i].key))
			snprintf(have, sizeof(have), "%" PRIu64, fields[i].value);
	for (i = 0; g && !strcmp(key, "durations") && i < JANK_BUCKETS; i++)
		at += (u32)snprintf(have + at, sizeof(have) - at, "%s%" PRIu64, i ? "," : "",
				    st->durations[i]);
	if (strcmp(have, value))
		fail_msg("%s %s %s: have %s, LEDGER.md says %s", what, name, key, have, value);
}

static void example_expect(struct example *x, char *line)
{
	char *save, *what = strtok_r(line, " ", &save), *name = "", *pair;

	example_feed(x);
	if (!strcmp(what, "group"))
		name = strtok_r(NULL, " ", &save);
	while ((pair = strtok_r(NULL, " \n", &save))) {
		char *value = strchr(pair, '=');

		assert_non_null(value);
		*value++ = 0;
		example_check(x, what, name, pair, value);
		x->checks++;
	}
}

static void example_off(struct example *x, u64 t, const char *reason)
{
	x->off = t;
	for (x->reason = VMSPAN_OFF_PREEMPTED; strcmp(off_reasons[x->reason].key, reason);
	     x->reason++)
		assert_true(x->reason + 1 < VMSPAN_OFF_REASONS);
}

static void example_on(struct example *x, u64 t)
{
	if (x->sched)
		sim_off(x->sched, x->off, t, x->reason);
	if (x->sim->told)
		sim_away(x->sim, x->off, t);
	else
		x->sim->off += t - x->off;
}

/* What was never left is closed when that shows, as the SDK does. */
static void example_unwind(struct example *x, u64 t, u32 depth)
{
	while (x->sim->depth > depth) {
		struct vmspan_head *h;

		sim_leave(x->sim, t);
		h = (void *)x->sim->data[x->sim->at[x->sim->records - 1]];
		h->depth |= VMSPAN_F_REPAIRED;
	}
}

/* A leave closes the newest stay of its compartment in this event, and what is
 * above it; without one it is no mark. */
static void example_leave(struct example *x, u64 t, u32 id)
{
	struct sim *s = x->sim;
	u32 base = s->turns ? s->turn[s->turns - 1].base : 0, d = s->depth;

	while (d > base && (s->open[d - 1].type != VMSPAN_SPAN || s->open[d - 1].id != id))
		d--;
	if (d == base)
		return;
	example_unwind(x, t, d);
	sim_leave(s, t);
}

static void example_mark(struct example *x, u64 t, char *op, char *arg)
{
	struct sim *s = x->sim;

	if (!strcmp(op, "event")) {
		sim_event(s, t);
	} else if (!strcmp(op, "end")) {
		example_unwind(x, t, s->turn[s->turns - 1].base);
		sim_event_end(s, t);
	} else if (!strcmp(op, "enter")) {
		sim_enter(s, t, example_comp(x, arg), VMSPAN_SPAN);
	} else if (!strcmp(op, "leave")) {
		example_leave(x, t, example_comp(x, arg));
	} else if (!strcmp(op, "gc")) {
		sim_enter(s, t, 0, VMSPAN_GC);
	} else if (!strcmp(op, "block")) {
		sim_enter(s, t, 0, VMSPAN_BLOCK);
	} else if (!strcmp(op, "gcend") || !strcmp(op, "unblock")) {
		sim_leave(s, t);
	} else if (!strcmp(op, "off")) {
		example_off(x, t, arg);
	} else if (!strcmp(op, "on")) {
		example_on(x, t);
	} else if (!strcmp(op, "cpu")) {
		s->cpu = (u16)atoi(arg);
	} else {
		fail_msg("LEDGER.md: unknown mark %s", op);
	}
}

static void example_line(struct example *x, char *line)
{
	char op[32], a[64] = "", b[64] = "", c[64] = "";
	u64 t;

	if (line[0] == '=') {
		example_expect(x, line + 2);
		return;
	}
	if (!strcmp(line, "exact\n")) {
		x->config.exact = true;
		x->sched = sim_new(1);
		sim_off(x->sched, 1, 1, VMSPAN_OFF_START);
		return;
	}
	if (!strcmp(line, "keep-moved\n")) {
		x->config.keep_moved = true;
		return;
	}
	if (!strcmp(line, "switches\n")) {
		x->sim->told = true;
		return;
	}
	if (sscanf(line, "nested %31s", op) == 1) {
		x->config.nested = NESTED_SUSPEND;
		return;
	}
	example_model(x);
	if (sscanf(line, "comp %63s %63s %63s", a, b, c) == 3) {
		u32 ids[2] = { example_group(x, b), example_group(x, c) };

		snprintf(x->names[x->count].name, sizeof(x->names[0].name), "%s", a);
		sim_define(x->model, SIM_PID, VMSPAN_DEF_COMPARTMENT, ++x->count, 0, a, ids, 2);
	} else if (!strcmp(line, "drop\n")) {
		x->dropped[x->sim->records - 1] = true;
	} else {
		assert_true(sscanf(line, "%" SCNu64 " %31s %63s", &t, op, a) >= 2);
		/* The stream's first clock reading is at 1. */
		example_mark(x, t + 1000, op, a);
	}
}

static void ledger_examples(void **state)
{
	FILE *f = fopen("user/model/LEDGER.md", "r");
	struct example x = { 0 };
	char line[256];
	bool inside = false;
	int blocks = 0;

	(void)state;
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		if (!strcmp(line, "```ledger\n")) {
			x = (struct example){ .sim = sim_new(1) };
			inside = true;
		} else if (inside && !strcmp(line, "```\n")) {
			assert_true(x.checks > 0);
			snapshot_free(x.snap);
			model_free(x.model);
			free(x.sim);
			free(x.sched);
			inside = false;
			blocks++;
		} else if (inside) {
			example_line(&x, line);
		}
	}
	fclose(f);
	assert_int_equal(blocks, 30);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ledger_examples),
	};

	return cmocka_run_group_tests_name("ledger", tests, NULL, NULL);
}
