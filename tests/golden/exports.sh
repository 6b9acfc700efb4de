#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Recordings with known figures in every export format, compared to the letter
# with tests/golden/expected (VMSPAN_TEST_UPDATE=1 writes those anew: read the diff),
# and what the options of export leave of them.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

version=$(cat VERSION)

export_of() { # SCENARIO OPTION...: to standard output
	local scenario=$1
	shift
	(cd "$T" && ends_well "$TOP/$VMSPAN" export "$scenario.vmspan" -q -o - "$@")
}

for scenario in basic hostile empty one peers long some sampled gap; do
	check "make $scenario" "$B/golden/make_recording" "$scenario" "$T/$scenario.vmspan"
done

for scenario in basic hostile empty peers sampled; do
	for format in firefox speedscope; do
		export_of $scenario -f $format | sed "s/vmspan $version/vmspan VERSION/" | jq . >"$T/out"
		golden "$scenario.$format.json" "$T/out"
	done
	for format in collapsed ndjson; do
		export_of $scenario -f $format | sed "s/vmspan $version/vmspan VERSION/" >"$T/out"
		if [ $scenario.$format = empty.collapsed ]; then
			empty "collapsed: no stack, no line" "$T/out"
		else
			golden "$scenario.$format" "$T/out"
		fi
	done
done
for scenario in one basic peers sampled gap; do
	export_of $scenario -f perfetto | od -An -v -tx1 >"$T/out"
	golden $scenario.perfetto.hex "$T/out"
done

# A number below zero is one in every format: in Perfetto's, field 30 of ten bytes.
eq "perfetto: a value below zero" "$(export_of peers -f perfetto | od -An -v -tx1 | tr -d ' \n' |
	grep -o f001f9ffffffffffffffff01 | wc -l)" 1
eq "chrome: a value below zero" "$(export_of peers -f chrome | jq '.traceEvents[] | select(.ph == "C") | .args.value | select(. < 0)')" -7
eq "ndjson: a value below zero" "$(export_of peers -f ndjson | jq 'select(.type == "value") | .value')" -7

# Everything ever written is valid text of its kind, whatever the names.
for scenario in hostile long; do
	for format in firefox chrome speedscope ndjson collapsed; do
		export_of $scenario -f $format >"$T/out"
		check "$scenario: $format has something" test -s "$T/out"
		check "$scenario: $format is UTF-8" iconv -f UTF-8 -t UTF-8 "$T/out"
		eq "$scenario: $format has no control bytes" "$(LC_ALL=C tr -d '\n\40-\176\200-\377' <"$T/out" | wc -c)" 0
		[ $format = collapsed ] ||
			eq "$scenario: $format has no </script>" "$(grep -c '</script>' "$T/out")" 0
	done
	eq "$scenario: a line a stack" "$(export_of $scenario -f collapsed | grep -cvE '^[^;]+(;[^;]+)+ [0-9]+$')" 0
done

# Whole stacks: each function's time and that of all it called are the same in
# the formats that show them.
by_frame='[.[] | .frames as $f | (($f | unique)[] as $n | {n: $n, total: .ns, self: 0}),
	{n: $f[-1], total: 0, self: .ns}] | group_by(.n) |
	map({n: .[0].n, total: (map(.total) | add), self: (map(.self) | add)})'
export_of sampled -f speedscope | jq -S '.shared.frames as $f | [.profiles[] | select(.type == "sampled") |
	[.samples, .weights] | transpose[] | select(.[0] != []) |
	{frames: [.[0][] | $f[.].name], ns: .[1]}] | '"$by_frame" >"$T/speedscope"
export_of sampled -f collapsed | jq -RS -n '[inputs | capture("^(?<s>.*) (?<ns>[0-9]+)$") |
	{frames: (.s | split(";") | .[2:]), ns: (.ns | tonumber)}] | '"$by_frame" >"$T/collapsed"
same "sampled: speedscope and collapsed agree" "$T/speedscope" "$T/collapsed"
eq "sampled: all looks are in it" "$(jq '[.[].self] | add' "$T/speedscope")" 114000000
eq "sampled: looks stand where they were" "$(export_of sampled -f speedscope | jq -c '[.profiles[] |
	select(.type == "sampled") | .endValue, (.weights | add)]')" '[257000000,257000000]'

# The ns of all stacks, and of all events, are those of the report.
ends_well "$VMSPAN" report "$T/basic.vmspan" --json >"$T/basic.json"
for scenario in basic peers gap; do
	eq "collapsed: all time of all events: $scenario" \
		"$(export_of $scenario -f collapsed | awk '{ s += $NF } END { print s }')" \
		"$(ends_well "$VMSPAN" report "$T/$scenario.vmspan" --json | jq .events.wall_ns)"
	eq "collapsed: what was lost is nobody's: $scenario" \
		"$(export_of $scenario -f collapsed | awk '/;\(lost\) [0-9]+$/ { s += $NF } END { print s + 0 }')" \
		"$(ends_well "$VMSPAN" report "$T/$scenario.vmspan" --json | jq .ledger.lost_ns)"
done
export_of basic -f ndjson >"$T/lines"
eq "gap: something was lost" "$(ends_well "$VMSPAN" report "$T/gap.vmspan" --json | jq '.ledger.lost_ns > 1000000')" true
eq "ndjson: self time by group" "$(jq -sc '[.[] | select(.type == "event") | .groups[]] | group_by(.group)
	| map({(.[0].group): (map(.self_ns) | add)}) | add' "$T/lines")" \
	"$(jq -c '[.groups[] | {(.name): .self_ns}] | sort_by(keys[0]) | add' "$T/basic.json")"
eq "ndjson: the ledger of every event sums" "$(jq -s '[.[] | select(.type == "event") | .self_ns + .gc_ns +
	.blocked_ns + .native_ns + .moved_ns + .stale_ns + .lost_ns - .wall_ns] | unique' -c "$T/lines")" '[0]'
eq "ndjson: lines" "$(tail -n 1 "$T/lines" | jq .lines)" "$(wc -l <"$T/lines")"
eq "ndjson: every event" "$(jq -s '[.[] | select(.type == "event")] | length' "$T/lines")" \
	"$(jq .events.count "$T/basic.json")"

# Who reads a file must know that something is missing.
check "make lossy" "$B/golden/make_recording" lossy "$T/lossy.vmspan"
complete() { # SCENARIO: what each format that says it, says
	export_of "$1" -f firefox | jq -r '.meta.extra[].entries[] | select(.label == "complete").value'
	export_of "$1" -f chrome | jq -r '.otherData.complete, .metadata.complete'
	export_of "$1" -f ndjson | tail -n 1 | jq .complete
	export_of "$1" -f html | sed -n 's/.*<script type="application.json" id="data">\(.*\)<.script>/\1/p' | jq .complete
}
eq "a recording that lacks nothing is complete" "$(complete basic | paste -sd' ')" "yes true true true true"
eq "one that lacks something is not" "$(complete lossy | paste -sd' ')" "no false false false false"

# Why, and how much of it.
eq "firefox: what was lost, by cause" "$(for s in lossy gap; do export_of $s -f firefox; done |
	jq -c '[.meta.extra[].entries[] | [.label, .value]] | map(select(.[0] | test("_|incomplete")))' | paste -sd' ')" \
	'[["events incomplete",0],["ring_full",2]] [["events incomplete",2],["sequence_gap",2]]'
for format in chrome ndjson; do
	for s in lossy gap; do
		eq "$s: $format has the report's losses" "$(export_of $s -f $format | jq -sc 'last | (.otherData // .).losses')" \
			"$(ends_well "$VMSPAN" report "$T/$s.vmspan" --json | jq -c .losses)"
	done
done

# Which event it is that lacks something, the page says too: of each its number and whether.
eq "the page marks the event that lacks records" "$(export_of gap -f html |
	sed -n 's/.*<script type="application.json" id="data">\(.*\)<.script>/\1/p' |
	jq -c '[.events[] | [.[2], .[14] % 2]] | sort')" \
	"$(export_of gap -f ndjson | jq -sc '[.[] | select(.type == "event") | [.duration_ns, if .incomplete then 1 else 0 end]] | sort')"
eq "there it is two of three" "$(export_of gap -f ndjson | jq -sc '[.[] | select(.type == "event") | .incomplete] | [length, (map(select(.)) | length)]')" "[3,2]"

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
for scenario in basic peers some; do
	for range in "--from 1ms" "--to 3ms" "--from 1ms --to 3ms" "--from 3001us" "--from 300us --to 20ms"; do
		read -ra list <<<"$range"
		eq "$scenario: $range is that of a report" "$(export_of $scenario -f ndjson "${list[@]}" |
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
	html) export_of peers -f html "$@" | sed -n 's/.*<script type="application.json" id="data">\(.*\)<.script>/\1/p' |
		jq -c '[.events[] | select(.[14] < 2) | .[2]] + [.events[] | (.[18] // []) as $t | range(0; $t | length; 11) | $t[. + 4]]
		| [length, (add // 0)]' ;;
	esac
}
while read -r options; do
	read -ra list <<<"$options"
	want=$(intervals ndjson "${list[@]}")
	for format in chrome firefox speedscope html; do
		# The page has turns whole when groups are chosen, and no call outside of them.
		[ $format != html ] || [[ $options != *--group* && $options != *1002* ]] || continue
		eq "$format has as much: ${options:-all}" "$(intervals $format "${list[@]}")" "$want"
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
	export_of peers -f html ${o:+"$o"} | sed -n 's/.*<script type="application.json" id="data">\(.*\)<.script>/\1/p' |
		jq .narrowed
done | paste -sd' ')" "false true true true true"
check_status "--slowest wants a number" 2 "$VMSPAN" export "$T/peers.vmspan" --slowest 0

# Files.
(cd "$T" && ends_well "$TOP/$VMSPAN" export one.vmspan -q)
eq "the default is the Firefox Profiler's" "$(jq -r .meta.importedFrom "$T/one.profile.json")" vmspan
check "a name that ends in .gz" "$VMSPAN" export "$T/some.vmspan" -q -f chrome -o "$T/some.json.gz"
eq ".gz holds the same" "$(gunzip <"$T/some.json.gz" | cksum)" "$(export_of some -f chrome | cksum)"
check_status "a full disk is an error" 1 "$VMSPAN" export "$T/some.vmspan" -q -f firefox -o /dev/full
eq "others may read what the umask lets them" "$(for mask in 027 000 077; do
	(umask $mask && ends_well "$VMSPAN" export "$T/one.vmspan" -q -f chrome -o "$T/mask$mask")
	stat -c %a "$T/mask$mask"
done | paste -sd' ')" "640 666 600"
none "nothing is left behind" "$(find "$T" -name '*.??????' -name '*json.*' ! -name '*.gz')"
