# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# shellcheck disable=SC2034 # for those that source this, behind lib.sh
# Has the kernel count how often BPF programs run: a setting of the whole machine, so
# one test at a time has it, and gives it back at its end.

bpftool=$(command -v bpftool || echo /usr/sbin/bpftool)
stats_file=/proc/sys/kernel/bpf_stats_enabled
stats_before=

count_runs() {
	{ exec {stats_turn}<$stats_file; } 2>/dev/null && flock "$stats_turn" || return
	stats_before=$(cat $stats_file)
	{ echo 1 >$stats_file; } 2>/dev/null
}

give_stats_back() {
	[ -z "$stats_before" ] || echo "$stats_before" >$stats_file
}
lib_endings+=(give_stats_back)
