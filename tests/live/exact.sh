#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The whole way on the real kernel: the demo host works, vmspan records it by
# PID, and the report's counts are the host's own, to the last span.
# shellcheck source=tests/host_lib.sh
. "$(dirname "$0")/../host_lib.sh"

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

# A tiny ring, of a few batches: what is missing is what is reported.
if begin --seed 11 --busy 0 --turns 1000 --workers 3 -- --buffer 32768 && complete; then
	eq "tiny ring: both ended well" "$record_rc $host_rc" "0 0"
	json_eq "tiny ring: something was lost, and not all" "$T/report.json" '[(.losses | add) > 0, .events.count > 0]' '[true,true]'
	made=$(jq '.records - .definitions' "$T/expect.json")
	# Lost are marks: of each record one at least.
	json_eq "tiny ring: what is missing is lost" "$T/report.json" \
		"$made - .records <= .losses.ring_full + .losses.read_fault + .losses.sequence_gap" true
	json_eq "tiny ring: the ledger sums" "$T/report.json" \
		'.ledger | .self_ns + .gc_ns + .blocked_ns + .native_ns + .moved_ns + .stale_ns + .lost_ns - .event_wall_ns' 0
	json_eq "tiny ring: incomplete events are marked" "$T/report.json" '.events.incomplete > 0' true
else
	not_ok "tiny ring" "did not run"
fi
