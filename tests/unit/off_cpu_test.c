/* SPDX-License-Identifier: BSD-2-Clause */
/* A thread that tells when it had no CPU: what its marks become. Cycles are half nanoseconds. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "source/marks.h"

#define US 2000 /* cycles */

static struct marks marks;
static u64 cpu_ns; /* of the thread, at its last mark */
static u64 last; /* cycles */

static u64 ns_of(void *ctx, u64 cycles)
{
	(void)ctx;
	return 7000 + cycles / 2;
}

static int thread_begins(void **state)
{
	(void)state;
	marks_init(&marks, ns_of, NULL);
	marks.switches = true;
	cpu_ns = 5000;
	last = 0;
	return 0;
}

static int thread_ends(void **state)
{
	(void)state;
	marks_free(&marks);
	return 0;
}

static void mark(u64 at, u32 type, u32 id)
{
	const struct vmspan_mark m = { .cycles = at, .id = id, .type = type };

	cpu_ns += (at - last) / 2;
	last = at;
	assert_int_equal(marks_take(&marks, &m, 1, false), 0);
}

/* Since the mark before the thread had no CPU for so many ns. */
static void back(u64 at, u32 cpu, u64 away_ns)
{
	struct vmspan_mark m[2] = { { .cycles = at, .id = cpu, .type = VMSPAN_MARK_SWITCH },
				    { .type = VMSPAN_MARK_MORE } };

	cpu_ns += (at - last) / 2 - away_ns;
	last = at;
	m[1].cycles = cpu_ns;
	assert_int_equal(marks_take(&marks, m, 2, false), 0);
}

/* The record of a type, the n-th from 0. NULL: there are fewer. */
static const void *nth(u32 type, u32 n)
{
	size_t at;

	for (at = 0; at < marks.out.len;) {
		const struct vmspan_head *h = (const void *)(marks.out.data + at);

		if (h->type == type && !n--)
			return h;
		at += h->slots * (size_t)VMSPAN_SLOT;
	}
	return NULL;
}

static u32 depth_of(const struct vmspan_head *h)
{
	return h->depth & VMSPAN_DEPTH_MASK;
}

static void each_absence_lies_in_the_innermost_stay(void **state)
{
	const struct vmspan_span *a;
	const struct vmspan_event *e;

	(void)state;
	back(10 * US, 3, 0);
	mark(10 * US, VMSPAN_MARK_EVENT_BEGIN, 0);
	mark(20 * US, VMSPAN_MARK_ENTER, 1);
	mark(30 * US, VMSPAN_MARK_ENTER, 2);
	back(80 * US, 3, 40000);
	mark(80 * US, VMSPAN_MARK_LEAVE, 2);
	back(100 * US, 1, 15000);
	mark(101 * US, VMSPAN_MARK_LEAVE, 1);
	back(200 * US, 1, 99000);
	mark(200 * US, VMSPAN_MARK_EVENT_END, 0);
	a = nth(VMSPAN_AWAY, 0);
	assert_non_null(a);
	assert_int_equal(depth_of(&a->h), 2);
	assert_int_equal(a->begin, 40 * US);
	assert_int_equal(a->end, 80 * US);
	assert_int_equal(a->cpu_begin, 3);
	assert_int_equal(a->cpu_end, 3);
	assert_int_equal(a->iteration, 1);
	a = nth(VMSPAN_AWAY, 1);
	assert_non_null(a);
	assert_int_equal(depth_of(&a->h), 1);
	assert_int_equal(a->end - a->begin, 15 * US);
	assert_int_equal(a->cpu_begin, 3);
	assert_int_equal(a->cpu_end, 1);
	a = nth(VMSPAN_AWAY, 2);
	assert_non_null(a);
	assert_int_equal(depth_of(&a->h), 0);
	assert_int_equal(a->begin, 101 * US); /* not before the mark that it came behind */
	assert_int_equal(a->end, 200 * US);
	assert_null(nth(VMSPAN_AWAY, 3));
	e = nth(VMSPAN_EVENT, 0);
	assert_non_null(e);
	assert_true(e->h.depth & VMSPAN_F_SWITCHES);
	assert_int_equal(depth_of(&e->h), 0);
	assert_int_equal(e->records, 5);
	assert_int_equal(e->cpu_ns_end - e->cpu_ns_begin, 190000 - 40000 - 15000 - 99000);
}

/* The clocks differ by a little, and a signal is no absence. */
static void what_is_too_short_for_a_switch_is_none(void **state)
{
	(void)state;
	back(10 * US, 3, 0);
	mark(20 * US, VMSPAN_MARK_ENTER, 1);
	back(40 * US, 3, 1000);
	assert_null(nth(VMSPAN_AWAY, 0));
	back(60 * US, 3, 1001);
	assert_non_null(nth(VMSPAN_AWAY, 0));
	back(70 * US, 3, -(u64)3000); /* its clock has run ahead */
	assert_null(nth(VMSPAN_AWAY, 1));
}

/* It cannot be longer than it is since the mark before. */
static void an_absence_is_not_older_than_the_mark_before_it(void **state)
{
	const struct vmspan_span *a;

	(void)state;
	back(10 * US, 3, 0);
	mark(90 * US, VMSPAN_MARK_ENTER, 1);
	cpu_ns -= 50000; /* a lie */
	back(100 * US, 3, 0);
	a = nth(VMSPAN_AWAY, 0);
	assert_non_null(a);
	assert_int_equal(a->begin, 90 * US);
	assert_int_equal(a->end, 100 * US);
}

/* A hypervisor that takes the CPU interrupts nobody: it shows at the next switch, and where it was
 * nobody knows. */
static void what_was_taken_unseen_makes_events_uncertain(void **state)
{
	const struct vmspan_event *e;
	u32 i;

	(void)state;
	back(10 * US, 3, 0);
	mark(10 * US, VMSPAN_MARK_EVENT_BEGIN, 0);
	cpu_ns -= 20000; /* stolen in the first event */
	mark(50 * US, VMSPAN_MARK_EVENT_END, 0);
	mark(60 * US, VMSPAN_MARK_EVENT_BEGIN, 0);
	back(65 * US, 3, 0);
	mark(70 * US, VMSPAN_MARK_EVENT_END, 0);
	mark(80 * US, VMSPAN_MARK_EVENT_BEGIN, 0);
	back(85 * US, 3, 2000);
	mark(90 * US, VMSPAN_MARK_EVENT_END, 0);
	for (i = 0; i < 3; i++) {
		e = nth(VMSPAN_EVENT, i);
		assert_non_null(e);
		assert_true(e->cpu_ns_end >= e->cpu_ns_begin);
		assert_int_equal(!!(e->h.depth & VMSPAN_F_SWITCHES), i != 1);
	}
}

/* A hand-over may end between a mark and its value. */
static void a_value_that_comes_apart_is_put_together(void **state)
{
	static const struct vmspan_mark parts[3] = {
		{ .cycles = 20 * US, .id = 4, .type = VMSPAN_MARK_VALUE },
		{ .cycles = 77, .type = VMSPAN_MARK_MORE },
		{ .cycles = 30 * US, .id = 5, .type = VMSPAN_MARK_INPUT },
	};
	const struct vmspan_point *p;
	u32 first;

	for (first = 1; first < 3; first++) {
		thread_begins(state);
		assert_int_equal(marks_take(&marks, parts, first, false), 0);
		assert_int_equal(marks_take(&marks, parts + first, 3 - first, false), 0);
		p = nth(VMSPAN_VALUE, 0);
		assert_non_null(p);
		assert_int_equal(p->value, 77);
		assert_int_equal(p->time, 20 * US);
		assert_non_null(nth(VMSPAN_INPUT, 0));
		assert_null(nth(VMSPAN_VALUE, 1));
		marks_free(&marks);
	}
	/* Where the other half is missing, so is this one. */
	thread_begins(state);
	assert_int_equal(marks_take(&marks, parts, 1, false), 0);
	marks_gap(&marks, 1);
	assert_int_equal(marks_take(&marks, parts + 2, 1, false), 0);
	assert_null(nth(VMSPAN_VALUE, 0));
	marks_free(&marks);
}

/* An event is known to be told in full if its thread told of itself before, and nothing was lost. */
static void events_say_whether_all_is_told(void **state)
{
	static const struct {
		bool switches, first, gap, plain;
		bool told;
	} cases[] = {
		{ true, true, false, false, true },   { false, true, false, false, false },
		{ true, false, false, false, false }, { true, true, true, false, false },
		{ true, true, false, true, false },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct vmspan_event *e;

		thread_begins(state);
		marks.switches = cases[i].switches;
		if (cases[i].first)
			back(10 * US, 3, 0);
		mark(20 * US, VMSPAN_MARK_EVENT_BEGIN, 0);
		back(50 * US, 3, 20000);
		if (cases[i].gap)
			marks_gap(&marks, 3);
		if (cases[i].plain)
			marks_untold(&marks);
		back(70 * US, 3, 10000);
		mark(80 * US, VMSPAN_MARK_EVENT_END, 0);
		e = nth(VMSPAN_EVENT, 0);
		assert_non_null(e);
		assert_int_equal(!!(e->h.depth & VMSPAN_F_SWITCHES), cases[i].told);
		assert_int_equal(nth(VMSPAN_AWAY, 1) != NULL, cases[i].told);
		/* The next one is again, where that can be. */
		mark(90 * US, VMSPAN_MARK_EVENT_BEGIN, 0);
		mark(99 * US, VMSPAN_MARK_EVENT_END, 0);
		e = nth(VMSPAN_EVENT, 1);
		assert_non_null(e);
		assert_int_equal(!!(e->h.depth & VMSPAN_F_SWITCHES),
				 cases[i].switches && !cases[i].plain);
		marks_free(&marks);
	}
}

/* A mark with the thread's clock behind it, which stood still for so long before that. In one piece,
 * or behind each part, of which the reader is told that more comes. */
static void told(u64 at, u32 type, u64 away_ns, bool apart)
{
	struct vmspan_mark m[3] = { { .cycles = at, .type = type },
				    { .cycles = at + 2, .id = 3, .type = VMSPAN_MARK_CLOCK },
				    { .type = VMSPAN_MARK_MORE } };
	u32 i;

	cpu_ns += (at + 2 - last) / 2 - away_ns;
	last = at + 2;
	m[2].cycles = cpu_ns;
	for (i = 0; apart && i < 3; i++)
		assert_int_equal(marks_take(&marks, m + i, 1, i < 2), 0);
	if (!apart)
		assert_int_equal(marks_take(&marks, m, 3, false), 0);
}

static void check_event(u32 n, u64 cpu, bool all_told)
{
	const struct vmspan_event *e = nth(VMSPAN_EVENT, n);

	assert_non_null(e);
	assert_int_equal(e->cpu_ns_end - e->cpu_ns_begin, cpu);
	assert_int_equal(!!(e->h.depth & VMSPAN_F_SWITCHES), all_told);
}

/* Of VMSPAN_F_COARSE and VMSPAN_F_UNREAD, what it says. */
static u32 how_coarse(u32 n)
{
	const struct vmspan_event *e = nth(VMSPAN_EVENT, n);

	assert_non_null(e);
	return e->h.depth & (VMSPAN_F_COARSE | VMSPAN_F_UNREAD);
}

static bool is_coarse(u32 n)
{
	return how_coarse(n) & VMSPAN_F_COARSE;
}

/* Its thread tells of its clock first when an event has begun: what it had before that lies in between. */
static void a_switch_behind_an_events_begin_is_not_its_clock(void **state)
{
	static const struct {
		u32 us;
		bool coarse;
		u64 cpu;
	} cases[] = { { 30, true, 970000 }, { 5, false, 995000 } };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		thread_begins(state);
		mark(1000 * US, VMSPAN_MARK_EVENT_BEGIN, 0);
		back((1000 + cases[i].us) * US, 3, 0);
		told(2000 * US, VMSPAN_MARK_EVENT_END, 0, false);
		check_event(0, cases[i].cpu, false);
		assert_int_equal(is_coarse(0), cases[i].coarse);
		marks_free(&marks);
	}
}

/* An event says whether its thread's clock was told a little before its ends, or long before. */
static void an_event_says_how_old_its_clock_is(void **state)
{
	const u32 little = VMSPAN_F_COARSE | VMSPAN_F_UNREAD;
	const struct {
		u64 unread_us, missing_ns;
		u32 coarse;
	} cases[] = {
		{ 90, 1000000, little }, /* of 4 ms */
		{ 150, 1000000, little },
		{ 151, 1000000, VMSPAN_F_COARSE },
		{ 30, 1000000, 0 }, /* less than a hundredth */
		{ 90, 0, 0 }, /* all is told */
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		const u64 begin = 1000 + cases[i].unread_us;

		thread_begins(state);
		back(1000 * US, 3, 0);
		mark(begin * US, VMSPAN_MARK_EVENT_BEGIN, 0);
		told((begin + 4000) * US, VMSPAN_MARK_EVENT_END, cases[i].missing_ns, false);
		check_event(0, 4000000 - cases[i].missing_ns, !cases[i].missing_ns);
		assert_int_equal(how_coarse(0), cases[i].coarse);
		marks_free(&marks);
	}
}

/* Where waits are not seen, a clock that was told long before says little. */
static void an_event_is_guessed_where_no_clock_was_told_at_its_ends(void **state)
{
	thread_begins(state);
	marks.switches = false;
	told(10 * US, VMSPAN_MARK_EVENT_BEGIN, 0, false);
	told(510 * US, VMSPAN_MARK_EVENT_END, 0, false);
	assert_false(is_coarse(0));
	mark(511 * US, VMSPAN_MARK_EVENT_BEGIN, 0);
	told(1011 * US, VMSPAN_MARK_EVENT_END, 0, false); /* 1 us before its begin: of 500 */
	assert_false(is_coarse(1));
	mark(1021 * US, VMSPAN_MARK_EVENT_BEGIN, 0);
	told(1521 * US, VMSPAN_MARK_EVENT_END, 0, false); /* 10 us */
	assert_true(is_coarse(2));
	mark(1522 * US, VMSPAN_MARK_EVENT_BEGIN, 0);
	mark(1600 * US, VMSPAN_MARK_EVENT_END, 0);
	assert_true(is_coarse(3));
	told(1700 * US, VMSPAN_MARK_EVENT_BEGIN, 0, false);
	mark(1790 * US, VMSPAN_MARK_EVENT_END, 0); /* its begin's clock is all */
	assert_true(is_coarse(4));
	marks_free(&marks);
	/* Where each is told, nothing is guessed. */
	thread_begins(state);
	back(10 * US, 3, 0);
	mark(20 * US, VMSPAN_MARK_EVENT_BEGIN, 0);
	mark(90 * US, VMSPAN_MARK_EVENT_END, 0);
	assert_false(is_coarse(0));
	marks_free(&marks);
}

/* Where a hypervisor took the CPU in the event, or a system call waited unseen. */
static void the_clock_behind_an_events_end_is_that_events(void **state)
{
	u32 apart;

	for (apart = 0; apart < 2; apart++) {
		thread_begins(state);
		back(10 * US, 3, 0);
		mark(10 * US, VMSPAN_MARK_EVENT_BEGIN, 0);
		told(510 * US, VMSPAN_MARK_EVENT_END, 200000, apart);
		check_event(0, 300000, false);
		mark(600 * US, VMSPAN_MARK_EVENT_BEGIN, 0);
		told(1600 * US, VMSPAN_MARK_EVENT_END, 105000, apart);
		check_event(1, 895000, true); /* interrupts may take as much */
		assert_null(nth(VMSPAN_AWAY, 0));
		/* What is known to be without a CPU is told. */
		mark(1700 * US, VMSPAN_MARK_EVENT_BEGIN, 0);
		back(2200 * US, 3, 400000);
		told(2300 * US, VMSPAN_MARK_EVENT_END, 50000, apart);
		check_event(2, 150000, true);
		marks_free(&marks);
	}
}

static void what_was_taken_before_an_event_is_not_of_it(void **state)
{
	(void)state;
	back(10 * US, 3, 0);
	told(1000 * US, VMSPAN_MARK_EVENT_BEGIN, 700000, false);
	told(1500 * US, VMSPAN_MARK_EVENT_END, 0, false);
	check_event(0, 500000, true);
	/* Only right behind it. */
	mark(1600 * US, VMSPAN_MARK_EVENT_BEGIN, 0);
	told(1800 * US, VMSPAN_MARK_INPUT, 50000, false);
	mark(1900 * US, VMSPAN_MARK_EVENT_END, 0);
	check_event(1, 250000, true);
}

/* What was taken unseen was taken before it began: it has had nothing since, not less. */
static void an_event_has_no_less_than_nothing(void **state)
{
	(void)state;
	back(10 * US, 3, 0);
	mark(1000 * US, VMSPAN_MARK_EVENT_BEGIN, 0);
	told(1050 * US, VMSPAN_MARK_EVENT_END, 700000, false);
	check_event(0, 0, true);
}

static void a_clock_that_goes_back_is_none(void **state)
{
	(void)state;
	cpu_ns = 1000000;
	back(10 * US, 3, 0);
	mark(10 * US, VMSPAN_MARK_EVENT_BEGIN, 0);
	told(210 * US, VMSPAN_MARK_EVENT_END, 300000, false);
	check_event(0, 200000, true);
	/* Before the thread has told of itself there is nothing to compare with. */
	thread_ends(state);
	thread_begins(state);
	mark(10 * US, VMSPAN_MARK_EVENT_BEGIN, 0);
	told(310 * US, VMSPAN_MARK_EVENT_END, 0, false);
	check_event(0, 300000, false);
}

/* The thread was interrupted before it could tell of its clock: the switch bounds what it had. */
static void a_switch_in_the_clocks_place_tells_as_much(void **state)
{
	static const struct vmspan_mark end = { .cycles = 10010 * US,
						.type = VMSPAN_MARK_EVENT_END };
	const struct vmspan_event *e;

	(void)state;
	back(10 * US, 3, 0);
	mark(10 * US, VMSPAN_MARK_EVENT_BEGIN, 0);
	assert_int_equal(marks_take(&marks, &end, 1, true), 0);
	back(10020 * US, 3, 4000000);
	check_event(0, 6010000, false);
	/* And what went before an event is not of it: it waited for a second, unseen. */
	mark(10030 * US, VMSPAN_MARK_EVENT_BEGIN, 0);
	mark(10040 * US, VMSPAN_MARK_EVENT_END, 0);
	mark(1010040ull * US, VMSPAN_MARK_EVENT_BEGIN, 0);
	back(1010041ull * US, 3, 1000000000);
	mark(1010141ull * US, VMSPAN_MARK_EVENT_END, 0);
	e = nth(VMSPAN_EVENT, 2);
	assert_non_null(e);
	assert_in_range(e->cpu_ns_end - e->cpu_ns_begin, 100000, 101000);
	assert_false(e->h.depth & VMSPAN_F_SWITCHES);
}

static void an_end_that_is_kept_is_taken_at_last(void **state)
{
	static const struct vmspan_mark end = { .cycles = 300 * US, .type = VMSPAN_MARK_EVENT_END };
	struct marks now;

	(void)state;
	back(10 * US, 3, 0);
	mark(10 * US, VMSPAN_MARK_EVENT_BEGIN, 0);
	assert_int_equal(marks_take(&marks, &end, 1, true), 0);
	assert_null(nth(VMSPAN_EVENT, 0));
	assert_int_equal(marks_fork(&now, &marks), 0);
	assert_int_equal(marks_take(&now, NULL, 0, false), 0);
	assert_int_equal(now.events, 0);
	marks_free(&now);
	assert_int_equal(marks_take(&marks, NULL, 0, false), 0);
	check_event(0, 290000, true);
	assert_int_equal(marks_take(&marks, NULL, 0, false), 0);
	assert_null(nth(VMSPAN_EVENT, 1));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, thread_begins, thread_ends)

/* ---- What is open ---- */

static struct marks_seen_at seen_at(u64 at, u64 ns)
{
	return (struct marks_seen_at){ .cycles = at, .known = true, .cpu_ns = ns };
}

/* Closes all that is open, as if the thread had done so and then looked at its clock. */
static void all_that_is_open_ends(void **state)
{
	struct marks_seen_at now = seen_at(900 * US, 0);
	const struct vmspan_event *outer, *inner;
	const struct vmspan_span *s;

	(void)state;
	back(10 * US, 2, 0);
	mark(100 * US, VMSPAN_MARK_EVENT_BEGIN, 0);
	mark(150 * US, VMSPAN_MARK_ENTER, 5);
	mark(200 * US, VMSPAN_MARK_EVENT_BEGIN, 0);
	mark(300 * US, VMSPAN_MARK_ENTER, 6);
	mark(400 * US, VMSPAN_MARK_ENTER, 6); /* once more: one stay */
	assert_int_equal(marks_open_since(&marks), 100 * US);
	marks_taken(&marks);
	now.cpu_ns = cpu_ns + 500000;
	assert_int_equal(marks_close(&marks, &now), 0);
	s = nth(VMSPAN_SPAN, 0);
	assert_int_equal(s->h.id, 6);
	assert_int_equal(depth_of(&s->h), 1);
	assert_int_equal(s->begin, 300 * US);
	assert_int_equal(s->end, 900 * US);
	/* Nothing was repaired: it has only not come yet. */
	assert_int_equal(s->h.depth & VMSPAN_F_REPAIRED, 0);
	assert_int_equal(marks.repaired, 0);
	inner = nth(VMSPAN_EVENT, 0);
	outer = nth(VMSPAN_EVENT, 1);
	assert_int_equal(inner->parent, outer->h.id);
	assert_int_equal(outer->end, 900 * US);
	assert_int_equal(outer->cpu_ns_end - outer->cpu_ns_begin, 800000);
	assert_true(outer->h.depth & VMSPAN_F_SWITCHES);
	assert_null(nth(VMSPAN_AWAY, 0));
	assert_null(nth(VMSPAN_SPAN, 2));
	assert_int_equal(marks_open_since(&marks), 0);
}

/* It sleeps: that it has had no CPU since its last mark a mark will say as it comes back. */
static void who_has_no_cpu_is_known_by_its_clock(void **state)
{
	struct marks_seen_at now = seen_at(1100 * US, 0);
	const struct vmspan_event *e;
	const struct vmspan_span *s;

	(void)state;
	back(10 * US, 2, 0);
	mark(100 * US, VMSPAN_MARK_EVENT_BEGIN, 0);
	mark(100 * US, VMSPAN_MARK_ENTER, 5);
	now.cpu_ns = cpu_ns + 200000; /* of the 1,000 us since */
	assert_int_equal(marks_close(&marks, &now), 0);
	s = nth(VMSPAN_AWAY, 0);
	assert_non_null(s);
	assert_int_equal(s->end, 1100 * US);
	assert_in_range(s->end - s->begin, 799 * US, 801 * US);
	s = nth(VMSPAN_SPAN, 0);
	/* Whether it changes CPU only its end can tell. */
	assert_int_equal(s->cpu_begin, 2);
	assert_int_equal(s->cpu_end, 2);
	e = nth(VMSPAN_EVENT, 0);
	assert_int_equal(e->cpu_ns_end - e->cpu_ns_begin, 200000);
}

/* The clock of a thread that runs is as old as the last tick: it has not slept since. */
static void who_runs_has_its_cpu_since_the_tick(void **state)
{
	struct marks_seen_at now = seen_at(5100 * US, 0);
	const struct vmspan_event *e;

	(void)state;
	back(10 * US, 2, 0);
	mark(100 * US, VMSPAN_MARK_EVENT_BEGIN, 0);
	now.cpu_ns = cpu_ns + 2000000;
	now.late_ns = 4000000;
	assert_int_equal(marks_close(&marks, &now), 0);
	assert_null(nth(VMSPAN_AWAY, 0));
	e = nth(VMSPAN_EVENT, 0);
	assert_int_equal(e->cpu_ns_end - e->cpu_ns_begin, 5000000);
}

/* Without a clock, or with one that goes back, it had its CPU as far as is known. */
static void a_clock_that_makes_no_sense_says_nothing(void **state)
{
	struct marks_seen_at now = seen_at(600 * US, 1);
	const struct vmspan_event *e;

	(void)state;
	back(10 * US, 2, 0);
	mark(100 * US, VMSPAN_MARK_EVENT_BEGIN, 0);
	assert_int_equal(marks_close(&marks, &now), 0);
	e = nth(VMSPAN_EVENT, 0);
	assert_int_equal(e->cpu_ns_end - e->cpu_ns_begin, 500000);
	assert_int_equal(e->cpu_end, 2);
	assert_null(nth(VMSPAN_AWAY, 0));
}

/* It has freed nothing yet. */
static void an_open_collection_has_its_heap(void **state)
{
	const struct marks_seen_at now = seen_at(600 * US, 0);
	struct vmspan_mark m[2] = { { .cycles = 100 * US, .type = VMSPAN_MARK_GC_BEGIN },
				    { .cycles = 7000, .type = VMSPAN_MARK_MORE } };
	const struct vmspan_gc *gc;

	(void)state;
	assert_int_equal(marks_take(&marks, m, 2, false), 0);
	assert_int_equal(marks_close(&marks, &now), 0);
	gc = nth(VMSPAN_GC, 0);
	assert_int_equal(gc->bytes_before, 7000);
	assert_int_equal(gc->bytes_after, 7000);
}

/* What is around an event has been open for longer; but a call or a collection there is no event. */
static void the_oldest_says_since_when(void **state)
{
	(void)state;
	mark(50 * US, VMSPAN_MARK_BLOCK_BEGIN, 0);
	mark(60 * US, VMSPAN_MARK_BLOCK_END, 0); /* its value, of the mark before, comes now */
	assert_int_equal(marks_open_since(&marks), 0);
	mark(100 * US, VMSPAN_MARK_ENTER, 5);
	mark(200 * US, VMSPAN_MARK_EVENT_BEGIN, 0);
	assert_int_equal(marks_open_since(&marks), 100 * US);
	mark(300 * US, VMSPAN_MARK_EVENT_END, 0);
	mark(310 * US, VMSPAN_MARK_LEAVE, 5);
	mark(400 * US, VMSPAN_MARK_GC_BEGIN, 0);
	mark(500 * US, VMSPAN_MARK_MORE, 0);
	assert_int_equal(marks_open_since(&marks), 0);
	mark(600 * US, VMSPAN_MARK_EVENT_BEGIN, 0);
	assert_int_equal(marks_open_since(&marks), 600 * US);
}

/* Where marks are missing it may have ended. */
static void what_may_have_ended_is_not_open(void **state)
{
	(void)state;
	mark(100 * US, VMSPAN_MARK_EVENT_BEGIN, 0);
	mark(110 * US, VMSPAN_MARK_ENTER, 5);
	marks_gap(&marks, 3);
	assert_int_equal(marks_open_since(&marks), 0);
	/* But for what has begun since, outside of events. */
	mark(120 * US, VMSPAN_MARK_EVENT_BEGIN, 0);
	assert_int_equal(marks_open_since(&marks), 120 * US);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_absence_lies_in_the_innermost_stay),
		TEST(what_is_too_short_for_a_switch_is_none),
		TEST(an_absence_is_not_older_than_the_mark_before_it),
		TEST(what_was_taken_unseen_makes_events_uncertain),
		cmocka_unit_test(a_value_that_comes_apart_is_put_together),
		cmocka_unit_test(events_say_whether_all_is_told),
		cmocka_unit_test(a_switch_behind_an_events_begin_is_not_its_clock),
		cmocka_unit_test(an_event_says_how_old_its_clock_is),
		cmocka_unit_test(an_event_is_guessed_where_no_clock_was_told_at_its_ends),
		cmocka_unit_test(the_clock_behind_an_events_end_is_that_events),
		TEST(what_was_taken_before_an_event_is_not_of_it),
		TEST(an_event_has_no_less_than_nothing),
		TEST(a_clock_that_goes_back_is_none),
		TEST(a_switch_in_the_clocks_place_tells_as_much),
		TEST(an_end_that_is_kept_is_taken_at_last),
		TEST(all_that_is_open_ends),
		TEST(who_has_no_cpu_is_known_by_its_clock),
		TEST(who_runs_has_its_cpu_since_the_tick),
		TEST(a_clock_that_makes_no_sense_says_nothing),
		TEST(an_open_collection_has_its_heap),
		TEST(the_oldest_says_since_when),
		TEST(what_may_have_ended_is_not_open),
	};

	return cmocka_run_group_tests_name("off_cpu", tests, NULL, NULL);
}
