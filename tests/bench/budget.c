/* SPDX-License-Identifier: BSD-2-Clause */
/* What is wanted of the figures, and which of them are as wanted. */
#include "bench.h"

#include <string.h>

static const struct budget {
	const char *key; /* as given to bench_note() */
	const char *text, *unit;
	double limit;
	bool least; /* the figure must not be below it; else not above */
} budgets[] = {
	{ "off_over", "a mark without a tracer, over the bare loop", "ns", 1, false },
	{ "record_ratio", "a pair under record, of two rdtsc", "x", 1.8, false },
	{ "live", "CPU time of top, a span", "ns", 50, false },
	{ "recording", "CPU time of record, a span", "ns", 60, false },
	{ "lost", "records lost by record at 2 M spans/s", "", 0, false },
	{ "top_lost", "records lost by top at 2 M spans/s", "", 0, false },
	{ "replay", "replay into a report", "M spans/s", 10, true },
	{ "chrome", "export -f chrome", "MB/s", 150, true },
	{ "demo_bytes", "recording of the demo host, a span, before deflate", "bytes", 6, false },
	{ "demo_after", "recording of the demo host, a span, in the file", "bytes", 3, false },
	{ "attach", "start of record to the first event", "ms", 200, false },
	{ "idle_wakeups", "idle target: wake-ups of the tracer", "/s", 0, false },
	{ "idle_runs", "idle target: BPF programs run", "/s", 0, false },
	{ "idle_cpu", "idle target: CPU time of the tracer", "us/s", 0, false },
};

static double values[ARRAY_SIZE(budgets)];
static bool known[ARRAY_SIZE(budgets)];

void bench_note(const char *key, double value)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(budgets); i++)
		if (!strcmp(budgets[i].key, key)) {
			values[i] = value;
			known[i] = true;
		}
}

void bench_budgets(const struct bench *b)
{
	size_t i;

	fprintf(b->text, "\n%-46s %12s %12s\n", "budgets", "wanted", "is");
	json_key_array(b->json, "budgets");
	for (i = 0; i < ARRAY_SIZE(budgets); i++) {
		const struct budget *g = &budgets[i];
		bool met = g->least ? values[i] >= g->limit : values[i] <= g->limit;

		if (!known[i])
			continue;
		fprintf(b->text, "  %-44s %s %9.1f %12.2f %-9s %s\n", g->text,
			g->least ? ">=" : "<=", g->limit, values[i], g->unit,
			met ? "met" : "MISSED");
		json_object(b->json);
		json_key_string(b->json, "key", g->key);
		json_key_string(b->json, "text", g->text);
		json_key_string(b->json, "unit", g->unit);
		json_key(b->json, "limit");
		json_decimal(b->json, (u64)(g->limit * 1000 + 0.5), 3);
		json_key_bool(b->json, "least", g->least);
		json_key(b->json, "value");
		json_decimal(b->json, values[i] > 0 ? (u64)(values[i] * 1000 + 0.5) : 0, 3);
		json_key_bool(b->json, "met", met);
		json_end_object(b->json);
	}
	json_end_array(b->json);
}
