#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A tracer that is killed at any moment of attaching leaves nothing behind: no
# breakpoint, no semaphore, no BPF object, and a target that works.
# shellcheck source=tests/attach_lib.sh
. "$(dirname "$0")/../attach_lib.sh"
# shellcheck source=tests/bpf_lib.sh
. "$(dirname "$0")/../bpf_lib.sh"

vm_pid='' v_pid='' a_pid=''
take_programs crowd
bpftool_or_fail "killed tracers"

# Nothing is ever written there: reading from it takes the time it is given.
# The one place where time has to pass, for the moment is what is tested.
mkfifo "$T/quiet"
exec {quiet}<>"$T/quiet"
moment() { # MICROSECONDS
	read -r -t "$(printf '%d.%06d' $(($1 / 1000000)) $(($1 % 1000000)))" -u "$quiet"
}

# Since the machine began, to 10 ms.
up_us() {
	local up
	read -r up _ </proc/uptime
	echo $((10#${up/./} * 10000))
}

# Moments of each kind: as many as an ordinary run has time for, or all.
of_tracers=30 of_commands=10 of_targets=15
[ -z "${VMSPAN_TEST_ALL-}" ] || of_tracers=60 of_commands=20 of_targets=30

# Sets delay: moments are spread over twice what an attachment takes here ($took), in rounds
# of so many. Where less than a fifth of them was before its end ($partly) or after ($whole),
# what it takes is corrected, and there is one round more.
next_moment() { # ROUND
	if [ $((i % $1)) = 0 ] && [ "$i" -gt 0 ]; then
		if [ $whole -lt $(($1 / 5)) ]; then took=$((took * 2)); else took=$((took / 2 + 1)); fi
	fi
	delay=$((took * 2 * (i % $1 + 1) / $1))
}
more_moments() { # ROUND
	[ "$i" -lt "$1" ] || { ! of_both "$1" && [ "$i" -lt $((20 * $1)) ]; }
}
of_both() { # ROUND
	[ $partly -ge $(($1 / 5)) ] && [ $whole -ge $(($1 / 5)) ]
}

# A process that nobody has taken the status of is there, but has ended. Its number may be
# another's by now.
has_ended() { # PID:STARTTIME
	! lib_read_stat "${1%:*}" || [ "${lib_stat[19]}" != "${1#*:}" ] || [[ ${lib_stat[0]} == [ZX] ]]
}

target vm "$T/crowd"
before=$(state "$vm_pid")
newest() { # BPF program: their numbers only grow
	"$bpftool" -j prog list | jq '[.[].id] | max // 0'
}
last=$(newest)
begun=$(up_us)
attach a -p "$vm_pid"
took=$(($(up_us) - begun))
# What its programs are called, and that they are found.
held=$(sed -n 's/^prog_id:[[:space:]]*//p' "/proc/$a_pid/fdinfo/"* 2>/dev/null | jq -sc .)
ours=$("$bpftool" -j prog list | jq -c --argjson held "$held" '[.[] | select(.id | IN($held[])) | .name] | unique')
programs() { # of those names that came later than $last: numbers
	"$bpftool" -j prog list |
		jq --argjson ours "$ours" --argjson last "$last" '.[] | select(.id > $last and (.name | IN($ours[]))) | .id'
}
check "a tracer's programs are found while it traces" test "$(programs | wc -l)" -ge 3
detach a

i=0 bad=0 partly=0 whole=0 delay=0
while more_moments $of_tracers; do
	next_moment $of_tracers
	"${lib_with_us[@]}" "$PROBE" -p "$vm_pid" <&"$quiet" >"$T/a.out" 2>"$T/a.err" &
	pid=$!
	lib_owns $pid
	moment "$delay"
	kill -s KILL $pid
	wait $pid 2>/dev/null
	if grep -q '^attached' "$T/a.out"; then whole=$((whole + 1)); else partly=$((partly + 1)); fi
	now=$(state "$vm_pid")
	if [ "$now" != "$before" ]; then
		bad=$((bad + 1))
		echo "after $delay us: $now"
	fi
	i=$((i + 1))
done
echo "# $partly killed before the end of attaching, $whole after"
eq "killed at many moments of attaching: the target is as it was" $bad 0
check "those moments were during attaching and after" of_both $of_tracers
# The kernel frees them a little later. Those of other tracers are held by these.
none_left() {
	local id
	left=''
	for id in $(programs); do
		grep -qsx "prog_id:[[:space:]]*$id" /proc/[0-9]*/fdinfo/* || left+=" $id"
	done
	[ -n "$left" ] || return 0
	moment 100000
	return 1
}
until_true none_left
none "no BPF program of theirs is left" "$left"
pinned=$(while read -r _ at type _; do
	[ "$type" != bpf ] || find "$(printf '%b' "${at//\\/\\0}")" -name '*vmspan*'
done </proc/self/mounts)
none "nothing is pinned" "$pinned"
attach a -p "$vm_pid"
tell vm "spans 1009" "storm 3 7" "threads 5 11"
detach a
eq "after killed tracers: exact counts" "$(counts a .spans)" $((1009 + 21 + 55))
eq "after killed tracers: nothing lost" "$(counts a "$clean")" "$none"

# With a command: it is not left waiting, and what it started runs on.
i=0 bad=0 partly=$of_commands whole=0
while more_moments $of_commands; do
	next_moment $of_commands
	mkfifo "$T/pipe"
	"${lib_with_us[@]}" "$PROBE" -- sh -c "cat >/dev/null" <"$T/pipe" >"$T/a.out" 2>"$T/a.err" &
	pid=$!
	lib_owns $pid
	exec {hold}>"$T/pipe"
	moment "$delay"
	children=()
	begun=()
	{ read -ra begun <"/proc/$pid/task/$pid/children"; } 2>/dev/null
	for child in ${begun+"${begun[@]}"}; do
		lib_read_stat "$child" && children+=("$child:${lib_stat[19]}") && lib_owns "$child"
	done
	[ ${#children[@]} = 0 ] || whole=$((whole + 1))
	kill -s KILL $pid
	wait $pid 2>/dev/null
	exec {hold}>&-
	rm "$T/pipe"
	# It ends by itself: its input has.
	for child in ${children+"${children[@]}"}; do
		until_true has_ended "$child" || bad=$((bad + 1))
	done
	i=$((i + 1))
done
check "killed with a command: it was there" of_both $of_commands
eq "killed with a command: the command ends by itself" $bad 0

# A target that dies while it is attached to.
i=0 bad=0 partly=0 whole=0
while more_moments $of_targets; do
	next_moment $of_targets
	target v "$T/steady"
	make_input a
	start a "$PROBE" -p "$v_pid"
	exec {hold}>"$T/a.in"
	lib_read_stat "$a_pid" && me=$a_pid:${lib_stat[19]}
	moment "$delay"
	if grep -q '^attached' "$T/a.out"; then whole=$((whole + 1)); else partly=$((partly + 1)); fi
	kill -s KILL "$v_pid"
	dismiss v 2>/dev/null
	until_true has_ended "$me" || {
		kill -s KILL "$a_pid"
		echo "after $delay us: it does not end"
	}
	wait "$a_pid"
	rc=$?
	case $rc in
	0) ;;
	1 | 4) [ -s "$T/a.err" ] ;;
	*) false ;;
	esac || {
		bad=$((bad + 1))
		echo "after $delay us: status $rc, says '$(head -n 1 "$T/a.err")'"
	}
	exec {hold}>&-
	i=$((i + 1))
done
echo "# $partly died before the end of attaching, $whole after"
eq "targets killed at many moments of attaching: an end, a status and words" $bad 0
check "those moments were during attaching and after, too" of_both $of_targets
dismiss vm
