#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The whole way on the real kernel: the demo host works, vmspan records it by
# PID, and the report's counts are the host's own, to the last span.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

# Starts the host waiting and a recorder attached to it.
begin() { # HOST-ARGUMENTS... [-- RECORD-ARGUMENTS...]
	local args=()
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		args+=("$1")
		shift
	done
	[ $# = 0 ] || shift
	rm -f "$T/go" "$T/rec.vmspan" "$T/expect.json"
	mkfifo "$T/go"
	: >"$T/host.out"
	"$HOST" --wait --expect "$T/expect.json" "${args[@]}" <"$T/go" >"$T/host.out" 2>"$T/host.err" &
	host_pid=$!
	lib_pids+=("$host_pid")
	exec 7>"$T/go"
	wait_line host '^ready ' >/dev/null || return 1
	start record "$VMSPAN" record -p "$host_pid" -o "$T/rec.vmspan" "$@"
	wait_line record '^recording ' err >/dev/null
}

# Lets the host work, ends both, and makes the report.
complete() { # [REPORT-ARGUMENTS...]
	echo go >&7
	wait_line host '^done' >/dev/null || return 1
	finish record INT
	record_rc=$?
	echo quit >&7
	exec 7>&-
	finish host
	host_rc=$?
	"$VMSPAN" report "$T/rec.vmspan" --json "$@" >"$T/report.json" 2>"$T/report.err"
}

# Per group: ticks, events, spans, stale; and the totals. Both from JSON.
expected_counts() {
	jq -S '{events: .events.count, spans, records, gc: .gc.count, freed: .gc.freed_bytes,
		groups: (.groups | map({(.name): [.ticks, .events, .spans, .stale]}) | add)}' "$T/expect.json"
}

reported_counts() {
	jq -S '{events: .events.count, spans: ([.groups[] | select(.kind == "top") | .spans] | add),
		records: .records, gc: .gc.count, freed: .gc.freed_bytes,
		groups: (.groups | map({(.name): [.ticks, .events, .spans, .stale]}) | add)}' "$T/report.json"
}

same_counts() { # NAME
	expected_counts >"$T/want.json"
	reported_counts >"$T/have.json"
	same "$1: counts are the host's own" "$T/have.json" "$T/want.json"
	json_eq "$1: the ledger sums to the nanosecond" "$T/report.json" \
		'.ledger | .self_ns + .gc_ns + .blocked_ns + .native_ns + .moved_ns + .stale_ns + .lost_ns - .event_wall_ns' 0
	json_eq "$1: nothing lost" "$T/report.json" '.losses | add' 0
	json_eq "$1: every event complete" "$T/report.json" '.events.incomplete' 0
	json_eq "$1: stayed + moved + stale are all spans" "$T/report.json" \
		'all(.groups[]; .stayed + .moved + .stale == .spans)' true
	eq "$1: both ended well" "$record_rc $host_rc" "0 0"
}

run() { # NAME HOST-ARGUMENTS...
	local name=$1
	shift
	if begin "$@" && complete; then
		same_counts "$name"
	else
		not_ok "$name" "did not run"
		tail -n 5 "$T"/*.err
	fi
}

run "one process" --seed 1 --turns 211
run "another seed" --seed 42 --turns 97 --pages 7 --addons 2
run "workers" --seed 3 --turns 101 --workers 4
run "nested loops" --seed 4 --turns 101 --modal 3
run "several processes" --seed 5 --turns 53 --processes 3
run "children forked while recording" --seed 6 --turns 53 --processes 3 --fork-in-run
run "hostile names" --seed 7 --turns 31 --hostile
run "long names" --seed 8 --turns 31 --long-names
run "10,000 groups" --seed 9 --turns 50 --groups 10000
run "exceptions that skip leaves" --seed 10 --turns 53 --unbalanced

# A tiny ring: what is missing is what is reported, to the record.
if begin --seed 11 --busy 0 --turns 20000 --workers 3 -- --buffer 4096 && complete; then
	json_eq "tiny ring: something was lost" "$T/report.json" '(.losses | add) > 0' true
	made=$(jq .records "$T/expect.json")
	eq "tiny ring: received + lost = made" \
		"$(jq '.records + .losses.ring_full + .losses.read_fault + .losses.sequence_gap' "$T/report.json")" "$made"
	json_eq "tiny ring: the ledger sums" "$T/report.json" \
		'.ledger | .self_ns + .gc_ns + .blocked_ns + .native_ns + .moved_ns + .stale_ns + .lost_ns - .event_wall_ns' 0
	json_eq "tiny ring: incomplete events are marked" "$T/report.json" '.events.incomplete >= 0' true
else
	not_ok "tiny ring" "did not run"
fi
