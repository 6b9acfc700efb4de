/* SPDX-License-Identifier: BSD-2-Clause */
#include "model/clock.h"
#include "base/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static u64 scale_rate(u64 cycles, u64 rate)
{
	return (u64)(((unsigned __int128)cycles * rate) >> 32);
}

static u64 knot_ns(const struct clock_knot *k, u64 cycles)
{
	if (cycles >= k->cycles)
		return k->ns + scale_rate(cycles - k->cycles, k->rate);
	/* Before the first knot: the same rate backwards, never below 0. */
	return k->ns - min_u64(k->ns, scale_rate(k->cycles - cycles, k->rate));
}

static int clock_push(struct clock_map *c, struct clock_knot knot)
{
	if (c->len == CLOCK_KNOTS) {
		/* Drop the older half: rare, and lookups stay simple. */
		memmove(c->knots, c->knots + CLOCK_KNOTS / 2, CLOCK_KNOTS / 2 * sizeof(knot));
		c->len = CLOCK_KNOTS / 2;
	}
	if (array_room(c->knots, c->cap, c->len + 1))
		return -ENOMEM;
	c->knots[c->len++] = knot;
	return 0;
}

/* Far more cycles than the clock has time for. A counter whose rate varies may
 * be off by a few times, and not for long. */
static bool slept(u64 measured, u64 nominal, u64 dc)
{
	return measured < nominal / 8 && scale_rate(dc, nominal) > NSEC_PER_SEC;
}

int clock_add(struct clock_map *c, u64 cycles, u64 ns, u64 hz)
{
	u64 nominal = (u64)(((unsigned __int128)NSEC_PER_SEC << 32) / (hz ? hz : NSEC_PER_SEC));
	u64 dc, here, measured, rate;
	struct clock_knot knot;

	if (!c->len) {
		c->last_cycles = cycles;
		c->last_ns = ns;
		return clock_push(c, (struct clock_knot){ cycles, ns, nominal, 0 });
	}
	if (cycles <= c->last_cycles || ns < c->last_ns)
		return 0;
	dc = cycles - c->last_cycles;
	here = clock_ns(c, cycles);
	measured = (u64)(((unsigned __int128)(ns - c->last_ns) << 32) / dc);
	/* Two readings close together give a rate of noise. */
	if (ns - c->last_ns < 10 * NSEC_PER_MSEC)
		measured = c->knots[c->len - 1].rate;
	if (slept(measured, nominal, dc)) {
		measured = c->knots[c->len - 1].rate;
		c->ahead += here - min_u64(here, ns + c->ahead);
	}
	rate = measured;
	knot = (struct clock_knot){ cycles, here, 0, c->ahead };
	c->last_cycles = cycles;
	c->last_ns = ns;
	ns += c->ahead;
	if (ns > here + NSEC_PER_MSEC) {
		knot.ns = ns;
	} else if (ns >= here) {
		rate += (u64)(((unsigned __int128)(ns - here) << 32) / dc);
	} else {
		u64 less = (u64)min_u64((u64)(((unsigned __int128)(here - ns) << 32) / dc),
					measured / 2);
		rate -= less;
	}
	knot.rate = rate;
	return clock_push(c, knot);
}

u64 clock_ns(const struct clock_map *c, u64 cycles)
{
	u32 lo = 0, hi = c->len;

	if (!c->len)
		return cycles;
	if (cycles >= c->knots[c->len - 1].cycles)
		return knot_ns(&c->knots[c->len - 1], cycles);
	while (hi - lo > 1) {
		u32 mid = lo + (hi - lo) / 2;

		if (c->knots[mid].cycles <= cycles)
			lo = mid;
		else
			hi = mid;
	}
	/* A knot may lie above the line before it (a jump), never below. */
	return min_u64(knot_ns(&c->knots[lo], cycles),
		       lo + 1 < c->len ? c->knots[lo + 1].ns : UINT64_MAX);
}

static u64 knot_cycles(const struct clock_knot *k, u64 ns)
{
	u64 rate = k->rate ? k->rate : 1;

	if (ns >= k->ns)
		return k->cycles + (u64)(((unsigned __int128)(ns - k->ns) << 32) / rate);
	return k->cycles -
	       min_u64(k->cycles, (u64)(((unsigned __int128)(k->ns - ns) << 32) / rate));
}

u64 clock_cycles_of(const struct clock_map *c, u64 ns)
{
	u32 lo = 0, hi = c->len;
	u64 cycles;

	if (!c->len)
		return ns;
	while (hi - lo > 1) {
		u32 mid = lo + (hi - lo) / 2;

		if (c->knots[mid].ns <= ns + c->knots[mid].ahead)
			lo = mid;
		else
			hi = mid;
	}
	cycles = knot_cycles(&c->knots[lo], ns + c->knots[lo].ahead);
	/* Inside a jump: as late as the line before it goes. */
	return lo + 1 < c->len ? min_u64(cycles, c->knots[lo + 1].cycles) : cycles;
}

void clock_free(struct clock_map *c)
{
	free(c->knots);
	*c = (struct clock_map){ 0 };
}
