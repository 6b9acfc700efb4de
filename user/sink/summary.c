/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/summary.h"
#include "sink/complete.h"
#include "sink/sink.h"
#include "sink/table.h"
#include "sink/words.h"

#include <stdlib.h>
#include <string.h>

void summary_target(struct out *o, const struct snapshot *s)
{
	char clean[128];
	u32 more = s->process_count ? s->process_count - 1 : 0;

	if (!s->process_count) {
		out_puts(o, "no process");
		return;
	}
	name_text(clean, sizeof(clean), s->processes[0].name);
	out_printf(o, "%s (%u)", clean[0] ? clean : "process", s->processes[0].pid);
	if (more)
		out_printf(o, " and %u more process%s", more, more == 1 ? "" : "es");
}

void summary_complete(struct out *o, const struct snapshot *s)
{
	u64 lost = lost_records(&s->losses);
	char a[COUNT_MAX], b[COUNT_MAX];

	if (snapshot_complete(s)) {
		out_puts(o, "complete");
		return;
	}
	out_puts(o, "INCOMPLETE: ");
	if (s->events.incomplete)
		out_printf(o, "%s of %s events lack data", count_text(a, s->events.incomplete),
			   count_text(b, s->events.count));
	if (s->events.incomplete && lost)
		out_puts(o, ", ");
	if (lost)
		out_printf(o, "%s record%s lost", count_text(a, lost), plural(lost));
	else if (!s->events.incomplete)
		out_puts(o, "batches lost");
}

void summary_losses(struct out *o, const struct loss_stats *l)
{
	static const char *const why[LOSS_CAUSES] = {
		[LOSS_RING_FULL] = "the ring buffer was full (--buffer makes it larger)",
		[LOSS_READ_FAULT] = "the target's memory could not be read",
		[LOSS_SEQUENCE_GAP] = "they never arrived, for no cause known",
		[LOSS_UNMATCHED] = "they left what was never entered",
		[LOSS_TRUNCATED] = "they were cut: too deep, malformed, or a cut recording",
	};
	const char *separator = "";
	char text[COUNT_MAX];
	unsigned int i;

	for (i = 0; i < LOSS_CAUSES; i++) {
		if (!l->records[i] && !l->batches[i])
			continue;
		out_printf(o, "%s%s record%s", separator, count_text(text, l->records[i]),
			   plural(l->records[i]));
		if (l->batches[i])
			out_printf(o, " in %s batch%s", count_text(text, l->batches[i]),
				   l->batches[i] == 1 ? "" : "es");
		out_printf(o, " lost because %s [%s]", why[i], loss_name(i));
		separator = "; ";
	}
}

/* Top and own groups hold what others hold too: they say less. */
static bool general(const struct snapshot_group *g)
{
	return !strcmp(g->kind, kind_name(VMSPAN_TOP)) ||
	       !strcmp(g->kind, kind_name(VMSPAN_COMPARTMENT));
}

const struct snapshot_group *worst_group(const struct snapshot *s)
{
	static const struct view view = { .sort = "jank" };
	const struct snapshot_group **rows, *worst = NULL;
	u32 i, n;

	rows = view_rows(s, &view, &n);
	for (i = 0; rows && i < n && !worst; i++)
		if (rows[i]->stats.wall_ns && !general(rows[i]))
			worst = rows[i];
	if (rows && n && !worst && rows[0]->stats.wall_ns)
		worst = rows[0];
	free(rows);
	return worst;
}

/* What a group's time was mostly spent on, if it was not its own code. */
static void put_reason(struct out *o, const struct group_stats *g)
{
	const struct {
		u64 ns;
		const char *what;
	} parts[] = {
		{ g->gc_ns, "in collections" },
		{ g->blocked_ns, "waiting in blocking calls" },
		{ g->wall_ns - min_u64(g->self_ns + g->gc_ns + g->blocked_ns, g->wall_ns),
		  "in code it called" },
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

/* The widest limit that still says something: buckets of 256, 64, 16, 4 and
 * 1 ms. Negative: the group never held a turn that long. */
static int telling_bucket(const struct group_stats *g)
{
	int i;

	for (i = 8; i >= 0 && !g->durations[i];)
		i -= 2;
	return i;
}

static void put_held(struct out *o, const struct snapshot *s, const struct group_stats *g,
		     int bucket, bool interval)
{
	char a[COUNT_MAX], b[COUNT_MAX], max[TEXT_NS_MAX];

	out_printf(o, "held %s of %s turn%s longer than %u ms, %s at worst",
		   count_text(a, g->durations[bucket]), count_text(b, s->events.count),
		   plural(s->events.count), 1u << bucket, text_ns(max, row_max_ns(g, interval)));
}

void summary_group(struct out *o, const struct snapshot *s, const struct snapshot_group *g,
		   bool interval)
{
	int bucket = telling_bucket(&g->stats);
	char max[TEXT_NS_MAX];

	if (!g->stats.wall_ns) {
		out_puts(o, "was never entered");
		return;
	}
	if (bucket >= 0)
		put_held(o, s, &g->stats, bucket, interval);
	else
		out_printf(o, "held no turn longer than 1 ms, %s at worst",
			   text_ns(max, row_max_ns(&g->stats, interval)));
	put_reason(o, &g->stats);
}

void summary_worst(struct out *o, const struct snapshot *s, bool interval)
{
	const struct snapshot_group *g = worst_group(s);
	char name[512], max[TEXT_NS_MAX];
	int bucket;

	if (!g) {
		out_puts(o, "no group was entered");
		return;
	}
	name_text(name, sizeof(name), g->name);
	bucket = telling_bucket(&g->stats);
	if (bucket < 0) {
		out_printf(o, "no group held a turn longer than 1 ms; the longest was %s in %s",
			   text_ns(max, row_max_ns(&g->stats, interval)), name);
	} else {
		out_printf(o, "%s ", name);
		put_held(o, s, &g->stats, bucket, interval);
	}
	put_reason(o, &g->stats);
}
