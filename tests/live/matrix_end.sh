#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# What threads hold when their process ends without a word: killed, by _exit, by
# executing another program. Every span arrives, or is counted as lost.
# shellcheck source=tests/attach_lib.sh
. "$(dirname "$0")/../attach_lib.sh"
# shellcheck source=tests/bpf_lib.sh
. "$(dirname "$0")/../bpf_lib.sh"

v_pid='' v_in=''
take_programs crowd plain
# From 6.16 on (exit) and 6.10 on (exec) the memory can still be read.
bpftool_or_fail "the records of those who are killed"
types=$("$bpftool" btf dump file /sys/kernel/btf/vmlinux format c 2>"$T/err" |
	grep -E 'btf_trace_sched_(process_exit|prepare_exec)\)')
if ! grep -q process_exit <<<"$types"; then
	not_ok "the records of those who are killed" "no sched_process_exit in the kernel's types: $(head -n 1 "$T/err")"
	exit 1
fi
if ! grep -q 'process_exit.*bool' <<<"$types" || ! grep -q prepare_exec <<<"$types"; then
	skip_rest "the records of those who are killed" \
		"this kernel ($(uname -r)) takes the memory away too early (before 6.16)"
fi

# The tracer ends with its target; its counts are then in a.json.
ends() { # NAME EXPECTED-SPANS
	dismiss v 2>/dev/null
	need_line a '^end'
	detach a
	eq "$1: every span" "$(counts a .spans)" "$2"
	eq "$1: nothing lost, nothing twice, all defined" "$(counts a "$clean")" "$none"
}

target v "$T/steady"
attach a -p "$v_pid"
tell v "spans 1009"
kill -s KILL "$v_pid"
ends "killed" 1009

target v "$T/steady"
attach a -p "$v_pid"
tell v "spans 7"
kill -s KILL "$v_pid"
ends "killed before anything was handed over" 7

target v "$T/steady"
attach a -p "$v_pid"
tell v "gc 3" "spans 5" "block 2" "value 4"
kill -s KILL "$v_pid"
ends "killed with longer records" 5
eq "killed with longer records: all of them" "$(counts a '[.gc, .block, .value]')" '[3,2,4]'

target v "$T/steady"
attach a -p "$v_pid"
tell v "hold 40 13" "spans 11"
kill -s KILL "$v_pid"
ends "killed with 41 threads" $((40 * 13 + 11))
eq "killed with 41 threads: each has its own" "$(counts a .threads)" 41

target v "$T/steady"
attach a -p "$v_pid"
tell v "hold 5 3" "spans 1009"
echo _exit >&"$v_in"
ends "_exit with 6 threads" $((15 + 1009))

target v "$T/steady"
attach a -p "$v_pid"
tell v "spans 100" "vfork 7" "spans 200"
kill -s SEGV "$v_pid"
# shellcheck disable=SC2034 # finish asks it
MAY_CRASH=v
ends "a fatal signal, after children that shared the memory" 300
unset MAY_CRASH

target v "$T/steady"
attach a -e -p "$v_pid"
tell v "hold 40 13" "spans 1009"
kill -s KILL "$v_pid"
dismiss v 2>/dev/null
need_line a '^end'
detach a
eq "killed in exact mode, with 41 threads: every span, nothing lost" \
	"$(counts a '[.spans, .lost]')" "[$((40 * 13 + 1009)),0]"

# Executed by one of several threads: the others end first.
target v "$T/steady"
attach a -p "$v_pid"
tell v "hold 5 3" "spans 1009"
echo exec >&"$v_in"
answer v >/dev/null && answer v >/dev/null
kill -s KILL "$v_pid"
ends "an exec with 6 threads" $((15 + 1009))

target v "$T/crowd"
attach a -p "$v_pid"
tell v "spans 300"
echo "into $T/plain 5" >&"$v_in"
ends "an exec of a program without probes" 300

target v "$T/steady"
attach a -p "$v_pid"
echo "keep 17" >&"$v_in"
child=$(answer v) && answer v >/dev/null
kill -s KILL "${child#child }" "$v_pid"
ends "a child and its parent" 17

# In the middle of marks and hand-overs: the target's own count, which is one
# less when the end came between the mark and its counting. The ring is too small for what
# is made, as it is by default, and so large that a busy machine does not fill it.
made_at_least() { # COUNT
	[ "$(od -An -t d8 "$T/made")" -ge "$1" ]
}
missing=0 twice=0 gaps=0 full=0 whole=0
for i in $(seq 30); do
	case $((i % 3)) in
	0) ring=(-r 65536) ;;
	1) ring=() ;;
	2) ring=(-r $((64 << 20))) ;;
	esac
	target v "$T/steady"
	attach a -p "$v_pid" ${ring+"${ring[@]}"}
	tell v "spin $T/made"
	until_true made_at_least $((i * 1000)) || not_ok "killed in full run" "the target makes no spans"
	kill -s KILL "$v_pid"
	dismiss v 2>/dev/null
	need_line a '^end'
	detach a
	made=$(od -An -t d8 "$T/made")
	# Lost are marks: of each span that is missing one at least.
	[ "$(counts a '.spans + .ring_full')" -ge "$((made))" ] || missing=$((missing + 1))
	if [ "$(counts a '.ring_full')" = 0 ]; then
		whole=$((whole + 1))
	else
		full=$((full + 1))
	fi
	[ "$(counts a '.spans')" -le $((made + 1)) ] || twice=$((twice + 1))
	# A batch lost last leaves no gap.
	[ "$(counts a '.gaps <= .ring_full and .lost == .ring_full')" = true ] || gaps=$((gaps + 1))
	rm "$T/made"
done
echo "# the ring was full in $full runs, and was not in $whole"
eq "killed in full run, 30 times: no span is missing" $missing 0
eq "killed in full run, 30 times: none is twice" $twice 0
check "killed in full run, 30 times: with room in the ring, too" test $whole -gt 0
eq "killed in full run, 30 times: what is not there is counted as lost" $gaps 0

# What finds no room is counted, to the record.
target v "$T/steady"
attach a -p "$v_pid" -r 65536 -s
tell v "hold 40 201"
kill -s KILL "$v_pid"
dismiss v 2>/dev/null
detach a
# Two marks a span, and two of the switch before a thread's first.
eq "killed with a small ring: received and lost are what was made" \
	"$(counts a '[2 * .spans + .ring_full >= 2 * 40 * 201, .spans > 0, .ring_full > 0]')" "[true,true,true]"

# As a user has it.
target v "$T/steady"
start record "$VMSPAN" record -p "$v_pid" -o "$T/rec"
need_line record '^recording ' err
tell v "spans 503"
kill -s KILL "$v_pid"
dismiss v 2>/dev/null
finish record
"$VMSPAN" report "$T/rec" --json >"$T/report.json"
json_eq "record: every span of a killed process" "$T/report.json" \
	'[([.groups[] | select(.kind == "top") | .spans] | add), (.losses | add)]' '[503,0]'
