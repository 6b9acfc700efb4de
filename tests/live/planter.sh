#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Slow turns that are planted: each is told of once, with who is to blame and for as long as that was, and
# nothing else is. With VMSPAN_TEST_SECONDS for so long, idle and beside programs that want the CPU.
# shellcheck disable=SC2154 # start sets planter_pid
# shellcheck source=tests/attach_lib.sh
. "$(dirname "$0")/../attach_lib.sh"

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

# Of all planted ones that have to be told: how many were not, or twice; of alerts and of what was told while
# it went on, those that are nobody's. What was kept off the CPU is not in a time of exact mode.
judge() { # HIDDEN-KIND
	jq -cn --slurpfile t "$T/truth" --slurpfile a "$T/watch.out" --arg hidden "$1" '
		def of($t; $a): $a.group == $t.group and $a.event.begin_ns >= $t.begin_ns and $a.event.begin_ns <= $t.end_ns;
		def long($t; $a): ($a.total_ns + $a.preempted_ns) as $ns | $ns >= $t.held_ns - 1e6 and $ns <= $t.end_ns - $t.begin_ns;
		[$a[] | select(.type == "alert")] as $alerts |
		{not_once: [$t[] | select(.kind != $hidden) | . as $one | {told: ([$alerts[] | select(of($one; .))] | length), one: .} | select(.told != 1)],
		 not_as_long: [$t[] as $one | $alerts[] | select(of($one; .) and (long($one; .) | not)) | {one: $one, total_ns, preempted_ns}],
		 nobodys: [$a[] | . as $x | select(any($t[]; .kind != $hidden and of(.; $x)) | not) | {group, cause, sentence, wall_ns: .event.wall_ns}]}'
}

planted() { # NAME SEED HIDDEN-KIND WATCH-ARGUMENTS...
	local name=$1 from=$2 hidden=$3 told
	shift 3
	start_ready planter "$T/planter" "$from" "$count"
	start watch "$VMSPAN" watch --json -p "$planter_pid" "$@"
	wait_line watch '^watching ' err >/dev/null
	send planter
	check "$name: the turns are there" wait_line planter '^done'
	finish watch INT
	finish planter
	grep '^{' "$T/planter.out" >"$T/truth"
	told=$(judge "$hidden")
	eq "$name: each is told of once, with its culprit" "$(jq -c .not_once <<<"$told")" '[]'
	eq "$name: for as long as it was" "$(jq -c .not_as_long <<<"$told")" '[]'
	eq "$name: and nothing else" "$(jq -c .nobodys <<<"$told")" '[]'
}

crowd() {
	for ((hungry = 0; hungry < $(nproc); hungry++)); do
		start "crowd$hungry" bash -c 'while :; do :; done'
	done
}
disperse() {
	while [ $((hungry--)) -gt 0 ]; do
		finish "crowd$hungry" KILL 2>/dev/null
	done
	return 0
}

for ((run = 0; run < runs; run++)); do
	# Who waits unannounced may have been kept off the CPU, as far as default mode knows.
	planted "default, seed $((seed + run))" $((seed + run)) sleeps
	planted "exact, seed $((seed + run))" $((seed + run)) none --exact
	[ -n "${VMSPAN_TEST_SECONDS-}" ] || continue
	crowd
	planted "default, crowded, seed $((seed + run))" $((seed + run)) sleeps
	planted "exact, crowded, seed $((seed + run))" $((seed + run)) none --exact
	disperse
done
