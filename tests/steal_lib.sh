# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# What a hypervisor took of our CPUs, by the kernel's own count: the premise of what is asked
# about CPU time. Sourced behind tests/lib.sh.

# Of each CPU, in ticks of the clock that /proc counts in.
steal_now() {
	awk '/^cpu[0-9]/ { printf "%s%s", sep, $9; sep = " " }' /proc/stat
}

steal_mark=''
steal_begin() {
	steal_mark=$(steal_now)
}

# Nanoseconds since steal_begin. A tick is shown when it is full.
steal_ns() {
	awk -v before="$steal_mark" -v now="$(steal_now)" -v hz="$(getconf CLK_TCK)" \
		'BEGIN { split(before, b); for (n = split(now, a); n; n--) ticks += a[n] - b[n]; printf "%.0f\n", ticks * 1e9 / hz }'
}

# What may be said to be stolen since steal_begin: on each CPU a tick may be all but full.
steal_most() {
	echo $(($(steal_ns) + $(getconf _NPROCESSORS_ONLN) * 1000000000 / $(getconf CLK_TCK)))
}

# An event that lost CPU time to a hypervisor is incomplete, and more than 100 us of it are
# counted as stolen. jq, of a report.
# shellcheck disable=SC2034 # for those that source this
steal_explains='(.events.incomplete * 100000 <= .repairs.stolen_ns)'
