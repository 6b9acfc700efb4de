#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A program that loads its VM later is refused, unless it is to be waited for.
# shellcheck source=tests/attach_lib.sh
. "$(dirname "$0")/../attach_lib.sh"

# Set by target, by name.
vm_pid='' command_pid=''
take_programs plain steady
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
# But what it loads has not waited for it.
json_eq "all of it is there, which nobody can know" "$T/report.json" \
	'[.events.count, .events.incomplete, .losses.marks_off, (.losses | del(.marks_off) | [.[]] | add)]' '[1009,0,1,0]'
start record "$VMSPAN" record -p "$vm_pid" --wait -o "$T/again.vmspan"
need_line record '^recording ' err
tell vm "lib 7"
finish record INT
none "who has it already is not waited for" "$(grep waiting "$T/record.err")"
dismiss vm

# ---- What a command executes waits, but not for ever ----

is_gone() { # PID
	! kill -s 0 "$1" 2>/dev/null
}

# A child that executes the program again, of which the tracer hears when nobody waits for it any more.
for then in ends lives silent; do
	target command "$VMSPAN" record -q -o "$T/rec.vmspan" -- "$T/steady"
	kill -s STOP "$command_pid"
	echo "keep 5" >&"$command_in"
	child=$(answer command | sed 's/child //')
	answer command >/dev/null
	tell command exec
	check "waited in vain, $then: it goes on" answer command
	tell command "event 7"
	if [ $then = ends ]; then
		echo quit >&"$command_in"
		check "waited in vain, $then: it has ended" until_true is_gone "$child"
	fi
	kill -s CONT "$command_pid"
	[ $then = ends ] ||
		check "waited in vain, $then: it is attached to" until_true is_armed "$child" 1
	[ $then != lives ] || tell command "event 9"
	dismiss command
	eq "waited in vain, $then: status" $? 0
	ends_well "$VMSPAN" report "$T/rec.vmspan" --json >"$T/report.json"
	json_eq "waited in vain, $then: that is a loss" "$T/report.json" '[.events.count - .events.implicit, .losses.marks_off]' \
		"$([ $then = lives ] && echo '[1,1]' || echo '[0,1]')"
done
# Had it come in time, it is none. What is loaded waits for 250 ms at most: who was ready sooner has
# not waited in vain. On a busy machine that may take longer: then once more.
uptime_ms() { # to 10 ms
	local up
	read -r up _ </proc/uptime
	echo $((10#${up/./} * 10))
}
in_time() {
	local begin
	target command "$VMSPAN" record -q -o "$T/rec.vmspan" -- "$T/steady"
	echo "keep 5" >&"$command_in"
	answer command >/dev/null # of its number
	answer command >/dev/null
	begin=$(uptime_ms)
	tell command exec
	answer command >/dev/null # it is ready
	took=$(($(uptime_ms) - begin))
	tell command "event 7"
	dismiss command
	ends_well "$VMSPAN" report "$T/rec.vmspan" --json >"$T/report.json"
	[ $took -lt 240 ]
}
for _ in $(seq 20); do
	! in_time || break
done
check "waited for and come: $took ms" test "$took" -lt 240
json_eq "waited for and come: nothing is lost" "$T/report.json" \
	'[.events.count - .events.implicit, ([.losses[]] | add)]' '[1,0]'

# One that is attached to before it begins waits for nobody, however late the tracer hears of it.
cat >"$T/early.c" <<'END'
#include <unistd.h>
static void says(const char *line)
{
	char c;

	if (write(1, line, 6) == 6 && read(0, &c, 1))
		return;
}
/* Before the SDK's. */
static __attribute__((constructor(101))) void early(void)
{
	says("early\n");
}
#include "user/sdk/vmspan.h"
int main(void)
{
	says("begun\n");
	return 0;
}
END
# In tenths of a second: the 250 ms that whoever waits does are over.
lib_tenths() {
	read -r tenths _ </proc/uptime
	tenths=${tenths%?}
	tenths=${tenths/./}
}
is_after() { # TENTHS
	lib_tenths
	[ "$tenths" -gt "$1" ]
}
is_zombie() { # PID
	lib_read_stat "$1" && [ "${lib_stat[0]}" = Z ]
}
if build "$T/early" "$T/early.c"; then
	target command "$VMSPAN" record -q -o "$T/rec.vmspan" -- "$T/early"
	kill -s STOP "$command_pid"
	child=$(pgrep -P "$command_pid")
	lib_tenths
	tell command ""
	check "heard of late: the time is over" until_true is_after $((tenths + 4))
	echo >&"$command_in"
	check "heard of late: it has ended" until_true is_zombie "$child"
	kill -s CONT "$command_pid"
	dismiss command
	eq "heard of late: status" $? 0
	ends_well "$VMSPAN" report "$T/rec.vmspan" --json >"$T/report.json"
	json_eq "heard of late: nothing is lost" "$T/report.json" '[.losses[]] | add' 0
else
	not_ok "build" "the program that says so early does not build"
fi
