/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/verdict.h"
#include "base/array.h"
#include "sink/sink.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Groups whose past is kept; the one seen longest ago makes room. */
#define KNOWN_MAX 4096

/* What is known of a group, over all its processes. */
struct known {
	char *name; /* owned */
	u32 occurrences; /* janks since the last notice */
	u64 last_ns; /* of the last jank */
	u64 told_ns; /* of the last notice; 0: none */
};

struct verdicts {
	struct verdict_config config;
	struct known *known;
	u32 len, cap;
	struct verdict *out;
	u32 out_cap;
};

#define OR(value, otherwise)                   \
	do {                                   \
		if (!(value))                  \
			(value) = (otherwise); \
	} while (0)

struct verdicts *verdicts_new(const struct verdict_config *config)
{
	struct verdicts *v = calloc(1, sizeof(*v));
	struct verdict_config *c;

	if (!v)
		return NULL;
	c = &v->config;
	*c = *config;
	OR(c->jank_ns, 256 * NSEC_PER_MSEC);
	OR(c->occurrences, 3);
	OR(c->spacing_ns, 6 * 3600 * NSEC_PER_SEC);
	OR(c->freeze_ns, 5 * NSEC_PER_SEC);
	OR(c->freeze_spacing_ns, 120 * NSEC_PER_SEC);
	OR(c->forget_ns, 300 * NSEC_PER_SEC);
	OR(c->idle_ns, 3 * NSEC_PER_SEC);
	OR(c->warm_up_ns, 60 * NSEC_PER_SEC);
	OR(c->crowd, 5);
	OR(c->pressure, 40);
	OR(c->reports, 1);
	return v;
}

void verdicts_free(struct verdicts *v)
{
	u32 i;

	if (!v)
		return;
	for (i = 0; i < v->len; i++)
		free(v->known[i].name);
	free(v->known);
	free(v->out);
	free(v);
}

static struct known *make_room(struct verdicts *v)
{
	struct known *oldest = NULL;
	u32 i;

	if (v->len == KNOWN_MAX) {
		for (i = 0; i < v->len; i++)
			if (!oldest || v->known[i].last_ns < oldest->last_ns)
				oldest = &v->known[i];
		free(oldest->name);
		return oldest;
	}
	if (array_room(v->known, v->cap, v->len + 1))
		return NULL;
	return &v->known[v->len++];
}

/* Few groups are ever janky: a list will do. */
static struct known *known_of(struct verdicts *v, const char *group)
{
	struct known *k;
	u32 i;

	for (i = 0; i < v->len; i++)
		if (!strcmp(v->known[i].name, group))
			return &v->known[i];
	k = make_room(v);
	if (!k)
		return NULL;
	*k = (struct known){ .name = strdup(group) };
	if (k->name)
		return k;
	/* An entry without a name must not stay. */
	*k = v->known[--v->len];
	return NULL;
}

/* ---- The rules ---- */

static bool is_janky(const struct verdicts *v, const struct alert *a)
{
	return a->cause == CAUSE_OWN && a->total_ns >= v->config.jank_ns;
}

static bool is_ignored(const struct verdicts *v, const char *group)
{
	const char *const *g = v->config.ignore;

	for (; g && *g; g++)
		if (group_matches(group, *g))
			return true;
	return false;
}

/* Groups, not alerts: one group may be janky in several processes. */
static u32 count_janky(const struct verdicts *v, const struct alert_batch *b)
{
	u32 i, k, n = 0;

	for (i = 0; i < b->count; i++) {
		if (!is_janky(v, b->alerts[i]))
			continue;
		for (k = 0; k < i; k++)
			if (is_janky(v, b->alerts[k]) &&
			    !strcmp(b->alerts[k]->group, b->alerts[i]->group))
				break;
		n += k == i;
	}
	return n;
}

/* Pressure where it is known; many at once is only a guess at it. */
static bool is_busy(const struct verdicts *v, const struct verdict_context *c, u32 janky)
{
	if (c->cpus && c->running > 2 * c->cpus)
		return true;
	if (c->pressure_known)
		return c->pressure >= v->config.pressure;
	return janky > v->config.crowd;
}

static bool is_idle(const struct verdicts *v, const struct verdict_context *c,
		    const struct alert *a)
{
	u64 input = c->input_ns ? c->input_ns(c->ctx, a->pid, a->event.end_ns) : 0;

	/* A server has no user whose absence could mean anything. */
	return input && a->event.begin_ns > input && a->event.begin_ns - input >= v->config.idle_ns;
}

static bool is_warming_up(const struct verdicts *v, const struct verdict_context *c,
			  const struct alert *a)
{
	u64 started = c->started_ns ? c->started_ns(c->ctx, a->pid) : 0;

	return started && a->event.end_ns < started + v->config.warm_up_ns;
}

/* Counts a jank, and says whether it and those before are enough. */
static enum verdict_reason weigh(const struct verdicts *v, struct known *k, const struct alert *a)
{
	const struct verdict_config *c = &v->config;
	u64 now = a->event.end_ns, since = now - min_u64(k->told_ns, now);

	if (k->occurrences && now > k->last_ns && now - k->last_ns > c->forget_ns)
		k->occurrences = 0;
	k->occurrences++;
	k->last_ns = max_u64(k->last_ns, now);
	if (a->total_ns >= c->freeze_ns)
		return k->told_ns && since <= c->freeze_spacing_ns ? VERDICT_TOLD : VERDICT_FREEZE;
	if (k->occurrences <= c->occurrences)
		return VERDICT_SELDOM;
	return k->told_ns && since <= c->spacing_ns ? VERDICT_TOLD : VERDICT_SLOW;
}

static int decide(struct verdicts *v, const struct alert *a, const struct verdict_context *c,
		  struct verdict *out)
{
	struct known *k;

	if (a->cause == CAUSE_INNER)
		out->reason = VERDICT_INNER;
	else if (is_ignored(v, a->group))
		out->reason = VERDICT_IGNORED;
	else if (a->cause == CAUSE_SYSTEM)
		out->reason = VERDICT_SYSTEM;
	else if (!is_janky(v, a))
		out->reason = VERDICT_SHORT;
	else if (is_busy(v, c, out->janky))
		out->reason = VERDICT_BUSY;
	else if (is_warming_up(v, c, a))
		out->reason = VERDICT_WARM_UP;
	else if (is_idle(v, c, a))
		out->reason = VERDICT_IDLE;
	else {
		k = known_of(v, a->group);
		if (!k)
			return -ENOMEM;
		out->since_told_ns =
			k->told_ns ? a->event.end_ns - min_u64(k->told_ns, a->event.end_ns) : 0;
		out->reason = weigh(v, k, a);
		out->occurrences = k->occurrences;
	}
	return 0;
}

/* Of those that could be told, all but the `reports` longest wait: they keep
 * their count. */
static int choose(struct verdicts *v, const struct alert_batch *b)
{
	u32 i, told;

	for (told = 0;; told++) {
		struct known *k;
		u32 best = b->count;

		for (i = 0; i < b->count; i++)
			if (verdict_told(&v->out[i]) && v->out[i].alert &&
			    (best == b->count ||
			     b->alerts[i]->total_ns > b->alerts[best]->total_ns))
				best = i;
		if (best == b->count || told == v->config.reports)
			break;
		k = known_of(v, b->alerts[best]->group);
		if (!k)
			return -ENOMEM;
		k->told_ns = b->alerts[best]->event.end_ns;
		k->occurrences = 0;
		v->out[best].alert = 0; /* chosen */
	}
	for (i = 0; i < b->count; i++) {
		if (v->out[i].alert && verdict_told(&v->out[i]))
			v->out[i].reason = VERDICT_NOT_WORST;
		v->out[i].alert = b->alerts[i]->id;
	}
	return 0;
}

int verdicts_batch(struct verdicts *v, const struct alert_batch *b, const struct verdict_context *c,
		   const struct verdict **out)
{
	u32 i, janky = count_janky(v, b);
	int rc;

	if (array_room(v->out, v->out_cap, b->count))
		return -ENOMEM;
	for (i = 0; i < b->count; i++) {
		v->out[i] = (struct verdict){ .alert = b->alerts[i]->id,
					      .pressure = c->pressure,
					      .janky = janky };
		rc = decide(v, b->alerts[i], c, &v->out[i]);
		if (rc)
			return rc;
	}
	*out = v->out;
	return choose(v, b);
}

static const struct {
	const char *name, *words;
} reasons[VERDICT_REASONS] = {
	[VERDICT_SLOW] = { "slow", "it is slow again and again" },
	[VERDICT_FREEZE] = { "freeze", "everything stood still" },
	[VERDICT_IDLE] = { "idle", "no user input for a while: nobody was waiting" },
	[VERDICT_BUSY] = { "busy", "the system was busy" },
	[VERDICT_WARM_UP] = { "warm_up", "the process has just begun" },
	[VERDICT_SHORT] = { "short", "not long enough to matter" },
	[VERDICT_IGNORED] = { "ignored", "it is on the ignore list" },
	[VERDICT_INNER] = { "inner", "another group is the cause" },
	[VERDICT_SYSTEM] = { "system", "the thread was kept off the CPU" },
	[VERDICT_SELDOM] = { "seldom", "not often enough yet" },
	[VERDICT_TOLD] = { "told", "it was told not long ago" },
	[VERDICT_NOT_WORST] = { "not_worst", "another group was worse" },
};

const char *verdict_name(enum verdict_reason r)
{
	return reasons[r].name;
}

const char *verdict_words(enum verdict_reason r)
{
	return reasons[r].words;
}
