/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/alert.h"
#include "base/array.h"
#include "base/map.h"
#include "sink/alert_cause.h"
#include "sink/alert_open.h"
#include "sink/alert_proc.h"
#include "sink/sink.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A group in a process. */
struct watched {
	u32 pid;
	const char *name; /* the model's own: the same text is the same pointer */
	struct watched *next; /* of the same hash */
	struct alert *pending; /* owned */
	struct alert *open; /* owned: of what goes on, at the look under way */
	u64 threshold_ns;
	bool ignored, ended;
	u64 events, wall_ns, alerts;
	u64 highest_blocked_ns; /* since the last alert */
	struct alert_past past[ALERT_HISTORY]; /* a ring */
	u32 past_at;
};

struct alerts {
	struct alert_config config;
	struct listeners *listeners;
	struct trees *trees;
	struct opens *opens;
	struct marks_seen *marks;
	struct map groups; /* hash of (pid, name) -> struct watched * */
	u32 group_count;
	u64 id_last;
	struct watched **queue; /* with a pending alert, in order of raising */
	u32 queue_len, queue_cap;
	struct watched **opened; /* with one of what goes on */
	u32 opened_len, opened_cap;
	u64 open_ns; /* when the buffer was opened; valid while queue_len */
	struct suspect *suspects; /* of the event that is looked at, one a share */
	struct model_share *shares; /* the same: with what is not charged */
	struct watched **watched; /* the same; NULL: one too many */
	u32 suspect_cap, share_cap, watched_cap;
	bool ended; /* some group's process has ended */
	bool delivering, exact;
	struct alert_counts counts;
};

struct alerts *alerts_new(const struct alert_config *config)
{
	struct alerts *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->config = *config;
	if (!a->config.threshold_ns)
		a->config.threshold_ns = ALERT_THRESHOLD_NS;
	if (!a->config.buffer_ns)
		a->config.buffer_ns = ALERT_BUFFER_NS;
	a->listeners = listeners_new();
	a->trees = trees_new();
	a->opens = opens_new();
	a->marks = marks_seen_new();
	if (a->listeners && a->trees && a->opens && a->marks)
		return a;
	alerts_free(a);
	return NULL;
}

static void alert_free(struct alert *x)
{
	if (x)
		tree_unref(x->tree);
	free(x);
}

static void watched_free(struct watched *w)
{
	alert_free(w->pending);
	alert_free(w->open);
	free(w);
}

void alerts_free(struct alerts *a)
{
	u64 key, value;
	size_t at = 0;

	if (!a)
		return;
	while (map_next(&a->groups, &at, &key, &value)) {
		struct watched *w = (struct watched *)(uintptr_t)value, *next;

		for (; w; w = next) {
			next = w->next;
			watched_free(w);
		}
	}
	map_free(&a->groups);
	free(a->queue);
	free(a->opened);
	free(a->suspects);
	free(a->shares);
	free(a->watched);
	trees_free(a->trees);
	opens_free(a->opens);
	marks_seen_free(a->marks);
	listeners_free(a->listeners);
	free(a);
}

void alerts_exact(struct alerts *a, bool exact)
{
	a->exact = exact;
}

struct listeners *alerts_listeners(struct alerts *a)
{
	return a->listeners;
}

void alerts_counts(const struct alerts *a, struct alert_counts *c)
{
	*c = a->counts;
}

u64 alerts_input(const struct alerts *a, u32 pid, u64 ns)
{
	return marks_seen_input(a->marks, pid, ns);
}

u64 alerts_lowest(const struct alerts *a)
{
	u64 lowest = a->config.threshold_ns;
	u32 i;

	for (i = 0; i < a->config.rule_count; i++)
		if (a->config.rules[i].threshold_ns)
			lowest = min_u64(lowest, a->config.rules[i].threshold_ns);
	return lowest;
}

/* -------------------------------------------------------------- Groups -- */

static u64 group_hash(u32 pid, const char *name)
{
	return ((u64)(uintptr_t)name ^ pid) * 0x9e3779b97f4a7c15ull;
}

static void apply_rules(const struct alert_config *c, struct watched *w)
{
	u32 i;

	w->threshold_ns = c->threshold_ns;
	for (i = 0; i < c->rule_count; i++) {
		const struct alert_rule *r = &c->rules[i];

		if (!group_matches(w->name, r->glob))
			continue;
		w->ignored = r->ignore;
		if (r->threshold_ns)
			w->threshold_ns = r->threshold_ns;
		return;
	}
}

/* NULL: no memory, or one too many. */
static struct watched *group_of(struct alerts *a, u32 pid, const char *name)
{
	u64 hash = group_hash(pid, name), *at = map_get(&a->groups, hash);
	struct watched *head = at ? (struct watched *)(uintptr_t)*at : NULL, *w;

	for (w = head; w; w = w->next)
		if (w->pid == pid && w->name == name && !w->ended)
			return w;
	if (a->group_count == ALERT_GROUPS)
		return NULL;
	w = calloc(1, sizeof(*w));
	if (!w)
		return NULL;
	w->pid = pid;
	w->name = name;
	w->next = head;
	apply_rules(&a->config, w);
	if (map_put(&a->groups, hash, (u64)(uintptr_t)w)) {
		free(w);
		return NULL;
	}
	a->group_count++;
	return w;
}

/* Of one hash: frees those of ended processes that have nothing pending.
 * Returns what is left. */
static struct watched *sweep_list(struct alerts *a, struct watched *head)
{
	struct watched **p = &head, *w;

	while ((w = *p)) {
		if (!w->ended || w->pending || w->open) {
			p = &w->next;
			continue;
		}
		*p = w->next;
		watched_free(w);
		a->group_count--;
	}
	return head;
}

/* Forgets groups of ended processes that have nothing pending. */
static void sweep(struct alerts *a)
{
	struct map kept = { 0 };
	u64 key, value;
	size_t at = 0;

	a->ended = a->queue_len || a->opened_len;
	while (map_next(&a->groups, &at, &key, &value)) {
		struct watched *head = sweep_list(a, (struct watched *)(uintptr_t)value);

		*map_get(&a->groups, key) = (u64)(uintptr_t)head;
		/* Without memory they stay, as empty lists. */
		if (head && map_put(&kept, key, (u64)(uintptr_t)head)) {
			map_free(&kept);
			return;
		}
	}
	map_free(&a->groups);
	a->groups = kept;
}

/* In order of their ends: what other threads did may be told of late. */
static void past_add(struct watched *w, u64 end_ns, u64 total_ns)
{
	u32 at = w->past_at, first = at < ALERT_HISTORY ? 0 : at - ALERT_HISTORY + 1;

	if (at >= ALERT_HISTORY && w->past[at % ALERT_HISTORY].end_ns > end_ns)
		return; /* older than all of them */
	w->past_at++;
	for (; at > first && w->past[(at - 1) % ALERT_HISTORY].end_ns > end_ns; at--)
		w->past[at % ALERT_HISTORY] = w->past[(at - 1) % ALERT_HISTORY];
	w->past[at % ALERT_HISTORY] = (struct alert_past){ end_ns, total_ns };
}

/* ------------------------------------------------------------- Raising -- */

/* Names of waits live as long as the model. */
static struct model_wait longest_wait(const struct model_event *e, const char *group)
{
	struct model_wait best = { 0 };
	u32 i;

	for (i = 0; i < e->wait_count; i++)
		if (e->waits[i].ns > best.ns && !strcmp(e->waits[i].group, group))
			best = e->waits[i];
	return best;
}

/* The event is the worst so far: it is what the alert shows. */
static void fill(struct alert *x, struct suspects *all, u32 i, struct tree *tree)
{
	const struct model_event *e = all->event;
	const struct model_share *s = all->list[i].share, *inner;

	x->tid = e->thread->tid;
	snprintf(x->thread, sizeof(x->thread), "%s", e->thread->name);
	x->process = e->thread->process;
	x->total_ns = s->wall_ns;
	x->uncharged_ns = s->uncharged.wall_ns;
	x->self_ns = s->self_ns;
	x->gc_ns = s->gc_ns;
	x->blocked_ns = s->blocked_ns;
	x->cpu_ns = s->cpu_ns;
	x->cpu_margin_ns = s->cpu_margin_ns;
	x->preempted_ns = s->preempted_ns;
	memcpy(x->off_ns, s->off_ns, sizeof(x->off_ns));
	x->wait = longest_wait(e, s->group);
	x->ticks = s->ticks;
	x->spans = s->spans;
	x->event.iteration = e->iteration;
	x->event.label = e->label;
	x->event.begin_ns = e->begin_ns;
	x->event.end_ns = e->end_ns;
	x->event.cpu_ns = e->cpu_ns;
	x->event.missing = e->missing;
	x->event.implicit = e->implicit;
	x->open = e->open;
	x->event.cpu_begin = e->cpu_begin;
	x->event.cpu_end = e->cpu_end;
	x->event.ledger = e->ledger;
	tree_unref(x->tree);
	x->tree = tree;
	if (tree)
		tree->refs++;
	x->cause = cause_find(all, i, &inner, &x->stands_in);
	x->inner = inner ? inner->group : NULL;
	x->notable = x->cause == CAUSE_OWN || x->stands_in ||
		     (x->cause == CAUSE_SYSTEM && x->total_ns >= ALERT_FREEZE_NS);
}

static int queue_push(struct alerts *a, struct watched *w)
{
	if (array_room(a->queue, a->queue_cap, a->queue_len + 1))
		return -ENOMEM;
	a->queue[a->queue_len++] = w;
	return 0;
}

static int raise_alert(struct alerts *a, struct watched *w, struct suspects *all, u32 i,
		       struct tree *tree)
{
	const struct model_event *e = all->event;
	struct alert *x = w->pending;

	if (x) {
		/* One group, one pending alert; the worst event is shown. */
		x->occurrences++;
		a->counts.repeated++;
		if (all->list[i].share->wall_ns > x->total_ns)
			fill(x, all, i, tree);
		return 0;
	}
	x = calloc(1, sizeof(*x));
	if (!x || queue_push(a, w)) {
		free(x);
		return -ENOMEM;
	}
	if (a->queue_len == 1)
		a->open_ns = e->end_ns;
	w->pending = x;
	w->alerts++;
	a->counts.raised++;
	x->id = ++a->id_last;
	x->group = w->name;
	x->pid = w->pid;
	x->reasons = ALERT_SLOWDOWN;
	x->threshold_ns = w->threshold_ns;
	x->occurrences = 1;
	x->raised_ns = e->end_ns;
	fill(x, all, i, tree);
	return 0;
}

/* Where a span changed CPU, its group has held the loop for no less. */
static struct model_share held(const struct model_share *s)
{
	struct model_share all = *s;

	all.wall_ns += s->uncharged.wall_ns;
	all.self_ns += s->uncharged.self_ns;
	all.cpu_ns += s->uncharged.cpu_ns;
	if (s->uncharged.wall_ns)
		all.cpu_margin_ns = s->uncharged.cpu_margin_ns;
	all.blocked_ns += s->uncharged.blocked_ns;
	all.gc_ns += s->uncharged.gc_ns;
	return all;
}

/* What is known of the group by `end_ns`, and what only that time tells. */
static void describe(const struct alerts *a, const struct watched *w, struct alert *x, u64 end_ns)
{
	u32 i, n = (u32)min_u64(w->past_at, ALERT_HISTORY);

	x->reasons |=
		marks_seen_reasons(a->marks, x->pid, x->event.begin_ns, x->event.end_ns, end_ns);
	x->highest_blocked_ns = w->highest_blocked_ns;
	x->group_events = w->events;
	x->group_wall_ns = w->wall_ns;
	x->group_alerts = w->alerts;
	for (i = 0; i < n; i++)
		x->past[i] = w->past[(w->past_at - n + i) % ALERT_HISTORY];
	x->past_count = n;
}

/* ---- Of events that go on ---- */

static int open_push(struct alerts *a, struct watched *w)
{
	if (array_room(a->opened, a->opened_cap, a->opened_len + 1))
		return -ENOMEM;
	w->open = calloc(1, sizeof(*w->open));
	if (!w->open)
		return -ENOMEM;
	a->opened[a->opened_len++] = w;
	return 0;
}

/* Of several events at one look the longest is told of: of those that are notable, if any is. */
static void open_keep(struct alert *kept, struct alert *x)
{
	x->occurrences = kept->occurrences + 1;
	/* Where one of them is told of for the first time, those who hear of that alone hear of it. */
	if (kept->occurrences)
		x->again = kept->again = x->again && kept->again;
	if (kept->notable > x->notable ||
	    (kept->notable == x->notable && kept->total_ns >= x->total_ns)) {
		kept->occurrences = x->occurrences;
		tree_unref(x->tree);
		return;
	}
	tree_unref(kept->tree);
	*kept = *x;
}

/* The first time, and once more if it is notable only then. */
static int raise_open(struct alerts *a, struct watched *w, struct suspects *all, u32 i,
		      struct tree *tree)
{
	const struct model_event *e = all->event;
	struct alert x = { .group = w->name,
			   .pid = w->pid,
			   .reasons = ALERT_SLOWDOWN,
			   .threshold_ns = w->threshold_ns,
			   .raised_ns = e->end_ns };
	enum told_how how;

	fill(&x, all, i, tree);
	how = opens_tell(a->opens, e, w->name, x.notable);
	x.again = how == TOLD_LATER;
	if (how != TOLD_ALREADY && (w->open || !open_push(a, w))) {
		open_keep(w->open, &x);
		return 0;
	}
	tree_unref(x.tree);
	return how == TOLD_ALREADY ? 0 : -ENOMEM;
}

int alerts_looked(struct alerts *a)
{
	int rc = 0, first = 0;
	u32 i;

	for (i = 0; i < a->opened_len; i++) {
		struct watched *w = a->opened[i];
		struct alert *x = w->open;

		w->open = NULL;
		a->counts.open += x->occurrences;
		describe(a, w, x, x->raised_ns);
		rc = listen_open(a->listeners, x);
		first = first ? first : rc;
		alert_free(x);
	}
	a->opened_len = 0;
	return first;
}

/* Of all groups of the event, to a->suspects and a->watched. 0 or -ENOMEM. */
static int look_at_shares(struct alerts *a, const struct model_event *e)
{
	u32 i;

	if (array_room(a->suspects, a->suspect_cap, e->share_count) ||
	    array_room(a->shares, a->share_cap, e->share_count) ||
	    array_room(a->watched, a->watched_cap, e->share_count))
		return -ENOMEM;
	for (i = 0; i < e->share_count; i++) {
		struct watched *w = group_of(a, e->thread->pid, e->shares[i].group);

		a->watched[i] = w;
		a->shares[i] = held(&e->shares[i]);
		a->suspects[i] = (struct suspect){
			.share = &a->shares[i],
			.threshold_ns = w ? w->threshold_ns : a->config.threshold_ns,
			.ignored = !w || w->ignored,
		};
	}
	return 0;
}

/* Counts the event, which has been looked at, for its groups. */
static void count_shares(struct alerts *a, const struct model_event *e)
{
	u32 i;

	for (i = 0; i < e->share_count; i++) {
		struct watched *w = a->watched[i];

		if (!w) {
			a->counts.unwatched++;
			continue;
		}
		w->events++;
		w->wall_ns += e->shares[i].wall_ns;
		w->highest_blocked_ns = max_u64(w->highest_blocked_ns, a->shares[i].blocked_ns);
		past_add(w, e->end_ns, a->shares[i].wall_ns);
	}
}

static int raise_slow(struct alerts *a, const struct model_event *e, struct tree *tree)
{
	struct suspects all = { .event = e,
				.exact = a->exact && !e->thread->stock,
				.least_ns = e->open ? ALERT_OPEN_NS : 0,
				.list = a->suspects,
				.count = e->share_count };
	int rc = suspects_open(&all, tree);
	u32 i;

	for (i = 0; !rc && i < all.count; i++)
		if (all.list[i].told)
			rc = e->open ? raise_open(a, a->watched[i], &all, i, tree)
				     : raise_alert(a, a->watched[i], &all, i, tree);
	suspects_close(&all);
	return rc;
}

static bool any_slow(const struct alerts *a, const struct model_event *e, u64 least_ns)
{
	u64 lowest = max_u64(alerts_lowest(a), least_ns);
	u32 i;

	for (i = 0; i < e->share_count; i++)
		if (e->shares[i].wall_ns + e->shares[i].uncharged.wall_ns >= lowest)
			return true;
	return false;
}

static int on_event(void *ctx, const struct model_event *e)
{
	struct alerts *a = ctx;
	bool slow = any_slow(a, e, 0);
	struct tree *tree = trees_event(a->trees, e, slow);
	int rc = 0;

	a->counts.events++;
	/* The buffer has run out before this event ended. */
	if (a->queue_len && e->end_ns >= a->open_ns + a->config.buffer_ns)
		rc = alerts_flush(a);
	if (!rc)
		rc = look_at_shares(a, e);
	if (!rc)
		count_shares(a, e);
	if (!rc && slow)
		rc = raise_slow(a, e, tree);
	opens_end(a->opens, e);
	tree_unref(tree);
	return rc;
}

/* A collection or call outside of everything is in no event. */
static bool is_in_nothing(const struct model_span *s)
{
	return !s->iteration && !s->depth && s->type != VMSPAN_SPAN;
}

static int on_span(void *ctx, const struct model_span *s)
{
	return is_in_nothing(s) ? 0 : trees_span(((struct alerts *)ctx)->trees, s);
}

static int on_sample(void *ctx, const struct model_sample *s)
{
	return trees_sample(((struct alerts *)ctx)->trees, s);
}

static int on_mark(void *ctx, const struct model_mark *m)
{
	return marks_seen_add(((struct alerts *)ctx)->marks, m);
}

static int on_process(void *ctx, const struct item_process *p)
{
	struct alerts *a = ctx;
	u64 key, value;
	size_t at = 0;

	if (p->change != PROCESS_EXIT && p->change != PROCESS_EXEC)
		return 0;
	trees_process(a->trees, p->pid);
	opens_process(a->opens, p->pid);
	marks_seen_end(a->marks, p->pid);
	while (map_next(&a->groups, &at, &key, &value)) {
		struct watched *w = (struct watched *)(uintptr_t)value;

		for (; w; w = w->next)
			w->ended |= w->pid == p->pid;
	}
	sweep(a);
	return 0;
}

/* An event goes on. */
static int on_open_event(void *ctx, const struct model_event *e)
{
	struct alerts *a = ctx;
	/* Of what is outside of events nobody knows how long it had the CPU, and it may be all there is. */
	bool slow = e->open && !e->implicit && any_slow(a, e, ALERT_OPEN_NS);
	struct tree *tree = opens_event(a->opens, a->trees, e, slow);
	int rc = slow ? look_at_shares(a, e) : 0;

	if (!rc && slow)
		rc = raise_slow(a, e, tree);
	tree_unref(tree);
	return rc;
}

static int on_open_span(void *ctx, const struct model_span *s)
{
	struct alerts *a = ctx;

	return is_in_nothing(s) ? 0 : opens_span(a->opens, a->trees, s);
}

static int on_open_sample(void *ctx, const struct model_sample *s)
{
	struct alerts *a = ctx;

	return opens_sample(a->opens, a->trees, s);
}

static const struct model_observer open_observer = {
	.span = on_open_span,
	.sample = on_open_sample,
	.event = on_open_event,
};

const struct model_observer alerts_observer = {
	.span = on_span,
	.event = on_event,
	.mark = on_mark,
	.sample = on_sample,
	.process = on_process,
	.open = &open_observer,
};

/* ------------------------------------------------------------ Delivery -- */

int alerts_flush(struct alerts *a)
{
	struct alert_batch b = { .count = a->queue_len, .begin_ns = a->open_ns };
	struct alert **list;
	u32 i;
	int rc;

	if (!b.count || a->delivering)
		return 0;
	list = calloc(b.count, sizeof(struct alert *));
	if (!list)
		return -ENOMEM;
	b.end_ns = b.begin_ns + a->config.buffer_ns;
	for (i = 0; i < b.count; i++) {
		describe(a, a->queue[i], a->queue[i]->pending, b.end_ns);
		list[i] = a->queue[i]->pending;
		/* Cleared even when nobody listens. */
		a->queue[i]->pending = NULL;
		a->queue[i]->highest_blocked_ns = 0;
	}
	a->queue_len = 0;
	a->counts.batches++;
	a->counts.delivered += b.count;
	b.alerts = (const struct alert *const *)list;
	a->delivering = true;
	rc = listen_deliver(a->listeners, &b);
	a->delivering = false;
	for (i = 0; i < b.count; i++)
		alert_free(list[i]);
	free(list);
	if (a->ended)
		sweep(a);
	return rc;
}

u64 alerts_due(const struct alerts *a)
{
	return a->queue_len ? a->open_ns + a->config.buffer_ns : 0;
}

int alerts_advance(struct alerts *a, u64 ns)
{
	return a->queue_len && ns >= alerts_due(a) ? alerts_flush(a) : 0;
}
