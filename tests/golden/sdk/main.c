/* SPDX-License-Identifier: BSD-2-Clause */
/* One file of two that mark; C and C++. Turns its own marks on, as a tracer does. */
/* Marks are handed over when they are old, which on a busy machine they may be: in hours here. */
#define VMSPAN__FLUSH_MS 10000000
#include "vmspan.h"
#include "other.h"
#include <stdio.h>

#define EXPECT(c)                                              \
	do {                                                   \
		if (!(c)) {                                    \
			printf("line %d: %s\n", __LINE__, #c); \
			return 1;                              \
		}                                              \
	} while (0)

int main(void)
{
	vmspan_u32 group = vmspan_group(VMSPAN_ADDON, "main");
	vmspan_u32 in = vmspan_compartment("main", &group, 1);
	const struct vmspan_span *s;

	EXPECT(other_registry() == &vmspan_registry_1);
	EXPECT((size_t)&vmspan_registry_1 % VMSPAN_REGISTRY_ALIGN == 0);
	EXPECT(vmspan_registry_1.magic == VMSPAN_MAGIC && vmspan_registry_1.abi == VMSPAN_ABI);
	other_marks(in);
	EXPECT(!vmspan_self_1);
	*(volatile vmspan_u16 *)(void *)&vmspan_registry_1.semaphore = 1;
	vmspan_event_begin(0);
	vmspan_enter(in);
	other_marks(in + 1);
	vmspan_leave(in);
	vmspan_event_end();
	EXPECT(vmspan_self_1 && vmspan_self_1 == other_thread());
	EXPECT(vmspan_self_1->batch.seq == 3 && vmspan_self_1->depth == 0);
	s = (const struct vmspan_span *)vmspan_self_1->records;
	EXPECT(s[0].h.id == in + 1 && s[0].h.depth == 1);
	EXPECT(s[1].h.id == in && s[1].h.depth == 0);
	EXPECT(s[2].h.type == VMSPAN_EVENT);
	/* In every way of linking: a wrong weak reference would show here. */
	EXPECT(!&__rseq_size || !__rseq_size || vmspan_self_1->cpu);
	return 0;
}
