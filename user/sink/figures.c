/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/figures.h"

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

void off_json(struct json *j, u64 preempted_ns, const u64 off_ns[VMSPAN_OFF_REASONS])
{
	json_key_u64(j, "preempted_ns", preempted_ns);
	json_key_object(j, "off_ns");
	json_key_u64(j, "preempted", off_ns[VMSPAN_OFF_PREEMPTED]);
	json_key_u64(j, "sleeping", off_ns[VMSPAN_OFF_SLEEPING]);
	json_key_u64(j, "io", off_ns[VMSPAN_OFF_IO]);
	json_key_u64(j, "uninterruptible", off_ns[VMSPAN_OFF_UNINTERRUPTIBLE]);
	json_key_u64(j, "lock", off_ns[VMSPAN_OFF_LOCK]);
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
