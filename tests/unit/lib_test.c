/* SPDX-License-Identifier: BSD-2-Clause */
/* The library: figures in the caller's own structs, older and newer ones; listeners: very many,
 * those that come and go, those that go while told. */
#include "rec_file.h"

#include "lib/libvmspan.h"
#include "lib/trace.h"
#include "lib/trace_int.h"
#include "sink/sink.h"

#include <errno.h>
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#define MANY 10000

#ifdef __SANITIZE_ADDRESS__
/* gcc has no header that declares it. */
size_t __sanitizer_get_current_allocated_bytes(void);
#endif

/* Bytes allocated now. ASan has an allocator of its own, of which mallinfo2 knows nothing. */
static size_t allocated(void)
{
#ifdef __SANITIZE_ADDRESS__
	return __sanitizer_get_current_allocated_bytes();
#else
	return mallinfo2().uordblks;
#endif
}

static struct libvmspan *replay(struct file *f)
{
	struct libvmspan_options o = LIBVMSPAN_OPTIONS_INIT;
	struct libvmspan *t;

	write_small(f, 2, 100, false);
	o.threshold_ns = 1; /* every turn */
	t = libvmspan_replay(f->path, &o, NULL, 0);
	assert_non_null(t);
	return t;
}

static void to_the_end(struct libvmspan *t)
{
	int rc;

	while ((rc = libvmspan_poll(t, -1)) > 0)
		;
	assert_int_equal(rc, 0);
}

struct ear {
	u64 heard;
	bool first; /* it marks the text, and the others find the mark */
	u64 marked;
};

static int hear(void *ctx, const struct libvmspan_alert *a)
{
	struct ear *e = ctx;

	e->heard++;
	e->marked += a->json[0] == '!';
	if (e->first)
		*(char *)(uintptr_t)a->json = '!';
	return 0;
}

/* Each hears what it asked for, and the alert is put into words once. */
static void ten_thousand_listeners_are_told_once(void **state)
{
	struct ear *ears = calloc(MANY, sizeof(*ears)), all = { .first = true };
	struct libvmspan *t = replay(*state);
	u32 i;

	assert_non_null(ears);
	assert_true(libvmspan_listen(t, "addon:add-on 1", hear, &all) > 0);
	for (i = 0; i < MANY; i++)
		assert_true(libvmspan_listen(t, i & 1 ? "addon:add-on 1" : "page:none", hear,
					     &ears[i]) > 0);
	to_the_end(t);
	assert_true(all.heard > 0);
	for (i = 0; i < MANY; i++) {
		assert_int_equal(ears[i].heard, i & 1 ? all.heard : 0);
		assert_int_equal(ears[i].marked, ears[i].heard);
	}
	libvmspan_free(t);
	free(ears);
}

/* A program that listens to one group after the other for years. */
static void listeners_that_go_leave_nothing(void **state)
{
	struct libvmspan *t = replay(*state);
	struct ear ear = { 0 };
	size_t before = 0;
	u32 i;

	for (i = 0; i < 3 * MANY; i++) {
		int64_t id = libvmspan_listen(t, "addon:*", hear, &ear);

		assert_true(id > 0);
		assert_int_equal(libvmspan_unlisten(t, id), 0);
		assert_int_equal(libvmspan_unlisten(t, id), -ENOENT);
		before = i == MANY ? allocated() : before;
	}
	assert_true(before > 0);
	assert_true(allocated() <= before + 4096);
	to_the_end(t);
	assert_int_equal(ear.heard, 0);
	libvmspan_free(t);
}

struct leaver {
	struct libvmspan *t;
	int64_t id, other;
	u64 heard;
};

static int leave(void *ctx, const struct libvmspan_alert *a)
{
	struct leaver *l = ctx;

	assert_non_null(a->json);
	l->heard++;
	assert_int_equal(libvmspan_unlisten(l->t, l->id), 0);
	assert_int_equal(libvmspan_unlisten(l->t, l->other), 0);
	assert_int_equal(libvmspan_unlisten(l->t, l->other), -ENOENT);
	return 0;
}

static void a_listener_may_remove_itself_and_others(void **state)
{
	struct libvmspan *t = replay(*state);
	struct leaver l = { .t = t };
	struct ear stays = { 0 }, goes = { 0 };

	l.id = libvmspan_listen(t, NULL, leave, &l);
	l.other = libvmspan_listen(t, NULL, hear, &goes);
	assert_true(l.id > 0 && l.other > 0 && libvmspan_listen(t, NULL, hear, &stays) > 0);
	assert_int_equal(libvmspan_listen(t, "addon:[", hear, &stays), -EINVAL);
	assert_int_equal(libvmspan_unlisten(t, 0), -ENOENT);
	assert_int_equal(libvmspan_unlisten(t, -1), -ENOENT);
	assert_int_equal(libvmspan_unlisten(t, 1000), -ENOENT);
	to_the_end(t);
	assert_int_equal(l.heard, 1);
	assert_int_equal(goes.heard, 0);
	assert_true(stays.heard > 1);
	libvmspan_free(t);
}

struct ender {
	int with;
	u64 heard;
};

static int end_the_call(void *ctx, const struct libvmspan_alert *a)
{
	struct ender *e = ctx;

	(void)a;
	e->heard++;
	return e->with;
}

static void totals_of(struct libvmspan *t, struct libvmspan_totals *to)
{
	struct libvmspan_snapshot *s = libvmspan_snapshot(t);

	assert_non_null(s);
	libvmspan_totals(s, to, sizeof(*to));
	libvmspan_snapshot_free(s);
}

/* The call ends with what it returns, and nothing of the trace is left out for that. */
static void a_listener_that_ends_the_call_loses_nothing(void **state)
{
	static const int with[] = { 0, 7, -7 };
	struct libvmspan_totals all, now;
	struct ear ear[ARRAY_SIZE(with)] = { 0 };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(with); i++) {
		struct libvmspan *t = replay(*state);
		struct ender e = { .with = with[i] };
		u32 ended = 0;
		int rc;

		assert_true(libvmspan_listen(t, NULL, end_the_call, &e) > 0);
		assert_true(libvmspan_listen(t, NULL, hear, &ear[i]) > 0);
		while ((rc = libvmspan_poll(t, -1)))
			ended += rc == with[i];
		assert_int_equal(ended > 0, with[i] != 0);
		totals_of(t, i ? &now : &all);
		assert_true(e.heard > 1);
		assert_int_equal(ear[i].heard, ear[0].heard);
		assert_int_equal(e.heard, ear[0].heard);
		if (i)
			assert_memory_equal(&now, &all, sizeof(all));
		libvmspan_free(t);
	}
}

static void what_makes_no_sense_is_refused(void **state)
{
	struct libvmspan_options o = LIBVMSPAN_OPTIONS_INIT;
	struct libvmspan_snapshot *begin, *end;
	struct libvmspan *t = replay(*state);
	char error[128] = "";
	int status;
	pid_t pid;

	o.pid_count = 1;
	assert_null(libvmspan_attach(&o, error, sizeof(error)));
	assert_string_equal(error, "no process to attach to");
	begin = libvmspan_snapshot(t);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid)
		_exit(libvmspan_poll(t, -1) == -ECHILD && libvmspan_stop(t) == -ECHILD ? 7 : 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
	to_the_end(t);
	end = libvmspan_snapshot(t);
	assert_non_null(begin);
	assert_non_null(end);
	assert_null(libvmspan_subtract(begin, end));
	libvmspan_snapshot_free(end);
	libvmspan_snapshot_free(begin);
	libvmspan_free(t);
}

static u32 sources_freed;

static void count_freed(struct source *s)
{
	(void)s;
	sources_freed++;
}

/* What the kernel side has is the process's that asked for it: a child that takes that down would end the trace. */
static void a_forked_child_frees_what_is_its_own(void **state)
{
	static const struct source_ops ops = { .free = count_freed };
	struct source made = { .ops = &ops };
	u32 own;

	(void)state;
	for (own = 0; own < 2; own++) {
		struct libvmspan *t = calloc(1, sizeof(*t));

		assert_non_null(t);
		t->source = &made;
		t->owner = (u32)(own ? getpid() : getppid());
		sources_freed = 0;
		libvmspan_free(t);
		assert_int_equal(sources_freed, own);
	}
}

/* An alert's text is of that alert. */
static int compare_json(void *ctx, const struct libvmspan_alert *a)
{
	char total[64];
	u64 *told = ctx;

	snprintf(total, sizeof(total), "\"total_ns\":%" PRIu64 ",", a->total_ns);
	assert_non_null(strstr(a->json, total));
	snprintf(total, sizeof(total), "\"uncharged_ns\":%" PRIu64 ",", a->uncharged_ns);
	assert_non_null(strstr(a->json, total));
	snprintf(total, sizeof(total), "\"cpu_margin_ns\":%" PRIu64 ",", a->cpu_margin_ns);
	assert_int_equal(!strstr(a->json, total), !a->cpu_margin_ns);
	++*told;
	return 0;
}

static void every_alert_has_its_own_text(void **state)
{
	struct libvmspan *t = replay(*state);
	u64 told = 0;

	assert_true(libvmspan_listen(t, NULL, compare_json, &told) > 0);
	to_the_end(t);
	assert_true(told > 10);
	libvmspan_free(t);
}

struct dates {
	s64 first, last; /* CLOCK_REALTIME less CLOCK_MONOTONIC, of the alerts told */
	u64 told;
};

static int note_date(void *ctx, const struct libvmspan_alert *a)
{
	const char *at = strstr(a->json, "\"real_ns\":");
	struct dates *d = ctx;

	assert_non_null(at);
	d->last = (s64)(strtoull(at + strlen("\"real_ns\":"), NULL, 10) - a->event_end_ns);
	d->first = d->told++ ? d->first : d->last;
	return 0;
}

/* Somebody sets the clock back by an hour: what is told later has the new date. */
static void an_alert_has_the_date_of_its_time(void **state)
{
	const s64 offset = (s64)(1700000000 * NSEC_PER_SEC), hour = (s64)(3600 * NSEC_PER_SEC);
	struct libvmspan_options o = LIBVMSPAN_OPTIONS_INIT;
	struct file *f = *state;
	struct stream stream = { .w = create(f, NULL) };
	struct dates d = { 0 };
	struct libvmspan *t;
	struct item it;

	stream_begin(&stream, 11);
	stream_events(&stream, 500);
	it = clock_item(stream.g.now);
	it.clock.real_ns -= (u64)hour;
	stream_item(&stream, &it);
	assert_int_equal(rec_close(stream.w, &f->err), 0);
	o.threshold_ns = 1; /* every turn */
	t = libvmspan_replay(f->path, &o, NULL, 0);
	assert_non_null(t);
	assert_true(libvmspan_listen(t, NULL, note_date, &d) > 0);
	to_the_end(t);
	assert_true(d.told > 10);
	assert_true(d.first == offset);
	assert_true(d.last == offset - hour);
	libvmspan_free(t);
}

/* The caller's struct as another version of the header has it: `size` bytes of ours. */
static void assert_written(const u8 *to, const void *whole, size_t size, size_t known)
{
	size_t i;

	assert_memory_equal(to, whole, size < known ? size : known);
	for (i = known; i < size; i++)
		assert_int_equal(to[i], 0);
	for (i = size; i < size + 64; i++)
		assert_int_equal(to[i], 0xa5);
}

static void structs_of_other_versions_are_filled_as_far_as_they_go(void **state)
{
	struct libvmspan *t = replay(*state);
	struct libvmspan_snapshot *s;
	struct libvmspan_totals totals;
	struct libvmspan_group group;
	u8 to[sizeof(group) + sizeof(totals) + 256];
	size_t size;

	to_the_end(t);
	s = libvmspan_snapshot(t);
	assert_non_null(s);
	libvmspan_totals(s, &totals, sizeof(totals));
	assert_int_equal(libvmspan_group(s, 0, &group, sizeof(group)), 0);
	for (size = 0; size <= sizeof(group) + 64; size += 8) {
		memset(to, 0xa5, sizeof(to));
		libvmspan_totals(s, (void *)to, size);
		assert_written(to, &totals, size, sizeof(totals));
		memset(to, 0xa5, sizeof(to));
		assert_int_equal(libvmspan_group(s, 0, (void *)to, size), 0);
		assert_written(to, &group, size, sizeof(group));
	}
	assert_int_equal(libvmspan_group(s, totals.groups, &group, sizeof(group)), -ENOENT);
	assert_int_equal(libvmspan_group(s, UINT32_MAX, &group, sizeof(group)), -ENOENT);
	libvmspan_snapshot_free(s);
	libvmspan_free(t);
}

/* Of each cause, the figures are the snapshot's. */
/* An event whose thread had no CPU for half of it, nobody knows where. */
static void half_away(struct gen *g)
{
	const u64 begin = g->now, ns = 10 * NSEC_PER_MSEC;
	struct vmspan_event *e;
	u32 i;

	g->since = 0;
	g->iteration++;
	for (i = 1; i <= 2; i++) {
		struct vmspan_span *span = gen_append(g, VMSPAN_SPAN, 1, 0, i);

		*span = (struct vmspan_span){ .h = span->h, .begin = g->now };
		span->iteration = g->iteration;
		span->end = g->now += 5000 * GEN_CYCLES_PER_US;
	}
	e = gen_append(g, VMSPAN_EVENT, 3, 0, g->iteration);
	*e = (struct vmspan_event){ .h = e->h, .begin = begin, .end = g->now, .records = 2 };
	e->mono_begin = gen_mono(begin);
	e->mono_end = e->mono_begin + ns;
	e->cpu_ns_begin = g->cpu_ns;
	e->cpu_ns_end = g->cpu_ns += ns / 2;
	gen_flush(g);
}

static void leave_out(struct stream *s)
{
	struct buf defs = { 0 };
	struct item it;

	put_def(&defs, VMSPAN_DEF_NOTE, 1, 0, NULL, 0, "it may not be looked into");
	((struct vmspan_def *)(void *)defs.data)->flags = VMSPAN_NOTE_LEFT_OUT;
	it = defs_item(s->pid, &defs);
	it.defs.registry = ITEM_TRACER_REGISTRY;
	stream_item(s, &it);
	buf_free(&defs);
}

static void figures_are_those_of_the_trace(void **state)
{
	struct file *f = *state;
	struct libvmspan *t;
	struct libvmspan_snapshot *s;
	struct stream stream = { .w = create(f, NULL) };
	struct libvmspan_totals totals;
	struct libvmspan_group g;
	const struct snapshot *of;
	char *json;
	bool margin = false;
	u32 i, same = 0;

	stream_begin(&stream, 3);
	stream_events(&stream, 499);
	half_away(&stream.g);
	leave_out(&stream);
	for (i = 0; i < LOSS_CAUSES; i++) {
		struct item loss = { .type = ITEM_LOSS,
				     .loss = { (enum loss_cause)i, 1u << i, 0, false } };

		stream_item(&stream, &loss);
	}
	assert_int_equal(rec_close(stream.w, &f->err), 0);
	t = libvmspan_replay(f->path, NULL, NULL, 0);
	assert_non_null(t);
	to_the_end(t);
	s = libvmspan_snapshot(t);
	assert_non_null(s);
	libvmspan_free(t);
	of = trace_figures(s);
	libvmspan_totals(s, &totals, sizeof(totals));
	assert_int_equal(totals.lost_records, (1u << LOSS_CAUSES) - 1);
	assert_int_equal(totals.left_out, 1);
	assert_int_equal(totals.complete, 0);
	assert_int_equal(totals.events, 500);
	assert_int_equal(totals.self_ns + totals.gc_ns + totals.blocked_ns + totals.native_ns +
				 totals.moved_ns + totals.stale_ns + totals.lost_ns,
			 totals.wall_ns);
	assert_int_equal(totals.groups, of->group_count);
	for (i = 0; i < totals.groups; i++) {
		const struct group_stats *st = &of->groups[i].stats;

		assert_int_equal(libvmspan_group(s, i, &g, sizeof(g)), 0);
		assert_string_equal(g.name, of->groups[i].name);
		assert_int_equal(g.p50_ns, group_quantile(st, 500));
		assert_int_equal(g.p99_ns, group_quantile(st, 990));
		assert_int_equal(g.max_ns, st->max_ns);
		assert_int_equal(g.cpu_ns, st->cpu_ns);
		assert_int_equal(g.cpu_margin_ns, st->cpu_margin_ns);
		margin |= g.cpu_margin_ns > 0;
		same += group_quantile(st, 990) == group_quantile(st, 900);
		assert_memory_equal(g.durations, st->durations, sizeof(g.durations));
	}
	/* Of some groups these differ, or the above would say little. */
	assert_true(same < totals.groups && margin);
	json = libvmspan_json(s);
	assert_non_null(json);
	assert_non_null(strstr(json, "\"groups\":["));
	free(json);
	libvmspan_snapshot_free(s);
}

/* What a trace says of its recording is gone with it. */
static void figures_that_outlive_their_trace_have_none_of_its_texts(void **state)
{
	struct file *f = *state;
	struct libvmspan_snapshot *s, *later;
	struct libvmspan *t;
	struct stat st;
	char *json;

	write_small(f, 2, 100, false);
	assert_int_equal(stat(f->path, &st), 0);
	assert_int_equal(truncate(f->path, st.st_size - 1), 0);
	t = libvmspan_replay(f->path, NULL, NULL, 0);
	assert_non_null(t);
	to_the_end(t);
	assert_non_null(trace_head(t)->note);
	s = libvmspan_snapshot(t);
	assert_non_null(s);
	libvmspan_free(t);
	later = libvmspan_subtract(s, NULL);
	assert_non_null(later);
	json = libvmspan_json(later);
	assert_non_null(json);
	assert_non_null(strstr(json, "\"file\":null,"));
	assert_non_null(strstr(json, "\"note\":null,"));
	free(json);
	libvmspan_snapshot_free(later);
	libvmspan_snapshot_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(ten_thousand_listeners_are_told_once, setup,
						teardown),
		cmocka_unit_test_setup_teardown(listeners_that_go_leave_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(a_listener_that_ends_the_call_loses_nothing, setup,
						teardown),
		cmocka_unit_test_setup_teardown(what_makes_no_sense_is_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(a_listener_may_remove_itself_and_others, setup,
						teardown),
		TEST(every_alert_has_its_own_text),
		cmocka_unit_test(a_forked_child_frees_what_is_its_own),
		TEST(an_alert_has_the_date_of_its_time),
		TEST(structs_of_other_versions_are_filled_as_far_as_they_go),
		TEST(figures_are_those_of_the_trace),
		TEST(figures_that_outlive_their_trace_have_none_of_its_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
