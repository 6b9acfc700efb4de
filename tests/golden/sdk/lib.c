/* SPDX-License-Identifier: BSD-2-Clause */
/* A library that marks; LIB names it. */
#include "vmspan.h"
#include "marks.h"

#define PASTE2(a, b) a##b
#define PASTE(a, b) PASTE2(a, b)

const void *PASTE(LIB, _registry)(void);
unsigned int PASTE(LIB, _work)(void);

const void *PASTE(LIB, _registry)(void)
{
	return &vmspan_registry_2;
}

/* Marks as if traced; the number of this thread's marks so far, whichever copy made them. */
unsigned int PASTE(LIB, _work)(void)
{
	traced();
	vmspan_event_begin(0);
	vmspan_enter(1);
	vmspan_leave(1);
	vmspan_event_end();
	vmspan_enter(2); /* not handed over yet */
	vmspan_leave(2);
	return own_marks();
}
