/* SPDX-License-Identifier: BSD-2-Clause */
/* The second file that marks: it must share the first one's registry. */
#include "vmspan.h"
#include "other.h"

const void *other_registry(void)
{
	return &vmspan_registry_1;
}

const void *other_thread(void)
{
	return vmspan_self_1;
}

void other_marks(vmspan_u32 compartment)
{
	vmspan_enter(compartment);
	vmspan_leave(compartment);
}
