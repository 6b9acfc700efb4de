/* SPDX-License-Identifier: BSD-2-Clause */
/* Figures that several JSON documents have, under one name and in one order. */
#ifndef SINK_FIGURES_H
#define SINK_FIGURES_H

#include "base/json.h"
#include "model/stats.h"

/* The parts of the ledger's equation, "self_ns" to "lost_ns". */
void ledger_json(struct json *j, const struct ledger *l);
/* Why a thread had no CPU (enum vmspan_off): its key, and in words. */
struct off_reason {
	const char *key, *words;
};
extern const struct off_reason off_reasons[VMSPAN_OFF_REASONS];
enum {
	KEPT_WAYS = 4
};
/* How a thread was kept off the CPU (exact mode): in words, and for how long in these events. Together
 * their preempted_ns. */
struct kept_way {
	const char *words;
	u64 ns;
};
void kept_ways(struct kept_way to[KEPT_WAYS], const struct ledger *l);
/* The same: "preempted_ns" to "throttled_ns". */
void kept_json(struct json *j, const struct ledger *l);
/* Of times off the CPU by reason, those in which it was kept off. */
u64 kept_ns(const u64 off_ns[VMSPAN_OFF_REASONS]);
/* Where own time went while there was no CPU (exact mode): "preempted_ns" and
 * "off_ns", by reason. */
void off_json(struct json *j, u64 preempted_ns, const u64 off_ns[VMSPAN_OFF_REASONS]);
/* "losses": records by cause. */
void losses_json(struct json *j, const struct loss_stats *l);

#endif
