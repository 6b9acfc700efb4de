/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/complete.h"

u64 lost_records(const struct loss_stats *l)
{
	u64 sum = 0;
	unsigned int i;

	for (i = 0; i < LOSS_CAUSES; i++)
		sum += l->records[i];
	return sum;
}

u64 lost_counted(const struct loss_stats *l)
{
	return lost_records(l) - l->records[LOSS_MARKS_OFF] - l->records[LOSS_NAMES];
}

bool lost_uncounted(const struct loss_stats *l)
{
	unsigned int i;

	for (i = 0; i < LOSS_CAUSES; i++)
		if (l->batches[i] && !l->records[i])
			return true;
	return l->records[LOSS_MARKS_OFF] != 0;
}

bool lost_any(const struct loss_stats *l)
{
	unsigned int i;

	for (i = 0; i < LOSS_CAUSES; i++)
		if (l->records[i] || l->batches[i])
			return true;
	return false;
}

bool snapshot_complete(const struct snapshot *s)
{
	return !s->events.incomplete && !lost_any(&s->losses) && !s->left_out;
}

bool group_complete(const struct snapshot *s, const struct group_stats *g)
{
	return !g->incomplete && !lost_any(&s->losses) && !s->left_out;
}
