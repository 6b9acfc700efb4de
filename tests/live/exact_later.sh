#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# --exact by name: what the scheduler does is known of each process from its first mark in the trace,
# whenever it has begun and was found.
# shellcheck source=tests/attach_lib.sh
. "$(dirname "$0")/../attach_lib.sh"
# shellcheck source=tests/steal_lib.sh
. "$(dirname "$0")/../steal_lib.sh"

# Nothing else on the machine is called so.
name=later$((SRANDOM % 100000))
if ! build "$T/$name" tests/vm/steady.c -pthread; then
	not_ok "build" "the program of this test does not build"
	exit 1
fi

is_traced() { # PID
	[ "$(state "$1")" = "$traced" ]
}

# Begins, is found, and sleeps for 50 ms in an event and a group of its own.
later() { # NAME TASK...
	local pid="$1_pid"
	target "$1" "$T/$name"
	check "$1: it is found" until_true is_traced "${!pid}"
	tell "$1" "group $1" "${@:2}" "open" "nap 50" "close"
}

steal_begin
target first "$T/$name"
start record "$VMSPAN" record --exact --comm "$name" -o "$T/rec.vmspan"
need_line record '^recording ' err
tell first "group first_of_all" "event 3" "open" "nap 50" "close"
later second "event 5"
later third "threads 4 100"
finish record INT
ends_well "$VMSPAN" report "$T/rec.vmspan" --json >"$T/report.json"
for g in first_of_all second third; do
	json_eq "$g: its sleep is known, and not its own" "$T/report.json" \
		".groups[] | select(.name == \"addon:$g\") | [.blocked_ns >= 50000000, .off_ns.sleeping >= 50000000]" '[true,true]'
done
json_eq "all events are there" "$T/report.json" '.events.count - .events.implicit' 5
json_eq "none lacks data, but for what was stolen" "$T/report.json" "[$steal_explains, .ledger.lost_ns]" '[true,0]'
no_more_stolen "by name" "$(jq .repairs.stolen_ns "$T/report.json")"
for n in first second third; do dismiss $n; done
