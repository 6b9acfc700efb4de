/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/stat.h"
#include "sink/complete.h"
#include "sink/summary.h"
#include "sink/words.h"

#include <stdio.h>

/* Columns of the jank buckets that are shown: > 1, 16, 64, 256 ms. */
static const unsigned int shown[] = { 0, 4, 6, 8 };

void stat_head(struct out *o)
{
	char title[16];
	size_t i;

	out_printf(o, "%8s %8s %8s %8s", "TIME", "EVENTS", "SPANS", "MEAN");
	for (i = 0; i < ARRAY_SIZE(shown); i++) {
		snprintf(title, sizeof(title), ">%ums", 1u << shown[i]);
		out_printf(o, " %6s", title);
	}
	out_printf(o, " %6s %7s  %s\n", "BUSY%", "LOST", "TOP GROUP");
}

void stat_line(struct out *o, const struct snapshot *delta, const struct snapshot *total,
	       u64 elapsed_ns, u64 interval_ns)
{
	const struct event_stats *e = &delta->events;
	const struct snapshot_group *g = worst_group(delta);
	char a[COUNT_TEXT_MAX], b[COUNT_TEXT_MAX], t[TEXT_NS_MAX], lost[COUNT_TEXT_MAX + 1];
	size_t i;

	out_printf(o, "%8s %8s %8s", time_text(t, elapsed_ns), count_short(a, e->count),
		   count_short(b, delta->spans));
	out_printf(o, " %8s", time_text(t, e->count ? e->wall_ns / e->count : 0));
	for (i = 0; i < ARRAY_SIZE(shown); i++)
		out_printf(o, " %6s", count_short(a, e->durations[shown[i]]));
	/* And more that nobody can count. */
	snprintf(lost, sizeof(lost), "%s%s", count_short(b, lost_counted(&delta->losses)),
		 lost_uncounted(&delta->losses) ? "+" : "");
	out_printf(o, " %6s %7s  ", percent_text(a, e->wall_ns, interval_ns), lost);
	if (g) {
		name_put(o, g->name, 0);
		out_printf(o, " %s %%", percent_text(a, g->stats.wall_ns, e->wall_ns));
	} else {
		out_puts(o, "-");
	}
	if (!snapshot_complete(total))
		out_puts(o, "  INCOMPLETE");
	out_puts(o, "\n");
}
