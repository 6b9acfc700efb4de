#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Slow turns that are planted: each is told of once, with who is to blame and for as long as that was, and
# nothing else is. With VMSPAN_TEST_SECONDS for so long, idle and beside programs that want the CPU.
# shellcheck disable=SC2154 # start sets planter_pid, planter_watch told
# shellcheck source=tests/attach_lib.sh
. "$(dirname "$0")/../attach_lib.sh"
# shellcheck source=tests/planter_lib.sh
. "$TOP/tests/planter_lib.sh"

seed=${VMSPAN_TEST_SEED:-1}
echo "# seed $seed"
KINDS=7
count=$KINDS # slow turns a run, 0.8 s each
runs=1
if [ -n "${VMSPAN_TEST_SECONDS-}" ]; then
	count=$((10 * KINDS))
	runs=$((VMSPAN_TEST_SECONDS / (4 * count * 8 / 10) + 1))
fi
build "$T/planter" tests/vm/planter.c

planted() { # NAME SEED HIDDEN-KIND WATCH-ARGUMENTS...
	local name=$1 from=$2 hidden=$3
	shift 3
	start_ready planter "$T/planter" "$from" "$count"
	planter_watch "$name" "$count" "$planter_pid" "$hidden" "$@"
	# What was kept off the CPU is not in a time of exact mode.
	eq "$name: for as long as it was" "$(jq -c '[.pairs[] | select((.total_ns + .preempted_ns) as $ns |
		($ns >= .one.held_ns - 1e6 and $ns <= .one.end_ns - .one.begin_ns) | not)]' <<<"$told")" '[]'
}

for ((run = 0; run < runs; run++)); do
	# Who waits unannounced may have been kept off the CPU, as far as default mode knows.
	planted "default, seed $((seed + run))" $((seed + run)) sleeps
	planted "exact, seed $((seed + run))" $((seed + run)) none --exact
	[ -n "${VMSPAN_TEST_SECONDS-}" ] || continue
	planter_crowd
	planted "default, crowded, seed $((seed + run))" $((seed + run)) sleeps
	planted "exact, crowded, seed $((seed + run))" $((seed + run)) none --exact
	planter_disperse
done
