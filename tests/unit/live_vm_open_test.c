/* SPDX-License-Identifier: BSD-2-Clause */
/* What threads of a stock VM are in for long is told while they are in it. */
#include "live_vm_pool.h"

#include "attach/clock.h"

#define MS NSEC_PER_MSEC

/* What was told of at one time. */
static struct {
	u32 count;
	struct item_open last;
	struct vmspan_event event;
	u64 looks, waited_ns; /* in its records; waits are no looks */
	u64 blocked_ns; /* of a statement's */
	u64 gc_ns;
	u32 collections; /* that have ended: none */
	struct vmspan_span span; /* the last */
} told;

static int take_open(void *ctx, const struct item *it)
{
	const struct item_batch *b = &it->open.batch;
	const u8 *p = b->data, *end;

	if (it->type != ITEM_OPEN)
		return take(ctx, it);
	if (!b->pid) {
		memset(&told, 0, sizeof(told));
		return 0;
	}
	told.count++;
	told.last = it->open;
	told.looks = told.waited_ns = told.blocked_ns = told.gc_ns = 0;
	told.collections = 0;
	assert_int_equal(batch_check(b->data, b->bytes, b->records), 0);
	for (end = p + b->bytes; p < end;
	     p += (size_t)((const struct vmspan_head *)p)->slots * VMSPAN_SLOT) {
		const struct vmspan_head *h = (const void *)p;
		const struct vmspan_sample *s = (const void *)p;
		const struct vmspan_span *span = (const void *)p;

		switch (h->type) {
		case VMSPAN_SAMPLE:
			if (s->flags & VMSPAN_SAMPLE_OFF)
				told.waited_ns += s->weight;
			else
				told.looks++;
			break;
		case VMSPAN_BLOCK:
			told.blocked_ns += span->end - span->begin;
			break;
		case VMSPAN_GC:
			told.gc_ns += span->end - span->begin;
			told.collections += !(h->depth & VMSPAN_F_PART);
			break;
		case VMSPAN_EVENT:
			told.event = *(const struct vmspan_event *)(const void *)p;
			break;
		default:
			told.span = *span;
		}
	}
	return 0;
}

/* How many go on. What is known of threads is as it was: so the next ones are told as if nobody had asked. */
static u32 open_now(void)
{
	u32 events = rig.events, samples = rig.samples;
	u64 kept = rig.l.vm_kept;

	rig.l.started = true;
	rig.l.parts[TRACE_TURNS].on = true;
	rig.l.clock_ns = clock_mono_ns();
	assert_int_equal(live_tell_open(&rig.l.s, take_open, NULL), 0);
	assert_int_equal(rig.events, events);
	assert_int_equal(rig.samples, samples);
	assert_int_equal(rig.l.vm_kept, kept);
	assert_null(rig.l.vm_told);
	rig.l.fn = take;
	return told.count;
}

/* The kernel side's answer: a thread is in this. */
static struct wire_turn is_in(u16 kind, u32 iteration, u64 begin, u64 end, u64 off)
{
	return (struct wire_turn){ .h = { .kind = WIRE_VM_TURN,
					  .bytes = WIRE_TURN_BARE - sizeof(struct wire_head),
					  .pid = rig.p.pid,
					  .tid = TID },
				   .begin = begin,
				   .end = end,
				   .off_ns = off,
				   .iteration = iteration,
				   .cpu_begin = 3,
				   .cpu_end = 3,
				   .kind = kind };
}

static void answers_opened(const struct wire_turn *w, const struct wire_open *o)
{
	buf_clear(&rig.open);
	assert_int_equal(buf_put(&rig.open, o, sizeof(*o)), 0);
	assert_int_equal(buf_put(&rig.open, w, sizeof(w->h) + w->h.bytes), 0);
}

static void answers_waiting(const struct wire_turn *w, u64 since)
{
	const struct wire_open o = { .waits_since = since, .iteration = w->iteration };

	answers_opened(w, &o);
}

struct vm_said {
	struct wire_open o;
	struct wire_turn turn;
};

static void answers(const struct wire_turn *w)
{
	answers_waiting(w, 0);
}

static void what_goes_on_is_told_with_what_has_come_of_it(void **state)
{
	struct wire_turn w = is_in(TURN_LOOP, 7, 100, 100 + 300 * MS, 5 * MS);
	u64 before = clock_mono_ns() - OPEN_LEAST_NS;

	(void)state;
	look(100 + 10 * MS, 0, 0, TURN_LOOP, &busy);
	look(100 + 20 * MS, 0, 0, TURN_LOOP, &busy);
	answers(&w);
	assert_int_equal(open_now(), 1);
	assert_true(rig.open_before >= before);
	assert_true(rig.open_before <= clock_mono_ns() - OPEN_LEAST_NS);
	assert_int_equal(told.event.h.id, 7);
	assert_int_equal(told.event.h.depth, VMSPAN_F_SAMPLED);
	assert_int_equal(told.event.mono_begin, 100);
	assert_int_equal(told.event.mono_end, 100 + 300 * MS);
	assert_int_equal(told.event.cpu_ns_end - told.event.cpu_ns_begin, 295 * MS);
	/* Those that have come are not told again, but they are its records. */
	assert_int_equal(told.last.batch.records, 1);
	assert_int_equal(told.event.records, 2);
	assert_int_equal(told.last.batch.seq, 2);
	assert_int_equal(told.last.batch.tid, TID);
	assert_int_equal(told.last.what.begin_ns, 100);
	assert_int_equal(told.last.what.until_ns, 100 + 300 * MS);
	assert_true(told.last.what.event);
	/* It ends, and is told as any other. */
	buf_clear(&rig.open);
	assert_int_equal(open_now(), 0);
	turn_ends(100 + 400 * MS, 5 * MS, 0);
	expect_event(7, 100, 100 + 400 * MS, 395 * MS, 2);
}

/* A collection that goes on is one of the event that it lies in, and is counted when it has ended. */
static void a_collection_that_goes_on_is_told(void **state)
{
	struct wire_turn w = is_in(TURN_LOOP, 7, 100, 100 + 300 * MS, 0);
	struct wire_open o = { .gc_since = 100 + 40 * MS, .iteration = 7 };

	(void)state;
	look(100 + 10 * MS, 0, 0, TURN_LOOP, &busy);
	answers_opened(&w, &o);
	assert_int_equal(open_now(), 1);
	assert_int_equal(told.gc_ns, 260 * MS);
	assert_int_equal(told.collections, 0);
	assert_int_equal(told.event.records, 2);
	/* Of both kinds, the one from before the event on. */
	o.gc_since = 50;
	o.sweep_since = 100 + 250 * MS;
	answers_opened(&w, &o);
	assert_int_equal(open_now(), 1);
	assert_int_equal(told.gc_ns, 350 * MS);
	/* It has begun since the kernel side was asked. */
	o.gc_since = o.sweep_since = w.end;
	answers_opened(&w, &o);
	assert_int_equal(open_now(), 1);
	assert_int_equal(told.gc_ns, 0);
	/* A stay on the CPU is not divided meanwhile. */
	w = is_in(TURN_BURST, 8, 100 + 300 * MS, 100 + 900 * MS, 0);
	o = (struct wire_open){ .gc_since = 100 + 350 * MS, .iteration = 8 };
	answers_opened(&w, &o);
	assert_int_equal(open_now(), 1);
	assert_int_equal(told.gc_ns, 550 * MS);
}

/* Its stack came as it began, and how long it is, is known now. */
static void a_wait_that_goes_on_is_told_with_its_stack(void **state)
{
	struct wire_turn w = is_in(TURN_LOOP, 7, 100, 100 + 500 * MS, 460 * MS);

	(void)state;
	look(100 + 10 * MS, 0, 0, TURN_LOOP, &busy);
	wait_begins(100 + 50 * MS, 10 * MS, &busy);
	answers(&w);
	assert_int_equal(open_now(), 1);
	assert_int_equal(told.waited_ns, 450 * MS);
	assert_int_equal(told.last.batch.records, 2);
	assert_int_equal(told.event.records, 2);
	assert_int_equal(told.event.cpu_ns_end - told.event.cpu_ns_begin, 40 * MS);
	/* It has ended, of which nothing has come. */
	w.off_ns = 60 * MS;
	answers(&w);
	assert_int_equal(open_now(), 1);
	assert_int_equal(told.waited_ns, 50 * MS);
	/* One for work is in no event, and before it there was one. */
	wait_ends(100 + 50 * MS, 100 + 100 * MS);
	wait_begins(100 + 200 * MS, 60 * MS, &idle);
	assert_int_equal(rig.events, 1);
	w.off_ns = 360 * MS;
	answers(&w);
	assert_int_equal(open_now(), 0);
	/* It has long ended, of which nothing has come. */
	w.off_ns = 80 * MS;
	answers(&w);
	assert_int_equal(open_now(), 1);
	assert_int_equal(told.event.mono_begin, 100 + 200 * MS);
	assert_int_equal(told.event.cpu_ns_end - told.event.cpu_ns_begin, 280 * MS);
	/* What follows is the next one, and young at first. */
	wait_ends(100 + 200 * MS, 100 + 420 * MS);
	w.off_ns = 280 * MS;
	answers(&w);
	assert_int_equal(open_now(), 0);
	w.end = 100 + 520 * MS;
	answers(&w);
	assert_int_equal(open_now(), 1);
	assert_int_equal(told.event.h.id, 8);
	assert_int_equal(told.event.mono_begin, 100 + 420 * MS);
	assert_int_equal(told.event.cpu_ns_end - told.event.cpu_ns_begin, 100 * MS);
}

/* ---- Stays of a pool's thread ---- */

static void stay_look(u32 number, u64 begin, u64 time, u16 flags, const struct frames *f)
{
	struct wire_sample w = { .h = { .kind = WIRE_VM_SAMPLE, .pid = rig.p.pid, .tid = TID },
				 .time = time,
				 .weight = flags & SAMPLE_OFF ? 0 : 10 * MS,
				 .iteration = number,
				 .flags = flags,
				 .count = f->count,
				 .turn_kind = TURN_BURST,
				 .turn_begin = begin };

	w.h.bytes = sizeof(w) - sizeof(w.h);
	memcpy(w.frames, f->of, f->count * sizeof(u32));
	assert_int_equal(live_record(&rig.l, &w, sizeof(w)), 0);
}

static void stay(u32 number, u64 begin, u64 end)
{
	struct wire_turn w = is_in(TURN_BURST, number, begin, end, 0);

	assert_int_equal(live_record(&rig.l, &w, WIRE_TURN_BARE), 0);
}

static void what_a_pool_s_thread_does_for_long_is_told(void **state)
{
	static const struct frames work = { 2, { APP, BEGIN } };
	/* Threads that wait are told of as of now. */
	u64 now = clock_mono_ns(), t = now - 1000 * MS;
	struct wire_turn w;
	struct wire_open o;

	(void)state;
	/* By the first look it is seen to be of a pool; that event is told as it comes. */
	stay_look(1, t, t + MS, 0, &work);
	stay(1, t, t + 10 * MS);
	stay_look(1, t, t + 10 * MS, SAMPLE_OFF | SAMPLE_SLEEPS, &idle);
	assert_int_equal(open_now(), 0);
	/* The first of its stays. */
	t += 100 * MS;
	stay_look(2, t, t + 10 * MS, 0, &work);
	w = is_in(TURN_BURST, 2, t, t + 99 * MS, 0);
	answers(&w);
	assert_int_equal(open_now(), 0);
	stay_look(2, t, t + 90 * MS, 0, &work);
	stay(2, t, t + 100 * MS);
	w = is_in(TURN_BURST, 3, t + 100 * MS, t + 150 * MS, 20 * MS);
	o = (struct wire_open){ .gc_since = t + 110 * MS, .iteration = 3 };
	answers_opened(&w, &o);
	assert_int_equal(open_now(), 1);
	assert_int_equal(told.gc_ns, 40 * MS);
	assert_int_equal(told.event.records, 3);
	answers(&w);
	assert_int_equal(open_now(), 1);
	assert_int_equal(told.event.h.id, 2);
	assert_int_equal(told.event.mono_begin, t);
	assert_int_equal(told.event.mono_end, t + 150 * MS);
	assert_int_equal(told.event.cpu_ns_end - told.event.cpu_ns_begin, 130 * MS);
	assert_int_equal(told.looks, 2);
	assert_int_equal(told.event.records, 2);
	/* It waits, not for work: what the kernel side has of it has ended. */
	stay(3, t + 100 * MS, t + 200 * MS);
	stay_look(3, t + 100 * MS, t + 200 * MS, SAMPLE_OFF | SAMPLE_SLEEPS, &busy);
	buf_clear(&rig.open);
	assert_int_equal(open_now(), 1);
	assert_int_equal(told.looks, 2);
	assert_int_equal(told.event.cpu_ns_end - told.event.cpu_ns_begin, 200 * MS);
	assert_true(told.event.mono_end >= now);
	assert_int_equal(told.waited_ns, told.event.mono_end - (t + 200 * MS));
	/* It has gone on, as far as the kernel side knows. */
	w = is_in(TURN_BURST, 4, t + 700 * MS, t + 750 * MS, 0);
	answers(&w);
	assert_int_equal(open_now(), 1);
	assert_int_equal(told.event.mono_end, t + 750 * MS);
	assert_int_equal(told.waited_ns, 500 * MS);
	/* All of it is one event at its end, whoever has asked. */
	stay_look(4, t + 700 * MS, t + 710 * MS, 0, &work);
	stay(4, t + 700 * MS, t + 800 * MS);
	stay_look(4, t + 700 * MS, t + 800 * MS, SAMPLE_OFF | SAMPLE_SLEEPS, &idle);
	expect_event(2, t, t + 800 * MS, 300 * MS, 4);
	/* It waits for work. */
	buf_clear(&rig.open);
	assert_int_equal(open_now(), 0);
}

/* Of no pool's, it is a piece of 0.1 s, which is told at its end: unless that does not come. */
static void a_stay_that_is_not_divided_is_told(void **state)
{
	static const struct frames work = { 1, { APP } };
	struct wire_turn w;

	(void)state;
	stay_look(1, 100, 100 + MS, 0, &work);
	w = is_in(TURN_BURST, 1, 100, 100 + 150 * MS, 0);
	answers(&w);
	assert_int_equal(open_now(), 0);
	w = is_in(TURN_BURST, 1, 100, 100 + 900 * MS, 0);
	answers(&w);
	assert_int_equal(open_now(), 1);
	assert_int_equal(told.event.mono_begin, 100);
	assert_int_equal(told.event.mono_end, 100 + 900 * MS);
}

/* What is under way follows nothing that is kept: something between was lost, or has not come. */
static void what_fits_to_nothing_is_not_told(void **state)
{
	static const struct frames work = { 2, { APP, BEGIN } };
	struct wire_turn w;

	(void)state;
	stay_look(1, 100, 100 + MS, 0, &work);
	stay_look(1, 100, 100 + 90 * MS, 0, &work);
	stay(1, 100, 100 + 100 * MS);
	w = is_in(TURN_BURST, 3, 100 + 200 * MS, 100 + 300 * MS, 0);
	answers(&w);
	assert_int_equal(open_now(), 0);
	w.h.pid++;
	answers(&w);
	assert_int_equal(open_now(), 0);
	w.h.pid--;
	w.iteration = 2;
	w.begin = 100 + 100 * MS;
	answers(&w);
	assert_int_equal(open_now(), 1);
	/* Answers that are cut. */
	rig.open.len -= 8;
	assert_int_equal(open_now(), 0);
	rig.open.len = 8;
	assert_int_equal(open_now(), 0);
	/* It says that there are texts. */
	answers(&w);
	((struct vm_said *)(void *)rig.open.data)->turn.h.bytes = sizeof(w) - sizeof(w.h);
	assert_int_equal(open_now(), 0);
	assert_int_equal(buf_put(&rig.open, &w, WIRE_TURN_BARE), 0);
	((struct vm_said *)(void *)rig.open.data)->turn.h.bytes = ~0u;
	assert_int_equal(open_now(), 0);
}

/* Of a stack that is too deep nobody knows whether it is a pool's, until its thread waits for work. */
static void a_thread_may_be_a_pool_s(void **state)
{
	static const struct frames deep = { 2, { APP, LOCK } };
	u64 t = clock_mono_ns() - 1000 * MS;

	(void)state;
	stay_look(1, t, t + MS, SAMPLE_CUT, &deep);
	stay(1, t, t + 10 * MS);
	stay_look(1, t, t + 10 * MS, SAMPLE_OFF | SAMPLE_SLEEPS, &deep);
	assert_int_equal(open_now(), 0);
	stay(2, t + 20 * MS, t + 30 * MS);
	stay_look(2, t + 20 * MS, t + 30 * MS, SAMPLE_OFF | SAMPLE_SLEEPS, &idle);
	assert_int_equal(open_now(), 0);
	stay(3, t + 40 * MS, t + 50 * MS);
	stay_look(3, t + 40 * MS, t + 50 * MS, SAMPLE_OFF | SAMPLE_SLEEPS, &deep);
	assert_int_equal(open_now(), 1);
	assert_int_equal(told.event.mono_begin, t + 40 * MS);
}

/* A thread that has no loop and is of no pool is told of in pieces, none of which is long. */
static void a_stay_of_no_pool_s_is_not_told(void **state)
{
	static const struct frames other = { 2, { APP, LOCK } };
	struct wire_turn w = is_in(TURN_BURST, 1, 100, 100 + 150 * MS, 0);

	(void)state;
	stay_look(1, 100, 100 + MS, 0, &other);
	answers(&w);
	assert_int_equal(open_now(), 0);
}

/* ---- Others ---- */

static void a_request_is_told_by_its_name(void **state)
{
	struct wire_turn w = is_in(TURN_REQUEST, 1, 100, 100 + 200 * MS, 0);

	(void)state;
	/* Of its thread nothing has come. */
	rig.p.vm_state->streams = (struct map){ 0 };
	strcpy(w.text, "/slow?x=1");
	w.text_len = 9;
	w.h.bytes = sizeof(w) - sizeof(w.h);
	answers(&w);
	assert_int_equal(open_now(), 1);
	assert_int_not_equal(told.last.what.label, 0);
	assert_int_equal(told.last.what.label, told.event.label);
}

/* It is measured whole, and so is what it is charged to. */
static void a_statement_is_told_whole(void **state)
{
	struct wire_turn w = is_in(TURN_STATEMENT, 1, 100, 100 + 200 * MS, 50 * MS);

	(void)state;
	strcpy(w.text, "select slow(now)");
	w.text_len = (u16)strlen(w.text);
	strcpy(w.title, "postgres: app shop [local] SELECT");
	w.title_len = (u16)strlen(w.title);
	w.h.bytes = sizeof(w) - sizeof(w.h);
	answers(&w);
	assert_int_equal(open_now(), 1);
	assert_int_equal(told.span.end - told.span.begin, 200 * MS);
	assert_int_not_equal(told.span.h.id, 0);
	assert_int_equal(told.last.what.stay_count, 1);
	assert_int_equal(told.last.what.stay[0], told.span.h.id);
	assert_int_equal(told.blocked_ns, 0);
	assert_int_equal(told.event.h.depth, 0);
	assert_int_equal(told.last.batch.records, 2);
	answers_waiting(&w, 100 + 160 * MS);
	assert_int_equal(open_now(), 1);
	assert_int_equal(told.last.batch.records, 3);
	assert_int_equal(told.blocked_ns, 40 * MS);
	assert_int_equal(told.event.records, 2);
	answers_waiting(&w, 50);
	assert_int_equal(open_now(), 1);
	assert_int_equal(told.blocked_ns, 200 * MS);
}

static u32 order; /* what came, a digit each: 1 a process, 2 definitions, 3 what goes on */

static int take_order(void *ctx, const struct item *it)
{
	u32 what = it->type == ITEM_PROCESS ? 1 : it->type == ITEM_DEFS ? 2 : 0;

	(void)ctx;
	if (it->type == ITEM_OPEN && it->open.batch.pid)
		what = 3;
	order = what ? order * 10 + what : order;
	return 0;
}

/* Who has been silent is told of before the names that it has. */
static void a_process_is_told_before_what_goes_on_in_it(void **state)
{
	struct wire_turn w = is_in(TURN_REQUEST, 1, 100, 100 + 200 * MS, 0);

	(void)state;
	rig.p.told = false;
	strcpy(w.text, "/silent");
	w.text_len = (u16)strlen(w.text);
	w.h.bytes = sizeof(w) - sizeof(w.h);
	answers(&w);
	rig.l.started = true;
	rig.l.parts[TRACE_TURNS].on = true;
	rig.l.clock_ns = clock_mono_ns();
	order = 0;
	assert_int_equal(live_tell_open(&rig.l.s, take_order, NULL), 0);
	assert_int_equal(order, 123);
	rig.l.fn = take;
}

/* Who is not reached in time is, the next time. */
static void a_look_that_ends_in_time_is_gone_on_with(void **state)
{
	struct wire_turn w = is_in(TURN_LOOP, 1, 100, 100 + 200 * MS, 0);
	const struct wire_open o = { .iteration = 1 };
	u32 i, last = 0, all = 0;

	(void)state;
	for (i = 0; i < 6; i++) {
		w.h.tid = TID + i;
		assert_int_equal(map_put(&rig.p.threads, w.h.tid, 1), 0);
		assert_int_equal(buf_put(&rig.open, &o, sizeof(o)), 0);
		assert_int_equal(buf_put(&rig.open, &w, WIRE_TURN_BARE), 0);
	}
	assert_int_equal(open_now(), 6);
	rig.step = 60 * MS;
	for (i = 0; i < 6 && last != TID + 5; i++) {
		all += open_now();
		assert_true(told.count > 0);
		assert_true(told.count < 6);
		assert_true(told.last.batch.tid > last);
		last = told.last.batch.tid;
	}
	assert_int_equal(all, 6);
	assert_int_equal(last, TID + 5);
	/* All that a time may take is over before the first. */
	rig.step = 300 * MS;
	for (i = 0; i < 6; i++) {
		assert_int_equal(open_now(), 1);
		assert_int_equal(told.last.batch.tid, TID + i);
	}
	rig.step = 0;
	assert_int_equal(open_now(), 6);
}

/* With --exact-calls nobody looks at stacks, and calls come when they have ended. */
static void of_calls_nothing_is_told(void **state)
{
	struct wire_turn w = is_in(TURN_LOOP, 7, 100, 100 + 300 * MS, 0);

	(void)state;
	rig.l.calls = true;
	answers(&w);
	assert_int_equal(open_now(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		POOL(what_goes_on_is_told_with_what_has_come_of_it),
		POOL(a_collection_that_goes_on_is_told),
		POOL(a_wait_that_goes_on_is_told_with_its_stack),
		POOL(what_a_pool_s_thread_does_for_long_is_told),
		POOL(what_fits_to_nothing_is_not_told),
		POOL(a_stay_that_is_not_divided_is_told),
		POOL(a_thread_may_be_a_pool_s),
		POOL(a_stay_of_no_pool_s_is_not_told),
		POOL(a_request_is_told_by_its_name),
		POOL(a_statement_is_told_whole),
		POOL(a_process_is_told_before_what_goes_on_in_it),
		POOL(a_look_that_ends_in_time_is_gone_on_with),
		POOL(of_calls_nothing_is_told),
	};

	return cmocka_run_group_tests_name("live_vm_open", tests, NULL, NULL);
}
