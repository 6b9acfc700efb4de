/* SPDX-License-Identifier: BSD-2-Clause */
#include "attach/checks.h"
#include "base/json.h"
#include "base/text.h"
#include "cmd/doctor_trial.h"
#include "cmd/options.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static void put_text(struct out *o, const struct check *c)
{
	char detail[sizeof(c->detail) * 3];

	out_printf(o, "%-4s  %-26s %s\n", check_result_name(c->result), c->what,
		   text_clean(detail, sizeof(detail), c->detail, strlen(c->detail)));
	if (c->result != CHECK_OK && c->advice[0])
		out_printf(o, "      -> %s\n", c->advice);
}

static void put_json(struct json *j, const struct check *c)
{
	json_object(j);
	json_key_string(j, "id", c->id);
	json_key_string(j, "what", c->what);
	json_key_string(j, "result", check_result_name(c->result));
	json_key_string(j, "detail", c->detail);
	json_key_string(j, "advice", c->result == CHECK_OK ? "" : c->advice);
	json_end_object(j);
}

/* A missing permission explains what fails besides; a target without probes
 * is the least of troubles. */
static int worse(int status, const struct check *c)
{
	static const int order[] = { EXIT_DONE, EXIT_NOTHING, EXIT_FAILED, EXIT_PERMISSION };
	size_t i, a = 0, b = 0;

	if (c->result != CHECK_FAIL)
		return status;
	for (i = 0; i < ARRAY_SIZE(order); i++) {
		if (order[i] == status)
			a = i;
		if (order[i] == (int)c->status)
			b = i;
	}
	return a > b ? status : order[b];
}

struct print {
	struct out out;
	struct json json;
	bool as_json;
	int status;
};

static void put(struct print *p, const struct check *list, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++) {
		if (p->as_json)
			put_json(&p->json, &list[i]);
		else
			put_text(&p->out, &list[i]);
		p->status = worse(p->status, &list[i]);
	}
}

static void put_process(struct print *p, u32 pid)
{
	struct check list[CHECKS_MAX + TRIAL_CHECKS];
	u32 n = checks_process(pid, list), i;
	int status = EXIT_DONE;
	bool vm = false;

	for (i = 0; i < n; i++) {
		status = worse(status, &list[i]);
		vm |= !strcmp(list[i].id, "vm");
	}
	/* What cannot be traced need not be tried. */
	if (!status)
		n += doctor_trial(pid, vm, &list[n]);

	if (p->as_json) {
		json_object(&p->json);
		json_key_u64(&p->json, "pid", pid);
		json_key_array(&p->json, "checks");
	} else {
		out_printf(&p->out, "\nprocess %u\n", pid);
	}
	put(p, list, n);
	if (p->as_json) {
		json_end_array(&p->json);
		json_end_object(&p->json);
	}
}

int cmd_doctor(int argc, char **argv)
{
	const struct command *self = command_find("doctor");
	struct check list[CHECKS_MAX];
	struct options o;
	struct print p = { 0 };
	struct err e = { 0 };
	int status;
	u32 i;

	status = options_parse(self, argc, argv, &o);
	if (status != OPTIONS_RUN)
		return status;
	if (o.rest_count) {
		usage_error(&e, self, "'%s' is not an option", o.rest[0]);
		return say_error(&e);
	}
	out_open_fd(&p.out, STDOUT_FILENO);
	json_open(&p.json, &p.out);
	p.as_json = o.output.json;
	if (p.as_json) {
		json_object(&p.json);
		json_key_u64(&p.json, "schema", 1);
		json_key_array(&p.json, "checks");
	}
	put(&p, list, checks_machine(list));
	if (p.as_json) {
		json_end_array(&p.json);
		json_key_array(&p.json, "processes");
	}
	for (i = 0; i < o.target.count; i++)
		put_process(&p, o.target.pids[i]);
	if (p.as_json) {
		json_end_array(&p.json);
		json_key_i64(&p.json, "status", p.status);
		json_end_object(&p.json);
		json_line(&p.json);
	} else {
		out_puts(&p.out, p.status ? "\nTracing does not work yet; see above.\n"
					  : "\nTracing works here.\n");
	}
	return finish_output(&p.out, "standard output", p.status);
}
