/* SPDX-License-Identifier: BSD-2-Clause */
#include "sdk/vmspan.h"

#include "tools/host/busy.h"

#include <stdlib.h>

#include "tools/host/process.h"
#include "tools/host/stop.h"
#include "tools/host/util.h"
#include "tools/host/worker.h"

enum {
	PAIRS_MAX = 500, /* of spans in a turn */
	TURNS_A_SECOND = 100, /* of a thread, when the rate allows */
};

/* A page's turn: it calls an add-on again and again. */
struct pattern {
	const struct compartment *page, *addon;
	u32 pairs;
};

static struct pattern make_pattern(const struct world *w)
{
	const struct options *o = w->options;
	u64 threads = (u64)o->processes * (o->workers + 1);
	u64 pairs = o->rate ? o->rate / threads / TURNS_A_SECOND / 2 : PAIRS_MAX;

	return (struct pattern){
		.page = w->pages[0].frames[0],
		.addon = w->vm.service_count ? w->vm.services[0] : w->pages[0].frames[1],
		.pairs = (u32)max_u64(1, min_u64(pairs, PAIRS_MAX)),
	};
}

/*
 * Bookkeeping in the loop would be measured with it: one turn is booked alone
 * and the rest by multiplication, since all turns are alike.
 */
static void book(struct ledger *l, const struct pattern *p, u64 turns)
{
	struct ledger one = { 0 };
	u32 i;

	ledger_event_begin(&one);
	for (i = 0; i < p->pairs; i++) {
		ledger_enter(&one, p->page);
		ledger_enter(&one, p->addon);
		ledger_leave(&one, p->addon);
		ledger_leave(&one, p->page);
	}
	ledger_event_end(&one);
	ledger_add(l, &one, turns);
	ledger_free(&one);
}

static void turn(const struct marks *m, const struct pattern *p)
{
	u32 page = p->page->id, addon = p->addon->id, i, sum = 0;

	vmspan_event_begin(m->labels[LABEL_BUSY]);
	for (i = 0; i < p->pairs; i++) {
		vmspan_enter(page);
		sum = sum * 31 + i;
		vmspan_enter(addon);
		sum ^= sum >> 7;
		vmspan_leave(addon);
		vmspan_leave(page);
	}
	__asm__ volatile("" ::"r"(sum));
	vmspan_event_end();
}

void busy_thread(struct world *w, struct ledger *l, u64 turns)
{
	const struct options *o = w->options;
	const struct pattern p = make_pattern(w);
	u64 threads = (u64)o->processes * (o->workers + 1), begin = now_ns(), done;
	/* Spans are owed at `rate`; a thread's share of it sets the time of its turns. */
	u64 turn_ns = o->rate ? 2ull * p.pairs * threads * NSEC_PER_SEC / o->rate : 0;

	for (done = 0; done < turns && !stop_requested(); done++) {
		turn(&w->marks, &p);
		if (turn_ns)
			stop_sleep_until(begin + (done + 1) * turn_ns);
	}
	book(l, &p, done);
}

void busy_run(struct world *w)
{
	const struct options *o = w->options;
	struct job *jobs = xcalloc(o->workers, sizeof(*jobs));
	u32 i;

	if (!o->turns)
		goto out;
	processes_fork_due(w, UINT64_MAX);
	for (i = 0; i < o->workers; i++) {
		jobs[i].busy_turns = o->turns;
		worker_post_busy(w, i, &jobs[i]);
	}
	busy_thread(w, &w->ledger, o->turns);
	workers_drain(w);
out:
	free(jobs);
}
