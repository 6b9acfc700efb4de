/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/live_cost.h"

#include <stdlib.h>

/* A mark takes as long as reading the counter and a fifth more; a trap, with its program, 1.2 us:
 * BENCHMARKS.md. */
#define MARK_READINGS 6 / 5
#define TRAP_NS 1200
/* A thread's clock is a system call: docs/DECISIONS.md. */
#define CLOCK_NS 300

#define ROUNDS 31
#define READINGS 100

static int by_size(const void *a, const void *b)
{
	const u64 *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Of one reading of the counter, ps. */
static u64 reading_ps(void)
{
	u64 rounds[ROUNDS], begin;
	u32 i, k;

	for (i = 0; i < ROUNDS; i++) {
		begin = clock_mono_ns();
		for (k = 0; k < READINGS; k++)
			clock_cycles();
		rounds[i] = (clock_mono_ns() - begin) * 1000 / READINGS;
	}
	qsort(rounds, ROUNDS, sizeof(rounds[0]), by_size);
	return rounds[ROUNDS / 2];
}

void live_cost_open(struct live *l)
{
	l->mark_ps = reading_ps() * MARK_READINGS;
}

u32 live_trap_ns(const struct source *s)
{
	return ((const struct live *)s)->direct ? TRAP_NS : 0;
}

int live_cost_emit(struct live *l)
{
	struct item it = { .type = ITEM_COST };

	l->cost.cpu_ns = l->cost.marks * l->mark_ps / 1000 + l->cost_clocks * CLOCK_NS +
			 l->cost.traps * TRAP_NS;
	it.cost = l->cost;
	if (l->cost_told && it.cost.cpu_ns == l->cost_ns)
		return 0;
	l->cost_told = true;
	l->cost_ns = it.cost.cpu_ns;
	return live_emit(l, &it);
}
