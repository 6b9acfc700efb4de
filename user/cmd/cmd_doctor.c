/* SPDX-License-Identifier: BSD-2-Clause */
#include "attach/checks.h"
#include "attach/steal.h"
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

/* Long enough for a hundredth of one busy CPU to be a tick. The other checks run
 * meanwhile, and keep one busy for a part of it. */
#define STEAL_WINDOW_NS NSEC_PER_SEC

/* As struct steal_host has it: true, false or null. */
static void put_answer(struct json *j, const char *key, enum steal_answer a)
{
	json_key(j, key);
	if (a == STEAL_UNKNOWN)
		json_null(j);
	else
		json_bool(j, a == STEAL_YES);
}

static void put_ticks(struct json *j, u64 used, u64 stolen, u64 hz)
{
	json_key_u64(j, "used_ns", steal_ns(used, hz));
	json_key_u64(j, "stolen_ns", steal_ns(stolen, hz));
}

static void put_count(struct json *j, const char *key, const struct steal_count *d, int error,
		      u64 ns, u64 hz)
{
	u32 i;

	json_key(j, key);
	if (error) {
		json_null(j);
		return;
	}
	json_object(j);
	json_key_u64(j, "ns", ns);
	put_ticks(j, d->used, d->stolen, hz);
	json_key_array(j, "cpus");
	for (i = 0; i < d->cpu_count; i++) {
		json_object(j);
		json_key_u64(j, "cpu", d->cpus[i].cpu);
		put_ticks(j, d->cpus[i].used, d->cpus[i].stolen, hz);
		json_end_object(j);
	}
	json_end_array(j);
	json_end_object(j);
}

static void put_steal(struct json *j, const struct steal_look *l)
{
	json_key_object(j, "stolen");
	put_answer(j, "virtual", l->host.is_virtual);
	put_answer(j, "told", l->boot.stolen ? STEAL_YES : l->host.tells);
	put_answer(j, "cpu_times_without", l->host.clock_without);
	json_key_u64(j, "tick_ns", steal_ns(1, l->hz));
	put_count(j, "window", &l->window, l->window_error, l->window_ns, l->hz);
	put_count(j, "since_start", &l->boot, l->boot_error, l->boot_ns, l->hz);
	json_end_object(j);
}

int cmd_doctor(int argc, char **argv)
{
	const struct command *self = command_find("doctor");
	struct check list[CHECKS_MAX + 1];
	struct steal_look steal;
	struct options o;
	struct print p = { 0 };
	struct err e = { 0 };
	int status;
	u32 i, n;

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
	steal_look_begin(&steal);
	n = checks_machine(list);
	steal_look_end(&steal, STEAL_WINDOW_NS);
	check_steal(&steal, &list[n++]);
	put(&p, list, n);
	if (p.as_json) {
		json_end_array(&p.json);
		json_key_array(&p.json, "processes");
	}
	for (i = 0; i < o.target.count; i++)
		put_process(&p, o.target.pids[i]);
	if (p.as_json) {
		json_end_array(&p.json);
		json_key_i64(&p.json, "status", p.status);
		put_steal(&p.json, &steal);
		json_end_object(&p.json);
		json_line(&p.json);
	} else {
		out_puts(&p.out, p.status ? "\nTracing does not work yet; see above.\n"
					  : "\nTracing works here.\n");
	}
	return finish_output(&p.out, "standard output", p.status);
}
