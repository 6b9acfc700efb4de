/* SPDX-License-Identifier: BSD-2-Clause */
/* The second file that marks: it must share the first one's registry. */
#include "vmspan.h"
#include "marks.h"
#include "other.h"

const void *other_registry(void)
{
	return &vmspan_registry_2;
}

const void *other_ring(void)
{
	return own_ring();
}

void other_marks(vmspan_u32 compartment)
{
	vmspan_enter(compartment);
	vmspan_leave(compartment);
}
