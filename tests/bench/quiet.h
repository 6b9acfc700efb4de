/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How quiet the machine was while something was measured: what a hypervisor took, and
 * what others used of the CPUs. Others are all that is not `root` or below it.
 */
#ifndef BENCH_QUIET_H
#define BENCH_QUIET_H

#include "base/json.h"

#include <sys/types.h>

struct quiet_reading {
	u64 uptime_ns;
	u64 used, stolen; /* of all CPUs, ticks */
	u64 ours; /* of used: what root and those below it have used, ended ones included */
	u32 cpus;
};

/*
 * From a /proc. Who ends meanwhile may be missed, and is then taken for one of the others:
 * the machine looks less quiet than it was. 0 or negative errno.
 */
int quiet_read(const char *proc, pid_t root, struct quiet_reading *r);

struct quiet {
	bool known; /* false: counts have gone back, or no time has passed */
	bool is; /* quiet */
	u64 ns;
	u32 stolen_ppm; /* of the CPU time that anybody wanted, used and stolen */
	u32 others_ppm; /* of all that the CPUs had to give */
};

/*
 * From here on a run is not called quiet. A hundredth stolen is as much as --exact may be
 * wrong by in an event's CPU time. Others: a compiler or a test beside it takes a whole CPU, 5 %
 * of twenty and half of two. Below that the figure says little, for the kernel counts what
 * CPUs have used at its ticks, and what processes have used to the nanosecond.
 */
#define QUIET_STOLEN_PPM 10000
#define QUIET_OTHERS_PPM 50000

struct quiet quiet_between(const struct quiet_reading *from, const struct quiet_reading *to,
			   u64 tick_ns);
/* An object behind a key, or without one (NULL); null where it is not known. */
void quiet_json(struct json *j, const char *key, const struct quiet *q);

#endif
