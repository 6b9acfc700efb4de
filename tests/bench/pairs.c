/* SPDX-License-Identifier: BSD-2-Clause */
/* The main table: the same loop under everything, alternating. */
#include "bench.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PEERS_MAX 16

/* The first of peers[]. */
enum {
	PEER_NONE,
	PEER_RDTSC,
	PEER_OFF,
	PEER_RECORD
};

static const char *missing(const struct bench *b, const struct peer *p)
{
	char path[256];
	FILE *f;

	if (p->needs && !have(p->needs))
		return p->needs;
	snprintf(path, sizeof(path), "%s/target-%s", b->dir, p->variant);
	f = fopen(path, "r");
	if (!f)
		return "the libraries its target is built with";
	fclose(f);
	return NULL;
}

/* One alternation of one peer, on a target that lives on. */
static u64 measure(const struct bench *b, const struct peer *p, struct proc *target, u64 *lost)
{
	struct shape shape = { p->pairs, 1000, 1, 1 };
	struct proc tracer = peer_attach(b, p, target);
	char file[256];
	u64 ps = windows(b, target, &tracer, p->kind, shape);

	peer_detach(b, p, target, &tracer);
	if (p->args[0] && !strcmp(p->args[0], "record")) {
		path_in(b, file, "bench.vmspan");
		*lost += losses_of(b, file);
	}
	return ps;
}

static void print(const struct bench *b, const struct peer *p, const struct spread *s,
		  const struct spread *by, u64 lost)
{
	const struct spread *bare = &by[PEER_RDTSC];

	fprintf(b->text, "%-30s %9.2f  %8.2f ... %-8.2f %8.2fx", p->name, (double)s->median / 1000,
		(double)s->min / 1000, (double)s->max / 1000,
		(double)s->median / (double)bare->median);
	if (lost)
		fprintf(b->text, "  lost %" PRIu64, lost);
	fprintf(b->text, "\n");
	json_object(b->json);
	json_key_string(b->json, "key", p->key);
	json_key_string(b->json, "name", p->name);
	json_key_u64(b->json, "median_ps", s->median);
	json_key_u64(b->json, "min_ps", s->min);
	json_key_u64(b->json, "max_ps", s->max);
	json_key_u64(b->json, "lost", lost);
	json_end_object(b->json);
}

static void note(const struct spread *by)
{
	double none = (double)by[PEER_NONE].median, record = (double)by[PEER_RECORD].median;

	bench_note("off_over", ((double)by[PEER_OFF].median - none) / 1000);
	bench_note("record_ratio", record / (double)by[PEER_RDTSC].median);
}

void bench_pairs(const struct bench *b)
{
	static u64 value[PEERS_MAX][ROUNDS_MAX];
	struct spread spread[PEERS_MAX] = { 0 };
	u64 lost[PEERS_MAX] = { 0 };
	struct proc target[PEERS_MAX] = { 0 };
	const char *lack[PEERS_MAX];
	bool owns[PEERS_MAX] = { false };
	unsigned int i, k, n, round;

	for (n = 0; peers[n].key; n++) {
		lack[n] = missing(b, &peers[n]);
		for (k = 0; k < n && strcmp(peers[k].variant, peers[n].variant); k++)
			;
		if (k < n)
			target[n] = target[k];
		else if (!lack[n])
			target[n] = start_target(b, peers[n].variant, 2);
		owns[n] = k == n && !lack[n];
	}
	for (round = 0; round < b->rounds; round++) {
		fprintf(stderr, "\rbench: alternation %u of %u", round + 1, b->rounds);
		for (i = 0; i < n; i++)
			if (!lack[i])
				value[i][round] = measure(b, &peers[i], &target[i], &lost[i]);
	}
	fprintf(stderr, "\n");
	fprintf(b->text, "\n%-30s %9s  %21s %9s\n", "an enter+leave pair", "ns", "min ... max",
		"two rdtsc");
	json_key_array(b->json, "pairs");
	for (i = 0; i < n; i++)
		if (!lack[i])
			spread[i] = spread_of(value[i], b->rounds);
	for (i = 0; i < n; i++) {
		if (!lack[i]) {
			print(b, &peers[i], &spread[i], spread, lost[i]);
			continue;
		}
		fprintf(b->text, "%-30s skipped: no %s (tools/install-deps --bench)\n",
			peers[i].name, lack[i]);
	}
	json_end_array(b->json);
	note(spread);
	for (i = 0; i < n; i++)
		if (owns[i])
			stop(&target[i]);
}
