/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A tracer without a kernel, for the tests of the SDK: an int3 over the first
 * byte of the flush site, as a uprobe would put there, and a SIGTRAP handler
 * that copies what is handed over. The real reader (source/marks.h) makes records of
 * it, so what is tested is both. What forked children hand over arrives in the same place.
 *
 * It can also play the kernel's part of rseq(2): see rseq_played.h.
 */
#ifndef V2_TRACER_H
#define V2_TRACER_H

#define VMSPAN__CLOCK_TRIES 1 /* step by step, each takes long */
#include "sdk/vmspan.h"

#include "rseq_played.h"
#include "source/live_mark_rings.h"
#include "step.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <ucontext.h>

enum {
	SHOTS = 8192, /* hand-overs kept; later ones are only checked and counted */
	THREADS = 1 << 14,
	RECORDS = 1 << 16,
};

struct shot {
	u32 pid;
	bool definition;
	u64 from;
	u32 bytes;
	struct vmspan_ring ring; /* its head */
	char data[VMSPAN_FLUSH_MAX] __attribute__((aligned(8)));
};

/* Shared with forked children. */
static struct tracer {
	pid_t pid; /* of the test */
	_Atomic u32 shots, bad, bad_line;
	_Atomic u64 handed_at; /* cycles, of the first since it was 0 */
	struct shot shot[SHOTS];
} * tracer;

static void tracer_bad(u32 line)
{
	tracer->bad_line = line;
	tracer->bad++;
}

#define SOUND(c)                                     \
	do {                                         \
		if (!(c))                            \
			return tracer_bad(__LINE__); \
	} while (0)

static void tracer_check(const struct vmspan_ring *g, u64 bytes, u64 from)
{
	SOUND(bytes <= VMSPAN_FLUSH_MAX && !(bytes % sizeof(struct vmspan_mark)));
	SOUND(g->magic == VMSPAN_MAGIC && g->abi == VMSPAN_ABI);
	SOUND(g->thread > 0 && g->thread < THREADS && g->tid);
	SOUND(from + bytes <= g->head && g->start <= g->head && g->handed <= g->head);
	/* In one piece. */
	SOUND((from & g->mask) + bytes <= g->mask + 1);
	SOUND(g->process == vmspan_registry_2.process);
}

static void tracer_hand_over(const greg_t *r)
{
	const struct vmspan_ring *g = (const struct vmspan_ring *)(size_t)r[REG_RDI];
	u64 size = (u64)r[REG_RSI], bytes = size & 0xffffffff, from = (u64)r[REG_RDX];
	struct shot *s;
	u32 i;

	/* Wiped: a handler has forked, and what is handed over in the child was its parent's. */
	if (size & VMSPAN_FLUSH_MARKS && !g->base && getpid() != tracer->pid)
		return;
	if (size & VMSPAN_FLUSH_MARKS)
		tracer_check(g, bytes, from);
	else if (!(size & VMSPAN_FLUSH_DEFINITION) || from != vmspan_registry_2.process)
		tracer_bad(__LINE__);
	i = tracer->shots++;
	if (i >= SHOTS || bytes > VMSPAN_FLUSH_MAX)
		return;
	s = &tracer->shot[i];
	s->pid = (u32)getpid();
	s->definition = size & VMSPAN_FLUSH_DEFINITION;
	s->from = from;
	s->bytes = (u32)bytes;
	if (s->definition) {
		memcpy(s->data, g, bytes);
		return;
	}
	s->ring = *g;
	memcpy(s->data, (const char *)(size_t)(g->base + (from & g->mask)), bytes);
}

/* What a test does behind a hand-over, before it returns. */
static void (*tracer_after)(void);

static void tracer_trap(int sig, siginfo_t *info, void *context)
{
	greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;

	(void)sig;
	(void)info;
	if (r[REG_RIP] == (greg_t)(size_t)vmspan_site_flush_2 + 1) {
		if (!tracer->handed_at)
			tracer->handed_at = vmspan__cycles();
		step_lift(); /* what is done here is not of the code that is looked at */
		tracer_hand_over(r);
		if (tracer_after)
			tracer_after();
		step_put();
	} else if (!step_trap(r)) {
		_exit(99); /* neither the probe nor a step */
	}
}

/* ---- The reader ---- */

/* Of this process's threads, and of a child's while its records are collected. */
static struct reader {
	struct marks m;
	u64 seen, last; /* position; cycles */
	bool used;
} reader[THREADS];

/* Where a thread's ring was when the tracer came. */
static u64 tracer_from[THREADS];

/* The records of a process in order of arrival. */
static const struct vmspan_head *seen[RECORDS];
static u32 seen_count;
static u32 seen_thread[RECORDS];
static struct buf seen_kept[SHOTS + THREADS];
static u32 seen_kept_count;
static u64 seen_of[256]; /* of them, by type */

/* The counter as it is: nothing is measured here. */
static u64 tracer_ns(void *ctx, u64 cycles)
{
	(void)ctx;
	return cycles;
}

static void keep(struct buf *b, u32 thread)
{
	const u8 *p = b->data, *end = p + b->len;

	assert_true(seen_kept_count < SHOTS + THREADS);
	seen_kept[seen_kept_count++] = *b;
	for (; p < end; p += ((const struct vmspan_head *)(const void *)p)->slots * VMSPAN_SLOT) {
		assert_true(seen_count < RECORDS);
		seen_thread[seen_count] = thread;
		seen[seen_count] = (const struct vmspan_head *)(const void *)p;
		seen_of[seen[seen_count++]->type]++;
	}
	memset(b, 0, sizeof(*b));
}

static void take(const struct vmspan_ring *g, u64 from, const struct vmspan_mark *marks, u32 bytes,
		 bool own)
{
	struct reader *t = &reader[g->thread];
	u64 at;

	if (!t->used) {
		marks_init(&t->m, tracer_ns, NULL);
		t->used = true;
		t->last = 0;
		t->seen = own ? max_u64(tracer_from[g->thread], g->start) : g->start;
	}
	at = t->seen > from ? t->seen : from;
	if (at >= from + bytes)
		return;
	assert_int_equal(at, t->seen); /* nothing is ever missing */
	assert_true(g->head - at <= g->mask + 1); /* nor overwritten */
	for (u32 i = (u32)(at - from) / sizeof(*marks); i < bytes / sizeof(*marks); i++)
		if (marks[i].type != VMSPAN_MARK_MORE) {
			assert_true(marks[i].cycles >= t->last);
			t->last = marks[i].cycles;
		}
	assert_int_equal(marks_take(&t->m, marks + (at - from) / sizeof(*marks),
				    (u32)((from + bytes - at) / sizeof(*marks)),
				    mark_ring_clock_comes(g, from + bytes)),
			 0);
	t->seen = from + bytes;
	keep(&t->m.out, g->thread);
	marks_taken(&t->m);
}

static void readers_reset(void)
{
	for (u32 i = 0; i < THREADS; i++) {
		if (reader[i].used)
			marks_free(&reader[i].m);
		reader[i].used = false;
	}
	for (u32 i = 0; i < seen_kept_count; i++)
		buf_free(&seen_kept[i]);
	seen_kept_count = seen_count = 0;
	memset(seen_of, 0, sizeof(seen_of));
}

static struct vmspan_process *process(void)
{
	return (struct vmspan_process *)(size_t)vmspan_registry_2.process;
}

/* What has come of a process since the tracer came: of this one, also what is in its rings. */
static void collect_of(u32 pid)
{
	bool own = pid == (u32)getpid();
	u32 shots = tracer->shots;

	readers_reset();
	assert_true(shots <= SHOTS);
	for (u32 i = 0; i < shots; i++) {
		struct shot *s = &tracer->shot[i];

		if (s->pid != pid)
			continue;
		if (s->definition) {
			struct buf b = { 0 };

			assert_int_equal(buf_put(&b, s->data, s->bytes), 0);
			keep(&b, 0);
		} else {
			take(&s->ring, s->from, (const void *)s->data, s->bytes, own);
		}
	}
	for (u64 at = own ? process()->rings : 0; at; at = vmspan__ring_at(at)->next) {
		const struct vmspan_ring *g = vmspan__ring_at(at);
		u64 from = max_u64(g->handed, max_u64(g->start, tracer_from[g->thread]));

		/* In one piece. */
		assert_true(g->head <= from || (from & g->mask) + (g->head - from) <= g->mask + 1);
		if (g->head > from)
			take(g, from, (const void *)(size_t)(g->base + (from & g->mask)),
			     (u32)(g->head - from), true);
	}
	if (tracer->bad)
		print_error("a hand-over failed the check of line %u\n", tracer->bad_line);
	assert_int_equal(tracer->bad, 0);
}

static VMSPAN__UNUSED void collect(void)
{
	collect_of((u32)getpid());
}

/* ---- Coming and going ---- */

/* Puts the probe in. */
static int tracer_setup(void **state)
{
	struct sigaction sa = { .sa_sigaction = tracer_trap, .sa_flags = SA_SIGINFO | SA_NODEFER };
	unsigned char *site = (unsigned char *)(size_t)vmspan_site_flush_2;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	(void)state;
	tracer = mmap(NULL, sizeof(*tracer), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	/* What the kernel copies is not interrupted by a handler of the program's. */
	sigaddset(&sa.sa_mask, SIGALRM);
	if (tracer != MAP_FAILED)
		tracer->pid = getpid();
	if (tracer == MAP_FAILED || sigaction(SIGTRAP, &sa, NULL))
		return -1;
	if (mprotect(site - (size_t)site % page, page, PROT_READ | PROT_WRITE | PROT_EXEC))
		return -1;
	if (*site != 0x90)
		return -1;
	*site = 0xcc;
	rseq_play(0);
	return 0;
}

/* A tracer comes, as a new session, or goes. A busy machine must not make marks look old: they do
 * in hours. */
static VMSPAN__UNUSED void tracer_on(void)
{
	struct vmspan_process *p = process();

	readers_reset();
	tracer->shots = tracer->bad = 0;
	memset(tracer_from, 0, sizeof(tracer_from));
	p->session++;
	p->latency = UINT64_MAX;
	for (u64 at = p->rings; at; at = vmspan__ring_at(at)->next) {
		struct vmspan_ring *g = vmspan__ring_at(at);

		tracer_from[g->thread] = g->limit = g->head;
	}
	*(volatile vmspan_u16 *)&vmspan_registry_2.semaphore = 1;
}

static VMSPAN__UNUSED void tracer_off(void)
{
	*(volatile vmspan_u16 *)&vmspan_registry_2.semaphore = 0;
}

/* This thread's ring; NULL: it has none. */
static VMSPAN__UNUSED struct vmspan_ring *own_ring(void)
{
	u64 *place = vmspan__place(process());

	return place && *place ? vmspan__ring_at(*place) : NULL;
}

/* A counter of this thread's reader. */
#define COUNTED(counter) (reader[own_ring()->thread].m.counter)

/* ---- What is expected ---- */

static VMSPAN__UNUSED void expect_span(u32 i, u32 id, u32 depth, u32 flags)
{
	const struct vmspan_span *s = (const struct vmspan_span *)seen[i];

	assert_true(i < seen_count);
	assert_int_equal(s->h.type, VMSPAN_SPAN);
	assert_int_equal(s->h.slots, 1);
	assert_int_equal(s->h.id, id);
	assert_int_equal(s->h.depth, depth | flags);
}

static VMSPAN__UNUSED const struct vmspan_event *expect_event(u32 i, u32 base, u32 records)
{
	const struct vmspan_event *e = (const struct vmspan_event *)seen[i];

	assert_true(i < seen_count);
	assert_int_equal(e->h.type, VMSPAN_EVENT);
	assert_int_equal(e->h.slots, 3);
	/* How good its CPU time is, is no matter of what was marked. */
	assert_int_equal(e->h.depth & ~(VMSPAN_F_COARSE | VMSPAN_F_UNREAD), base);
	assert_int_equal(e->records, records);
	return e;
}

#endif
