/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/option_set.h"
#include "cmd/options.h"
#include "base/text.h"
#include "model/parts.h"
#include "probe/profile_file.h"
#include "sink/words.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int bad_value(struct err *e, const struct option_row *row, const char *arg, const char *want)
{
	char clean[64];

	err_set_status(e, -EINVAL, EXIT_USAGE, "--%s: '%s' is not %s", row->name,
		       text_clean(clean, sizeof(clean), arg, strlen(arg)), want);
	return -EINVAL;
}

int set_flag(void *at, const struct option_row *row, const char *arg, struct err *e)
{
	(void)row;
	(void)arg;
	(void)e;
	*(bool *)at = true;
	return 0;
}

int set_text(void *at, const struct option_row *row, const char *arg, struct err *e)
{
	if (!arg[0])
		return bad_value(e, row, arg, "a name: it is empty");
	*(const char **)at = arg;
	return 0;
}

int set_bytes(void *at, const struct option_row *row, const char *arg, struct err *e)
{
	if (text_parse_bytes(arg, at) || !*(u64 *)at) {
		bad_value(e, row, arg, "a size");
		err_hint(e, "sizes are numbers of bytes, or such as 512k, 16M, 1G");
		return -EINVAL;
	}
	return 0;
}

int set_time(void *at, const struct option_row *row, const char *arg, struct err *e)
{
	if (text_parse_ns(arg, at)) {
		bad_value(e, row, arg, "a time");
		err_hint(e, "times are numbers of seconds, or such as 250ms, 1.5s, 2m");
		return -EINVAL;
	}
	return 0;
}

int set_span(void *at, const struct option_row *row, const char *arg, struct err *e)
{
	if (set_time(at, row, arg, e))
		return -EINVAL;
	if (*(u64 *)at < NSEC_PER_MSEC)
		return bad_value(e, row, arg, "a time of at least 1ms");
	return 0;
}

int set_count(void *at, const struct option_row *row, const char *arg, struct err *e)
{
	if (text_parse_u64(arg, UINT64_MAX, at) || !*(u64 *)at)
		return bad_value(e, row, arg, "a number of 1 or more");
	return 0;
}

int set_rows(void *at, const struct option_row *row, const char *arg, struct err *e)
{
	u64 v;

	if (text_parse_u64(arg, UINT32_MAX, &v) || !v)
		return bad_value(e, row, arg, "a number of 1 or more");
	*(u32 *)at = (u32)v;
	return 0;
}

int set_hz(void *at, const struct option_row *row, const char *arg, struct err *e)
{
	u64 v;

	if (text_parse_u64(arg, 10000, &v) || !v)
		return bad_value(e, row, arg, "a number from 1 to 10000");
	*(u32 *)at = (u32)v;
	return 0;
}

int set_attribute(void *at, const struct option_row *row, const char *arg, struct err *e)
{
	if (strcmp(arg, "innermost") && strcmp(arg, "outermost"))
		return bad_value(e, row, arg, "innermost or outermost");
	*(bool *)at = arg[0] == 'o';
	return 0;
}

/* Profiles are read where they are named: all commands then know them. */
int add_profile(void *at, const struct option_row *row, const char *arg, struct err *e)
{
	(void)at;
	(void)row;
	if (!profile_file_add(arg, e))
		return 0;
	e->status = EXIT_USAGE;
	return -EINVAL;
}

static int add_pid(struct options *o, u32 pid)
{
	u32 i;

	for (i = 0; i < o->target.count; i++)
		if (o->target.pids[i] == pid)
			return 0;
	if (o->target.count == OPTION_PIDS_MAX)
		return -E2BIG;
	o->target.pids[o->target.count++] = pid;
	return 0;
}

int set_pids(void *at, const struct option_row *row, const char *arg, struct err *e)
{
	const char *p = arg;

	for (;;) {
		size_t len = strcspn(p, ",");
		char text[16];
		u64 pid;

		snprintf(text, sizeof(text), "%.*s", (int)(len < 15 ? len : 15), p);
		if (text_parse_u64(text, INT32_MAX, &pid) || !pid || len > 10) {
			bad_value(e, row, arg, "a list of process ids");
			err_hint(e, "%s\n  %*s^ here", arg, (int)(p - arg), "");
			return -EINVAL;
		}
		if (add_pid(at, (u32)pid))
			return bad_value(e, row, arg, "a list of at most 1024 process ids");
		if (!p[len])
			return 0;
		p += len + 1;
	}
}

int set_name(void *at, const struct option_row *row, const char *arg, struct err *e)
{
	struct live_sweep *s = at;
	bool cgroup = row->name[1] == 'g';
	u32 *count = cgroup ? &s->cgroup_count : &s->comm_count;

	if (!arg[0])
		return bad_value(e, row, arg, "a name: it is empty");
	if (*count == LIVE_NAMES_MAX)
		return bad_value(e, row, arg, "among the first 32");
	(cgroup ? s->cgroups : s->comms)[(*count)++] = arg;
	return 0;
}

int set_sort(void *at, const struct option_row *row, const char *arg, struct err *e)
{
	struct nearest near = { .word = arg };
	char list[256] = "";
	size_t i;

	if (sort_key_valid(arg)) {
		*(const char **)at = arg;
		return 0;
	}
	bad_value(e, row, arg, "a key to sort by");
	for (i = 0; sort_keys[i]; i++) {
		size_t len = strlen(list);

		nearest_try(&near, sort_keys[i]);
		snprintf(list + len, sizeof(list) - len, "%s%s", i ? ", " : "", sort_keys[i]);
	}
	err_hint(e, "%s%s%skeys: %s", near.best ? "did you mean " : "", near.best ? near.best : "",
		 near.best ? "? " : "", list);
	return -EINVAL;
}

int set_method(void *at, const struct option_row *row, const char *arg, struct err *e)
{
	static const char *const names[] = {
		[METHOD_AUTO] = "auto",
		[METHOD_FLUSH] = "flush",
		[METHOD_DIRECT] = "direct",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		if (!strcmp(names[i], arg)) {
			*(enum live_method *)at = (enum live_method)i;
			return 0;
		}
	}
	return bad_value(e, row, arg, "auto, flush or direct");
}

int set_nested(void *at, const struct option_row *row, const char *arg, struct err *e)
{
	if (strcmp(arg, "drop") && strcmp(arg, "suspend"))
		return bad_value(e, row, arg, "drop or suspend");
	*(enum nested_mode *)at = arg[0] == 's' ? NESTED_SUSPEND : NESTED_DROP;
	return 0;
}

int set_columns(void *at, const struct option_row *row, const char *arg, struct err *e)
{
	const char *bad;
	struct out list;
	size_t len;
	unsigned int i;
	char word[32];

	if (!table_choice_parse(at, arg, &bad, &len))
		return 0;
	snprintf(word, sizeof(word), "%.*s", (int)min_u64(len, sizeof(word) - 1), bad);
	bad_value(e, row, word, "a column, or it is there twice");
	out_open_memory(&list);
	for (i = 0; i < table_column_count(); i++)
		out_printf(&list, "%s%s", i ? ", " : "", table_column_name(i));
	out_write(&list, "", 1);
	if (!list.error)
		err_hint(e, "columns: %s; or auto", (const char *)list.buf.data);
	out_close(&list);
	return -EINVAL;
}

/* TIME, or GLOB=TIME for some groups only. */
int set_threshold(void *at, const struct option_row *row, const char *arg, struct err *e)
{
	struct options *o = at;
	const char *equals = strrchr(arg, '=');
	struct alert_rule *r;
	char *glob;
	u64 ns;

	if (set_span(&ns, row, equals ? equals + 1 : arg, e))
		return -EINVAL;
	if (!equals) {
		o->watch.threshold_ns = ns;
		return 0;
	}
	glob = strndup(arg, (size_t)(equals - arg));
	if (!glob || glob_check(glob)) {
		free(glob);
		bad_value(e, row, arg, "a glob, '=' and a time");
		err_hint(e, "such as --threshold 'page:*=100ms'");
		return -EINVAL;
	}
	if (o->watch.rule_count == OPTION_RULES_MAX) {
		free(glob);
		return bad_value(e, row, arg, "one of at most 256 rules");
	}
	r = &o->watch.rules[o->watch.rule_count++];
	*r = (struct alert_rule){ .glob = glob, .threshold_ns = ns };
	return 0;
}

void rules_hold(struct options *o, u32 from)
{
	struct alert_rule nearer[OPTION_RULES_MAX], *rules = o->watch.rules;
	u32 n = o->watch.rule_count - from;

	memcpy(nearer, rules + from, n * sizeof(*rules));
	memmove(rules + n, rules, from * sizeof(*rules));
	memcpy(rules, nearer, n * sizeof(*rules));
}

int add_condition(void *at, const struct option_row *row, const char *arg, struct err *e)
{
	struct options *o = at;

	if (o->conditions.count == OPTION_CONDITIONS_MAX)
		return bad_value(e, row, arg, "one of at most 16 conditions");
	o->conditions.text[o->conditions.count++] = arg;
	return 0;
}

int set_without(void *at, const struct option_row *row, const char *arg, struct err *e)
{
	const char *p = arg;
	u32 parts = 0;
	size_t len;
	int i;

	for (;; p += len + 1) {
		len = strcspn(p, ",");
		for (i = TRACE_BLOCKING; i < TRACE_PARTS; i++)
			if (strlen(part_names[i]) == len && !strncmp(part_names[i], p, len))
				break;
		if (i == TRACE_PARTS) {
			bad_value(e, row, arg, "a list of parts");
			err_hint(e, "parts: blocking, gc, samples");
			return -EINVAL;
		}
		parts |= 1u << i;
		if (!p[len])
			break;
	}
	*(u32 *)at = parts;
	return 0;
}

int add_own(void *at, const struct option_row *row, const char *arg, struct err *e)
{
	struct options *o = at;

	if (glob_check(arg))
		return bad_value(e, row, arg, "a glob such as 'addon:*'");
	if (o->own.count == OPTION_OWN_MAX)
		return bad_value(e, row, arg, "one of at most 16 globs");
	o->own.glob[o->own.count++] = arg;
	return 0;
}
