/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Time without a CPU in the default mode: which stays it is taken from. Random
 * events whose thread loses its CPU in known stays, for a millisecond or more.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "model/hole.h"
#include "seed.h"
#include "sim.h"

#define GROUPS 4 /* compartment g is of group g alone; 0: native */
#define STAYS 12

struct work {
	u32 comp[STAYS];
	u64 ran[STAYS], off[STAYS]; /* ns */
	u32 len;
};

static u64 upto(u64 n)
{
	return (u64)random() % n;
}

/* Which stay runs at a random moment of the thread's CPU time. */
static u32 running(const struct work *w)
{
	u64 all = 0, at;
	u32 i;

	for (i = 0; i < w->len; i++)
		all += w->ran[i];
	at = upto(all);
	for (i = 0; at >= w->ran[i]; i++)
		at -= w->ran[i];
	return i;
}

/* Stays of up to `longest` ns, and `holes` of 1 ms or more in some of them. */
static struct work work_make(u64 longest, u32 holes)
{
	struct work w = { .len = 2 + (u32)upto(STAYS - 1) };
	u32 i;

	for (i = 0; i < w.len; i++) {
		w.comp[i] = (u32)upto(GROUPS + 1);
		w.ran[i] = 1000 + upto(longest);
	}
	while (holes--)
		w.off[running(&w)] += HOLE_NS + upto(4 * HOLE_NS);
	return w;
}

/* What the model says of the event, by group; [0] is the event's own. */
static void answer(const struct work *w, u16 flags, struct group_stats *out)
{
	struct model *m = model_make(&(struct model_config){ 0 });
	struct sim *s = sim_of(1, 4 * STAYS);
	struct snapshot *snap;
	u64 now = 2000;
	u32 i;

	sim_event(s, now);
	for (i = 0; i < w->len; i++) {
		if (w->comp[i])
			sim_enter(s, now, w->comp[i], VMSPAN_SPAN);
		now += w->ran[i] + w->off[i];
		s->off += w->off[i];
		if (w->comp[i])
			sim_leave(s, now);
	}
	sim_event_end(s, now);
	((struct vmspan_head *)s->data[s->at[s->records - 1]])->depth |= flags;
	sim_feed(s, m, 3);
	snap = snapshot_take(m);
	assert_non_null(snap);
	assert_int_equal(ledger_sum(&snap->ledger), snap->ledger.event_wall_ns);
	memset(out, 0, (GROUPS + 1) * sizeof(*out));
	out[0].wall_ns = snap->events.wall_ns;
	out[0].cpu_ns = snap->events.cpu_ns;
	for (i = 1; i <= GROUPS; i++) {
		const char name[] = { 'a', 'd', 'd', 'o', 'n', ':', (char)('a' + i - 1), 0 };
		const struct snapshot_group *g = snapshot_group(snap, name);

		if (g)
			out[i] = g->stats;
	}
	snapshot_free(snap);
	model_free(m);
	free(s);
}

static u64 truth(const struct work *w, u32 g)
{
	u64 sum = 0;
	u32 i;

	for (i = 0; i < w->len; i++)
		sum += w->comp[i] == g ? w->ran[i] : 0;
	return sum;
}

static u64 apart(u64 a, u64 b)
{
	return a > b ? a - b : b - a;
}

/* The largest error of a group: the model's, and if time were shared by length. */
static void errors(const struct work *w, const struct group_stats *st, u64 *have, u64 *by_length)
{
	u32 g;

	*have = *by_length = 0;
	for (g = 1; g <= GROUPS; g++) {
		u64 want = truth(w, g);
		u64 even = scale(st[g].wall_ns, st[0].cpu_ns, st[0].wall_ns);

		*have = max_u64(*have, apart(st[g].cpu_ns, want));
		*by_length = max_u64(*by_length, apart(even, want));
	}
}

/* Nobody has more than passed in it; all together not more than the thread. */
static void bounds(const struct group_stats *st)
{
	u64 sum = 0;
	u32 g;

	for (g = 1; g <= GROUPS; g++) {
		assert_true(st[g].cpu_ns <= st[g].wall_ns);
		assert_true(st[g].self_ns == st[g].wall_ns);
		sum += st[g].cpu_ns;
	}
	assert_true(sum <= st[0].cpu_ns);
	assert_true(st[0].cpu_ns - sum <= st[0].wall_ns - st[1].wall_ns - st[2].wall_ns -
						  st[3].wall_ns - st[4].wall_ns + GROUPS);
}

/* Native time is one of the stays: what is in it, however many pieces it has. */
static bool native_is_short(const struct work *w)
{
	u64 sum = 0;
	u32 i;

	for (i = 0; i < w->len; i++)
		sum += w->comp[i] ? 0 : w->ran[i] + w->off[i];
	return sum <= HOLE_NS;
}

/* Where only one stay is long enough, and the others are what they were: exact, if the
 * event was away for longer than it ran; else by length. */
static void one_hole_in_short_stays_is_found(void **state)
{
	struct group_stats st[GROUPS + 1];
	u32 n, i, found = 0, shared = 0;

	(void)state;
	seed_random(1);
	for (n = 0; n < 4000; n++) {
		struct work w = work_make(HOLE_NS / 2, 1);
		u64 have, by_length, ran = 0, off = 0;

		for (i = 0; i < w.len; i++) {
			ran += w.ran[i];
			off += w.off[i];
		}
		answer(&w, 0, st);
		bounds(st);
		if (!native_is_short(&w))
			continue;
		errors(&w, st, &have, &by_length);
		/* A ns of rounding. */
		if (ran <= off)
			assert_true(have <= 1);
		else
			assert_int_equal(have, by_length);
		found += ran <= off;
		shared += ran > off;
	}
	assert_true(found > 1000 && shared > 500);
}

/* Longer stays, more holes: less wrong than sharing by length, on the whole and in
 * every mixture of the two. Where a mixture gains little, other draws may tell the opposite:
 * who changes how many are drawn takes another seed. */
static void better_than_by_length(void **state)
{
	static const u64 longest[] = { HOLE_NS / 4, HOLE_NS, 3 * HOLE_NS, 20 * HOLE_NS };
	struct group_stats st[GROUPS + 1];
	u32 i, holes, n;

	(void)state;
	srandom(2);
	for (i = 0; i < ARRAY_SIZE(longest); i++)
		for (holes = 1; holes <= 6; holes++) {
			u64 sum = 0, sum_by_length = 0;

			for (n = 0; n < 500; n++) {
				struct work w = work_make(longest[i], holes);
				u64 have, by_length;

				answer(&w, 0, st);
				bounds(st);
				errors(&w, st, &have, &by_length);
				sum += have;
				sum_by_length += by_length;
			}
			if (sum > sum_by_length)
				fail_msg("%u holes in stays of up to %" PRIu64 ": off by %" PRIu64
					 ", by length %" PRIu64,
					 holes, longest[i], sum, sum_by_length);
		}
}

/* No hole, one below a millisecond, a CPU time that is a tick old: by length. */
static void little_is_shared_by_length(void **state)
{
	struct group_stats st[GROUPS + 1];
	u32 n, g;

	(void)state;
	seed_random(3);
	for (n = 0; n < 1500; n++) {
		struct work w = work_make(5 * HOLE_NS, n % 3 == 2);

		if (n % 3 == 1)
			w.off[upto(w.len)] = upto(HOLE_NS);
		answer(&w, n % 3 == 2 ? VMSPAN_F_COARSE : 0, st);
		bounds(st);
		for (g = 1; g <= GROUPS; g++)
			assert_int_equal(st[g].cpu_ns,
					 scale(st[g].wall_ns, st[0].cpu_ns, st[0].wall_ns));
	}
}

#define US 1000ull

/* A call charges who calls and who is called; an announced wait has no CPU to lose;
 * a stay that is discarded for having moved may have had the hole all the same. */
static void stays_in_stays(void **state)
{
	struct model *m = model_make(&(struct model_config){ 0 });
	struct sim *s = sim_new(1);
	struct snapshot *snap;

	(void)state;
	sim_event(s, 1000 * US);
	sim_enter(s, 1000 * US, 1, VMSPAN_SPAN);
	sim_enter(s, 1200 * US, 0, VMSPAN_BLOCK);
	sim_leave(s, 6200 * US);
	sim_enter(s, 6200 * US, 2, VMSPAN_SPAN);
	sim_leave(s, 8600 * US); /* 2 ms of them without a CPU */
	sim_enter(s, 8600 * US, 3, VMSPAN_SPAN);
	sim_leave(s, 8700 * US);
	sim_leave(s, 8800 * US);
	sim_enter(s, 8800 * US, 2, VMSPAN_SPAN);
	sim_leave(s, 9000 * US);
	s->off = 7000 * US;
	sim_event_end(s, 9300 * US);
	sim_event(s, 10000 * US);
	sim_enter(s, 10000 * US, 4, VMSPAN_SPAN);
	s->cpu = 1;
	sim_leave(s, 13500 * US); /* 3 ms */
	sim_enter(s, 13500 * US, 5, VMSPAN_SPAN);
	sim_leave(s, 14000 * US);
	s->off += 3000 * US;
	sim_event_end(s, 14000 * US);
	sim_feed(s, m, 100);
	snap = snapshot_take(m);
	assert_int_equal(snapshot_group(snap, "addon:a")->stats.cpu_ns, 800 * US);
	assert_int_equal(snapshot_group(snap, "addon:b")->stats.cpu_ns, 600 * US);
	assert_int_equal(snapshot_group(snap, "addon:c")->stats.cpu_ns, 100 * US);
	assert_int_equal(snapshot_group(snap, "addon:d")->stats.cpu_ns, 0);
	assert_int_equal(snapshot_group(snap, "addon:e")->stats.cpu_ns, 500 * US);
	assert_int_equal(snapshot_group(snap, "top:test")->stats.cpu_ns, (1000 + 500) * US);
	snapshot_free(snap);
	model_free(m);
	free(s);
}

/* Only what one stay alone has room for is known to be in it, and only if no other
 * stay's hole could have looked the same. */
static void only_one_has_room(void **state)
{
	struct hole_room room = { 0 };

	(void)state;
	hole_stay(&room, 100, 100);
	assert_int_equal(hole_find(100, 0, &room, 100), 0);
	hole_stay(&room, 250, 100);
	assert_int_equal(hole_find(149, 0, &room, 100), 0); /* it ran for 101 */
	assert_int_equal(hole_find(150, 0, &room, 100), 150);
	assert_int_equal(hole_find(250, 0, &room, 100), 250);
	assert_int_equal(hole_find(251, 0, &room, 100), 0);
	assert_int_equal(hole_find(200, 200, &room, 100), 200);
	assert_int_equal(hole_find(200, 201, &room, 100), 0);
	hole_stay(&room, 101, 100);
	assert_int_equal(hole_find(200, 0, &room, 100), 0);
	/* Less than a hole is no hole. */
	room = (struct hole_room){ .over = 10, .count = 1 };
	assert_int_equal(hole_find(99, 0, &room, 100), 0);
	assert_int_equal(hole_find(100, 0, &room, 100), 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_hole_in_short_stays_is_found),
		cmocka_unit_test(better_than_by_length),
		cmocka_unit_test(little_is_shared_by_length),
		cmocka_unit_test(stays_in_stays),
		cmocka_unit_test(only_one_has_room),
	};

	return cmocka_run_group_tests_name("hole", tests, NULL, NULL);
}
