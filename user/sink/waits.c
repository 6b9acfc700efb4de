/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/waits.h"

#include "sink/sink.h"
#include "sink/words.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static int longer_first(const void *a, const void *b)
{
	const struct model_wait *x = *(const struct model_wait *const *)a;
	const struct model_wait *y = *(const struct model_wait *const *)b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	return x < y ? -1 : 1;
}

char *waits_peer_text(char *dst, size_t cap, const struct model_wait *w)
{
	char group[300], process[300];

	name_text(group, sizeof(group), w->peer_group);
	name_text(process, sizeof(process), w->peer_process);
	if (!w->peer_pid)
		snprintf(dst, cap, "others");
	else if (*process)
		snprintf(dst, cap, "%s%s%s (%u)", group, *group ? " of " : "", process,
			 w->peer_pid);
	else
		snprintf(dst, cap, "%s%sprocess %u", group, *group ? " of " : "", w->peer_pid);
	return dst;
}

static void put_wait(struct out *o, const struct model_wait *w, unsigned int width)
{
	char name[512], who[WAITS_PEER_MAX], time[TEXT_NS_MAX], count[COUNT_TEXT_MAX];
	struct out line;

	out_open_memory(&line);
	out_printf(&line, "%s waited %s", name_text(name, sizeof(name), w->group),
		   time_text(time, w->ns));
	if (w->count > 1)
		out_printf(&line, " (%s times)", count_text(count, w->count));
	out_printf(&line, " for %s", waits_peer_text(who, sizeof(who), w));
	out_write(&line, "", 1);
	out_puts(o, "  ");
	if (line.error)
		o->error = line.error;
	else
		wrap_put(o, (const char *)line.buf.data, width, 2, 4);
	out_close(&line);
}

static bool is_shown(const struct model_wait *w, const char *glob)
{
	return w->count && group_matches(w->group, glob);
}

u32 waits_count(const struct model_wait *w, u32 n, const char *glob)
{
	u32 i, count = 0;

	for (i = 0; i < n; i++)
		count += is_shown(&w[i], glob);
	return count;
}

int waits_text(struct out *o, const struct model_wait *w, u32 n, const char *glob, u32 most,
	       unsigned int width)
{
	const struct model_wait **list = calloc(n + 1, sizeof(*list));
	u32 i, shown = 0;

	if (!list)
		return -ENOMEM;
	for (i = 0; i < n; i++)
		if (is_shown(&w[i], glob))
			list[shown++] = &w[i];
	qsort(list, shown, sizeof(*list), longer_first);
	for (i = 0; i < shown && i < most; i++)
		put_wait(o, list[i], width);
	if (shown > most)
		out_printf(o, "  and for %u more\n", shown - most);
	free(list);
	return 0;
}

void waits_json(struct json *j, const struct model_wait *w, u32 n)
{
	u32 i;

	json_key_array(j, "waits");
	for (i = 0; i < n; i++) {
		if (!w[i].count)
			continue;
		json_object(j);
		json_key_u64(j, "pid", w[i].pid);
		json_key_string(j, "group", w[i].group);
		json_key_u64(j, "peer_pid", w[i].peer_pid);
		json_key_string(j, "peer_process", w[i].peer_process);
		json_key_string(j, "peer_group", w[i].peer_group);
		json_key_u64(j, "ns", w[i].ns);
		json_key_u64(j, "count", w[i].count);
		json_end_object(j);
	}
	json_end_array(j);
}
