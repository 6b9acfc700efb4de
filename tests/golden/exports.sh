#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Recordings with known figures in every export format, compared to the letter
# with tests/golden/expected (VMSPAN_TEST_UPDATE=1 writes those anew: read the diff).
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/export_lib.sh
. "$(dirname "$0")/../export_lib.sh"

version=$(cat VERSION)

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

# What a hypervisor took of the second turn.
eq "sampled: what was stolen, in chrome's" "$(export_of sampled -f chrome | jq -c '[.traceEvents[] |
	.args.stolen_ns // empty]')" '[3000000]'
ends_well "$VMSPAN" report "$T/sampled.vmspan" >"$T/sampled.txt"
eq "sampled: what was stolen is said, and lacks nothing" "$(tr -s ' \n' ' ' <"$T/sampled.txt" | grep -c '; complete (a hypervisor took 3.00 ms of CPU time) addon')" 1

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
	page_data "$1" | jq .complete
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
eq "the page marks the event that lacks records" "$(page_data gap |
	jq -c '[.events[] | [.[2], if .[14] >= 2 then 1 else 0 end]] | sort')" \
	"$(export_of gap -f ndjson | jq -sc '[.[] | select(.type == "event") | [.duration_ns, if .incomplete then 1 else 0 end]] | sort')"
eq "there it is two of three" "$(export_of gap -f ndjson | jq -sc '[.[] | select(.type == "event") | .incomplete] | [length, (map(select(.)) | length)]')" "[3,2]"

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
