/* SPDX-License-Identifier: BSD-2-Clause */
#include "attach/vm_timers.h"

#include "attach/kernel.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The reader comes by this often at most while there are looks. */
#define EVERY_NS (50 * NSEC_PER_MSEC)
/* Looks between two draws, at least: each draw loses half a period. */
#define EVERY_LOOKS 10

struct vm_timer {
	struct bpf_link *link; /* owned, and with it the event */
	int fd; /* the event's */
	u32 cpu;
	bool looked;
};

u64 vm_timers_every(u32 hz)
{
	return max_u64(EVERY_NS, EVERY_LOOKS * NSEC_PER_SEC / hz);
}

u64 vm_timers_period(u32 hz, u64 random)
{
	u64 period = NSEC_PER_SEC / hz, every = vm_timers_every(hz);
	/* Rates of 3/4 to 5/4, in 1/4096. */
	u64 rate = 3072 + random % 2049;

	return period * 4096 / rate * every / (every + period / 2);
}

/* xorshift64: nobody's secret. */
static u64 draw(struct vm_timers *t)
{
	t->random ^= t->random << 13;
	t->random ^= t->random >> 7;
	t->random ^= t->random << 17;
	return t->random;
}

/* A CPU that is not there has no timer. */
static int start_timer(struct vm_timers *t, struct bpf_program *program, u32 cpu, struct err *err)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.size = sizeof(attr),
		.sample_period = vm_timers_period(t->hz, draw(t)),
		.exclude_idle = 1,
	};
	struct bpf_link *link;
	int r, fd = (int)syscall(SYS_perf_event_open, &attr, -1, (int)cpu, -1,
				 PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return errno == ENODEV || errno == ENXIO
			       ? 0
			       : kernel_error(err, -errno, "starting a timer for looks at stacks");
	link = bpf_program__attach_perf_event(program, fd);
	if (!link) {
		r = -errno;
		close(fd);
		return kernel_error(err, r, "starting a timer for looks at stacks");
	}
	/* The link owns the event now. */
	t->list[t->count++] = (struct vm_timer){ .link = link, .fd = fd, .cpu = cpu };
	return 0;
}

int vm_timers_start(struct vm_timers *t, struct bpf_program *program, u32 hz, struct err *err)
{
	int cpus = libbpf_num_possible_cpus(), r = 0;
	u32 cpu;

	if (cpus < 0)
		return kernel_error(err, cpus, "counting the CPUs");
	t->hz = hz;
	if (getrandom(&t->random, sizeof(t->random), GRND_NONBLOCK) < 0 || !t->random)
		t->random = (u64)getpid() + 1;
	t->list = calloc((size_t)cpus, sizeof(*t->list));
	if (!t->list)
		r = kernel_error(err, -ENOMEM, "starting a timer for looks at stacks");
	for (cpu = 0; cpu < (u32)cpus && !r; cpu++)
		r = start_timer(t, program, cpu, err);
	if (r)
		vm_timers_stop(t);
	return r;
}

void vm_timers_stop(struct vm_timers *t)
{
	while (t->count)
		bpf_link__destroy(t->list[--t->count].link);
	free(t->list);
	memset(t, 0, sizeof(*t));
}

void vm_timers_looked(struct vm_timers *t, u32 cpu)
{
	u32 i;

	/* Their places are their CPUs', but for those that are not there. */
	for (i = min_u64(cpu + 1, t->count); i-- > 0;)
		if (t->list[i].cpu == cpu) {
			t->list[i].looked = true;
			return;
		}
}

void vm_timers_vary(struct vm_timers *t, u64 now_ns)
{
	u64 period;
	u32 i;

	if (!t->count || now_ns - t->varied_ns < vm_timers_every(t->hz))
		return;
	t->varied_ns = now_ns;
	for (i = 0; i < t->count; i++) {
		if (!t->list[i].looked)
			continue;
		t->list[i].looked = false;
		period = vm_timers_period(t->hz, draw(t));
		/* It goes on with the one it had where that fails: a CPU that has gone. */
		ioctl(t->list[i].fd, PERF_EVENT_IOC_PERIOD, &period);
	}
}
