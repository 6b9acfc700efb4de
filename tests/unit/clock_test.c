/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What clocks do in the long run, by recordings made up for it and replayed: 104
 * days of uptime, a counter that wraps or is set back, a machine that sleeps, the
 * date that is changed, CPUs that come and go.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "model/clock.h"
#include "rec/rec.h"
#include "sim.h"
#include "source/replay.h"
#include "temp.h"

#define HZ 2600000000ull
#define MS NSEC_PER_MSEC
#define EVENTS_MAX 64

/* A recording under way, of one thread, and what became of it. */
struct tape {
	char path[TEMP_PATH];
	int file;
	struct rec_writer *w;
	u64 cycles, ns, real_ns; /* now */
	u64 seq, sched_seq;
	u32 iteration, lost;
	bool exact;
	struct model *model; /* that has read it */
	struct snapshot *snap;
	struct model_event events[EVENTS_MAX];
	u64 wall_a[EVENTS_MAX], self_b[EVENTS_MAX];
	u32 count;
};

static void put(struct tape *t, const struct item *it)
{
	assert_int_equal(rec_item(t->w, it), 0);
}

static void put_clock(struct tape *t)
{
	put(t, &(struct item){ .type = ITEM_CLOCK, .clock = { t->cycles, t->ns, t->real_ns } });
}

static void put_def(struct tape *t, u8 type, u32 id, const char *name)
{
	u64 space[8] = { 0 };
	struct vmspan_def *d = (void *)space;
	bool comp = type == VMSPAN_DEF_COMPARTMENT;
	struct item it = { .type = ITEM_DEFS };

	d->h = (struct vmspan_head){ type, 1, 0, id };
	d->kind = comp ? 0 : VMSPAN_ADDON;
	d->count = comp;
	d->name_len = (u8)strlen(name);
	d->groups[0] = id;
	memcpy(d->groups + d->count, name, d->name_len);
	it.defs = (struct item_defs){ SIM_PID, SIM_REGISTRY, d, VMSPAN_SLOT };
	put(t, &it);
}

static void put_records(struct tape *t, u64 registry, u64 *seq, const void *data, u32 records,
			u32 slots)
{
	struct item it = { .type = ITEM_BATCH };

	it.batch = (struct item_batch){ .pid = SIM_PID,
					.tid = 1,
					.registry = registry,
					.thread = 1,
					.seq = *seq,
					.records = records,
					.bytes = slots * (u32)VMSPAN_SLOT,
					.data = data,
					.too_deep = registry == SIM_REGISTRY ? 0 : t->lost };
	*seq += records;
	put(t, &it);
}

static struct tape tape_begin(u64 cycles, u64 ns, bool exact)
{
	struct source_info info = { .clock = CLOCK_TSC, .cycles_hz = HZ, .exact = exact };
	struct tape t = { .cycles = cycles, .ns = ns, .real_ns = 1, .exact = exact };
	struct vmspan_span start = { .h = { VMSPAN_OFF, 1, VMSPAN_OFF_START, 0 },
				     .begin = cycles,
				     .end = cycles };
	struct err err = { 0 };

	t.file = temp_file(t.path);
	assert_true(t.file >= 0);
	t.w = rec_create(t.path, &info, &(struct rec_options){ 0 }, &err);
	assert_non_null(t.w);
	put_clock(&t);
	put(&t, &(struct item){ .type = ITEM_PROCESS,
				.process = { PROCESS_SEEN, SIM_PID, 1, ns, "test", "sdk" } });
	put_def(&t, VMSPAN_DEF_GROUP, 1, "a");
	put_def(&t, VMSPAN_DEF_COMPARTMENT, 1, "a");
	put_def(&t, VMSPAN_DEF_GROUP, 2, "b");
	put_def(&t, VMSPAN_DEF_COMPARTMENT, 2, "b");
	if (exact)
		put_records(&t, ITEM_SCHED_REGISTRY, &t.sched_seq, &start, 1, 1);
	return t;
}

/* Time passes; the counter runs at its rate. */
static void pass(struct tape *t, u64 ns)
{
	t->ns += ns;
	t->real_ns += ns;
	t->cycles += ns / 10 * (HZ / 100000000);
}

static struct vmspan_span span(u32 id, u64 begin, u64 end)
{
	return (struct vmspan_span){
		.h = { VMSPAN_SPAN, 1, 0, id }, .begin = begin, .end = end, .iteration = 0
	};
}

/*
 * An event of 4 ms: 1 ms of `a`, 2 ms of `b`, 1 ms of neither. Between the two
 * the machine sleeps: the counter moves by asleep, the clock does not.
 */
static void put_event(struct tape *t, s64 asleep)
{
	struct {
		struct vmspan_span a, b;
		struct vmspan_event e;
	} r = { 0 };
	u64 at = t->cycles;

	r.e.h = (struct vmspan_head){ VMSPAN_EVENT, 3, 0, ++t->iteration };
	r.e.begin = at;
	r.e.mono_begin = t->ns;
	pass(t, MS);
	r.a = span(1, at, t->cycles);
	t->cycles += (u64)asleep;
	at = t->cycles;
	pass(t, 2 * MS);
	r.b = span(2, at, t->cycles);
	pass(t, MS);
	r.e.end = t->cycles;
	r.e.mono_end = t->ns;
	r.e.cpu_ns_end = 4 * MS;
	r.e.records = 2;
	r.a.iteration = r.b.iteration = t->iteration;
	put_records(t, SIM_REGISTRY, &t->seq, &r, 3, 5);
}

/* `n` times: an event, a pause, a clock reading every 250 ms. */
static void put_events(struct tape *t, u32 n)
{
	while (n--) {
		put_event(t, 0);
		pass(t, 246 * MS);
		put_clock(t);
	}
}

static int take_event(void *ctx, const struct model_event *e)
{
	struct tape *t = ctx;
	u32 i;

	assert_int_equal(ledger_sum(&e->ledger), e->ledger.event_wall_ns);
	assert_true(t->count < EVENTS_MAX);
	for (i = 0; i < e->share_count; i++) {
		if (!strcmp(e->shares[i].group, "addon:a"))
			t->wall_a[t->count] = e->shares[i].wall_ns;
		if (!strcmp(e->shares[i].group, "addon:b"))
			t->self_b[t->count] = e->shares[i].self_ns;
	}
	t->events[t->count++] = *e;
	return 0;
}

static void tape_play(struct tape *t)
{
	static const struct model_observer ops = { .event = take_event };
	struct model_config config = { .cycles_hz = HZ, .exact = t->exact };
	struct source *source;
	struct err err = { 0 };
	int rc;

	put_clock(t);
	assert_int_equal(rec_close(t->w, &err), 0);
	source = replay_open(t->path, &err);
	assert_non_null(source);
	t->model = model_new(&config);
	model_observe(t->model, &ops, t);
	while ((rc = source_poll(source, -1, -1, model_item, t->model, &err)) > 0)
		;
	assert_int_equal(rc, 0);
	assert_int_equal(model_finish(t->model), 0);
	source_free(source);
	close(t->file);
	t->snap = snapshot_take(t->model);
	assert_non_null(t->snap);
	assert_int_equal(ledger_sum(&t->snap->ledger), t->snap->ledger.event_wall_ns);
}

static void tape_end(struct tape *t)
{
	snapshot_free(t->snap);
	model_free(t->model);
}

/* Event i is whole, and its figures are to the nanosecond what they were. */
static void good(const struct tape *t, u32 i)
{
	assert_false(t->events[i].missing);
	assert_int_equal(t->events[i].ledger.event_wall_ns, 4 * MS);
	assert_int_equal(t->events[i].ledger.native_ns, MS);
	assert_int_equal(t->wall_a[i], MS);
	assert_int_equal(t->self_b[i], 2 * MS);
	assert_int_equal(t->events[i].cpu_ns, 4 * MS);
}

static u64 apart(u64 a, u64 b)
{
	return a > b ? a - b : b - a;
}

/* 104 days in ns do not fit a double; ten times that is no other. */
static void long_uptime(void **state)
{
	static const u64 days[] = { 0, 104, 105, 1040 };
	u32 i, k;

	(void)state;
	for (k = 0; k < ARRAY_SIZE(days); k++) {
		u64 ns = days[k] * 86400 * NSEC_PER_SEC + 1000000001;
		struct tape t = tape_begin(ns / 10 * 26 + 7, ns, false);

		put_events(&t, 20);
		tape_play(&t);
		assert_int_equal(t.count, 20);
		assert_int_equal(t.snap->begin_ns, ns);
		for (i = 0; i < 20; i++) {
			good(&t, i);
			assert_true(apart(t.events[i].begin_ns, ns + i * 250 * MS) < 1000);
			assert_true(apart(t.events[i].end_ns, ns + i * 250 * MS + 4 * MS) < 1000);
		}
		tape_end(&t);
	}
}

/* A counter that passes 2^64, or is set back: what spans it makes no sense and
 * is counted; what lies before it stands, and nothing is charged twice. */
static void counter_goes_back(void **state)
{
	u32 i, k;

	(void)state;
	for (k = 0; k < 2; k++) {
		u64 begin = k ? 1000 * HZ : UINT64_MAX - 10 * HZ / 4 + HZ / 100;
		struct tape t = tape_begin(begin, 5 * NSEC_PER_SEC, false);

		put_events(&t, 9);
		/* The tenth is the one: by its sleep, or by itself. */
		put_event(&t, k ? -(s64)(900 * HZ) : (s64)(HZ / 4));
		pass(&t, 246 * MS);
		put_clock(&t);
		put_events(&t, 5);
		tape_play(&t);
		for (i = 0; i < 9; i++)
			good(&t, i);
		assert_int_equal(t.count, 9);
		assert_int_equal(t.snap->events.count, 9);
		assert_int_equal(t.snap->ledger.event_wall_ns, 9 * 4 * MS);
		assert_int_equal(snapshot_group(t.snap, "addon:a")->stats.wall_ns, 9 * MS);
		/* The one event, or its parts; and two spans and an event each later. */
		assert_true(t.snap->repairs.discarded_shares + t.snap->repairs.before_attach >=
			    5 * 3 + 1);
		tape_end(&t);
	}
}

/*
 * The machine sleeps for an hour: CLOCK_MONOTONIC stands, the counter runs on. An
 * event that it sleeps in is not believed, all others are what they were; times
 * never go back, and those of after the sleep are later by it, no more.
 */
static void machine_sleeps(void **state)
{
	const u64 hour = 3600 * HZ, hour_ns = 3600 * NSEC_PER_SEC;
	struct tape t = tape_begin(77 * HZ, 30 * NSEC_PER_SEC, false);
	u32 i;

	(void)state;
	put_events(&t, 8);
	t.cycles += hour; /* between two events */
	put_events(&t, 8);
	put_event(&t, (s64)hour); /* in one */
	pass(&t, 246 * MS);
	put_clock(&t);
	put_events(&t, 8);
	tape_play(&t);
	assert_int_equal(t.count, 25);
	for (i = 0; i < 25; i++) {
		u64 asleep = i < 8 ? 0 : i <= 16 ? hour_ns : 2 * hour_ns;

		if (i == 16) {
			assert_int_equal(t.events[i].missing, MISSING_SENSE);
			assert_int_equal(t.events[i].ledger.event_wall_ns, 4 * MS);
			assert_int_equal(t.events[i].ledger.lost_ns, 4 * MS);
			assert_int_equal(t.wall_a[i], 0);
		} else {
			good(&t, i);
		}
		assert_true(apart(t.events[i].begin_ns, 30 * NSEC_PER_SEC + i * 250 * MS + asleep) <
			    MS);
		assert_true(i == 16 ||
			    apart(t.events[i].end_ns - t.events[i].begin_ns, 4 * MS) < MS / 10);
	}
	assert_int_equal(t.snap->repairs.discarded_shares, 1);
	assert_int_equal(t.snap->events.incomplete, 1);
	assert_int_equal(t.snap->events.missing[MISSING_SENSE], 1);
	tape_end(&t);
}

/* Times of CLOCK_MONOTONIC are the right cycles before and after the sleep. */
static void sleep_and_way_back(void **state)
{
	struct clock_map c = { 0 };
	u64 cycles = HZ, ns = NSEC_PER_SEC;
	u32 i;

	(void)state;
	for (i = 0; i < 40; i++) {
		assert_int_equal(clock_add(&c, cycles, ns, HZ), 0);
		assert_true(apart(clock_cycles_of(&c, ns), cycles) < HZ / 1000000);
		cycles += HZ / 4 + (i == 20 ? 60 * HZ : 0);
		ns += NSEC_PER_SEC / 4;
	}
	/* 250 ms before reading 30, and before reading 10. */
	assert_true(apart(clock_cycles_of(&c, NSEC_PER_SEC * 34 / 4), HZ * 34 / 4 + 60 * HZ) <
		    HZ / 100000);
	assert_true(apart(clock_cycles_of(&c, NSEC_PER_SEC * 14 / 4), HZ * 14 / 4) < HZ / 100000);
	clock_free(&c);
}

/* Somebody sets the date, forth and back: no figure and no time knows of it. */
static void date_is_set(void **state)
{
	struct tape t = tape_begin(HZ, NSEC_PER_SEC, false);
	u32 i;

	(void)state;
	for (i = 0; i < 12; i++) {
		put_events(&t, 1);
		t.real_ns += i % 2 ? NSEC_PER_SEC * 86400 * 365 : 0;
		t.real_ns -= i % 3 ? min_u64(t.real_ns, NSEC_PER_SEC * 86400 * 700) : 0;
	}
	tape_play(&t);
	assert_int_equal(t.count, 12);
	for (i = 0; i < 12; i++) {
		good(&t, i);
		assert_true(apart(t.events[i].begin_ns, NSEC_PER_SEC + i * 250 * MS) < 1000);
	}
	tape_end(&t);
}

static void put_off(struct tape *t, u64 begin, u64 end, u32 reason)
{
	struct vmspan_span off = { .h = { VMSPAN_OFF, 1, (u16)reason, 0 },
				   .begin = begin,
				   .end = end };

	put_records(t, ITEM_SCHED_REGISTRY, &t->sched_seq, &off, 1, 1);
}

/* What the kernel side hands over when it could not make a record. */
static void put_loss(struct tape *t)
{
	struct item it = { .type = ITEM_BATCH };

	it.batch = (struct item_batch){ .pid = SIM_PID,
					.tid = 1,
					.registry = ITEM_SCHED_REGISTRY,
					.thread = 1,
					.seq = t->sched_seq,
					.data = &it,
					.too_deep = ++t->lost };
	put(t, &it);
}

/*
 * A CPU comes up under the trace, and its counter cannot be read there: an
 * interval that begins or ends there has no record. That is told before the
 * thread's own batch, so the event it lies in is incomplete, and all others until
 * a record comes; behind it they are exact again.
 */
static void cpu_comes_up(void **state)
{
	struct tape t = tape_begin(HZ, NSEC_PER_SEC, true);
	u32 i;

	(void)state;
	put_events(&t, 4);
	put_loss(&t);
	put_events(&t, 2);
	put_off(&t, t.cycles - HZ / 100, t.cycles - HZ / 200, VMSPAN_OFF_SLEEPING);
	put_events(&t, 4);
	tape_play(&t);
	assert_int_equal(t.count, 10);
	for (i = 0; i < 10; i++) {
		if (i != 4 && i != 5)
			good(&t, i);
		else
			assert_int_equal(t.events[i].missing, MISSING_SWITCHES);
	}
	assert_int_equal(t.snap->events.incomplete, 2);
	assert_int_equal(t.snap->events.missing[MISSING_SWITCHES], 2);
	tape_end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(long_uptime),    cmocka_unit_test(counter_goes_back),
		cmocka_unit_test(machine_sleeps), cmocka_unit_test(sleep_and_way_back),
		cmocka_unit_test(date_is_set),    cmocka_unit_test(cpu_comes_up),
	};

	return cmocka_run_group_tests_name("clock", tests, NULL, NULL);
}
