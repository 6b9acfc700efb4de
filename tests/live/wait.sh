#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A program that loads its VM later is refused, unless it is to be waited for.
# shellcheck source=tests/attach_lib.sh
. "$(dirname "$0")/../attach_lib.sh"

# Set by target, by name.
vm_pid=''
take_programs plain
build "$T/vm.so" tests/vm/crowd.c -pthread -shared -fPIC -DCROWD_LIBRARY

target vm "$T/plain"
check_status "it has nothing to trace" 4 "$VMSPAN" record -p "$vm_pid" -o "$T/none.vmspan"
check "what would wait for it is said" grep -qF -- "--wait" "$T/err"
# Some namespaces have none.
kthread=$(pgrep -x kthreadd | head -n 1)
[ -z "$kthread" ] ||
	check_status "a kernel thread is not waited for" 4 "$VMSPAN" record -p "$kthread" --wait -o "$T/none.vmspan"
check "no recording of it is left" test ! -e "$T/none.vmspan"
# What nothing was traced of is not complete, whoever ends it.
start record "$VMSPAN" record -p "$vm_pid" --wait -o "$T/none.vmspan"
need_line record '^recording ' err
rc=0
finish record INT || rc=$?
eq "nothing came of it: status" "$rc" 4
check "nothing came of it: words" grep -q '^vmspan: nothing was traced' "$T/record.err"
none "nothing came of it: and none of its being complete" "$(grep complete "$T/record.err")"
start record "$VMSPAN" record -p "$vm_pid" --wait -o "$T/rec.vmspan"
need_line record 'there is nothing to trace yet; waiting' err
need_line record '^recording ' err
tell vm "open $T/vm.so"
check "what it loads is attached to" until_true is_armed "$vm_pid" 1
tell vm "lib 1009"
finish record INT
eq "status" $? 0
ends_well "$VMSPAN" report "$T/rec.vmspan" --json >"$T/report.json"
json_eq "all of it is there" "$T/report.json" '[.events.count, .events.incomplete, ([.losses[]] | add)]' '[1009,0,0]'
start record "$VMSPAN" record -p "$vm_pid" --wait -o "$T/again.vmspan"
need_line record '^recording ' err
tell vm "lib 7"
finish record INT
none "who has it already is not waited for" "$(grep waiting "$T/record.err")"
dismiss vm
