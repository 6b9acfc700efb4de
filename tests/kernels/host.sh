#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The demo host recorded by its PID: the counts are its own, on any kernel.
# shellcheck source=tests/host_lib.sh
. "$(dirname "$0")/../host_lib.sh"

run "one process" --seed 1 --turns 53
run "workers" --seed 3 --turns 53 --workers 4
run "children forked while recording" --seed 6 --turns 23 --processes 3 --fork-in-run

if [[ $(uname -r) == 5.10.* ]]; then
	skip_rest "exact mode" "this kernel has no BPF task storage"
fi
if ! begin --seed 12 --turns 53 --workers 2 -- --exact || ! complete; then
	not_ok "exact mode" "did not run"
	tail -n 5 "$T"/*.err
elif [ "$(jq -r .source.migrated "$T/report.json")" = discard ]; then
	# It said so, and went on without.
	skip_rest "exact mode" "emulated: $(grep -v '^recording' "$T/record.err" | head -n 1)"
else
	expected_counts >"$T/want.json"
	reported_counts >"$T/have.json"
	same "exact mode: counts are the host's own" "$T/have.json" "$T/want.json"
	json_eq "exact mode: nothing lost, nothing discarded for having moved" "$T/report.json" \
		'[(.losses | add), .ledger.moved_ns, .source.migrated]' '[0,0,"split"]'
	# An emulated CPU stands still at times; events are then marked, rightly, each for more
	# than 100 us.
	json_eq "exact mode: every event complete, but for stolen time" "$T/report.json" \
		'.events.incomplete * 100000 <= .repairs.stolen_ns' true
fi

# A target that waits unannounced: only the scheduler knows, and why.
start_ready burn "$B/vm/burn" blocked 60
start record "$VMSPAN" record -p "$burn_pid" -o "$T/rec.vmspan" --exact
need_line record '^recording ' err
send burn
need_line burn '^[{]'
finish record INT
finish burn
"$VMSPAN" report "$T/rec.vmspan" --json >"$T/report.json"
# Who loses the CPU on the way into a wait of 2 ms sleeps less, as tests/live/exact_caps.sh
# reckons.
json_eq "exact mode: waiting is seen, and told from working" "$T/report.json" \
	'[.groups[] | select(.name == "addon:b") | .off_ns | .sleeping >= (60 - 7) * 2000000, .io, .uninterruptible]' \
	'[true,0,0]'
