#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A traced process ends and its PID goes to a stranger with the same program:
# the stranger is not traced, and what the first one did is whole.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

BURN=$B/vm/burn
LAST=/proc/sys/kernel/ns_last_pid
if ! [ -w $LAST ]; then
	skip "PID reuse" "the next PID cannot be chosen here ($LAST)"
	exit 0
fi

# A target that waits for a line on the descriptor.
target() { # NAME FD [PID]
	mkfifo "$T/$1.go"
	: >"$T/$1.out"
	# The kernel hands out the number after the last; others may be quicker.
	[ $# -lt 3 ] || echo $(($3 - 1)) >$LAST
	"$BURN" plain 17 <"$T/$1.go" >"$T/$1.out" 2>"$T/$1.err" &
	printf -v "${1}_pid" %d $!
	lib_pids+=($!)
	eval "exec $2>\"\$T/$1.go\""
	wait_line "$1" '^ready ' >/dev/null
}

work() { # NAME FD: works, tells the truth and ends
	echo go >&"$2"
	wait_line "$1" '^[{]' >/dev/null
	eval "exec $2>&-"
	finish "$1"
}

target first 7
target stays 8
# shellcheck disable=SC2154 # set by name
start record "$VMSPAN" record -p "$first_pid,$stays_pid" -o "$T/rec.vmspan"
wait_line record '^recording ' err >/dev/null
work first 7

for _ in $(seq 50); do
	rm -f "$T/again.go"
	target again 9 "$first_pid"
	# shellcheck disable=SC2154
	[ "$again_pid" = "$first_pid" ] && break
	exec 9>&-
	finish again
done
if [ "$again_pid" != "$first_pid" ]; then
	skip "PID reuse" "others took the PID 50 times"
	exit 0
fi
work again 9
work stays 8
finish record
eq "the recording ends with its targets" $? 0
"$VMSPAN" report "$T/rec.vmspan" --json >"$T/report.json"
json_eq "a stranger with the PID is not traced" "$T/report.json" '.events.count' 34
json_eq "nothing lost, every event complete" "$T/report.json" '[(.losses | add), .events.incomplete]' '[0,0]'
json_eq "two processes, each with its own" "$T/report.json" \
	'[.groups[] | select(.name == "addon:a") | .processes[].ticks]' '[17,17]'
