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

bool lost_unknown(const struct loss_stats *l, enum loss_cause cause)
{
	return l->batches[cause] && (!l->records[cause] || cause == LOSS_TRUNCATED);
}

bool lost_uncounted(const struct loss_stats *l)
{
	unsigned int i;

	for (i = 0; i < LOSS_CAUSES; i++)
		if (lost_unknown(l, i))
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

static const struct {
	const char *name, *text;
} causes[MISSING_CAUSES] = {
	[MISSING_NOTHING] = { "", "" },
	[MISSING_RECORDS] = { "records", "records of it are missing" },
	[MISSING_PART] = { "part", "a part of the trace was off in it" },
	[MISSING_SWITCHES] = { "switches", "the scheduler's record does not cover it" },
	[MISSING_SENSE] = { "sense", "its times make no sense" },
	[MISSING_CPU] = { "cpu", "a hypervisor took CPU time from it" },
};

const char *missing_name(enum missing missing)
{
	return causes[missing].name;
}

const char *missing_text(enum missing missing)
{
	return causes[missing].text;
}

bool unseen_time(const struct snapshot *s)
{
	return s->ledger.unseen_ns > s->ledger.event_wall_ns / 100;
}

bool snapshot_complete(const struct snapshot *s)
{
	return !s->events.incomplete && !lost_any(&s->losses) && !s->left_out && !unseen_time(s);
}

bool group_complete(const struct snapshot *s, const struct group_stats *g)
{
	return !g->incomplete && !lost_any(&s->losses) && !s->left_out && !unseen_time(s);
}
