/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/condition.h"
#include "sink/listen.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define SLOWER UINT32_MAX

static u64 mean(const struct group_stats *s)
{
	return s->events ? s->wall_ns / s->events : 0;
}

static u64 p50(const struct group_stats *s)
{
	return group_quantile(s, 500);
}

static u64 p90(const struct group_stats *s)
{
	return group_quantile(s, 900);
}

static u64 p99(const struct group_stats *s)
{
	return group_quantile(s, 990);
}

#define FIELD(name, field)                           \
	static u64 name(const struct group_stats *s) \
	{                                            \
		return s->field;                     \
	}
FIELD(max_time, max_ns)
FIELD(wall, wall_ns)
FIELD(self_time, self_ns)
FIELD(cpu, cpu_ns)
FIELD(gc, gc_ns)
FIELD(blocked, blocked_ns)
FIELD(events, events)
FIELD(ticks, ticks)
FIELD(jank, durations[6])
FIELD(incomplete, incomplete)

static const struct {
	const char *name;
	u64 (*of)(const struct group_stats *s);
	bool time;
} metrics[] = {
	{ "mean", mean, true },      { "p50", p50, true },
	{ "p90", p90, true },        { "p99", p99, true },
	{ "max", max_time, true },   { "wall", wall, true },
	{ "self", self_time, true }, { "cpu", cpu, true },
	{ "gc", gc, true },          { "blocked", blocked, true },
	{ "events", events, false }, { "ticks", ticks, false },
	{ "jank", jank, false },     { "incomplete", incomplete, false },
};

static int bad(struct err *err, const char *text, const char *why)
{
	char clean[160], names[160] = "";
	size_t i, len = 0;

	for (i = 0; i < ARRAY_SIZE(metrics); i++)
		len += (size_t)snprintf(names + len, sizeof(names) - len, "%s%s", i ? ", " : "",
					metrics[i].name);
	err_set_status(err, -EINVAL, EXIT_USAGE, "--fail-if: '%s': %s",
		       text_clean(clean, sizeof(clean), text, strlen(text)), why);
	err_hint(err,
		 "such as 'addon:* p99 > 10ms', or slower. Figures: %s (jank: events longer "
		 "than 64 ms). Operators: > >= < <=",
		 names);
	return -EINVAL;
}

int condition_parse(const char *text, struct condition *c, struct err *err)
{
	char metric[16], op[3], value[32];
	int end = 0;

	*c = (struct condition){ 0 };
	if (snprintf(c->text, sizeof(c->text), "%s", text) >= (int)sizeof(c->text))
		return bad(err, text, "too long");
	if (!strcmp(text, "slower")) {
		c->metric = SLOWER;
		return 0;
	}
	if (sscanf(text, " %263s %15s %2[<>=] %31s %n", c->glob, metric, op, value, &end) != 4 ||
	    text[end])
		return bad(err, text, "not GLOB FIGURE OPERATOR VALUE");
	if (glob_check(c->glob))
		return bad(err, text, "the glob is none");
	for (c->metric = 0; c->metric < ARRAY_SIZE(metrics); c->metric++)
		if (!strcmp(metrics[c->metric].name, metric))
			break;
	if (c->metric == ARRAY_SIZE(metrics))
		return bad(err, text, "no such figure");
	if (op[0] == '=' || (op[1] && op[1] != '='))
		return bad(err, text, "no such operator");
	c->above = op[0] == '>';
	c->equal = op[1] == '=';
	if (metrics[c->metric].time ? text_parse_ns(value, &c->value)
				    : text_parse_u64(value, UINT64_MAX, &c->value))
		return bad(err, text, metrics[c->metric].time ? "not a time" : "not a number");
	return 0;
}

bool condition_is_slower(const struct condition *c)
{
	return c->metric == SLOWER;
}

const struct snapshot_group *condition_next(const struct condition *c, const struct snapshot *s,
					    u32 *at, u64 *value)
{
	while (*at < s->group_count) {
		const struct snapshot_group *g = &s->groups[(*at)++];

		if (!group_matches(g->name, c->glob))
			continue;
		*value = metrics[c->metric].of(&g->stats);
		if ((c->above ? *value > c->value : *value < c->value) ||
		    (c->equal && *value == c->value))
			return g;
	}
	return NULL;
}

void condition_value(const struct condition *c, u64 value, char dst[TEXT_NS_MAX + 8])
{
	if (metrics[c->metric].time)
		text_ns(dst, value);
	else
		snprintf(dst, TEXT_NS_MAX + 8, "%" PRIu64, value);
}
