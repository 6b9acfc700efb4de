#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A program built with version 1 of the SDK (user/sdk/v1), whose threads make spans themselves, is
# traced as one of this version: counts, tracers at one time, losses, its end, the scheduler.
# shellcheck source=tests/attach_lib.sh
. "$(dirname "$0")/../attach_lib.sh"

# Set by target and attach, by name.
vm_pid='' child_pid='' probes_pid=''
if ! build "$T/v1" tests/vm/steady.c -pthread -DSDK_V1 ||
	! build "$T/probes" tests/vm/steady.c -pthread -DSDK_V1 -DVMSPAN_PROBES; then
	not_ok "build" "the programs of this test do not build"
	exit 1
fi

target vm "$T/v1"
eq "a target is untouched before" "$(state "$vm_pid")" "$untouched"
tell vm "spans 12345" "group late"
attach a -p "$vm_pid"
eq "attached: its semaphore is up" "$(state "$vm_pid")" "$traced"
tell vm "spans 1009" "event 31" "threads 4 211" "gc 3" "block 5" "input 7" "value 11"
detach a
eq "exact counts" "$(counts a '[.spans, .events, .gc, .block, .input, .value]')" \
	"[$((1009 + 31 + 4 * 211)),1,3,5,7,11]"
eq "nothing lost, all defined" "$(counts a "$clean")" "$none"
eq "threads are told of" "$(counts a '[.threads, .thread_ends]')" '[5,4]'
eq "detached: the target is as it was" "$(state "$vm_pid")" "$untouched"
attach a -p "$vm_pid"
tell vm "skip 4" "deep 260" "group new" "spans 3"
detach a
eq "repaired and too deep are counted" "$(counts a '[.spans, .events]')" "[$((4 + 256 + 3)),1]"
eq "a group defined under the trace is known" "$(counts a "$clean")" "$none"

attach a -p "$vm_pid"
tell vm "spans 100"
attach b -p "$vm_pid"
tell vm "spans 1000"
detach a
tell vm "spans 10"
detach b
eq "two tracers: the first" "$(counts a .spans)" 1100
eq "two tracers: the second" "$(counts b .spans)" 1010
eq "two tracers: nothing lost" "$(counts a "$clean")$(counts b "$clean")" "$none$none"
# What a thread had gathered when the second came, is handed to both.
eq "two tracers: what the second got from before its time can be told apart" \
	"$(counts b '.before_start > 0')" true

# 256 records a batch.
target probes "$T/probes"
attach a -p "$probes_pid"
tell probes "spans 1009"
detach a
eq "batches are preferred where there are both" "$(counts a '[.spans, .batches]')" '[1009,4]'

# A full batch finds no room in a small ring buffer: the event's does.
attach a -s -r 8192 -p "$vm_pid"
tell vm "event 7" "spans 100000" "group lost" "spans 200000"
detach a
eq "tiny ring: received + lost = made, to the record" \
	"$(counts a '.ring_full > 0 and .records + .ring_full == 300007 + 1 + 3')" true
eq "tiny ring: the gaps are the losses" "$(counts a '[.records > 0, .ring_full == .gaps]')" '[true,true]'
eq "tiny ring: definitions that were lost are read from the target" "$(counts a .undefined)" 0

# By the program: beside one of this version, in one trace.
target child "$T/steady"
start record "$VMSPAN" record -p "$vm_pid" -p "$child_pid" -o "$T/both.vmspan"
need_line record '^recording ' err
tell vm "event 31"
tell child "event 17"
finish record INT
eq "beside one of this version: the recording ends well" $? 0
"$VMSPAN" report "$T/both.vmspan" --json >"$T/both.json"
json_eq "beside one of this version: all spans and events, nothing lost" "$T/both.json" \
	'[.spans, .events.count, (.losses | add)]' '[48,2,0]'
dismiss child
dismiss vm
dismiss probes
