/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/summary.h"
#include "sink/complete.h"
#include "sink/containers.h"
#include "sink/table.h"
#include "sink/words.h"

#include <string.h>

void summary_target(struct out *o, const struct snapshot *s)
{
	const struct snapshot_process *first;
	char clean[128], container[CONTAINER_LABEL_MAX];
	u32 more = 0, i;

	if (!s->process_count) {
		out_puts(o, "no process");
		return;
	}
	for (i = 0; i < s->process_count && !s->processes[i].events.count; i++)
		;
	first = &s->processes[i < s->process_count ? i : 0];
	name_text(clean, sizeof(clean), first->name);
	out_printf(o, "%s (%u)", clean[0] ? clean : "process", first->pid);
	if (*container_label(&first->container, container))
		out_printf(o, " in %s", container);
	/* Children that never mark are traced too, but concern nobody. */
	for (i = 0; i < s->process_count; i++)
		more += s->processes[i].events.count && &s->processes[i] != first;
	if (more)
		out_printf(o, " and %u more process%s", more, more == 1 ? "" : "es");
}

bool summary_parts(struct out *o, const struct snapshot *s)
{
	static const char *const what[TRACE_PARTS] = {
		[TRACE_TURNS] = "turns",
		[TRACE_BLOCKING] = "what keeps threads off the CPU",
		[TRACE_GC] = "collections",
		[TRACE_SAMPLES] = "who runs",
	};
	const char *separator = "not measured: ";
	char time[TEXT_NS_MAX];
	u32 i;

	for (i = 0; i < TRACE_PARTS; i++) {
		if (!s->parts[i].ns && !s->parts[i].now)
			continue;
		out_printf(o, "%s%s for %s%s", separator, what[i], time_text(time, s->parts[i].ns),
			   s->parts[i].now ? ", and not now" : "");
		separator = "; ";
	}
	return separator[0] == ';';
}

/* Of sampled events: they lack nothing for it, for their CPU times are without. A thousandth is worth no word. */
static void summary_stolen(struct out *o, const struct snapshot *s, bool complete)
{
	u64 stolen = s->repairs.stolen_ns - s->repairs.stolen_lacks_ns;
	char time[TEXT_NS_MAX];

	if (stolen > s->events.wall_ns / 1000)
		out_printf(o,
			   complete ? " (a hypervisor took %s of CPU time)"
				    : "; a hypervisor took %s of CPU time",
			   time_text(time, stolen));
}

void summary_left_out(struct out *o, const struct snapshot *s)
{
	char text[COUNT_TEXT_MAX];

	if (s->left_out)
		out_printf(o, "%s process%s left out, in whole or in part",
			   count_text(text, s->left_out), s->left_out == 1 ? "" : "es");
}

/* For what events lack data, each for one cause: of so many of them, or of them all. */
static void summary_missing(struct out *o, const struct snapshot *s)
{
	static const struct {
		const char *before, *after;
	} what[MISSING_CAUSES] = {
		[MISSING_RECORDS] = { "records of ", " are missing" },
		[MISSING_PART] = { "a part of the trace was off in ", "" },
		[MISSING_SWITCHES] = { "the scheduler's record does not cover ", "" },
		[MISSING_SENSE] = { "times of ", " make no sense" },
		[MISSING_CPU] = { "a hypervisor took CPU time from ", "" },
	};
	char count[COUNT_TEXT_MAX], time[TEXT_NS_MAX];
	const struct event_stats *e = &s->events;
	const char *separator = " (";
	unsigned int i;

	for (i = 0; i < MISSING_CAUSES; i++) {
		if (!e->missing[i] || !what[i].before ||
		    (i == MISSING_CPU && s->repairs.stolen_lacks_ns))
			continue;
		out_printf(o, "%s%s%s%s", separator, what[i].before,
			   e->missing[i] == e->incomplete ? "them"
							  : count_text(count, e->missing[i]),
			   what[i].after);
		separator = "; ";
	}
	if (s->repairs.stolen_lacks_ns) {
		out_printf(o, "%sa hypervisor took %s of their CPU time", separator,
			   time_text(time, s->repairs.stolen_lacks_ns));
		separator = "; ";
	}
	if (separator[0] == ';')
		out_puts(o, ")");
}

static void summary_lacks(struct out *o, const struct snapshot *s)
{
	u64 lost = lost_counted(&s->losses);
	u64 incomplete = s->events.incomplete;
	char a[COUNT_TEXT_MAX], b[COUNT_TEXT_MAX];
	const char *separator = "INCOMPLETE: ";

	if (incomplete) {
		out_printf(o, "%s%s of %s events lack data", separator, count_text(a, incomplete),
			   count_text(b, s->events.count));
		separator = ", ";
		summary_missing(o, s);
	}
	if (lost) {
		out_printf(o, "%s%s record%s lost", separator, count_text(a, lost), plural(lost));
		separator = ", ";
	}
	if (lost_uncounted(&s->losses)) {
		out_printf(o, "%s%srecords lost, how many is not known", separator,
			   lost ? "other " : "");
		separator = ", ";
	}
	if (s->losses.records[LOSS_NAMES]) {
		out_printf(o, "%snames of groups lost", separator);
		separator = ", ";
	}
	if (unseen_time(s)) {
		out_printf(o, "%sno look at a stack stands for %u %% of the time", separator,
			   (unsigned int)((double)s->ledger.unseen_ns * 100 /
					  (double)s->ledger.event_wall_ns));
		separator = ", ";
	}
	if (s->left_out)
		out_puts(o, separator);
	summary_left_out(o, s);
}

void summary_complete(struct out *o, const struct snapshot *s)
{
	bool complete = snapshot_complete(s);

	if (complete)
		out_puts(o, "complete");
	else
		summary_lacks(o, s);
	summary_stolen(o, s, complete);
}

const char *unfinished_why_text(enum unfinished_why why)
{
	static const char *const text[] = {
		[UNFINISHED_TRACE] = "the trace ended",
		[UNFINISHED_THREAD] = "the thread ended",
		[UNFINISHED_PROCESS] = "the process ended",
		[UNFINISHED_EXEC] = "another program was executed",
	};

	return text[why];
}

static void not_ended(struct out *o, u64 count, const struct model_unfinished *longest,
		      const char *one, const char *more)
{
	char text[COUNT_TEXT_MAX], time[TEXT_NS_MAX], name[512];

	if (!count)
		return;
	out_printf(o, "; %s event%s %s", count_text(text, count), plural(count),
		   count == 1 ? one : more);
	if (!longest)
		return;
	out_printf(o, ": %s%s so far", count > 1 ? "at most " : "",
		   time_text(time, longest->for_ns));
	if (longest->group[0]) {
		name_text(name, sizeof(name), longest->group);
		out_printf(o, " in %s", name);
	}
}

void summary_unfinished(struct out *o, const struct snapshot *s)
{
	not_ended(o, s->unfinished_count, s->unfinished_kept ? s->unfinished : NULL,
		  "had not ended", "had not ended");
}

void summary_open(struct out *o, const struct snapshot *s)
{
	not_ended(o, s->open_count, s->open_kept ? s->open : NULL, "goes on", "go on");
}

bool summary_cost(struct out *o, const struct snapshot *s)
{
	char count[COUNT_TEXT_MAX], time[TEXT_NS_MAX];

	if (!s->cost.cpu_ns)
		return false;
	out_printf(o, "marking took about %s of CPU time: ", time_text(time, s->cost.cpu_ns));
	if (s->cost.marks)
		out_printf(o, "%s mark%s%s", count_text(count, s->cost.marks),
			   plural(s->cost.marks), s->cost.traps ? ", " : "");
	if (s->cost.traps)
		out_printf(o, "%s trap%s", count_text(count, s->cost.traps), plural(s->cost.traps));
	return true;
}

void summary_losses(struct out *o, const struct loss_stats *l)
{
	static const struct {
		const char *why, *what; /* NULL: so many records */
	} causes[LOSS_CAUSES] = {
		[LOSS_RING_FULL] = { "the ring buffer was full (--buffer makes it larger)", NULL },
		[LOSS_READ_FAULT] = { "the target's memory could not be read", NULL },
		[LOSS_SEQUENCE_GAP] = { "they never arrived, for no cause known", NULL },
		[LOSS_UNMATCHED] = { "they left what was never entered", NULL },
		[LOSS_TRUNCATED] = { "the recording is cut or damaged, or of an earlier version",
				     NULL },
		[LOSS_SCHED] = { "the scheduler's record was full, or a switch was not told of",
				 NULL },
		[LOSS_NO_SCHED] = { "the scheduler's record of their thread was not there", NULL },
		[LOSS_TOO_DEEP] = { "stays were nested deeper than is kept", NULL },
		[LOSS_NOT_MADE] = { "they could not be marked: inside another mark, no room for "
				    "their thread, or a number that is no id",
				    NULL },
		[LOSS_MALFORMED] = { "they made no sense", NULL },
		[LOSS_LIMIT] = { "there are more processes, threads, libraries or names than are "
				 "kept, or no memory",
				 NULL },
		[LOSS_MARKS_OFF] = { "a program ran for a while with its marks off",
				     "records, how many is not known," },
		[LOSS_NAMES] = { "they could not be read from their program's memory",
				 "names of groups" },
		[LOSS_OTHER] = { "of what this version does not know", NULL },
	};
	const char *separator = "";
	char text[COUNT_TEXT_MAX];
	unsigned int i;

	for (i = 0; i < LOSS_CAUSES; i++) {
		if (!l->records[i] && !l->batches[i])
			continue;
		out_puts(o, separator);
		if (causes[i].what)
			out_puts(o, causes[i].what);
		else if (l->records[i])
			out_printf(o, "%s record%s%s", count_text(text, l->records[i]),
				   plural(l->records[i]),
				   lost_unknown(l, i) ? " and others, how many is not known," : "");
		else
			out_puts(o, "records, how many is not known,");
		/* Of what is missing in a recording nobody knows how many there were. */
		if (l->batches[i] && i != LOSS_TRUNCATED)
			out_printf(o, " in %s batch%s", count_text(text, l->batches[i]),
				   l->batches[i] == 1 ? "" : "es");
		out_printf(o, " lost because %s [%s]", causes[i].why, loss_name(i));
		separator = "; ";
	}
}

bool group_general(const struct snapshot_group *g)
{
	return !strcmp(g->kind, kind_name(VMSPAN_TOP)) ||
	       !strcmp(g->kind, kind_name(VMSPAN_COMPARTMENT));
}

/* Buckets that are told apart: longer than 256, 64, 16, 4, 1 ms. */
static const unsigned int limits[] = { 8, 6, 4, 2, 0 };

/* Groups that may be blamed: general ones only when there are no others. */
static bool blamable(const struct snapshot *s, const struct snapshot_group *g)
{
	u32 i;

	if (!g->stats.wall_ns || !group_general(g))
		return g->stats.wall_ns;
	for (i = 0; i < s->group_count; i++)
		if (s->groups[i].stats.wall_ns && !group_general(&s->groups[i]))
			return false;
	return true;
}

/* The first of limits[] that such a group exceeds; their number: none. */
static size_t worst_limit(const struct snapshot *s)
{
	size_t i, first = ARRAY_SIZE(limits);
	u32 g;

	for (g = 0; g < s->group_count; g++)
		for (i = 0; i < first; i++)
			if (s->groups[g].stats.durations[limits[i]] && blamable(s, &s->groups[g]))
				first = i;
	return first;
}

double group_blame(const struct group_stats *g)
{
	double own = (double)min_u64(g->self_ns + g->gc_ns + g->blocked_ns, g->wall_ns);

	return g->wall_ns ? own * own / (double)g->wall_ns : 0;
}

const struct snapshot_group *worst_group(const struct snapshot *s)
{
	const struct snapshot_group *worst = NULL;
	size_t limit = worst_limit(s);
	u32 i;

	for (i = 0; i < s->group_count; i++) {
		const struct snapshot_group *g = &s->groups[i];

		if (limit < ARRAY_SIZE(limits) && !g->stats.durations[limits[limit]])
			continue;
		if (blamable(s, g) &&
		    (!worst || group_blame(&g->stats) > group_blame(&worst->stats)))
			worst = g;
	}
	return worst;
}

/* Of a group's own time what its threads had no CPU in at least, by their clocks: they were stopped, or waited
 * for what was not announced, or others ran. With the scheduler's record that is not its own. 0: not known. */
static u64 without_cpu_ns(const struct snapshot *s, const struct group_stats *g)
{
	u64 had = g->cpu_ns + g->cpu_margin_ns;

	return s->events.cpu_ns && !g->samples && g->self_ns > had ? g->self_ns - had : 0;
}

/* What a group's time was mostly spent on, if it was not its own code. */
static void put_reason(struct out *o, const struct snapshot *s, const struct group_stats *g)
{
	const struct {
		u64 ns;
		const char *what;
	} parts[] = {
		{ g->gc_ns, "in collections" },
		{ g->blocked_ns, "waiting in blocking calls" },
		{ g->wall_ns - min_u64(g->self_ns + g->gc_ns + g->blocked_ns, g->wall_ns),
		  "in code it called" },
		{ without_cpu_ns(s, g), "without a CPU" },
	};
	size_t i, most = 0;

	for (i = 1; i < ARRAY_SIZE(parts); i++)
		if (parts[i].ns > parts[most].ns)
			most = i;
	if (g->wall_ns && parts[most].ns >= g->wall_ns / 4)
		out_printf(o, "; %u %% of its time %s",
			   (unsigned int)((double)parts[most].ns * 100 / (double)g->wall_ns),
			   parts[most].what);
}

static void put_held(struct out *o, const struct snapshot *s, const struct group_stats *g,
		     unsigned int bucket, bool interval)
{
	char a[COUNT_TEXT_MAX], b[COUNT_TEXT_MAX], max[TEXT_NS_MAX];

	out_printf(o, "held %s of %s turn%s longer than %u ms, %s at worst",
		   count_text(a, g->durations[bucket]), count_text(b, s->events.count),
		   plural(s->events.count), 1u << bucket, text_ns(max, row_max_ns(g, interval)));
}

void summary_group(struct out *o, const struct snapshot *s, const struct snapshot_group *g,
		   bool interval)
{
	char max[TEXT_NS_MAX];
	size_t i;

	if (!g->stats.wall_ns) {
		out_puts(o, g->stats.spans ? "was entered, but nothing of it could be measured"
					   : "was never entered");
		return;
	}
	for (i = 0; i < ARRAY_SIZE(limits) && !g->stats.durations[limits[i]];)
		i++;
	if (i < ARRAY_SIZE(limits))
		put_held(o, s, &g->stats, limits[i], interval);
	else if (row_turns_unknown(&g->stats, interval))
		out_puts(o, "ran in turns too short to tell how long it held each");
	else
		out_printf(o, "held no turn longer than 1 ms, %s at worst",
			   text_ns(max, row_max_ns(&g->stats, interval)));
	put_reason(o, s, &g->stats);
}

void summary_nobody(struct out *o, const struct ledger *l, const char *before)
{
	u64 tenth = l->event_wall_ns / 10;

	if (l->moved_ns > tenth)
		out_printf(o,
			   "%s%u %% of event time changed CPU and is charged to nobody: "
			   "--exact or --keep-moved charges it",
			   before,
			   (unsigned int)((double)l->moved_ns * 100 / (double)l->event_wall_ns));
	else if (l->stale_ns > 3 * tenth)
		out_printf(o,
			   "%s%u %% of event time was spent around nested loops and is charged "
			   "to nobody: --nested=suspend charges it",
			   before,
			   (unsigned int)((double)l->stale_ns * 100 / (double)l->event_wall_ns));
}

void summary_worst(struct out *o, const struct snapshot *s, bool interval)
{
	size_t limit = worst_limit(s);
	const struct snapshot_group *g = worst_group(s);
	char name[512], max[TEXT_NS_MAX];

	if (!g) {
		out_puts(o, "no group was entered");
		return;
	}
	name_text(name, sizeof(name), g->name);
	if (limit == ARRAY_SIZE(limits) && row_turns_unknown(&g->stats, interval)) {
		out_printf(o, "most time went to %s, in turns too short to tell who held each",
			   name);
	} else if (limit == ARRAY_SIZE(limits)) {
		out_printf(o, "no group held a turn longer than 1 ms; the longest was %s in %s",
			   text_ns(max, row_max_ns(&g->stats, interval)), name);
	} else {
		out_printf(o, "%s ", name);
		put_held(o, s, &g->stats, limits[limit], interval);
	}
	put_reason(o, s, &g->stats);
	summary_nobody(o, &s->ledger, "; ");
}
