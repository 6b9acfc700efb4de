/* SPDX-License-Identifier: BSD-2-Clause */
/* What the targets are, before anything is loaded or attached. */
#include "attach/vm.h"
#include "source/live_int.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* A thread's number finds its process's files, but is not the process. */
static int check_pid(u32 pid, struct err *err)
{
	char path[48], line[128];
	u32 tgid = pid;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	f = fopen(path, "re");
	if (!f)
		return err_set(err, -ESRCH, "process %u does not exist", pid);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "Tgid: %" SCNu32, &tgid) == 1)
			break;
	fclose(f);
	if (tgid == pid)
		return 0;
	err_set(err, -ESRCH, "%u is a thread of process %u", pid, tgid);
	err_hint(err, "Trace the process: -p %u", tgid);
	return -ESRCH;
}

int live_look(struct live *l, const struct live_config *c, struct live_needs *n, struct err *err)
{
	struct plan plan;
	u32 i, j;
	int r;

	*n = (struct live_needs){ .direct = c->method == METHOD_DIRECT };
	l->vm_hz = c->hz ? c->hz : VM_HZ;
	l->looked = calloc(c->pid_count + 1, sizeof(*l->looked));
	if (!l->looked)
		return err_set(err, -ENOMEM, "no memory");
	for (i = 0; i < c->pid_count; i++) {
		/* First of all: whatever is looked at from now on is its. */
		l->looked[l->looked_count++] = process_pidfd(c->pids[i]);
		r = check_pid(c->pids[i], err);
		if (!r)
			r = plan_process(c->pids[i], &l->cache, &plan, err);
		if (r == -ENOENT) {
			struct err vm_err = { 0 };
			int v = live_vm_look(l, c->pids[i], &vm_err);

			if (v && v != -ENOENT)
				*err = vm_err;
			r = v == -ENOENT ? r : v;
			if (!r) {
				n->vm = true;
				*err = (struct err){ 0 };
				continue;
			}
		}
		if (r == -ENOENT && c->wait && plan.files) {
			n->awaited = true;
			*err = (struct err){ 0 };
			plan_free(&plan);
			continue;
		}
		if (r)
			return r;
		n->sdk = true;
		for (j = 0; j < plan.count; j++)
			n->direct |= c->method == METHOD_AUTO && !plan_has_flush(&plan.dsos[j]);
		plan_free(&plan);
	}
	n->vm |= c->command && vm_of_command(c->command[0]);
	/* What a sweep finds, and what a command executes, may be one. */
	if (!n->vm && !sweep_wanted(&c->sweep) && !c->command)
		l->vm_hz = 0;
	if (c->calls && (n->sdk || !n->vm)) {
		err_set_status(err, -EINVAL, EXIT_USAGE,
			       "--exact-calls is for stock VMs: programs with vmspan.h always "
			       "tell of every stay");
		return -EINVAL;
	}
	if (c->exact && n->direct)
		return err_set_status(err, -EINVAL, EXIT_USAGE,
				      "--exact does not go with marks by traps (--method direct)");
	/* Beside others they are traced, and it is said that it is not about them. */
	if (!c->exact || !n->vm || n->sdk || n->awaited || sweep_wanted(&c->sweep))
		return 0;
	err_set_status(err, -EINVAL, EXIT_USAGE,
		       "--exact is for programs with vmspan.h: a stock VM's events always know "
		       "when they had no CPU");
	return -EINVAL;
}
