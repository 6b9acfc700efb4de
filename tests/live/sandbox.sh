#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# What the SDK's documentation says that a filter of system calls must let through is enough.
# shellcheck source=tests/attach_lib.sh
. "$(dirname "$0")/../attach_lib.sh"

# Set by target, by name.
vm_pid=''
if ! build "$T/vm" tests/vm/sandbox.c -pthread; then
	not_ok "build" "the program of this test does not build"
	exit 1
fi

# From "Sandboxes." up to what is for special cases: those names that are in lower case.
listed=$(sed -n '/^\*\*Sandboxes\.\*\*/,/without rseq/p' user/sdk/README.md | tr '\n' ' ' | sed 's/, without rseq.*//' |
	grep -oE '`[a-z_]+`' | tr -d '`' | sort -u | paste -sd, -)
eq "the documentation names them" "$listed" clock_gettime,getpid,gettid,madvise,mmap,munmap,nanosleep,prctl
without_rseq=$listed,getcpu

for how in "with rseq" "without rseq"; do
	list=$listed tunable=''
	[ "$how" = "with rseq" ] || list=$without_rseq tunable=glibc.pthread.rseq=0
	target vm env GLIBC_TUNABLES="$tunable" "$T/vm" "$list"
	start record "$VMSPAN" record -p "$vm_pid" -o "$T/rec.vmspan"
	need_line record '^recording ' err
	tell vm 2003 1009
	finish record INT
	ends_well "$VMSPAN" report "$T/rec.vmspan" --json >"$T/report.json"
	json_eq "$how: all of it is there" "$T/report.json" \
		'[.events.count, .events.incomplete, .gc.count, ([.losses[]] | add), ([.groups[].name | select(test("unknown"))] | length)]' \
		'[3012,0,3012,0,0]'
	tell vm 5
	dismiss vm
	eq "$how: it ends well" $? 0
done
