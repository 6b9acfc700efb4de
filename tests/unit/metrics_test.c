/* SPDX-License-Identifier: BSD-2-Clause */
/* OpenMetrics: labels are bounded and harmless, counters never fall. */
#include "sink/metric_labels.h"
#include "sink/openmetrics.h"
#include "sink_fixture.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static char *page(struct metrics *m, const struct fixture *f)
{
	struct out o;

	out_open_memory(&o);
	assert_int_equal(metrics_page(m, &f->s, &metrics_text, &o), 0);
	return fixture_text(&o);
}

static u32 count(const char *text, const char *what)
{
	u32 n = 0;

	for (; (text = strstr(text, what)); text++)
		n++;
	return n;
}

static void figures_are_those_of_the_snapshot(void **state)
{
	struct metrics *m = metrics_new(0);
	struct fixture *f = fixture_demo();
	char *text = page(m, f);

	(void)state;
	assert_non_null(strstr(text, "\nvmspan_group_wall_seconds_total{group=\"addon:tracker\","
				     "kind=\"addon\"} 0.600000000\n"));
	assert_non_null(strstr(text, "\nvmspan_group_events_total{group=\"page:shop\","
				     "kind=\"page\"} 5\n"));
	assert_non_null(strstr(text, "\nvmspan_ledger_seconds_total{part=\"gc\"} 0.100000000\n"));
	assert_non_null(strstr(text, "\nvmspan_processes 1\n"));
	assert_string_equal(text + strlen(text) - 6, "# EOF\n");
	free(text);
	fixture_free(f);
	metrics_free(m);
}

/* Each by its own name: as different as they can be. */
static void totals_are_those_of_the_snapshot(void **state)
{
	static const char *const want[] = {
		"events_total 200",
		"incomplete_events_total 9",
		"event_wall_seconds_total 1.200000000",
		"event_cpu_seconds_total 0.600000000",
		"collections_total 4",
		"collection_seconds_total 0.100000001",
		"spans_total 16",
		"ledger_seconds_total{part=\"self\"} 1.000000000",
		"ledger_seconds_total{part=\"gc\"} 2.000000000",
		"ledger_seconds_total{part=\"blocked\"} 3.000000000",
		"ledger_seconds_total{part=\"native\"} 4.000000000",
		"ledger_seconds_total{part=\"moved\"} 5.000000000",
		"ledger_seconds_total{part=\"stale\"} 6.000000000",
		"ledger_seconds_total{part=\"lost\"} 7.000000000",
		"lost_records_total{cause=\"ring_full\"} 11",
		"lost_records_total{cause=\"read_fault\"} 12",
		"lost_records_total{cause=\"sequence_gap\"} 13",
		"lost_records_total{cause=\"unmatched\"} 14",
		"lost_records_total{cause=\"truncated\"} 15",
		"lost_records_total{cause=\"sched\"} 16",
		"lost_records_total{cause=\"no_sched\"} 17",
		"lost_records_total{cause=\"too_deep\"} 41",
		"lost_records_total{cause=\"not_made\"} 42",
		"lost_records_total{cause=\"malformed\"} 43",
		"lost_records_total{cause=\"limit\"} 44",
		"lost_records_total{cause=\"marks_off\"} 45",
		"lost_records_total{cause=\"names\"} 46",
		"lost_records_total{cause=\"other\"} 47",
		"left_out_processes 18",
		"group_wall_seconds_total{group=\"page:shop\",kind=\"page\"} 21.000000000",
		"group_self_seconds_total{group=\"page:shop\",kind=\"page\"} 22.000000000",
		"group_cpu_seconds_total{group=\"page:shop\",kind=\"page\"} 23.000000000",
		"group_cpu_margin_seconds_total{group=\"page:shop\",kind=\"page\"} 31.000000000",
		"group_blocked_seconds_total{group=\"page:shop\",kind=\"page\"} 24.000000000",
		"group_gc_seconds_total{group=\"page:shop\",kind=\"page\"} 25.000000000",
		"group_ticks_total{group=\"page:shop\",kind=\"page\"} 26",
		"group_events_total{group=\"page:shop\",kind=\"page\"} 27",
		"group_spans_total{group=\"page:shop\",kind=\"page\"} 28",
		"group_incomplete_events_total{group=\"page:shop\",kind=\"page\"} 29",
		"group_max_seconds{group=\"page:shop\",kind=\"page\"} 30.000000000",
	};
	struct metrics *m = metrics_new(0);
	struct fixture *f = fixture_demo();
	struct group_stats *g = &f->s.children[0].stats;
	char *text, line[128];
	size_t i;

	(void)state;
	f->s.events.incomplete = 9;
	f->s.gc.total_ns = 100 * MS + 1;
	f->s.ledger = (struct ledger){ .self_ns = 1 * NSEC_PER_SEC,
				       .gc_ns = 2 * NSEC_PER_SEC,
				       .blocked_ns = 3 * NSEC_PER_SEC,
				       .native_ns = 4 * NSEC_PER_SEC,
				       .moved_ns = 5 * NSEC_PER_SEC,
				       .stale_ns = 6 * NSEC_PER_SEC,
				       .lost_ns = 7 * NSEC_PER_SEC };
	f->s.losses = (struct loss_stats){ .records = { [LOSS_RING_FULL] = 11,
							[LOSS_READ_FAULT] = 12,
							[LOSS_SEQUENCE_GAP] = 13,
							[LOSS_UNMATCHED] = 14,
							[LOSS_TRUNCATED] = 15,
							[LOSS_SCHED] = 16,
							[LOSS_NO_SCHED] = 17,
							[LOSS_TOO_DEEP] = 41,
							[LOSS_NOT_MADE] = 42,
							[LOSS_MALFORMED] = 43,
							[LOSS_LIMIT] = 44,
							[LOSS_MARKS_OFF] = 45,
							[LOSS_NAMES] = 46,
							[LOSS_OTHER] = 47 } };
	f->s.left_out = 18;
	g->wall_ns = 21 * NSEC_PER_SEC;
	g->self_ns = 22 * NSEC_PER_SEC;
	g->cpu_ns = 23 * NSEC_PER_SEC;
	g->cpu_margin_ns = 31 * NSEC_PER_SEC;
	g->blocked_ns = 24 * NSEC_PER_SEC;
	g->gc_ns = 25 * NSEC_PER_SEC;
	g->ticks = 26;
	g->events = 27;
	g->spans = 28;
	g->incomplete = 29;
	g->max_ns = 30 * NSEC_PER_SEC;
	text = page(m, f);
	for (i = 0; i < ARRAY_SIZE(want); i++) {
		snprintf(line, sizeof(line), "\nvmspan_%s\n", want[i]);
		if (count(text, line) != 1)
			print_error("%s\n", want[i]);
		assert_int_equal(count(text, line), 1);
	}
	free(text);
	fixture_free(f);
	metrics_free(m);
}

/* le is "not longer", durations are "strictly longer": exactly 2 ms is in 2 ms. */
static void buckets_are_cumulative_and_inclusive(void **state)
{
	struct metrics *m = metrics_new(0);
	struct fixture *f = fixture_demo(); /* shop: 5 events of exactly 2 ms */
	char *text;

	(void)state;
	f->s.children[0].stats.durations[0] = 5;
	text = page(m, f);
	assert_non_null(strstr(text, "kind=\"page\",le=\"0.001\"} 0\n"));
	assert_non_null(strstr(text, "kind=\"page\",le=\"0.002\"} 5\n"));
	assert_non_null(strstr(text, "kind=\"page\",le=\"+Inf\"} 5\n"));
	free(text);
	fixture_free(f);
	metrics_free(m);
}

static char *plain_page(struct metrics *m, const struct fixture *f)
{
	struct out o;

	out_open_memory(&o);
	assert_int_equal(metrics_page(m, &f->s, &metrics_plain, &o), 0);
	return fixture_text(&o);
}

/* The same values, by the rules of the text from before: families of counters are called as their
 * values are; there are no units, and no end. */
static void the_text_from_before_has_the_same_values(void **state)
{
	struct metrics *m = metrics_new(0);
	struct fixture *f = fixture_demo();
	char *plain = plain_page(m, f), *text = page(m, f), *line, *save = NULL, *copy;

	(void)state;
	assert_non_null(strstr(plain, "# TYPE vmspan_events_total counter\n"));
	assert_non_null(strstr(plain, "# TYPE vmspan_processes gauge\n"));
	assert_non_null(strstr(plain, "# TYPE vmspan_group_event_seconds histogram\n"));
	assert_null(strstr(plain, "# UNIT"));
	assert_null(strstr(plain, "# EOF"));
	assert_int_equal(count(plain, "# HELP"), count(text, "# HELP"));
	copy = strdup(text);
	assert_non_null(copy);
	for (line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		if (*line != '#')
			assert_non_null(strstr(plain, line));
	free(copy);
	free(plain);
	free(text);
	fixture_free(f);
	metrics_free(m);
}

static void groups_beyond_the_limit_are_one(void **state)
{
	struct metrics *m = metrics_new(2);
	struct fixture *f = fixture_new(4);
	char *text;

	(void)state;
	fixture_group(f, "addon:small", "addon", 1, 1 * MS);
	fixture_group(f, "addon:large", "addon", 1, 9 * MS);
	fixture_group(f, "addon:middle", "addon", 1, 5 * MS);
	f->s.process_count = 1;
	f->s.processes[0] = (struct snapshot_process){ .pid = 1, .id = 1, .name = "p", .vm = "" };
	text = page(m, f);
	assert_non_null(strstr(text, "group_wall_seconds_total{group=\"addon:large\""));
	assert_non_null(strstr(text, "group_wall_seconds_total{group=\"addon:middle\""));
	assert_null(strstr(text, "addon:small"));
	assert_non_null(strstr(text, "group_wall_seconds_total{group=\"(other)\","
				     "kind=\"(other)\"} 0.001000000\n"));
	assert_int_equal(count(text, "vmspan_group_wall_seconds_total{"), 3);
	free(text);
	fixture_free(f);
	metrics_free(m);
}

/* Of groups that share a name, sums and the longest of all; most time is not one long event. */
static void groups_of_one_name_are_added_up(void **state)
{
	struct metrics *m = metrics_new(1);
	struct fixture *f = fixture_new(4);
	char *text;

	(void)state;
	f->s.process_count = 1;
	f->s.processes[0] = (struct snapshot_process){ .pid = 1, .id = 1, .name = "p", .vm = "" };
	fixture_group(f, "addon:largest", "addon", 9, 9 * MS);
	fixture_group(f, "addon:many", "addon", 20, 2 * MS);
	fixture_group(f, "addon:long", "addon", 5, 5 * MS);
	fixture_group(f, "addon:few", "addon", 2, 3 * MS);
	text = page(m, f);
	assert_non_null(strstr(text, "group_max_seconds{group=\"(other)\",kind=\"(other)\"} "
				     "0.005000000\n"));
	assert_non_null(strstr(text, "group_events_total{group=\"(other)\",kind=\"(other)\"} "
				     "27\n"));
	free(text);
	fixture_free(f);
	metrics_free(m);
}

/* Each has its label, and those of one name have one; what is beyond the limit is one. */
static void containers_have_their_sums(void **state)
{
	struct metrics *m = metrics_new(1);
	struct fixture *f = fixture_new(1);
	struct snapshot_process *p = calloc(METRICS_CONTAINERS + 5, sizeof(*p)),
				*own = f->s.processes;
	char names[METRICS_CONTAINERS][16], *text;
	u32 i;

	(void)state;
	assert_non_null(p);
	text = page(m, f);
	assert_null(strstr(text, "vmspan_container_"));
	free(text);
	f->s.processes = p;
	f->s.process_count = METRICS_CONTAINERS + 5;
	for (i = 0; i < f->s.process_count; i++) {
		p[i] = (struct snapshot_process){ .pid = i + 1,
						  .id = i + 1,
						  .name = "p",
						  .vm = "",
						  .events.count = 1,
						  .gc.count = 2,
						  .events.wall_ns = 3 * NSEC_PER_SEC,
						  .events.cpu_ns = 2 * NSEC_PER_SEC,
						  .gc.total_ns = NSEC_PER_SEC,
						  .events.incomplete = 1 };
		if (!i)
			continue;
		p[i].container_number = i;
		if (i >= METRICS_CONTAINERS) {
			p[i].container = (struct snapshot_container){ "podman", "",
								      i % 2 ? "other" : "another" };
			continue;
		}
		/* The third is called like the second. */
		snprintf(names[i], 16, "c%u", i == 3 ? 2 : i);
		p[i].container = (struct snapshot_container){ "podman", "", names[i] };
	}
	p[1].ended = true;
	p[2].sum = true;
	text = page(m, f);
	assert_non_null(
		strstr(text, "\nvmspan_container_events_total{container=\"podman:c1\"} 1\n"));
	assert_non_null(
		strstr(text, "\nvmspan_container_events_total{container=\"podman:c2\"} 2\n"));
	assert_null(strstr(text, "container=\"podman:c3\""));
	assert_non_null(strstr(
		text, "\nvmspan_container_incomplete_events_total{container=\"podman:c2\"} 2\n"));
	assert_non_null(strstr(text, "\nvmspan_container_event_wall_seconds_total{container="
				     "\"podman:c2\"} 6.000000000\n"));
	assert_non_null(strstr(text, "\nvmspan_container_event_cpu_seconds_total{container="
				     "\"podman:c2\"} 4.000000000\n"));
	assert_non_null(
		strstr(text, "\nvmspan_container_collections_total{container=\"podman:c2\"} 4\n"));
	assert_non_null(strstr(text, "\nvmspan_container_collection_seconds_total{container="
				     "\"podman:c2\"} 2.000000000\n"));
	assert_non_null(strstr(text, "\nvmspan_container_processes{container=\"podman:c1\"} 0\n"));
	assert_non_null(strstr(text, "\nvmspan_container_processes{container=\"podman:c2\"} 1\n"));
	assert_non_null(
		strstr(text, "\nvmspan_container_events_total{container=\"podman:other\"} 2\n"));
	assert_non_null(
		strstr(text, "\nvmspan_container_events_total{container=\"podman:another\"} 3\n"));
	/* c1, c2, c4 ... and those two: all have one. */
	assert_int_equal(count(text, "vmspan_container_events_total{"), METRICS_CONTAINERS);
	free(text);
	/* What was told of them under another name stays there. */
	for (i = METRICS_CONTAINERS; i < f->s.process_count; i++) {
		p[i].container.name = "yet another";
		p[i].events.count += 2;
	}
	text = page(m, f);
	assert_non_null(
		strstr(text, "\nvmspan_container_events_total{container=\"(other)\"} 10\n"));
	assert_non_null(strstr(text, "\nvmspan_container_processes{container=\"(other)\"} 5\n"));
	assert_non_null(
		strstr(text, "\nvmspan_container_events_total{container=\"podman:other\"} 2\n"));
	assert_non_null(
		strstr(text, "\nvmspan_container_processes{container=\"podman:other\"} 0\n"));
	assert_non_null(strstr(text, "\nvmspan_processes 203\n"));
	free(text);
	f->s.processes = own;
	free(p);
	fixture_free(f);
	metrics_free(m);
}

/* ---- Processes that come and go ---- */

/* Each with its top group, its container, and so many events of 2 ms. */
struct host {
	struct fixture *f;
	struct snapshot_process *own;
	char names[METRICS_CONTAINERS + 10][16], groups[METRICS_CONTAINERS + 10][24];
};

static struct host *host_new(u32 processes)
{
	struct host *h = calloc(1, sizeof(*h));
	u32 i;

	assert_non_null(h);
	h->f = fixture_new(processes);
	h->own = h->f->s.processes;
	h->f->s.processes = calloc(processes, sizeof(*h->own));
	h->f->s.process_count = processes;
	h->f->s.end_ns = NSEC_PER_SEC;
	assert_non_null(h->f->s.processes);
	for (i = 0; i < processes; i++) {
		snprintf(h->names[i], sizeof(h->names[i]), "p%u", i);
		snprintf(h->groups[i], sizeof(h->groups[i]), "top:p%u", i);
		h->f->s.processes[i] = (struct snapshot_process){
			.pid = i + 1,
			.id = i + 1,
			.name = h->names[i],
			.vm = "",
			.container = { "podman", "", h->names[i] },
			.container_number = i + 1,
		};
		fixture_group(h->f, h->groups[i], "top", 0, 0);
		h->f->s.children[i].process = i;
	}
	return h;
}

static void host_free(struct host *h)
{
	free(h->f->s.processes);
	h->f->s.processes = h->own;
	fixture_free(h->f);
	free(h);
}

static void work(struct host *h, u32 process, u32 events)
{
	struct group_stats *stats[] = { &h->f->s.groups[process].stats,
					&h->f->s.children[process].stats };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(stats); i++) {
		stats[i]->events += events;
		stats[i]->wall_ns += events * 2 * MS;
		stats[i]->durations[0] += events;
	}
	assert_int_equal(hist_add_many(&stats[0]->hist, 2 * MS, events), 0);
	h->f->s.processes[process].events.count += events;
	h->f->s.processes[process].events.wall_ns += events * 2 * MS;
}

static u64 value_of(const char *text, const char *series)
{
	char line[128];

	snprintf(line, sizeof(line), "\nvmspan_%s ", series);
	text = strstr(text, line);
	return text ? strtoull(text + strlen(line), NULL, 10) : UINT64_MAX;
}

static u64 events_of(const char *text, const char *process)
{
	char series[96];

	snprintf(series, sizeof(series), "group_event_seconds_count{process=\"%s\",kind=\"top\"}",
		 process);
	return value_of(text, series);
}

static u64 events_in(const char *text, const char *container)
{
	char series[96];

	snprintf(series, sizeof(series), "container_events_total{container=\"%s\"}", container);
	return value_of(text, series);
}

/* The first to be seen had the labels for ever, and the last of a host's workers none. */
static void who_goes_on_gets_the_label_of_who_has_ended(void **state)
{
	struct metrics *m = metrics_new(0);
	struct host *h = host_new(METRICS_CONTAINERS + 2);
	u32 i, last = METRICS_CONTAINERS + 1;
	char *text;

	(void)state;
	for (i = 0; i < last; i++)
		work(h, i, 1000 - i);
	text = page(m, h->f);
	assert_int_equal(count(text, "vmspan_group_event_seconds_count{"), METRICS_PROCESSES + 1);
	assert_int_equal(count(text, "vmspan_container_events_total{"), METRICS_CONTAINERS + 1);
	assert_int_equal(events_of(text, "p49"), 951);
	assert_int_equal(events_of(text, "p50"), UINT64_MAX);
	assert_int_equal(events_in(text, "podman:p199"), 801);
	assert_int_equal(events_in(text, "podman:p200"), UINT64_MAX);
	assert_int_equal(events_in(text, "(other)"), 800);
	free(text);
	/* All but the first have ended, and an hour later another one works a little. */
	for (i = 1; i < last; i++)
		h->f->s.processes[i].ended = true;
	work(h, last, 1);
	h->f->s.end_ns += LABEL_HOUR_NS;
	text = page(m, h->f);
	assert_int_equal(events_of(text, "p0"), 1000);
	assert_int_equal(events_of(text, "p201"), 1);
	assert_int_equal(value_of(text, "group_event_seconds_bucket{process=\"p201\",kind=\"top\","
					"le=\"0.001\"}"),
			 0);
	assert_int_equal(value_of(text, "group_event_seconds_bucket{process=\"p201\",kind=\"top\","
					"le=\"0.002\"}"),
			 1);
	assert_int_equal(events_in(text, "podman:p0"), 1000);
	assert_int_equal(events_in(text, "podman:p201"), 1);
	assert_int_equal(events_in(text, "(other)"), 800);
	assert_int_equal(count(text, "vmspan_group_event_seconds_count{"), METRICS_PROCESSES + 1);
	assert_int_equal(count(text, "vmspan_container_events_total{"), METRICS_CONTAINERS + 1);
	/* So it is with their groups. */
	assert_non_null(strstr(text, "vmspan_group_events_total{group=\"top:p201\""));
	assert_null(strstr(text, "group=\"top:p99\""));
	free(text);
	host_free(h);
	metrics_free(m);
}

/* A model sums up those that have ended when there are thousands. */
static void what_is_summed_up_stays_where_it_was_told(void **state)
{
	struct metrics *m = metrics_new(0);
	struct host *h = host_new(3);
	struct snapshot_process *p = h->f->s.processes;
	char *text;
	u32 i;

	(void)state;
	for (i = 0; i < 3; i++) {
		work(h, i, 10);
		p[i].container_number = i < 2 ? 1 : 0;
		p[i].container.name = "web";
	}
	p[0].ended = true;
	text = page(m, h->f);
	assert_int_equal(events_in(text, "podman:web"), 20);
	free(text);
	for (i = 0; i < 2; i++) {
		/* The first became a sum; what else is in it nobody has seen. */
		p[0].sum = true;
		p[0].name = "(ended)";
		p[0].id = 4;
		p[1].container.name = "shop";
		if (!i)
			work(h, 0, 5);
		text = page(m, h->f);
		assert_int_equal(events_of(text, "p0"), 10);
		assert_int_equal(events_of(text, "p1"), 10);
		assert_int_equal(events_of(text, "p2"), 10);
		assert_int_equal(events_of(text, "(ended)"), UINT64_MAX);
		assert_int_equal(events_of(text, "(other)"), 5);
		assert_int_equal(
			value_of(text, "group_events_total{group=\"top:p0\",kind=\"top\"}"), 15);
		assert_int_equal(events_in(text, "podman:web"), 20);
		assert_int_equal(events_in(text, "podman:shop"), 5);
		assert_int_equal(events_in(text, "(other)"), UINT64_MAX);
		free(text);
	}
	host_free(h);
	metrics_free(m);
}

/* What was a gap gets its cause later. */
static void lost_records_do_not_become_fewer(void **state)
{
	struct metrics *m = metrics_new(0);
	struct fixture *f = fixture_demo();
	char *text;

	(void)state;
	f->s.losses.records[LOSS_SEQUENCE_GAP] = 13;
	text = page(m, f);
	free(text);
	f->s.losses.records[LOSS_SEQUENCE_GAP] = 3;
	f->s.losses.records[LOSS_RING_FULL] = 10;
	text = page(m, f);
	assert_int_equal(value_of(text, "lost_records_total{cause=\"sequence_gap\"}"), 13);
	assert_int_equal(value_of(text, "lost_records_total{cause=\"ring_full\"}"), 10);
	free(text);
	fixture_free(f);
	metrics_free(m);
}

static void names_of_the_target_stay_within_their_quotes(void **state)
{
	struct out o;
	char *text;

	(void)state;
	out_open_memory(&o);
	metrics_label(&o, "a\"} 1\n# EOF\\\xff\033z\xc3\xa4");
	text = fixture_text(&o);
	assert_string_equal(text, "a\\\"} 1\xef\xbf\xbd# EOF\\\\\xef\xbf\xbd\xef\xbf\xbdz\xc3\xa4");
	free(text);
}

static void alerts_are_counted_by_group_and_reason(void **state)
{
	struct metrics *m = metrics_new(0);
	struct fixture *f = fixture_demo();
	char *text;

	(void)state;
	metrics_alert(m, "addon:tracker", ALERT_SLOWDOWN | ALERT_IN_INPUT, CAUSE_OWN);
	metrics_alert(m, "addon:tracker", ALERT_SLOWDOWN, CAUSE_SYSTEM);
	text = page(m, f);
	assert_non_null(strstr(text, "group_alerts_total{group=\"addon:tracker\",kind=\"addon\","
				     "cause=\"own\"} 1\n"));
	assert_non_null(strstr(text, "group_alerts_total{group=\"addon:tracker\",kind=\"addon\","
				     "cause=\"inner\"} 0\n"));
	assert_non_null(strstr(text, "group_alerts_total{group=\"addon:tracker\",kind=\"addon\","
				     "cause=\"system\"} 1\n"));
	assert_non_null(strstr(text, "alerts_total{reason=\"SLOWDOWN\"} 2\n"));
	assert_non_null(strstr(text, "alerts_total{reason=\"IN_INPUT\"} 1\n"));
	assert_non_null(strstr(text, "alerts_total{reason=\"IN_ANIMATION\"} 0\n"));
	free(text);
	fixture_free(f);
	metrics_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(figures_are_those_of_the_snapshot),
		cmocka_unit_test(totals_are_those_of_the_snapshot),
		cmocka_unit_test(buckets_are_cumulative_and_inclusive),
		cmocka_unit_test(the_text_from_before_has_the_same_values),
		cmocka_unit_test(groups_beyond_the_limit_are_one),
		cmocka_unit_test(groups_of_one_name_are_added_up),
		cmocka_unit_test(containers_have_their_sums),
		cmocka_unit_test(who_goes_on_gets_the_label_of_who_has_ended),
		cmocka_unit_test(what_is_summed_up_stays_where_it_was_told),
		cmocka_unit_test(lost_records_do_not_become_fewer),
		cmocka_unit_test(names_of_the_target_stay_within_their_quotes),
		cmocka_unit_test(alerts_are_counted_by_group_and_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
