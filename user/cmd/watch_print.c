/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/watch_print.h"
#include "base/text.h"
#include "sink/complete.h"
#include "sink/summary.h"
#include "sink/words.h"

#include <time.h>
#include <unistd.h>

#define TREE_LINES 8

void watch_print_open(struct watch_print *p, const struct options *o)
{
	out_open_fd(&p->out, STDOUT_FILENO);
	p->json = o->output.json;
}

int watch_print_flush(struct watch_print *p)
{
	return out_flush(&p->out);
}

int watch_print_close(struct watch_print *p, int status)
{
	return finish_output(&p->out, "standard output", status);
}

static void put_time(struct out *o, u64 real_ns)
{
	time_t seconds = (time_t)(real_ns / NSEC_PER_SEC);
	char text[32];
	struct tm tm;

	localtime_r(&seconds, &tm);
	strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm);
	out_printf(o, "%s.%03u ", text, (unsigned int)(real_ns / NSEC_PER_MSEC % 1000));
}

static void verdict_text(struct out *o, const struct alert *a, const struct verdict *v)
{
	char group[128];

	name_text(group, sizeof(group), a->group);
	if (verdict_told(v))
		out_printf(o, "  verdict: %s is slow: %s\n", group, verdict_words(v->reason));
	else
		out_printf(o, "  verdict: no notice: %s", verdict_words(v->reason));
	if (v->reason == VERDICT_SELDOM || v->reason == VERDICT_TOLD)
		out_printf(o, " (%u time%s)", v->occurrences, plural(v->occurrences));
	if (!verdict_told(v))
		out_puts(o, "\n");
}

static void alert_text(struct out *o, const struct alert *a, const struct alert_extra *x,
		       const struct verdict *v)
{
	char sentence[512], reasons[ALERT_REASONS_MAX], path[512];

	put_time(o, x->real_ns);
	out_puts(o, alert_sentence(sentence, sizeof(sentence), a));
	if (a->occurrences > 1)
		out_printf(o, " (the longest of %u)", a->occurrences);
	out_printf(o, " [%s]\n", alert_reasons(reasons, a->reasons));
	alert_tree_text(o, a, TREE_LINES);
	if (v)
		verdict_text(o, a, v);
	if (x->dump)
		out_printf(o, "  recording: %s\n", name_text(path, sizeof(path), x->dump));
}

static void verdict_json(struct out *o, const struct alert *a, const struct verdict *v)
{
	struct json j;

	json_open(&j, o);
	json_object(&j);
	json_key_u64(&j, "schema", 1);
	json_key_string(&j, "type", "verdict");
	json_key_u64(&j, "alert", v->alert);
	json_key_string(&j, "group", a->group);
	json_key_bool(&j, "slow", verdict_told(v));
	json_key_string(&j, "reason", verdict_name(v->reason));
	json_key_string(&j, "words", verdict_words(v->reason));
	json_key_u64(&j, "occurrences", v->occurrences);
	json_key_u64(&j, "since_told_ns", v->since_told_ns);
	json_key_u64(&j, "pressure", v->pressure);
	json_key_u64(&j, "janky", v->janky);
	json_end_object(&j);
	json_line(&j);
}

void watch_print_alert(struct watch_print *p, const struct alert *a, const struct alert_extra *x,
		       const struct verdict *v, const struct out *json)
{
	if (!p->json) {
		alert_text(&p->out, a, x, v);
		return;
	}
	out_write(&p->out, json->buf.data, json->buf.len);
	if (v)
		verdict_json(&p->out, a, v);
}

/* Who waits for an alert that is not shown must learn why. */
static void put_left_out(struct out *o, const struct watch_totals *t)
{
	if (t->inner)
		out_printf(o,
			   "not shown: %" PRIu64 " whose cause was another group (--all-causes "
			   "shows them)\n",
			   t->inner);
	if (t->system)
		out_printf(o,
			   "not shown: %" PRIu64 " whose thread did not have the CPU "
			   "(--all-causes shows them%s)\n",
			   /* Then they are of stock VMs, which it is not about. */
			   t->system, t->exact ? "" : ",\n  --exact tells why it did not");
	if (t->others)
		out_printf(o, "not shown: %" PRIu64 " of groups that --group leaves out\n",
			   t->others);
}

static void put_counts(struct out *o, const struct watch_totals *t)
{
	const struct ledger *l = t->snapshot ? &t->snapshot->ledger : NULL;
	char moved[TEXT_NS_MAX], all[TEXT_NS_MAX];

	out_printf(o,
		   "%" PRIu64 " alert%s shown, %" PRIu64 " raised in %" PRIu64 " batch%s, %" PRIu64
		   " events",
		   t->shown, plural(t->shown), t->alerts.raised, t->alerts.batches,
		   t->alerts.batches == 1 ? "" : "es", t->alerts.events);
	if (t->woken)
		out_printf(o, "; woken %" PRIu64 " time%s", *t->woken, plural(*t->woken));
	if (t->dumps.written || t->dumps.skipped)
		out_printf(o, "; %" PRIu64 " dump%s, %" PRIu64 " alert%s too soon for one",
			   t->dumps.written, plural(t->dumps.written), t->dumps.skipped,
			   plural(t->dumps.skipped));
	if (t->runs.runs)
		out_printf(o, "; %" PRIu64 " run%s of the command", t->runs.runs,
			   plural(t->runs.runs));
	if (t->alerts.open)
		out_printf(o, "; %" PRIu64 " told of while they went on", t->alerts.open);
	if (t->snapshot)
		summary_unfinished(o, t->snapshot);
	out_puts(o, "\n");
	put_left_out(o, t);
	if (l && l->moved_ns)
		out_printf(o,
			   "charged to nobody: %s of %s, the own time of spans that changed CPU\n"
			   "  (%s--keep-moved charges it)\n",
			   text_ns(moved, l->moved_ns), text_ns(all, l->event_wall_ns),
			   t->live ? "--exact or " : "");
	if (l && l->stale_ns)
		out_printf(o,
			   "charged to nobody: %s of %s, the time around nested event loops\n"
			   "  (--nested=suspend charges it)\n",
			   text_ns(moved, l->stale_ns), text_ns(all, l->event_wall_ns));
}

static void put_failures(struct out *o, const struct watch_totals *t)
{
	if (t->dumps.failed)
		out_printf(o, "%" PRIu64 " dump%s failed\n", t->dumps.failed,
			   plural(t->dumps.failed));
	if (t->runs.failed)
		out_printf(o, "%" PRIu64 " of %" PRIu64 " run%s failed, %" PRIu64 " killed\n",
			   t->runs.failed, t->runs.runs, plural(t->runs.runs), t->runs.killed);
	if (t->runs.dropped)
		out_printf(o, "%" PRIu64 " alert%s without a run of the command\n", t->runs.dropped,
			   plural(t->runs.dropped));
	if (t->alerts.unwatched)
		out_printf(o, "%" PRIu64 " times a group was not watched: more than %u\n",
			   t->alerts.unwatched, ALERT_GROUPS);
}

void watch_print_totals(const struct watch_totals *t, bool quiet)
{
	struct out o;

	out_open_fd(&o, STDERR_FILENO);
	if (!quiet)
		put_counts(&o, t);
	put_failures(&o, t);
	if (t->snapshot && lost_any(&t->snapshot->losses)) {
		summary_losses(&o, &t->snapshot->losses);
		out_puts(&o, "\n");
	}
	if (t->snapshot && t->snapshot->left_out) {
		summary_left_out(&o, t->snapshot);
		out_puts(&o, "\n");
	}
	out_close(&o);
}
