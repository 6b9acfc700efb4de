/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/figures.h"
#include "model/sched.h"

void ledger_json(struct json *j, const struct ledger *l)
{
	json_key_u64(j, "self_ns", l->self_ns);
	json_key_u64(j, "gc_ns", l->gc_ns);
	json_key_u64(j, "blocked_ns", l->blocked_ns);
	json_key_u64(j, "native_ns", l->native_ns);
	json_key_u64(j, "moved_ns", l->moved_ns);
	json_key_u64(j, "stale_ns", l->stale_ns);
	json_key_u64(j, "lost_ns", l->lost_ns);
}

const struct off_reason off_reasons[VMSPAN_OFF_REASONS] = {
	[VMSPAN_OFF_PREEMPTED] = { "preempted", "preempted" },
	[VMSPAN_OFF_SLEEPING] = { "sleeping", "sleeping" },
	[VMSPAN_OFF_IO] = { "io", "waiting for a device" },
	[VMSPAN_OFF_UNINTERRUPTIBLE] = { "uninterruptible", "in a page fault or the kernel" },
	[VMSPAN_OFF_LOCK] = { "lock", "in a lock" },
	[VMSPAN_OFF_STOPPED] = { "stopped", "stopped" },
	[VMSPAN_OFF_FROZEN] = { "frozen", "frozen" },
	[VMSPAN_OFF_THROTTLED] = { "throttled", "throttled" },
};

void kept_ways(struct kept_way to[KEPT_WAYS], const struct ledger *l)
{
	u64 named = l->stopped_ns + l->frozen_ns + l->throttled_ns;

	to[0] = (struct kept_way){ "others had the CPU", l->preempted_ns - named };
	to[1] = (struct kept_way){ "it was stopped", l->stopped_ns };
	to[2] = (struct kept_way){ "it was frozen", l->frozen_ns };
	to[3] = (struct kept_way){ "it was throttled", l->throttled_ns };
}

u64 kept_ns(const u64 off_ns[VMSPAN_OFF_REASONS])
{
	u64 sum = 0;
	u32 i;

	for (i = 0; i < VMSPAN_OFF_REASONS; i++)
		sum += off_is_kept(i) ? off_ns[i] : 0;
	return sum;
}

void kept_json(struct json *j, const struct ledger *l)
{
	json_key_u64(j, "preempted_ns", l->preempted_ns);
	json_key_u64(j, "stopped_ns", l->stopped_ns);
	json_key_u64(j, "frozen_ns", l->frozen_ns);
	json_key_u64(j, "throttled_ns", l->throttled_ns);
}

void off_json(struct json *j, u64 preempted_ns, const u64 off_ns[VMSPAN_OFF_REASONS])
{
	u32 i;

	json_key_u64(j, "preempted_ns", preempted_ns);
	json_key_object(j, "off_ns");
	for (i = VMSPAN_OFF_PREEMPTED; i < VMSPAN_OFF_REASONS; i++)
		json_key_u64(j, off_reasons[i].key, off_ns[i]);
	json_end_object(j);
}

void losses_json(struct json *j, const struct loss_stats *l)
{
	unsigned int i;

	json_key_object(j, "losses");
	for (i = 0; i < LOSS_CAUSES; i++)
		json_key_u64(j, loss_name(i), l->records[i]);
	json_end_object(j);
}
