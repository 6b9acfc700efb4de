/* SPDX-License-Identifier: BSD-2-Clause */
/* Single events for people and as JSON. */
#include "sink/complete.h"
#include "sink/explain_priv.h"
#include "sink/figures.h"
#include "sink/waits.h"
#include "sink/words.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WAITS_SHOWN 10
#define TREE_DEPTH 24 /* levels printed; deeper ones are counted */

static const char *const fate_words[FATES] = {
	[SPAN_KEPT] = "kept",
	[SPAN_MOVED] = "moved to another CPU",
	[SPAN_STALE] = "stale by a nested event",
	[SPAN_LOST] = "around lost records",
	[SPAN_BAD] = "with clocks that make no sense",
};
static const char *const fate_keys[FATES] = { "kept", "moved", "stale", "lost", "bad" };

static const struct {
	const char *key, *words;
	size_t offset;
} parts[] = {
#define PART(key, words)                                  \
	{                                                 \
#key, words, offsetof(struct ledger, key) \
	}
	PART(self_ns, "in groups"),
	PART(gc_ns, "gc"),
	PART(blocked_ns, "blocked"),
	PART(native_ns, "native"),
	PART(preempted_ns, "of it kept off the CPU"),
	PART(stopped_ns, "stopped"),
	PART(frozen_ns, "frozen"),
	PART(throttled_ns, "throttled"),
	PART(moved_ns, "moved"),
	PART(stale_ns, "stale"),
	PART(lost_ns, "lost"),
#undef PART
};

static u64 part_of(const struct ledger *l, size_t i)
{
	return *(const u64 *)((const char *)l + parts[i].offset);
}

static int by_wall(const void *a, const void *b)
{
	const struct kept *x = *(const struct kept *const *)a, *y = *(const struct kept *const *)b;

	if (x->e.ledger.event_wall_ns != y->e.ledger.event_wall_ns)
		return x->e.ledger.event_wall_ns < y->e.ledger.event_wall_ns ? 1 : -1;
	return x->order < y->order ? -1 : 1;
}

static int by_order(const void *a, const void *b)
{
	const struct kept *x = *(const struct kept *const *)a, *y = *(const struct kept *const *)b;

	return x->order < y->order ? -1 : 1;
}

/* The events in the order asked for: an array to free(). */
static const struct kept **sorted(const struct explain *x)
{
	const struct kept **list = calloc(x->kept_len + 1, sizeof(*list));
	u32 i;

	for (i = 0; list && i < x->kept_len; i++)
		list[i] = &x->kept[i];
	if (list)
		qsort(list, x->kept_len, sizeof(*list), x->iteration ? by_order : by_wall);
	return list;
}

static const char *node_kind(const struct node *n)
{
	return n->type == VMSPAN_GC      ? "gc"
	       : n->type == VMSPAN_BLOCK ? "blocked"
	       : n->type == VMSPAN_EVENT ? "nested event"
					 : "";
}

/* ---- For people ---- */

static void put_cpus(struct out *o, u64 cpus)
{
	const char *comma = "";
	unsigned int i;

	out_puts(o, (cpus & (cpus - 1)) ? "CPUs " : "CPU ");
	for (i = 0; i < 64; i++) {
		if (!(cpus >> i & 1))
			continue;
		out_printf(o, "%s%u%s", comma, i, i == 63 ? "+" : "");
		comma = ",";
	}
}

static void put_node(struct out *o, const struct node *n, unsigned int depth)
{
	char time[TEXT_NS_MAX], name[512];
	u32 i;

	for (; n; n = n->next) {
		out_printf(o, "%10s", time_text(time, n->ns));
		out_printf(o, " %*s", (int)(2 * depth + 1), "");
		if (*node_kind(n))
			out_printf(o, "(%s%s) ", node_kind(n), *n->name ? ":" : "");
		if (n->type == VMSPAN_EVENT)
			out_printf(o, "%u ", n->iteration);
		out_printf(o, "%s", name_text(name, sizeof(name), n->name));
		if (*n->group && strcmp(n->group + strcspn(n->group, ":") + 1, n->name))
			out_printf(o, " [%s]", name_text(name, sizeof(name), n->group));
		if (n->count > 1)
			out_printf(o, " x%llu, longest %s", (unsigned long long)n->count,
				   time_text(time, n->max_ns));
		if (n->off_ns)
			out_printf(o, ", %s of it without a CPU", time_text(time, n->off_ns));
		out_puts(o, ", ");
		put_cpus(o, n->cpus);
		if (n->peer)
			out_printf(o, ", waits for process %llu", (unsigned long long)n->peer);
		if (n->freed_bytes)
			out_printf(o, ", frees %llu bytes", (unsigned long long)n->freed_bytes);
		for (i = SPAN_KEPT + 1; i < FATES; i++)
			if (n->fate[i])
				out_printf(o, "; %llu discarded: %s",
					   (unsigned long long)n->fate[i], fate_words[i]);
		if (n->repaired)
			out_printf(o, "; %llu never left, closed later",
				   (unsigned long long)n->repaired);
		out_puts(o, "\n");
		if (depth < TREE_DEPTH)
			put_node(o, n->child, depth + 1);
		else if (n->child)
			out_printf(o, "%10s %*s...\n", "", (int)(2 * depth + 3), "");
	}
}

static void put_shares(struct out *o, const struct kept *k)
{
	char a[TEXT_NS_MAX], b[TEXT_NS_MAX], c[TEXT_NS_MAX], d[TEXT_NS_MAX], g[TEXT_NS_MAX];
	char cpu[TEXT_NS_MAX + 1];
	u32 i, r;

	if (!k->e.share_count)
		return;
	out_printf(o, "  %8s %8s %8s %8s %8s %8s  %s\n", "WALL", "SELF", "CPU", "BLOCKED", "GC",
		   "SPANS", "GROUP");
	for (i = 0; i < k->e.share_count; i++) {
		const struct model_share *s = &k->shares[i];

		snprintf(cpu, sizeof(cpu), "%s%s", about_text(s->cpu_ns, s->cpu_margin_ns),
			 time_text(c, s->cpu_ns));
		out_printf(o, "  %8s %8s %8s %8s %8s %8llu  ", time_text(a, s->wall_ns),
			   time_text(b, s->self_ns), cpu, time_text(d, s->blocked_ns),
			   time_text(g, s->gc_ns), (unsigned long long)s->spans);
		name_put(o, s->group, 0);
		for (r = VMSPAN_OFF_PREEMPTED; r < VMSPAN_OFF_REASONS; r++)
			if (s->off_ns[r])
				out_printf(o, "; %s %s", off_reasons[r].words,
					   time_text(a, s->off_ns[r]));
		out_puts(o, "\n");
	}
}

static void put_event(const struct explain *x, struct out *o, const struct kept *k,
		      unsigned int width)
{
	char time[TEXT_NS_MAX], name[512];
	const char *comma = "";
	struct out line;
	size_t i;

	out_open_memory(&line);
	if (k->e.implicit)
		out_puts(&line, "outside of events");
	else
		out_printf(&line, "event %u", k->e.iteration);
	if (*k->e.label)
		out_printf(&line, " (%s)", name_text(name, sizeof(name), k->e.label));
	out_printf(&line, ": %s", time_text(time, k->e.ledger.event_wall_ns));
	out_printf(&line, " at +%s", time_text(time, k->e.begin_ns - x->begin_ns));
	if (k->e.cpu_ns || !k->e.implicit)
		out_printf(&line, ", CPU %s", time_text(time, k->e.cpu_ns));
	else
		out_puts(&line, ", CPU time not known");
	out_printf(&line, ", %s ", name_text(name, sizeof(name), k->process));
	out_printf(&line, "(%u), thread %u", k->pid, k->tid);
	if (*k->thread)
		out_printf(&line, " %s", name_text(name, sizeof(name), k->thread));
	if (!k->e.implicit)
		out_printf(&line, ", CPU %u to %u", k->e.cpu_begin, k->e.cpu_end);
	if (k->e.parent)
		out_printf(&line, ", inside event %u", k->e.parent);
	if (k->e.missing)
		out_printf(&line, "; INCOMPLETE: %s", missing_text(k->e.missing));
	out_write(&line, "", 1);
	wrap_put(o, (const char *)line.buf.data, width, 0, 2);
	buf_free(&line.buf);
	out_puts(o, "  ");
	for (i = 0; i < ARRAY_SIZE(parts); i++) {
		if (!part_of(&k->e.ledger, i))
			continue;
		out_printf(o, "%s%s %s", comma, parts[i].words,
			   time_text(time, part_of(&k->e.ledger, i)));
		comma = ", ";
	}
	out_puts(o, "\n");
	put_shares(o, k);
	if (waits_text(o, k->waits, k->e.wait_count, NULL, WAITS_SHOWN, width))
		o->error = -ENOMEM;
	put_node(o, k->tree, 0);
	if (k->omitted)
		out_printf(o, "  and %llu spans more\n", (unsigned long long)k->omitted);
}

void explain_text(const struct explain *x, struct out *o, unsigned int width)
{
	const struct kept **list = sorted(x);
	u32 i;

	if (!list) {
		o->error = -ENOMEM;
		return;
	}
	if (!x->kept_len)
		out_puts(o, "no events\n");
	for (i = 0; i < x->kept_len; i++) {
		if (i)
			out_puts(o, "\n");
		put_event(x, o, list[i], width);
	}
	if (x->left_out)
		out_printf(o, "\nand %llu events more of this number\n",
			   (unsigned long long)x->left_out);
	free(list);
}

/* ---- JSON ---- */

static void json_node(struct json *j, const struct node *n)
{
	u32 i;

	json_array(j);
	/* Two levels of JSON a level of the tree. */
	for (; n && j->depth + 4 < JSON_DEPTH; n = n->next) {
		json_object(j);
		json_key_string(j, "type", *node_kind(n) ? node_kind(n) : "span");
		json_key_string(j, "name", n->name);
		json_key_string(j, "group", n->group);
		if (n->type == VMSPAN_EVENT)
			json_key_u64(j, "event", n->iteration);
		json_key_u64(j, "count", n->count);
		json_key_u64(j, "ns", n->ns);
		json_key_u64(j, "max_ns", n->max_ns);
		if (n->off_ns)
			json_key_u64(j, "off_ns", n->off_ns);
		for (i = 0; i < FATES; i++)
			if (n->fate[i])
				json_key_u64(j, fate_keys[i], n->fate[i]);
		json_key_array(j, "cpus");
		for (i = 0; i < 64; i++)
			if (n->cpus >> i & 1)
				json_u64(j, i);
		json_end_array(j);
		if (n->peer)
			json_key_u64(j, "peer", n->peer);
		if (n->freed_bytes)
			json_key_u64(j, "freed_bytes", n->freed_bytes);
		if (n->repaired)
			json_key_u64(j, "repaired", n->repaired);
		json_key(j, "inside");
		json_node(j, n->child);
		json_end_object(j);
	}
	json_end_array(j);
}

static void json_shares(struct json *j, const struct kept *k)
{
	u32 i;

	json_key_array(j, "groups");
	for (i = 0; i < k->e.share_count; i++) {
		const struct model_share *s = &k->shares[i];

		json_object(j);
		json_key_string(j, "name", s->group);
		json_key_u64(j, "ticks", s->ticks);
		json_key_u64(j, "spans", s->spans);
		json_key_u64(j, "wall_ns", s->wall_ns);
		json_key_u64(j, "self_ns", s->self_ns);
		json_key_u64(j, "cpu_ns", s->cpu_ns);
		if (s->cpu_margin_ns)
			json_key_u64(j, "cpu_margin_ns", s->cpu_margin_ns);
		json_key_u64(j, "blocked_ns", s->blocked_ns);
		json_key_u64(j, "gc_ns", s->gc_ns);
		off_json(j, s->preempted_ns, s->off_ns);
		json_end_object(j);
	}
	json_end_array(j);
}

static void json_event(const struct explain *x, struct json *j, const struct kept *k)
{
	size_t i;

	json_object(j);
	json_key_u64(j, "event", k->e.iteration);
	json_key_string(j, "label", k->e.label);
	json_key_string(j, "process", k->process);
	json_key_string(j, "thread", k->thread);
	json_key_u64(j, "pid", k->pid);
	json_key_u64(j, "tid", k->tid);
	json_key_u64(j, "at_ns", k->e.begin_ns - x->begin_ns);
	json_key_u64(j, "wall_ns", k->e.ledger.event_wall_ns);
	json_key_u64(j, "cpu_ns", k->e.cpu_ns);
	json_key_u64(j, "parent", k->e.parent);
	json_key_bool(j, "implicit", k->e.implicit);
	json_key_bool(j, "complete", !k->e.missing);
	if (k->e.missing)
		json_key_string(j, "missing", missing_name(k->e.missing));
	json_key_object(j, "ledger");
	for (i = 0; i < ARRAY_SIZE(parts); i++)
		json_key_u64(j, parts[i].key, part_of(&k->e.ledger, i));
	json_end_object(j);
	json_shares(j, k);
	waits_json(j, k->waits, k->e.wait_count);
	json_key_u64(j, "omitted_spans", k->omitted);
	json_key(j, "tree");
	json_node(j, k->tree);
	json_end_object(j);
}

void explain_json(const struct explain *x, struct json *j, const struct report_source *src)
{
	const struct kept **list = sorted(x);
	u32 i;

	if (!list) {
		j->out->error = -ENOMEM;
		return;
	}
	json_object(j);
	json_key_u64(j, "schema", 1);
	json_key_string(j, "tool", "vmspan");
	json_key_object(j, "source");
	json_key_string(j, "kind", src->kind);
	json_key_string(j, "file", src->file ? src->file : "");
	json_key_string(j, "migrated", src->migrated);
	json_key_string(j, "nested", src->nested);
	json_end_object(j);
	json_key_array(j, "explained");
	for (i = 0; i < x->kept_len; i++)
		json_event(x, j, list[i]);
	json_end_array(j);
	json_end_object(j);
	free(list);
}
