/* SPDX-License-Identifier: BSD-2-Clause */
/* Marks of a thread that a debugger steps over each instruction: they are there, and do not take for ever. */
#include "vmspan.h"

#include <signal.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#define STEPS_MAX 20000

struct result {
	vmspan_u32 lost;
	vmspan_u32 types[8]; /* of the marks */
};

static void child(struct result *r, vmspan_u32 comp, int value)
{
	struct vmspan_process *p;
	struct vmspan_ring *g;
	vmspan_u64 head;
	vmspan_u32 i;

	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	vmspan_enter(comp);
	p = (struct vmspan_process *)(size_t)vmspan_registry_2.process;
	g = vmspan__ring_at(p->rings);
	head = g->head;
	raise(SIGSTOP);
	if (value)
		vmspan_value(1, 7);
	else
		vmspan_leave(comp);
	raise(SIGSTOP);
	r->lost = g->lost;
	for (i = 0; i < 8 && head < g->head; i++, head += sizeof(struct vmspan_mark))
		r->types[i] = ((struct vmspan_mark *)(size_t)(g->base + (head & g->mask)))->type;
	_exit(0);
}

/* How many steps there are from the child's first stop to its second; -1: it does not come to that. */
static int step(pid_t pid)
{
	int status, steps;

	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
		return -1;
	for (steps = 0; steps < STEPS_MAX; steps++) {
		if (ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) || waitpid(pid, &status, 0) != pid ||
		    !WIFSTOPPED(status))
			return -1;
		if (WSTOPSIG(status) == SIGSTOP)
			return steps;
	}
	return -1;
}

static int fails(struct result *r, vmspan_u32 comp, int value, const vmspan_u32 *types)
{
	pid_t pid = fork();
	int steps, status;

	memset(r, 0, sizeof(*r));
	if (!pid)
		child(r, comp, value);
	steps = step(pid);
	if (steps < 0) {
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		printf("more than %d steps\n", STEPS_MAX);
		return 1;
	}
	ptrace(PTRACE_CONT, pid, NULL, NULL);
	waitpid(pid, &status, 0);
	if (!r->lost && !memcmp(r->types, types, sizeof(r->types)))
		return 0;
	printf("%u lost, types %u %u %u %u %u\n", r->lost, r->types[0], r->types[1], r->types[2],
	       r->types[3], r->types[4]);
	return 1;
}

int main(void)
{
	static const vmspan_u32 leave[8] = { VMSPAN_MARK_SWITCH, VMSPAN_MARK_MORE,
					     VMSPAN_MARK_LEAVE };
	static const vmspan_u32 value[8] = { VMSPAN_MARK_SWITCH, VMSPAN_MARK_MORE,
					     VMSPAN_MARK_VALUE, VMSPAN_MARK_MORE };
	struct result *r = (struct result *)mmap(NULL, 4096, PROT_READ | PROT_WRITE,
						 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	vmspan_u32 comp = vmspan_compartment("comp", NULL, 0);

	if (r == MAP_FAILED)
		return 1;
	vmspan_registry_2.semaphore = 1;
	return fails(r, comp, 0, leave) || fails(r, comp, 1, value);
}
