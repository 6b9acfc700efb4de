#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# What a stock VM is in as the trace ends is told of, and for how long; what waits for events is in none.
# shellcheck disable=SC2154 # start_app sets app_pid
# shellcheck source=tests/stock/lib.sh
. "$(dirname "$0")/lib.sh"

PYTHON=/usr/bin/python3.11
if [ ! -x $PYTHON ]; then
	skip_rest "CPython" "no $PYTHON: tools/install-deps --vms"
fi
start_app $PYTHON "$APPS/hangs.py"
start_record "$T/a" "$app_pid"
# The first turn began before anybody knew that it is one of a loop.
ask turn >"$T/line"
ask turn >"$T/line"
send app "hang $T/end"
need_line app '^hangs'
works "$app_pid" 2
finish rec INT
report "$T/a"
json_eq "a turn that hangs is told of" "$T/a.json" \
	'.unfinished | [.count, (.longest[] | .event, .ended, .so_far_ns >= 1e9)]' '[1,true,"trace",true]'
json_eq "and is in no figure" "$T/a.json" '.events.max_ns < 1e9' true
"$VMSPAN" report "$T/a" | tr -s ' \n' ' ' >"$T/text"
check "in words" grep -qE 'not ended: [0-9.]+ s so far, process [0-9]+, thread [0-9]+, the trace ended' "$T/text"
: >"$T/end"
wait_lines app '^answer' 3 || not_ok "it goes on" "it does not"
start_record "$T/b" "$app_pid"
for _ in 1 2 3; do ask turn >"$T/line"; done
finish rec INT
report "$T/b"
json_eq "who waits for events has ended them all" "$T/b.json" '.unfinished' null
finish app
