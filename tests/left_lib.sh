# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# What a test leaves behind it, found by who ran it: processes, files, mounts, control groups,
# BPF programs, a switch of the kernel. For tests/run, which sources it. A test runs with the
# environment of left_environment: its TMPDIR is a folder of its own, and every process that
# it starts carries a mark, also one that has left its process group.

left_dir='' left_mark='' left_machine='' left_groups='' left_programs='' left_stats=''
LEFT_SECONDS=${VMSPAN_TEST_LEFT:-10} # that what ends by itself, or in the kernel's own time, may take

left_cgroups() {
	find /sys/fs/cgroup -mindepth 1 -type d -name '*vmspan*' 2>/dev/null | LC_ALL=C sort
}

# Programs by number and name, but those of systemd, which no process holds. Nothing where
# there is no right to ask.
left_bpf() {
	PATH=$PATH:/usr/sbin:/sbin bpftool -j prog list 2>/dev/null |
		jq -r 'if type == "array" then .[] else empty end | select((.name // "") | startswith("sd_") | not)
			| "\(.id) \(.name)"' 2>/dev/null | LC_ALL=C sort
}

# Control groups, BPF programs and switches are the whole machine's: they are looked at for a
# test that has its tracing to itself.
left_begin() { # [machine]
	left_machine=${1-}
	left_dir=$(mktemp -d "${TMPDIR:-/tmp}/vmspan-test.XXXXXX") || return 1
	# Other users that a test works as find their way to what it lets them see.
	chmod 711 "$left_dir"
	left_mark=${left_dir##*.}.$$
	[ -n "$left_machine" ] || return 0
	left_groups=$(left_cgroups)
	left_programs=$(left_bpf)
	left_stats=$(cat /proc/sys/kernel/bpf_stats_enabled 2>/dev/null)
}

left_environment() {
	printf '%s\n' "TMPDIR=$left_dir" "VMSPAN_TEST_MARK=$left_mark"
}

# The numbers of processes of the test. Who has written over its environment, as servers do
# that show their state in its place, is found by the folder that it works in.
left_processes() {
	{
		grep -slazF -- "VMSPAN_TEST_MARK=$left_mark" /proc/[0-9]*/environ
		find /proc/[0-9]*/cwd -maxdepth 0 -lname "$left_dir*" 2>/dev/null
	} | cut -d/ -f3 | sort -un
}

left_command() { # PID
	tr '\0' ' ' <"/proc/$1/cmdline" 2>/dev/null | cut -c1-200
}

# Asks until nothing is printed, for a while: what is left then is printed.
left_until_none() { # COMMAND...
	local end got
	end=$(($(cut -d. -f1 /proc/uptime) + LEFT_SECONDS))
	while got=$("$@"); [ -n "$got" ] && [ "$(cut -d. -f1 /proc/uptime)" -lt $end ]; do
		read -rt 0.05 <> <(:) || :
	done
	printf '%s' "$got"
}

left_new_groups() {
	LC_ALL=C comm -13 <(printf '%s\n' "$left_groups") <(left_cgroups)
}

# Programs that were not there and that no process holds.
left_new_programs() {
	local id name
	while read -r id name; do
		grep -qsx "prog_id:[[:space:]]*$id" /proc/[0-9]*/fdinfo/* || echo "$id $name"
	done < <(LC_ALL=C comm -13 <(printf '%s\n' "$left_programs") <(left_bpf))
}

# Ends and removes what is left, and prints a line for each. What a test that was broken off
# has left is not waited for.
left_end() { # whole | broken
	local pid at line
	[ -n "$left_dir" ] || return 0
	[ "$1" = whole ] || local LEFT_SECONDS=0
	for pid in $(left_until_none left_processes); do
		line=$(left_command "$pid")
		kill -s KILL "$pid" 2>/dev/null && echo "process $pid: $line"
	done
	while read -r _ at _; do
		at=$(printf '%b' "${at//\\/\\0}") # a blank is \040 there
		[[ $at == "$left_dir"/* ]] || continue
		echo "mount: $at"
		umount "$at" || umount -l "$at"
	done < <(tac /proc/self/mounts)
	find "$left_dir" -mindepth 1 -maxdepth 2 -printf 'file: %p\n' | head -n 20
	rm -rf "$left_dir"
	left_dir=''
	[ -n "$left_machine" ] || return 0
	while read -r at; do
		[ -n "$at" ] || continue
		echo "control group: $at"
		rmdir "$at"
	done < <(left_until_none left_new_groups)
	while read -r at; do
		[ -z "$at" ] || echo "BPF program: $at"
	done < <(left_until_none left_new_programs)
	at=$(cat /proc/sys/kernel/bpf_stats_enabled 2>/dev/null)
	if [ "$at" != "$left_stats" ]; then
		echo "kernel.bpf_stats_enabled: $at, was $left_stats"
		echo "$left_stats" >/proc/sys/kernel/bpf_stats_enabled
	fi
} 2>/dev/null
