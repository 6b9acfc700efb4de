/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/alert_nest.h"

/* Names are the model's own: the same text is the same pointer. */
struct sums {
	const char *a, *b;
	u64 a_ns, b_ns; /* in outermost stays of each */
	u64 a_in_b_ns, b_in_a_ns; /* in outermost ones of each that are inside of the other */
};

/* What is around a node. */
struct around {
	bool a, b;
	bool a_in_b, b_in_a; /* a, somewhere inside of b */
};

static void add_nodes(struct sums *s, const struct tree_node *n, struct around out)
{
	for (; n; n = n->next) {
		bool span = n->type == VMSPAN_SPAN;
		bool is_a = span && n->group == s->a, is_b = span && n->group == s->b;
		bool a_in_b = is_a && out.b, b_in_a = is_b && out.a;

		s->a_ns += is_a && !out.a ? n->total_ns : 0;
		s->b_ns += is_b && !out.b ? n->total_ns : 0;
		s->a_in_b_ns += a_in_b && !out.a_in_b ? n->total_ns : 0;
		s->b_in_a_ns += b_in_a && !out.b_in_a ? n->total_ns : 0;
		add_nodes(s, n->child,
			  (struct around){ out.a || is_a, out.b || is_b, out.a_in_b || a_in_b,
					   out.b_in_a || b_in_a });
	}
}

/* Frames are innermost first. Of a stack that was cut, what is left out is around the rest:
 * either group may be there. */
static void add_stack(struct sums *s, const struct stack *k)
{
	u64 ns = k->ran_ns + k->waited_ns;
	struct around in = { 0 };
	u32 i;

	for (i = 0; i < k->depth; i++) {
		bool is_a = k->groups[i] == s->a, is_b = k->groups[i] == s->b;

		in.a_in_b |= in.a && is_b;
		in.b_in_a |= in.b && is_a;
		in.a |= is_a;
		in.b |= is_b;
	}
	s->a_ns += in.a ? ns : 0;
	s->b_ns += in.b ? ns : 0;
	s->a_in_b_ns += in.a_in_b || (in.a && k->cut) ? ns : 0;
	s->b_in_a_ns += in.b_in_a || (in.b && k->cut) ? ns : 0;
}

/* Is it most of what the group was charged? */
static bool most(u64 seen_ns, u64 charged_ns)
{
	return seen_ns && seen_ns >= charged_ns - charged_ns / 8;
}

/* False: it does not tell. */
static bool look_up(struct sums *s, const struct tree *t, u64 a_ns, u64 b_ns)
{
	u32 i;

	if (!t->stacks.looks) {
		add_nodes(s, t->roots, (struct around){ 0 });
		return most(s->a_ns, a_ns) && most(s->b_ns, b_ns);
	}
	/* What few looks stand for is not what is charged, but their shares of it are. */
	for (i = 0; i < t->stacks.len; i++)
		add_stack(s, &t->stacks.list[i]);
	return s->a_ns && s->b_ns && t->stacks.omitted <= t->stacks.looks / 8;
}

static u64 part(u64 charged_ns, u64 in_ns, u64 seen_ns)
{
	return (u64)((double)charged_ns * (double)in_ns / (double)seen_ns);
}

bool nest_find(const struct tree *t, const struct model_share *a, const struct model_share *b,
	       struct nest *out)
{
	struct sums s = { .a = a->group, .b = b->group };

	if (!t || !look_up(&s, t, a->wall_ns, b->wall_ns))
		return false;
	out->a_in_b_ns = part(a->wall_ns, s.a_in_b_ns, s.a_ns);
	out->b_in_a_ns = part(b->wall_ns, s.b_in_a_ns, s.b_ns);
	return true;
}
