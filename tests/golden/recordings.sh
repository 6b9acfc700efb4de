#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Recordings with known figures -> reports and exports, compared to the letter
# with tests/golden/expected. VMSPAN_TEST_UPDATE=1 writes those
# files anew: read the diff.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

pretty_golden() { # NAME FILE: of JSON, a line a value
	check "$1: it is JSON" jq -e . "$2" && golden "$1" "$T/check.out"
}

for scenario in basic lossy hostile empty; do
	rec=$T/$scenario.vmspan
	check "make $scenario" "$B/golden/make_recording" "$scenario" "$rec" || continue
	# The file's own path is not the same on every run.
	cd "$T" || exit 1
	"$TOP/$VMSPAN" report "$scenario.vmspan" >"$T/text" 2>"$T/text.err" </dev/null
	eq "$scenario: report ends well" "$? $(cat "$T/text.err")" "0 "
	"$TOP/$VMSPAN" report "$scenario.vmspan" --json >"$T/json" 2>"$T/json.err"
	eq "$scenario: report --json ends well" "$? $(cat "$T/json.err")" "0 "
	"$TOP/$VMSPAN" report "$scenario.vmspan" --json --nested suspend --own >"$T/own.json" 2>"$T/own.err"
	eq "$scenario: report --nested suspend --own ends well" "$? $(cat "$T/own.err")" "0 "
	"$TOP/$VMSPAN" export "$scenario.vmspan" -f chrome -o - >"$T/chrome" 2>"$T/chrome.err"
	eq "$scenario: export ends well" "$?" "0"
	cd "$TOP" || exit 1
	golden "$scenario.txt" "$T/text"
	pretty_golden "$scenario.json" "$T/json"
	pretty_golden "$scenario-suspend-own.json" "$T/own.json"
	pretty_golden "$scenario.chrome.json" "$T/chrome"
	json_eq "$scenario: the ledger sums" "$T/json" \
		'.ledger | .self_ns + .gc_ns + .blocked_ns + .native_ns + .moved_ns + .stale_ns + .lost_ns - .event_wall_ns' 0
	# No byte that a terminal would obey reaches it.
	eq "$scenario: no control bytes" "$(LC_ALL=C tr -d '\n\40-\176\200-\377' <"$T/text" | wc -c)" 0
done

# The keys and their order are the design's.
json_eq "schema" "$T/json" '[.schema, .tool]' '[1,"vmspan"]'
json_eq "top-level keys" "$T/json" 'keys_unsorted | map(select(. as $k |
	["schema","tool","source","processes","events","groups","gc","ledger","losses"] | index($k)))' \
	'["schema","tool","source","processes","events","groups","gc","ledger","losses"]'
ends_well "$VMSPAN" report "$T/basic.vmspan" --json >"$T/basic.json"
json_eq "group keys" "$T/basic.json" '.groups[0] | keys_unsorted | map(select(. as $k |
	["name","kind","pids","ticks","events","spans","wall_ns","self_ns","cpu_ns","blocked_ns","gc_ns",
	"max_ns","p50_ns","p99_ns","durations","stayed","moved","stale","complete","processes"] | index($k))) | length' 20
json_eq "self <= wall" "$T/basic.json" 'all(.groups[]; .self_ns + .gc_ns + .blocked_ns <= .wall_ns)' true
json_eq "a child is not more than its parent" "$T/basic.json" \
	'all(.groups[]; .wall_ns == (.processes | map(.wall_ns) | add))' true
json_eq "buckets are cumulative" "$T/basic.json" \
	'all(.groups[].durations; . == (sort | reverse) and length == 10)' true
