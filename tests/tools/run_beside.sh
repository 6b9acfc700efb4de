#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# tests/run, over a tree of its own, beside others: other runs, who traces everybody, who takes its
# results away, and who tells it to end.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/runner_lib.sh
. "$(dirname "$0")/../runner_lib.sh"

# Results that are lost are no results.
script takes_results <<'END'
for lines in build/log/results.*/lines; do rm "$lines" && mkdir "$lines"; done
echo "not ok one - it is broken"
END
again=600 run 1 golden/takes_results.sh
said "a result that cannot be written" '^not ok golden/takes_results.sh: its result cannot be written: '
script wipes_results <<'END'
for lines in build/log/results.*/lines; do : >"$lines"; done
echo "ok one"
END
again=600 run 1 golden/broken.sh golden/wipes_results.sh
said "results of before that are gone" '^not ok golden/broken.sh: its result is lost$'
script cuts_results <<'END'
for lines in build/log/results.*/lines; do sed -i 's/\t[0-9]*\t[0-9]*\t[0-9]*\t.*/\t/' "$lines"; done
echo "ok one"
END
run 1 golden/broken.sh golden/cuts_results.sh
said "a result that is not whole" '^not ok golden/broken.sh: its result is not whole$'

# Another run at the same time.
script other <<'END'
env -u VMSPAN_RESULTS B=build tests/run golden/sound.sh >other.same 2>&1
echo "# $?" >>other.same
env -u VMSPAN_RESULTS B="$PWD/elsewhere" tests/run golden/sound.sh >other.else 2>&1
echo "not ok one - it is broken"
exit 1
END
run 1 golden/other.sh
eq "another run with the same folder is refused" "$(cat "$tree/other.same")" \
	"another run of tests writes into build/log: wait for it, or choose another build folder by B=FOLDER
# 2"
eq "with another it has results of its own" "$(tail -n 1 "$T/run"; tail -n 1 "$tree/other.else")" \
	"0 passed, 1 failed, 0 skipped
1 passed, 0 failed, 1 skipped"
none "and none are left" "$(find "$tree/build/log" "$tree/elsewhere/log" -name 'results*')"
check "a folder may be named from the root" test -e "$tree/elsewhere/log/golden-sound.sh.log"

# What looks at its own marks waits for who traces everybody, and the other way round.
mkdir "$T/locks"
with=("VMSPAN_TEST_LOCKS=$T/locks")
script sdk_marks <<'END'
lock=$VMSPAN_TEST_LOCKS/vmspan-everybody.lock
flock -ns "$lock" true && echo "ok others may look at their own marks too"
flock -nx "$lock" true || echo "ok nobody may trace everybody"
END
run 0 golden/sdk_marks.sh
said "a lock is shared" '^golden/sdk_marks.sh: 2 passed'
check "and free again" flock -nx "$T/locks/vmspan-everybody.lock" true
exec {lock}<"$T/locks/vmspan-everybody.lock"
flock -x "$lock"
start waits env -C "$tree" "${with[@]}" B=build tests/run golden/sdk_marks.sh
check "beside who traces everybody it waits" wait_line waits "^waiting for another test: $T/locks/vmspan-everybody.lock"
check "and says for whom" wait_line waits "^it is held by process $$, in $TOP: bash .*${0##*/} *\$"
flock -u "$lock"
check_status "and then runs" 0 finish waits
eq "once" "$(grep -c '^it is held' "$T/waits.out")" 1
exec {lock}<&-
start holds flock -Fx "$T/locks/vmspan-everybody.lock" sh -c 'echo ready; exec tail -f /dev/null'
check "a program holds it" wait_line holds '^ready$'
start waits env -C "$tree" "${with[@]}" B=build tests/run golden/sdk_marks.sh
check "it waits for that" wait_line waits "^it is held by process [0-9]*, in $TOP: tail -f /dev/null *\$"
check_status "who waits ends when it is told to" 130 finish waits TERM
kill "$holds_pid"
with=()
eval "$(sed -n '/^locks()/,/^}/p' tests/run)"
if [ "$(id -u)" = 0 ]; then
	eq "who traces everybody has that for itself" \
		"$(locks live/matrix_names.sh | xargs) $(locks live/matrix_caps.sh | xargs)" \
		"tests:x everybody:x tests:x everybody:x"
fi
eq "tests that trace every program are those" "$(
	grep -lE '(^|[ \t])(attach|watching|start) .*[ ](-a|--all)( |$)' tests/live/*.sh tests/stock/*.sh tests/viewers/*.sh)" \
	tests/live/matrix_names.sh
tracers=$(grep -lE '^#include "(sdk|v2)_tracer\.h"' tests/unit/*_test.c)
eq "some programs are their own tracer" "$(grep -c . <<<"$tracers")" 9
none "and none of them runs beside who traces everybody" "$(for f in $tracers; do
	f=${f#tests/}
	[ "$(locks "${f%.c}")" = everybody:s ] || echo "$f"
done)"

# A runner that is ended, by hand or by a kill that it cannot see: the script that runs comes to its
# own end first.
script slow <<'END'
trap 'trap "" TERM; echo >told; until [ -e tidy ]; do :; done; echo tidied >tidied; exit 130' TERM
echo $PPID >slow
tail -f /dev/null &
wait
END
rests() { # PID: it has taken what it was sent, and waits
	local status
	status=$(cat "/proc/$1/status") || return 0
	! grep -qE '^S(ig|hd)Pnd:[[:blank:]]*0*[1-9a-f]' <<<"$status" && grep -qE '^State:[[:blank:]]*S' <<<"$status"
}
ended() { # SIGNAL [again]: its reaper is told again; the status is in $status
	rm -f "$tree/slow" "$tree/told" "$tree/tidy" "$tree/tidied"
	# Who is killed clears nothing away.
	(cd "$tree" && exec env -u VMSPAN_RESULTS TMPDIR="$T" B=build tests/run golden/slow.sh) >"$T/run" 2>&1 &
	lib_owns $!
	check "$1: a script runs" until_true test -s "$tree/slow"
	kill -s "$1" $!
	check "$1: it is told" until_true test -e "$tree/told"
	if [ $# = 2 ]; then
		kill -s TERM "$(cat "$tree/slow")"
		check "$1: it is told again" until_true rests "$(cat "$tree/slow")"
	fi
	: >"$tree/tidy"
	status=0
	wait $! 2>/dev/null || status=$?
	check "$1: the script's own end" until_true test -s "$tree/tidied"
}
ended KILL
ended TERM
eq "TERM: status" $status 130
ended TERM again
eq "TERM, and once more: status" $status 130

# Who was forked and is not yet another program may lose the signal that tells it to end.
cat >"$T/tells" <<END
. tests/results_lib.sh
cmp() {
	: >"$T/is_looked_at"
	command cmp "\$@"
}
trap '' TERM # of the child from its begin
(
	until [ -e "$T/is_looked_at" ]; do :; done
	trap - TERM
	exec tail -f /dev/null
) &
results_tell \$!
END
start tells bash "$T/tells"
check "a child is told to end when it is another program" eval "LIMIT=30 finish tells; [ \$? = 143 ]"

# As tools/test has it: several runs, one summary.
mkdir "$T/results"
: >"$T/results/lines"
(cd "$tree" && VMSPAN_RESULTS=$T/results B=build tests/run golden/sound.sh golden/broken.sh golden/takes_time.sh) >"$T/run" 2>&1
eq "for another's results nothing is repeated or summed up" \
	"$(cut -f1-5 "$T/results/lines" | head -n 2; grep -c 'again\|passed,.*failed' "$T/run")" \
	$'build\tgolden/sound.sh\t1\t0\t1\nbuild\tgolden/broken.sh\t1\t2\t0\n0'
check "another is told the CPU time, as the last of a line" eval "tail -n 1 '$T/results/lines' | cut -f9 | grep -qx '[1-9][0-9]*'"
