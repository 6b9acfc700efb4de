#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# tools/demo as the README says, with what is built already and without a terminal: ends by
# itself and leaves a recording, a trace and no process.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

OUT=$T/demo
demo() {
	exec tools/demo --no-install "$B" "$OUT"
}
# Nobody's any more. Where process 1 takes up no orphans, what has ended stays as a zombie.
has_ended() { # PID
	case $(lib_state "$1") in '' | Z | X) ;; *) return 1 ;; esac
}
pid_of() { # FILE
	sed -n 's/^it runs as process \([0-9]*\)$/\1/p' "$1"
}

start demo demo
finish demo
eq "the demo ends well by itself" $? 0
[ "$lib_failed" = 0 ] || sed 's/^/  | /' "$T/demo.out" "$T/demo.err"
# Of the live table and of the report, by its row.
shown=$(grep -cE '^addon:tracker +[0-9.]+ ' "$T/demo.out")
check "it shows the slow add-on, live and of the recording: $shown times" test "$shown" -ge 2
"$VMSPAN" report --json "$OUT/demo.vmspan" >"$T/r.json" || not_ok "report" "exit $?"
# The host numbers the turns of each thread: none between the first and the last is missing,
# but for those that had not ended: a nested one tells of the one around it, and what is around
# that has the number before. What ran when tracing began is in turns without a number.
"$VMSPAN" export "$OUT/demo.vmspan" -q -f ndjson -o "$T/r.ndjson" || not_ok "export" "exit $?"
json_eq "it recorded every turn of the loop" <(jq -n '[inputs | select(.type == "event" and (.implicit | not))]' "$T/r.ndjson") \
	'def whole: map(.iteration) as $ended | map(.parent | select(. > 0)) as $parents
		| ($ended + $parents | unique) as $told
		| ([range($told[0]; $told[-1] + 1)] - $told) as $missing
		| ($missing - (($parents - $ended) + $missing | map(. - 1))) == [];
	group_by([.pid, .tid]) | map(whole) | [length > 0, all]' '[true,true]'
json_eq "and more than one" "$T/r.json" '.events.count > 1' true
json_eq "and lost nothing" "$T/r.json" '[.losses[]] | add' 0
json_eq "the trace has as many slices" <(jq -s . "$OUT/demo.json") \
	'.[0] | (.traceEvents // .) | [.[] | select(.ph == "X" or .ph == "B")] | length >= '"$(jq .events.count "$T/r.json")" true
pid=$(pid_of "$T/demo.out")
check "its host has ended" has_ended "${pid:-none}"

start demo demo
check "the demo starts" wait_line demo '^it runs as process'
pid=$(pid_of "$T/demo.out")
! lib_read_stat "${pid:-none}" || lib_owns "$pid"
finish demo TERM
eq "interrupted, it says so" "$?" 143
check "and takes its host along" until_true has_ended "${pid:-none}"
check_status "other arguments" 2 tools/demo --nonsense
check_status "a folder with nothing built" 1 tools/demo --no-install "$T/none" "$T/nowhere"
