/* SPDX-License-Identifier: BSD-2-Clause */
/* What this thread has marked, as it lies in its ring; after vmspan.h, in C and C++. */
#ifndef SDK_MARKS_H
#define SDK_MARKS_H

#include <stdio.h>

#define EXPECT(c)                                              \
	do {                                                   \
		if (!(c)) {                                    \
			printf("line %d: %s\n", __LINE__, #c); \
			return 1;                              \
		}                                              \
	} while (0)

/* Turns this copy's marks on, as a tracer does, and marks are old in hours: on a busy machine too
 * nothing is handed over for its age. */
static inline void traced(void)
{
	struct vmspan_process *p = (struct vmspan_process *)(size_t)vmspan_registry_2.process;

	p->latency = ~0ull;
	*(volatile vmspan_u16 *)(void *)&vmspan_registry_2.semaphore = 1;
}

/* This thread's ring; NULL: it has none. */
static inline const struct vmspan_ring *own_ring(void)
{
	vmspan_u64 *place =
		vmspan__place((struct vmspan_process *)(size_t)vmspan_registry_2.process);

	return place && *place ? vmspan__ring_at(*place) : NULL;
}

/* The i-th mark of the thread that the program made itself; NULL: there are fewer. */
static inline const struct vmspan_mark *own_mark(unsigned int i)
{
	const struct vmspan_ring *g = own_ring();
	vmspan_u64 at;

	for (at = g ? g->start : 0; g && at < g->head; at += sizeof(struct vmspan_mark)) {
		const struct vmspan_mark *m =
			(const struct vmspan_mark *)(size_t)(g->base + (at & g->mask));

		if (m->type != VMSPAN_MARK_SWITCH && m->type != VMSPAN_MARK_CLOCK &&
		    m->type != VMSPAN_MARK_MORE && m->type != VMSPAN_MARK_FILL && !i--)
			return m;
	}
	return NULL;
}

static inline int is_mark(unsigned int i, enum vmspan_mark_type type, vmspan_u32 id)
{
	const struct vmspan_mark *m = own_mark(i);

	return m && m->type == (vmspan_u32)type && m->id == id;
}

static inline unsigned int own_marks(void)
{
	unsigned int n = 0;

	while (own_mark(n))
		n++;
	return n;
}

#endif
