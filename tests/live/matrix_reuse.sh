#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A traced process ends and its PID goes to a stranger with the same program:
# the stranger is not traced, and what the first one did is whole.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

BURN=$B/vm/burn
TAKE=$B/vm/take_pid
"$TAKE" $$ true 2>"$T/err"
may=$?
[ $may != 125 ] || skip_rest "PID reuse" "no PID may be chosen here: $(head -n 1 "$T/err")"
eq "a PID that is somebody's is not given" $may 124

work() { # NAME: works, tells the truth and ends
	send "$1"
	need_line "$1" '^[{]'
	finish "$1"
}

# Two targets, of which the first has worked and ended, and a stranger with its PID. Somebody
# else may have come to that first, a whole turn of all numbers later.
begun=''
for try in 1 2 3 4 5; do
	start_ready first "$BURN" plain 17
	start_ready stays "$BURN" plain 17
	# shellcheck disable=SC2154 # set by name
	start record "$VMSPAN" record -p "$first_pid,$stays_pid" -o "$T/rec.vmspan"
	need_line record '^recording ' err
	work first
	if start_ready again "$TAKE" "$first_pid" "$BURN" plain 17; then
		begun=1
		break
	fi
	finish again
	[ $? = 124 ] || break
	echo "# try $try: PID $first_pid is somebody's"
	finish stays
	finish record
done
if [ -z "$begun" ]; then
	not_ok "PID reuse" "no stranger got PID $first_pid: $(cat "$T/again.err")"
	exit 1
fi
eq "the stranger has the PID" "$(cat "$T/again.ready")" "ready $first_pid"
work again
eq "the stranger ends well" $? 0
work stays
finish record
eq "the recording ends with its targets" $? 0
"$VMSPAN" report "$T/rec.vmspan" --json >"$T/report.json"
json_eq "a stranger with the PID is not traced" "$T/report.json" '.events.count' 34
json_eq "nothing lost, every event complete" "$T/report.json" '[(.losses | add), .events.incomplete]' '[0,0]'
json_eq "two processes, each with its own" "$T/report.json" \
	'[.groups[] | select(.name == "addon:a") | .processes[].ticks]' '[17,17]'
