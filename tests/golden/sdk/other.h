/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OTHER_H
#define OTHER_H

const void *other_registry(void);
const void *other_ring(void);
void other_marks(vmspan_u32 compartment);

#endif
