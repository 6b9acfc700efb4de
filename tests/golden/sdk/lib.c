/* SPDX-License-Identifier: BSD-2-Clause */
/* A library that marks; LIB names it. */
/* Marks are handed over when they are old, which on a busy machine they may be: in hours here. */
#define VMSPAN__FLUSH_MS 10000000
#include "vmspan.h"

#define PASTE2(a, b) a##b
#define PASTE(a, b) PASTE2(a, b)

const void *PASTE(LIB, _registry)(void);
unsigned long PASTE(LIB, _work)(void);

const void *PASTE(LIB, _registry)(void)
{
	return &vmspan_registry_1;
}

/* Marks as if traced; the number of records of this thread so far. */
unsigned long PASTE(LIB, _work)(void)
{
	*(volatile vmspan_u16 *)(void *)&vmspan_registry_1.semaphore = 1;
	vmspan_event_begin(0);
	vmspan_enter(1);
	vmspan_leave(1);
	vmspan_event_end();
	vmspan_enter(2); /* one more, not handed over yet */
	vmspan_leave(2);
	return vmspan_self_1->batch.seq;
}
