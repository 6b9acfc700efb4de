/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/doctor_trial.h"

#include "cmd/wake.h"
#include "source/live.h"

#include <stdio.h>

#define TRIAL_NS NSEC_PER_SEC
/*
 * What a record and a batch take of the target's CPU time, ns: an enter and a
 * leave with their share of the copy were measured at 67 to 98, the trap of a
 * batch at 500 to 700. An order of magnitude, rounded up.
 */
#define RECORD_NS 100
#define BATCH_NS 1000

struct trial {
	u64 records, batches, lost;
};

static int take(void *ctx, const struct item *it)
{
	struct trial *t = ctx;

	if (it->type == ITEM_BATCH) {
		t->records += it->batch.records;
		t->batches++;
	} else if (it->type == ITEM_LOSS) {
		t->lost += it->loss.records;
	}
	return 0;
}

static void failed(struct check *c, const struct err *e)
{
	c->result = CHECK_FAIL;
	c->status = err_status(e);
	snprintf(c->detail, sizeof(c->detail), "%.190s", e->what);
	snprintf(c->advice, sizeof(c->advice), "%.390s", e->hint);
}

/* *ns: how long it lasted. 1 when the process has outlived it. */
static int run(struct source *s, struct trial *t, u64 *ns, struct err *e)
{
	u64 start = now_ns(), end = start + TRIAL_NS, now = start;
	int r = 1, stopped;

	while (r > 0 && now < end) {
		r = source_poll(s, (int)((end - now) / NSEC_PER_MSEC) + 1, -1, take, t, e);
		now = now_ns();
	}
	*ns = now - start;
	stopped = r < 0 ? r : source_stop(s, take, t, e);
	return stopped < 0 ? stopped : r;
}

void doctor_trial(u32 pid, struct check *c)
{
	struct live_config config = { .pids = &pid, .pid_count = 1, .no_children = true };
	struct trial t = { 0 };
	struct err e = { 0 };
	struct source *s;
	double percent;
	u64 ns;
	int r;

	*c = (struct check){ .id = "trial", .what = "a trial second", .status = EXIT_FAILED };
	s = live_open(&config, &e);
	if (!s) {
		failed(c, &e);
		return;
	}
	r = run(s, &t, &ns, &e);
	source_free(s);
	if (r < 0) {
		failed(c, &e);
		return;
	}
	percent = (double)(t.records * RECORD_NS + t.batches * BATCH_NS) * 100 / (double)ns;
	c->result = t.lost ? CHECK_WARN : CHECK_OK;
	if (!t.records)
		snprintf(c->detail, sizeof(c->detail), "%s",
			 r ? "attached; it made no marks, so tracing cost it nothing"
			   : "attached; it ended without a mark");
	else
		snprintf(c->detail, sizeof(c->detail),
			 "%" PRIu64 " records in %" PRIu64 " batches, %" PRIu64 " lost; "
			 "costs the target about %.*f %% of a core%s",
			 t.records, t.batches, t.lost, percent < 1 ? 3 : 1, percent,
			 r ? "" : "; it ended meanwhile");
	if (t.lost)
		snprintf(c->advice, sizeof(c->advice), "Give it a larger ring: --buffer 64M.");
}
