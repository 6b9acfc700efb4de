# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# What a test leaves behind it, found by who ran it: files, mounts, control groups, BPF
# programs, a switch of the kernel; and the processes that tests/reaper.c has found. For
# tests/run, which sources it. A test's TMPDIR is left_dir, a folder of its own. Others put files
# into the machine's folders too: of what is there, that is the test's whose name has the name of
# its TMPDIR in it.

left_elsewhere=(/tmp /var/tmp /dev/shm /run)
left_dir='' left_machine='' left_groups='' left_programs='' left_stats=''
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
	left_dir=${TMPDIR:-/tmp}/vmspan-test.$SRANDOM$SRANDOM
	# Other users that a test works as find their way to what it lets them see.
	mkdir -m 711 "$left_dir" || { left_dir='' && return 1; }
	[ -n "$left_machine" ] || return 0
	left_groups=$(left_cgroups)
	left_programs=$(left_bpf)
	left_stats=$(cat /proc/sys/kernel/bpf_stats_enabled 2>/dev/null)
}

# Asks until nothing is printed, for a while: what is left then is printed.
left_until_none() { # COMMAND...
	local end got
	end=$(($(cut -d. -f1 /proc/uptime) + LEFT_SECONDS))
	while got=$("$@"); [ -n "$got" ] && [ "$(cut -d. -f1 /proc/uptime)" -lt $end ]; do
		sleep 0.05
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

# Removes what is left, and prints a line for each, also for the processes, which have been
# ended. What a test that was broken off has left is not waited for.
left_end() { # whole | broken
	local at i mounts folder
	[ -n "$left_dir" ] || return 0
	[ "$1" = whole ] || local LEFT_SECONDS=0
	[ ! -s "$left_dir.processes" ] || cat "$left_dir.processes"
	mapfile -t mounts </proc/self/mounts
	for ((i = ${#mounts[@]} - 1; i >= 0; i--)); do
		at=${mounts[i]#* }
		at=${at%% *}
		printf -v at '%b' "${at//\\/\\0}" # a blank is \040 there
		[[ $at == "$left_dir"/* || $at == *"/${left_dir##*/}-"* ]] || continue
		echo "mount: $at"
		umount "$at" || umount -l "$at"
	done
	if ! rmdir "$left_dir"; then
		find "$left_dir" -mindepth 1 -maxdepth 2 -printf 'file: %p\n' | head -n 20
		rm -rf "$left_dir"
	fi
	[ ! -e "$left_dir.processes" ] || rm "$left_dir.processes"
	shopt -s nullglob dotglob
	i=0
	for folder in "${left_elsewhere[@]}"; do
		for at in "$folder"/*"${left_dir##*/}"*; do
			[ $((i++)) -ge 20 ] || echo "file: $at"
			rm -rf "$at"
		done
	done
	shopt -u nullglob dotglob
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
