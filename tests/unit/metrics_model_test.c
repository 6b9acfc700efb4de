/* SPDX-License-Identifier: BSD-2-Clause */
/* A day of a host on which programs come and go, as a Prometheus sees it: of a model, which sums up those that
 * have ended. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim.h"
#include "sink/metric_labels.h"
#include "sink/openmetrics.h"

#define HOURS 24
#define AN_HOUR 500 /* processes; each has a name and a container of its own */
#define AT_ONCE 3 /* of them go on when the page is read */
#define PROCESSES (HOURS * AN_HOUR)

static void change(struct model *m, enum process_change change, u32 number)
{
	struct item it = { .type = ITEM_PROCESS,
			   .process = { change, SIM_PID + number, SIM_PID, 1, "", "" } };
	char name[16];

	snprintf(name, sizeof(name), "p%u", number);
	it.process.name = name;
	assert_int_equal(model_item(m, &it), 0);
}

static void contain(struct model *m, u32 number)
{
	static const char *const texts[] = { "podman", "0123", "p" };
	u64 room[2 * VMSPAN_SLOT / sizeof(u64)] = { 0 };
	struct vmspan_def *d = (void *)room;
	struct item it = { .type = ITEM_DEFS,
			   .defs = { SIM_PID + number, ITEM_TRACER_REGISTRY, room, sizeof(room) } };
	char text[16];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(texts); i++) {
		snprintf(text, sizeof(text), i ? "%s%u" : "%s", texts[i], number);
		d->h = (struct vmspan_head){ VMSPAN_DEF_CONTAINER, 2, 0, i + 1 };
		d->name_len = (u8)strlen(text);
		memcpy(d->groups, text, d->name_len);
		assert_int_equal(model_item(m, &it), 0);
	}
}

static void rename_group(struct model *m, u32 group, const char *name)
{
	u64 room[2 * VMSPAN_SLOT / sizeof(u64)] = { 0 };
	struct vmspan_def *d = (void *)room;
	struct item it = { .type = ITEM_DEFS,
			   .defs = { SIM_PID, SIM_REGISTRY, room, sizeof(room) } };

	d->h = (struct vmspan_head){ VMSPAN_DEF_GROUP, 2, 0, group };
	d->kind = VMSPAN_PAGE;
	d->name_len = (u8)strlen(name);
	memcpy(d->groups, name, d->name_len);
	assert_int_equal(model_item(m, &it), 0);
}

/* What each series said last; the last is "(other)". */
struct seen {
	u64 of[PROCESSES + 1];
};

/* Reads all series of a family: each is there once and none has fallen. What they have grown by. */
static u64 read_series(const char *page, const char *before, const char *behind, struct seen *seen)
{
	static u32 looks, last[PROCESSES + 1];
	u64 sum = 0;

	looks++;
	while ((page = strstr(page, before))) {
		const char *name = page + strlen(before), *end = strstr(name, behind);
		u32 at = *name == 'p' ? (u32)strtoul(name + 1, NULL, 10) - 1 : PROCESSES;
		u64 value;

		page = name;
		if (!end || end > strchr(name, '\n'))
			continue;
		value = strtoull(end + strlen(behind), NULL, 10);
		assert_true(at <= PROCESSES && value >= seen->of[at]);
		assert_int_not_equal(last[at], looks);
		last[at] = looks;
		sum += value - seen->of[at];
		seen->of[at] = value;
	}
	return sum;
}

static char *page_of(const struct model *m, struct metrics *metrics, u64 ns)
{
	struct snapshot *s = snapshot_take(m);
	struct out o;
	char *text;

	assert_non_null(s);
	s->end_ns = ns;
	out_open_memory(&o);
	assert_int_equal(metrics_page(metrics, s, &metrics_text, &o), 0);
	text = strndup((const char *)o.buf.data, o.buf.len);
	assert_non_null(text);
	out_close(&o);
	snapshot_free(s);
	return text;
}

static u64 events_of(const char *text, const char *group)
{
	char series[96];

	snprintf(series, sizeof(series), "\nvmspan_group_events_total{group=\"%s\",", group);
	text = strstr(text, series);
	return text ? strtoull(strchr(text, '}') + 1, NULL, 10) : UINT64_MAX;
}

static bool has_label(const char *text, const char *label, u32 number)
{
	char series[64];

	snprintf(series, sizeof(series), "%sp%u\"", label, number);
	return strstr(text, series);
}

static void who_is_there_has_a_label_and_all_is_counted_once(void **state)
{
	struct seen *by_process = calloc(1, sizeof(*by_process)),
		    *by_container = calloc(1, sizeof(*by_container));
	struct model *m = model_make(&(struct model_config){ 0 });
	struct metrics *metrics = metrics_new(0);
	struct sim *s = sim_one_event();
	u32 hour, i, number = 0;

	(void)state;
	assert_true(by_process && by_container && metrics);
	for (hour = 1; hour <= HOURS; hour++) {
		char *text;

		for (i = 0; i < AN_HOUR; i++) {
			change(m, PROCESS_FORK, ++number);
			contain(m, number);
			assert_int_equal(sim_batch(s, m, SIM_PID + number, 0, 3), 0);
			if (number > AT_ONCE)
				change(m, PROCESS_EXIT, number - AT_ONCE);
		}
		text = page_of(m, metrics, hour * LABEL_HOUR_NS);
		assert_int_equal(read_series(text, "vmspan_group_event_seconds_count{process=\"",
					     "\",kind=\"top\"} ", by_process),
				 AN_HOUR);
		assert_int_equal(events_of(text, "addon:a"), hour * AN_HOUR);
		assert_int_equal(
			read_series(text, "vmspan_container_events_total{container=\"podman:",
				    "\"} ", by_container) +
				read_series(text, "vmspan_container_events_total{container=\"(",
					    "\"} ", by_container),
			AN_HOUR);
		for (i = 0; i < AT_ONCE && hour > 1; i++) {
			assert_true(has_label(text, "process=\"", number - i));
			assert_true(has_label(text, "container=\"podman:", number - i));
			assert_true(has_label(text, "group=\"top:", number - i));
		}
		free(text);
	}
	metrics_free(metrics);
	model_free(m);
	free(s);
	free(by_process);
	free(by_container);
}

/* A page that has loaded has a title, and the next one is new as that one was. */
static void a_group_goes_on_under_its_new_name(void **state)
{
	struct model *m = model_make(&(struct model_config){ 0 });
	struct metrics *metrics = metrics_new(0);
	struct sim *s = sim_new(1);
	char *text;
	u32 i;

	(void)state;
	assert_non_null(metrics);
	for (i = 1; i <= 7; i++) {
		sim_event(s, i * 1000);
		sim_enter(s, i * 1000 + 100, i < 7 ? 1 : 2, VMSPAN_SPAN);
		sim_leave(s, i * 1000 + 200);
		sim_event_end(s, i * 1000 + 900);
	}
	rename_group(m, 1, "new");
	assert_int_equal(sim_batch(s, m, SIM_PID, 0, 10), 0);
	text = page_of(m, metrics, 1);
	assert_int_equal(events_of(text, "page:new"), 5);
	free(text);
	rename_group(m, 1, "shop");
	assert_int_equal(sim_batch(s, m, SIM_PID, 10, 12), 0);
	text = page_of(m, metrics, 2);
	assert_int_equal(events_of(text, "page:new"), 5);
	assert_int_equal(events_of(text, "page:shop"), 1);
	free(text);
	rename_group(m, 2, "new");
	assert_int_equal(sim_batch(s, m, SIM_PID, 12, 14), 0);
	text = page_of(m, metrics, 3);
	assert_int_equal(events_of(text, "page:new"), 6);
	assert_int_equal(events_of(text, "page:shop"), 1);
	free(text);
	metrics_free(metrics);
	model_free(m);
	free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_is_there_has_a_label_and_all_is_counted_once),
		cmocka_unit_test(a_group_goes_on_under_its_new_name),
	};

	return cmocka_run_group_tests_name("metrics_model", tests, NULL, NULL);
}
