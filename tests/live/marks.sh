#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Targets whose marks the tracer makes spans of (user/sdk): what is counted is what was
# done, however it has come, and a target is left as it was found.
# shellcheck source=tests/attach_lib.sh
. "$(dirname "$0")/../attach_lib.sh"

# Set by target and attach, by name.
vm_pid='' child_pid='' child_in=''
if ! build "$T/v2" tests/vm/steady.c -pthread; then
	not_ok "build" "the program of this test does not build"
	exit 1
fi

target vm "$T/v2"
eq "a target is untouched before" "$(state "$vm_pid")" "$untouched"
tell vm "spans 12345" "group late"
attach a -p "$vm_pid"
eq "attached: its semaphore is up" "$(state "$vm_pid")" "$traced"
tell vm "spans 1009" "event 31" "threads 4 211" "gc 3" "block 5" "input 7" "value 11"
detach a
eq "by PID: exact counts" "$(counts a '[.spans, .events, .gc, .block, .input, .value]')" \
	"[$((1009 + 31 + 4 * 211)),1,3,5,7,11]"
eq "by PID: nothing lost, all defined" "$(counts a "$clean")" "$none"
eq "by PID: threads are told of" "$(counts a '[.threads, .thread_ends]')" '[5,4]'
eq "detached: the target is as it was" "$(state "$vm_pid")" "$untouched"
tell vm "spans 501"
attach a -p "$vm_pid"
tell vm "spans 13"
detach a
eq "a second trace sees only its own time" "$(counts a .spans)" 13

attach a -p "$vm_pid"
tell vm "skip 4" "deep 260" "group new" "spans 3"
detach a
eq "repaired and too deep are counted" "$(counts a '[.spans, .events]')" "[$((4 + 256 + 3)),1]"
eq "a group defined under the trace is known" "$(counts a "$clean")" "$none"

# None of those left is around the next: not after more than nest either.
attach a -p "$vm_pid"
tell vm "left 70" "event 3"
detach a
eq "events that were left end where that is caught" \
	"$(counts a '[.spans, .events, .too_deep_said]')" "[$((70 + 3)),71,0]"

attach a -p "$vm_pid"
tell vm "spans 100"
attach b -p "$vm_pid"
tell vm "spans 1000"
detach a
eq "one of two gone: the other is still there" "$(state "$vm_pid")" "$traced"
tell vm "spans 10"
detach b
eq "two tracers: the first" "$(counts a .spans)" 1100
eq "two tracers: the second has nothing from before its time" \
	"$(counts b '[.spans, .before_start]')" '[1010,0]'
eq "two tracers: nothing lost" "$(counts a "$clean")$(counts b "$clean")" "$none$none"
eq "both gone: the target is as it was" "$(state "$vm_pid")" "$untouched"

attach a -p "$vm_pid"
tell vm "spans 5" "fork 77" "fork 1009" "spans 6"
detach a
eq "forked children: every span from the first" \
	"$(counts a '[.spans, .forks, .exits, ([.pids[]] | sort)]')" "[1097,2,2,[11,77,1009]]"
eq "forked children: nothing lost, all defined" "$(counts a "$clean")" "$none"
target child "$T/v2"
attach a -p "$child_pid" -p "$vm_pid"
echo "keep 5" >&"$child_in"
answer child >/dev/null
answer child >/dev/null
attach b -p "$child_pid"
detach b
tell child "spans 1000"
tell vm "spans 9"
detach a
eq "a child outlives another tracer" "$(counts a '[.spans, ([.pids[]] | sort)]')" '[1014,[9,1005]]'
dismiss child

target child "$T/v2"
attach a -p "$child_pid"
tell child "event 5" "exec"
answer child >/dev/null
tell child "spans 1009"
detach a
eq "exec of itself: traced from the first mark" "$(counts a '[.spans, .execs]')" '[1014,1]'
eq "exec of itself: nothing lost, all defined" "$(counts a "$clean")" "$none"
dismiss child

run_command a -- "$T/v2" "spans 1009"
eq "a command: every span from the first" "$(counts a '[.spans, .status, .execs, .exits]')" \
	'[1009,0,0,1]'
eq "a command: nothing lost, all defined" "$(counts a "$clean")" "$none"
run_command a -- "$T/v2" "spans 3" "fork 7" "event 5" "threads 3 11"
eq "a command with children and threads" "$(counts a '[.spans, .events, .forks]')" '[48,1,1]'

# What lies in the memory of a child that shares it is its parent's.
target child "$T/v2"
attach a -p "$child_pid"
tell child "spans 300"
echo vhold >&"$child_in"
eq "a child that shares the memory: it is there" "$(answer child)" child
detach a
eq "a child that shares the memory: nothing twice" "$(counts a '[.spans, .forks]')" '[300,1]'
tell child ""
dismiss child

# A breakpoint in code that is executed in translation would kill the program.
if command -v valgrind >/dev/null; then
	target child valgrind -q --tool=none "$T/v2"
	check_status "under valgrind: it is not traced" 1 "$VMSPAN" record -p "$child_pid" --duration 0.1 \
		-o "$T/valgrind.vmspan"
	check "under valgrind: why" grep -q "process $child_pid runs under valgrind" "$T/err"
	check "under valgrind: it goes on" tell child "spans 5"
	dismiss child
	eq "under valgrind: it ends well" $? 0
else
	skip "under valgrind" "no valgrind: tools/install-deps"
fi

# Libraries that come later have copies of their own, and share what the process has.
build "$T/host" tests/vm/crowd.c -pthread
take_programs plain
for i in 1 2; do
	build "$T/lib$i.so" tests/vm/crowd.c -pthread -shared -fPIC -DCROWD_LIBRARY
done
run_command a -- "$T/host" "spans 7" "open $T/lib1.so" "spans 5" "lib 11" "open $T/lib2.so" "lib 13"
eq "libraries opened by a command: every span" "$(counts a '[.spans, .status]')" \
	"[$((7 + 5 + 11 + 26)),0]"
run_command a -- "$T/plain" "open $T/lib1.so" "lib 7" "open $T/lib2.so" "lib 11"
eq "opened by a command without: every span" "$(counts a '[.spans, .status]')" "[$((7 + 22)),0]"
eq "opened by a command: nothing lost, all defined" "$(counts a "$clean")" "$none"
target child "$T/host"
attach a -p "$child_pid"
tell child "spans 5" "open $T/lib1.so"
# It has waited for that.
check "dlopen after attach: it is attached to" is_armed "$child_pid" 2
tell child "lib 1009"
detach a
eq "dlopen after attach: exact counts" "$(counts a .spans)" $((5 + 1009))
eq "dlopen after attach: nothing lost, all defined" "$(counts a "$clean")" "$none"
dismiss child

# What a thread keeps is read while the trace goes on.
start idle "$VMSPAN" stat -p "$vm_pid" -i 0.1 --json
need_line idle '"spans"'
tell vm "spans 7"
spans_are() { # NAME COUNT
	jq -se ".[-1].spans == $2" "$T/$1.out" >/dev/null 2>&1
}
check "a program that idles: its spans are seen meanwhile" until_true spans_are idle 7
finish idle INT
eq "a program that idles: nothing twice at the end" "$(tail -n 1 "$T/idle.out" | jq .spans)" 7

# A thread knows by its clock when it had no CPU, and the stay it was in then: who sleeps has
# used none of it, though both take as long. From Linux 6.19 on it does not know of sleeps.
if kernel_since 6 19; then
	skip "who sleeps has used no CPU, who works has" "from Linux 6.19 on a thread does not know of sleeps"
elif ! build "$T/sleeps" tests/vm/sleeps.c -pthread; then
	not_ok "who sleeps has used no CPU, who works has" "its program does not build"
else
	start_ready sleeps "${ONE_CPU[@]}" "$T/sleeps"
	start record "$VMSPAN" record -p "$sleeps_pid" -o "$T/sleeps.vmspan"
	need_line record '^recording ' err
	send sleeps
	need_line sleeps '^done'
	finish record INT
	finish sleeps
	"$VMSPAN" report "$T/sleeps.vmspan" --json >"$T/sleeps.json"
	json_eq "who sleeps has used no CPU, who works has" "$T/sleeps.json" \
		'[.groups[] | {(.name): .cpu_ns}] | add | [."addon:sleeps" < 5000000, ."addon:works" >= 19900000]' '[true,true]'
fi

# In exact mode what the scheduler did to a thread comes from itself, also at its end.
attach a -e -p "$vm_pid"
tell vm "spans 1009" "event 31" "threads 4 211"
detach a
eq "exact: exact counts" "$(counts a '[.spans, .events, .threads]')" \
	"[$((1009 + 31 + 4 * 211)),1,5]"
eq "exact: nothing lost, all defined" "$(counts a "$clean")" "$none"

# What threads hold when they are killed is read as they end (from Linux 6.16 on).
if kernel_since 6 16; then
	for how in '' -e; do
		target child "$T/v2"
		attach a $how -p "$child_pid"
		tell child "hold 40 13" "spans 11" "event 7"
		kill -s KILL "$child_pid"
		dismiss child 2>/dev/null
		need_line a '^end'
		detach a
		eq "killed with 41 threads${how:+, exact}: every span" "$(counts a '[.spans, .threads]')" \
			"[$((40 * 13 + 11 + 7)),41]"
		eq "killed with 41 threads${how:+, exact}: nothing lost" "$(counts a "$clean")" "$none"
	done
fi

# A ring that is too small: marks are missing, so many as are counted.
attach a -s -r 65536 -p "$vm_pid"
tell vm "event 7" "spans 100000" "group lost" "spans 200000"
detach a
# Three definitions are no marks, and find room or not.
eq "tiny ring: the gaps are the losses" \
	"$(counts a '[.records > 0, .gaps > 0, (.ring_full - .gaps | . >= 0 and . <= 3)]')" '[true,true,true]'
eq "tiny ring: no more than there was" "$(counts a '.records < 300007 + 1 + 3')" true
eq "tiny ring: definitions that were lost are read from the target" "$(counts a .undefined)" 0
dismiss vm
