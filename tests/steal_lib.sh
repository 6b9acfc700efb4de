# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# What the machine may do to a recording in exact mode: the premises of what is asked of one.
# Sourced behind tests/lib.sh.

# ---- What a hypervisor took of our CPUs, by the kernel's own count ----

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

# Does the hypervisor tell what it takes?
steal_told() {
	[ "$("$VMSPAN" doctor --json | jq .stolen.told)" = true ]
}

# Is there one that keeps it to itself?
steal_silent() {
	[ "$("$VMSPAN" doctor --json | jq '.stolen | .virtual == true and .told != true')" = true ]
}

no_more_stolen() { # NAME NS: so much is said to be, since steal_begin
	local name="$1: no more is said to be stolen than the kernel has counted" most
	most=$(steal_most)
	if [ "$2" -gt "$most" ] && steal_silent; then
		skip "$name" "this hypervisor does not tell"
	else
		check "$name" test "$2" -le "$most"
	fi
}

# An event that lost CPU time to a hypervisor is incomplete, and more than 100 us of it are
# counted as stolen. jq, of a report.
# shellcheck disable=SC2034 # for those that source this
steal_explains='(.events.incomplete * 100000 <= .repairs.stolen_ns)'

# ---- Switches that the kernel does not tell of: those away from threads of process 1 ----

# How many it has made.
hidden_now() {
	awk '/ctxt_switches:/ { n += $2 } END { printf "%.0f\n", n }' /proc/1/task/[0-9]*/status 2>/dev/null
}

# Makes a run, which writes $T/report.json; and again while what the scheduler's record lost may have
# been hidden. What cannot have been is for the caller's checks. 5 to 10 of 100 runs have been seen to be
# so, crowded or not. Of a tenth, more than 8 and a quarter of all that a script makes are once in a
# million scripts at most, and are taken for the program's: they are left to the checks too.
told_runs=0 hidden_runs=0
all_told() { # COMMAND...
	local before lost
	while :; do
		before=$(hidden_now)
		"$@" || return
		told_runs=$((told_runs + 1))
		lost=$(jq .losses.sched "$T/report.json") || return
		[ "$lost" -gt 0 ] && [ "$lost" -le $(($(hidden_now) - before)) ] || break
		hidden_runs=$((hidden_runs + 1))
		[ $hidden_runs -le $((8 + told_runs / 4)) ] || break
		echo "# $lost switches were hidden: once more"
	done
}
