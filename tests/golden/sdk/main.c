/* SPDX-License-Identifier: BSD-2-Clause */
/* One file of two that mark; C and C++. Turns its own marks on, as a tracer does. */
#include "vmspan.h"
#include "marks.h"
#include "other.h"

int main(void)
{
	vmspan_u32 group = vmspan_group(VMSPAN_ADDON, "main");
	vmspan_u32 in = vmspan_compartment("main", &group, 1);

	EXPECT(other_registry() == &vmspan_registry_2);
	EXPECT((size_t)&vmspan_registry_2 % VMSPAN_REGISTRY_ALIGN == 0);
	EXPECT(vmspan_registry_2.magic == VMSPAN_MAGIC && vmspan_registry_2.abi == VMSPAN_ABI);
	other_marks(in);
	EXPECT(!own_ring());
	traced();
	vmspan_event_begin(0);
	vmspan_enter(in);
	other_marks(in + 1);
	vmspan_leave(in);
	vmspan_event_end();
	EXPECT(own_ring() && own_ring() == other_ring());
	EXPECT(own_marks() == 6 && !own_ring()->lost);
	EXPECT(is_mark(0, VMSPAN_MARK_EVENT_BEGIN, 0) && is_mark(1, VMSPAN_MARK_ENTER, in));
	EXPECT(is_mark(2, VMSPAN_MARK_ENTER, in + 1) && is_mark(3, VMSPAN_MARK_LEAVE, in + 1));
	EXPECT(is_mark(4, VMSPAN_MARK_LEAVE, in) && is_mark(5, VMSPAN_MARK_EVENT_END, 0));
	/* In every way of linking: a wrong weak reference would show here. */
	EXPECT(!&vmspan__rseq_size || !vmspan__rseq_size ||
	       !(own_ring()->flags & VMSPAN_RING_PLAIN));
	return 0;
}
