#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# What doctor says of a kernel is what docs/KERNELS.md says of it.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

# probes: what the kernel does with multi-byte nops that are probed.
probes='' multi='this kernel can' load='ok loaded'
case $(uname -r) in
5.10.*) probes=none multi='this kernel cannot'
	load='warn loaded, without the direct method, exact mode, stock VMs' ;;
6.1.*) probes=none multi='this kernel cannot' ;;
6.12.*) probes=none ;;
6.18.* | 7.1.*) probes=unsafe ;;
7.2.* | 7.3.*) probes=good ;;
*) not_ok "a kernel that is in the table" "$(uname -r) is not" ;;
esac

said() { # CHECK: result and words
	jq -r --arg id "$1" '.checks[] | select(.id == $id) | "\(.result) \(.detail)"' "$T/out"
}

check_status "doctor: tracing works" 0 "$VMSPAN" doctor --json
eq "doctor: optimized probes" "$(said optimized_probes | sed 's/^[a-z]* \([a-z]*\):.*/\1/')" "$probes"
eq "doctor: uprobe_multi" "$(said uprobe_multi)" "ok $multi; with CAP_SYS_ADMIN vmspan does without"
# The counters of emulated CPUs may disagree.
eq "doctor: BPF programs" "$(said load | sed 's/^warn loaded, without exact mode$/ok loaded/')" "$load"
json_eq "doctor: nothing fails" "$T/out" '[.checks[] | select(.result == "fail") | .id]' '[]'

start_host --busy 20000
check_status "doctor -p" 0 "$VMSPAN" doctor --json -p "$host_pid"
how="a trap"
[ "$probes" != good ] || how="a call (optimized probe)"
json_eq "doctor -p: how marks are handed over" "$T/out" \
	'.processes[0].checks[] | select(.id == "carrier") | .detail' "\"handed over by $how\""
case $load in
ok*) ;;
*)
	check_status "record --method direct: says that it cannot" 1 \
		"$VMSPAN" record --method direct -p "$host_pid" -o "$T/rec.vmspan"
	check "record --method direct: says why" grep -q "needs BPF task storage" "$T/err"
	check "record --method direct: says what to do" grep -q "Run Linux 5.15" "$T/err"
	start record "$VMSPAN" record --exact -p "$host_pid" -o "$T/rec.vmspan"
	check "record --exact: goes on without" wait_line record '^recording ' err
	finish record INT
	eq "record --exact: ends well" $? 0
	check "record --exact: says why" grep -q "needs BPF task storage" "$T/record.err"
	;;
esac
