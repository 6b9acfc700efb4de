#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# An event that has not ended when the trace, its thread or its process does, or when another program is
# executed, is told of: in which group, for how long so far, and how deep.
# shellcheck source=tests/attach_lib.sh
. "$(dirname "$0")/../attach_lib.sh"

# Set by target, by name.
vm_pid=''
if ! build "$T/vm" tests/vm/steady.c -pthread || ! build "$T/probes" tests/vm/steady.c -pthread -DVMSPAN_PROBES; then
	not_ok "build" "the programs of this test do not build"
	exit 1
fi
program=$T/vm

now_ns() { # CLOCK_MONOTONIC but for suspend, which no test goes through; of a hundredth of a second
	local up
	read -r up _ </proc/uptime
	echo "${up/./}0000000"
}

is_later_than() { # NS
	[ "$(now_ns)" -gt "$1" ]
}

begin() { # RECORD-ARGUMENT...
	target vm "$program"
	start record "$VMSPAN" record -p "$vm_pid" -o "$T/rec.vmspan" "$@"
	need_line record '^recording ' err
}

# What is in $T/rec.vmspan.
report() {
	ends_well "$VMSPAN" report "$T/rec.vmspan" --json >"$T/report.json"
	# On one line, however long the lines are.
	ends_well "$VMSPAN" report "$T/rec.vmspan" | tr -s ' \n' ' ' >"$T/report.txt"
}

one_is() { # NAME FILTER EXPECTED: of the only one
	json_eq "$1" "$T/report.json" ".unfinished | [.count, (.longest | length), (.longest[0] | $2)]" "[1,1,$3]"
}

ends() { # NAME HOW WORDS: the one event that all begin
	report
	one_is "$1: it is told of" '.event, .label, .group, .ended, .depth' \
		"true,\"turn\",\"addon:first\",\"$2\",2"
	one_is "$1: where it was" '[.inside[].name]' '["first","first/2"]'
	json_eq "$1: it is in no sum" "$T/report.json" '[.events.count, .spans, .losses[]] | add' "$3"
}

for mode in default exact direct; do
	how=()
	case $mode in
	exact) how=(--exact) ;;
	direct) how=(--method direct) program=$T/probes ;;
	esac
	begin ${how+"${how[@]}"}
	tell vm "event 3" "open"
	then=$(now_ns)
	check "$mode, the trace ends: some time has passed in it" until_true is_later_than "$then"
	now=$(now_ns)
	finish record INT
	eq "$mode, the trace ends: well" $? 0
	ends "$mode, the trace ends" trace 4
	json_eq "$mode, the trace ends: for so long at least" "$T/report.json" \
		".unfinished.longest[0].so_far_ns >= $((now - then - 10000000))" true
	check "$mode, the trace ends: record says so" \
		grep -q "^complete, nothing lost; 1 event had not ended: .* so far in addon:first$" "$T/record.err"
	check "$mode, the trace ends: report says so" \
		grep -q "complete; 1 event had not ended: .* so far in addon:first" "$T/report.txt"
	check "$mode, the trace ends: in words" grep -Eq \
		" not ended: [^:]* so far, turn, process $vm_pid, thread $vm_pid, the trace ended: first > first/2" "$T/report.txt"
	tell vm "close"
	dismiss vm

	begin ${how+"${how[@]}"}
	tell vm "event 3" "open" "close"
	finish record INT
	report
	json_eq "$mode, it has ended: nothing is told" "$T/report.json" 'has("unfinished")' false
	dismiss vm

	begin ${how+"${how[@]}"}
	tell vm "leaver"
	finish record INT
	ends "$mode, its thread ends" thread 4
	dismiss vm

	# Nobody looks at what it has left before the process executes another program. (Names of the direct
	# method are read from memory, which is gone then.)
	if [ "$mode" != direct ]; then
		begin ${how+"${how[@]}"}
		kill -s STOP "$record_pid"
		tell vm leaver exec
		answer vm >/dev/null # it is ready
		kill -s CONT "$record_pid"
		echo quit >&"$vm_in"
		dismiss vm
		finish record
		ends "$mode, its thread ends, then exec" thread 4
	fi
	for end in KILL quit exec; do
		begin ${how+"${how[@]}"}
		tell vm "event 3" "open"
		case $end in
		KILL) kill -s KILL "$vm_pid" ;;
		quit) echo quit >&"$vm_in" ;;
		exec)
			tell vm exec
			answer vm >/dev/null # it is ready
			echo quit >&"$vm_in"
			;;
		esac
		dismiss vm 2>/dev/null
		finish record
		ends "$mode, $end" "$([ $end = exec ] && echo exec || echo process)" 4
	done
done

# Of spans outside of events.
for method in direct flush; do
	program=$T/probes
	[ $method = direct ] || program=$T/vm
	begin --method $method
	tell vm "enter"
	finish record INT
	report
	one_is "outside of events, $method: it is told of" '.event, .label, .group, .depth' 'false,"","addon:first",1'
	dismiss vm
	# Nothing before it has this name.
	begin --method $method
	tell vm "spans 3" "group late" "enter"
	finish record INT
	report
	one_is "of a group that nothing else has been in, $method" '.group, .depth' '"addon:late",1'
	dismiss vm
done

# One that began before the trace is in no figure; it is said when it ends, and at the trace's end that nothing came.
notes='[.processes[].notes[]? | .text | sub("ended [0-9.]+ [mu]?s after"; "ended SO LONG after")]'
target vm "$T/vm"
tell vm "open"
start record "$VMSPAN" record -p "$vm_pid" -o "$T/rec.vmspan"
need_line record '^recording ' err
tell vm "close" "event 3"
finish record INT
report
json_eq "begun before the trace, and ended in it" "$T/report.json" "[.events.count, .spans, $notes]" \
	'[1,3,["an event had begun before its marks were turned on, and ended SO LONG after: its time is in the figures of no event"]]'
# Nor is what was done in it, though nothing says so before its end. Where it was told of too early, that is a loss.
for mode in "" --exact; do
	# Of one that was never traced before, and then of one that was.
	dismiss vm
	target vm "$T/vm"
	tell vm "open"
	# shellcheck disable=SC2086 # none, or one
	start record "$VMSPAN" record -p "$vm_pid" -o "$T/rec.vmspan" $mode
	need_line record '^recording ' err
	tell vm "spans 5" "input 2" "close" "spans 2" "event 3"
	finish record INT
	report
	json_eq "what is done in one from before${mode:+, $mode}: it is in no figure" "$T/report.json" \
		'[.complete, .events.count, .events.implicit, .spans]' '[true,3,2,5]'
	tell vm "open"
	# shellcheck disable=SC2086
	start record "$VMSPAN" record -p "$vm_pid" -o "$T/rec.vmspan" $mode
	need_line record '^recording ' err
	tell vm "spans 5" "event 3" "close" "event 3"
	finish record INT
	report
	json_eq "and another event begins in it${mode:+, $mode}: that is a loss" "$T/report.json" \
		'[.complete, .losses.marks_off, ([.processes[].notes[]?.text | test("some of what was done in it counts as outside")])]' \
		'[false,1,[true]]'
done
tell vm "open"
"$VMSPAN" record -q -p "$vm_pid" -o "$T/rec.vmspan" --duration 1200ms
report
json_eq "begun before the trace, and goes on" "$T/report.json" "[.events.count, .spans, $notes]" \
	'[0,0,["its marks are armed, and it has made none"]]'
tell vm "close"
dismiss vm
# Conventional probes tell of it when it is too late, if there was more than is kept of a thread.
target vm "$T/probes"
for work in "spans 5" "spans 105"; do
	tell vm "open"
	start record "$VMSPAN" record --method direct -p "$vm_pid" -o "$T/rec.vmspan"
	need_line record '^recording ' err
	tell vm "$work" "close" "event 3"
	finish record INT
	report
	json_eq "direct: what is done in one from before is in no figure, or a loss ($work)" "$T/report.json" \
		"[.complete, .events.count, .losses.marks_off, ($notes | length)]" \
		"$([ "$work" = "spans 5" ] && echo '[true,1,0,1]' || echo '[false,106,1,1]')"
done
dismiss vm
