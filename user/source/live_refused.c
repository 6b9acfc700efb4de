/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processes that were asked for and cannot be traced, or not all of them: what a look finds is kept until
 * there is no other look, and then said, once.
 */
#include "source/live_int.h"

#include "base/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Who it is, is said for many at once. */
static const char *without_pid(const struct process *p, const char *text)
{
	char prefix[32];
	size_t n = (size_t)snprintf(prefix, sizeof(prefix), "process %u: ", p->pid);

	return strncmp(text, prefix, n) ? text : text + n;
}

/* Where it is whole in what a note holds. */
static void append(char *to, const char *between, const char *more)
{
	size_t n = strlen(to);

	if (*more && n + strlen(between) + strlen(more) <= VMSPAN_NAME_MAX)
		sprintf(to + n, "%s%s", n ? between : "", more);
}

/* What is left out beside what is traced is no error. */
bool live_is_denied(const struct err *why)
{
	return why->status == EXIT_PERMISSION || err_status(why) == EXIT_PERMISSION;
}

void live_refused(struct process *p, const struct err *why)
{
	struct err *e = p->refused;

	if (!e) {
		e = p->refused = malloc(sizeof(*e));
		if (e)
			*e = *why;
		return;
	}
	append(e->what, "; ", without_pid(p, why->what));
	if (!strstr(e->hint, why->hint))
		append(e->hint, " ", why->hint);
}

/* Where a process has a file more than once, the kernel counts the tracers of its probes in one of these places: the
 * marks of the others stay off. */
void live_refuse_places(struct process *p, const struct plan_dso *d, bool direct)
{
	u64 at = d->probes.sites[direct ? ROLE_ENTER : ROLE_ARMED].semaphore;
	const char *base = strrchr(d->path, '/');
	struct err e = { 0 };
	u32 i, off = 0;
	u16 semaphore;

	if (!at || d->place_count < 2)
		return;
	for (i = 0; i < d->place_count; i++)
		off += !target_read(p->pid, at + d->places[i], &semaphore, sizeof(semaphore)) &&
		       !semaphore;
	if (!off)
		return;
	err_set(&e, -ENOTSUP,
		"it has loaded %s %u times (dlmopen), of which %u cannot be traced: the kernel "
		"turns "
		"its marks on in one place alone",
		base ? base + 1 : d->path, d->place_count, off);
	err_hint(&e, "Load a copy of the file for each of them.");
	live_refused(p, &e);
}

/* A target can have itself looked at as often as it likes. */
static int say_refused(struct live *l, struct process *p)
{
	const struct err *e = p->refused, *before = p->said;
	bool known = before && !strcmp(before->what, e->what) && !strcmp(before->hint, e->hint);

	process_not_candidate(l, p);
	p->denied_said = p->denied;
	if (!l->not_traced.code)
		l->not_traced = *e;
	free(p->said);
	p->said = p->refused;
	p->refused = NULL;
	return known ? 0 : live_note(l, p, NOTE_REFUSED, without_pid(p, e->what), e->hint);
}

static int say_left_out(struct live *l, struct process *p)
{
	char text[VMSPAN_NAME_MAX + 1];
	u32 n = p->left_out;

	p->left_out = 0;
	snprintf(text, sizeof(text),
		 "%u process%s that it has started before the trace %s not traced", n,
		 n == 1 ? "" : "es", n == 1 ? "is" : "are");
	return live_note(
		l, p, NOTE_LEFT_OUT, text,
		"Without --no-children they are, and those that it starts from then on; or name "
		"them by -p.");
}

void live_not_exact(struct live *l, struct process *p)
{
	if (!l->s.info.exact || p->not_exact_said)
		return;
	p->not_exact = p->not_exact_said = true;
	p->not_exact_end = ring_reserved(&l->ring);
	l->not_exact++;
	/* With marks too it is a program with marks. */
	if (!attachments_of_marks(p))
		tracer_leave_process(l->t, p->pid);
}

/* Nothing is left out for it: its events know themselves when they had no CPU. */
int live_say_not_exact(struct live *l, struct process *p)
{
	/* It may have executed what it is since it was last heard of: that is to be told of first. */
	if (!p->not_exact || (!l->detached && ring_drained(&l->ring) < p->not_exact_end))
		return 0;
	p->not_exact = false;
	/* Some kernels refuse the record when it is to begin. */
	if (!l->s.info.exact)
		return 0;
	return live_note(
		l, p, NOTE_NOT_EXACT,
		"--exact is for programs with vmspan.h: a stock VM is traced as without it", "");
}

static const char how_to_wait[] =
	"Start such programs by vmspan record -- COMMAND; or with vmspan's process id in their "
	"environment's VMSPAN_WAIT: they wait for vmspan then.";
static const char how_to_keep_waiting[] = "It did not wait for vmspan, since it was started "
					  "without VMSPAN_WAIT in its environment, as "
					  "by env -i, sudo or su: have that kept. Nor does what "
					  "runs in a PID namespace of its own, where it cannot "
					  "see whether vmspan lives.";

static const char how_to_have_libraries_wait[] =
	"Include vmspan.h in the program itself too: what that loads waits for vmspan then. (Not "
	"in "
	"a namespace of dlmopen, which has to be started by vmspan record -- COMMAND.)";

int live_say_late(struct live *l, struct process *p)
{
	char text[VMSPAN_NAME_MAX + 1], ns[TEXT_NS_MAX];

	if (p->passed_by == PASSED_BY) {
		p->passed_by = PASSED_BY_SAID;
		if (live_note(l, p, NOTE_PASSED_BY,
			      "it loaded a library with marks that was gone before it could be "
			      "attached to: what that marked is missing",
			      how_to_have_libraries_wait))
			return l->failed;
	}
	if (!p->late_ns)
		return 0;
	snprintf(text, sizeof(text),
		 "it had gone on for %s when its marks were turned on: what it "
		 "marked before is missing",
		 text_ns(ns, p->late_ns));
	p->late_ns = 0;
	return live_note(
		l, p, NOTE_LATE, text,
		p->waited ? "It had waited for a quarter of a second. The machine is busy, or "
			    "much began at once."
		: l->command.pid ? how_to_keep_waiting
				 : how_to_wait);
}

int live_say_refused(struct live *l, struct process *p)
{
	return (p->refused && say_refused(l, p)) || (p->left_out && say_left_out(l, p)) ? l->failed
											: 0;
}

/* ---- What a look has found ---- */

/* Nothing was found out: it is ending, or about to execute another program. */
bool live_is_inconclusive(const struct process *p, int r)
{
	return r == -ESRCH || (r == -EAGAIN && !p->begins) || (r && process_has_ended(p));
}

/*
 * Is that why something is missing that was asked for? Not where there is nothing to trace, or nothing yet; and who
 * traces all has asked for what may be looked into.
 */
static bool is_refusal(const struct live *l, const struct process *p, int r, const struct err *err)
{
	if (!p->found && err_status(err) == EXIT_PERMISSION)
		return !l->sweep.all;
	return r && r != -ENOENT && r != -EAGAIN;
}

/* Takes over what the look before had found. */
void live_looked(struct live *l, struct process *p, struct err *before, int r,
		 const struct err *err)
{
	if (live_is_inconclusive(p, r)) {
		free(p->refused);
		p->refused = before;
		return;
	}
	if (is_refusal(l, p, r, err))
		live_refused(p, err);
	/* What has been permitted since may be another program already, of whose exec no news has come yet. */
	if (before && !p->refused && live_is_denied(before)) {
		p->refused = before;
		return;
	}
	p->refused_twice = before && p->refused;
	free(before);
}

/* ---- The last word ---- */

/*
 * A program that has just begun may be without the libraries that make it what it is, and one that is ending without
 * what made it so. That something is not permitted is true of either.
 */
#define LOADED_NS (20 * NSEC_PER_MSEC)

bool live_is_doubtful(const struct process *p)
{
	return p->refused && p->exec_ns && !live_is_denied(p->refused) &&
	       (!p->refused_twice || p->looked_ns < p->exec_ns + LOADED_NS);
}

/* The first looks are over, after which some are still looked at, for what comes late. */
bool live_has_words(const struct process *p)
{
	bool over = !p->rescans || p->pace_ns;

	return p->left_out || (p->refused && over && !live_is_doubtful(p));
}

/*
 * Of all that it did nothing is known, and nobody has said why. (Where a command is traced and the tracer was so late
 * that nobody waited for it any more, that is counted. Another than the first thread loads a library, of a program
 * that has begun long before; or has given itself the name that it has, as those of pools do.)
 */
static bool is_unseen(const struct live *l, const struct process *p)
{
	/* One that nobody had heard of began with that. */
	u64 said_ns = max_u64(p->waits_ns, p->exec_ns);
	bool was_on = !l->marks_off || said_ns < l->marks_off_at.mono_ns;

	return p->unseen && !p->refused && !p->said && !p->armed_ns &&
	       !(l->command.pid && p->heard_late) && l->parts[TRACE_TURNS].on && was_on;
}

static void refuse_unseen(const struct live *l, struct process *p, enum unfinished_why why)
{
	static const char *const what[] = {
		[UNFINISHED_TRACE] = "the trace ended",
		[UNFINISHED_PROCESS] = "was over",
		[UNFINISHED_EXEC] = "executed another program",
	};
	struct err e = { 0 };

	/* Whoever gives itself the name that it has already seems to be one. */
	err_set_status(&e, -ESRCH, EXIT_NOTHING,
		       "process %u: it seems to have marks, and %s before it could be attached to",
		       p->pid, what[why]);
	if (why == UNFINISHED_TRACE)
		err_hint(&e, "It began as the trace ended: its part would have been short.");
	else if (l->command.pid)
		err_hint(&e, "%s", how_to_keep_waiting);
	else
		err_hint(&e, "%s", how_to_wait);
	live_refused(p, &e);
}

int live_nothing_traced(const struct live *l, struct err *err)
{
	if (l->not_traced.code) {
		*err = l->not_traced;
		return err->code;
	}
	err_set_status(err, -ENOENT, EXIT_NOTHING,
		       l->command.pid
			       ? "neither the command nor its children had probes to trace"
			       : "nothing was traced: no process has loaded probes to trace");
	err_hint(err,
		 l->method == METHOD_DIRECT
			 ? "Looked for conventional probes alone, as --method direct asks for. "
			   "Build the program with -DVMSPAN_PROBES, or leave the method out."
		 : l->passed_by
			 ? "There were conventional probes: --method direct takes a trap for each."
			 : "Looked for vmspan:armed and vmspan:flush in every program it ran. "
			   "Build the program or its VM with user/sdk/vmspan.h.");
	return -ENOENT;
}

/* Of a command that was never attached to, nor any of its children, no figure is complete. Said of the last one, or
 * of one of those that are there at the end. */
static bool is_in_vain(const struct live *l, const struct process *p, enum unfinished_why why)
{
	return l->command.pid && !l->attached_once && !l->not_traced.code && !p->refused &&
	       (why == UNFINISHED_TRACE || (why == UNFINISHED_PROCESS && l->processes.len == 1));
}

int process_last_words(struct live *l, struct process *p, enum unfinished_why why)
{
	struct err vain = { 0 };

	if (live_is_doubtful(p)) {
		free(p->refused);
		p->refused = NULL;
	}
	if (is_unseen(l, p))
		refuse_unseen(l, p, why);
	if (is_in_vain(l, p, why)) {
		live_nothing_traced(l, &vain);
		live_refused(p, &vain);
	}
	return live_say_not_exact(l, p) ?: live_say_late(l, p) ?: live_say_refused(l, p);
}
