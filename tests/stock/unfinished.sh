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
answers=0
for by in --exact-calls ""; do
	# shellcheck disable=SC2086 # none, or one and its consent
	start_record "$T/a" "$app_pid" ${by:+$by --yes}
	# The first turn began before anybody knew that it is one of a loop.
	ask turn >"$T/line"
	ask turn >"$T/line"
	send app "hang $T/end"
	wait_lines app '^hangs' $((answers / 3 + 1)) || not_ok "${by:-looks}: it hangs" "it does not"
	works "$app_pid" 2
	finish rec INT
	report "$T/a"
	json_eq "${by:-looks}: a turn that hangs is told of" "$T/a.json" \
		'.unfinished | [.count, (.longest[] | .event, .ended, .so_far_ns >= 1e9)]' '[1,true,"trace",true]'
	json_eq "${by:-looks}: and is in no figure" "$T/a.json" '.events | .count >= 1 and .max_ns < 1e9' true
	check_ledger "${by:-looks}" "$T/a.json"
	"$VMSPAN" report "$T/a" | tr -s ' \n' ' ' >"$T/text"
	check "${by:-looks}: in words" grep -qE 'not ended: [0-9.]+ s so far, process [0-9]+, thread [0-9]+, the trace ended' "$T/text"
	: >"$T/end"
	answers=$((answers + 3))
	wait_lines app '^answer' $answers || not_ok "${by:-looks}: it goes on" "it does not"
	rm "$T/end"
done
start_record "$T/b" "$app_pid"
for _ in 1 2 3; do ask turn >"$T/line"; done
finish rec INT
report "$T/b"
json_eq "who waits for events has ended them all" "$T/b.json" '.unfinished' null
finish app
