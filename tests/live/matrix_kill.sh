#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A tracer that is killed at any moment of attaching leaves nothing behind: no
# breakpoint, no semaphore, no BPF object, and a target that works.
# shellcheck source=tests/attach_lib.sh
. "$(dirname "$0")/../attach_lib.sh"

vm_pid=''
build "$T/crowd" tests/vm/crowd.c -pthread || exit 1

# Nothing is ever written there: reading from it takes the time it is given.
# The one place where time has to pass, for the moment is what is tested.
mkfifo "$T/quiet"
exec {quiet}<>"$T/quiet"
moment() { # MICROSECONDS
	read -r -t "$(printf '%d.%06d' $(($1 / 1000000)) $(($1 % 1000000)))" -u "$quiet"
}

target vm "$T/crowd"
before=$(state "$vm_pid")
# The moments are spread over what an attachment takes here, and beyond.
start=$(date +%s%N)
attach a -p "$vm_pid"
took=$((($(date +%s%N) - start) / 1000))
detach a
programs() { # BPF programs of that name that the machine has
	bpftool prog show 2>/dev/null | grep -c ' name armed '
}
others=$(programs)
bad=0 partly=0 whole=0
rounds=60
# Where the first attachment was not like the others, it takes more than one round.
for ((i = 0; i < rounds || ((partly < 6 || whole < 6) && i < 20 * rounds); i++)); do
	if [ $((i % rounds)) = 0 ] && [ "$i" -gt 0 ]; then
		if [ $whole -lt 6 ]; then took=$((took * 2)); else took=$((took / 2 + 1)); fi
	fi
	delay=$((took * 2 * (i % rounds + 1) / rounds))
	"$PROBE" -p "$vm_pid" <&"$quiet" >"$T/a.out" 2>"$T/a.err" &
	pid=$!
	moment "$delay"
	kill -s KILL $pid
	wait $pid 2>/dev/null
	if grep -q '^attached' "$T/a.out"; then whole=$((whole + 1)); else partly=$((partly + 1)); fi
	now=$(state "$vm_pid")
	if [ "$now" != "$before" ]; then
		bad=$((bad + 1))
		echo "after $delay us: $now"
	fi
done
echo "# $partly killed before the end of attaching, $whole after"
eq "killed at 60 moments of attaching: the target is as it was" $bad 0
eq "those moments were during attaching and after" "$((partly > 5 && whole > 5))" 1
# The kernel frees them a little later, and other tracers may run meanwhile.
none_left() {
	left=$(programs)
	[ "$left" -gt "$others" ] || return 0
	moment 100000
	return 1
}
until_true none_left
eq "no BPF program of theirs is left" "$((left <= others))" 1
eq "nothing is pinned" "$(find /sys/fs/bpf -name '*vmspan*' 2>/dev/null | wc -l)" 0
attach a -p "$vm_pid"
tell vm "spans 1009" "storm 3 7" "threads 5 11"
detach a
eq "after 60 killed tracers: exact counts" "$(counts a .spans)" $((1009 + 21 + 55))
eq "after 60 killed tracers: nothing lost" "$(counts a "$clean")" "$none"

# With a command: it is not left waiting, and what it started runs on.
bad=0
for i in $(seq 20); do
	mkfifo "$T/pipe"
	"$PROBE" -- sh -c "cat >/dev/null" <"$T/pipe" >"$T/a.out" 2>"$T/a.err" &
	pid=$!
	exec {hold}>"$T/pipe"
	moment $((took * i / 20))
	children=$(cat "/proc/$pid/task/$pid/children" 2>/dev/null)
	kill -s KILL $pid
	wait $pid 2>/dev/null
	exec {hold}>&-
	rm "$T/pipe"
	# It ends by itself: its input has.
	for child in $children; do
		timeout "$LIMIT" tail -s 0.02 -f --pid="$child" /dev/null || bad=$((bad + 1))
	done
done
eq "killed with a command: the command ends by itself" $bad 0

# A target that dies while it is attached to.
bad=0
for i in $(seq 30); do
	"$T/steady" >"$T/v.out" <&"$quiet" &
	victim=$!
	"$PROBE" -p $victim <&"$quiet" >"$T/a.out" 2>"$T/a.err" &
	pid=$!
	moment $((took * i / 30))
	kill -s KILL $victim
	wait $victim 2>/dev/null
	timeout "$LIMIT" tail -s 0.02 -f --pid=$pid /dev/null || {
		kill -s KILL $pid
		bad=$((bad + 1))
	}
	wait $pid
	case $? in
	0) ;;
	1 | 4) [ -s "$T/a.err" ] || bad=$((bad + 1)) ;;
	*) bad=$((bad + 1)) ;;
	esac
done
eq "targets killed at 30 moments of attaching: an end, a status and words" $bad 0
dismiss vm
