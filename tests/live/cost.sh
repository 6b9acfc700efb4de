#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# What being traced takes of the target's time is told, by each view the same: the marks that it made
# and the probes that it hit.
# shellcheck source=tests/attach_lib.sh
. "$(dirname "$0")/../attach_lib.sh"

# Set by target, by name.
vm_pid=''
if ! build "$T/vm" tests/vm/steady.c -pthread -DVMSPAN_PROBES; then
	not_ok "build" "the program of this test does not build"
	exit 1
fi

begin() { # RECORD-ARGUMENT...
	target vm "$T/vm"
	start record "$VMSPAN" record -p "$vm_pid" -o "$T/rec.vmspan" "$@"
	need_line record '^recording ' err
}

finish_all() {
	finish record INT
	eq "$1: record's status" $? 0
	dismiss vm
	ends_well "$VMSPAN" report "$T/rec.vmspan" --json >"$T/report.json"
	ends_well "$VMSPAN" report "$T/rec.vmspan" >"$T/report.txt"
}

same_words() { # NAME
	eq "$1: record and report say the same" "$(grep '^marking took about' "$T/report.txt")" \
		"$(grep '^marking took about' "$T/record.err")"
	check "$1: they say it" grep -q "^marking took about .* of CPU time: $2\$" "$T/report.txt"
}

# A switch of the thread is a mark too, and what it has to say takes the place of another.
begin
tell vm "spans 5000"
finish_all "marks"
json_eq "marks: two a span, and few besides" "$T/report.json" \
	'.cost | [.marks >= 10000, .marks < 15000, .traps > 0, .traps < 1000, .cpu_ns > .marks]' '[true,true,true,true,true]'
same_words "marks" "[0-9,]* marks, [0-9,]* traps*"

begin
finish_all "no marks"
json_eq "no marks: hardly a cost" "$T/report.json" '(.cost.marks // 0) < 100' true

begin --method direct
tell vm "spans 500"
finish_all "traps"
json_eq "traps: two a span" "$T/report.json" '.cost | [.marks, .traps, .cpu_ns]' '[0,1000,1200000]'
same_words "traps" "1,000 traps"

# A part has its part.
begin
tell vm "spans 5000"
finish_all "a part"
ends_well "$VMSPAN" report "$T/rec.vmspan" --json --from 1h >"$T/part.json"
json_eq "a part: of what lies behind the end nothing" "$T/part.json" 'has("cost")' false
