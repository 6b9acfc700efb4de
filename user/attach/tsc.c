/* SPDX-License-Identifier: BSD-2-Clause */
#include "attach/tsc.h"

#include "attach/clock.h"
#include "attach/kernel.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ROUNDS 64

/*
 * Runs on the CPU itself: elsewhere the read would go by an interrupt to it.
 * Half the bracket bounds the error.
 */
static u64 offset_here(int fd)
{
	u64 best = UINT64_MAX, offset = 0;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		u64 before = clock_cycles(), value, after;

		if (read(fd, &value, sizeof(value)) != sizeof(value))
			return 0;
		after = clock_cycles();
		if (after - before < best) {
			best = after - before;
			offset = before + (after - before) / 2 - value;
		}
	}
	return offset;
}

static int open_one(int cpu, u32 type)
{
	struct perf_event_attr a = { .type = type, .size = sizeof(a), .config = 0 };

	return (int)syscall(SYS_perf_event_open, &a, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

int tsc_open(struct tsc *t)
{
	s64 type = kernel_read_number("/sys/bus/event_source/devices/msr/type", -1);
	size_t size;
	cpu_set_t *home, *one;
	int cpu, open = 0;

	memset(t, 0, sizeof(*t));
	if (type < 0 || access("/sys/bus/event_source/devices/msr/events/tsc", R_OK))
		return -ENODEV;
	t->cpus = libbpf_num_possible_cpus();
	if (t->cpus <= 0)
		return -ENODEV;
	size = CPU_ALLOC_SIZE(t->cpus);
	home = CPU_ALLOC(t->cpus);
	one = CPU_ALLOC(t->cpus);
	t->fds = malloc(sizeof(*t->fds) * (size_t)t->cpus);
	t->offsets = calloc((size_t)t->cpus, sizeof(*t->offsets));
	if (!home || !one || !t->fds || !t->offsets) {
		open = -ENOMEM;
		goto out;
	}
	memset(t->fds, 0xff, sizeof(*t->fds) * (size_t)t->cpus);
	if (sched_getaffinity(0, size, home)) {
		open = -errno;
		goto out;
	}
	for (cpu = 0; cpu < t->cpus; cpu++) {
		t->fds[cpu] = open_one(cpu, (u32)type);
		if (t->fds[cpu] < 0)
			continue;
		CPU_ZERO_S(size, one);
		CPU_SET_S((size_t)cpu, size, one);
		/* A CPU this process may not use stays without an offset: marks
		 * there are counted as lost, never given a wrong time. */
		if (!sched_setaffinity(0, size, one)) {
			t->offsets[cpu] = offset_here(t->fds[cpu]);
			open += t->offsets[cpu] != 0;
		}
	}
	sched_setaffinity(0, size, home);
out:
	CPU_FREE(home);
	CPU_FREE(one);
	if (open <= 0) {
		tsc_close(t);
		return open ? open : -ENODEV;
	}
	return 0;
}

void tsc_close(struct tsc *t)
{
	int i;

	for (i = 0; t->fds && i < t->cpus; i++)
		if (t->fds[i] >= 0)
			close(t->fds[i]);
	free(t->fds);
	free(t->offsets);
	memset(t, 0, sizeof(*t));
}
