/* SPDX-License-Identifier: BSD-2-Clause */
/* Probes of stock VMs as uprobe_multi links, for user/attach/ alone. */
#ifndef ATTACH_VM_SITES_H
#define ATTACH_VM_SITES_H

#include "attach/tracer_int.h"
#include "probe/vm.h"

void vm_args_free(struct vm_args *a);
/* Its place in the table: 0 for none at all. -ENOSPC: too many differ; or what the kernel says. */
int vm_args_take(struct vm_args *a, const struct probe_args *args);
void vm_args_give(struct vm_args *a, u32 set);

/* All sites of a role's probe, in one process, or (pid 0) in all that run the file. NULL with *err filled. */
struct site_link *vm_sites_attach(struct tracer *t, struct bpf_program *prog, u32 pid,
				  const struct vm_target *v, enum vm_role role, struct err *err);

#endif
