/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/host/loop.h"

#include <stdlib.h>

#include "tools/host/process.h"
#include "tools/host/stop.h"
#include "tools/host/util.h"
#include "tools/host/worker.h"
#include "tools/host/world.h"

enum {
	FRAME_US = 16667,
	IDLE_US = 200000,
	DEEP_EVERY = 10, /* turns */
};

static bool before(const struct task *a, const struct task *b)
{
	return a->due < b->due || (a->due == b->due && a->order < b->order);
}

static void queue_put(struct loop *l, struct task t)
{
	size_t i;

	if (l->count == l->cap) {
		l->cap = l->cap ? 2 * l->cap : 64;
		l->heap = xgrow(l->heap, l->cap, sizeof(*l->heap));
	}
	t.order = l->order++;
	for (i = l->count++; i && before(&t, &l->heap[(i - 1) / 2]); i = (i - 1) / 2)
		l->heap[i] = l->heap[(i - 1) / 2];
	l->heap[i] = t;
}

/* The queue is never empty: frames, inputs and idle times come again. */
static struct task queue_take(struct loop *l)
{
	struct task first = l->heap[0], last = l->heap[--l->count];
	size_t i = 0, child;

	while ((child = 2 * i + 1) < l->count) {
		if (child + 1 < l->count && before(&l->heap[child + 1], &l->heap[child]))
			child++;
		if (!before(&l->heap[child], &last))
			break;
		l->heap[i] = l->heap[child];
		i = child;
	}
	l->heap[i] = last;
	return first;
}

double loop_clock(const struct world *w)
{
	const struct loop *l = &w->loop;

	return l->real ? (double)(now_ns() - l->epoch) / 1e6 : (double)l->now / 1e3;
}

void loop_post(struct world *w, struct task t, double ms)
{
	struct loop *l = &w->loop;

	if (l->real)
		l->now = (now_ns() - l->epoch) / 1000;
	t.due = l->now + (ms > 0 && ms < 1e9 ? (u64)(ms * 1000) : 0);
	queue_put(l, t);
}

void loop_free(struct loop *l)
{
	size_t i;

	for (i = 0; i < l->count; i++)
		free(l->heap[i].job);
	free(l->heap);
}

/* The next task; time passes until it is due. */
static struct task next_task(struct world *w)
{
	struct loop *l = &w->loop;
	struct task t = queue_take(l);

	if (l->real)
		stop_sleep_until(l->epoch + t.due * 1000);
	l->now = max_u64(l->now, l->real ? (now_ns() - l->epoch) / 1000 : t.due);
	switch (t.kind) {
	case TASK_INPUT:
		loop_post(w, t, 20 + random_below(&w->vm.random, 100));
		break;
	case TASK_FRAME:
		loop_post(w, t, FRAME_US / 1e3);
		break;
	case TASK_IDLE:
		loop_post(w, t, IDLE_US / 1e3);
		break;
	default:
		break;
	}
	return t;
}

static struct page *any_page(struct world *w)
{
	return &w->pages[random_below(&w->vm.random, w->options->pages)];
}

static void run_input(struct world *w)
{
	bool key = random_below(&w->vm.random, 3) == 0;

	mark_input(&w->marks, &w->ledger, key ? LABEL_KEY : LABEL_CLICK);
	vm_call(any_page(w)->frames[0], key ? "key" : "click", (double)w->turn);
}

static void run_frame(struct world *w)
{
	u32 i;

	for (i = 0; i < w->options->pages; i++)
		vm_call(w->pages[i].frames[0], "paint", (double)w->turn);
	mark_frame(&w->marks, &w->ledger, LABEL_SHOWN);
}

static void run_deep(struct world *w)
{
	struct compartment *chain[3] = { w->pages[0].frames[0], w->pages[0].frames[1] };
	/* Now and then with a nested loop at the very bottom. */
	bool dialog = w->options->modal && random_below(&w->vm.random, 4) == 0;
	u32 count = 2;

	if (w->vm.service_count)
		chain[count++] = w->vm.services[w->turn % w->vm.service_count];
	vm_chain(chain, count, w->options->depth, dialog ? "bottom" : "touch");
}

static void run_task(struct world *w, const struct task *t, double answer)
{
	switch (t->kind) {
	case TASK_LOAD:
		vm_call(w->pages[t->number].frames[0], "load", t->number);
		break;
	case TASK_TIMER:
		vm_call_kept(t->to, t->number);
		break;
	case TASK_INPUT:
		run_input(w);
		break;
	case TASK_FRAME:
		run_frame(w);
		break;
	case TASK_IDLE:
		vm_collect(&w->vm, LABEL_GC_IDLE);
		break;
	case TASK_MESSAGE:
		vm_call(t->to, "message", answer);
		break;
	case TASK_DIALOG:
		vm_call(any_page(w)->frames[0], "confirm", w->dialogs);
		break;
	case TASK_CLOSE:
		mark_input(&w->marks, &w->ledger, LABEL_CLOSE);
		vm_call(any_page(w)->frames[0], "touch", w->dialogs);
		break;
	case TASK_DEEP:
		run_deep(w);
		break;
	}
}

/* This turn's share of the tenants, so that the last turn touches the last one. */
static void touch_tenants(struct world *w)
{
	const struct options *o = w->options;
	u64 turns = o->turns == UINT64_MAX ? 1000 : o->turns;
	u64 until = min_u64((w->turn % turns + 1) * o->groups / turns, o->groups);

	if (w->tenant_next == o->groups)
		w->tenant_next = 0;
	for (; w->tenant_next < until; w->tenant_next++)
		vm_call(w->tenants[w->tenant_next], "touch", w->tenant_next);
}

static void run_turn(struct world *w, struct task t)
{
	static const enum label labels[] = {
		[TASK_LOAD] = LABEL_LOAD,     [TASK_TIMER] = LABEL_TIMER,
		[TASK_INPUT] = LABEL_INPUT,   [TASK_FRAME] = LABEL_FRAME,
		[TASK_IDLE] = LABEL_IDLE,     [TASK_MESSAGE] = LABEL_MESSAGE,
		[TASK_DIALOG] = LABEL_DIALOG, [TASK_CLOSE] = LABEL_DIALOG,
		[TASK_DEEP] = LABEL_DEEP,
	};
	u32 depth = w->ledger.depth;
	/* Outside the event: to wait for a worker is idle time of this loop. */
	double answer = t.job ? worker_await(w, t.job) : 0;

	free(t.job);
	mark_event_begin(&w->marks, &w->ledger, labels[t.kind]);
	run_task(w, &t, answer);
	if (!w->dialogs)
		touch_tenants(w);
	if (w->ledger.depth != depth && !w->options->unbalanced)
		bug("%u compartments entered and not left", w->ledger.depth - depth);
	mark_event_end(&w->ledger);
}

void loop_dialog(struct world *w)
{
	u32 turns = 2 + random_below(&w->vm.random, 4);

	if (w->dialogs == DIALOGS_MAX)
		return;
	w->dialogs++;
	while (--turns) {
		if (random_below(&w->vm.random, 5) == 0)
			run_turn(w, (struct task){ .kind = TASK_DIALOG });
		else
			run_turn(w, next_task(w));
	}
	run_turn(w, (struct task){ .kind = TASK_CLOSE });
	w->dialogs--;
}

static void begin(struct world *w)
{
	struct loop *l = &w->loop;
	u32 i;

	l->real = w->options->mode == MODE_DEMO;
	l->epoch = now_ns();
	for (i = 0; i < w->options->pages; i++)
		loop_post(w, (struct task){ .kind = TASK_LOAD, .number = i }, 5.0 * i);
	loop_post(w, (struct task){ .kind = TASK_FRAME }, FRAME_US / 1e3);
	loop_post(w, (struct task){ .kind = TASK_INPUT }, 10);
	loop_post(w, (struct task){ .kind = TASK_IDLE }, IDLE_US / 1e3);
}

void loop_run(struct world *w)
{
	const struct options *o = w->options;

	begin(w);
	for (w->turn = 0; w->turn < o->turns && !stop_requested(); w->turn++) {
		processes_fork_due(w, w->turn);
		if (o->modal && w->turn % o->modal == o->modal - 1)
			run_turn(w, (struct task){ .kind = TASK_DIALOG });
		else if (o->depth && w->turn % DEEP_EVERY == DEEP_EVERY - 1)
			run_turn(w, (struct task){ .kind = TASK_DEEP });
		else
			run_turn(w, next_task(w));
	}
}
