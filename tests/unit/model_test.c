/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ledger rules: the examples of user/model/LEDGER.md, one test a rule, and
 * random streams against a slow model that knows the whole tree.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include <cmocka.h>

#include "sim.h"
#include "model/clock.h"
#include "model/scale.h"

/* ---------------------------------------------- The document's examples -- */

struct example {
	struct sim *sim;
	struct model *model;
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
		{ "losses", "sequence_gap", &s->losses.records[LOSS_SEQUENCE_GAP] },
	};

	if (!strcmp(what, "group")) {
		g = sim_group(s, name);
		assert_non_null(g);
		st = &g->stats;
	}
	const struct {
		const char *key;
		u64 value;
	} fields[] = {
		{ "wall", st->wall_ns },       { "self", st->self_ns },  { "gc", st->gc_ns },
		{ "blocked", st->blocked_ns }, { "ticks", st->ticks },   { "events", st->events },
		{ "spans", st->spans },        { "stayed", st->stayed }, { "moved", st->moved },
		{ "stale", st->stale },        { "max", st->max_ns },    { "cpu", st->cpu_ns },
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

static void example_mark(struct example *x, u64 t, char *op, char *arg)
{
	struct sim *s = x->sim;

	if (!strcmp(op, "event"))
		sim_event(s, t);
	else if (!strcmp(op, "end"))
		sim_event_end(s, t);
	else if (!strcmp(op, "enter"))
		sim_enter(s, t, example_comp(x, arg), VMSPAN_SPAN);
	else if (!strcmp(op, "gc"))
		sim_enter(s, t, 0, VMSPAN_GC);
	else if (!strcmp(op, "block"))
		sim_enter(s, t, 0, VMSPAN_BLOCK);
	else if (!strcmp(op, "leave") || !strcmp(op, "gcend") || !strcmp(op, "unblock"))
		sim_leave(s, t);
	else if (!strcmp(op, "cpu"))
		s->cpu = (u16)atoi(arg);
	else
		fail_msg("LEDGER.md: unknown mark %s", op);
}

static void example_line(struct example *x, char *line)
{
	char op[32], a[64] = "", b[64] = "", c[64] = "";
	u64 t;

	if (line[0] == '=') {
		example_expect(x, line + 2);
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
			inside = false;
			blocks++;
		} else if (inside) {
			example_line(&x, line);
		}
	}
	fclose(f);
	assert_int_equal(blocks, 12);
}

/* ----------------------------------------------------- Single rules -- */

static struct model *model_make(const struct model_config *config)
{
	struct model *m = model_new(config);
	u32 g;

	assert_non_null(m);
	sim_start(m, "test");
	/* Compartment i belongs to group i; compartment 9 to groups 1 and 2. */
	for (g = 1; g <= 8; g++) {
		char name[2] = { (char)('a' + g - 1), 0 };

		sim_define(m, SIM_PID, VMSPAN_DEF_GROUP, g, VMSPAN_ADDON, name, NULL, 0);
		sim_define(m, SIM_PID, VMSPAN_DEF_COMPARTMENT, g, 0, name, &g, 1);
	}
	sim_define(m, SIM_PID, VMSPAN_DEF_COMPARTMENT, 9, 0, "both", (u32[]){ 1, 2 }, 2);
	return m;
}

/* Rule 7: exactly 1000 us leaves bucket 0 unchanged, 1 ns more does not. */
static void bucket_is_strict(void **state)
{
	struct model *m = model_make(&(struct model_config){ 0 });
	struct sim *s = sim_new(1);
	struct snapshot *snap;
	u64 t = 1000;
	u32 i;

	(void)state;
	for (i = 0; i < JANK_BUCKETS; i++) {
		u64 limit = NSEC_PER_MSEC << i;

		sim_event(s, t);
		sim_enter(s, t, 1, VMSPAN_SPAN);
		sim_leave(s, t + limit);
		sim_event_end(s, t + limit);
		t += limit + 1;
		sim_event(s, t);
		sim_enter(s, t, 1, VMSPAN_SPAN);
		sim_leave(s, t + limit + 1);
		sim_event_end(s, t + limit + 1);
		t += limit + 2;
	}
	sim_feed(s, m, 100);
	snap = snapshot_take(m);
	for (i = 0; i < JANK_BUCKETS; i++) {
		/* All events of longer limits, and of this one the longer. */
		assert_int_equal(sim_group(snap, "addon:a")->stats.durations[i],
				 2 * (JANK_BUCKETS - 1 - i) + 1);
		assert_int_equal(snap->events.durations[i], 2 * (JANK_BUCKETS - 1 - i) + 1);
	}
	snapshot_free(snap);
	model_free(m);
	free(s);
}

/* Rule 4: the sum of the parts is the event, whatever the rate. */
static void shares_sum(void **state)
{
	u64 part[50], out[50], rest[50];
	u32 round, i;

	(void)state;
	srandom(7);
	for (round = 0; round < 20000; round++) {
		u32 n = 1 + (u32)random() % 50;
		u64 total = 0, sum = 0, amount = (u64)random() >> (random() % 31);

		if (round % 3 == 0)
			amount <<= 30; /* beyond 64 bits in between */
		for (i = 0; i < n; i++)
			total += part[i] = (u64)random() >> (random() % 31);
		if (!total)
			continue;
		apportion(part, n, total, amount, out, rest);
		for (i = 0; i < n; i++) {
			u64 low = scale(part[i], amount, total);

			assert_true(out[i] == low || out[i] == low + 1);
			if (!part[i])
				assert_int_equal(out[i], 0);
			sum += out[i];
		}
		assert_int_equal(sum, amount);
	}
}

/* Rule 4: cycles of any rate become the event's time, CPU time its share. */
static void cycles_become_time(void **state)
{
	struct model *m = model_make(&(struct model_config){ 0 });
	struct sim *s = sim_new(1);
	struct vmspan_event *e;
	struct snapshot *snap;

	(void)state;
	sim_event(s, 1000);
	sim_enter(s, 1000, 1, VMSPAN_SPAN);
	sim_leave(s, 2000);
	sim_enter(s, 2000, 2, VMSPAN_SPAN);
	sim_leave(s, 3000);
	sim_enter(s, 3000, 3, VMSPAN_SPAN);
	sim_leave(s, 4000);
	sim_event_end(s, 4000);
	e = (void *)s->data[s->at[s->records - 1]];
	e->mono_begin = 1000;
	e->mono_end = 2000; /* 3 cycles a ns */
	e->cpu_ns_begin = 0;
	e->cpu_ns_end = 500;
	sim_feed(s, m, 100);
	snap = snapshot_take(m);
	assert_int_equal(snap->ledger.event_wall_ns, 1000);
	assert_int_equal(snap->ledger.self_ns, 1000);
	/* 333.3 each: the nanosecond left over goes to the first. */
	assert_int_equal(sim_group(snap, "addon:a")->stats.self_ns, 334);
	assert_int_equal(sim_group(snap, "addon:b")->stats.self_ns, 333);
	assert_int_equal(sim_group(snap, "addon:c")->stats.self_ns, 333);
	assert_int_equal(sim_group(snap, "addon:c")->stats.cpu_ns, 166);
	assert_int_equal(sim_group(snap, "top:test")->stats.cpu_ns, 500);
	snapshot_free(snap);
	model_free(m);
	free(s);
}

/* Rule 4: forged cycles discard the event's shares and are counted. */
static void forged_shares(void **state)
{
	struct model *m = model_make(&(struct model_config){ 0 });
	struct sim *s = sim_new(1);
	struct vmspan_span *sp;
	struct snapshot *snap;

	(void)state;
	sim_event(s, 1000);
	sim_enter(s, 1100, 1, VMSPAN_SPAN);
	sim_leave(s, 1200);
	sp = (void *)s->data[s->at[0]];
	sp->end = 900000;
	sim_event_end(s, 2000);
	sim_feed(s, m, 100);
	snap = snapshot_take(m);
	assert_int_equal(snap->repairs.discarded_shares, 1);
	assert_int_equal(snap->ledger.lost_ns, 1000);
	assert_int_equal(ledger_sum(&snap->ledger), 1000);
	assert_int_equal(snap->events.incomplete, 1);
	assert_int_equal(sim_group(snap, "addon:a")->stats.wall_ns, 0);
	snapshot_free(snap);
	model_free(m);
	free(s);
}

/* A span from before the trace is dropped and counted. */
static void before_attach(void **state)
{
	struct model *m = model_new(&(struct model_config){ 0 });
	struct item it = { .type = ITEM_CLOCK, .clock = { 5000, 5000, 1 } };
	struct sim *s = sim_new(1);
	struct snapshot *snap;

	(void)state;
	assert_int_equal(model_item(m, &it), 0);
	sim_enter(s, 4000, 1, VMSPAN_SPAN);
	sim_event(s, 6000);
	sim_enter(s, 6100, 2, VMSPAN_SPAN);
	sim_leave(s, 6200);
	sim_event_end(s, 6300);
	sim_leave(s, 7000);
	sim_feed(s, m, 100);
	snap = snapshot_take(m);
	assert_int_equal(snap->repairs.before_attach, 1);
	assert_int_equal(snap->events.count, 1);
	assert_int_equal(snap->spans, 1);
	assert_int_equal(snap->ledger.self_ns, 100);
	assert_int_equal(snap->ledger.native_ns, 200);
	snapshot_free(snap);
	model_free(m);
	free(s);
}

/* Own groups of compartments are inactive unless asked for. */
static void own_groups(void **state)
{
	int on;

	(void)state;
	for (on = 0; on < 2; on++) {
		struct model *m = model_make(&(struct model_config){ .own_groups = on });
		struct sim *s = sim_new(1);
		struct snapshot *snap;

		sim_event(s, 1000);
		sim_enter(s, 1100, 9, VMSPAN_SPAN);
		sim_leave(s, 1200);
		sim_event_end(s, 2000);
		sim_feed(s, m, 100);
		snap = snapshot_take(m);
		assert_int_equal(snap->group_count, on ? 4 : 3);
		assert_int_equal(!!sim_group(snap, "compartment:both"), on);
		snapshot_free(snap);
		model_free(m);
		free(s);
	}
}

/* A renamed group keeps what was charged; its old name is gone. */
static void renamed_group(void **state)
{
	struct model *m = model_make(&(struct model_config){ 0 });
	struct sim *s = sim_new(1);
	struct snapshot *snap;

	(void)state;
	sim_event(s, 1000);
	sim_enter(s, 1100, 1, VMSPAN_SPAN);
	sim_leave(s, 1200);
	sim_event_end(s, 2000);
	sim_event(s, 3000);
	sim_enter(s, 3100, 1, VMSPAN_SPAN);
	sim_leave(s, 3200);
	sim_event_end(s, 4000);
	sim_batch(s, m, SIM_PID, 0, 2);
	sim_define(m, SIM_PID, VMSPAN_DEF_GROUP, 1, VMSPAN_PAGE, "title", NULL, 0);
	sim_batch(s, m, SIM_PID, 2, 4);
	snap = snapshot_take(m);
	assert_null(sim_group(snap, "addon:a"));
	assert_int_equal(sim_group(snap, "page:title")->stats.wall_ns, 200);
	assert_string_equal(sim_group(snap, "page:title")->kind, "page");
	snapshot_free(snap);
	model_free(m);
	free(s);
}

/* Rule 7: one row over several processes; a forked child knows its parent's
 * definitions; a child's value never exceeds its parent's. */
static void several_processes(void **state)
{
	struct model *m = model_make(&(struct model_config){ 0 });
	struct sim *s = sim_new(1);
	const struct snapshot_group *g;
	struct item it = { .type = ITEM_PROCESS };
	struct snapshot *snap;
	u32 i;

	(void)state;
	for (i = 1; i <= 3; i++) {
		it.process =
			(struct item_process){ PROCESS_FORK, SIM_PID + i, SIM_PID, 1, "child", "" };
		assert_int_equal(model_item(m, &it), 0);
	}
	sim_event(s, 1000);
	sim_enter(s, 1100, 1, VMSPAN_SPAN);
	sim_leave(s, 1200);
	sim_event_end(s, 2000);
	for (i = 0; i <= 3; i++)
		assert_int_equal(sim_batch(s, m, SIM_PID + i, 0, 2), 0);
	snap = snapshot_take(m);
	assert_int_equal(snap->process_count, 4);
	g = sim_group(snap, "addon:a");
	assert_int_equal(g->stats.wall_ns, 400);
	assert_int_equal(g->children, 4);
	for (i = 0; i < 4; i++)
		assert_int_equal(snap->children[g->first_child + i].stats.wall_ns, 100);
	assert_int_equal(sim_group(snap, "top:child")->children, 3);
	assert_string_equal(snap->processes[2].vm, "sdk");
	snapshot_free(snap);
	model_free(m);
	free(s);
}

/* Rule 8: totals never decrease, and now - then is what came between. */
static void snapshots_subtract(void **state)
{
	struct model *m = model_make(&(struct model_config){ 0 });
	struct snapshot *then, *now, *delta, *same;
	struct sim *s = sim_new(1);
	u32 i;

	(void)state;
	for (i = 0; i < 10; i++) {
		u64 t = 1000 + i * 1000;

		sim_event(s, t);
		sim_enter(s, t + 100, 1 + i % 3, VMSPAN_SPAN);
		sim_leave(s, t + 200 + i);
		sim_event_end(s, t + 900);
	}
	assert_int_equal(sim_batch(s, m, SIM_PID, 0, 8), 0);
	then = snapshot_take(m);
	same = snapshot_take(m);
	delta = snapshot_delta(same, then);
	for (i = 0; i < delta->group_count; i++) {
		assert_int_equal(delta->groups[i].stats.wall_ns, 0);
		assert_int_equal(delta->groups[i].stats.hist.total, 0);
	}
	assert_int_equal(delta->events.count, 0);
	snapshot_free(delta);
	snapshot_free(same);
	assert_int_equal(sim_batch(s, m, SIM_PID, 8, 20), 0);
	now = snapshot_take(m);
	delta = snapshot_delta(now, then);
	assert_int_equal(then->events.count, 4);
	assert_int_equal(delta->events.count, 6);
	assert_int_equal(sim_group(delta, "addon:a")->stats.ticks, 2); /* events 6 and 9 */
	assert_int_equal(sim_group(delta, "addon:a")->stats.wall_ns, 106 + 109);
	assert_int_equal(sim_group(delta, "addon:a")->stats.hist.total, 2);
	assert_int_equal(ledger_sum(&delta->ledger), delta->ledger.event_wall_ns);
	snapshot_free(delta);
	snapshot_free(now);
	snapshot_free(then);
	model_free(m);
	free(s);
}

/* Rule 6: batches in any order give the same figures. */
static void order_by_number(void **state)
{
	static const u32 orders[][6] = { { 0, 1, 2, 3, 4, 5 },
					 { 0, 2, 1, 4, 3, 5 },
					 { 0, 5, 4, 3, 2, 1 },
					 { 0, 3, 3, 1, 2, 4 } };
	u32 i, k;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(orders); i++) {
		struct model *m = model_make(&(struct model_config){ 0 });
		struct sim *s = sim_new(1);
		struct snapshot *snap;

		for (k = 0; k < 6; k++) {
			sim_event(s, 1000 + k * 1000);
			sim_enter(s, 1100 + k * 1000, 1, VMSPAN_SPAN);
			sim_leave(s, 1200 + k * 1000);
			sim_event_end(s, 1900 + k * 1000);
		}
		for (k = 0; k < 6; k++)
			assert_int_equal(
				sim_batch(s, m, SIM_PID, orders[i][k] * 2, orders[i][k] * 2 + 2),
				0);
		assert_int_equal(model_finish(m), 0);
		snap = snapshot_take(m);
		assert_int_equal(snap->events.count, i == 3 ? 5 : 6);
		assert_int_equal(snap->events.incomplete, 0);
		assert_int_equal(snap->losses.records[LOSS_SEQUENCE_GAP], 0);
		assert_int_equal(snap->ledger.self_ns, i == 3 ? 500 : 600);
		snapshot_free(snap);
		model_free(m);
		free(s);
	}
}

/* Without samples nothing changes: two snapshots are the same. */
static void no_samples_no_change(void **state)
{
	struct model *m = model_make(&(struct model_config){ 0 });
	struct snapshot *snap = snapshot_take(m);

	(void)state;
	assert_int_equal(snap->group_count, 0);
	assert_int_equal(snap->events.count, 0);
	snapshot_free(snap);
	model_free(m);
}

/* The range of --from and --to: events that begin in it. */
static void time_range(void **state)
{
	struct model *m = model_make(&(struct model_config){ .from_ns = 1500, .to_ns = 3000 });
	struct sim *s = sim_new(1);
	struct snapshot *snap;
	u32 i;

	(void)state;
	for (i = 0; i < 5; i++) {
		sim_event(s, 1001 + i * 1000);
		sim_enter(s, 1101 + i * 1000, 1, VMSPAN_SPAN);
		sim_leave(s, 1201 + i * 1000);
		sim_event_end(s, 1901 + i * 1000);
	}
	sim_feed(s, m, 3);
	snap = snapshot_take(m);
	assert_int_equal(snap->events.count, 1);
	snapshot_free(snap);
	model_free(m);
	free(s);
}

/* The clock map is monotone, continuous, and keeps to the readings. */
static void clock_is_monotone(void **state)
{
	struct clock_map c = { 0 };
	u64 cycles = 1000000, ns = 5000000, last = 0, i;

	(void)state;
	srandom(3);
	for (i = 0; i < 20000; i++) {
		u64 step = 1000000 + (u64)random() % 1000000, at, k;

		assert_int_equal(clock_add(&c, cycles, ns, 2450000000ull), 0);
		for (k = 0; k < 4; k++) {
			at = clock_ns(&c, cycles + step * k / 4);
			assert_true(at >= last);
			last = at;
		}
		cycles += step * 600;
		/* 2.45 GHz, with readings that are up to 200 ns off. */
		ns += (u64)((double)(step * 600) / 2.45) + (u64)random() % 200;
		ns -= 100;
	}
	{
		u64 mapped = clock_ns(&c, cycles), off = mapped > ns ? mapped - ns : ns - mapped;

		assert_true(off < 2000);
	}
	clock_free(&c);
}

/* ---------------------------------------- Random streams, slow model -- */

/* The tree of a thread, as the marks were made. */
struct node {
	u64 begin, end;
	u8 type; /* 0: event */
	u32 comp;
	bool moved;
	int parent; /* index; -1: none */
	int event; /* index of the event it is in */
	bool nested_inside; /* an event lies in it */
};

struct tree {
	struct node n[4096];
	int len;
};

struct answer {
	u64 wall[10], self[10], ticks[10], spans[10], blocked[10], gc[10], moved[10], stale[10];
	struct ledger l;
	u64 events;
};

static bool in_group(u32 comp, u32 g)
{
	return comp == g || (comp == 9 && g <= 2) || g == 0; /* 0: top */
}

/* The innermost thing at every moment: each node's time without children. */
static u64 node_self(const struct tree *t, int i)
{
	u64 self = t->n[i].end - t->n[i].begin;
	int k;

	for (k = 0; k < t->len; k++)
		if (t->n[k].parent == i)
			self -= t->n[k].end - t->n[k].begin;
	return self;
}

static bool inside(const struct tree *t, int i, int of)
{
	for (; i >= 0; i = t->n[i].parent)
		if (i == of)
			return true;
	return false;
}

/* Is node i an outermost (kept) stay of group g in its event? */
static bool outermost(const struct tree *t, int i, u32 g, bool kept, enum nested_mode mode)
{
	int p = t->n[i].parent;

	for (; p >= 0 && t->n[p].event == t->n[i].event && t->n[p].type; p = t->n[p].parent) {
		const struct node *n = &t->n[p];

		if (n->type != VMSPAN_SPAN || !in_group(n->comp, g))
			continue;
		if (!kept || (!n->moved && !(n->nested_inside && mode == NESTED_DROP)))
			return false;
	}
	return true;
}

/* Time of a kind of nodes (type; 0: events) under node i, not in events. */
static u64 under(const struct tree *t, int i, u8 type)
{
	u64 sum = 0;
	int k, p;

	for (k = 0; k < t->len; k++) {
		if (k == i || t->n[k].type != type || !inside(t, k, i))
			continue;
		for (p = t->n[k].parent; p != i && t->n[p].type; p = t->n[p].parent)
			;
		if (p == i)
			sum += type ? node_self(t, k) : t->n[k].end - t->n[k].begin;
	}
	return sum;
}

static void slow_answer(const struct tree *t, enum nested_mode mode, struct answer *a)
{
	int i;
	u32 g;

	memset(a, 0, sizeof(*a));
	for (i = 0; i < t->len; i++) {
		const struct node *n = &t->n[i];
		u64 self = node_self(t, i);
		bool stale = n->nested_inside && mode == NESTED_DROP;

		a->l.event_wall_ns += n->type ? 0 : n->end - n->begin - under(t, i, 0);
		a->events += !n->type;
		if (!n->type)
			a->l.native_ns += self;
		else if (n->type == VMSPAN_GC)
			a->l.gc_ns += self;
		else if (n->type == VMSPAN_BLOCK)
			a->l.blocked_ns += self;
		else if (stale)
			a->l.stale_ns += self;
		else if (n->moved)
			a->l.moved_ns += self;
		else
			a->l.self_ns += self;
		for (g = 0; g < 10 && n->type == VMSPAN_SPAN; g++) {
			if (!in_group(n->comp, g))
				continue;
			a->spans[g]++;
			a->stale[g] += stale;
			a->moved[g] += !stale && n->moved;
			a->ticks[g] += outermost(t, i, g, false, mode);
			if (stale || n->moved)
				continue;
			a->self[g] += self;
			if (!outermost(t, i, g, true, mode))
				continue;
			a->wall[g] += n->end - n->begin - under(t, i, 0);
			a->blocked[g] += under(t, i, VMSPAN_BLOCK);
			a->gc[g] += under(t, i, VMSPAN_GC);
		}
	}
}

/* Random nested marks for one thread; both the stream and the tree. */
struct maker {
	struct sim *s;
	struct tree *t;
	u64 now;
	int top, event;
	u32 depth;
};

static u64 later(struct maker *mk)
{
	return mk->now += 1 + (u64)random() % 1000;
}

static int maker_open(struct maker *mk, u8 type, u32 comp)
{
	int i = mk->t->len++;

	mk->t->n[i] = (struct node){ .begin = mk->now,
				     .type = type,
				     .comp = comp,
				     .parent = mk->top,
				     .event = type ? mk->event : i };
	mk->top = i;
	return i;
}

static void make_inside(struct maker *mk, u32 nesting);

static void make_event(struct maker *mk, u32 nesting)
{
	int outer = mk->event, p, i;

	later(mk);
	sim_event(mk->s, mk->now);
	i = maker_open(mk, 0, 0);
	mk->event = i;
	for (p = mk->t->n[i].parent; p >= 0; p = mk->t->n[p].parent)
		mk->t->n[p].nested_inside = true;
	make_inside(mk, nesting);
	later(mk);
	sim_event_end(mk->s, mk->now);
	mk->t->n[i].end = mk->now;
	mk->top = mk->t->n[i].parent;
	mk->event = outer;
}

static void make_stay(struct maker *mk, u8 type, u32 nesting)
{
	/* Never the compartment on top: the SDK merges that. */
	u32 comp = 1 + (u32)random() % 9;
	u16 cpu = mk->s->cpu;
	int i;

	if (type == VMSPAN_SPAN && mk->top >= 0 && mk->t->n[mk->top].type == VMSPAN_SPAN &&
	    mk->t->n[mk->top].comp == comp)
		comp = comp % 9 + 1;
	later(mk);
	sim_enter(mk->s, mk->now, type == VMSPAN_SPAN ? comp : 0, type);
	i = maker_open(mk, type, comp);
	make_inside(mk, nesting);
	if (random() % 16 == 0)
		mk->s->cpu = (u16)(random() % 4);
	later(mk);
	sim_leave(mk->s, mk->now);
	mk->t->n[i].end = mk->now;
	mk->t->n[i].moved = cpu != mk->s->cpu;
	mk->top = mk->t->n[i].parent;
}

static void make_inside(struct maker *mk, u32 nesting)
{
	u32 n = (u32)random() % 4;

	if (++mk->depth < 12)
		while (n-- && mk->t->len < 400) {
			long what = random() % 20;

			if (what == 0 && nesting < 4)
				make_event(mk, nesting + 1);
			else if (what == 1)
				make_stay(mk, VMSPAN_GC, nesting);
			else if (what == 2)
				make_stay(mk, VMSPAN_BLOCK, nesting);
			else
				make_stay(mk, VMSPAN_SPAN, nesting);
		}
	mk->depth--;
}

static struct tree *random_stream(struct sim *s, unsigned int seed)
{
	struct tree *t = calloc(1, sizeof(*t));
	struct maker mk = { .s = s, .t = t, .now = 1000, .top = -1, .event = -1 };

	srandom(seed);
	while (t->len < 150)
		make_event(&mk, 0);
	return t;
}

#define SAME(what, have, want)                                                               \
	do {                                                                                 \
		if ((u64)(have) != (u64)(want))                                              \
			fail_msg("seed %u, %s: have %" PRIu64 ", want %" PRIu64, seed, what, \
				 (u64)(have), (u64)(want));                                  \
	} while (0)

static void compare(unsigned int seed, const struct snapshot *snap, const struct answer *a)
{
	static const struct group_stats none;
	u32 g;

	SAME("events", snap->events.count, a->events);
	SAME("incomplete", snap->events.incomplete, 0);
	SAME("wall", snap->ledger.event_wall_ns, a->l.event_wall_ns);
	SAME("self", snap->ledger.self_ns, a->l.self_ns);
	SAME("gc", snap->ledger.gc_ns, a->l.gc_ns);
	SAME("blocked", snap->ledger.blocked_ns, a->l.blocked_ns);
	SAME("native", snap->ledger.native_ns, a->l.native_ns);
	SAME("moved", snap->ledger.moved_ns, a->l.moved_ns);
	SAME("stale", snap->ledger.stale_ns, a->l.stale_ns);
	SAME("lost", snap->ledger.lost_ns, 0);
	for (g = 0; g <= 8; g++) {
		char name[16] = "top:test";
		const struct snapshot_group *sg;
		const struct group_stats *st;

		if (g)
			snprintf(name, sizeof(name), "addon:%c", 'a' + g - 1);
		sg = sim_group(snap, name);
		st = sg ? &sg->stats : &none;
		SAME(name, st->spans, a->spans[g]);
		SAME("ticks", st->ticks, a->ticks[g]);
		SAME("moved spans", st->moved, a->moved[g]);
		SAME("stale spans", st->stale, a->stale[g]);
		SAME("stayed", st->stayed, a->spans[g] - a->moved[g] - a->stale[g]);
		SAME("self", st->self_ns, a->self[g]);
		SAME("charged", st->wall_ns, a->wall[g]);
		SAME("gc in it", st->gc_ns, a->gc[g]);
		SAME("blocked in it", st->blocked_ns, a->blocked[g]);
	}
}

static int check_event(void *ctx, const struct model_event *e)
{
	u32 i;

	(void)ctx;
	assert_int_equal(ledger_sum(&e->ledger), e->ledger.event_wall_ns);
	for (i = 0; i < e->share_count; i++) {
		const struct model_share *sh = &e->shares[i];

		assert_true(sh->wall_ns >= sh->self_ns + sh->gc_ns + sh->blocked_ns);
		assert_true(sh->wall_ns <= e->ledger.event_wall_ns);
		assert_true(sh->cpu_ns <= e->cpu_ns);
	}
	return 0;
}

static const struct model_observer check_ops = { .event = check_event };

static void random_streams(void **state)
{
	unsigned int seed;

	(void)state;
	for (seed = 1; seed <= 400; seed++) {
		struct model_config config = { .nested = seed % 2 ? NESTED_DROP : NESTED_SUSPEND };
		struct model *m = model_make(&config);
		struct sim *s = sim_new(1);
		struct tree *t = random_stream(s, seed);
		struct snapshot *snap;
		struct answer a;

		model_observe(m, &check_ops, NULL);
		sim_feed(s, m, 1 + seed % 40);
		snap = snapshot_take(m);
		slow_answer(t, config.nested, &a);
		compare(seed, snap, &a);
		snapshot_free(snap);
		model_free(m);
		free(t);
		free(s);
	}
}

/* Records taken out at random: the ledger still sums for every event, nothing
 * is charged more than was made, and the losses are what was taken out. */
static void random_losses(void **state)
{
	unsigned int seed;

	(void)state;
	for (seed = 1; seed <= 300; seed++) {
		struct model *m = model_make(&(struct model_config){ 0 });
		struct sim *s = sim_new(1);
		struct tree *t = random_stream(s, seed);
		struct snapshot *snap;
		struct answer a;
		u32 i, taken = 0, last = s->records - 1;

		model_observe(m, &check_ops, NULL);
		for (i = 0; i <= last; i++) {
			if (i && i < last && random() % 10 == 0) {
				taken++;
				continue;
			}
			assert_int_equal(sim_batch(s, m, SIM_PID, i, i + 1), 0);
		}
		assert_int_equal(model_finish(m), 0);
		snap = snapshot_take(m);
		slow_answer(t, NESTED_DROP, &a);
		SAME("losses", snap->losses.records[LOSS_SEQUENCE_GAP], taken);
		SAME("records", snap->records, s->records - taken);
		SAME("sum", ledger_sum(&snap->ledger), snap->ledger.event_wall_ns);
		assert_true(snap->events.count <= a.events);
		assert_true(snap->ledger.self_ns <= a.l.self_ns + a.l.stale_ns);
		if (taken)
			assert_true(snap->events.incomplete > 0);
		snapshot_free(snap);
		model_free(m);
		free(t);
		free(s);
	}
}

/* Rule 7: the parts by process merge to the whole. */
static void processes_merge(void **state)
{
	unsigned int seed;

	(void)state;
	for (seed = 1; seed <= 50; seed++) {
		struct model *whole = model_make(&(struct model_config){ 0 });
		struct item it = { .type = ITEM_PROCESS };
		struct sim *s = sim_new(1);
		struct tree *t = random_stream(s, seed);
		struct snapshot *snap;
		u32 i, p, k;

		for (p = 0; p < 3; p++) {
			it.process = (struct item_process){ PROCESS_FORK, SIM_PID + p + 1,
							    SIM_PID,      1,
							    "test",       "" };
			assert_int_equal(model_item(whole, &it), 0);
		}
		for (i = 0; i < s->records; i += 7)
			for (p = 0; p < 3; p++)
				assert_int_equal(sim_batch(s, whole, SIM_PID + 1 + p, i,
							   (u32)min_u64(i + 7, s->records)),
						 0);
		snap = snapshot_take(whole);
		for (i = 0; i < snap->group_count; i++) {
			const struct snapshot_group *g = &snap->groups[i];
			struct group_stats sum = { 0 };

			for (k = 0; k < g->children; k++)
				group_stats_add(&sum, &snap->children[g->first_child + k].stats);
			SAME(g->name, sum.wall_ns, g->stats.wall_ns);
			SAME(g->name, sum.self_ns, g->stats.self_ns);
			SAME(g->name, sum.ticks, g->stats.ticks);
			SAME(g->name, hist_quantile(&sum.hist, 990),
			     hist_quantile(&g->stats.hist, 990));
			SAME(g->name, snap->children[g->first_child].stats.wall_ns * 3,
			     g->stats.wall_ns);
			for (k = 1; k < JANK_BUCKETS; k++)
				assert_true(g->stats.durations[k] <= g->stats.durations[k - 1]);
			hist_free(&sum.hist);
		}
		snapshot_free(snap);
		model_free(whole);
		free(t);
		free(s);
	}
}

/* Processes that come and go do not grow the model; nothing of them is lost. */
static void ended_processes_fold(void **state)
{
	struct model *m = model_make(&(struct model_config){ 0 });
	struct item it = { .type = ITEM_PROCESS };
	struct sim *s = sim_new(1);
	struct snapshot *snap;
	u32 i;

	(void)state;
	sim_event(s, 1000);
	sim_enter(s, 1100, 1, VMSPAN_SPAN);
	sim_leave(s, 1200);
	sim_event_end(s, 2000);
	for (i = 1; i <= 20000; i++) {
		it.process =
			(struct item_process){ PROCESS_FORK, SIM_PID + i, SIM_PID, 1, "kid", "" };
		assert_int_equal(model_item(m, &it), 0);
		assert_int_equal(sim_batch(s, m, SIM_PID + i, 0, 2), 0);
		it.process.change = PROCESS_EXIT;
		assert_int_equal(model_item(m, &it), 0);
	}
	snap = snapshot_take(m);
	assert_true(snap->process_count <= 4098);
	assert_int_equal(snap->events.count, 20000);
	assert_int_equal(sim_group(snap, "addon:a")->stats.wall_ns, 20000 * 100);
	assert_int_equal(ledger_sum(&snap->ledger), 20000 * 1000);
	snapshot_free(snap);
	model_free(m);
	free(s);
}

/* Forged streams: any bytes that pass the check, in any order. */
static void random_forgeries(void **state)
{
	unsigned int seed;

	(void)state;
	for (seed = 1; seed <= 200; seed++) {
		struct model *m = model_make(&(struct model_config){ 0 });
		struct sim *s = sim_new(1);
		struct tree *t = random_stream(s, seed);
		struct snapshot *snap;
		u32 i, k;

		model_observe(m, &check_ops, NULL);
		for (k = 0; k < 200; k++) {
			struct vmspan_head *h = (void *)s->data[s->at[(u32)random() % s->records]];
			u32 word = 1 + (u32)random() % (h->slots * 8u - 1);

			/* Anything but type and slots. */
			((u32 *)h)[word] ^= 1u << (random() % 32);
			if (random() % 4 == 0)
				h->depth = (u16)random();
		}
		for (i = 0; i < s->records; i++)
			assert_int_equal(sim_batch(s, m, SIM_PID, i, i + 1), 0);
		assert_int_equal(model_finish(m), 0);
		snap = snapshot_take(m);
		SAME("sum", ledger_sum(&snap->ledger), snap->ledger.event_wall_ns);
		snapshot_free(snap);
		model_free(m);
		free(t);
		free(s);
	}
}

/* A long event's memory does not grow with its spans. */
static void long_event_is_bounded(void **state)
{
	struct model *m = model_make(&(struct model_config){ 0 });
	struct vmspan_span batch[128] = { 0 };
	struct item it = { .type = ITEM_BATCH };
	struct snapshot *snap;
	u32 round, i;
	u64 t = 1000;

	(void)state;
	for (round = 0; round < 2000; round++) {
		for (i = 0; i < 128; i++) {
			/* b in a, a in c: every third a parent of the two before. */
			batch[i] = (struct vmspan_span){
				{ VMSPAN_SPAN, 1, (u16)(2 - i % 3), i % 3 + 1 },
				t + 10 - 3 * (i % 3),
				t + 20 + i % 3,
				0,
				0,
				1
			};
			t += i % 3 == 2 ? 100 : 0;
		}
		it.batch = (struct item_batch){ .pid = SIM_PID,
						.tid = 1,
						.registry = SIM_REGISTRY,
						.thread = 1,
						.seq = round * 126ull,
						.records = 126,
						.bytes = 126 * 32,
						.data = batch };
		assert_int_equal(model_item(m, &it), 0);
	}
	it.batch.seq = 2000 * 126ull;
	{
		struct vmspan_event e = { .h = { VMSPAN_EVENT, 3, 0, 1 },
					  .begin = 900,
					  .end = t + 1000,
					  .mono_begin = 900,
					  .mono_end = t + 1000,
					  .records = 2000 * 126 };

		it.batch.records = 1;
		it.batch.bytes = sizeof(e);
		it.batch.data = &e;
		assert_int_equal(model_item(m, &it), 0);
	}
	snap = snapshot_take(m);
	assert_int_equal(snap->spans, 252000);
	assert_int_equal(snap->events.incomplete, 0);
	assert_int_equal(ledger_sum(&snap->ledger), t + 100);
	assert_int_equal(sim_group(snap, "addon:c")->stats.ticks, 84000);
	assert_int_equal(snap->repairs.discarded_shares, 0);
	snapshot_free(snap);
	model_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ledger_examples),   cmocka_unit_test(bucket_is_strict),
		cmocka_unit_test(shares_sum),        cmocka_unit_test(cycles_become_time),
		cmocka_unit_test(forged_shares),     cmocka_unit_test(before_attach),
		cmocka_unit_test(own_groups),        cmocka_unit_test(renamed_group),
		cmocka_unit_test(several_processes), cmocka_unit_test(snapshots_subtract),
		cmocka_unit_test(order_by_number),   cmocka_unit_test(no_samples_no_change),
		cmocka_unit_test(time_range),        cmocka_unit_test(clock_is_monotone),
		cmocka_unit_test(random_streams),    cmocka_unit_test(random_losses),
		cmocka_unit_test(processes_merge),   cmocka_unit_test(ended_processes_fold),
		cmocka_unit_test(random_forgeries),  cmocka_unit_test(long_event_is_bounded),
	};

	return cmocka_run_group_tests_name("model", tests, NULL, NULL);
}
