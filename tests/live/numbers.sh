#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Programs with conventional probes of their own, which hand over numbers: each number is a group, named
# by a profile or by itself.
# shellcheck disable=SC2154 # start_ready sets rec_pid
# shellcheck source=tests/attach_lib.sh
. "$(dirname "$0")/../attach_lib.sh"

foreign_pid='' steady_pid=''
build "$T/shop" tests/vm/foreign.c &&
	build "$T/steady" tests/vm/steady.c -pthread -DVMSPAN_PROBES &&
	build "$T/oddlabels" tests/vm/foreign.c -DODD_LABELS &&
	build "$T/oddids" tests/vm/foreign.c -DODD_IDS &&
	build "$T/vmspan" tests/vm/foreign.c -DSEMAPHORES '-DPROVIDER="vmspan"' &&
	build "$T/libbank.so" tests/vm/foreign.c -shared -fPIC -DFOREIGN_LIBRARY '-DPROVIDER="bank"' &&
	build "$T/both" tests/vm/foreign.c -DFOREIGN_LINKED "$T/libbank.so" || {
	not_ok "build" "the programs of this test do not build"
	exit 1
}
groups='[.groups[] | select(.name | startswith("top:") | not) | [.name, .spans]] | sort'

# The documentation's example.
sed -n '/^```ini$/,/^```$/p' docs/PROBES.md | sed '1d;$d' >"$T/shop.ini"
tasks=("spans 7 5" "event 3 8 6" "event 4 9 7" "event 4 1048574 11" "event 0 1048575 13")

traced() { # PROGRAM OPTION...: report.json is of the tasks
	local program=$1
	shift
	target foreign "$program"
	start record "$VMSPAN" record -p "$foreign_pid" -o "$T/rec.vmspan" "$@"
	need_line record '^recording ' err
	tell foreign "${tasks[@]}"
	finish record INT
	eq "${program##*/}: record's status" $? 0
	echo quit >&"$foreign_in"
	dismiss foreign
	eq "${program##*/}: the program's status" $? 0
	ends_well "$VMSPAN" report "$T/rec.vmspan" --json >"$T/report.json"
	check "${program##*/}: what it costs is said before" \
		grep -q '^vmspan: note: marks are traps here: each takes the program some 1.20 us of its CPU time, and a span is two' "$T/record.err"
	json_eq "${program##*/}: nothing is lost" "$T/report.json" '[.events.incomplete, ([.losses[]] | add)]' '[0,0]'
	ends_well "$VMSPAN" export "$T/rec.vmspan" --format ndjson -o "$T/events.ndjson"
}
labels() { # of the events, in their order
	jq -rs '[.[] | select((.label? // "") != "") | .label] | join(" ")' "$T/events.ndjson"
}

# With semaphores, where those of vmspan.h would lie in a registry.
traced "$T/vmspan"
json_eq "no profile: each number is a group" "$T/report.json" "$groups" \
	'[["compartment:1048574",11],["compartment:7",5],["compartment:8",6],["compartment:9",7]]'
eq "no profile: labels are numbers" "$(labels)" "3 4 4"
target foreign "$T/vmspan"
check_status "no profile: doctor too" 0 "$VMSPAN" doctor -p "$foreign_pid"
check "no profile: doctor says what it is" grep -q 'none: each number is a group, each mark a trap' "$T/out"
dismiss foreign

# What cannot be read of its arguments, is the probe's and nobody else's.
target foreign "$T/oddlabels"
start record "$VMSPAN" record -p "$foreign_pid" -o "$T/rec.vmspan" --profile "$T/shop.ini"
need_line record '^recording ' err
tell foreign "${tasks[@]}"
finish record INT
eq "labels that cannot be read: record's status" $? 0
dismiss foreign
ends_well "$VMSPAN" report "$T/rec.vmspan" --json >"$T/report.json"
json_eq "labels that cannot be read: the spans are there, and what is not is said" "$T/report.json" \
	'[.spans, ([.losses[]] | add), .left_out, ([.processes[].notes[]? | select(.left_out) | .text | sub(".*/"; "")])]' \
	'[42,0,1,["oddlabels: probe shop:event__begin hands over 1@odd_label(%rip), which cannot be read"]]'
target foreign "$T/oddids"
check_status "ids that cannot be read: refused" 1 \
	"$VMSPAN" record -p "$foreign_pid" -o "$T/none.vmspan" --profile "$T/shop.ini"
check "ids that cannot be read: in true words" \
	grep -qF 'oddids: probe shop:enter hands over 8@%xmm0, which cannot be read' "$T/err"
dismiss foreign

target foreign "$T/shop"
check_status "other names, and no profile: nothing to trace" 4 \
	"$VMSPAN" record -p "$foreign_pid" -o "$T/none.vmspan"
check "other names, and no profile: what to do" grep -qF -- "--profile FILE" "$T/err"
check_status "doctor knows it by its profile" 0 "$VMSPAN" doctor -p "$foreign_pid" --profile "$T/shop.ini"
dismiss foreign
traced "$T/shop" --profile "$T/shop.ini"
json_eq "a profile: by its names" "$T/report.json" "$groups" \
	'[["compartment:9",7],["plugin:cart",16],["tenant:acme: Europe",6]]'
eq "a profile: labels too" "$(labels)" "checkout 4 4"
check_status "list knows it by its profile" 0 "$VMSPAN" list "$T/shop" --profile "$T/shop.ini"
check "list: words" grep -q ': profile shop, conventional probes' "$T/out"

# Two files with profiles: a thread's numbers are those of the one that it makes a mark in first.
sed 's/shop/bank/; s/^7 = .*/7 = tenant:bank/' "$T/shop.ini" >"$T/bank.ini"
by_order() { # NAME EXPECTED TASK...
	local name=$1 expected=$2
	shift 2
	target foreign "$T/both"
	start record "$VMSPAN" record -p "$foreign_pid" -o "$T/rec.vmspan" --profile "$T/shop.ini" --profile "$T/bank.ini"
	need_line record '^recording ' err
	tell foreign "$@"
	finish record INT
	dismiss foreign
	ends_well "$VMSPAN" report "$T/rec.vmspan" --json >"$T/report.json"
	json_eq "two files, $name" "$T/report.json" "$groups" "$expected"
}
by_order "the program first" '[["plugin:cart",8]]' "spans 7 5" "library 7 3"
by_order "the library first" '[["tenant:bank",8]]' "library 7 3" "spans 7 5"

# Numbers that are no ids.
target foreign "$T/shop"
start record "$VMSPAN" record -p "$foreign_pid" -o "$T/rec.vmspan" --profile "$T/shop.ini"
need_line record '^recording ' err
tell foreign "event 3 7 5" "event 3 4294967280 17"
finish record INT
dismiss foreign
ends_well "$VMSPAN" report "$T/rec.vmspan" --json >"$T/report.json"
json_eq "numbers beyond those of ids: each mark is a loss" "$T/report.json" '[.spans, .losses.not_made, .events.incomplete]' '[5,34,1]'

# A child is attached to when it has lived for a while, or has ended by then.
target steady "$T/steady"
start record "$VMSPAN" record --method direct -p "$steady_pid" -o "$T/rec.vmspan"
need_line record '^recording ' err
tell steady "spans 5" "fork 7"
finish record INT
dismiss steady
ends_well "$VMSPAN" report "$T/rec.vmspan" --json >"$T/report.json"
json_eq "a child that ends soon is a loss" "$T/report.json" '[.spans, .losses.marks_off]' '[5,1]'

# The trace's end comes before that.
target steady "$T/steady"
start record "$VMSPAN" record --method direct -p "$steady_pid" -o "$T/rec.vmspan"
need_line record '^recording ' err
tell steady "spans 5"
kill -s STOP "$record_pid"
tell steady "keep 7"
kill -s INT "$record_pid"
kill -s CONT "$record_pid"
finish record
dismiss steady
ends_well "$VMSPAN" report "$T/rec.vmspan" --json >"$T/report.json"
json_eq "a child that is young at the end is a loss" "$T/report.json" '[.spans, .losses.marks_off]' '[5,1]'

# A command's marks are those from its first on, and its registry's, where it has one.
check_status "a command: nothing is traced" 4 \
	"$VMSPAN" record --profile "$T/shop.ini" -o "$T/none.vmspan" -- "$T/shop" <<<quit
check "a command: what to do" grep -qF -- "--method direct" "$T/err"
ends_well "$VMSPAN" record -q --profile "$T/shop.ini" --method direct -o "$T/rec.vmspan" -- "$T/shop" \
	<<<"spans 7 5" >"$T/out"
ends_well "$VMSPAN" report "$T/rec.vmspan" --json >"$T/report.json"
json_eq "a command with numbers" "$T/report.json" "$groups" '[["plugin:cart",5]]'
# Names are read from its memory, while it is there.
start_ready rec "$VMSPAN" record --method direct -o "$T/rec.vmspan" -- "$T/steady"
send rec "event 5"
need_line rec '^ok'
kill -s INT "$rec_pid"
need_line rec 'complete|lost' err
finish rec
eq "a command with a registry: status" $? 0
ends_well "$VMSPAN" report "$T/rec.vmspan" --json >"$T/report.json"
json_eq "a command with a registry" "$T/report.json" "$groups" '[["addon:first",5]]'

# It is over before anybody has looked where its registry lies.
start_ready rec "$VMSPAN" record --method direct -o "$T/rec.vmspan" -- "$T/steady"
steady_pid=$(sed -n 's/^ready //p' "$T/rec.out")
kill -s STOP "$rec_pid"
send rec "exec"
send rec "spans 7"
send rec "quit"
has_ended() {
	[ "$(lib_state "$steady_pid")" = Z ]
}
check "a command that executes itself, and ends: it has" until_true has_ended
kill -s CONT "$rec_pid"
finish rec
ends_well "$VMSPAN" report "$T/rec.vmspan" --json >"$T/report.json"
json_eq "a command that executes itself, and ends: its names are a loss" "$T/report.json" \
	'[.spans, .losses.names, .complete]' '[7,1,false]'

# What is attached to executes itself: the traps are where they were, and its registry is elsewhere.
target steady "$T/steady"
start record "$VMSPAN" record --method direct -p "$steady_pid" -o "$T/rec.vmspan"
need_line record '^recording ' err
# (Of what it executes the first answer is that it is there.)
tell steady "spans 5" "exec" "spans 11" "spans 0"
finish record INT
dismiss steady
ends_well "$VMSPAN" report "$T/rec.vmspan" --json >"$T/report.json"
json_eq "one that executes itself: its names are known" "$T/report.json" "[.losses.names, .complete, ($groups)]" \
	'[0,true,[["addon:first",16]]]'
