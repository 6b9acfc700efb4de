#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The attach matrix: which processes. Several at once, by name, by control
# group, all of them; those that are there and those to come. Other vmspan
# targets of the machine may run meanwhile: only what this test started counts.
# shellcheck source=tests/attach_lib.sh
. "$(dirname "$0")/../attach_lib.sh"

one_pid='' two_pid='' three_pid='' x_pid='' y_pid='' z_pid=''
take_programs crowd plain
# Names nobody else has.
cp "$T/steady" "$T/vmn-a$$"
cp "$T/crowd" "$T/vmn-b$$"
A=$T/vmn-a$$ Bb=$T/vmn-b$$

of() { # NAME PID...: spans of these processes
	local name=$1
	shift
	jq -c --arg pids "$*" '[($pids | split(" "))[] as $p | .pids[$p] // 0]' "$T/$name.json"
}

# ---- Several PIDs ----

target one "$A"
target two "$Bb"
target three "$T/steady"
attach a -p "$one_pid" -p "$two_pid" -p "$three_pid" -p "$one_pid"
tell one "spans 101" "fork 7"
tell two "spans 103"
tell three "spans 107"
detach a
eq "several PIDs, one of them twice: exact counts" \
	"$(counts a '[.spans, .seen]')$(of a "$one_pid" "$two_pid" "$three_pid")" '[318,3][101,103,107]'
check_status "several PIDs, one of which is none: nothing is traced" 1 "$PROBE" -p "$one_pid" -p 4194304
eq "several PIDs, one of which is none: as they were" "$(state "$one_pid")" "$untouched"

# ---- By name ----

attach a -c "vmn-a$$" -p "$three_pid"
eq "by name: the other is left alone" "$(state "$two_pid")" "$untouched"
tell one "spans 211" "fork 5"
tell two "spans 223"
tell three "spans 227"
# Who does not wait may have gone on before its marks were on, which is a loss.
# shellcheck disable=SC2154 # set by attach
export VMSPAN_WAIT=$a_pid
target x "$A"
check "by name: one that is started later is attached to" wait_armed "$x_pid"
tell x "spans 229"
"$T/plain" "run $A 13" "run $A 13" "run $Bb 17"
unset VMSPAN_WAIT
detach a
eq "by name and PID: exact counts" "$(of a "$one_pid" "$two_pid" "$three_pid" "$x_pid")" \
	'[211,0,227,229]'
eq "by name: nothing lost, all defined" "$(counts a "$clean")" "$none"
eq "by name: as they were" "$(state "$one_pid")$(state "$x_pid")" "$untouched$untouched"
attach a -c "vmn-?$$"
tell one "spans 3"
tell two "spans 5"
tell x "spans 7"
detach a
eq "by a pattern: exact counts" "$(counts a .spans)$(of a "$one_pid" "$two_pid" "$x_pid")" '15[3,5,7]'
# Names are taken without an exec, too.
attach a -c "vmn-new$$"
tell one "name vmn-other$$" "spans 2"
eq "by name: one that takes another name is left alone" "$(state "$one_pid")" "$untouched"
tell one "name vmn-new$$"
check "by name: one that takes it is attached to" wait_armed "$one_pid"
tell one "spans 1009" "name vmn-a$$" "spans 13" "fork 7"
detach a
eq "by name: one that takes it and gives it up again: exact counts" \
	"$(counts a '[.spans, .forks, .seen]')$(of a "$one_pid")" '[1029,1,1][1022]'
eq "by name: one that takes it: nothing lost, all defined" "$(counts a "$clean")" "$none"
# With the wait that record sets for its own command a later one misses nothing.
attach a -c "vmn-a$$"
(
	export VMSPAN_WAIT=$a_pid
	for i in 1 2 3 4 5 6 7; do "$A" "spans $i"; done
)
detach a
eq "by name, started with VMSPAN_WAIT: every span of processes to come" \
	"$(counts a '[.spans, .gaps]')" '[28,0]'
dismiss x

# ---- By control group ----

group=''
# Whoever is in it ends, for a group that has members stays.
group_end() {
	local pid
	[ -n "$group" ] && [ -e "$group" ] || return
	while read -r pid; do
		kill -s KILL "$pid" 2>/dev/null
	done < <(cat "$group/inner/cgroup.procs" "$group/cgroup.procs" 2>/dev/null)
	until_true group_remove
}
group_remove() {
	{ [ ! -e "$group/inner" ] || rmdir "$group/inner"; } 2>/dev/null && rmdir "$group" 2>/dev/null
}
lib_endings+=(group_end)
: >"$T/err"
for d in /sys/fs/cgroup/unified /sys/fs/cgroup /sys/fs/cgroup/systemd /sys/fs/cgroup/freezer; do
	[ -f "$d/cgroup.procs" ] && group=$(mktemp -d "$d/vmspan-test-XXXXXX" 2>>"$T/err") && break
done
if [ -n "$group" ]; then
	mkdir "$group/inner"
	target x sh -c "echo 0 >'$group/inner/cgroup.procs' && exec '$A'"
	attach a -g "$group"
	tell x "spans 31"
	tell one "spans 37"
	target y sh -c "echo 0 >'$group/cgroup.procs' && exec '$Bb'"
	check "by control group: one that is started later is attached to" wait_armed "$y_pid"
	tell y "spans 41"
	detach a
	eq "by control group: exact counts" "$(counts a .spans)$(of a "$one_pid" "$x_pid" "$y_pid")" \
		'72[0,31,41]'
	attach a -g "/${group##*/}/inner"
	tell x "spans 43"
	tell y "spans 47"
	detach a
	eq "by control group, as /proc/PID/cgroup has it" "$(counts a .spans)" 43
	attach a -g "${group##*/}/inner"
	tell x "spans 5"
	tell y "spans 7"
	detach a
	eq "by control group, without the first /" "$(counts a .spans)" 5
	attach a -g "${group##*/}"
	tell one "spans 3"
	tell x "spans 11"
	tell y "spans 13"
	detach a
	eq "by the name of a control group alone: whoever is in it and below" "$(counts a .spans)" 24
	attach a -g "$group/inner"
	tell y "spans 3"
	echo "$y_pid" >"$group/inner/cgroup.procs"
	check "by control group: one that is moved there is attached to" wait_armed "$y_pid"
	tell y "spans 1009"
	echo "$y_pid" >"$group/cgroup.procs"
	tell y "spans 53"
	detach a
	eq "by control group: moved there and away again: exact counts" \
		"$(of a "$x_pid" "$y_pid")$(counts a "$clean")" "[0,1062]$none"
	dismiss x
	dismiss y
	check "by control group: nobody is left in it" until_true group_remove
	check_status "a control group that is gone" 1 "$PROBE" -g "$group"
	eq "a control group that is gone: words" "$(grep -c 'no control group' "$T/err")" 1
else
	skip "by control group" "no control group may be made here: $(tail -n 1 "$T/err")"
fi

# ---- All ----

attach a -a
tell one "spans 301" "fork 3"
tell two "spans 307"
tell three "event 311" "exec"
answer three >/dev/null
tell three "spans 313"
target z "$Bb"
check "all: one that is started later is attached to" wait_armed "$z_pid"
tell z "spans 317"
detach a
eq "all: exact counts" "$(of a "$one_pid" "$two_pid" "$three_pid" "$z_pid")" '[301,307,624,317]'
eq "all: as they were" "$(state "$one_pid")$(state "$two_pid")$(state "$z_pid")" \
	"$untouched$untouched$untouched"
# Hundreds of processes without probes come and go: none is kept.
attach a -a
for i in $(seq 100); do /bin/true "$i"; done
tell one "spans 331"
detach a
eq "all: processes without probes are no processes of the trace" \
	"$(of a "$one_pid")$(counts a '[.names | contains("vmn-a"), test("true:")]')" '[331][true,false]'

# ---- Two tracers ----

attach a -p "$one_pid"
attach b -a
tell one "spans 400" "storm 1 1"
detach a
tell one "spans 10"
detach b
eq "two tracers, one by PID and one of all: exact counts" "$(of a "$one_pid")$(of b "$one_pid")" \
	'[400][410]'
eq "two tracers: as it was" "$(state "$one_pid")" "$untouched"
dismiss z

# ---- As a user has it ----

start record "$VMSPAN" record --comm "vmn-a$$" -o "$T/rec"
need_line record '^recording 1 process and those to come' err
eq "record --comm: says what it does" $? 0
tell one "spans 503"
finish record INT
eq "record --comm: ends well" $? 0
"$VMSPAN" report "$T/rec" --json >"$T/report.json"
json_eq "record --comm: exact counts" "$T/report.json" \
	'[.groups[] | select(.kind == "top") | .spans] | add' 503
start record "$VMSPAN" record --comm "nobody-$$" -o "$T/rec"
need_line record '^recording 0 processes and those to come' err
eq "record --comm of nobody: waits" $? 0
finish record INT
eq "record --comm of nobody: ends well" $? 0
check_status "record --all and a command" 2 "$VMSPAN" record --all -- true
check_status "record --cgroup of nobody" 1 "$VMSPAN" record --cgroup "nobody-$$"
# Also those that come later; until the last line has all, and no more than that.
as_many() { # FILE SPANS
	[ "$(tail -n 1 "$1" | jq '[.groups[] | select(.kind == "top") | .spans] | add')" = "$2" ]
}
for command in "stat -i 50ms" "top -d 50ms"; do
	read -ra words <<<"$command"
	start view "$VMSPAN" "${words[@]}" --comm "vmn-a$$" --json
	check "${words[0]} --comm: it is attached to" wait_armed "$one_pid"
	target x "$A"
	check "${words[0]} --comm: so is one that is started later" wait_armed "$x_pid"
	tell one "spans 509" "event 3"
	tell two "spans 11"
	tell x "spans 521"
	dismiss x
	check "${words[0]} --comm: exact counts" until_true as_many "$T/view.out" $((509 + 3 + 521))
	finish view INT
	eq "${words[0]} --comm: ends well" $? 0
	eq "${words[0]} --comm: the processes" \
		"$(tail -n 1 "$T/view.out" | jq -c '[.processes[].pid] | sort')" \
		"$(jq -nc --argjson a "$one_pid" --argjson b "$x_pid" '[$a, $b] | sort')"
done
dismiss one
dismiss two
dismiss three
