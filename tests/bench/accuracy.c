/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How far each method's CPU time and wall time of each group are from what the
 * target measured inside. One run, one exact recording: the default mode gets
 * the same records without the scheduler's.
 *
 *   accuracy NAME RECORDING TRUTH
 *
 * TRUTH is what tests/vm/burn printed. Prints a line of JSON; errors are the
 * largest of a group's, in millionths of the events' time. A group's wall is
 * the time that passed in it; the exact mode shows the part of it in which
 * others had the CPU apart, so the two are added.
 */
#include "base/json.h"
#include "model/model.h"
#include "model/snapshot.h"
#include "original.h"
#include "source/replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct run {
	struct model *exact, *plain;
	struct records *records;
};

enum method {
	EXACT,
	PLAIN,
	ORIGINAL,
	SAMPLED,
	METHODS
};

static const char *const keys[METHODS] = { "exact_ppm", "default_ppm", "original_ppm",
					   "sampled_ppm" };

struct truth {
	char text[4096];
	const char *walls; /* in it, where walls begin */
	double cpu_ns, wall_ns;
};

static void fail(const char *what)
{
	fprintf(stderr, "accuracy: %s\n", what);
	exit(1);
}

static int feed(void *ctx, const struct item *it)
{
	bool sched = it->type == ITEM_BATCH && it->batch.registry == ITEM_SCHED_REGISTRY;
	struct run *r = ctx;
	int rc = model_item(r->exact, it);

	if (!rc && !sched)
		rc = model_item(r->plain, it);
	return rc ? rc : records_item(r->records, it);
}

static double number(const char *text, const char *key)
{
	char quoted[96];
	const char *at;

	snprintf(quoted, sizeof(quoted), "\"%s\":", key);
	at = strstr(text, quoted);
	return at ? strtod(at + strlen(quoted), NULL) : -1;
}

static void largest(double errors[METHODS], const double have[METHODS], double want, double whole)
{
	double error;
	int i;

	for (i = 0; i < METHODS; i++) {
		error = (have[i] > want ? have[i] - want : want - have[i]) / whole * 1e6;
		if (error > errors[i])
			errors[i] = error;
	}
}

static struct group_stats group_of(const struct snapshot *s, const char *name)
{
	static const struct group_stats none;
	u32 i;

	for (i = 0; i < s->group_count; i++)
		if (!strcmp(s->groups[i].name, name))
			return s->groups[i].stats;
	return none;
}

/* Everything in an event adds up to it, to the nanosecond. */
static bool sums(const struct snapshot *s)
{
	const struct ledger *l = &s->ledger;

	return l->self_ns + l->gc_ns + l->blocked_ns + l->native_ns + l->moved_ns + l->stale_ns +
		       l->lost_ns ==
	       l->event_wall_ns;
}

static void print_errors(struct json *j, const char *key, const double errors[METHODS])
{
	int i;

	json_key_object(j, key);
	for (i = 0; i < METHODS; i++)
		json_key_u64(j, keys[i], (u64)errors[i]);
	json_end_object(j);
}

static void print(const char *name, const struct run *r, const struct truth *t)
{
	struct snapshot *exact = snapshot_take(r->exact), *plain = snapshot_take(r->plain);
	double cpu[METHODS] = { 0 }, wall[METHODS] = { 0 };
	struct other o;
	struct json j;
	struct out out;
	u32 i;

	if (!exact || !plain)
		fail("out of memory");
	records_result(r->records, &o);
	for (i = 0; i < OTHER_GROUPS; i++) {
		struct group_stats e, p;
		char group[96];

		snprintf(group, sizeof(group), "addon:%s", o.name[i]);
		if (!*o.name[i] || number(t->text, group) < 0)
			continue;
		e = group_of(exact, group);
		p = group_of(plain, group);
		largest(cpu,
			(double[METHODS]){ (double)e.cpu_ns, (double)p.cpu_ns, o.original[i],
					   o.sampled[i] },
			number(t->text, group), t->cpu_ns);
		largest(wall,
			(double[METHODS]){ (double)(e.wall_ns + e.preempted_ns), (double)p.wall_ns,
					   o.original_wall[i], o.sampled_wall[i] },
			number(t->walls, group), t->wall_ns);
	}
	out_open_fd(&out, 1);
	json_open(&j, &out);
	json_object(&j);
	json_key_string(&j, "case", name);
	json_key_u64(&j, "events", o.events);
	json_key_u64(&j, "cpu_ns", (u64)t->cpu_ns);
	json_key_u64(&j, "wall_ns", (u64)t->wall_ns);
	json_key_u64(&j, "stolen_ns", exact->repairs.stolen_ns);
	print_errors(&j, "cpu", cpu);
	print_errors(&j, "wall", wall);
	json_key_bool(&j, "ledgers_sum", sums(exact) && sums(plain));
	json_end_object(&j);
	json_line(&j);
	if (out_close(&out))
		fail("cannot write");
	snapshot_free(exact);
	snapshot_free(plain);
}

int main(int argc, char **argv)
{
	struct truth truth = { .walls = NULL };
	struct model_config config = { .nested = NESTED_DROP };
	struct err err = { 0 };
	struct source *s;
	struct run r;
	FILE *f;
	int rc;

	if (argc != 4)
		fail("usage: accuracy NAME RECORDING TRUTH");
	f = fopen(argv[3], "r");
	if (!f || !fread(truth.text, 1, sizeof(truth.text) - 1, f))
		fail("cannot read the truth");
	fclose(f);
	truth.cpu_ns = number(truth.text, "cpu_ns");
	truth.wall_ns = number(truth.text, "wall_ns");
	truth.walls = strstr(truth.text, "\"groups_wall\"");
	s = replay_open(argv[2], &err);
	if (!s || truth.cpu_ns <= 0 || truth.wall_ns <= 0 || !truth.walls)
		fail("cannot read the recording or the truth");
	config.cycles_hz = s->info.cycles_hz;
	r.plain = model_new(&config);
	config.exact = s->info.exact;
	r.exact = model_new(&config);
	r.records = records_new(s->info.cycles_hz);
	if (!r.plain || !r.exact || !r.records)
		fail("out of memory");
	while ((rc = source_poll(s, -1, -1, feed, &r, &err)) > 0)
		;
	if (rc || model_finish(r.exact) || model_finish(r.plain))
		fail("the recording cannot be read");
	print(argv[1], &r, &truth);
	model_free(r.exact);
	model_free(r.plain);
	records_free(r.records);
	source_free(s);
	return 0;
}
