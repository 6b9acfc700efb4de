/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A signal before any instruction of a piece of code, each in turn; and a look after each one. By
 * single steps, or, where it is known which instruction that is, by a breakpoint on it, since a
 * signal at each step costs tens of microseconds on some virtual machines. For a program that
 * has a SIGTRAP handler which asks step_trap() first. x86-64 only, one thread at a time.
 */
#ifndef STEP_H
#define STEP_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define STEP_FLAG 0x100 /* TF of the flags: a trap after each instruction */

/* Gcc's plain build stops at each instruction in every run. Under sanitizers there are many more. */
#if defined(__SANITIZE_ADDRESS__) || !defined(__OPTIMIZE__)
#define STEP_STRIDE 41
#elif defined(__clang__)
#define STEP_STRIDE (getenv("VMSPAN_TEST_ALL") ? 1 : 5)
#else
#define STEP_STRIDE 1
#endif

static struct step {
	/* Every step, until it returns false; it may change where the thread goes on. */
	bool (*volatile each)(greg_t *ip);

	/* The one instruction that is looked for: `at` are before it. */
	void (*handler)(greg_t *ip);
	uint32_t at, now;
	bool done;
	bool by_steps;

	/* Where instructions lay when they were last stepped through, and where the handler came. */
	greg_t path[1 << 16], tried[1 << 16];
	uint32_t known, tries;

	/* The breakpoint. It is the in_at-th instruction when it is there for the `left`-th time. */
	unsigned char *in, was;
	uint32_t in_at, left;
	bool over; /* it is lifted for one step */
} step;

static void step_lift(void)
{
	if (step.in)
		*(volatile unsigned char *)step.in = step.was;
}

static void step_put(void)
{
	if (step.in && !step.over)
		*(volatile unsigned char *)step.in = 0xcc;
}

static bool step_next(greg_t *ip)
{
	if (step.now < sizeof(step.path) / sizeof(step.path[0])) {
		step.path[step.now] = *ip;
		step.known = step.now < step.known ? step.known : step.now + 1;
	}
	if (step.now++ < step.at)
		return true;
	if (step.tries < sizeof(step.tried) / sizeof(step.tried[0]))
		step.tried[step.tries++] = *ip;
	step.done = true;
	step.handler(ip);
	return false;
}

/* A trap is a step's, or the breakpoint's. By where it stopped, not by si_code: a hypervisor that
 * loses the debug status register (DR6) makes a single step look like a breakpoint. */
static bool step_trap(greg_t *r)
{
	if (step.over) {
		step.over = false;
		r[REG_EFL] &= ~STEP_FLAG;
		step_put();
	} else if (step.in && r[REG_RIP] == (greg_t)(size_t)step.in + 1) {
		step_lift();
		r[REG_RIP]--;
		if (--step.left) {
			step.over = true;
			r[REG_EFL] |= STEP_FLAG;
			return true;
		}
		step.in = NULL;
		step.now = step.in_at;
		if (step_next(&r[REG_RIP])) {
			step.each = step_next;
			r[REG_EFL] |= STEP_FLAG;
		}
	} else if (step.each) {
		if (!step.each(&r[REG_RIP]))
			r[REG_EFL] &= ~STEP_FLAG;
	} else {
		return false;
	}
	return true;
}

/* Between these two `each` is called after every instruction. */
static inline void step_begin(bool (*each)(greg_t *ip))
{
	step.each = each;
	__asm__ volatile("lea -128(%%rsp), %%rsp\n pushfq\n orq $0x100, (%%rsp)\n popfq\n"
			 "lea 128(%%rsp), %%rsp" ::
				 : "memory", "cc");
}

static inline void step_end(void)
{
	__asm__ volatile("lea -128(%%rsp), %%rsp\n pushfq\n andq $~0x100, (%%rsp)\n popfq\n"
			 "lea 128(%%rsp), %%rsp" ::
				 : "memory", "cc");
	step.each = NULL;
}

/* The kernel's own pages in a process stay as they are. */
static bool step_can_break(unsigned char *in)
{
	static unsigned char *page, *fixed[4];
	const size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
	unsigned char *of = in - (size_t)in % bytes;

	for (uint32_t i = 0; i < 4 && fixed[i]; i++)
		if (fixed[i] == of)
			return false;
	if (of != page && mprotect(of, bytes, PROT_READ | PROT_WRITE | PROT_EXEC)) {
		for (uint32_t i = 0; i < 4; i++)
			if (!fixed[i]) {
				fixed[i] = of;
				break;
			}
		return false;
	}
	page = of;
	return *in != 0xcc;
}

/*
 * On the instruction that is looked for, or on one before it from which it is not far, where that
 * one cannot have it or is there often, as in a loop: from there on it is steps. False: there is
 * none.
 */
static bool step_break(void)
{
	uint32_t times, traps, least = UINT32_MAX;
	unsigned char *in;

	for (uint32_t at = step.at; at <= step.at && step.at - at < 200; at--) {
		in = (unsigned char *)(size_t)step.path[at];
		if (step.at - at >= least || !step_can_break(in))
			continue;
		times = 0;
		for (uint32_t i = 0; i <= at; i++)
			times += step.path[i] == step.path[at];
		traps = 2 * times - 1 + step.at - at;
		if (traps < least) {
			least = traps;
			step.in = in;
			step.in_at = at;
			step.left = times;
		}
	}
	if (!step.in)
		return false;
	step.was = *step.in;
	step_put();
	return true;
}

/* Between these two the handler is called before the step.at-th instruction, for step_everywhere(). */
static inline __attribute__((always_inline)) void step_to_begin(void)
{
	step_lift(); /* of a run that failed on its way */
	step.now = 0;
	step.done = step.over = false;
	step.in = NULL;
	if (step.by_steps || step.at >= step.known || !step_break())
		step_begin(step_next);
}

static inline __attribute__((always_inline)) void step_to_end(void)
{
	if (step.each)
		step_end();
	step_lift();
	step.in = NULL;
}

/* In the middle of an instruction that repeats itself (rep stos): its first and its last rounds
 * will do. */
static bool step_repeats(uint32_t at)
{
	return at >= 2 && at + 2 < step.known && step.path[at - 2] == step.path[at] &&
	       step.path[at - 1] == step.path[at] && step.path[at + 1] == step.path[at] &&
	       step.path[at + 2] == step.path[at];
}

static bool step_tried(greg_t ip)
{
	for (uint32_t i = 0; i < step.tries; i++)
		if (step.tried[i] == ip)
			return true;
	return false;
}

/*
 * Runs a piece of code again and again, which has step_to_begin() and step_to_end() in it and
 * returns whether it got to the instruction, with the handler before each `stride`-th one. What
 * its way was is learned first; where it did not come by this time it is stepped through, and
 * where it then has no such instruction, that was all, but for those on its way now where the
 * handler has not been. Returns how many it has.
 */
static inline uint32_t step_everywhere(uint32_t stride, void (*handler)(greg_t *ip),
				       bool (*run)(const void *arg), const void *arg)
{
	uint32_t count, now;

	step.handler = handler;
	step.known = step.tries = 0;
	step.by_steps = true;
	step.at = UINT32_MAX;
	run(arg);
	for (step.at = 0;; step.at += stride) {
		while (step_repeats(step.at))
			step.at++;
		step.by_steps = false;
		if (run(arg))
			continue;
		step.by_steps = true;
		if (!run(arg))
			break;
	}
	count = step.at;
	now = step.now < step.known ? step.now : step.known;
	for (step.at = 0; stride == 1 && step.at < now; step.at++)
		if (!step_tried(step.path[step.at]))
			run(arg);
	return count;
}

#endif
