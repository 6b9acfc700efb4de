#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A stock VM on any kernel: its stacks are read in timers and at switches, where a kernel may not be
# asked for memory, and a real-time one not be made to wait: that would be a complaint in its log.
# shellcheck disable=SC2154 # start_ready sets python_pid
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

start_ready python /usr/bin/python3 -I -S tests/kernels/stock.py
if [[ $(uname -r) == 5.10.* ]]; then
	check_status "a stock VM is refused" 1 "$VMSPAN" record -p "$python_pid" -o "$T/rec.vmspan"
	check "and in words" grep -q "needs BPF task storage" "$T/err"
	skip_rest "stock VMs" "this kernel has no BPF task storage"
fi
start record "$VMSPAN" record -p "$python_pid" -o "$T/rec.vmspan"
need_line record '^recording ' err
send python 23
need_line python '^ok'
finish record INT
eq "record: status" $? 0
finish python
eq "python: status" $? 0
check_status "report: status" 0 "$VMSPAN" report "$T/rec.vmspan" --json
json_eq "each collection is told once" "$T/out" .gc.count 23
json_eq "stacks were read" "$T/out" '[.groups[].samples] | add > 0' true
