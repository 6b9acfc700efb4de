/* SPDX-License-Identifier: BSD-2-Clause */
#include "attach/exact.h"

#include "attach/clock.h"
#include "attach/kernel.h"
#include "attach/kernel_types.h"
#include "attach/tsc_sync.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

static bool has_storage(struct err *why)
{
	if (libbpf_probe_bpf_map_type(BPF_MAP_TYPE_TASK_STORAGE, NULL) != 0)
		return true;
	err_set(why, -ENOTSUP, "it needs BPF task storage, which this kernel does not have");
	err_hint(why, "Run Linux 5.15 or newer. %s", EXACT_WITHOUT);
	return false;
}

static bool has_tracepoints(struct err *why)
{
	static const enum kernel_tracepoint needed[] = { KERNEL_TP_SCHED_SWITCH, KERNEL_TP_FORK };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(needed); i++) {
		if (kernel_has_tracepoint(needed[i]))
			continue;
		err_set(why, -ENOENT, "the kernel's BTF has no tracepoint %s",
			kernel_tracepoint_name(needed[i]));
		err_hint(why, "It takes a kernel with CONFIG_DEBUG_INFO_BTF and tracepoints. %s",
			 EXACT_WITHOUT);
		return false;
	}
	return true;
}

/* The kernel's word is doubted once. What cannot be measured, on busy CPUs or those that this
 * process may not use, is left to it. */
static bool word_holds(struct err *why, const char *without)
{
	struct tsc_sync s;

	return tsc_sync_measure(&s, NULL, clock_hz(CLOCK_TSC)) ||
	       !tsc_sync_refuses(&s, without, why);
}

/* It is done again until all CPUs have been free for it at some time: two seconds at most. */
#define MEASUREMENTS 40

static bool all_agree(struct err *why, const char *without)
{
	long online = sysconf(_SC_NPROCESSORS_ONLN);
	u64 hz = clock_hz(CLOCK_TSC);
	struct tsc_sync s;
	bool all = true;
	int i, r;

	for (i = 0; all && i < MEASUREMENTS; i++) {
		r = tsc_sync_measure(&s, NULL, hz);
		if (!r && tsc_sync_refuses(&s, without, why))
			return false;
		all = r || (long)s.cpus + s.unmeasured >= online;
		if (!r && all && !s.unmeasured && s.error_ns <= TSC_APART_NS)
			return true;
	}
	err_set(why, -ERANGE,
		"the kernel was told not to trust the time-stamp counter (tsc=unstable), and the "
		"CPUs %s, so a span that changes CPU may have a wrong time",
		all ? "are too busy to compare theirs"
		    : "cannot be compared: this process may not use all of them");
	err_hint(why, "%s %s",
		 all ? "Try again when less runs here."
		     : "Let vmspan use every CPU (taskset, cpuset).",
		 without);
	return false;
}

bool exact_counters_agree(const char *without, struct err *why)
{
	enum kernel_counter word = kernel_counter();

	if (word == COUNTER_TRUSTED)
		return word_holds(why, without);
	if (word == COUNTER_UNTRIED)
		return all_agree(why, without);
	err_set(why, -ERANGE,
		"the kernel has found the time-stamp counter unstable (%s has no tsc), so a span "
		"that changes CPU may have a wrong time",
		KERNEL_CLOCKSOURCES "/available_clocksource");
	err_hint(why, "%s", without);
	return false;
}

bool exact_possible(struct err *why)
{
	return has_storage(why) && has_tracepoints(why) && exact_counters_agree(EXACT_WITHOUT, why);
}

bool exact_has_peers(void)
{
	return kernel_has_tracepoint(KERNEL_TP_SCHED_WAKING) &&
	       kernel_has_tracepoint(KERNEL_TP_IRQ) && kernel_has_tracepoint(KERNEL_TP_SOFTIRQ) &&
	       kernel_has_tracepoint(KERNEL_TP_HRTIMER);
}

bool exact_has_senders(void)
{
	return exact_has_peers() && kernel_has_tracepoint(KERNEL_TP_NET_QUEUE) &&
	       kernel_has_tracepoint(KERNEL_TP_NET_RECEIVE);
}
