/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Events that had begun before the marks of their thread were turned on. Nothing in the target says
 * that a thread is in one: its end does, or the next one's begin says that it was in none. Until
 * then what it does may belong to it, or be outside of any event, where each outermost
 * stay counts as one of its own. So its records are held back for as long as is bearable.
 */
#include "source/live_mark_rings.h"

#include "base/task_stat.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Of a program without events nothing is seen for so long; events that go on for longer are mostly none of a loop's. */
#define HELD_NS (250 * NSEC_PER_MSEC)
/* Of a thread, and so many threads at one time. */
#define HELD_BYTES (32u << 10)
#define HELD_THREADS 1024

/* When a thread began, CLOCK_BOOTTIME, to a tick; 0: it is gone. */
static u64 thread_began_ns(u32 pid, u32 tid)
{
	char line[TASK_STAT_MAX];
	const char *stat = task_stat(pid, tid, line);
	int i;

	/* Field 22. */
	for (i = 3; stat && i < 22; i++) {
		stat = strchr(stat, ' ');
		stat = stat ? stat + 1 : NULL;
	}
	return stat ? strtoull(stat, NULL, 10) * (NSEC_PER_SEC / (u64)sysconf(_SC_CLK_TCK)) : 0;
}

/* Was it there when its marks were turned on? Of one that is gone its process is asked. */
static bool was_there(const struct process *p, u32 tid)
{
	u64 began = thread_began_ns(p->pid, tid);

	if (!began)
		began = thread_began_ns(p->pid, 0);
	return began && began <= p->on.boot_ns;
}

bool mark_ring_was_there(const struct process *p, u32 tid)
{
	/* What a program that was executed under the trace had begun before its marks were on is missing, and
	 * said to be. */
	return p->on.mono_ns && !p->exec_ns && was_there(p, tid);
}

static void no_more(struct live *l, struct ring_reader *t)
{
	l->rings_held -= t->held_ns != 0;
	t->held_ns = 0;
}

bool mark_ring_holds_back(struct live *l, struct ring_reader *t)
{
	u64 now;

	if (!t->m.unplaced || t->held_enough) {
		no_more(l, t);
		return false;
	}
	now = clock_mono_ns();
	if (!t->held_ns && l->rings_held < HELD_THREADS) {
		l->rings_held++;
		t->held_ns = now;
	}
	if (t->held_ns && now - t->held_ns < HELD_NS && t->m.out.len <= HELD_BYTES)
		return true;
	t->held_enough = true;
	no_more(l, t);
	return false;
}

/* `misplaced`: of what was made in some of them it has been told as of what is outside of any event. */
static int say(struct live *l, struct process *p, u64 end_ns, bool misplaced)
{
	char text[VMSPAN_NAME_MAX + 1], time[TEXT_NS_MAX];
	u32 n = p->begun_before + 1;

	p->begun_before = n;
	p->begun_before_ns = max_u64(p->begun_before_ns, end_ns - p->on.mono_ns);
	/* A target can say so as often as it likes. */
	if (n & (n - 1))
		return 0;
	text_ns(time, p->begun_before_ns);
	if (n == 1)
		snprintf(text, sizeof(text),
			 "an event had begun before its marks were turned on, and ended %s after: "
			 "%s",
			 time,
			 misplaced ? "some of what was done in it counts as outside of any event"
				   : "its time is in the figures of no event");
	else
		snprintf(text, sizeof(text),
			 "%u events or more had begun before its marks were turned on, and ended "
			 "up to %s after: %s",
			 n, time,
			 misplaced ? "some of what was done in them counts as outside of any event"
				   : "their time is in the figures of no event");
	return live_note(l, p, NOTE_BEGUN_BEFORE, text, "");
}

/* A thread has ended events of which no begin has come, the last one at `end_ns` (CLOCK_MONOTONIC). */
static int begun_before(struct live *l, struct process *p, u32 tid, u64 end_ns, u32 misplaced)
{
	if (!p->on.mono_ns || end_ns < p->on.mono_ns || !was_there(p, tid))
		return 0;
	if (p->exec_ns)
		misplaced = 0;
	if (misplaced && live_emit_loss(l, LOSS_MARKS_OFF, misplaced, 0))
		return l->failed;
	return l->paused ? 0 : say(l, p, end_ns, misplaced);
}

int mark_ring_begun_before(struct live *l, struct process *p, struct ring_reader *t, bool all)
{
	u32 misplaced = t->m.misplaced - t->misplaced_told;

	if (t->m.begun_before == t->begun_before_told)
		return 0;
	t->begun_before_told = t->m.begun_before;
	t->misplaced_told = t->m.misplaced;
	/* Where something is missing it may be their begins. */
	return all ? begun_before(l, p, t->tid, live_mono_ns(l, t->m.begun_before_end), misplaced)
		   : 0;
}

int live_unbegun(struct live *l, const struct wire_life *w)
{
	struct process *p = process_find(l, w->h.pid);

	if (!p)
		return 0;
	/* It had not begun one before, and its program is wrong: what was taken out for it is missing. */
	if (w->left_out && !was_there(p, w->h.tid))
		return live_emit_loss(l, LOSS_UNMATCHED, w->left_out, 0);
	return begun_before(l, p, w->h.tid, w->mono_ns, w->other != 0);
}
