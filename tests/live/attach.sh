#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Attaching and letting go, on the real kernel: what is counted is what was
# done, and a target is left as it was found.
# shellcheck source=tests/attach_lib.sh
. "$(dirname "$0")/../attach_lib.sh"

# Set by target and attach, by name.
a_pid='' vm_pid='' child_pid='' child_in='' probes_pid='' liar_pid='' v_pid='' sleeper_pid=''
family_pid='' family_in=''
if ! build "$T/probes" tests/vm/steady.c -pthread -DVMSPAN_PROBES ||
	! build "$T/hostile" tests/vm/hostile.c -pthread; then
	not_ok "build" "the programs of this test do not build"
	exit 1
fi

# ---- One process, by PID ----

target vm "$T/steady"
eq "a target is untouched before" "$(state "$vm_pid")" "$untouched"
tell vm "spans 12345" "group late"
attach a -p "$vm_pid"
eq "attached: its semaphore is up" "$(state "$vm_pid")" "$traced"
# Before 5.11 the kernel has none of it, and refuses all the rest with it. 29 is its map type. Where the end
# of a process can be read, the threads that do so are counted in one.
maps=$(cat /proc/"$a_pid"/fdinfo/* | grep '^map_type:')
check "the kernel tells of the tracer's maps" grep -q '27$' <<<"$maps"
eq "targets with the SDK need no task storage but where their end is read" \
	"$(grep -c '29$' <<<"$maps")" "$(kernel_since 6 16 && echo 1 || echo 0)"
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

# ---- What is repaired ----

attach a -p "$vm_pid"
tell vm "skip 4" "deep 260" "group new" "spans 3"
detach a
eq "repaired and too deep are counted" "$(counts a '[.spans, .events]')" "[$((4 + 256 + 3)),1]"
eq "a group defined under the trace is known" "$(counts a "$clean")" "$none"

# ---- Two tracers ----

attach a -p "$vm_pid"
tell vm "spans 100"
attach b -p "$vm_pid"
tell vm "spans 1000"
detach a
eq "one of two gone: the other is still there" "$(state "$vm_pid")" "$traced"
tell vm "spans 10"
detach b
eq "two tracers: the first" "$(counts a .spans)" 1100
eq "two tracers: the second" "$(counts b .spans)" 1010
eq "two tracers: nothing lost" "$(counts a "$clean")$(counts b "$clean")" "$none$none"
# What a thread had gathered when the second came, is handed to both.
eq "two tracers: the second has nothing of before its time" "$(counts b .before_start)" 0
eq "both gone: the target is as it was" "$(state "$vm_pid")" "$untouched"
# The second one's target runs into the first one's breakpoint too. All of the first one's
# small ring would be full of it.
target child "$T/steady"
attach a -s -r 65536 -p "$vm_pid"
attach b -p "$child_pid"
tell child "spans 100000"
tell vm "spans 1009"
detach a
detach b
eq "two tracers of two processes that have one file: the first has nothing of the second's" \
	"$(counts a '[.spans, .ring_full, .pids]')" "[1009,0,{\"$vm_pid\":1009}]"
eq "two tracers of two processes that have one file: the second" "$(counts b '[.spans, .pids]')" \
	"[100000,{\"$child_pid\":100000}]"
dismiss child

# ---- A tracer that dies ----

attach a -p "$vm_pid"
tell vm "spans 200"
target child "$T/steady"
attach b -p "$child_pid"
echo "keep 77" >&"$child_in"
forked=$(answer child | sed 's/child //')
answer child >/dev/null
eq "a forked child is armed" "$(state "$forked")" "$traced"
finish a KILL
finish b KILL
eq "tracer killed: the target is as it was" "$(state "$vm_pid")" "$untouched"
eq "tracer killed: so is its parent" "$(state "$child_pid")" "$untouched"
eq "tracer killed: and the forked child" "$(state "$forked")" "$untouched"
attach a -p "$vm_pid"
tell vm "spans 17" "event 2"
detach a
eq "after a killed tracer the next one counts right" "$(counts a '[.spans, .events]')" '[19,1]'
dismiss child

# ---- Children ----

attach a -p "$vm_pid"
tell vm "spans 5" "fork 77" "fork 1009" "spans 6"
detach a
eq "forked children: every span from the first" \
	"$(counts a '[.spans, .forks, .exits, ([.pids[]] | sort)]')" "[1097,2,2,[11,77,1009]]"
eq "forked children: nothing lost, all defined" "$(counts a "$clean")" "$none"
attach a -n -p "$vm_pid"
tell vm "spans 5" "fork 77"
detach a
eq "children are left alone on demand" "$(counts a '[.spans, .forks]')" '[5,0]'
target child "$T/steady"
attach a -p "$child_pid" -p "$vm_pid"
echo "keep 5" >&"$child_in"
forked=$(answer child | sed 's/child //')
answer child >/dev/null
attach b -p "$child_pid"
detach b
tell child "spans 1000"
eq "another tracer's detaching does not disarm a child" "$(state "$forked")" "$traced"
tell vm "spans 9"
detach a
eq "a child outlives it" "$(counts a '[.spans, ([.pids[]] | sort)]')" '[1014,[9,1005]]'
dismiss child

# While it is young a child lives on what it has inherited, and who detaches from its program's file
# takes that away: what it does then nobody sees, and that is said, as it ends or gets links of its own.
attach_at_once() { # a child, whose tracer does not get to see that it is there
	target family "$T/steady"
	attach a -p "$family_pid"
	kill -s STOP "$a_pid"
	# Of the new program the tracer knows nothing: that it is armed shows when it marks.
	if [ "${2-}" = executed ]; then
		tell family exec
		answer family >/dev/null # it is ready
		tell family "spans 3"
	fi
	echo "keep 5" >&"$family_in"
	forked=$(answer family | sed 's/child //')
	answer family >/dev/null
	attach b -p "$family_pid"
	detach b
	eq "$1: it is off" "$(state "$forked")" "$disarmed"
	tell family "spans 7"
}
# What is known from memory that earlier kernels have taken away by then.
with_memory() { # NAME HAVE WANTED
	if kernel_since 6 16; then
		eq "$@"
	else
		skip "$1" "this kernel takes the memory away too early (before 6.16)"
	fi
}
for end in _exit exec; do
	attach_at_once "a young child that another tracer's detaching disarms, $end"
	if [ $end = _exit ]; then
		echo _exit >&"$family_in"
	else
		tell family exec
		kill -s CONT "$a_pid" # its successor waits for it
		answer family >/dev/null # it is ready
		echo quit >&"$family_in"
	fi
	dismiss family
	kill -s CONT "$a_pid"
	check "a young child that another tracer's detaching disarms, $end: its end is told" wait_line a '^end'
	detach a
	# Its successor may begin before the tracer goes on, which is one more.
	with_memory "a young child that another tracer's detaching disarms, $end: a loss" \
		"$(counts a "[.spans, .marks_off - (if .marks_off == 2 and \"$end\" == \"exec\" then 1 else 0 end)]")" '[5,1]'
done
attach_at_once "a young child of a new program that another tracer's detaching disarms" executed
echo _exit >&"$family_in"
dismiss family
kill -s CONT "$a_pid"
check "a young child of a new program that another tracer's detaching disarms: its end is told" wait_line a '^end'
detach a
with_memory "a young child of a new program that another tracer's detaching disarms: a loss" \
	"$(counts a '[.spans, .marks_off]')" '[8,1]'
attach_at_once "a young child that another tracer's detaching disarms, and lives"
kill -s CONT "$a_pid"
is_armed() {
	[ "$(state "$forked")" = "$traced" ]
}
check "a young child that another tracer's detaching disarms, and lives: it is armed again" until_true is_armed
tell family "spans 9"
detach a
eq "a young child that another tracer's detaching disarms, and lives: a loss" "$(counts a '[.spans, .marks_off]')" '[14,1]'
dismiss family

target family "$T/steady"
echo "keep 5" >&"$family_in"
forked=$(answer family | sed 's/child //')
answer family >/dev/null
attach a -p "$family_pid"
eq "a child that was there before is attached to" "$(state "$forked")" "$traced"
tell family "spans 31" "fork 7"
detach a
eq "a child that was there before: exact counts" "$(counts a '[.spans, .seen, .forks]')" '[38,2,1]'
eq "a child that was there before is as it was" "$(state "$forked")" "$untouched"
dismiss family

# What it has to say comes at its end, when its memory with the names of its groups is gone.
target family "$T/steady"
echo "keep 5" >&"$family_in"
forked=$(answer family | sed 's/child //')
answer family >/dev/null
attach a -p "$family_pid"
tell family "spans 31"
echo _exit >&"$family_in"
dismiss family # its parent ends with it
check "a child that was there before and ends first: so does the trace" wait_line a '^end'
detach a
with_memory "a child that was there before and ends first: all is defined" \
	"$(counts a .spans)$(counts a "$clean")" "31$none"

# ---- exec ----

target child "$T/steady"
attach a -p "$child_pid"
tell child "event 5" "exec"
answer child >/dev/null
tell child "spans 1009"
detach a
eq "exec of itself: traced from the first mark" "$(counts a '[.spans, .execs]')" '[1014,1]'
eq "exec of itself: nothing lost, all defined" "$(counts a "$clean")" "$none"
dismiss child

# ---- A command ----

run_command a -- "$T/steady" "spans 1009"
eq "a command: every span from the first" "$(counts a '[.spans, .status, .execs, .exits]')" \
	'[1009,0,0,1]'
eq "a command: nothing lost, all defined" "$(counts a "$clean")" "$none"
run_command a -- "$T/steady" "spans 3" "fork 7" "event 5" "threads 3 11"
with_memory "a command with children and threads" "$(counts a '[.spans, .events, .forks]')" '[48,1,1]'
PATH=$T:$PATH run_command a -- steady "spans 3"
eq "a command found on PATH" "$(counts a .spans)" 3
check_status "a command that is not there" 1 "$PROBE" -- "$T/nowhere"
grep -q 'nowhere: cannot be started: No such file' "$T/err"
eq "a command that is not there: words" $? 0
check_status "a command without probes" 4 "$PROBE" -- true
run_command a -- sh -c "exit 3"
eq "a command's exit status" "$(counts a .status)" 3

# ---- The direct method ----

if "$VMSPAN" doctor --json | jq -e 'any(.checks[]; .id == "task_storage" and .result == "ok")' >/dev/null; then
	target probes "$T/probes"
	attach a -m direct -p "$probes_pid"
	tell probes "spans 1009" "event 31" "threads 4 211" "gc 3" "block 5" "input 7" "value 11" "skip 4" \
		"deep 262"
	detach a
	eq "direct: exact counts" "$(counts a '[.spans, .events, .gc, .block, .input, .value]')" \
		"[$((1009 + 31 + 4 * 211 + 4 + 256)),2,3,5,7,11]"
	eq "direct: nothing lost, all defined" "$(counts a "$clean")" "$none"
	eq "direct: the target is as it was" "$(state "$probes_pid")" "$untouched"
	attach a -p "$probes_pid"
	tell probes "spans 1009"
	detach a
	# 1,024 marks a ring, which may be looked at meanwhile; of conventional probes each mark is one. What may be of
	# an event from before comes in one piece.
	eq "rings are preferred where there are both" "$(counts a '[.spans, .batches >= 1, .batches < 1009]')" \
		'[1009,true,true]'
	# What is left out is counted, and only what lacks something is incomplete: by the report.
	start record "$VMSPAN" record --method direct -p "$probes_pid" -o "$T/direct.vmspan"
	need_line record '^recording ' err
	tell probes "event 31" "skip 4" "event 7" "deep 262" "event 5"
	finish record INT
	eq "direct: the recording ends well" $? 0
	"$VMSPAN" report "$T/direct.vmspan" --json >"$T/direct.json"
	json_eq "direct: what is too deep is lost, and said to be" "$T/direct.json" \
		'[.spans, .losses.too_deep, .repairs.repaired]' "[$((31 + 4 + 7 + 256 + 5)),6,4]"
	json_eq "direct: what is too deep makes that event incomplete, and no other" "$T/direct.json" \
		'[.events.count, .events.incomplete]' "[5,1]"
	# A ring for few of its batches, and nobody reads.
	attach a -m direct -s -r 8192 -p "$probes_pid"
	tell probes "spans 3000"
	detach a
	eq "direct: tiny ring: received + lost = made, to the record" \
		"$(counts a '[.spans > 0, .ring_full > 0, .spans + .ring_full]')" '[true,true,3000]'
	dismiss probes
	check_status "direct: not with the scheduler's record" 2 \
		"$VMSPAN" record --exact --method direct -p "$vm_pid" -o "$T/no.vmspan"
	check_status "direct: a target without such probes" 4 "$PROBE" -m direct -p "$vm_pid"
else
	skip "the direct method" "this kernel has no BPF task storage"
fi

# ---- The scheduler's record ----

# No time is looked at here: so also where the kernel does not trust its counter.
trusting() { # OUTPUT COMMAND: a script that runs it where the kernel does
	printf '#!/bin/sh\nexec unshare -m sh -c %q %q "$@"\n' \
		"mount --bind '$T/sources' /sys/devices/system/clocksource/clocksource0/available_clocksource && exec \"\$0\" \"\$@\"" \
		"$2" >"$1"
	chmod 755 "$1"
}
echo tsc >"$T/sources"
trusting "$T/exact_probe" "$PROBE"
trusting "$T/exact_vmspan" "$VMSPAN"
"$T/exact_vmspan" doctor --json >"$T/doctor.json" 2>"$T/err"
if jq -e 'any(.checks[]; .id == "load" and .result == "ok")' "$T/doctor.json" >/dev/null; then
	any=$PROBE PROBE=$T/exact_probe
	# The one that waits while it is attached to comes back once, and 4 begin meanwhile.
	attach a -e -p "$vm_pid"
	tell vm "event 3" "threads 4 211"
	detach a
	with_memory "exact: a thread's record has one start, and no wait from before it" \
		"$(counts a '[.spans, .off_starts]')" "[$((3 + 4 * 211)),5]"
	# Each task switches it, and so many records fill a batch.
	target child "$T/steady"
	attach a -e -n -p "$child_pid"
	tell child "event 5"
	echo "keep 7" >&"$child_in"
	answer child >/dev/null && answer child >/dev/null
	for _ in $(seq 30); do tell child "spans 1"; done
	detach a
	eq "exact: a child that is left alone has no record" "$(counts a '[.spans, .off_starts]')" '[5,1]'
	PROBE=$any
	dismiss child
elif "$VMSPAN" doctor --json | jq -e 'any(.checks[]; .id == "task_storage" and .result == "ok")' >/dev/null; then
	skip "exact mode" "$(head -n 1 "$T/err" | grep . || jq -r '.checks[] | select(.id == "load").advice' "$T/doctor.json")"
else
	skip "exact mode" "this kernel has no BPF task storage"
fi

# ---- A ring that is too small ----

# A full batch finds no room in it: the event's does.
attach a -s -r 8192 -p "$vm_pid"
tell vm "event 7" "spans 100000" "group lost" "spans 200000"
detach a
# Lost are marks: two a span, a few of switches; and of each span that is missing one at least.
eq "tiny ring: what is missing is lost, and no more" \
	"$(counts a '(300007 - .spans) as $missing | [.spans > 0, .ring_full >= $missing,
		.ring_full < 3 * $missing]')" '[true,true,true]'
eq "tiny ring: definitions that were lost are read from the target" "$(counts a .undefined)" 0

# Hand-overs into a ring buffer that is a quarter full after 31, and nobody reads. A
# wake-up is an interrupt on the target's CPU: it is not told again at each batch.
attach a -s -r 1048576 -p "$vm_pid"
tell vm "spans 25600"
detach a
eq "a reader that is behind: all is there" "$(counts a '[.spans, .ring_full]')" "[25600,0]"
eq "a reader that is behind is not woken by every batch" "$(counts a '.wakeups > 0 and .wakeups < 35')" \
	true

# ---- Targets that lie ----

target liar "$T/hostile" wait bad_calls bad_batches honest wait
attach a -p "$liar_pid"
tell liar go
detach a
eq "hostile batches: counted, the rest intact" "$(counts a '[.spans, .malformed, .read_fault]')" \
	"[10,24,11]"
eq "hostile batches: of no possible size, and with heads and records that do not fit" \
	"$(counts a .malformed_batches)" $((7 + 6))
dismiss liar
for lie in circle garbage endless; do
	target liar "$T/hostile" "$lie" wait honest wait
	attach a -p "$liar_pid"
	tell liar go
	detach a
	eq "hostile registry ($lie): counted, the rest intact" \
		"$(counts a '[.spans, .malformed > 0, .gaps]')" '[10,true,0]'
	dismiss liar
done
target liar "$T/hostile" wait wild honest threads wait
attach a -p "$liar_pid"
tell liar go
check "hostile ids, registries and threads: no harm" detach a
# A reader that has no CPU meanwhile lets the ring buffer fill: that is counted too.
eq "hostile ids, registries and threads: nothing uncounted" \
	"$(counts a '.records + .malformed + .limit + .ring_full')" 20010
dismiss liar

# ---- How a program is linked and where it lives ----

variant() { # NAME BUILD-FLAG...
	local name=$1
	build_variant "$@" || return 0
	target v "$T/variant"
	attach a -p "$v_pid"
	tell v "spans 1009" "fork 3"
	detach a
	eq "$name: exact counts" "$(counts a .spans)" 1012
	eq "$name: as it was" "$(state "$v_pid")" "$untouched"
	dismiss v
}
if [ -n "$PREBUILT" ]; then
	skip "how a program is linked" "no compiler here"
else
	variant "static" -static
	variant "no PIE" -no-pie
	variant "PIE, unoptimized" -O0 -pie -fPIE
	variant "stripped" -s
	build "$T/lib.so" tests/vm/steady.c -pthread -shared -fPIC -Dmain=library_main
	echo 'int library_main(int, char **); int main(int c, char **v) { return library_main(c, v); }' \
		>"$T/main.c"
	variant_main() {
		"$CC" -o "$T/with_lib" "$T/main.c" "$T/lib.so" -Wl,-rpath,"$T"
	}
	check "a library builds" variant_main
	target v "$T/with_lib"
	attach a -p "$v_pid"
	tell v "spans 1009" "fork 3"
	detach a
	eq "in a shared library: exact counts" "$(counts a .spans)" 1012
	dismiss v
fi

cp "$T/steady" "$T/gone"
target v "$T/gone"
rm "$T/gone"
attach a -p "$v_pid"
tell v "spans 1009"
detach a
eq "a deleted program: exact counts" "$(counts a .spans)" 1009
dismiss v
if unshare -m true 2>/dev/null; then
	mkdir "$T/mnt"
	target v unshare -m sh -c "mount -t tmpfs none '$T/mnt' && cp '$T/steady' '$T/mnt/' &&
		exec '$T/mnt/steady'"
	attach a -p "$v_pid"
	tell v "spans 1009"
	detach a
	eq "in another mount namespace: exact counts" "$(counts a .spans)" 1009
	dismiss v
	unshare -pf --mount-proc "$PROBE" -- "$T/steady" "spans 31" "fork 7" >"$T/a.out" 2>"$T/a.err"
	grep '^{' "$T/a.out" >"$T/a.json"
	eq "inside a PID namespace: exact counts" "$(counts a '[.spans, .forks, .exits]')" '[38,1,2]'
else
	skip "namespaces" "unshare is not allowed here"
fi

# The tracer, held at a stage of attaching: see live_stage.c.
start_stage() { # STAGE ARGUMENT...
	make_input stage
	start stage alone ${lib_with_us+"${lib_with_us[@]}"} "$PROBE" -w "$@"
	open_input stage
	check "it comes to the stage: $1" wait_line stage "^at $1"
}

# ---- Targets that cannot be traced ----

start sleeper tail -f /dev/null
# Not while it is about to become that.
is_tail() {
	[ "$(cat "/proc/$sleeper_pid/comm")" = tail ]
}
until_true is_tail || not_ok "no probes" "tail does not begin"
check_status "no probes" 4 "$PROBE" -p "$sleeper_pid"
eq "no probes: what was looked for" "$(grep -c 'vmspan:armed and vmspan:flush' "$T/err")" 1
eq "no probes: what to do" "$(grep -c 'vmspan.h' "$T/err")" 1
finish sleeper KILL 2>/dev/null
check_status "no such process" 1 "$PROBE" -p 4194304
eq "no such process: words" "$(grep -c 'process 4194304 does not exist' "$T/err")" 1
if [ "$(cat /proc/2/comm 2>/dev/null)" = kthreadd ]; then
	check_status "a kernel thread" 4 "$PROBE" -p 2
	eq "a kernel thread: words" "$(grep -c 'kernel thread' "$T/err")" 1
else
	skip "a kernel thread" "none is seen from this PID namespace"
fi
if setpriv --reuid 65534 --clear-groups true 2>/dev/null; then
	chmod 755 "$T" "$PROBE"
	check_status "no permission" 3 setpriv --reuid 65534 --clear-groups "$PROBE" -p "$vm_pid"
	eq "no permission: how to get it" "$(grep -c 'sudo' "$T/err")" 1
	check_status "no permission for a command" 3 setpriv --reuid 65534 --clear-groups "$PROBE" -- \
		"$T/steady" "spans 1"
	eq "no permission for a command: what is missing" "$(grep -c 'CAP_BPF' "$T/err")" 1
else
	skip "no permission" "setpriv is not allowed here"
fi

# A process that ends while it is being attached to, at each stage of that: a status of
# the table with words, and an end.
for stage in looked loaded found checked carried arming armed; do
	target v "$T/steady"
	start_stage "$stage" -p "$v_pid"
	dismiss v
	send stage
	finish stage
	rc=$?
	case $rc in
	0) ok "a target that ends ($stage)" ;;
	1 | 4) check "a target that ends ($stage): words" test -s "$T/stage.err" ;;
	*) not_ok "a target that ends ($stage)" "exit status $rc: $(tail -n 3 "$T/stage.err")" ;;
	esac
done
check "the target of all this still ends well" dismiss vm
