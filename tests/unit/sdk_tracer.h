/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A tracer without a kernel, for the tests of version 1 of the SDK: an int3 over the first
 * byte of the flush site, as a uprobe would put there, and a SIGTRAP handler
 * that copies the batch. Every batch that passes is checked for its form and
 * for the continuity of its thread's sequence. Batches of forked children
 * arrive in the same place.
 */
#ifndef SDK_TRACER_H
#define SDK_TRACER_H

/* A busy machine must not make marks look old: in hours they do. */
#define VMSPAN__FLUSH_MS 10000000
#include "sdk/v1/vmspan.h"
#include "step.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

typedef vmspan_u32 u32;
typedef vmspan_u64 u64;

enum {
	SHOTS = 4096, /* batches kept; later ones are only checked and counted */
	THREADS = 4096,
	RECORDS = 1 << 16,
};

struct shot {
	u32 pid;
	char data[VMSPAN_BATCH_BYTES] __attribute__((aligned(8)));
};

/* Shared with forked children. */
static struct tracer {
	_Atomic u32 shots, bad, bad_line;
	_Atomic u64 count[256]; /* records, by type */
	struct shot shot[SHOTS];
} * tracer;

/* This process's own: where the next batch of a thread must begin. */
static u64 tracer_next[THREADS];

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

static void tracer_check(const struct vmspan_batch *b, u64 bytes, u64 seq)
{
	const char *p = (const char *)(b + 1), *end = (const char *)b + bytes;
	u32 records = 0;

	SOUND(bytes >= sizeof(*b) + VMSPAN_SLOT && bytes <= VMSPAN_BATCH_BYTES);
	SOUND(b->magic == VMSPAN_BATCH_MAGIC && b->abi == VMSPAN_ABI);
	SOUND(b->bytes == bytes && b->seq == seq);
	SOUND(b->registry == (u64)(size_t)&vmspan_registry_1);
	SOUND(b->tid == (u32)syscall(SYS_gettid));
	SOUND(b->thread > 0 && b->thread < THREADS);
	while (p < end) {
		const struct vmspan_head *h = (const struct vmspan_head *)p;
		const struct vmspan_span *s = (const struct vmspan_span *)p;

		SOUND(h->slots >= 1 && h->slots * VMSPAN_SLOT <= end - p);
		SOUND(h->type >= VMSPAN_SPAN && h->type <= VMSPAN_DEF_LABEL);
		SOUND((h->depth & VMSPAN_DEPTH_MASK) <= VMSPAN_DEPTH_MAX);
		SOUND(h->type != VMSPAN_SPAN || s->cpu_begin != s->cpu_end || s->end >= s->begin);
		tracer->count[h->type]++;
		p += h->slots * VMSPAN_SLOT;
		records++;
	}
	SOUND(records == b->records);
	/* A new session may have dropped what the old one left: only forward. */
	SOUND(seq >= tracer_next[b->thread]);
	tracer_next[b->thread] = seq + records;
}

static void tracer_trap(int sig, siginfo_t *info, void *context)
{
	greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
	u32 i;

	(void)sig;
	(void)info;
	if (r[REG_RIP] != (greg_t)(size_t)vmspan_site_flush_1 + 1) {
		if (!step_trap(r))
			_exit(99); /* neither the probe nor a step */
		return;
	}
	step_lift(); /* what is done here is not of the code that is looked at */
	tracer_check((const struct vmspan_batch *)(size_t)r[REG_RDI], (u64)r[REG_RSI],
		     (u64)r[REG_RDX]);
	i = tracer->shots++;
	if (i < SHOTS && r[REG_RSI] <= VMSPAN_BATCH_BYTES) {
		tracer->shot[i].pid = (u32)getpid();
		memcpy(tracer->shot[i].data, (const void *)(size_t)r[REG_RDI], (size_t)r[REG_RSI]);
	}
	step_put();
}

/* Puts the probe in. */
static int tracer_setup(void **state)
{
	struct sigaction sa = { .sa_sigaction = tracer_trap, .sa_flags = SA_SIGINFO | SA_NODEFER };
	unsigned char *site = (unsigned char *)(size_t)vmspan_site_flush_1;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	(void)state;
	tracer = mmap(NULL, sizeof(*tracer), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (tracer == MAP_FAILED || sigaction(SIGTRAP, &sa, NULL))
		return -1;
	if (mprotect(site - (size_t)site % page, page, PROT_READ | PROT_WRITE | PROT_EXEC))
		return -1;
	if (*site != 0x90)
		return -1;
	*site = 0xcc;
	return 0;
}

/* The thread's counters when the tracer came: they are totals of its life. */
static struct vmspan_batch tracer_base;

/* A tracer comes, as a new session, or goes. */
static void tracer_on(void)
{
	memset(&tracer_base, 0, sizeof(tracer_base));
	if (vmspan_self_1)
		tracer_base = vmspan_self_1->batch;
	tracer->shots = tracer->bad = 0;
	for (u32 i = 0; i < 256; i++)
		tracer->count[i] = 0;
	vmspan_registry_1.session++;
	*(volatile vmspan_u16 *)&vmspan_registry_1.semaphore = 1;
}

static VMSPAN__UNUSED void tracer_off(void)
{
	*(volatile vmspan_u16 *)&vmspan_registry_1.semaphore = 0;
}

/* The records of a process in order of arrival; `thread` 0: of all threads. */
static const struct vmspan_head *seen[RECORDS];
static u32 seen_count;

static void collect_of(u32 pid, u32 thread)
{
	u32 shots = tracer->shots;

	seen_count = 0;
	assert_true(shots <= SHOTS);
	for (u32 i = 0; i < shots; i++) {
		const struct vmspan_batch *b = (const void *)tracer->shot[i].data;
		const char *p = (const char *)(b + 1), *end = (const char *)b + b->bytes;

		if (tracer->shot[i].pid != pid || (thread && b->thread != thread))
			continue;
		for (; p < end; p += ((const struct vmspan_head *)p)->slots * VMSPAN_SLOT) {
			assert_true(seen_count < RECORDS);
			seen[seen_count++] = (const struct vmspan_head *)p;
		}
	}
	if (tracer->bad)
		print_error("a batch failed the check of line %u\n", tracer->bad_line);
	assert_int_equal(tracer->bad, 0);
}

/* Hands over what is pending and reads everything. */
static VMSPAN__UNUSED void collect(void)
{
	vmspan_flush();
	collect_of((u32)getpid(), 0);
}

static VMSPAN__UNUSED const struct vmspan_batch *shot_batch(u32 i)
{
	assert_true(i < tracer->shots);
	return (const struct vmspan_batch *)(const void *)tracer->shot[i].data;
}

/* A counter of the newest batch, since the tracer came. */
#define COUNTED(counter) (shot_batch(tracer->shots - 1)->counter - tracer_base.counter)

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
	assert_int_equal(e->h.depth, base);
	assert_int_equal(e->records, records);
	return e;
}

#endif
