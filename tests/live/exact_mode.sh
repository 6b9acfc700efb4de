#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Exact mode on the real kernel, against a target that measures from inside what
# each of its groups used: CPU time within 1 % of the event, whatever the
# scheduler does; nothing discarded; the ledger sums.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

BURN=$B/vm/burn
[ -x "$BURN" ] || { skip "exact mode" "$BURN is not built"; exit 0; }

# Other processes that want the CPU.
crowd() {
	local i
	for i in 1 2 3 4; do
		start "crowd$i" bash -c 'while :; do :; done'
	done
}

disperse() {
	local i
	for i in 1 2 3 4; do
		finish "crowd$i" KILL 2>/dev/null
	done
}

run() { # NAME CASE EVENTS RECORD-ARGUMENTS...
	local case=$2 events=$3
	shift 3
	start_ready burn "$BURN" "$case" "$events" || return 1
	start record "$VMSPAN" record -p "$burn_pid" -o "$T/rec.vmspan" "$@"
	wait_line record '^recording ' err >/dev/null || return 1
	send burn
	wait_line burn '^[{]' >"$T/truth.json" || return 1
	finish record INT
	finish burn
	"$VMSPAN" report "$T/rec.vmspan" --json >"$T/report.json"
}

# The largest error of a group's CPU time, in tenths of a percent of all events'.
error_permille() {
	jq -n --slurpfile r "$T/report.json" --slurpfile t "$T/truth.json" '
		($r[0].groups | map({(.name): .cpu_ns}) | add) as $have |
		[$t[0].groups | to_entries[] | select(.value > 0) |
			((($have[.key] // 0) - .value) | fabs) * 1000 / $t[0].cpu_ns] | max | ceil'
}

exact() { # NAME CASE EVENTS [TRY]
	if ! run "$1" "$2" "$3" --exact; then
		not_ok "$1" "did not run"
		tail -n 5 "$T"/*.err
		return
	fi
	local e stolen
	stolen=$(jq '.repairs.stolen_ns' "$T/report.json")
	if [ "$stolen" != 0 ]; then
		# Another machine had our CPU: the tool saw it and said so. Once more.
		if [ "${4:-0}" -lt 5 ]; then
			exact "$1" "$2" "$3" $((${4:-0} + 1))
		else
			skip "$1" "a hypervisor keeps taking the CPU ($stolen ns of this run)"
		fi
		return
	fi
	e=$(error_permille)
	if [ "$e" -le 10 ]; then
		ok "$1: CPU time within 1 % of the event"
	else
		not_ok "$1: CPU time within 1 % of the event" "off by $e permille"
		jq -c '.groups[] | [.name, .wall_ns, .self_ns, .cpu_ns, .blocked_ns, .preempted_ns]' "$T/report.json"
		cat "$T/truth.json"
	fi
	json_eq "$1: nothing is discarded for having moved" "$T/report.json" '.ledger.moved_ns' 0
	json_eq "$1: the ledger sums" "$T/report.json" \
		'.ledger | .self_ns + .gc_ns + .blocked_ns + .native_ns + .moved_ns + .stale_ns + .lost_ns - .event_wall_ns' 0
	json_eq "$1: every event complete" "$T/report.json" '[.events.incomplete, (.losses | add)]' '[0,0]'
	json_eq "$1: says so" "$T/report.json" '.source.migrated' '"split"'
}

exact "quiet" plain 60
exact "moving" migrate 60
exact "waiting" blocked 60
json_eq "waiting: it is blocked time, unannounced as it is" "$T/report.json" \
	'(.groups[] | select(.name == "addon:b") | .blocked_ns) >= 60 * 2000000' true
json_eq "waiting: for the reason the kernel knows" "$T/report.json" \
	'(.groups[] | select(.name == "addon:b") | .off_ns.sleeping) >= 60 * 2000000' true
json_eq "waiting: a single event shows in which stay" \
	<("$VMSPAN" report "$T/rec.vmspan" --slowest 1 --json) \
	'[.explained[0].tree[] | select(.name == "b") | .off_ns >= 2000000 and .off_ns < .ns] | . == [true]' true
exact "nested loops" nested 60
exact "threads that come and go" threads 60
crowd
exact "crowded" plain 60
json_eq "crowded: others had the CPU, and nobody pays for it" "$T/report.json" \
	'.ledger.preempted_ns > 0 and .ledger.native_ns >= .ledger.preempted_ns' true
exact "crowded and moving" migrate 60
disperse

# Default mode: moved spans are discarded and counted.
if [ "$(nproc)" = 1 ]; then
	skip "default" "there is one CPU, and nothing moves"
elif run "default" migrate 60; then
	json_eq "default: moved spans are discarded and counted" "$T/report.json" \
		'.ledger.moved_ns > 0 and ([.groups[].moved] | max) > 0' true
	json_eq "default: says so" "$T/report.json" '.source.migrated' '"discard"'
else
	not_ok "default" "did not run"
fi
