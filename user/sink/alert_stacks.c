/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/alert_stacks.h"
#include "sink/words.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Frames of a line for people. */
#define FRAMES_SHOWN 6
#define FRAME_CUT 64

/* The model has each name once: the same text is the same pointer. */
static bool is_of(const struct stack *k, const struct model_sample *m, u32 depth)
{
	return k->depth == depth && k->cut == (m->cut || m->count > depth) &&
	       !memcmp(k->frames, m->frames, depth * sizeof(*k->frames)) &&
	       !memcmp(k->groups, m->groups, depth * sizeof(*k->groups));
}

static struct stack *stack_of(struct stacks *s, const struct model_sample *m)
{
	u32 depth = (u32)min_u64(m->count, STACK_FRAMES), i;
	struct stack *k;

	for (i = 0; i < s->len; i++)
		if (is_of(&s->list[i], m, depth))
			return &s->list[i];
	if (s->len == STACKS_MAX)
		return NULL;
	k = &s->list[s->len++];
	*k = (struct stack){ .depth = depth, .cut = m->cut || m->count > depth };
	memcpy(k->frames, m->frames, depth * sizeof(*k->frames));
	memcpy(k->groups, m->groups, depth * sizeof(*k->groups));
	return k;
}

int stacks_add(struct stacks *s, const struct model_sample *m)
{
	struct stack *k;

	if (!s->list) {
		s->list = calloc(STACKS_MAX, sizeof(*s->list));
		if (!s->list)
			return -ENOMEM;
	}
	s->looks++;
	k = stack_of(s, m);
	if (!k) {
		s->omitted++;
		return 0;
	}
	k->count++;
	if (m->off)
		k->waited_ns += m->weight_ns;
	else
		k->ran_ns += m->weight_ns;
	return 0;
}

int stacks_copy(struct stacks *to, const struct stacks *from)
{
	*to = *from;
	if (!from->list)
		return 0;
	to->list = malloc(STACKS_MAX * sizeof(*to->list));
	if (!to->list) {
		*to = (struct stacks){ 0 };
		return -ENOMEM;
	}
	memcpy(to->list, from->list, from->len * sizeof(*to->list));
	return 0;
}

static u64 weight(const struct stack *k)
{
	return k->ran_ns + k->waited_ns;
}

static int heavier(const void *a, const void *b)
{
	u64 x = weight(a), y = weight(b);

	return x > y ? -1 : x < y;
}

void stacks_sort(struct stacks *s)
{
	if (s->len)
		qsort(s->list, s->len, sizeof(*s->list), heavier);
}

void stacks_free(struct stacks *s)
{
	free(s->list);
	*s = (struct stacks){ 0 };
}

void stacks_json(struct json *j, const struct stacks *s)
{
	u32 i, k;

	json_key_array(j, "stacks");
	for (i = 0; i < s->len; i++) {
		const struct stack *x = &s->list[i];

		json_object(j);
		json_key_u64(j, "count", x->count);
		json_key_u64(j, "ran_ns", x->ran_ns);
		json_key_u64(j, "waited_ns", x->waited_ns);
		json_key_bool(j, "cut", x->cut);
		json_key_array(j, "frames");
		for (k = 0; k < x->depth; k++) {
			json_object(j);
			json_key_string(j, "name", x->frames[k]);
			json_key_string(j, "group", x->groups[k]);
			json_end_object(j);
		}
		json_end_array(j);
		json_end_object(j);
	}
	json_end_array(j);
	json_key_u64(j, "stacks_omitted", s->omitted);
}

/* "f (/a/b/c.php)"; of a long path the end is what tells. */
static void put_frame(struct out *o, const char *frame)
{
	const char *slash, *tail = NULL;
	char name[512], *path;

	name_text(name, sizeof(name), frame);
	path = strstr(name, " (/");
	if (path && name_columns(name) > FRAME_CUT) {
		for (slash = strchr(path + 3, '/'); slash; slash = strchr(slash + 1, '/')) {
			tail = slash;
			if (strlen(tail) <= FRAME_CUT / 2)
				break;
		}
		if (tail && strlen(tail) <= FRAME_CUT)
			*path = 0;
		else
			tail = NULL;
	}
	name_put(o, name, (unsigned int)min_u64(name_columns(name), FRAME_CUT));
	if (tail)
		out_printf(o, " (...%s", tail);
}

void stacks_text(struct out *o, const struct stacks *s, unsigned int lines)
{
	char time[TEXT_NS_MAX];
	u32 i, k;

	for (i = 0; i < s->len && i < lines; i++) {
		const struct stack *x = &s->list[i];

		out_printf(o, "    seen %u time%s, %s %s:%s", x->count, plural(x->count),
			   time_text(time, weight(x)),
			   x->waited_ns > x->ran_ns ? "waiting" : "running",
			   x->depth ? "" : " outside of any function");
		for (k = 0; k < x->depth && k < FRAMES_SHOWN; k++) {
			out_puts(o, k ? " < " : " ");
			put_frame(o, x->frames[k]);
		}
		out_puts(o, x->cut || x->depth > FRAMES_SHOWN ? " < ...\n" : "\n");
	}
}
