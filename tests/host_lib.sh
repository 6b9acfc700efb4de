# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Helpers of tests that record the demo host and compare the report with what the
# host says it did. Sourced instead of lib.sh.
# shellcheck source=tests/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# Starts the host waiting and a recorder attached to it.
begin() { # HOST-ARGUMENTS... [-- RECORD-ARGUMENTS...]
	local args=()
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		args+=("$1")
		shift
	done
	[ $# = 0 ] || shift
	rm -f "$T/rec.vmspan" "$T/expect.json"
	start_ready host "$HOST" --wait --expect "$T/expect.json" "${args[@]}" || return 1
	start record "$VMSPAN" record -p "$host_pid" -o "$T/rec.vmspan" "$@"
	wait_line record '^recording ' err >/dev/null
}

# Lets the host work, ends both, and makes the report.
complete() { # [REPORT-ARGUMENTS...]
	send host
	wait_line host '^done' >/dev/null || return 1
	record_rc=0 host_rc=0
	finish record INT || record_rc=$?
	send host quit
	finish host || host_rc=$?
	"$VMSPAN" report "$T/rec.vmspan" --json "$@" >"$T/report.json" 2>"$T/report.err"
}

# Per group: ticks, events, spans, stale; and the totals. Both from JSON. Definitions are no marks.
expected_counts() {
	jq -S '{events: .events.count, spans, records: (.records - .definitions), gc: .gc.count, freed: .gc.freed_bytes,
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
