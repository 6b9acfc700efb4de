#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The kernel has a process by its first thread. Another may execute a program: it takes the first one's number, and what
# was attached to the process by the first is gone with that. Or the first ends, and others go on: by its number there are
# neither memory nor files then.
# shellcheck source=tests/attach_lib.sh
. "$(dirname "$0")/../attach_lib.sh"

# Set by target, by name.
vm_pid=''
take_programs steady

for how in default --exact; do
	target vm "$T/steady"
	# shellcheck disable=SC2086 # none, or one
	start record "$VMSPAN" record -p "$vm_pid" ${how/default/} -o "$T/rec.vmspan"
	need_line record '^recording ' err
	tell vm "event 7"
	tell vm follow
	answer vm >/dev/null # it is ready
	check "$how: what it executes is attached to" wait_armed "$vm_pid"
	tell vm "event 9"
	finish record INT
	ends_well "$VMSPAN" report "$T/rec.vmspan" --json >"$T/report.json"
	json_eq "$how: what both have marked is there" "$T/report.json" \
		'[.events.count, .spans, (.losses | del(.marks_off) | [.[]] | add)]' '[2,16,0]'
	dismiss vm
done

# What a command becomes waits to be attached to.
target vm "$VMSPAN" record -q -o "$T/rec.vmspan" -- "$T/steady"
tell vm "event 7"
tell vm follow
answer vm >/dev/null
tell vm "event 9"
dismiss vm
eq "a command: status" $? 0
ends_well "$VMSPAN" report "$T/rec.vmspan" --json >"$T/report.json"
json_eq "a command: what both have marked is there" "$T/report.json" '[.events.count, .spans]' '[2,16]'

retired() {
	grep -q '^State:.Z' "/proc/$vm_pid/status"
}

for how in "-p PID" "-p PID --exact" "--comm steady"; do
	target vm "$T/steady"
	tell vm retire
	check "$how: the first thread has ended" until_true retired
	# shellcheck disable=SC2086 # words
	start record "$VMSPAN" record ${how/PID/$vm_pid} -o "$T/rec.vmspan"
	need_line record '^recording ' err
	tell vm "event 9"
	finish record INT
	ends_well "$VMSPAN" report "$T/rec.vmspan" --json >"$T/report.json"
	json_eq "$how: what others mark is there" "$T/report.json" '[.events.count, .spans, .complete]' '[1,9,true]'
	dismiss vm
done
