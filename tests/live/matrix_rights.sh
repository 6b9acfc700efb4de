#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Which rights tracing takes: another user, with the two capabilities alone and
# with what is missing named; by inherited capabilities and by those of the file.
# shellcheck source=tests/attach_lib.sh
. "$(dirname "$0")/../attach_lib.sh"
# shellcheck source=tests/user_lib.sh
. "$(dirname "$0")/../user_lib.sh"

own_pid='' other_pid=''
NOBODY=(setpriv --reuid 65534 --regid 65534 --clear-groups)
as() { # CAPABILITIES COMMAND...: as nobody, with these and no others
	user_with "$1"
	shift
	"${as[@]}" "$@"
}
user_or_skip "rights"
user_folder "rights"
D=$USER_DIR
mkdir "$D/nobody"
chown 65534:65534 "$D/nobody"
cp "$VMSPAN" "$PROBE" "$T/steady" "$D/"
chmod 755 "$D"/{vmspan,live_probe,steady}
PROBE=$D/live_probe
user_traces_or_skip "CAP_BPF and CAP_PERFMON alone" "$D/vmspan"
json_eq "doctor, with two capabilities: tracing works" "$T/doctor.json" '.status' 0

# ---- CAP_BPF and CAP_PERFMON alone ----

as +bpf,+perfmon "$PROBE" -- "$D/steady" "spans 1009" "fork 7" "threads 3 11" >"$T/a.out" 2>"$T/a.err"
grep '^{' "$T/a.out" >"$T/a.json"
eq "two capabilities, a command: exact counts" "$(counts a '[.spans, .forks, .exits, .status]')" \
	'[1049,1,2,0]'
eq "two capabilities, a command: nothing lost, all defined" "$(counts a "$clean")" "$none"

target own "${NOBODY[@]}" "$D/steady"
PROBE_ROOT=$PROBE
by() { # CAPABILITIES NAME ARGUMENT...: attach as nobody
	local caps=$1 name=$2
	shift 2
	printf '#!/bin/sh\nexec setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps %s --ambient-caps %s --bounding-set -all,%s %s "$@"\n' \
		"$caps" "$caps" "$caps" "$PROBE_ROOT" >"$D/probe_as"
	chmod 755 "$D/probe_as"
	PROBE=$D/probe_as
	attach "$name" "$@"
	local rc=$?
	PROBE=$PROBE_ROOT
	return $rc
}
if by +bpf,+perfmon a -p "$own_pid"; then
	eq "two capabilities, one's own process: armed" "$(state "$own_pid")" "$traced"
	tell own "spans 1009" "fork 7" "event 5"
	attach b -p "$own_pid"
	tell own "spans 10"
	detach b
	tell own "spans 3"
	detach a
	eq "two capabilities, one's own process: exact counts" "$(counts a '[.spans, .events, .forks]')" \
		'[1034,1,1]'
	eq "two capabilities beside root: both count" "$(counts b .spans)" 10
	eq "two capabilities: the target is as it was" "$(state "$own_pid")" "$untouched"
	by +bpf,+perfmon a -p "$own_pid"
	finish a KILL 2>/dev/null
	eq "two capabilities, killed: the target is as it was" "$(state "$own_pid")" "$untouched"
else
	not_ok "two capabilities, one's own process" "$(cat "$T/a.err")"
fi

# ---- Another user's process ----

target other "$D/steady"
check_status "another user's process without CAP_SYS_PTRACE" 3 as +bpf,+perfmon "$PROBE" -p "$other_pid"
eq "another user's process: the capability is named" "$(grep -c CAP_SYS_PTRACE "$T/err")" 1
if by +bpf,+perfmon,+sys_ptrace a -p "$other_pid"; then
	tell other "spans 1013"
	detach a
	eq "with CAP_SYS_PTRACE too, another user's process: exact counts" "$(counts a .spans)" 1013
else
	not_ok "with CAP_SYS_PTRACE too, another user's process" "$(cat "$T/a.err")"
fi
dismiss other

# ---- What is missing is named ----

build "$D/probes" tests/vm/steady.c -pthread -DVMSPAN_PROBES && chmod 755 "$D/probes" || not_ok "build" "probes"

check_status "CAP_PERFMON alone" 3 as +perfmon "$PROBE" -p "$own_pid"
eq "CAP_PERFMON alone: the one that is missing, and the command" \
	"$(grep -c 'Missing: CAP_BPF\..*sudo setcap cap_bpf,cap_perfmon' "$T/err")" 1
check_status "CAP_BPF alone" 3 as +bpf "$PROBE" -p "$own_pid"
eq "CAP_BPF alone: the one that is missing, and the command" \
	"$(grep -c 'Missing: CAP_PERFMON\..*sudo setcap' "$T/err")" 1
check_status "no capability" 3 "${NOBODY[@]}" "$PROBE" -p "$own_pid"
eq "no capability: both are named" "$(grep -c 'Missing: CAP_BPF, CAP_PERFMON\.' "$T/err")" 1
check_status "no capability: doctor says so too" 3 "${NOBODY[@]}" "$D/vmspan" doctor
eq "no capability: doctor names both" "$(grep -c 'missing: CAP_BPF, CAP_PERFMON' "$T/out")" 1
check_status "the direct method wants CAP_SYS_ADMIN" 3 as +bpf,+perfmon "$PROBE" -m direct -- \
	"$D/probes" "spans 1"
eq "the direct method: the capability is named" "$(grep -c 'takes CAP_SYS_ADMIN' "$T/err")" 1

# ---- A library that is deleted ----

build_library "$D/gone.so" && chmod 755 "$D/gone.so" || not_ok "build" "gone.so"
take_programs plain
target keeper "$T/plain"
tell keeper "open $D/gone.so"
rm "$D/gone.so"
check_status "a deleted library without CAP_CHECKPOINT_RESTORE" 3 as +bpf,+perfmon,+sys_ptrace "$PROBE" -p "$keeper_pid"
eq "a deleted library: it and the capability are named" \
	"$(grep -c -e 'no permission to open 1 of its .*gone\.so (deleted)' -e CAP_CHECKPOINT_RESTORE "$T/err")" 2
check_status "a deleted library: doctor says so too" 3 as +bpf,+perfmon,+sys_ptrace "$D/vmspan" doctor -p "$keeper_pid"
eq "a deleted library: doctor names the capabilities" "$(tr -s ' \n' ' ' <"$T/out" | grep -c 'CAP_CHECKPOINT_RESTORE.*CAP_DAC_READ_SEARCH for it too')" 1
# Of a name there may be others to come: it is said, and waited for them.
take_programs crowd
mkdir "$D/later"
install -m 755 "$T/crowd" "$D/later/plain"
user_with +bpf,+perfmon,+sys_ptrace
start rec "${as[@]}" "$D/vmspan" record --comm plain -o "$D/nobody/sweep"
need_line rec '^recording ' err
later_pid=''
target later "$D/later/plain"
check "a deleted library: a sweep goes on" wait_armed "$later_pid"
tell later "spans 1033"
finish rec INT
dismiss later
"$VMSPAN" report "$D/nobody/sweep" --json >"$T/sweep.json"
json_eq "a deleted library: of the next one all is there" "$T/sweep.json" .spans 1033
json_eq "a deleted library: without it nothing is complete" "$T/sweep.json" '[.left_out, ([.groups[].complete] | any)]' '[1,false]'
json_eq "a deleted library: what a sweep cannot trace is said in the same words" "$T/sweep.json" \
	'[.processes[] | select(.pid == '"$keeper_pid"').notes[]? | .text | test("no permission to open 1 of its .*gone\\.so .deleted.")]' '[true]'
if by +bpf,+perfmon,+sys_ptrace,+checkpoint_restore,+dac_read_search a -p "$keeper_pid"; then
	tell keeper "lib 1021"
	detach a
	eq "a deleted library with CAP_CHECKPOINT_RESTORE, and CAP_DAC_READ_SEARCH since it is another user's: exact counts" "$(counts a .spans)" 1021
else
	not_ok "a deleted library with CAP_CHECKPOINT_RESTORE and CAP_DAC_READ_SEARCH" "$(cat "$T/a.err")"
fi
dismiss keeper

# Beside a program that has marks itself.
build_library "$D/beside.so" && chmod 755 "$D/beside.so" || not_ok "build" "beside.so"
target keeper "$T/crowd"
tell keeper "open $D/beside.so"
rm "$D/beside.so"
user_with +bpf,+perfmon,+sys_ptrace
start rec "${as[@]}" "$D/vmspan" record -p "$keeper_pid" -o "$D/nobody/beside"
need_line rec '^recording ' err
tell keeper "spans 1031" "lib 7"
finish rec INT
"$VMSPAN" report "$D/nobody/beside" --json >"$T/beside.json"
json_eq "a deleted library beside it: the program's own marks are there" "$T/beside.json" .spans 1031
json_eq "a deleted library beside it: nothing is complete" "$T/beside.json" '[.left_out, ([.groups[].complete] | any)]' '[1,false]'
json_eq "a deleted library beside it: that it is not traced is said" "$T/beside.json" \
	'[.processes[].notes[]? | .text | test("no permission to open 1 of its .*beside.so .deleted.: what is in those is not traced")]' '[true]'
dismiss keeper

# ---- A trial second ----

check_status "doctor -p" 0 "$VMSPAN" doctor --json -p "$own_pid"
json_eq "doctor -p: a trial second, and the target's own figures" "$T/out" \
	'[.status, (.processes[0].checks[] | select(.id == "trial" or .id == "registry") | .result)]' \
	'[0,"ok","ok"]'
eq "doctor -p: the target is as it was" "$(state "$own_pid")" "$untouched"
check_status "doctor -p of what cannot be traced" 4 "$VMSPAN" doctor --json -p $$
json_eq "doctor -p of what cannot be traced: it is not tried" "$T/out" \
	'[.status, ([.processes[0].checks[] | select(.id == "trial")] | length)]' '[4,0]'

# ---- Capabilities of the file ----

if setcap cap_bpf,cap_perfmon+ep "$D/vmspan" 2>"$T/err"; then
	check "setcap: a recording as another user" "${NOBODY[@]}" "$D/vmspan" record -q \
		-o "$D/nobody/rec" -- "$D/steady" "spans 1009" "fork 7"
	"$VMSPAN" report "$D/nobody/rec" --json >"$T/report.json"
	json_eq "setcap: exact counts" "$T/report.json" \
		'[.groups[] | select(.kind == "top") | .spans] | add' 1016
	check "setcap: doctor for one's own process" "${NOBODY[@]}" "$D/vmspan" doctor -p "$own_pid"
elif grep -q 'Operation not supported' "$T/err"; then
	skip "setcap" "this file system keeps no capabilities: $(stat -f -c %T "$D")"
else
	not_ok "setcap" "$(head -n 1 "$T/err")"
fi
dismiss own
