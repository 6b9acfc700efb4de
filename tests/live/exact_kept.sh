#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Exact mode: a thread that is stopped, frozen or throttled in the middle of an event is told so, for as
# long as it was, and nobody is charged for it.
# shellcheck source=tests/attach_lib.sh
. "$(dirname "$0")/../attach_lib.sh"

KEPT_MS=200

# By the clock of the machine, which counts hundredths of a second.
now_ms() {
	local up
	read -r up _ </proc/uptime
	echo $((10#${up/./} * 10))
}

is_later() { # MS
	[ "$(now_ms)" -ge "$1" ]
}

# ---- Control groups, of either kind ----

groups=()
groups_end() {
	local d
	[ -z "${t_pid-}" ] || kill -s KILL "$t_pid" 2>/dev/null
	for d in ${groups+"${groups[@]}"}; do
		until_true groups_remove "$d"
	done
}
groups_remove() { # DIRECTORY
	[ ! -e "$1" ] || rmdir "$1" 2>/dev/null
}
lib_endings+=(groups_end)

# Makes a group below one of these that has the file; into `group`.
group_of() { # FILE DIRECTORY...
	local file=$1 d
	shift
	for d; do
		[ -f "$d/cgroup.procs" ] && group=$(mktemp -d "$d/vmspan-test-XXXXXX" 2>/dev/null) || continue
		groups+=("$group")
		[ ! -w "$group/$file" ] || return 0
	done
	return 1
}

# ---- The ways ----

stopped_is() { # STATE
	[ "$(lib_state "$t_pid")" = "$1" ]
}
stop() {
	kill -s STOP "$t_pid"
	until_true stopped_is T
}
go_on() {
	kill -s CONT "$t_pid"
}

freeze_v2() {
	echo 1 >"$group/cgroup.freeze"
	until_true grep -qx 'frozen 1' "$group/cgroup.events"
}
thaw_v2() {
	echo 0 >"$group/cgroup.freeze"
}

freeze_v1() {
	echo FROZEN >"$group/freezer.state"
	until_true grep -qx FROZEN "$group/freezer.state"
}
thaw_v1() {
	echo THAWED >"$group/freezer.state"
}

# A trace of an event in which the target is kept off the CPU; `least` and `most` are how long that was, ms.
trace() { # KEEP LET-GO
	local before since
	start record "$VMSPAN" record --exact -p "$t_pid" -o "$T/rec.vmspan"
	wait_line record '^recording ' err >/dev/null || return 1
	tell t "open" "burn 5"
	before=$(now_ms)
	"$1" || return 1
	since=$(now_ms)
	until_true is_later $((since + KEPT_MS))
	least=$(($(now_ms) - since - 10))
	"$2"
	tell t "burn 5"
	most=$(($(now_ms) - before + 10))
	tell t "close"
	finish record INT && "$VMSPAN" report "$T/rec.vmspan" --json >"$T/report.json"
}

# Time that others had besides is theirs.
kept_so() { # NAME KEY
	json_eq "$1: for as long as it was" "$T/report.json" \
		".ledger.$2_ns / 1e6 | . >= $least and . <= $most" true
	json_eq "$1: no other way is told" "$T/report.json" \
		'[.ledger | .stopped_ns, .frozen_ns, .throttled_ns | select(. > 0)] | length' 1
	json_eq "$1: the group has it, and is not charged for it" "$T/report.json" \
		".ledger.$2_ns as \$all | [.groups[] | select(.name | startswith(\"top:\") | not)] |
		([.[].off_ns.$2] | max) / \$all > 0.99 and ([.[].self_ns] | add) / 1e6 < $most - 5" true
	json_eq "$1: the ledger sums" "$T/report.json" \
		'.ledger | .self_ns + .gc_ns + .blocked_ns + .native_ns + .moved_ns + .stale_ns + .lost_ns - .event_wall_ns' 0
	"$VMSPAN" report "$T/rec.vmspan" | tr -s ' \n' ' ' >"$T/text" # its lines are cut to fit
	check "$1: the report says it" grep -q "of native.* it was $2 for " "$T/text"
}

way() { # NAME KEY KEEP LET-GO
	if trace "$3" "$4"; then
		kept_so "$1" "$2"
	else
		not_ok "$1" "did not run: $(tail -n 3 "$T"/*.err)"
	fi
}

t_pid='' group='' least='' most=''
target t "$T/steady"
way "stopped" stopped stop go_on

if group_of cgroup.freeze /sys/fs/cgroup /sys/fs/cgroup/unified; then
	echo "$t_pid" >"$group/cgroup.procs"
	way "frozen" frozen freeze_v2 thaw_v2
else
	skip "frozen" "no control group of version 2 may be made here"
fi

if group_of freezer.state /sys/fs/cgroup/freezer; then
	echo "$t_pid" >"$group/cgroup.procs"
	way "frozen, version 1" frozen freeze_v1 thaw_v1
else
	skip "frozen, version 1" "no control group with a freezer may be made here"
fi

# 10 ms of each 100. Who gets its 10 ms late is throttled for a shorter time, so it works until the kernel has counted
# enough.
QUOTA_US=10000 PERIOD_US=100000
work() {
	until_true is_throttled_for $((2 * KEPT_MS))
}
is_throttled_for() { # MS
	tell t "burn 10"
	[ $(($(throttled_ns) - throttled_before)) -ge $(($1 * 1000000)) ]
}
throttled_ns() {
	awk '$1 == "throttled_time" { print $2 } $1 == "throttled_usec" { print $2 * 1000 }' "$group/cpu.stat"
}
if group_of cpu.cfs_quota_us /sys/fs/cgroup/cpu /sys/fs/cgroup/cpu,cpuacct; then
	echo $PERIOD_US >"$group/cpu.cfs_period_us"
	echo $QUOTA_US >"$group/cpu.cfs_quota_us"
elif group_of cpu.max /sys/fs/cgroup; then
	echo "$QUOTA_US $PERIOD_US" >"$group/cpu.max"
else
	group=''
fi
if [ -n "$group" ]; then
	echo "$t_pid" >"$group/cgroup.procs"
	throttled_before=$(throttled_ns)
	way "throttled" throttled work true
	# Behind it others may have the CPU first; and while it waits for its next task the kernel counts on.
	json_eq "throttled: as the kernel counts it" "$T/report.json" \
		".ledger.throttled_ns / ($(throttled_ns) - $throttled_before) | if . > 0.5 and . < 2 then true else . end" true
else
	skip "throttled" "no control group with a quota may be made here"
fi
dismiss t
