#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A filter of system calls (seccomp) that refuses what tracing takes is named, with what allows it where
# vmspan runs: its EPERM is not taken for a kernel that cannot, nor for a right that is missing.
# shellcheck source=tests/attach_lib.sh
. "$(dirname "$0")/../attach_lib.sh"
# shellcheck source=tests/user_lib.sh
. "$(dirname "$0")/../user_lib.sh"

build "$T/refuse" tests/vm/refuse.c || {
	not_ok "build" "the program of this test does not build"
	exit 1
}
target vm "$T/steady"

# What doctor says of a check: its result, detail and advice.
said() { # ID
	jq -r --arg id "$1" '.checks[] | select(.id == $id) | "\(.result): \(.detail) -> \(.advice)"' "$T/doctor.json"
}
doctor() { # NAME STATUS COMMAND...
	local name=$1 status=$2
	shift 2
	check_status "$name: doctor" "$status" "$@" --json
	mv "$T/out" "$T/doctor.json"
}

doctor "no filter" 0 "$VMSPAN" doctor
eq "no filter" "$(said seccomp)" "ok: none that refuses what tracing takes -> "
doctor "a filter that refuses something else" 0 "$T/refuse" EPERM getcpu "$VMSPAN" doctor
eq "a filter that refuses something else" "$(said seccomp)" "ok: none that refuses what tracing takes -> "

unit="Have whoever starts vmspan let them through: in a systemd unit, SystemCallFilter=."
for error in EPERM ENOSYS; do
	doctor "bpf(2), $error" 3 "$T/refuse" $error bpf "$VMSPAN" doctor
	eq "bpf(2), $error: the filter is named" "$(said seccomp)" "fail: a filter (seccomp) refuses bpf(2) -> $unit"
	eq "bpf(2), $error: of the ring buffer nothing is known" "$(said ring_buffer)" \
		"warn: cannot be found out: bpf(2) is refused -> "
	eq "bpf(2), $error: no right is missing" "$(said capabilities)" "ok: all that is needed -> "
	check_status "bpf(2), $error: record" 3 "$T/refuse" $error bpf "$VMSPAN" record -p "$vm_pid" -o "$T/rec"
	check "bpf(2), $error: record names it" grep -qF "a filter (seccomp) refuses bpf(2). $unit" "$T/err"
done
doctor "all four" 3 "$T/refuse" EPERM bpf,perf_event_open,process_vm_readv,process_vm_writev "$VMSPAN" doctor
eq "all four are named" "$(said seccomp)" \
	"fail: a filter (seccomp) refuses bpf(2), perf_event_open(2), process_vm_readv(2), process_vm_writev(2) -> $unit"
for call in process_vm_readv process_vm_writev; do
	doctor "$call(2) alone is a warning" 0 "$T/refuse" EPERM $call "$VMSPAN" doctor
	eq "$call(2) alone" "$(said seccomp)" "warn: a filter (seccomp) refuses $call(2) -> $unit"
done
check_status "perf_event_open(2): record" 3 "$T/refuse" EPERM perf_event_open "$VMSPAN" record -p "$vm_pid" -o "$T/rec"
check "perf_event_open(2): record names it" grep -qF "a filter (seccomp) refuses perf_event_open(2). $unit" "$T/err"
if unshare -Ur true 2>"$T/err"; then
	check_status "a filter that has nothing to do with it: record" 3 unshare -Ur "$T/refuse" EPERM process_vm_writev \
		"$VMSPAN" record -o "$T/rec" -- true
	check "a filter that has nothing to do with it is not blamed" grep -q 'no filter (seccomp) refuses it' "$T/err"
	for filter in without with; do
		also=()
		[ $filter = without ] || also=("$T/refuse" EPERM process_vm_writev)
		doctor "a user namespace, $filter a filter" 3 unshare -Ur ${also+"${also[@]}"} "$VMSPAN" doctor
		eq "a user namespace, $filter a filter: its rights are none" "$(said capabilities | sed 's/ -> .*//')" \
			"fail: those of a user namespace do not count for tracing"
		# Where anybody may ask bpf(2), some of it answers.
		[ "$(cat /proc/sys/kernel/unprivileged_bpf_disabled)" != 0 ] || continue
		for id in ring_buffer task_storage uprobe_multi; do
			eq "a user namespace, $filter a filter: nothing is known of $id" "$(said $id)" \
				"warn: cannot be found out: bpf(2) is refused -> "
		done
	done
else
	skip "a filter that has nothing to do with it" "no user namespaces: $(cat "$T/err")"
fi

# ---- In a container's words ----

inside() { # KIND COMMAND...
	local kind=$1
	shift
	env container="$kind" unshare -u "$@"
}
if unshare -u true 2>"$T/err"; then
	for kind in podman:Podman:--security-opt systemd-nspawn:systemd-nspawn:--system-call-filter oci:"a container":"without one"; do
		IFS=: read -r kind name words <<<"$kind"
		doctor "$name" 3 inside "$kind" "$T/refuse" EPERM bpf "$VMSPAN" doctor
		eq "$name: is told" "$(said container)" "ok: $name -> "
		check "$name: what allows the call" grep -qF -e "$words" <(said seccomp)
	done
	doctor "the same variable and no namespace" 0 env container=podman "$VMSPAN" doctor
	eq "a variable alone makes no container" "$(said container)" "ok: none that is known -> "
else
	skip "containers" "no namespaces: $(cat "$T/err")"
fi

# ---- With the two capabilities alone ----

user_or_skip "rights"
user_folder "rights"
cp "$VMSPAN" "$T/refuse" "$USER_DIR/"
chmod 755 "$USER_DIR"/{vmspan,refuse}
user_with +bpf,+perfmon
doctor "two capabilities" 3 "${as[@]}" "$USER_DIR/refuse" EPERM bpf "$USER_DIR/vmspan" doctor
eq "two capabilities: the filter is named" "$(said seccomp)" "fail: a filter (seccomp) refuses bpf(2) -> $unit"
check "two capabilities: CAP_SYS_ADMIN is not asked for" test "$(said capabilities | grep -c SYS_ADMIN)" = 0
eq "two capabilities: of many probes at once nothing is known" "$(said uprobe_multi)" \
	"warn: cannot be found out: bpf(2) is refused -> "

# Perf events refused by the level of a distribution's kernel, before it looks at what is asked: by EACCES, to those
# without CAP_SYS_ADMIN. The kernel that runs here need not know of it; a filter answers so.
leveled() { # LEVEL COMMAND...
	echo "$1" >"$T/level"
	# shellcheck disable=SC2016 # expanded there
	unshare -m sh -c 'mount --bind "$0" /proc/sys/kernel/perf_event_paranoid && exec "$@"' "$T/level" "${@:2}"
}
if leveled 2 true 2>"$T/err"; then
	only="perf events are for CAP_SYS_ADMIN only"
	levels="Run vmspan with sudo; or: sudo sysctl kernel.perf_event_paranoid=2"
	level=(leveled 4 "${as[@]}" "$USER_DIR/refuse" EACCES perf_event_open "$USER_DIR/vmspan")
	# (Before 6.6 it takes more than this user has.)
	"${level[@]}" doctor --json >"$T/doctor.json" 2>"$T/err" || :
	eq "the level: it is told" "$(said perf_event_paranoid | cut -d: -f2-)" \
		" 4: $only, so no stacks of stock VMs, no direct method and no TSC for BPF -> $levels"
	eq "the level is no filter" "$(said seccomp)" "ok: none that refuses what tracing takes -> "
	doctor "a level that the kernel does not know" 0 leveled 4 "$VMSPAN" doctor
	eq "a level that the kernel does not know" "$(said perf_event_paranoid)" "ok: 4 -> "
	user_with +bpf
	check_status "the level beside a missing right: record" 3 leveled 4 "${as[@]}" "$USER_DIR/refuse" EACCES \
		perf_event_open "$USER_DIR/vmspan" record -o "$USER_DIR/rec" -- true
	check "the level beside a missing right: it is told" grep -qF 'Missing: CAP_PERFMON; and for stacks of stock VMs CAP_SYS_ADMIN, or a kernel.perf_event_paranoid of 2 (it is 4).' "$T/err"
else
	skip "the level" "no mount namespaces: $(cat "$T/err")"
fi
user_with +perfmon
doctor "without CAP_BPF" 3 "${as[@]}" "$USER_DIR/refuse" EPERM bpf "$USER_DIR/vmspan" doctor
eq "without CAP_BPF nobody knows who refuses" "$(said seccomp)" \
	"warn: there is one (seccomp); whether it refuses bpf(2) shows with CAP_BPF -> "
check "without CAP_BPF: that is missing" grep -q '^fail: missing: CAP_BPF' <(said capabilities)
if unshare -u true 2>"$T/err"; then
	doctor "a right is missing in a container" 3 inside podman "${as[@]}" "$USER_DIR/vmspan" doctor
	check "a right is missing in a container: what gives it" \
		grep -q '^fail: missing: CAP_BPF, CAP_SYS_PTRACE -> Start the container with --cap-add=' <(said capabilities)
fi
dismiss vm
