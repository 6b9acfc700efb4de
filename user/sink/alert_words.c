/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/text.h"
#include "sink/alert.h"
#include "sink/complete.h"
#include "sink/figures.h"
#include "sink/waits.h"
#include "sink/words.h"

#include <stdio.h>
#include <string.h>

/* A name as it stands in a sentence. */
#define NAME_CUT 96

char *alert_reasons(char dst[ALERT_REASONS_MAX], unsigned int reasons)
{
	snprintf(dst, ALERT_REASONS_MAX, "SLOWDOWN%s%s",
		 reasons & ALERT_IN_ANIMATION ? " IN_ANIMATION" : "",
		 reasons & ALERT_IN_INPUT ? " IN_INPUT" : "");
	return dst;
}

const char *alert_cause_name(enum alert_cause c)
{
	return c == CAUSE_INNER ? "inner" : c == CAUSE_SYSTEM ? "system" : "own";
}

/* Whose loop it was: the outermost group of the longest stay of the event. */
static const char *outermost(const struct alert *a)
{
	const struct tree_node *n = a->tree ? a->tree->roots : NULL;

	while (n && !(n->group && *n->group))
		n = n->next;
	return n ? n->group : NULL;
}

struct peer_sum {
	u64 peer, ns;
};

/* The longest blocking call of the group's event: on whom. */
static void find_peer(const struct tree_node *n, struct peer_sum *best)
{
	for (; n; n = n->next) {
		if (n->type == VMSPAN_BLOCK && n->total_ns > best->ns)
			*best = (struct peer_sum){ n->peer, n->total_ns };
		find_peer(n->child, best);
	}
}

static unsigned int percent(u64 part, u64 whole)
{
	return whole ? (unsigned int)((part * 100 + whole / 2) / whole) : 0;
}

/* What most of the time was; "" when no single thing was. */
static void put_share(char *dst, size_t cap, const struct alert *a)
{
	struct peer_sum peer = { 0 };
	char who[WAITS_PEER_MAX];

	*dst = 0;
	if (a->gc_ns * 2 >= a->total_ns) {
		snprintf(dst, cap, ", %u %% of it in a collection", percent(a->gc_ns, a->total_ns));
	} else if (a->blocked_ns * 2 >= a->total_ns) {
		find_peer(a->tree ? a->tree->roots : NULL, &peer);
		if (a->wait.ns * 2 >= a->blocked_ns && a->wait.count)
			snprintf(dst, cap, ", %u %% of it waiting for %s",
				 percent(a->blocked_ns, a->total_ns),
				 waits_peer_text(who, sizeof(who), &a->wait));
		else if (peer.peer)
			snprintf(dst, cap, ", %u %% of it waiting for process %" PRIu64,
				 percent(a->blocked_ns, a->total_ns), peer.peer);
		else
			snprintf(dst, cap, ", %u %% of it waiting",
				 percent(a->blocked_ns, a->total_ns));
	} else if (a->cause == CAUSE_OWN && a->self_ns * 2 >= a->total_ns) {
		snprintf(dst, cap, ", %u %% of it in its own code",
			 percent(a->self_ns, a->total_ns));
	}
}

#define KEPT_MAX 96

/* How long it was kept off the CPU is known of the group, how it was of the event. */
static void put_kept(char *dst, size_t cap, const struct alert *a)
{
	struct kept_way ways[KEPT_WAYS];
	char how[KEPT_MAX] = "it was kept off the CPU", time[TEXT_NS_MAX];
	const char * or = "";
	size_t i, len = 0;

	kept_ways(ways, &a->event.ledger);
	for (i = 0; i < KEPT_WAYS; i++) {
		if (!ways[i].ns)
			continue;
		len += (size_t)snprintf(how + len, sizeof(how) - len, "%s%s", or, ways[i].words);
		or = " or ";
	}
	snprintf(dst, cap, "; %s for %s besides", how, text_ns(time, a->preempted_ns));
}

/* Where the time is not about that on the CPU: without the scheduler's record how much of
 * it that was; with it, what others took, which is not in the time but is in the tree's. */
static void put_cpu(char *dst, size_t cap, const struct alert *a)
{
	const char *about = about_text(a->cpu_ns, a->cpu_margin_ns);
	char time[TEXT_NS_MAX];
	u64 off = a->preempted_ns;
	u32 i;

	*dst = 0;
	for (i = 0; i < VMSPAN_OFF_REASONS; i++)
		off += a->off_ns[i];
	if (a->preempted_ns * 10 >= a->total_ns && a->preempted_ns)
		put_kept(dst, cap, a);
	if (off || !a->event.cpu_ns || a->cause == CAUSE_INNER)
		return;
	if (a->cause == CAUSE_SYSTEM)
		snprintf(dst, cap,
			 "; its thread had the CPU for %s%s of it, else it waited or others ran",
			 about, text_ns(time, a->cpu_ns));
	else if ((a->cpu_ns + a->blocked_ns) * 4 < a->total_ns * 3)
		snprintf(dst, cap, "; its thread had the CPU for %s%s of it", about,
			 text_ns(time, a->cpu_ns));
}

/* What of it no figure of the group has. */
static void put_uncharged(char *dst, size_t cap, const struct alert *a)
{
	char time[TEXT_NS_MAX];

	*dst = 0;
	if (a->uncharged_ns == a->total_ns)
		snprintf(dst, cap, "; not charged: it changed CPU");
	else if (a->uncharged_ns * 10 >= a->total_ns)
		snprintf(dst, cap, "; %s of it not charged: it changed CPU",
			 text_ns(time, a->uncharged_ns));
}

char *alert_sentence(char *dst, size_t cap, const struct alert *a)
{
	char group[NAME_CUT], place[NAME_CUT + 32], name[NAME_CUT], time[TEXT_NS_MAX];
	char share[WAITS_PEER_MAX + 64];
	const char *outer = outermost(a);
	char cause[NAME_CUT + 48] = "", cpu[TEXT_NS_MAX + KEPT_MAX], uncharged[TEXT_NS_MAX + 48];

	name_text(group, sizeof(group), a->group);
	/* The process as a whole is held by nobody's loop but its own. */
	if (outer && strcmp(outer, a->group) && strncmp(a->group, "top:", 4))
		snprintf(place, sizeof(place), "%s's", name_text(name, sizeof(name), outer));
	else
		snprintf(place, sizeof(place), "%s (%u)'s",
			 name_text(name, sizeof(name), a->process), a->pid);
	put_share(share, sizeof(share), a);
	if (a->cause == CAUSE_INNER)
		snprintf(cause, sizeof(cause), "; the cause is %s",
			 name_text(name, sizeof(name), a->inner));
	put_cpu(cpu, sizeof(cpu), a);
	put_uncharged(uncharged, sizeof(uncharged), a);
	snprintf(dst, cap, "%s %s %s loop for %s%s%s%s%s%s", group, a->open ? "has held" : "held",
		 place, text_ns(time, a->total_ns), a->open ? " so far" : "", share, cpu, uncharged,
		 cause);
	return dst;
}

/* -------------------------------------------------------------- Trees -- */

static const char *node_type(const struct tree_node *n)
{
	return n->type == VMSPAN_GC ? "gc" : n->type == VMSPAN_BLOCK ? "blocked" : "span";
}

static void node_line(struct out *o, const struct alert *a, const struct tree_node *n,
		      unsigned int depth)
{
	char name[NAME_CUT], group[NAME_CUT], time[TEXT_NS_MAX], self[TEXT_NS_MAX];
	const char *text = n->name && *n->name ? name_text(name, sizeof(name), n->name) : "";

	out_printf(o, "    %*s%s", (int)(depth < 20 ? depth * 2 : 40), "",
		   time_text(time, n->total_ns));
	if (n->type == VMSPAN_GC)
		out_printf(o, " in collections%s%s", *text ? " " : "", text);
	else if (n->type == VMSPAN_BLOCK)
		out_printf(o, " waiting%s%s", *text ? " " : "", text);
	else
		out_printf(o, " %s", *text ? text : "(unknown)");
	if (n->peer)
		out_printf(o, " for process %" PRIu64, n->peer);
	if (n->count > 1)
		out_printf(o, ", %u times", n->count);
	if (n->child)
		out_printf(o, ", %s of it itself", time_text(self, tree_self(n)));
	if (n->off_ns && n->type == VMSPAN_SPAN)
		out_printf(o, ", %s of it without a CPU", time_text(self, n->off_ns));
	if (n->type == VMSPAN_SPAN && n->group && strcmp(n->group, a->group))
		out_printf(o, "  [%s]", name_text(group, sizeof(group), n->group));
	out_puts(o, "\n");
}

struct walk {
	struct out *out;
	struct json *json;
	const struct alert *alert;
	unsigned int left, skipped;
};

static void walk_text(struct walk *w, const struct tree_node *n, unsigned int depth)
{
	for (; n; n = n->next) {
		/* Less than a hundredth of the event explains nothing. */
		if (!w->left || n->total_ns * 100 < w->alert->total_ns) {
			w->skipped++;
			continue;
		}
		w->left--;
		node_line(w->out, w->alert, n, depth);
		walk_text(w, n->child, depth + 1);
	}
}

void alert_tree_text(struct out *o, const struct alert *a, unsigned int lines)
{
	struct walk w = { .out = o, .alert = a, .left = lines };

	if (a->tree)
		walk_text(&w, a->tree->roots, 0);
	if (a->tree)
		stacks_text(o, &a->tree->stacks, 3);
	if (a->event.missing)
		out_printf(o, "    INCOMPLETE: %s\n", missing_text(a->event.missing));
}

/* --------------------------------------------------------------- JSON -- */

#define JSON_NODES 128

static void node_json(struct walk *w, const struct tree_node *n, unsigned int depth)
{
	struct json *j = w->json;

	for (; n; n = n->next) {
		if (!w->left) {
			w->skipped++;
			continue;
		}
		w->left--;
		json_object(j);
		json_key_u64(j, "depth", depth);
		json_key_string(j, "type", node_type(n));
		json_key_string(j, "name", n->name ? n->name : "");
		json_key_string(j, "group", n->group ? n->group : "");
		json_key_u64(j, "count", n->count);
		json_key_u64(j, "total_ns", n->total_ns);
		json_key_u64(j, "self_ns", tree_self(n));
		json_key_u64(j, "longest_ns", n->longest_ns);
		json_key_u64(j, "discarded", n->discarded);
		if (n->off_ns)
			json_key_u64(j, "off_ns", n->off_ns);
		if (n->peer)
			json_key_u64(j, "peer", n->peer);
		json_end_object(j);
		node_json(w, n->child, depth + 1);
	}
}

static void tree_json(struct json *j, const struct alert *a)
{
	static const struct stacks none;
	const struct tree *t = a->tree;
	struct walk w = { .json = j, .alert = a, .left = JSON_NODES };
	u32 i;

	json_key_array(j, "tree");
	if (t)
		node_json(&w, t->roots, 0);
	json_end_array(j);
	json_key_u64(j, "tree_omitted", w.skipped + (t ? t->omitted : 0));
	json_key_array(j, "cpus");
	for (i = 0; t && i < t->cpu_count; i++)
		json_u64(j, t->cpus[i]);
	json_end_array(j);
	stacks_json(j, t ? &t->stacks : &none);
}

static void event_json(struct json *j, const struct alert *a)
{
	const struct ledger *l = &a->event.ledger;

	json_key_object(j, "event");
	json_key_u64(j, "iteration", a->event.iteration);
	json_key_string(j, "label", a->event.label);
	json_key_u64(j, "begin_ns", a->event.begin_ns);
	json_key_u64(j, "end_ns", a->event.end_ns);
	json_key_u64(j, "wall_ns", l->event_wall_ns);
	json_key_u64(j, "cpu_ns", a->event.cpu_ns);
	json_key_u64(j, "cpu_begin", a->event.cpu_begin);
	json_key_u64(j, "cpu_end", a->event.cpu_end);
	json_key_bool(j, "complete", !a->event.missing);
	if (a->event.missing)
		json_key_string(j, "missing", missing_name(a->event.missing));
	json_key_bool(j, "implicit", a->event.implicit);
	json_key_object(j, "ledger");
	ledger_json(j, l);
	json_end_object(j);
	json_end_object(j);
}

static void history_json(struct json *j, const struct alert *a)
{
	u32 i;

	json_key_object(j, "history");
	json_key_u64(j, "events", a->group_events);
	json_key_u64(j, "wall_ns", a->group_wall_ns);
	json_key_u64(j, "alerts", a->group_alerts);
	json_key_array(j, "last");
	for (i = 0; i < a->past_count; i++) {
		json_object(j);
		json_key_u64(j, "end_ns", a->past[i].end_ns);
		json_key_u64(j, "total_ns", a->past[i].total_ns);
		json_end_object(j);
	}
	json_end_array(j);
	json_end_object(j);
}

static void reasons_json(struct json *j, unsigned int reasons)
{
	json_key_array(j, "reasons");
	json_string(j, "SLOWDOWN");
	if (reasons & ALERT_IN_ANIMATION)
		json_string(j, "IN_ANIMATION");
	if (reasons & ALERT_IN_INPUT)
		json_string(j, "IN_INPUT");
	json_end_array(j);
}

static void figures_json(struct json *j, const struct alert *a)
{
	json_key_u64(j, "total_ns", a->total_ns);
	json_key_u64(j, "threshold_ns", a->threshold_ns);
	json_key_u64(j, "uncharged_ns", a->uncharged_ns);
	json_key_u64(j, "self_ns", a->self_ns);
	json_key_u64(j, "gc_ns", a->gc_ns);
	json_key_u64(j, "blocked_ns", a->blocked_ns);
	json_key_u64(j, "cpu_ns", a->cpu_ns);
	off_json(j, a->preempted_ns, a->off_ns);
	if (a->wait.count)
		waits_json(j, &a->wait, 1);
	json_key_u64(j, "ticks", a->ticks);
	json_key_u64(j, "spans", a->spans);
	json_key_u64(j, "occurrences", a->occurrences);
	json_key_u64(j, "highest_blocked_ns", a->highest_blocked_ns);
}

void alert_json(struct json *j, const struct alert *a, const struct alert_extra *x)
{
	char sentence[512];
	const char *outer = outermost(a);

	json_object(j);
	json_key_u64(j, "schema", 1);
	json_key_string(j, "type", a->open ? "open" : "alert");
	json_key_u64(j, "id", a->id);
	json_key_u64(j, "time_ns", a->raised_ns);
	json_key(j, "real_ns");
	x->real_ns ? json_u64(j, x->real_ns) : json_null(j);
	json_key_string(j, "group", a->group);
	json_key_u64(j, "pid", a->pid);
	json_key_u64(j, "tid", a->tid);
	json_key_string(j, "process", a->process);
	json_key_string(j, "thread", a->thread);
	reasons_json(j, a->reasons);
	json_key_string(j, "cause", alert_cause_name(a->cause));
	json_key(j, "inner");
	a->inner ? json_string(j, a->inner) : json_null(j);
	json_key(j, "loop");
	outer ? json_string(j, outer) : json_null(j);
	json_key_string(j, "sentence", alert_sentence(sentence, sizeof(sentence), a));
	figures_json(j, a);
	event_json(j, a);
	tree_json(j, a);
	history_json(j, a);
	json_key(j, "dump");
	x->dump ? json_string(j, x->dump) : json_null(j);
	if (a->cpu_margin_ns)
		json_key_u64(j, "cpu_margin_ns", a->cpu_margin_ns);
	json_end_object(j);
}
