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

work() { # NAME: works, tells the truth and ends
	send "$1"
	wait_line "$1" '^[{]' >/dev/null
	finish "$1"
}

start_ready first "$BURN" plain 17
start_ready stays "$BURN" plain 17
# shellcheck disable=SC2154 # set by name
start record "$VMSPAN" record -p "$first_pid,$stays_pid" -o "$T/rec.vmspan"
wait_line record '^recording ' err >/dev/null
work first

for _ in $(seq 50); do
	make_input again
	# The kernel hands out the number after the last; others may be quicker.
	echo $((first_pid - 1)) >$LAST
	start again "$BURN" plain 17
	hold_input again
	# shellcheck disable=SC2154
	[ "$again_pid" = "$first_pid" ] && break
	finish again
done
if [ "$again_pid" != "$first_pid" ]; then
	skip "PID reuse" "others took the PID 50 times"
	exit 0
fi
work again
work stays
finish record
eq "the recording ends with its targets" $? 0
"$VMSPAN" report "$T/rec.vmspan" --json >"$T/report.json"
json_eq "a stranger with the PID is not traced" "$T/report.json" '.events.count' 34
json_eq "nothing lost, every event complete" "$T/report.json" '[(.losses | add), .events.incomplete]' '[0,0]'
json_eq "two processes, each with its own" "$T/report.json" \
	'[.groups[] | select(.name == "addon:a") | .processes[].ticks]' '[17,17]'
