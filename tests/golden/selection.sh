#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# What the options of export leave of a recording: in every format as much, and in a report.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/export_lib.sh
. "$(dirname "$0")/../export_lib.sh"

# Under sanitizers, where each start is dear, each choice is made in one format, by turns, and
# ranges of one recording.
sanitized='' turn=0
[[ $B != *san* ]] || sanitized=1
scenarios=(basic peers some)
for scenario in "${scenarios[@]}"; do
	check "make $scenario" "$B/golden/make_recording" "$scenario" "$T/$scenario.vmspan"
done

# Selection; what is left is counted in NDJSON, as every format gets the same.
left() { # SCENARIO OPTION...
	export_of "$@" -f ndjson | jq -sc '[.[] | select(.pid) | .type] | group_by(.) | map({(.[0]): length}) | add'
}
eq "all" "$(left peers)" '{"block":1,"event":6,"gc":1,"span":10,"value":1}'
eq "--pid" "$(left peers --pid 1001)" '{"event":3,"span":3}'
eq "--pid, two" "$(left peers -p 1001,1000)" '{"block":1,"event":6,"gc":1,"span":10,"value":1}'
eq "--thread by id" "$(left peers --thread 1002)" '{"event":1,"gc":1,"span":1,"value":1}'
eq "--thread by name" "$(left peers -t '*main')" '{"block":1,"event":5,"span":9}'
eq "--min-duration" "$(left peers --min-duration 1ms)" '{"block":1,"event":4,"span":4,"value":1}'
eq "--group" "$(left peers --group 'plugin:*')" '{"event":1,"span":1,"value":1}'
eq "--group: other groups are not in the events" "$(export_of peers -f ndjson --group 'plugin:*' |
	jq -c 'select(.type == "event") | [.groups[].group]')" '["plugin:video"]'
eq "--slowest 1" "$(left peers --slowest 1)" '{"block":1,"event":1,"span":1}'
eq "--slowest 2" "$(left peers --slowest 2)" '{"block":1,"event":2,"span":2}'
eq "--slowest: the longest" "$(export_of some -f ndjson --slowest 7 | jq -s '[.[] | select(.type == "event")] | length')" 7
# Of turns of one length: those that were first.
eq "--slowest: the first of equals" "$(export_of some -f ndjson --slowest 7 |
	jq -sc '[.[] | select(.type == "event") | [.tid, .iteration]]')" "$(jq -nc '[range(1; 8) | [1000, .]]')"
eq "--slowest of a process" "$(left peers --slowest 1 --pid 1001)" '{"event":1,"span":1}'
eq "--from, --to" "$(left peers --from 1ms --to 3ms)" '{"event":3,"span":3}'

# A range has whole events: those that a report counts, and all that is in them.
[ -z "$sanitized" ] || scenarios=(peers)
for scenario in "${scenarios[@]}"; do
	for range in "--from 1ms" "--to 3ms" "--from 1ms --to 3ms" "--from 3001us" "--from 300us --to 20ms"; do
		read -ra list <<<"$range"
		eq "$scenario: $range is that of a report" "$(export_of "$scenario" -f ndjson "${list[@]}" |
			jq -sc 'def n(t): map(select(.type == t)) | length; [n("event"), n("span"), n("gc")]')" \
			"$(ends_well "$VMSPAN" report "$T/$scenario.vmspan" --json "${list[@]}" |
			jq -c '[.events.count, ([.groups[] | select(.kind != "top") | .spans] | add), .gc.count]')"
	done
done

# The same is left in every format: intervals are counted, and their time summed.
intervals() { # FORMAT OPTION...: as [count, ns]
	local format=$1
	shift
	case $format in
	ndjson) export_of peers -f ndjson "$@" | jq -sc '[.[] | select(.duration_ns and .implicit != true) | .duration_ns]
		| [length, (add // 0)]' ;;
	chrome) export_of peers -f chrome "$@" | jq -c '[.traceEvents[] | select(.ph == "X") | .dur * 1000 | round]
		| [length, (add // 0)]' ;;
	firefox) export_of peers -f firefox "$@" | jq -c '.shared.stringArray as $s | [.threads[].markers
		| [.name, .startTime, .endTime] | transpose[] | select(.[2] and $s[.[0]] != "Jank")
		| (.[2] - .[1]) * 1e6 | round] | [length, (add // 0)]' ;;
	speedscope) export_of peers -f speedscope "$@" | jq -c '[.profiles[].events[] | if .type == "O" then -.at else .at end]
		| [length / 2, (add // 0)]' ;;
	html) page_data peers "$@" |
		jq -c '[.events[] | select(.[14] < 2) | .[2]] + [.events[] | (.[18] // []) as $t | range(0; $t | length; 11) | $t[. + 4]]
		| [length, (add // 0)]' ;;
	esac
}
while read -r options; do
	read -ra list <<<"$options"
	want=$(intervals ndjson "${list[@]}")
	formats=(chrome firefox speedscope html)
	[ -z "$sanitized" ] || formats=("${formats[turn++ % 4]}")
	for format in "${formats[@]}"; do
		# The page has turns whole when groups are chosen, and no call outside of them.
		[ "$format" != html ] || [[ $options != *--group* && $options != *1002* ]] || continue
		eq "$format has as much: ${options:-all}" "$(intervals "$format" "${list[@]}")" "$want"
	done
done <<-END

	--pid 1001
	--pid 1000,1001
	--thread 1002
	--thread *main
	--min-duration 1ms
	--group plugin:*
	--group page:* --min-duration 500us
	--slowest 1
	--slowest 2
	--slowest 1 --pid 1001
	--from 1ms --to 3ms
END
for format in firefox chrome perfetto speedscope collapsed; do
	check_status "all left out: $format" 0 "$VMSPAN" export "$T/peers.vmspan" -q -f $format -o "$T/none" --pid 7
done
# The page's totals of a part are of that part, which it has to know.
eq "the page knows that it has a part" "$(for o in '' --slowest=1 --min-duration=1ms --thread=1002 --pid=1001; do
	page_data peers ${o:+"$o"} |
		jq .narrowed
done | paste -sd' ')" "false true true true true"
check_status "--slowest wants a number" 2 "$VMSPAN" export "$T/peers.vmspan" --slowest 0
