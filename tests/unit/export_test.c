/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Exports of known marks. With VMSPAN_DUMP=DIR they are left there too, for a
 * reader that is not ours (tests/golden/json.sh).
 */
#include "export_rig.h"
#include "sink/nesting.h"
#include "sink/perfetto_names.h"
#include "sink/select.h"

/* ---- Nesting ---- */

static int add(struct nesting *n, u64 begin, u64 end, u64 want)
{
	int verdict = nesting_add(n, &begin, end);

	if (verdict != NESTING_REFUSED)
		assert_int_equal(begin, want);
	return verdict;
}

static void nested_and_touching_intervals_fit(void **state)
{
	struct nesting n = { 0 };

	(void)state;
	assert_int_equal(add(&n, 10, 20, 10), NESTING_FITS);
	assert_int_equal(add(&n, 20, 30, 20), NESTING_FITS);
	assert_int_equal(add(&n, 30, 30, 30), NESTING_FITS);
	assert_int_equal(add(&n, 10, 30, 10), NESTING_FITS);
	assert_int_equal(add(&n, 5, 40, 5), NESTING_FITS);
	assert_int_equal(n.count, 1);
	nesting_release(&n);
}

static void overlaps_are_cut_and_disorder_is_refused(void **state)
{
	struct nesting n = { 0 };

	(void)state;
	assert_int_equal(add(&n, 10, 20, 10), NESTING_FITS);
	assert_int_equal(add(&n, 15, 30, 20), NESTING_CUT);
	assert_int_equal(add(&n, 12, 25, 0), NESTING_REFUSED);
	assert_int_equal(add(&n, 50, 40, 0), NESTING_REFUSED);
	assert_int_equal(add(&n, 12, 60, 20), NESTING_CUT);
	nesting_release(&n);
}

static void nesting_needs_no_more_memory_for_a_longer_trace(void **state)
{
	struct nesting n = { 0 };
	u64 i, begin = 0;

	(void)state;
	for (i = 0; i < 100000; i++)
		assert_int_equal(add(&n, i * 10, i * 10 + 5, i * 10), NESTING_FITS);
	assert_in_range(n.cap, 1, 4096);
	assert_int_equal(nesting_add(&n, &begin, 2000000), NESTING_FITS);
	assert_int_equal(n.count, 1);
	nesting_release(&n);
}

/* ---- Chrome ---- */

/* An event with a, a nested in it b and a collection; then marks. */
static void run_marks(struct sim *s)
{
	sim_event(s, 2000);
	sim_enter(s, 2100, 1, VMSPAN_SPAN);
	sim_enter(s, 2200, 2, VMSPAN_SPAN);
	sim_leave(s, 2300);
	sim_enter(s, 2300, 3, VMSPAN_GC);
	sim_leave(s, 2450);
	sim_leave(s, 2500);
	sim_event_end(s, 3001);
	/* Outside of any event: implicit, and so not an event in the file. */
	sim_enter(s, 4000, 1, VMSPAN_SPAN);
	sim_leave(s, 4100);
}

static char *chrome_of(const char *glob, u64 start_ns)
{
	static const struct model_config config = { 0 };
	struct export_config c = { .start_ns = start_ns, .glob = glob };
	struct select_config wanted = { .glob = glob };
	struct select sel;
	const struct report_source source = {
		.kind = "recording", .method = "exact", .nested = "drop", .note = "cut"
	};
	static const u32 group[] = { 1, 2 };
	struct model *m = model_new(&config);
	struct sim *s = sim_new(SIM_PID);
	struct export e;
	char *text;

	export_begin(&e, "chrome", &c, m);
	select_init(&sel, &wanted);
	select_attach(&sel, m);
	sim_start(m, "ho\"st");
	sim_define(m, SIM_PID, VMSPAN_DEF_GROUP, 1, VMSPAN_ADDON, "tracker", NULL, 0);
	sim_define(m, SIM_PID, VMSPAN_DEF_GROUP, 2, VMSPAN_PAGE, HOSTILE, NULL, 0);
	sim_define(m, SIM_PID, VMSPAN_DEF_COMPARTMENT, 1, 0, "frame", &group[0], 1);
	sim_define(m, SIM_PID, VMSPAN_DEF_COMPARTMENT, 2, 0, HOSTILE, &group[1], 1);
	run_marks(s);
	sim_feed(s, m, 3);
	export_end(&e, m, &source);
	text = fixture_text(&e.o);
	select_release(&sel);
	model_free(m);
	free(s);
	return text;
}

static void chrome_has_every_span_once(void **state)
{
	char *text = chrome_of(NULL, 1);

	(void)state;
	dump("chrome", text);
	assert_int_equal(count_of(text, "\"ph\":\"X\""), 5);
	assert_int_equal(count_of(text, "\"cat\":\"addon\""), 2);
	assert_int_equal(count_of(text, "\"cat\":\"page\""), 1);
	assert_int_equal(count_of(text, "\"cat\":\"gc\""), 1);
	assert_int_equal(count_of(text, "\"cat\":\"event\""), 1);
	/* ns to the last digit, from the start of the trace at 1 us. */
	assert_non_null(strstr(text, "\"ts\":2.999,\"dur\":1.001,\"args\":{\"iteration\":1,"));
	assert_int_equal(count_of(text, "\"process_name\""), 1);
	assert_int_equal(count_of(text, "\"thread_name\""), 1);
	assert_int_equal(count_of(text, "\"intervals_cut\":0,\"intervals_async\":0,"
					"\"times_clamped\":0,\"note\":\"cut\""),
			 2);
	assert_int_equal(count_of(text, "\"t0_ns\":-999"), 2);
	free(text);
}

static void chrome_keeps_the_groups_that_are_asked_for(void **state)
{
	char *text = chrome_of("addon:*", 1);

	(void)state;
	assert_int_equal(count_of(text, "\"cat\":\"addon\""), 2);
	assert_int_equal(count_of(text, "\"cat\":\"page\""), 0);
	free(text);
}

/* Before the start: the event and three of its spans begin, one of them ends. */
static void chrome_counts_the_times_that_it_moves(void **state)
{
	char *text = chrome_of(NULL, 2301);

	(void)state;
	assert_int_equal(count_of(text, "\"times_clamped\":5,"), 2);
	assert_non_null(strstr(text, "\"ts\":1.000,\"dur\":0.700,"));
	free(text);
}

/* A thread with an event, a value and a collection of a heap of so many bytes. */
static struct sim *twin(u32 tid, u64 t, s64 value, u64 bytes)
{
	struct sim *s = sim_new(tid);
	struct vmspan_point *mark;
	struct vmspan_gc *gc;

	sim_event(s, t);
	mark = sim_record(s, VMSPAN_VALUE, 1, 0, 1);
	mark->time = t + 10;
	mark->value = value;
	sim_enter(s, t + 20, 0, VMSPAN_GC);
	sim_leave(s, t + 30);
	gc = (void *)s->data[s->at[s->records - 1]];
	gc->bytes_before = bytes;
	sim_event_end(s, t + 100);
	return s;
}

/* Two threads, then another with the number of the second: in each format nothing of the
 * one may be shown as the other's, and every number as it is. */
static char *twins_of(const char *format, const char *label)
{
	static const u64 bytes[] = { 1ull << 53, (1ull << 53) + 1, 5 };
	static const u32 tids[] = { SIM_PID, 7, 7 };
	const struct report_source source = { .kind = "recording",
					      .method = "exact",
					      .nested = "drop" };
	struct model *m = model_make(&(struct model_config){ 0 });
	struct export e;
	char *text;
	u32 i;

	export_begin(&e, format, &(struct export_config){ .start_ns = 1 }, m);
	sim_define(m, SIM_PID, VMSPAN_DEF_LABEL, 1, 0, label, NULL, 0);
	for (i = 0; i < ARRAY_SIZE(tids); i++) {
		struct sim *s = twin(tids[i], 1000 * (i + 1), -(s64)i - 1, bytes[i]);
		struct item it = sim_item(s, SIM_PID, 0, s->records);

		it.batch.thread = i + 1;
		assert_int_equal(model_item(m, &it), 0);
		free(s);
	}
	export_end(&e, m, &source);
	out_write(&e.o, "", 1);
	text = malloc(e.o.buf.len);
	memcpy(text, e.o.buf.data, e.o.buf.len);
	for (i = 0; i + 1 < e.o.buf.len; i++)
		if (!text[i])
			text[i] = 1;
	out_close(&e.o);
	model_free(m);
	return text;
}

static void chrome_keeps_twins_apart(void **state)
{
	char *text = twins_of("chrome", "load");

	(void)state;
	assert_int_equal(count_of(text, "\"name\":\"load\""), 1);
	assert_int_equal(count_of(text, "\"name\":\"load (7)\""), 2);
	assert_int_equal(count_of(text, "\"ph\":\"X\",\"pid\":100,\"tid\":100,"), 2);
	assert_int_equal(count_of(text, "\"ph\":\"X\",\"pid\":100,\"tid\":7,"), 2);
	assert_int_equal(count_of(text, "\"ph\":\"X\",\"pid\":100,\"tid\":10000007,"), 2);
	assert_int_equal(count_of(text, "\"thread_name\""), 3);
	/* Beyond 2^53 viewers would round. */
	assert_int_equal(count_of(text, "\"bytes_before\":9007199254740992,"), 1);
	assert_int_equal(count_of(text, "\"bytes_before\":\"9007199254740993\","), 1);
	free(text);
}

static void firefox_keeps_twins_apart(void **state)
{
	char *text = twins_of("firefox", "load");

	(void)state;
	assert_int_equal(count_of(text, "\"name\":\"load\""), 1);
	assert_int_equal(count_of(text, "\"name\":\"load (7)\""), 2);
	assert_int_equal(count_of(text, "\"isMainThread\":true"), 1);
	assert_int_equal(count_of(text, "\"isMainThread\":false"), 2);
	free(text);
}

/* A program's own value may have the name that the sizes of collections go by. */
static void a_value_is_not_the_heap_that_it_is_named_after(void **state)
{
	char *text = twins_of("firefox", "gc heap");

	(void)state;
	assert_int_equal(count_of(text, "\"name\":\"gc heap\",\"category\":\"Memory\""), 1);
	assert_int_equal(count_of(text, "\"name\":\"gc heap\",\"category\":\"Value\""), 1);
	/* Of the value, what the thread gave it and nothing else. */
	assert_int_equal(count_of(text, "\"time\":[0.000000,0.001009],\"count\":[0,-1],"), 1);
	free(text);
}

static void perfetto_keeps_twins_apart(void **state)
{
	char *text = twins_of("perfetto", "load");

	(void)state;
	/* Descriptions of threads, by process and number: a viewer makes those of one number one. */
	assert_int_equal(count_of(text, "\x08\x64\x10\x64"), 1);
	assert_int_equal(count_of(text, "\x08\x64\x10\x07"), 1);
	free(text);
}

/* Compartments of one name are two where their groups are: their times stay apart. */
static void speedscope_keeps_groups_apart(void **state)
{
	const struct report_source source = { .kind = "recording" };
	struct model *m = model_make(&(struct model_config){ 0 });
	struct sim *s = sim_new(1);
	struct export e;
	char *text;
	u32 i;

	(void)state;
	export_begin(&e, "speedscope", &(struct export_config){ .start_ns = 1 }, m);
	sim_event(s, 1000);
	for (i = 11; i <= 12; i++) {
		sim_define(m, SIM_PID, VMSPAN_DEF_GROUP, i, VMSPAN_ADDON, i & 1 ? "odd" : "even",
			   NULL, 0);
		sim_define(m, SIM_PID, VMSPAN_DEF_COMPARTMENT, i, 0, "same", &i, 1);
		sim_enter(s, 1000 * i, i, VMSPAN_SPAN);
		sim_leave(s, 1000 * i + 100);
	}
	sim_event_end(s, 20000);
	sim_feed(s, m, 10);
	export_end(&e, m, &source);
	text = fixture_text(&e.o);
	assert_int_equal(count_of(text, "{\"name\":\"same\",\"file\":\"addon:odd\"}"), 1);
	assert_int_equal(count_of(text, "{\"name\":\"same\",\"file\":\"addon:even\"}"), 1);
	free(text);
	model_free(m);
	free(s);
}

/* ---- Sampled stacks ---- */

#define PACKAGES 250
#define GROUPS_MAX 200 /* what the Firefox Profiler has categories for */

/* A look at a function of each of many packages. */
static void look_at_packages(struct sim *s, struct model *m)
{
	u32 i, group;

	for (i = 1; i <= PACKAGES; i++) {
		struct vmspan_sample *look;
		char name[16];

		snprintf(name, sizeof(name), "p%u", i);
		group = 100 + i;
		sim_define(m, SIM_PID, VMSPAN_DEF_GROUP, group, VMSPAN_PACKAGE, name, NULL, 0);
		sim_define(m, SIM_PID, VMSPAN_DEF_COMPARTMENT, group, 0, name, &group, 1);
		sim_define(m, SIM_PID, VMSPAN_DEF_FRAME, i, 0, name, &group, 1);
		look = sim_record(s, VMSPAN_SAMPLE, 2, 1, 0);
		look->time = look->weight = 1000 * i;
		look->frames[0] = i;
	}
}

/* Stacks by their numbers from 0 on, what is around by the number of its own; a look weighs the time it stands for. */
static void firefox_has_the_stacks_that_were_looked_at(void **state)
{
	static const struct model_thread thread = {
		.pid = 7, .tid = 7, .id = 1, .name = "t", .process = "p"
	};
	static const char *const frames[] = { "inner", "outer" }, *const groups[] = { "package:a",
										      "package:b" };
	const struct report_source source = { .kind = "recording", .method = "sampled" };
	struct model *m = model_make(&(struct model_config){ 0 });
	struct model_sample look = { .thread = &thread,
				     .frames = frames,
				     .groups = groups,
				     .count = 2,
				     .time_ns = 1000001,
				     .weight_ns = 2000000 };
	struct export e;
	void *ctx;
	char *text;

	(void)state;
	export_begin(&e, "firefox", &(struct export_config){ .start_ns = 1 }, m);
	assert_int_equal(model_observer(m, &ctx)->sample(ctx, &look), 0);
	look.time_ns = 3000001;
	look.gc = true;
	assert_int_equal(model_observer(m, &ctx)->sample(ctx, &look), 0);
	look.time_ns = 5000001;
	look.gc = false;
	look.off = true;
	assert_int_equal(model_observer(m, &ctx)->sample(ctx, &look), 0);
	export_end(&e, m, &source);
	text = fixture_text(&e.o);
	assert_int_equal(count_of(text,
				  "\"samples\":{\"stack\":[1,2,3],\"time\":[1.000000,3.000000,"
				  "5.000000],\"weight\":[2.000000,2.000000,2.000000],"
				  "\"weightType\":\"tracing-ms\",\"length\":3}"),
			 1);
	/* Outer, inner in it; in that the collection, and the wait. */
	assert_int_equal(count_of(text,
				  "\"stackTable\":{\"frame\":[0,1,2,3],\"prefix\":[null,0,1,1],"
				  "\"length\":4}"),
			 1);
	assert_int_equal(count_of(text, "\"resource\":[0,1,-1,-1]"), 1);
	/* Collections and waits have categories of the table's begin, groups those behind it. */
	assert_int_equal(count_of(text, "\"category\":[12,13,6,7],\"subcategory\""), 1);
	free(text);
	model_free(m);
}

/* Of each thread from its begin on: where nobody looked an empty stack keeps the place, and spans are beside it. */
static void speedscope_has_looks_and_spans_of_each_thread(void **state)
{
	static const struct model_thread threads[] = {
		{ .pid = 7, .tid = 7, .id = 1, .name = "a", .process = "p" },
		{ .pid = 7, .tid = 8, .id = 2, .name = "b", .process = "p" },
	};
	static const char *const frames[] = { "f" }, *const groups[] = { "package:a" };
	const struct report_source source = { .kind = "recording", .method = "sampled" };
	struct model *m = model_make(&(struct model_config){ 0 });
	struct model_sample look = {
		.frames = frames, .groups = groups, .count = 1, .weight_ns = 100
	};
	const struct model_span s = { .thread = &threads[0],
				      .type = VMSPAN_SPAN,
				      .name = "f",
				      .group = "addon:b",
				      .begin_ns = 301,
				      .end_ns = 401 };
	struct export e;
	void *ctx;
	char *text;
	u32 i;

	(void)state;
	export_begin(&e, "speedscope", &(struct export_config){ .start_ns = 1 }, m);
	for (i = 0; i < 2; i++) {
		look.thread = &threads[i];
		look.time_ns = 101;
		assert_int_equal(model_observer(m, &ctx)->sample(ctx, &look), 0);
		look.time_ns = 251;
		assert_int_equal(model_observer(m, &ctx)->sample(ctx, &look), 0);
	}
	assert_int_equal(model_observer(m, &ctx)->span(ctx, &s), 0);
	export_end(&e, m, &source);
	text = fixture_text(&e.o);
	assert_int_equal(count_of(text, "\"samples\":[[0],[],[0]],\"weights\":[100,50,100],"
					"\"startValue\":0,\"endValue\":250}"),
			 2);
	assert_int_equal(count_of(text, "\"name\":\"p (7) / a (7): events\""), 1);
	assert_int_equal(count_of(text, "{\"type\":\"O\",\"frame\":1,\"at\":300},"
					"{\"type\":\"C\",\"frame\":1,\"at\":400}"),
			 1);
	/* One name in two groups is two frames. */
	assert_int_equal(count_of(text, "\"frames\":[{\"name\":\"f\",\"file\":\"package:a\"},"
					"{\"name\":\"f\",\"file\":\"addon:b\"}]"),
			 1);
	free(text);
	model_free(m);
}

static void firefox_has_categories_for_so_many_groups(void **state)
{
	const struct report_source source = { .kind = "recording", .method = "sampled" };
	struct model *m = model_make(&(struct model_config){ 0 });
	struct sim *s = sim_new(1);
	struct export e;
	char *text;

	(void)state;
	export_begin(&e, "firefox", &(struct export_config){ .start_ns = 1 }, m);
	look_at_packages(s, m);
	sim_feed(s, m, 10);
	export_end(&e, m, &source);
	text = fixture_text(&e.o);
	assert_int_equal(count_of(text, "{\"name\":\"package:p"), GROUPS_MAX);
	assert_int_equal(count_of(text, "{\"name\":\"package:p1\","), 1);
	assert_int_equal(count_of(text, "{\"name\":\"package:p200\","), 1);
	free(text);
	model_free(m);
	free(s);
}

/* ---- Collapsed ---- */

/* An event of 400 ns, 50 of them off the CPU, 30 of those in an announced call
 * of 40. `migrated` says whether the trace knows when its threads ran. */
static char *collapsed_of(const char *migrated)
{
	const struct report_source source = { .kind = "recording", .migrated = migrated };
	struct model *m = model_make(&(struct model_config){ .exact = true });
	struct sim *s = sim_new(1), *sched = sim_new(1);
	struct export e;
	char *text;

	export_begin(&e, "collapsed", &(struct export_config){ .start_ns = 1 }, m);
	sim_off(sched, 1, 1, VMSPAN_OFF_START);
	sim_off(sched, 1110, 1140, VMSPAN_OFF_SLEEPING);
	sim_off(sched, 1310, 1330, VMSPAN_OFF_SLEEPING);
	sim_event(s, 1000);
	sim_enter(s, 1100, 1, VMSPAN_SPAN);
	sim_enter(s, 1110, 0, VMSPAN_BLOCK);
	s->off += 30;
	sim_leave(s, 1150);
	sim_leave(s, 1300);
	s->off += 20;
	sim_event_end(s, 1400);
	sim_feed_sched(sched, m);
	sim_feed(s, m, 10);
	export_end(&e, m, &source);
	text = fixture_text(&e.o);
	model_free(m);
	free(sched);
	free(s);
	return text;
}

/* Rule: what an event was off the CPU is a stack of its own, beside what ran of
 * the call it announced: no time is told twice. */
static void collapsed_shows_what_an_event_waited(void **state)
{
	char *exact = collapsed_of("split"), *other = collapsed_of("discard");

	(void)state;
	assert_string_equal(exact, "test (100);thread;event;(native) 180\n"
				   "test (100);thread;event;addon:a 160\n"
				   "test (100);thread;event;addon:a;(blocked) 10\n"
				   "test (100);thread;event;(waiting) 50\n");
	assert_null(strstr(other, "(waiting)"));
	free(exact);
	free(other);
}

/* A look at a stock VM's stack in an event that waits: its stacks tell all of its time, and those of a program in the
 * same trace with the scheduler's record are as they are without it. */
static void collapsed_tells_no_time_of_a_stock_vm_twice(void **state)
{
	const struct report_source source = { .kind = "recording", .migrated = "split" };
	struct model *m = model_make(&(struct model_config){ .exact = true });
	struct sim *s = sim_new(1), *vm = sim_new(2), *sched = sim_of(1, 8);
	struct vmspan_sample *look;
	struct vmspan_event *event;
	struct item it;
	struct export e;
	char *text;

	(void)state;
	export_begin(&e, "collapsed", &(struct export_config){ .start_ns = 1 }, m);
	sim_off(sched, 1, 1, VMSPAN_OFF_START);
	sim_off(sched, 1310, 1330, VMSPAN_OFF_SLEEPING);
	sim_event(s, 1000);
	sim_enter(s, 1100, 1, VMSPAN_SPAN);
	sim_leave(s, 1300);
	s->off += 20;
	sim_event_end(s, 1400);
	look = sim_record(vm, VMSPAN_SAMPLE, 2, 0, 0);
	look->time = 1500;
	look->weight = 300;
	look->flags = VMSPAN_SAMPLE_OFF;
	look->iteration = 1;
	event = sim_record(vm, VMSPAN_EVENT, 3, VMSPAN_F_SAMPLED, 1);
	event->begin = event->mono_begin = 1200;
	event->end = event->mono_end = 1500;
	sim_feed_sched(sched, m);
	sim_feed(s, m, 10);
	it = sim_item(vm, SIM_PID, 0, vm->records);
	it.batch.registry = ITEM_TRACER_REGISTRY;
	assert_int_equal(model_item(m, &it), 0);
	export_end(&e, m, &source);
	text = fixture_text(&e.o);
	assert_string_equal(text, "test (100);thread;(waiting) 300\n"
				  "test (100);thread;event;(native) 180\n"
				  "test (100);thread;event;addon:a 200\n"
				  "test (100);thread;event;(waiting) 20\n");
	free(text);
	model_free(m);
	free(sched);
	free(vm);
	free(s);
}

/* ---- Perfetto ---- */

#define PEER_PID 200
#define CALLS 64
#define EVENTS 256

/* A turn with calls in each other, all while their peer had its turns: an arrow
 * from each of these to each of those. */
static void wait_for_peer(struct sim *s, struct sim *peer, u64 t)
{
	struct vmspan_block *b;
	u32 i;

	for (i = 0; i < EVENTS; i++) {
		sim_event(peer, t + 1000 + i * 10);
		sim_event_end(peer, t + 1005 + i * 10);
	}
	sim_event(s, t);
	for (i = 0; i < CALLS; i++)
		sim_enter(s, t + 1 + i, 0, VMSPAN_BLOCK);
	for (i = 0; i < CALLS; i++) {
		sim_leave(s, t + 8000 + i);
		b = (void *)s->data[s->at[s->records - 1]];
		b->peer = PEER_PID;
	}
	sim_event_end(s, t + 9000);
}

/* Rule: there are no more than 65536 arrows, and the rest is counted where the
 * reader of the trace sees it. */
static void perfetto_tells_of_arrows_left_out(void **state)
{
	const struct report_source source = { .kind = "recording" };
	const u32 rounds = 65536 / (CALLS * EVENTS);
	struct item it = { .type = ITEM_PROCESS };
	u32 more;

	(void)state;
	it.process = (struct item_process){ PROCESS_SEEN, PEER_PID, 1, 1, "helper", "sdk" };
	for (more = 0; more < 2; more++) {
		struct model *m = model_make(&(struct model_config){ 0 });
		struct sim *s = sim_new(1), *peer = sim_new(2);
		struct export e;
		bool told;
		u32 i;

		export_begin(&e, "perfetto", &(struct export_config){ .start_ns = 1 }, m);
		assert_int_equal(model_item(m, &it), 0);
		for (i = 0; i < rounds + more; i++) {
			u32 from = s->records, peer_from = peer->records;

			wait_for_peer(s, peer, (i + 1) * 100000);
			assert_int_equal(sim_batch(peer, m, PEER_PID, peer_from, peer->records), 0);
			assert_int_equal(sim_batch(s, m, SIM_PID, from, s->records), 0);
		}
		export_end(&e, m, &source);
		told = memmem(e.o.buf.data, e.o.buf.len, "arrows left out", 15);
		assert_int_equal(told, more);
		if (more)
			assert_non_null(
				memmem(e.o.buf.data, e.o.buf.len, "16384 arrows left out", 21));
		out_close(&e.o);
		model_free(m);
		free(peer);
		free(s);
	}
}

/* ---- What is missing ---- */

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nested_and_touching_intervals_fit),
		cmocka_unit_test(overlaps_are_cut_and_disorder_is_refused),
		cmocka_unit_test(nesting_needs_no_more_memory_for_a_longer_trace),
		cmocka_unit_test(chrome_has_every_span_once),
		cmocka_unit_test(chrome_keeps_the_groups_that_are_asked_for),
		cmocka_unit_test(chrome_counts_the_times_that_it_moves),
		cmocka_unit_test(chrome_keeps_twins_apart),
		cmocka_unit_test(firefox_keeps_twins_apart),
		cmocka_unit_test(a_value_is_not_the_heap_that_it_is_named_after),
		cmocka_unit_test(perfetto_keeps_twins_apart),
		cmocka_unit_test(speedscope_keeps_groups_apart),
		cmocka_unit_test(firefox_has_the_stacks_that_were_looked_at),
		cmocka_unit_test(speedscope_has_looks_and_spans_of_each_thread),
		cmocka_unit_test(firefox_has_categories_for_so_many_groups),
		cmocka_unit_test(collapsed_shows_what_an_event_waited),
		cmocka_unit_test(collapsed_tells_no_time_of_a_stock_vm_twice),
		cmocka_unit_test(perfetto_tells_of_arrows_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
