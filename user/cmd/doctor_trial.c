/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/doctor_trial.h"

#include "cmd/wake.h"
#include "source/live.h"

#include <stdio.h>
#include <string.h>

#define TRIAL_NS NSEC_PER_SEC
/* Of a stock VM: a look at a stack, and a record by a probe or a wait. */
#define LOOK_NS 5000
#define TRAP_NS 2000

struct trial {
	u64 records, batches, lost;
	u64 looks; /* of the records: samples */
	struct item_cost cost; /* of marks */
	u64 ns, cpu_ns; /* how long it lasted, what a stock VM used of it */
	bool vm, ended;
};

static int take(void *ctx, const struct item *it)
{
	const struct vmspan_head *h = it->type == ITEM_BATCH ? it->batch.data : NULL;
	struct trial *t = ctx;

	if (h && it->batch.records) {
		t->records += it->batch.records;
		t->looks += h->type == VMSPAN_SAMPLE;
		t->batches++;
	} else if (it->type == ITEM_LOSS) {
		t->lost += it->loss.records;
	} else if (it->type == ITEM_COST) {
		t->cost = it->cost;
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

static int run(struct source *s, struct trial *t, struct err *e)
{
	u64 start = now_ns(), end = start + TRIAL_NS, now = start;
	int r = 1, stopped;

	while (r > 0 && now < end) {
		r = source_poll(s, (int)((end - now) / NSEC_PER_MSEC) + 1, -1, take, t, e);
		now = now_ns();
	}
	t->ns = now - start;
	t->cpu_ns = live_vm_used_ns(s);
	t->ended = !r;
	stopped = r < 0 ? r : source_stop(s, take, t, e);
	return stopped < 0 ? stopped : r;
}

static void put_cost(struct check *c, const struct trial *t)
{
	double ns = t->vm ? (double)(t->looks * LOOK_NS + (t->records - t->looks) * TRAP_NS)
			  : (double)t->cost.cpu_ns;
	double percent = ns * 100 / (double)t->ns;

	c->result = t->lost ? CHECK_WARN : CHECK_OK;
	if (!t->records)
		snprintf(c->detail, sizeof(c->detail), "%s",
			 t->ended ? "attached; it ended without a mark"
				  : "attached; it made no marks, so tracing cost it nothing");
	else if (t->vm)
		snprintf(c->detail, sizeof(c->detail),
			 "%" PRIu64 " looks at stacks, %" PRIu64 " other records in %.2f s of its "
			 "CPU time, %" PRIu64 " lost; costs the target about %.*f %% of a core%s",
			 t->looks, t->records - t->looks, (double)t->cpu_ns / 1e9, t->lost,
			 percent < 1 ? 3 : 1, percent, t->ended ? "; it ended meanwhile" : "");
	else
		snprintf(c->detail, sizeof(c->detail),
			 "%" PRIu64 " records in %" PRIu64 " batches, %" PRIu64 " lost; "
			 "costs the target about %.*f %% of a core%s",
			 t->records, t->batches, t->lost, percent < 1 ? 3 : 1, percent,
			 t->ended ? "; it ended meanwhile" : "");
	if (t->lost)
		snprintf(c->advice, sizeof(c->advice), "Give it a larger ring: --buffer 64M.");
}

/* Of a stock VM: which of its probes have been hit. Silence says nothing of a
 * process that did nothing. */
static void put_hits(struct check *c, const struct trial *t, const struct live_hits *hits,
		     u32 count)
{
	bool worked = t->cpu_ns >= TRIAL_NS / 4;
	size_t n = 0;
	u32 i;

	*c = (struct check){ .id = "vm_hits", .what = "its probes", .status = EXIT_FAILED };
	for (i = 0; i < count; i++) {
		const struct live_hits *h = &hits[i];

		n = strlen(c->detail);
		if (h->hits)
			snprintf(c->detail + n, sizeof(c->detail) - n, "%s%s: live, hit %u time%s",
				 n ? "; " : "", h->probe, h->hits, h->hits == 1 ? "" : "s");
		else
			snprintf(c->detail + n, sizeof(c->detail) - n, "%s%s: %s", n ? "; " : "",
				 h->probe,
				 worked ? "silent, though the process worked"
					: "not hit, in too little CPU time to tell");
		if (h->hits || !worked)
			continue;
		c->result = CHECK_WARN;
		n = strlen(c->advice);
		snprintf(c->advice + n, sizeof(c->advice) - n, "%sPerhaps %s. %s", n ? " " : "",
			 h->why[0] ? h->why : "it is dead", h->advice);
	}
}

u32 doctor_trial(u32 pid, bool vm, struct check list[TRIAL_CHECKS])
{
	/* The processes of a service serve where its first one only waits for them. */
	struct live_config config = { .pids = &pid, .pid_count = 1, .no_children = !vm };
	struct live_hits hits[LIVE_HITS_MAX];
	struct check *c = &list[0];
	struct trial t = { 0 };
	struct err e = { 0 };
	struct source *s;
	u32 count;
	int r;

	*c = (struct check){ .id = "trial", .what = "a trial second", .status = EXIT_FAILED };
	s = live_open(&config, &e);
	if (!s) {
		failed(c, &e);
		return 1;
	}
	t.vm = vm;
	r = run(s, &t, &e);
	/* Of one that has ended nothing is known any more. */
	count = t.ended ? 0 : live_vm_hits(s, pid, hits);
	source_free(s);
	if (r < 0) {
		failed(c, &e);
		return 1;
	}
	put_cost(c, &t);
	if (!count)
		return 1;
	put_hits(&list[1], &t, hits, count);
	return 2;
}
