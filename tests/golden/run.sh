#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# tests/run itself, over a tree of its own: what counts as passed, as failed and as skipped, what
# is run again, and what the end of the output says. Repeats that try less, all that may be left behind,
# other runs beside it and who ends it are looked at by tests/tools/run_*.sh, in make nightly.
# once: it does not use the build folder
# shellcheck disable=SC2034 # what run() of runner_lib.sh reads
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/runner_lib.sh
. "$(dirname "$0")/../runner_lib.sh"

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

# CPU time is of all that a test has started, a family's too; what it waits in is none.
script waits_only <<'END'
perl -e 'select undef, undef, undef, 2.5'
echo "ok one"
END
run 0 golden/{takes_time,waits_only}.sh
said "CPU time is told" '^golden/takes_time.sh: 1 passed, [0-9]+ s, [1-9][0-9]* s of CPU time$'
# Where a hypervisor takes CPU time and does not tell, a process seems to have had that.
said "time that is waited in is none" '^golden/waits_only.sh: 1 passed, ([2-9]|[0-9]{2,}) s, [01] s of CPU time$'

# Fails in the runs that the file says.
script flaky <<'END'
n=$(($(cat tries 2>/dev/null || echo 0) + 1))
echo $n >tries
if grep -qw $n fails_in; then
	echo "not ok first - in run $n"
	exit 1
fi
echo "ok first"
END
echo 1 >"$tree/fails_in"
again=600 run 0 golden/flaky.sh
eq "what passes in the runs after it is counted as passed" "$(tail -n 1 "$T/run")" "1 passed, 0 failed, 0 skipped"
eq "it was run three times" "$(cat "$tree/tries")" 3
said "and listed as flaky, with the first reason and its log" \
	'^flaky golden/flaky.sh: first - in run 1 - log of the failure: build/log/golden-flaky.sh.log.1$'
eq "each log is kept" "$(cat "$tree"/build/log/golden-flaky.sh.log.*)" \
	"not ok first - in run 1
ok first
done"
eq "and the last one's" "$(head -n 1 "$tree/build/log/golden-flaky.sh.log")" "ok first"
for in in '1 2' '1 3'; do
	echo "$in" >"$tree/fails_in"
	rm -f "$tree/tries"
	again=600 run 1 golden/flaky.sh
	eq "what fails in runs $in has failed" "$(tail -n 1 "$T/run")" "0 passed, 1 failed, 0 skipped"
	said "and says why" "^not ok golden/flaky.sh: first - in run ${in#1 }\$"
	eq "and was not run any more" "$(cat "$tree/tries")" "${in#1 }"
done

again=600 run 1 golden/sound.sh golden/broken.sh
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

script last <<'END'
printf 'ok one\nnot ok two - at the end of the file'
exit 1
END
script odd <<'END'
printf 'not ok a\tb\033[31m - c\td\n'
END
script killed <<'END'
echo "ok one"
kill -s KILL $$
END
script no_name <<'END'
echo "ok one"
echo "not ok"
END
script endless <<'END'
echo "ok one"
head -c 20000000 /dev/zero | tr '\0' '\n'
END
for why in '' ' -' ' - '; do
	script "unexplained${why// /_}" <<<"echo 'ok one'; echo 'skip two$why'"
done
run 1 golden/{last,odd,killed,no_name,endless,silent,status,unexplained,unexplained_-,unexplained_-_}.sh
said "the last line counts, if it has no end" '^not ok golden/last.sh: two - at the end of the file$'
said "a tab in a reason is a blank" '^not ok golden/odd.sh: a b.* - c d$'
eq "nothing that a terminal acts upon comes out" "$(grep -c $'\033' "$T/run")" 0
said "a script that is killed is told as that" '^not ok golden/killed.sh: ended by signal 9$'
said "what is too long to read is cut" '^not ok golden/endless.sh: printed 20000012 bytes, of which 16777216 are kept$'
said "a failure without a name" '^not ok golden/no_name.sh: a case without a name$'
said "a script without results has failed" '^not ok golden/silent.sh: printed no result$'
said "so has one that ends with a status" '^not ok golden/status.sh: exit status 3$'
for why in '' ' -' ' - '; do
	said "a skip without a reason: two$why" "^not ok golden/unexplained${why// /_}.sh: two$why skipped without a reason\$"
done

# What was printed and got lost has failed all the same.
helped() { # NAME: its body is read; it has the helpers
	{
		echo ". $TOP/tests/lib.sh"
		cat
	} >"$tree/tests/golden/$1.sh"
}
helped lost <<'END'
ok one
lost=$(not_ok two "in what is kept")
(eq three 1 2) >/dev/null
END
helped wiped <<'END'
ok one
(not_ok two "it is broken")
echo >/dev/stderr
END
helped no_line <<'END'
ok one
printf 'no end of a line'
(not_ok two "it is broken")
END
helped early <<'END'
leaves() { exit 0; }
ok one
echo "done"
ok two
leaves
ok three
END
run 1 golden/{lost,wiped,no_line,early}.sh
said "failures whose lines are lost" '^not ok golden/lost.sh: told of 2 failures, not all of which are in its output: two$'
said "or wiped" '^not ok golden/wiped.sh: told of 1 failures, '
said "or part of another line" '^not ok golden/no_line.sh: told of 1 failures, '
said "the last line is the last" '^not ok golden/early.sh: did not come to its last line$'

mkdir "$tree/tests/fuzz"
run 2 fuzz
eq "a suite without tests has not passed" "$(cat "$T/run")" "tests/run: no test in: fuzz"

script interrupted <<'END'
trap 'echo "ok interrupted"; echo done; exit 0' INT
kill -s INT $$
exit 1
END
run 0 golden/interrupted.sh

# What a script leaves behind is named and ended, and has failed.
script leaves <<'END'
tail -f /dev/null &
echo $! >pid
until grep -aq ^tail /proc/$!/cmdline; do :; done
: >"$TMPDIR/one"
echo "ok one"
END
run 1 golden/leaves.sh
said "what is left behind is a failure" '^not ok golden/leaves.sh: left behind: process [0-9]+: tail -f /dev/null ; file: .*/one$'
check "what was left is ended" test ! -e "/proc/$(cat "$tree/pid")/fd/0"

# A script that does not come to its last line has failed, with the helpers too.
cp tests/lib.sh "$tree/tests/"
bodies=()
body() { # NAME TEXT: it has the helpers
	printf '. tests/lib.sh\n%s\n' "$2" >"$tree/tests/golden/$1.sh"
	bodies+=("golden/$1.sh")
}
script status_0 <<'END'
echo "ok one"
exit 0
END
ends_early=('ok one; exit 0' 'ok one; if true; then exit; fi' 'ok one; exec true')
# In a pipe, in a substitution and in a subshell.
ends_badly=('eq one "$(ends_well sh -c "echo x; exit 3" | cat)" x' 'eq one "$(cat <(ends_well sh -c "echo x; exit 3"))" x'
	'(ends_well sh -c "exit 3") || ok one')
for i in 0 1 2; do
	body "ends_early$i" "${ends_early[i]}"
	body "ends_badly$i" "${ends_badly[i]}"
done
run 1 golden/status_0.sh "${bodies[@]}"
said "status 0 before the last line" '^not ok golden/status_0.sh: did not come to its last line$'
for i in 0 1 2; do
	said "with the helpers: ${ends_early[i]}" "^not ok golden/ends_early$i.sh: did not come to its last line\$"
	said "what is to end well does not: ${ends_badly[i]}" \
		"^not ok golden/ends_badly$i.sh: what nobody asked for its status ends well - exit 3 from: sh "
done
bodies=()
body ends 'ok one'
body ends_after_others 'ok one; (exit 0); false || true'
body ends_skipped 'skip_rest one "it is not there"; not_ok two "not skipped"'
body ends_well 'eq one "$(ends_well echo x | cat)" x'
run 0 "${bodies[@]}"

# What a unit test has planned.
mkdir -p "$tree/tests/unit" "$tree/build/tests"
planned() { # NAME LINE...: what the program prints
	local program=$tree/build/tests/$1_test
	: >"$tree/tests/unit/$1_test.c"
	shift
	printf '#!/bin/sh\nprintf %%s\\\\n%s\n' "$(printf " '%s'" "$@")" >"$program"
	chmod +x "$program"
}
planned all 1..2 'ok 1 - one' 'ok 2 - two'
planned fewer 1..3 'ok 1 - one' 'ok 2 - two'
planned no_plan 'ok 1 - one'
run 1 unit/{all,fewer,no_plan}_test
said "as many results as planned" '^unit/all_test: 2 passed'
said "fewer results than planned" '^not ok unit/fewer_test: 2 results of 3 that were planned$'
said "no plan" '^not ok unit/no_plan_test: has no plan$'

# Skips that are not listed.
printf '# what may be\ngolden/sound.sh two - it is not*\n' >"$tree/tests/skips"
with=(VMSPAN_TEST_SKIPS=listed)
run 0 golden/sound.sh
printf 'golden/sound.sh one - it is not*\ngolden/other.sh two - *\n' >"$tree/tests/skips"
run 1 golden/sound.sh
said "a skip that is not on the list" \
	'^not ok golden/sound.sh: skipped, which tests/skips does not allow: two - it is not there$'
with=()
run 0 golden/sound.sh

run 2 golden/broken.sh nosuch/x.sh
eq "a suite that is not there is told before anything runs" "$(cat "$T/run")" "tests/run: no such suite: nosuch/x.sh"
for none in '' /x; do
	run 2 golden/sound.sh "$none"
	eq "nor is one without a name: '$none'" "$(cat "$T/run")" "tests/run: no such suite: $none"
done
run 2 golden/sound.sh golden/none.sh
eq "so is a test that is not there" "$(cat "$T/run")" "tests/run: no such test: golden/none.sh"

VMSPAN_TEST_TIMEOUT=1 run 1 golden/hangs.sh
said "and one that does not end" '^not ok golden/hangs.sh: did not end in 1 s$'
