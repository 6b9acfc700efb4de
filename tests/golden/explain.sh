#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Single events of recordings whose every figure is known.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

make=$B/golden/make_recording
for s in basic lossy gap hostile empty; do
	"$make" "$s" "$T/$s.vmspan" || exit 1
done

ends_well "$VMSPAN" report "$T/basic.vmspan" --slowest 3 --json >"$T/slow.json"
json_eq "slowest: as many as asked for" "$T/slow.json" '.explained | length' 3
json_eq "slowest: longest first" "$T/slow.json" \
	'[.explained[].wall_ns] | . == (sort | reverse)' true
ends_well "$VMSPAN" report "$T/basic.vmspan" --json >"$T/report.json"
json_eq "slowest: every event can be had" \
	<(ends_well "$VMSPAN" report "$T/basic.vmspan" --slowest 1000 --json) '.explained | length' \
	"$(jq .events.count "$T/report.json")"
json_eq "slowest: the events' ledgers sum to their walls" "$T/slow.json" \
	'all(.explained[]; .wall_ns == (.ledger | .self_ns + .gc_ns + .blocked_ns + .native_ns + .moved_ns + .stale_ns + .lost_ns))' true
json_eq "slowest: a moved span is shown with its CPUs" "$T/slow.json" \
	'.explained[0].tree[0] | [.name, .ns, .moved, .cpus]' '["video/main",70050000,1,[0,1]]'
json_eq "slowest: a blocking call inside it, and the process waited for" "$T/slow.json" \
	'.explained[0].tree[0].inside[0] | [.type, .ns, .peer]' '["blocked",69900000,4321]'

ends_well "$VMSPAN" report "$T/basic.vmspan" --event 3 --json >"$T/event.json"
json_eq "event: that of every thread" "$T/event.json" '[.explained[].event]' '[3,3]'
json_eq "event: a nested event is one node, and makes stale what is around it" "$T/event.json" \
	'.explained[0].tree[0] | [.stale, .inside[0].type, .inside[0].event]' '[1,"nested event",4]'
json_eq "event: the nested one by itself names the one around it" \
	<(ends_well "$VMSPAN" report "$T/basic.vmspan" --event 4 --json) '.explained[0].parent' 3
json_eq "event: suspended instead, it is kept" \
	<(ends_well "$VMSPAN" report "$T/basic.vmspan" --event 3 --nested suspend --json) \
	'.explained[0].tree[0].kept' 1

ends_well "$VMSPAN" report "$T/basic.vmspan" --event 1 >"$T/text.out"
json_eq "gc: in the tree with what it freed" \
	<(ends_well "$VMSPAN" report "$T/basic.vmspan" --event 1 --json) \
	'[.explained[0].tree | .. | objects | select(.type == "gc") | .freed_bytes]' '[3145728]'
for s in basic gap; do
	ends_well "$VMSPAN" report "$T/$s.vmspan" --slowest 1000 >"$T/all.txt"
	golden "$s.explained.txt" "$T/all.txt"
done
eq "text: an event of each process" "$(grep -c '^event 1 ' "$T/text.out")" 2

# A lost batch leaves gaps between events; a lost record, one in an event.
for s in lossy gap; do
	ends_well "$VMSPAN" report "$T/$s.vmspan" --json >"$T/$s.json"
	ends_well "$VMSPAN" report "$T/$s.vmspan" --slowest 1000 --json >"$T/$s.slow"
	ends_well "$VMSPAN" report "$T/$s.vmspan" --slowest 1000 >"$T/$s.txt"
	lack=$(jq .events.incomplete "$T/$s.json")
	json_eq "$s: as many lack records as the report says" "$T/$s.slow" \
		'[.explained[] | select(.complete | not)] | length' "$lack"
	eq "$s: and as many say so" "$(tr -s ' \n' ' ' <"$T/$s.txt" | grep -o '; INCOMPLETE: records of it are missing' | wc -l)" "$lack"
done
json_eq "gap: some lack records, some do not" "$T/gap.slow" '.explained | map(.complete) | unique' '[false,true]'
ends_well "$VMSPAN" report "$T/hostile.vmspan" --slowest 9 >"$T/hostile.out"
eq "hostile: no escape reaches the terminal" "$(grep -c $'\033' "$T/hostile.out")" 0
eq "empty: says so" "$(ends_well "$VMSPAN" report "$T/empty.vmspan" --slowest 2)" "no events"

"$VMSPAN" report "$T/basic.vmspan" --event 99 >/dev/null 2>"$T/none.err"
eq "an event that is not there is an error" "$?" 1
"$VMSPAN" report "$T/basic.vmspan" --event 1 --slowest 1 >/dev/null 2>&1
eq "the two exclude each other" "$?" 2
