/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes random marks, of a seed, and prints which records come of them, a line each. Built with
 * this version of the SDK and its reader (-DPLAYED: by restartable sequences, also where the
 * system has none), (-DOLD) with version 1, which makes the records itself, and (-DDIRECT) with the
 * kernel side's programs for conventional probes: all print the same.
 *   same_marks SEED MARKS
 */
#if defined(DIRECT)
#include "tests/unit/bpf_host.h"

#include "bpf/stopwatch.bpf.c"
#include <stdlib.h>
#elif defined(OLD)
#define VMSPAN__FLUSH_MS 10000000
#define vmspan_site_flush_1 handed_over
#include "user/sdk/v1/vmspan.h"
#define REGISTRY vmspan_registry_1
#else
#define vmspan_site_flush_2 handed_over
#include "sdk/vmspan.h"
#define REGISTRY vmspan_registry_2
#include "source/marks.h"
#ifdef PLAYED
#include "tests/unit/rseq_played.h"
#endif
#endif

#include <stdio.h>

#ifdef OLD
#define vmspan_point vmspan_mark
#define VMSPAN_F_LACKS 0
#define VMSPAN_F_UNREAD 0
#endif

/* That something lacks what was too deep, version 1 does not say, and of a stay only the kernel side. */
#ifdef DIRECT
#define STAY_LACKS VMSPAN_F_LACKS
#else
#define STAY_LACKS 0
#endif

static void print(const char *p, const char *end)
{
	for (; p < end; p += ((const struct vmspan_head *)(const void *)p)->slots * 32) {
		const void *r = p;
		const struct vmspan_head *h = r;
		const struct vmspan_event *e = r;
		const struct vmspan_span *s = r;
		const struct vmspan_gc *g = r;
		const struct vmspan_block *b = r;
		const struct vmspan_point *m = r;

		if (h->type >= VMSPAN_DEF_GROUP)
			continue;
		/* How good an event's CPU time is, is no matter of what was marked. */
		printf("%u depth %x id %u", h->type,
		       h->depth & ~(h->type == VMSPAN_EVENT
					    ? VMSPAN_F_COARSE | VMSPAN_F_UNREAD | VMSPAN_F_LACKS
					    : STAY_LACKS),
		       h->id);
		switch (h->type) {
		case VMSPAN_SPAN:
			printf(" in %u\n", s->iteration);
			break;
		case VMSPAN_EVENT:
			printf(" in %u, label %u, %u records\n", e->parent, e->label, e->records);
			break;
		case VMSPAN_GC:
			printf(" in %u, %llu to %llu\n", g->iteration,
			       (unsigned long long)g->bytes_before,
			       (unsigned long long)g->bytes_after);
			break;
		case VMSPAN_BLOCK:
			printf(" in %u, for %llu\n", b->iteration, (unsigned long long)b->peer);
			break;
		default:
			printf(" in %u, %lld\n", m->iteration, (long long)m->value);
		}
	}
}

#if defined(DIRECT)
static struct watch watch;
static struct watch_stack watch_stack;

static void *more(void *map, const void *key)
{
	(void)key;
	if (map == &watch_stacks)
		return &watch_stack;
	return map == &watches ? &watch : NULL;
}

static void print_taken(void)
{
	const struct wire_head *h = (const void *)host.record;

	print((const char *)(h + 1) + VMSPAN_BATCH_HEADER, (const char *)(h + 1) + h->bytes);
}

#define PROBE(name, params, call) \
	static void name params   \
	{                         \
		call;             \
	}
PROBE(vmspan_enter, (__u64 id), ____watch_enter(&host.registers, id))
PROBE(vmspan_leave, (__u64 id), ____watch_leave(&host.registers, id))
PROBE(vmspan_event_begin, (__u64 label), ____watch_ev_begin(&host.registers, label))
PROBE(vmspan_event_end, (void), watch_ev_end(&host.registers))
PROBE(vmspan_gc_begin, (__u64 label, __u64 bytes),
      ____watch_gc_begin(&host.registers, label, bytes))
PROBE(vmspan_gc_end, (__u64 bytes), ____watch_gc_end(&host.registers, bytes))
PROBE(vmspan_block_begin, (__u64 label, __u64 peer),
      ____watch_bl_begin(&host.registers, label, peer))
PROBE(vmspan_block_end, (void), watch_bl_end(&host.registers))
PROBE(vmspan_input, (__u64 label), ____watch_mark(&host.registers, VMSPAN_INPUT, label, 0))
PROBE(vmspan_frame, (__u64 label), ____watch_mark(&host.registers, VMSPAN_FRAME, label, 0))
PROBE(vmspan_value, (__u64 label, __u64 value),
      ____watch_mark(&host.registers, VMSPAN_VALUE, label, value))
PROBE(vmspan_flush, (void), watch_flush(&watch))
#elif defined(OLD)
void handed_over(const void *batch, vmspan_u64 bytes, vmspan_u64 seq)
{
	const struct vmspan_batch *b = batch;

	(void)seq;
	print((const char *)(b + 1), (const char *)b + bytes);
}
#else
static struct marks reader;

void handed_over(const void *what, vmspan_u64 bytes, vmspan_u64 from)
{
	const struct vmspan_ring *g = what;

	if (!(bytes & VMSPAN_FLUSH_MARKS) ||
	    marks_take(&reader, (const struct vmspan_mark *)(size_t)(g->base + (from & g->mask)),
		       (u32)bytes / 16, false))
		return;
	print((const char *)reader.out.data, (const char *)reader.out.data + reader.out.len);
	marks_taken(&reader);
}

static u64 as_it_is(void *ctx, u64 cycles)
{
	(void)ctx;
	return cycles;
}
#endif

static unsigned long long state;

static unsigned int drawn(unsigned int n)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (unsigned int)(state >> 33) % n;
}

int main(int argc, char **argv)
{
	unsigned long i, n = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;

	state = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
#if defined(DIRECT)
	machine_make();
	host.more = more;
	host.taken = print_taken;
#else
	*(volatile vmspan_u16 *)&REGISTRY.semaphore = 1;
#endif
#if !defined(OLD) && !defined(DIRECT)
	marks_init(&reader, as_it_is, NULL);
#endif
#ifdef PLAYED
	rseq_play(0);
#endif
	for (i = 0; i < n; i++) {
		unsigned int id = 1 + drawn(4);

		switch (drawn(40)) {
		case 0:
			vmspan_event_begin(id);
			break;
		case 1:
		case 2:
			vmspan_event_end();
			break;
		case 3:
			vmspan_gc_begin(id, i);
			break;
		case 4:
			vmspan_gc_end(i);
			break;
		case 5:
			vmspan_block_begin(id, id + 100);
			break;
		case 6:
			vmspan_block_end();
			break;
		case 7:
			vmspan_input(id);
			break;
		case 8:
			vmspan_frame(id);
			break;
		case 9:
			vmspan_value(id, -(long long)i);
			break;
		case 10: /* too deep */
			for (id = drawn(300); id; id--)
				vmspan_enter(1 + id % 3);
			break;
		case 11:
			for (id = drawn(300); id; id--)
				vmspan_leave(1 + id % 3);
			break;
		case 12:
			for (id = drawn(5) ? 0 : 40; id; id--)
				vmspan_event_begin(0);
			break;
		case 13:
			for (id = drawn(5) ? 0 : 40; id; id--)
				vmspan_event_end();
			break;
		default:
			if (drawn(2))
				vmspan_enter(id);
			else
				vmspan_leave(id);
		}
	}
	vmspan_flush();
#if defined(DIRECT)
	printf("%u too deep, %u unmatched, %u repaired\n", watch.batch.too_deep,
	       watch.batch.unmatched, watch.batch.repaired);
#elif !defined(OLD)
	printf("%u too deep, %u unmatched, %u repaired\n", reader.too_deep, reader.unmatched,
	       reader.repaired);
	marks_free(&reader);
#else
	printf("%u too deep, %u unmatched, %u repaired\n", vmspan_self_1->batch.too_deep,
	       vmspan_self_1->batch.unmatched, vmspan_self_1->batch.repaired);
#endif
	return 0;
}
