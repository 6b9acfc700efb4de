/* SPDX-License-Identifier: BSD-2-Clause */
#include "attach/exact.h"

#include "attach/clock.h"
#include "attach/kernel.h"
#include "attach/tsc_sync.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

#define CLOCKSOURCES "/sys/devices/system/clocksource/clocksource0/available_clocksource"

static const char without[] = "Without --exact, spans that change CPU are discarded and counted.";

static bool has_storage(struct err *why)
{
	if (libbpf_probe_bpf_map_type(BPF_MAP_TYPE_TASK_STORAGE, NULL) != 0)
		return true;
	err_set(why, -ENOTSUP, "it needs BPF task storage, which this kernel does not have");
	err_hint(why, "Run Linux 5.15 or newer. %s", without);
	return false;
}

static bool has_tracepoint(const char *name)
{
	return libbpf_find_vmlinux_btf_id(name, BPF_TRACE_RAW_TP) > 0;
}

static bool has_tracepoints(struct err *why)
{
	static const char *const names[] = { "sched_switch", "sched_process_fork" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		if (has_tracepoint(names[i]))
			continue;
		err_set(why, -ENOENT, "the kernel's BTF has no tracepoint %s", names[i]);
		err_hint(why, "It takes a kernel with CONFIG_DEBUG_INFO_BTF and tracepoints. %s",
			 without);
		return false;
	}
	return true;
}

/* The kernel takes the counter off its list when it has found it out. */
static bool kernel_trusts_counter(struct err *why)
{
#if defined(__x86_64__)
	char available[128];

	if (kernel_read_line(CLOCKSOURCES, available, sizeof(available)) ||
	    strstr(available, "tsc"))
		return true;
	err_set(why, -ERANGE,
		"the kernel has found the time-stamp counter unstable (%s has no tsc), so a span "
		"that "
		"changes CPU may have a wrong time",
		CLOCKSOURCES);
	err_hint(why, "%s", without);
	return false;
#else
	return true;
#endif
}

/* What cannot be measured, on busy CPUs, is left to the kernel's own word. */
static bool counters_agree(struct err *why)
{
	struct tsc_sync s;

	return tsc_sync_measure(&s, NULL, clock_hz(CLOCK_TSC)) || !tsc_sync_refuses(&s, why);
}

bool exact_possible(struct err *why)
{
	return has_storage(why) && has_tracepoints(why) && kernel_trusts_counter(why) &&
	       counters_agree(why);
}

bool exact_has_peers(void)
{
	return has_tracepoint("sched_waking") && has_tracepoint("irq_handler_entry") &&
	       has_tracepoint("softirq_entry") && has_tracepoint("hrtimer_expire_entry");
}

bool exact_has_senders(void)
{
	return exact_has_peers() && has_tracepoint("net_dev_queue") &&
	       has_tracepoint("netif_receive_skb");
}
