# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# How many more processes and threads there may be. Sourced behind lib.sh.

# Of this user's (ulimit -u), of the control groups that this process is in (pids.max), and
# of the machine.
tasks_free() {
	local least max now mine=0 threads group at
	read -r _ _ _ now _ </proc/loadavg
	now=${now#*/}
	least=$(($(</proc/sys/kernel/threads-max) - now))
	max=$(($(</proc/sys/kernel/pid_max) - now))
	[ $least -le $max ] || least=$max
	max=$(ulimit -u)
	if [ "$max" != unlimited ]; then
		while read -r threads; do
			mine=$((mine + threads))
		done < <(awk -v uid=$UID '$1 == "Uid:" { is = $2 == uid } $1 == "Threads:" && is { print $2 }' \
			/proc/[0-9]*/status 2>/dev/null)
		[ $least -le $((max - mine)) ] || least=$((max - mine))
	fi
	for at in /sys/fs/cgroup /sys/fs/cgroup/unified /sys/fs/cgroup/pids; do
		group=$(sed -n "s,^0::,,p" /proc/self/cgroup)
		[[ $at != */pids ]] || group=$(sed -n 's,^[0-9]*:[^:]*\<pids\>[^:]*:,,p' /proc/self/cgroup)
		[ -n "$group" ] || continue
		while :; do
			if max=$(cat "$at$group/pids.max" 2>/dev/null) && [ "$max" != max ]; then
				now=$(cat "$at$group/pids.current")
				[ $least -le $((max - now)) ] || least=$((max - now))
			fi
			[[ $group == */* && $group != / ]] || break
			group=${group%/*}
		done
	done
	echo $least
}
