#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# What the sinks print of known figures, read by a JSON parser that is not ours.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

for test in sink_test export_test; do
	check "$test leaves its output" env VMSPAN_DUMP="$T" "$B/tests/$test"
done
for name in demo hostile many chrome; do
	check "$name is one JSON object" jq -es 'length == 1 and (.[0] | type) == "object"' "$T/$name.json"
done

json_eq "top-level keys, in order" "$T/demo.json" 'keys_unsorted' \
	'["schema","tool","source","processes","events","groups","gc","ledger","losses","complete","records","spans","inputs","frames","repairs","waits","native"]'
json_eq "group keys, in order" "$T/demo.json" '.groups[0] | keys_unsorted' \
	'["name","kind","pids","ticks","events","spans","wall_ns","self_ns","cpu_ns","blocked_ns","gc_ns","max_ns","p50_ns","p99_ns","durations","stayed","moved","stale","complete","processes","incomplete","preempted_ns","off_ns"]'
json_eq "ledger keys, in order" "$T/demo.json" '.ledger | keys_unsorted' \
	'["self_ns","gc_ns","blocked_ns","native_ns","moved_ns","stale_ns","lost_ns","event_wall_ns","preempted_ns","stopped_ns","frozen_ns","throttled_ns"]'
json_eq "loss causes, in order" "$T/demo.json" '.losses | keys_unsorted' \
	'["ring_full","read_fault","sequence_gap","unmatched","truncated","sched","no_sched","too_deep","not_made","malformed","limit","marks_off","names","other"]'
json_eq "10,000 groups, all of them" "$T/many.json" '[(.groups | length), (.groups | unique_by(.name) | length)]' \
	'[10000,10000]'
json_eq "10,000 groups, in order" "$T/many.json" \
	'[.groups[].wall_ns] | . == (sort | reverse)' true
json_eq "a hostile name is one string" "$T/hostile.json" \
	'[.groups[].name | select(startswith("addon:\u001b]0;x\u0007\ufffd<b>"))] | length' 1

# Chrome: strictly nested on every thread, times from 1 us on, all spans there.
# shellcheck disable=SC2016
json_eq "chrome: intervals nest" "$T/chrome.json" \
	'def ns: . * 1000 | round;
	[.traceEvents[] | select(.ph == "X") | {t: [.pid, .tid], b: (.ts | ns), e: ((.ts | ns) + (.dur | ns))}]
	| group_by(.t) | map(. as $x | [range(length) as $i | range($i + 1; length) as $j
		| [$x[$i], $x[$j]] | sort_by(.b, -.e) | select(.[1].b < .[0].e and .[1].e > .[0].e)]
	| length) | add' 0
json_eq "chrome: first time" "$T/chrome.json" '[.traceEvents[].ts | select(. != null)] | min >= 1' true
json_eq "chrome: categories" "$T/chrome.json" \
	'[.traceEvents[] | select(.ph == "X") | .cat] | group_by(.) | map({(.[0]): length}) | add' \
	'{"addon":2,"event":1,"gc":1,"page":1}'
json_eq "chrome: names" "$T/chrome.json" \
	'[.traceEvents[] | select(.ph == "M" and .name == "process_name") | .args.name]' '["ho\"st"]'
