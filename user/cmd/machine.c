/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/machine.h"

#include "base/task_stat.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static bool read_line(const char *path, char *line, size_t cap)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, line, cap - 1);

	if (fd >= 0)
		close(fd);
	line[n > 0 ? n : 0] = 0;
	return n > 0;
}

void machine_read(struct verdict_context *c)
{
	char line[256];
	double some;

	if (read_line("/proc/pressure/cpu", line, sizeof(line)) &&
	    sscanf(line, "some avg10=%lf", &some) == 1 && some >= 0 && some <= 100) {
		c->pressure_known = true;
		c->pressure = (unsigned int)some;
	}
	if (read_line("/proc/loadavg", line, sizeof(line)) &&
	    sscanf(line, "%*s %*s %*s %u/", &c->running) == 1) {
		long cpus = sysconf(_SC_NPROCESSORS_ONLN);

		c->cpus = cpus > 0 ? (unsigned int)cpus : 0;
	}
}

static u64 clock_of(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (u64)t.tv_sec * NSEC_PER_SEC + (u64)t.tv_nsec;
}

u64 machine_started(u32 pid)
{
	char line[TASK_STAT_MAX];
	const char *stat = task_stat(pid, 0, line);
	unsigned long long ticks;
	u64 boot, mono, began;
	long hz = sysconf(_SC_CLK_TCK);

	if (hz <= 0 || !stat ||
	    sscanf(stat,
		   "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d "
		   "%*d %llu",
		   &ticks) != 1)
		return 0;
	boot = clock_of(CLOCK_BOOTTIME);
	mono = clock_of(CLOCK_MONOTONIC);
	began = ticks * (NSEC_PER_SEC / (u64)hz);
	/* Counted from the boot, sleep included. */
	return began + mono > boot ? began + mono - boot : 1;
}
