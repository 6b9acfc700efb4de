/* SPDX-License-Identifier: BSD-2-Clause */
/* Which containers the processes of a trace run in. */
#include "source/live_vm_int.h"

#include "probe/container.h"

int live_container(struct live *l, const struct process *p)
{
	struct container c;
	int r;

	if (!l->containers || container_of_process(p->pid, &c))
		return 0;
	container_find_name(p->pid, &c);
	r = vm_define(l, p, VMSPAN_DEF_CONTAINER, VMSPAN_CONTAINER_RUNTIME, 0, 0, 0, c.runtime);
	if (!r && *c.id)
		r = vm_define(l, p, VMSPAN_DEF_CONTAINER, VMSPAN_CONTAINER_ID, 0, 0, 0, c.id);
	if (!r && *c.name)
		r = vm_define(l, p, VMSPAN_DEF_CONTAINER, VMSPAN_CONTAINER_NAME, 0, 0, 0, c.name);
	return r;
}
