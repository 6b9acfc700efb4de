#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# tests/run itself, over a tree of its own: what fails is run again, what passes then is
# flaky, what never passes has failed, and the end of the output says why.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

tree=$T/tree
mkdir -p "$tree/tests/golden"
cp tests/run tests/results_lib.sh "$tree/tests/"

script() { # NAME: its body is read
	{
		echo '#!/usr/bin/env bash'
		cat
	} >"$tree/tests/golden/$1.sh"
}
run() { # STATUS NAME...: in the tree; $T/run
	local want=$1 rc=0
	shift
	(cd "$tree" && env -u VMSPAN_RESULTS VMSPAN_AGAIN_SECONDS="${again-600}" B=build tests/run "$@") >"$T/run" 2>&1 || rc=$?
	eq "tests/run $*: status" $rc "$want"
}
said() { # NAME REGEX
	check "$1" grep -qE -- "$2" "$T/run"
}

script sound <<'END'
echo "ok one"
echo "skip two - it is not there"
END
# Fails until it has been run as often as the file says.
script flaky <<'END'
n=$(($(cat tries 2>/dev/null || echo 0) + 1))
echo $n >tries
if [ $n -lt "$(cat passes_at)" ]; then
	echo "not ok first - in run $n"
	exit 1
fi
echo "ok first"
END
script broken <<'END'
for i in $(seq 30); do echo "line $i"; done
echo "ok one"
echo "not ok two - it is broken"
echo "not ok three - that too"
exit 1
END
script silent <<'END'
END
script status <<'END'
echo "ok one"
exit 3
END
script hangs <<'END'
echo "ok one"
exec tail -f /dev/null
END

run 0 golden/sound.sh
eq "what passes is counted, and comes last" "$(tail -n 1 "$T/run")" "1 passed, 0 failed, 1 skipped"
said "what is skipped is named, with its reason" '^skip golden/sound.sh: two - it is not there$'
said "the machine is told" '^[0-9]+ CPUs: [0-9.]+ % of their time was stolen by the hypervisor, [0-9]+ % was in use; load '

for at in 2 3; do
	echo $at >"$tree/passes_at"
	rm -f "$tree/tries"
	run 0 golden/flaky.sh
	eq "what passes in run $at is counted as passed" "$(tail -n 1 "$T/run")" "1 passed, 0 failed, 0 skipped"
	said "and listed as flaky, with the first reason" '^flaky golden/flaky.sh: first - in run 1 - '
	eq "each failure's log is kept" "$(cat "$tree"/build/log/golden-flaky.sh.log.*)" \
		"$(for ((i = 1; i < at; i++)); do echo "not ok first - in run $i"; done)"
	eq "and the last one's" "$(cat "$tree/build/log/golden-flaky.sh.log")" "ok first"
	rm -r "$tree"/build/log
done

echo 4 >"$tree/passes_at"
rm -f "$tree/tries"
run 1 golden/flaky.sh
eq "what fails three times has failed" "$(tail -n 1 "$T/run")" "0 passed, 1 failed, 0 skipped"
eq "and was not run a fourth time" "$(cat "$tree/tries")" 3

run 1 golden/sound.sh golden/broken.sh
eq "failures are counted one by one, in the last run alone" "$(tail -n 1 "$T/run")" "2 passed, 2 failed, 1 skipped"
sed -n '/^== failed: /,$p' "$T/run" >"$T/end"
eq "the end names it, its reason and the last fifteen lines of its log, then the machine" \
	"$(sed -e 's/^[0-9]* CPUs.*/CPUs/' -e 's/^[0-9]* s$/seconds/' "$T/end")" \
	"== failed: golden/broken.sh
not ok golden/broken.sh: two - it is broken
and 1 more
$(for i in $(seq 19 30); do echo "   | line $i"; done)
   | ok one
   | not ok two - it is broken
   | not ok three - that too
log: build/log/golden-broken.sh.log

CPUs
seconds
2 passed, 2 failed, 1 skipped"

# What a repeat must not hide.
script skips <<'END'
if [ -e ran ]; then
	echo "skip one - not today"
	echo "ok two"
else
	echo "not ok one - it is broken"
	echo "ok two"
fi
touch ran
END
script fewer <<'END'
echo "ok one"
[ -e ran ] || { echo "ok two"; echo "not ok three - it is broken"; }
touch ran
END
for name in skips fewer; do
	rm -f "$tree/ran"
	run 1 golden/$name.sh
	said "run again, it passes by doing less: $name" \
		"^not ok golden/$name.sh: when run again it passed fewer cases, or skipped some; before: .* - it is broken\$"
done
script last <<'END'
printf 'ok one\nnot ok two - at the end of the file'
END
run 1 golden/last.sh
said "the last line counts, if it has no end" '^not ok golden/last.sh: two - at the end of the file$'
script odd <<'END'
printf 'not ok a\tb\033[31m - c\td\n'
END
run 1 golden/odd.sh
said "a tab in a reason is a blank" '^not ok golden/odd.sh: a b.* - c d$'
eq "nothing that a terminal acts upon comes out" "$(grep -c $'\033' "$T/run")" 0
script killed <<'END'
echo "ok one"
kill -s KILL $$
END
run 1 golden/killed.sh
said "a script that is killed is told as that" '^not ok golden/killed.sh: ended by signal 9$'
script interrupted <<'END'
trap 'echo "ok interrupted"; exit 0' INT
kill -s INT $$
exit 1
END
run 0 golden/interrupted.sh
script leaves <<'END'
tail -f /dev/null &
echo $! >left
echo "ok one"
END
run 0 golden/leaves.sh
check "what a script leaves ends with it" test ! -e "/proc/$(cat "$tree/left")/fd/0"
run 2 golden/broken.sh nosuch/x.sh
eq "a suite that is not there is told before anything runs" "$(cat "$T/run")" "tests/run: no such suite: nosuch/x.sh"

run 1 golden/silent.sh
said "a script without results has failed" '^not ok golden/silent.sh: printed no result$'
run 1 golden/status.sh
said "so has one that ends with a status" '^not ok golden/status.sh: exit status 3$'
TEST_TIMEOUT=1 run 1 golden/hangs.sh
said "and one that does not end" '^not ok golden/hangs.sh: did not end in 1 s$'
again=0 run 1 golden/broken.sh
said "repeats have a time in which they may begin" '^not run again: golden/broken.sh: the time for that is over$'
run 1 golden/none.sh
said "a test that is not there has failed" '^not ok golden/none.sh: no such test$'

# Another run at the same time.
script other <<'END'
env -u VMSPAN_RESULTS B=build tests/run golden/sound.sh >other.out
echo "not ok one - it is broken"
END
run 1 golden/other.sh
eq "another run has results of its own" "$(tail -n 1 "$T/run"; tail -n 1 "$tree/other.out")" \
	"0 passed, 1 failed, 0 skipped
1 passed, 0 failed, 1 skipped"
eq "and none are left" "$(find "$tree/build/log" -name 'results*')" ""
(cd "$tree" && VMSPAN_RESULTS=$T/none B=build tests/run golden/sound.sh) >"$T/run" 2>&1
eq "results that are none: status" $? 2

# As tools/test has it: several runs, one summary.
mkdir "$T/results"
: >"$T/results/lines"
(cd "$tree" && VMSPAN_RESULTS=$T/results B=build tests/run golden/sound.sh golden/broken.sh) >"$T/run" 2>&1
eq "for another's results nothing is repeated or summed up" \
	"$(cut -f1-5 "$T/results/lines"; grep -c 'again\|passed,.*failed' "$T/run")" \
	$'build\tgolden/sound.sh\t1\t0\t1\nbuild\tgolden/broken.sh\t1\t2\t0\n0'
