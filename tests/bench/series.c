/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How the cost of a recorded pair depends on the shape of the work. Beside
 * each point stands the bare pair of the same shape, measured just before.
 */
#include "bench.h"

#include <stdlib.h>
#include <string.h>

struct point {
	unsigned int x, groups;
	const char *variant;
	struct shape shape;
};

static void measure(const struct bench *b, const struct point *p)
{
	const struct peer *record = peer_find("record");
	struct proc target = start_target(b, p->variant, p->groups), tracer;
	unsigned int rounds = b->quick ? 1 : 3, i;
	u64 bare[3], traced[3], lost = 0;
	struct spread sb, st;
	char file[256];

	path_in(b, file, "bench.vmspan");
	for (i = 0; i < rounds; i++) {
		bare[i] = windows(b, &target, NULL, "rdtsc", p->shape);
		tracer = peer_attach(b, record, &target);
		traced[i] = windows(b, &target, &tracer, "mark", p->shape);
		peer_detach(b, record, &target, &tracer);
		lost += losses_of(b, file);
	}
	stop(&target);
	sb = spread_of(bare, rounds);
	st = spread_of(traced, rounds);
	fprintf(b->text, "  %8u %9.2f %9.2f %8.2fx%s\n", p->x, (double)st.median / 1000,
		(double)sb.median / 1000, (double)st.median / (double)sb.median,
		lost ? "  (lossy: a loss is cheaper than a record)" : "");
	json_object(b->json);
	json_key_u64(b->json, "x", p->x);
	json_key_u64(b->json, "record_ps", st.median);
	json_key_u64(b->json, "rdtsc_ps", sb.median);
	json_key_u64(b->json, "lost", lost);
	json_end_object(b->json);
}

static void series(const struct bench *b, const char *key, const char *title,
		   const struct point *points, size_t n)
{
	size_t i;

	fprintf(stderr, "bench: series by %s\n", key);
	fprintf(b->text, "\n%s\n  %8s %9s %9s\n", title, key, "record ns", "rdtsc ns");
	json_object(b->json);
	json_key_string(b->json, "key", key);
	json_key_string(b->json, "title", title);
	json_key_array(b->json, "points");
	for (i = 0; i < n; i++)
		measure(b, &points[i]);
	json_end_array(b->json);
	json_end_object(b->json);
}

void bench_series(const struct bench *b)
{
	static const unsigned int depth[] = { 1, 2, 4, 8, 16, 32, 64, 128 };
	static const unsigned int groups[] = { 1, 10, 100, 1000, 10000, 100000 };
	static const unsigned int threads[] = { 1, 2, 4, 8 };
	static const unsigned int event[] = { 1, 10, 100, 1000, 10000, 100000 };
	static const unsigned int ring[] = { 4096, 8192, 16384, 65536, 262144 };
	static const char *const ring_variant[] = { "ring4096", "ring8192", "sdk", "ring65536",
						    "ring262144" };
	struct point p[8];
	unsigned int i;

	json_key_array(b->json, "series");
	for (i = 0; i < ARRAY_SIZE(depth); i++)
		p[i] = (struct point){ depth[i], 256, "sdk", { 100000, 1024, depth[i], 1 } };
	series(b, "depth", "by nesting depth", p, i);
	for (i = 0; i < ARRAY_SIZE(groups); i++)
		p[i] = (struct point){ groups[i], groups[i], "sdk", { 100000, 1000, 1, 1 } };
	series(b, "groups", "by number of groups, entered in turn", p, i);
	for (i = 0; i < ARRAY_SIZE(threads); i++)
		p[i] = (struct point){
			threads[i], 2, "sdk", { 100000 / threads[i], 1000, 1, threads[i] }
		};
	series(b, "threads", "by threads, CPU time of all", p, i);
	for (i = 0; i < ARRAY_SIZE(event); i++)
		p[i] = (struct point){
			event[i], 2, "sdk", { event[i] < 10 ? 20000 : 100000, event[i], 1, 1 }
		};
	series(b, "event", "by pairs an event, its own two marks shared out", p, i);
	for (i = 0; i < ARRAY_SIZE(ring); i++)
		p[i] = (struct point){ ring[i], 2, ring_variant[i], { 100000, 1000, 1, 1 } };
	series(b, "ring", "by bytes of a thread's ring", p, i);
	json_end_array(b->json);
}
