// SPDX-License-Identifier: BSD-2-Clause
// vmspan::stopwatch and vmspan::event under exceptions and longjmp.
// Marks are handed over when they are old, which on a busy machine they may be: in hours here.
#define VMSPAN__FLUSH_MS 10000000
#include "vmspan.h"
#include <csetjmp>
#include <cstdio>
#include <stdexcept>

#define EXPECT(c)                                                   \
	do {                                                        \
		if (!(c)) {                                         \
			std::printf("line %d: %s\n", __LINE__, #c); \
			return 1;                                   \
		}                                                   \
	} while (0)

enum : vmspan_u32 {
	A = 1,
	B,
	C
};
static std::jmp_buf back;

static void throws()
{
	const vmspan::stopwatch a(A);
	const vmspan::stopwatch b(B);
	throw std::runtime_error("out");
}

static void jumps()
{
	vmspan_enter(B);
	vmspan_enter(C);
	std::longjmp(back, 1);
}

static const vmspan_span *record(unsigned i)
{
	return reinterpret_cast<const vmspan_span *>(vmspan_self_1->records) + i;
}

int main()
{
	*reinterpret_cast<volatile vmspan_u16 *>(&vmspan_registry_1.semaphore) = 1;
	{
		const vmspan::event turn;
		const vmspan::stopwatch c(C);
		try {
			throws();
		} catch (const std::runtime_error &) {
		}
	}
	/* Three spans and the event; unwound in order, nothing to repair. */
	EXPECT(vmspan_self_1->batch.seq == 4);
	EXPECT(record(0)->h.id == B && record(0)->h.depth == 2);
	EXPECT(record(1)->h.id == A && record(1)->h.depth == 1);
	EXPECT(record(2)->h.id == C && record(2)->h.depth == 0);
	EXPECT(vmspan_self_1->batch.repaired == 0 && vmspan_self_1->depth == 0);
	{
		const vmspan::event turn;
		vmspan_enter(A);
		if (!setjmp(back))
			jumps();
		vmspan_leave(A);
	}
	EXPECT(vmspan_self_1->batch.seq == 8);
	EXPECT(record(0)->h.id == C && record(0)->h.depth == (2 | VMSPAN_F_REPAIRED));
	EXPECT(record(1)->h.id == B && record(1)->h.depth == (1 | VMSPAN_F_REPAIRED));
	EXPECT(record(2)->h.id == A && record(2)->h.depth == 0);
	EXPECT(vmspan_self_1->batch.repaired == 2 && vmspan_self_1->depth == 0);
	EXPECT(vmspan_self_1->batch.unmatched == 0);
	return 0;
}
