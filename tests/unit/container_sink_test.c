/* SPDX-License-Identifier: BSD-2-Clause */
/* Containers in reports: what they are called, and what their processes add up to. */
#include "sink_fixture.h"
#include "user/sink/top_rows.c"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

/* In words that a terminal does not obey. */
static void a_container_has_a_label(void **state)
{
	char label[CONTAINER_LABEL_MAX], name[VMSPAN_NAME_MAX + 1];
	struct snapshot_container c = { "podman", "0123456789abcdef", "web" };

	(void)state;
	assert_string_equal(container_label(&c, label), "podman:web");
	c.name = "";
	assert_string_equal(container_label(&c, label), "podman:0123456789ab");
	c.id = "";
	assert_string_equal(container_label(&c, label), "podman:");
	c.name = "a\033b";
	assert_string_equal(container_label(&c, label), "podman:a\xef\xbf\xbd"
							"b");
	/* Each byte becomes three, and it is cut behind a whole one. */
	memset(name, 1, sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	c.name = name;
	container_label(&c, label);
	assert_int_equal(strlen(label), 7 + 3 * ((CONTAINER_LABEL_MAX - 8) / 3));
	c = (struct snapshot_container){ 0 };
	assert_string_equal(container_label(&c, label), "");
}

/* Of what is too long for a line of top the end is shown, cut between characters. */
static void a_long_label_is_told_by_its_end(void **state)
{
	struct snapshot_process p = { .pid = 4194304, .name = "python3" };
	char to[80];

	(void)state;
	process_name(to, &p);
	assert_string_equal(to, "4194304 python3");
	p.container = (struct snapshot_container){ "podman", "", "web" };
	process_name(to, &p);
	assert_string_equal(to, "4194304 python3 in podman:web");
	p.container.name = "a-namespace/and-a-deployment-with-much-of-a-name-5f7d8c9b4-x2x4z/app";
	process_name(to, &p);
	assert_int_equal(strlen(to), 79);
	assert_string_equal(to, "4194304 python3 in \xe2\x80\xa6"
				"/and-a-deployment-with-much-of-a-name-5f7d8c9b4-x2x4z/app");
	p.ended = true;
	p.container.name =
		"\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4"
		"\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4"
		"\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4";
	process_name(to, &p);
	assert_int_equal(strncmp(to, "4194304 python3 (ended) in \xe2\x80\xa6\xc3\xa4", 32), 0);
	assert_int_equal(strlen(to), 78);
}

/* The first process in one container, the second in another. */
static struct fixture *two_containers(void)
{
	struct fixture *f = fixture_demo();

	f->s.processes[0].container = (struct snapshot_container){ "podman", "12", "web" };
	f->s.processes[0].container_number = 1;
	f->s.processes[1].container = (struct snapshot_container){ "lxc", "", "a\033b" };
	f->s.processes[1].container_number = 2;
	f->s.processes[1].events =
		(struct event_stats){ .count = 1, .wall_ns = 5 * NSEC_PER_SEC, .cpu_ns = 70 * MS };
	f->s.processes[1].ledger =
		(struct ledger){ .self_ns = 5 * NSEC_PER_SEC, .event_wall_ns = 5 * NSEC_PER_SEC };
	return f;
}

static void json_has_each_container(void **state)
{
	struct fixture *f = two_containers();
	struct view v = { 0 };
	struct json j;
	struct out o;
	char *text;

	(void)state;
	out_open_memory(&o);
	json_open(&j, &o);
	report_json(&j, &f->s, &f->source, &v);
	text = fixture_text(&o);
	assert_non_null(strstr(text, "\"ended\":false,\"container\":{\"runtime\":\"podman\",\"id\":"
				     "\"12\",\"name\":\"web\"}}"));
	assert_non_null(strstr(text, ",\"containers\":[{\"runtime\":\"podman\",\"id\":\"12\","
				     "\"name\":\"web\",\"processes\":1,"
				     "\"events\":{\"count\":199,"));
	assert_non_null(strstr(
		text, "{\"runtime\":\"lxc\",\"id\":\"\",\"name\":\"a\\u001bb\",\"processes\":0,"
		      "\"events\":{\"count\":1,\"wall_ns\":5000000000,\"cpu_ns\":70000000,"));
	assert_non_null(strstr(text, "\"event_wall_ns\":5000000000"));
	free(text);
	/* Nothing of any, where there are none. */
	f->s.processes[0].container = f->s.processes[1].container =
		(struct snapshot_container){ 0 };
	f->s.processes[0].container_number = f->s.processes[1].container_number = 0;
	out_open_memory(&o);
	json_open(&j, &o);
	report_json(&j, &f->s, &f->source, &v);
	text = fixture_text(&o);
	assert_null(strstr(text, "container"));
	free(text);
	fixture_free(f);
}

static char *report_of(const struct fixture *f)
{
	struct view v = { 0 };
	struct out o;

	out_open_memory(&o);
	report_text(&o, &f->s, &f->source, &v, 100, false);
	return fixture_text(&o);
}

static void a_report_has_the_busiest_first(void **state)
{
	struct fixture *f = two_containers();
	char *text;

	(void)state;
	text = report_of(f);
	assert_non_null(strstr(
		text, "\nlxc:a\xef\xbf\xbd"
		      "b: 1 event, 5.00 s in all, 70.0 ms of CPU time\npodman:web: 199 events, "));
	free(text);
	/* Of one alone all is said already. */
	f->s.processes[1].container_number = 1;
	text = report_of(f);
	assert_null(strstr(text, "\npodman:web: "));
	assert_null(strstr(text, "\nlxc:"));
	free(text);
	fixture_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_container_has_a_label),
		cmocka_unit_test(a_long_label_is_told_by_its_end),
		cmocka_unit_test(json_has_each_container),
		cmocka_unit_test(a_report_has_the_busiest_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
