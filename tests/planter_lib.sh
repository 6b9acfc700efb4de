# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Slow turns that are planted, and what is told of them: each once, with who is to blame, and nothing else.

# $T/truth has a line for each that was planted: {"kind", "group", "begin_ns", "end_ns", ...}, $T/watch.out
# what was told. Of all that have to be told: those that were not, or twice; of alerts and of what was
# told while it went on, those that are nobody's.
planter_told() { # HIDDEN-KIND
	jq -cn --slurpfile t "$T/truth" --slurpfile a "$T/watch.out" --arg hidden "$1" '
		def of($t; $a): $a.group == $t.group and $a.event.begin_ns >= $t.begin_ns and $a.event.begin_ns <= $t.end_ns;
		[$a[] | select(.type == "alert")] as $alerts |
		{planted: ($t | length),
		 not_once: [$t[] | select(.kind != $hidden) | . as $one | {told: ([$alerts[] | select(of($one; .))] | length), one: .} | select(.told != 1)],
		 pairs: [$t[] as $one | $alerts[] | select(of($one; .)) | {one: $one, total_ns, preempted_ns}],
		 nobodys: [$a[] | . as $x | select(any($t[]; .kind != $hidden and of(.; $x)) | not) | {group, cause, sentence, wall_ns: .event.wall_ns, stacks}]}'
}

# Watches PID while the planter, which is ready, plants; `told` has what planter_told() says.
planter_watch() { # NAME PLANTED PID HIDDEN-KIND WATCH-ARGUMENTS...
	local name=$1 planted=$2 pid=$3 hidden=$4
	shift 4
	start watch "$VMSPAN" watch --json -p "$pid" "$@"
	wait_line watch '^watching ' err >/dev/null || not_ok "$name: a watch of $pid" "it does not begin"
	send planter
	# A turn lasts for 0.8 s, or twice that beside others.
	LIMIT=$((LIMIT + 10 * planted)) check "$name: the turns are there" wait_line planter '^done'
	finish watch INT
	finish planter
	grep '^{' "$T/planter.out" >"$T/truth"
	told=$(planter_told "$hidden")
	eq "$name: as many as were to be planted" "$(jq .planted <<<"$told")" "$planted"
	eq "$name: each is told of once, with its culprit" "$(jq -c .not_once <<<"$told")" '[]'
	eq "$name: and nothing else" "$(jq -c .nobodys <<<"$told")" '[]'
}

# Programs that want every CPU.
planter_crowd() {
	for ((hungry = 0; hungry < $(nproc); hungry++)); do
		start "crowd$hungry" bash -c 'while :; do :; done'
	done
}
planter_disperse() {
	while [ $((hungry--)) -gt 0 ]; do
		finish "crowd$hungry" KILL 2>/dev/null
	done
	return 0
}
