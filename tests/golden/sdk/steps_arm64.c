/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A thread that is interrupted before each instruction of a mark in turn, on aarch64: each mark
 * has to be there once, and in order. On x86-64 tests/unit/v2_marks_test.c and others step through it; here
 * a breakpoint is put in the place of the instruction. The SDK is shown a struct rseq that the kernel does
 * not know, and what the kernel does to an interrupted thread, the breakpoint's handler does.
 *
 *   steps_arm64   Prints how often it was interrupted; 1: a mark is not there, or not where it belongs
 */
#define VMSPAN_RING 4096
#define vmspan_site_flush_2 handed_over
#include "sdk/vmspan.h"

#include "tests/unit/rseq_played.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

enum {
	ROUND = 300, /* marks: more than a ring holds */
	MARKS = 1 << 14, /* of a round, those of handlers and of the thread's clock among them */
	HANDLER = 9000, /* what its handler enters */
	BREAKPOINT = 0xd4200000, /* brk #0 */
};

static void fail(const char *what, unsigned long at, unsigned long n)
{
	fprintf(stderr, "instruction %lu, mark %lu: %s\n", at, n, what);
	exit(1);
}

/* ---- The kernel's part ---- */

static vmspan_u32 *place, instead; /* of the breakpoint, and what stands there else */
static bool handler_marks;
static unsigned long interrupted, begun_anew;
static unsigned int now; /* mark under way */
static unsigned int seen_at[MARKS], seen; /* of each of the handler's visits, the mark under way */

static void put(vmspan_u32 instruction)
{
	*(volatile vmspan_u32 *)place = instruction;
	__builtin___clear_cache((char *)place, (char *)(place + 1));
}

static void trap(int sig, siginfo_t *info, void *context)
{
	unsigned long long *pc = &((ucontext_t *)context)->uc_mcontext.pc;

	(void)sig;
	(void)info;
	if (*pc != (size_t)place)
		_exit(99);
	put(instead);
	interrupted++;
	*pc = rseq_interrupt(*pc);
	begun_anew += *pc != (size_t)place;
	if (!handler_marks)
		return;
	seen_at[seen++] = now;
	vmspan_enter(HANDLER);
	vmspan_leave(HANDLER);
}

/* ---- What was marked ---- */

static struct vmspan_mark got[MARKS];
static unsigned int have;
static vmspan_u64 position;

void handed_over(const void *what, vmspan_u64 bytes, vmspan_u64 from)
{
	const struct vmspan_ring *g = what;
	vmspan_u64 end = from + (bytes & ~VMSPAN_FLUSH_MARKS);

	if (!(bytes & VMSPAN_FLUSH_MARKS))
		return;
	for (from = from > position ? from : position; from < end; from += sizeof(*got)) {
		if (have == MARKS)
			_exit(98);
		got[have++] = *(const struct vmspan_mark *)(size_t)(g->base + (from & g->mask));
	}
	position = end > position ? end : position;
}

static vmspan_u32 type_of(unsigned int n)
{
	static const vmspan_u32 types[] = { VMSPAN_MARK_EVENT_BEGIN, VMSPAN_MARK_ENTER,
					    VMSPAN_MARK_VALUE, VMSPAN_MARK_LEAVE,
					    VMSPAN_MARK_EVENT_END };

	return types[n % 5];
}

static void mark(unsigned int n)
{
	switch (type_of(n)) {
	case VMSPAN_MARK_EVENT_BEGIN:
		vmspan_event_begin(n);
		break;
	case VMSPAN_MARK_ENTER:
		vmspan_enter(n);
		break;
	case VMSPAN_MARK_VALUE:
		vmspan_value(n, -(long long)n);
		break;
	case VMSPAN_MARK_LEAVE:
		vmspan_leave(n);
		break;
	default:
		vmspan_event_end();
	}
}

static bool is_of_the_thread(const struct vmspan_mark *m)
{
	return m->type == VMSPAN_MARK_SWITCH || m->type == VMSPAN_MARK_CLOCK ||
	       m->type == VMSPAN_MARK_MORE || m->type == VMSPAN_MARK_FILL;
}

/* Each once and in order; the handler's two together, beside the mark that it interrupted. */
static void check(unsigned long at)
{
	unsigned int n = 0, visits = 0, i;
	vmspan_u64 last = 0;

	for (i = 0; i < have; i++) {
		const struct vmspan_mark *m = &got[i];

		if (m->type == VMSPAN_MARK_VALUE &&
		    (i + 1 == have || m[1].type != VMSPAN_MARK_MORE ||
		     m[1].cycles != (vmspan_u64) - (long long)m->id))
			fail("its value is not behind it", at, n);
		if (m->type != VMSPAN_MARK_MORE && m->type != VMSPAN_MARK_FILL) {
			if (m->cycles < last)
				fail("time goes back", at, n);
			last = m->cycles;
		}
		if (is_of_the_thread(m))
			continue;
		if (m->id == HANDLER && m->type == VMSPAN_MARK_ENTER) {
			while (++i < have && is_of_the_thread(&got[i]))
				;
			if (i == have || got[i].id != HANDLER || got[i].type != VMSPAN_MARK_LEAVE)
				fail("a handler's mark is torn from its other", at, n);
			last = got[i].cycles;
			if (visits == seen || n < seen_at[visits] || n > seen_at[visits] + 1)
				fail("a handler's marks are elsewhere", at, n);
			visits++;
		} else if (n == ROUND || m->type != type_of(n) ||
			   (m->type != VMSPAN_MARK_EVENT_END && m->id != n)) {
			fail("another is in its place", at, n);
		} else {
			n++;
		}
	}
	if (n != ROUND || visits != seen)
		fail("marks are missing", at, n);
}

/* All marks, each interrupted before an instruction, if it gets there. */
static void all(vmspan_u32 *instruction, unsigned long at)
{
	have = seen = 0;
	place = instruction;
	instead = *instruction;
	for (now = 0; now < ROUND; now++) {
		if (now % 50 == 0)
			rseq_played.cpu ^= 1;
		put(BREAKPOINT);
		mark(now);
		put(instead);
	}
	vmspan_flush();
	check(at);
}

/* Those of a sequence's function: it ends with what is begun anew. */
static void each_of(const vmspan_i64 at[3], void *function, bool aborts_by_jump)
{
	char *end = (char *)(size_t)((vmspan_u64)(size_t)&at[2] + (vmspan_u64)at[2]);
	vmspan_u32 *i, *last = (vmspan_u32 *)(void *)end + (aborts_by_jump ? 1 : 2);

	if (((vmspan_u32 *)(void *)end)[-1] != VMSPAN__SIGNATURE)
		fail("the kernel would not find its signature", 0, 0);
	for (i = function; i < last; i++)
		if ((char *)i != end - 4) /* no instruction: what the kernel looks for there */
			all(i, (unsigned long)(i - (vmspan_u32 *)function));
}

int main(void)
{
	struct sigaction sa = { .sa_sigaction = trap, .sa_flags = SA_SIGINFO | SA_NODEFER };
	size_t page = (size_t)sysconf(_SC_PAGESIZE), from = (size_t)vmspan_mark_2 & ~(page - 1);
	int marks;

	if (sigaction(SIGTRAP, &sa, NULL) ||
	    mprotect((void *)from, ((size_t)vmspan_put_2 & ~(page - 1)) - from + 2 * page,
		     PROT_READ | PROT_WRITE | PROT_EXEC))
		return 1;
	rseq_play(0);
	*(volatile vmspan_u16 *)&vmspan_registry_2.semaphore = 1;
	for (marks = 0; marks < 2; marks++) {
		handler_marks = marks;
		each_of(vmspan_mark_at_2, (void *)(size_t)vmspan_mark_2, true);
		each_of(vmspan_put_at_2, (void *)(size_t)vmspan_put_2, false);
	}
	printf("%lu interrupted, %lu begun anew\n", interrupted, begun_anew);
	return 0;
}
