// SPDX-License-Identifier: BSD-2-Clause
// vmspan::stopwatch and vmspan::event under exceptions and longjmp.
#include "vmspan.h"
#include "marks.h"
#include <csetjmp>
#include <stdexcept>

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

// A mark each, in this order.
static bool are(unsigned int first, const vmspan_mark_type (&types)[8], const vmspan_u32 (&ids)[8])
{
	for (unsigned int i = 0; i < 8; i++)
		if (!is_mark(first + i, types[i], ids[i]))
			return false;
	return true;
}

int main()
{
	traced();
	{
		const vmspan::event turn;
		const vmspan::stopwatch c(C);
		try {
			throws();
		} catch (const std::runtime_error &) {
		}
	}
	EXPECT(own_marks() == 8);
	EXPECT(are(0,
		   { VMSPAN_MARK_EVENT_BEGIN, VMSPAN_MARK_ENTER, VMSPAN_MARK_ENTER,
		     VMSPAN_MARK_ENTER, VMSPAN_MARK_LEAVE, VMSPAN_MARK_LEAVE, VMSPAN_MARK_LEAVE,
		     VMSPAN_MARK_EVENT_END },
		   { 0, C, A, B, B, A, C, 0 }));
	{
		const vmspan::event turn;
		vmspan_enter(A);
		if (!setjmp(back))
			jumps();
		vmspan_leave(A);
		vmspan_enter(B);
		vmspan_leave(B);
	}
	// What was jumped over left no mark: the tracer closes it at the next one that shows it.
	EXPECT(own_marks() == 16);
	EXPECT(are(8,
		   { VMSPAN_MARK_EVENT_BEGIN, VMSPAN_MARK_ENTER, VMSPAN_MARK_ENTER,
		     VMSPAN_MARK_ENTER, VMSPAN_MARK_LEAVE, VMSPAN_MARK_ENTER, VMSPAN_MARK_LEAVE,
		     VMSPAN_MARK_EVENT_END },
		   { 0, A, B, C, A, B, B, 0 }));
	return 0;
}
