#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Collections that are longer than the pieces in which a stay on the CPU is told of: all of their time is that of
# collections, and what the program's own code ran is its own.
# shellcheck disable=SC2154 # start_app sets app_pid
# shellcheck source=tests/stock/lib.sh
. "$(dirname "$0")/lib.sh"

N=5
check_collections() { # NAME LEAST: ns a collection
	local answer
	start_record "$T/c" "$app_pid"
	answer=$(ask collect $N 50)
	finish rec INT
	eq "$1: the recording ends well" $? 0
	report "$T/c"
	json_eq "$1: each is told of" "$T/c.json" .gc.count "$(jq .count <<<"$answer")"
	json_eq "$1: they are long" "$T/c.json" ".gc.total_ns / .gc.count > $2" true
	json_eq "$1: the ledger has their time" "$T/c.json" '.ledger.gc_ns >= 0.98 * .gc.total_ns' true
	json_eq "$1: as the program says, which knows of them a little less or more" "$T/c.json" \
		".ledger.gc_ns >= 0.8 * $(jq .gc <<<"$answer") and .ledger.gc_ns <= 1.05 * $(jq .gc <<<"$answer")" true
	json_eq "$1: no time is without a look" "$T/c.json" '.ledger.lost_ns <= 0.02 * .ledger.event_wall_ns' true
	json_eq "$1: its own code has what it ran" "$T/c.json" \
		".ledger.self_ns + .ledger.native_ns <= 1.05 * $(jq '.used - .gc' <<<"$answer") + 0.2 * $(jq .gc <<<"$answer")" true
	stop_app
}

if [ -x /usr/bin/python3.11 ]; then
	start_app /usr/bin/python3.11 "$APPS/garbage.py"
	check_collections CPython 1e8
else
	skip CPython "no /usr/bin/python3.11: tools/install-deps --vms"
fi
if [ -x /usr/bin/ruby3.1 ]; then
	start_app /usr/bin/ruby3.1 "$APPS/garbage.rb"
	check_collections Ruby 6e7
else
	skip Ruby "no /usr/bin/ruby3.1: tools/install-deps --vms"
fi
