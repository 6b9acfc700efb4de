/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Alerts, live or from a recording. Both go the same way: items feed the
 * flight recorder and the model, the model feeds the alerts, and time is the
 * stream's. Live, a timer tells the alerts how far it is when nothing comes.
 */
#include "attach/clock.h"
#include "base/map.h"
#include "base/text.h"
#include "cmd/machine.h"
#include "cmd/session.h"
#include "cmd/watch_dump.h"
#include "cmd/watch_exec.h"
#include "cmd/watch_notes.h"
#include "cmd/watch_print.h"
#include "cmd/watch_rules.h"
#include "sink/words.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	TIMER_DUE,
	TIMER_END,
	TIMER_OPEN
};

/* Whoever hangs wakes nobody: so often it is looked whether somebody does. */
#define LOOK_EVERY_NS NSEC_PER_SEC

struct watch {
	struct session session;
	const struct options *options;
	bool live, done, interrupted;
	struct alerts *alerts; /* the trace's */
	struct verdicts *verdicts; /* or NULL */
	struct dump *dump; /* or NULL */
	struct exec *exec; /* or NULL */
	struct watch_print print;
	struct watch_notes notes;
	struct map born; /* pid -> CLOCK_MONOTONIC of its fork or exec */
	int exec_fd; /* that wakes us; -1: none */
	u64 shown;
	u64 left[ALERT_CAUSES], others; /* not shown: by cause, and --group's */
};

/* ------------------------------------------------------------ Batches -- */

static u64 started_ns(void *ctx, u32 pid)
{
	struct watch *w = ctx;
	const u64 *born = map_get(&w->born, pid);

	if (born)
		return *born;
	return w->live ? machine_started(pid) : 0;
}

static u64 input_ns(void *ctx, u32 pid, u64 ns)
{
	return alerts_input(((struct watch *)ctx)->alerts, pid, ns);
}

static bool is_of_group(const struct watch *w, const struct alert *a)
{
	return group_matches(a->group, w->options->view.glob);
}

static bool is_shown(const struct watch *w, const struct alert *a)
{
	return is_of_group(w, a) && (a->notable || w->options->watch.all_causes);
}

/* What is left out is counted. */
static bool is_wanted(struct watch *w, const struct alert *a)
{
	if (is_shown(w, a))
		return true;
	if (is_of_group(w, a))
		w->left[a->cause]++;
	else
		w->others++;
	return false;
}

static void show(struct watch *w, const struct alert *a, const struct verdict *v)
{
	struct alert_extra x = { .real_ns = a->event.end_ns +
					    (u64)trace_real_offset(w->session.trace) };
	struct out json;
	struct json j;

	/* One dump holds the whole of an event: at its end. */
	if (w->dump && !a->open)
		x.dump = dump_alert(w->dump, a->group, a->event.begin_ns, a->event.end_ns,
				    x.real_ns);
	out_open_memory(&json);
	json_open(&j, &json);
	alert_json(&j, a, &x);
	json_line(&j);
	watch_print_alert(&w->print, a, &x, v, &json);
	if (w->exec && !json.error)
		exec_run(w->exec, json.buf.data, json.buf.len);
	/* A recording does not wait for anybody: runs end one by one. */
	if (w->exec && !w->live && exec_wait(w->exec, &w->session.wake))
		w->interrupted = w->done = true;
	out_close(&json);
}

static int on_batch(void *ctx, const struct alert_batch *b)
{
	struct watch *w = ctx;
	struct verdict_context c = { .started_ns = started_ns, .input_ns = input_ns, .ctx = w };
	const struct verdict *v = NULL;
	u64 count = w->options->pace.count;
	u32 i;
	int rc;

	if (w->done)
		return 0;
	if (w->live && w->verdicts)
		machine_read(&c);
	rc = w->verdicts ? verdicts_batch(w->verdicts, b, &c, &v) : 0;
	for (i = 0; !rc && i < b->count && !w->done; i++) {
		if (!is_wanted(w, b->alerts[i]))
			continue;
		show(w, b->alerts[i], v ? &v[i] : NULL);
		w->shown++;
		w->done = count && w->shown >= count;
	}
	/* An output that is gone ends the watch; finish_output() has the words. */
	if (watch_print_flush(&w->print))
		w->done = true;
	return rc;
}

/* An event that goes on. When it has ended there is an alert, which is counted. */
static int on_open(void *ctx, const struct alert *a)
{
	struct watch *w = ctx;

	/* Who is shown all has seen it. */
	if (w->done || !is_shown(w, a) || (a->again && w->options->watch.all_causes))
		return 0;
	show(w, a, NULL);
	if (watch_print_flush(&w->print))
		w->done = true;
	return 0;
}

static const struct alert_observer observer = { .batch = on_batch, .open = on_open };

/* -------------------------------------------------------------- Items -- */

static int note_process(struct watch *w, const struct item_process *p)
{
	switch (p->change) {
	case PROCESS_FORK:
	case PROCESS_EXEC:
		return map_put(&w->born, p->pid, p->mono_ns);
	case PROCESS_EXIT:
		map_del(&w->born, p->pid);
		return 0;
	default:
		return 0;
	}
}

static int tap_item(void *ctx, const struct item *it)
{
	struct watch *w = ctx;
	int rc = it->type == ITEM_PROCESS ? note_process(w, &it->process) : 0;

	watch_notes_item(&w->notes, it);
	return rc || !w->dump ? rc : dump_item(w->dump, it);
}

static void tap_advanced(void *ctx, u64 ns)
{
	struct watch *w = ctx;

	if (w->dump)
		dump_advance(w->dump, ns);
}

/* ---------------------------------------------------------------- Live -- */

/* Sleeps until the first of what is due; without anything there is no timer for that. */
static int arm(struct watch *w, struct err *e)
{
	u64 told = trace_due(w->session.trace), due = told ? told : UINT64_MAX, now = now_ns();
	int fd = w->exec ? exec_fd(w->exec) : -1;

	if (w->dump && dump_due(w->dump))
		due = min_u64(due, dump_due(w->dump) + ALERT_LATENCY_NS);
	if (w->exec && exec_due(w->exec))
		due = min_u64(due, exec_due(w->exec));
	if (due == UINT64_MAX)
		wake_arm(&w->session.wake, TIMER_DUE, 0, 0);
	else
		wake_arm(&w->session.wake, TIMER_DUE, due > now ? due - now : 1, 0);
	if (fd == w->exec_fd)
		return 0;
	w->exec_fd = fd;
	return fd < 0 ? 0 : wake_on_fd(&w->session.wake, fd, e);
}

static int tick(struct watch *w, unsigned int bits)
{
	int rc = 0;

	if (w->exec && bits & (WAKE_FD | WAKE_TIMER << TIMER_DUE)) {
		exec_poll(w->exec);
		/* A closed descriptor has left the set, a new one may have its
		 * number. */
		w->exec_fd = -1;
	}
	if (bits & WAKE_TIMER << TIMER_OPEN) {
		rc = trace_tell_open(w->session.trace);
		if (!rc && !w->options->output.quiet)
			rc = watch_notes_news(&w->notes, w->session.model);
	}
	if (!rc && bits & WAKE_TIMER << TIMER_DUE)
		rc = trace_advance(w->session.trace);
	return rc;
}

static int run_live(struct watch *w, struct err *e)
{
	struct session *s = &w->session;
	int rc = 1, more;

	if (w->options->pace.duration_ns)
		wake_arm(&s->wake, TIMER_END, w->options->pace.duration_ns, 0);
	wake_arm(&s->wake, TIMER_OPEN, LOOK_EVERY_NS, LOOK_EVERY_NS);
	while (rc > 0 && !w->done) {
		unsigned int bits;

		rc = trace_poll(s->trace, -1, s->wake.epoll, e);
		bits = wake_take(&s->wake);
		if (rc > 0 && bits & (WAKE_STOP | WAKE_TIMER << TIMER_END))
			break;
		more = rc < 0 ? rc : tick(w, bits);
		if (!more)
			more = arm(w, e);
		rc = more < 0 ? more : rc;
	}
	/* What came in time is told, also to -n's limit. */
	return rc < 0 ? rc : trace_stop(s->trace, e);
}

static int run_replay(struct watch *w, struct err *e)
{
	struct session *s = &w->session;
	int rc;

	do {
		rc = trace_poll(s->trace, -1, s->wake.epoll, e);
		if (rc > 0 && wake_take(&s->wake) & WAKE_STOP)
			w->interrupted = w->done = true;
	} while (rc > 0 && !w->done);
	if (rc < 0 || w->interrupted)
		return rc < 0 ? rc : err_set(e, -EINTR, "interrupted");
	rc = trace_stop(s->trace, e);
	if (!w->done && trace_head(s->trace)->note)
		fprintf(stderr, "vmspan: note: %s: %s\n", s->head.file, trace_head(s->trace)->note);
	return rc;
}

/* ------------------------------------------------------------ Begin, end -- */

static int open_parts(struct watch *w, struct err *e)
{
	const struct options *o = w->options;
	struct verdict_config vc = { 0 };

	if (o->watch.verdicts) {
		w->verdicts = verdicts_new(&vc);
		if (!w->verdicts)
			return err_set(e, -ENOMEM, "out of memory");
	}
	if (o->watch.exec) {
		w->exec = exec_open(o->watch.exec, o->watch.exec_limit_ns, e);
		if (!w->exec)
			return e->code;
	}
	return 0;
}

static int open_dump(struct watch *w, struct err *e)
{
	const struct options *o = w->options;
	struct dump_config c = {
		.dir = o->watch.dump,
		.ring_bytes = o->output.ring_bytes,
		.before_ns = o->watch.before_ns,
		.after_ns = o->watch.after_ns,
		.every_ns = o->watch.dump_every_ns,
		.max = o->watch.dump_max,
		.clock = w->live ? clock_read : NULL,
	};

	if (!c.dir)
		return 0;
	w->dump = dump_open(&c, &w->session.source->info, e);
	return w->dump ? 0 : e->code;
}

static int open_source(struct watch *w, struct options *o, struct err *e)
{
	const struct alert_config alerts = { .threshold_ns = o->watch.threshold_ns,
					     .rules = o->watch.rules,
					     .rule_count = o->watch.rule_count };
	const struct trace_tap tap = { .item = tap_item, .advanced = tap_advanced, .ctx = w };
	int rc;
	u64 id;

	w->live = o->target.count || options_sweep(o);
	w->session.alerts = &alerts;
	rc = w->live ? session_live(&w->session, o, false, e)
		     : session_replay(&w->session, o, o->rest[0], e);
	w->session.alerts = NULL;
	if (rc)
		return rc;
	w->alerts = trace_alerts(w->session.trace);
	trace_tap(w->session.trace, &tap);
	return listen_add(alerts_listeners(w->alerts), NULL, &observer, w, &id)
		       ? err_set(e, -ENOMEM, "out of memory")
		       : 0;
}

static void announce(const struct watch *w)
{
	char time[TEXT_NS_MAX], until[SESSION_UNTIL_MAX];
	u32 n;

	if (!w->live || w->options->output.quiet)
		return;
	n = live_attached(w->session.source);
	fprintf(stderr, "watching %u process%s%s for turns of %s or more, until %s\n", n,
		n == 1 ? "" : "es", options_sweep(w->options) ? " and those to come" : "",
		text_ns(time, alerts_lowest(w->alerts)), session_until(w->options, until));
}

/* On stderr, at the end. Returns EXIT_FAILED when something asked for was not
 * done. */
static int summarize(struct watch *w)
{
	struct watch_totals t = { .live = w->live,
				  .exact = w->session.source->info.exact,
				  .shown = w->shown,
				  .inner = w->left[CAUSE_INNER],
				  .system = w->left[CAUSE_SYSTEM],
				  .others = w->others };
	u64 wakeups;

	alerts_counts(w->alerts, &t.alerts);
	if (w->dump)
		dump_counts(w->dump, &t.dumps);
	if (w->exec)
		exec_counts(w->exec, &t.runs);
	t.snapshot = snapshot_take(w->session.model);
	if (t.snapshot && !w->options->output.quiet)
		watch_notes_say(&w->notes, t.snapshot);
	t.woken = w->live && !live_wakeups(w->session.source, &wakeups) ? &wakeups : NULL;
	watch_print_totals(&t, w->options->output.quiet);
	snapshot_free(t.snapshot);
	return t.dumps.failed || t.runs.failed || t.runs.dropped ? EXIT_FAILED : EXIT_DONE;
}

/* Each may take up to its limit, and who ends the watch may not want to wait for that. */
static void wait_for_runs(struct watch *w)
{
	u32 n = exec_left(w->exec);

	if (n && !w->options->output.quiet)
		fprintf(stderr, "waiting for %u run%s of %s; ^C leaves %s out\n", n, plural(n),
			w->options->watch.exec, n == 1 ? "it" : "them");
	if (exec_wait(w->exec, &w->session.wake))
		fprintf(stderr, "vmspan: not waited for the runs of %s\n", w->options->watch.exec);
}

static int run(struct watch *w, struct options *o, struct err *e)
{
	int rc = open_parts(w, e);

	if (!rc)
		rc = open_source(w, o, e);
	if (!rc)
		rc = open_dump(w, e);
	if (rc)
		return EXIT_FAILED;
	announce(w);
	rc = w->live ? run_live(w, e) : run_replay(w, e);
	if (!rc)
		rc = alerts_flush(w->alerts);
	/* Whatever has happened: what was captured is kept and handed over. */
	if (w->dump)
		dump_flush(w->dump);
	if (w->exec)
		wait_for_runs(w);
	if (rc && !e->code)
		err_set(e, rc, "the watch has ended early: %s", strerror(-rc));
	return summarize(w);
}

static int check(const struct options *o, const struct command *c, struct err *e)
{
	bool live = o->target.count || options_sweep(o);

	if (o->rest_count > 1 || (o->rest_count && live))
		return usage_error(e, c, "unexpected argument '%s'", o->rest[live ? 0 : 1]);
	if (!o->rest_count && !live)
		return usage_error(e, c, "nothing to watch: -p PID or a recording");
	if (o->view.glob && glob_check(o->view.glob)) {
		usage_error(e, c, "--group: '%s' is not a glob", o->view.glob);
		return -EINVAL;
	}
	if (!o->watch.dump && (o->watch.before_ns || o->watch.after_ns || o->watch.dump_every_ns ||
			       o->watch.dump_max || o->output.ring_bytes))
		return usage_error(e, c,
				   "--before, --after, --dump-every, --dump-max and --ring are for "
				   "--dump DIR");
	if (!o->watch.exec && o->watch.exec_limit_ns)
		return usage_error(e, c, "--exec-limit is for --exec CMD");
	return 0;
}

int cmd_watch(int argc, char **argv)
{
	const struct command *c = command_find("watch");
	struct watch w = { .exec_fd = -1 };
	struct options o;
	struct err e = { 0 };
	int status = options_parse(c, argc, argv, &o);

	if (status != OPTIONS_RUN)
		return status;
	w.options = &o;
	watch_print_open(&w.print, &o);
	status = EXIT_DONE;
	if (!check(&o, c, &e) && (!o.watch.rules_file || !rules_read(o.watch.rules_file, &o, &e)))
		status = run(&w, &o, &e);
	if (e.code)
		status = say_error(&e);
	session_close(&w.session);
	verdicts_free(w.verdicts);
	dump_free(w.dump);
	exec_free(w.exec);
	map_free(&w.born);
	watch_notes_free(&w.notes);
	rules_free(&o);
	return watch_print_close(&w.print, status);
}
