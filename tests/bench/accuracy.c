/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How far each method's CPU time of each group is from what the target measured
 * inside. One run, one exact recording: the default mode gets the same records
 * without the scheduler's.
 *
 *   accuracy NAME RECORDING TRUTH
 *
 * TRUTH is what tests/vm/burn printed. Prints a line of JSON; errors are the
 * largest of a group's, in millionths of the events' CPU time.
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

struct truth {
	char text[4096];
	double cpu_ns;
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

static double largest(double have, double want, const struct truth *t, double so_far)
{
	double error = (have > want ? have - want : want - have) / t->cpu_ns * 1e6;

	return error > so_far ? error : so_far;
}

static double group_cpu(const struct snapshot *s, const char *name)
{
	u32 i;

	for (i = 0; i < s->group_count; i++)
		if (!strcmp(s->groups[i].name, name))
			return (double)s->groups[i].stats.cpu_ns;
	return 0;
}

/* Everything in an event adds up to it, to the nanosecond. */
static bool sums(const struct snapshot *s)
{
	const struct ledger *l = &s->ledger;

	return l->self_ns + l->gc_ns + l->blocked_ns + l->native_ns + l->moved_ns + l->stale_ns +
		       l->lost_ns ==
	       l->event_wall_ns;
}

static void print(const char *name, const struct run *r, const struct truth *t)
{
	struct snapshot *exact = snapshot_take(r->exact), *plain = snapshot_take(r->plain);
	double e[4] = { 0 };
	struct other other;
	struct json j;
	struct out out;
	u32 i;

	if (!exact || !plain)
		fail("out of memory");
	records_result(r->records, &other);
	for (i = 0; i < OTHER_GROUPS; i++) {
		char group[96];
		double want;

		snprintf(group, sizeof(group), "addon:%s", other.name[i]);
		want = number(t->text, group);
		if (!*other.name[i] || want < 0)
			continue;
		e[0] = largest(group_cpu(exact, group), want, t, e[0]);
		e[1] = largest(group_cpu(plain, group), want, t, e[1]);
		e[2] = largest(other.original[i], want, t, e[2]);
		e[3] = largest(other.sampled[i], want, t, e[3]);
	}
	out_open_fd(&out, 1);
	json_open(&j, &out);
	json_object(&j);
	json_key_string(&j, "case", name);
	json_key_u64(&j, "events", other.events);
	json_key_u64(&j, "cpu_ns", (u64)t->cpu_ns);
	json_key_u64(&j, "exact_ppm", (u64)e[0]);
	json_key_u64(&j, "default_ppm", (u64)e[1]);
	json_key_u64(&j, "original_ppm", (u64)e[2]);
	json_key_u64(&j, "sampled_ppm", (u64)e[3]);
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
	struct truth truth = { .cpu_ns = 0 };
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
	s = replay_open(argv[2], &err);
	if (!s || truth.cpu_ns <= 0)
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
