#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# tests/run itself, over a tree of its own: what fails is run again, what passes then is
# flaky, what never passes has failed, and the end of the output says why.
# once: it does not use the build folder
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

unset VMSPAN_RESULTS VMSPAN_TEST_SKIPS # of who runs this
# What stays for good is not waited for as long as what may yet end.
export VMSPAN_TEST_LEFT=1
tree=$T/tree
mkdir -p "$tree/tests/golden"
cp tests/run tests/{results,left}_lib.sh tests/reaper.c "$tree/tests/"

script() { # NAME: its body is read
	{
		echo '#!/usr/bin/env bash'
		cat
		echo 'echo done'
	} >"$tree/tests/golden/$1.sh"
}
with=() # variables for the run
# In the tree; $T/run. With again=600 what fails is repeated, which takes as long again, twice.
run() { # STATUS NAME...
	local want=$1 rc=0
	shift
	(cd "$tree" && env ${with+"${with[@]}"} VMSPAN_AGAIN_SECONDS="${again-0}" B=build tests/run "$@") >"$T/run" 2>&1 || rc=$?
	eq "tests/run $*: status" $rc "$want"
}
said() { # NAME REGEX
	check "$1" grep -qE -- "$2" "$T/run"
}

script sound <<'END'
echo "ok one"
echo "skip two - it is not there"
END
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

# CPU time is of all that a test has started, a family's too; what it waits in is none.
script takes_time <<'END'
(perl -e 'do { $n++ for 1 .. 100000 } until (times)[0] >= 1' &
	wait)
echo "ok one"
END
script waits_only <<'END'
perl -e 'select undef, undef, undef, 2.5'
echo "ok one"
END
run 0 golden/{takes_time,waits_only}.sh
said "CPU time is told" '^golden/takes_time.sh: 1 passed, [0-9]+ s, [1-9][0-9]* s of CPU time$'
# Where a hypervisor takes CPU time and does not tell, a process seems to have had that.
said "time that is waited in is none" '^golden/waits_only.sh: 1 passed, ([2-9]|[0-9]{2,}) s, [01] s of CPU time$'

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

# One that passes when it is run again, and takes its runner along in the run after that.
script takes_along <<'END'
n=$(($(cat tries 2>/dev/null || echo 0) + 1))
echo $n >tries
[ $n != 3 ] || kill -s KILL "$(ps -o ppid= $PPID | tr -d ' ')"
[ $n != 1 ] && echo "ok one" || echo "not ok one - it is broken"
END
rm -f "$tree/tries"
with=("TMPDIR=$T")
again=600 run 1 golden/takes_along.sh
said "what could not be run as often as it has to pass has failed" \
	'^not ok golden/takes_along.sh: run again it passed 1 of 2 times; before: one - it is broken$'
with=()

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

# What a repeat must not hide. Each knows by a file that it has run.
twice() { # NAME FIRST SECOND: commands of the first run, and of its repeat
	printf 'if [ -e ran.%s ]; then\n%s\nelse\n%s\nfi\ntouch ran.%s\n' "$1" "$3" "$2" "$1" | script "$1"
}
twice skips 'echo "not ok one - it is broken"; echo "ok two"' 'echo "skip one - not today"; echo "ok two"'
twice fewer 'echo "ok one"; echo "ok two"; echo "not ok three - it is broken"' 'echo "ok one"'
twice other_cases 'echo "ok one"; echo "not ok three - it is broken"; echo "ok two"' 'echo "ok one"; echo "ok two"'
twice another 'echo "ok one"; echo "ok four"; echo "not ok five - it is broken"' \
	'echo "ok one"; echo "ok two"; echo "ok three"'
twice one_of_three 'echo "ok one"; echo "ok one"; echo "not ok one - it is broken"' 'echo "ok one"; echo "ok one"'
twice skips_more 'echo "not ok one - it is broken"' 'echo "ok one"; echo "skip two - not today"'
less=(golden/{skips,fewer,other_cases,another,one_of_three,skips_more}.sh)
again=600 run 1 "${less[@]}"
for name in "${less[@]}"; do
	said "run again, it passes by doing less: $name" \
		"^not ok $name: run again it did not try what had failed; before: .* - it is broken\$"
done
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
script crashes <<'END'
echo "ok one"
[ -e ran ] || { touch ran; kill -s SEGV $$; }
END
fell=()
for how in 'not ok one - exit 139 from: build/vmspan report x' 'not ok 1 - one
# Test failed with exception: Segmentation fault(11)' 'not ok one - exit status 1
==1==ERROR: AddressSanitizer: heap-use-after-free on address' 'not ok one - exit status 1
user/base/buf.c:1:2: runtime error: shift exponent 64 is too large'; do
	fell+=("$how")
	twice "fell_over${#fell[@]}" "echo '${how//\'/}'" 'echo "ok one"'
done
rm -f "$tree/ran"
again=600 run 1 golden/crashes.sh golden/fell_over{1..4}.sh
said "one that fell over its own memory has failed" '^not ok golden/crashes.sh: ended by signal 11$'
check "it is not run again" eval "! grep -q '^again.*crashes' '$T/run'"
for i in 1 2 3 4; do
	check "nor one in which a program did: ${fell[i - 1]##*$'\n'}" \
		eval "grep -qE '^not ok golden/fell_over$i.sh: (1 - )?one' '$T/run' && ! grep -q '^again.*fell_over$i' '$T/run'"
done
script quotes <<'END'
echo "ok what says 'ERROR: AddressSanitizer' or 'x.c:1:2: runtime error: y' is told"
[ -e ran ] && echo "ok one" || echo "not ok one - it is broken"
touch ran
END
rm -f "$tree/ran"
again=600 run 0 golden/quotes.sh
said "the name of a case is no crash" '^flaky golden/quotes.sh: one - it is broken'

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
mkdir "$tree/tests/fuzz"
run 2 fuzz
eq "a suite without tests has not passed" "$(cat "$T/run")" "tests/run: no test in: fuzz"

script interrupted <<'END'
trap 'echo "ok interrupted"; echo done; exit 0' INT
kill -s INT $$
exit 1
END
run 0 golden/interrupted.sh

# What a script leaves behind is named and ended, and has failed; unless it went by itself.
left=() said_of=()
leaves() { # NAME WHAT-IS-SAID: its body is read
	script "$1"
	left+=("golden/$1.sh") said_of+=("$2")
}
# What is left has become what it is to be: else it may be named for the shell that it was.
leaves process 'process [0-9]+: tail -f /dev/null ' <<'END'
tail -f /dev/null &
echo $! >pid
until [ "$(cat /proc/$!/comm)" = tail ]; do :; done
echo "ok one"
END
leaves session 'process [0-9]+: tail -f /dev/null ' <<'END'
setsid tail -f /dev/null &
echo $! >pid
until [ "$(cat /proc/$!/comm)" = tail ]; do :; done
echo "ok one"
END
leaves nothing_of_its_own 'process [0-9]+: tail -f /dev/null ' <<'END'
(cd / && env -i setsid sh -c 'tail -f /dev/null & until [ "$(cat /proc/$!/comm)" = tail ]; do :; done; exit 0')
echo "ok one"
END
leaves a_family 'process [0-9]+: sh -c tail -f /dev/null; : ; process [0-9]+: tail -f /dev/null ' <<'END'
setsid sh -c 'tail -f /dev/null; :' &
until pgrep -x -P $! tail >pid; do :; done
echo "ok one"
END
# Each that is ended leaves its own child, which is then to be ended too: too many for one look.
cat >"$tree/deep" <<'END'
[ "$1" != 0 ] || exec tail -f /dev/null
sh deep $(($1 - 1))
:
END
leaves generations '(process [0-9]+: sh deep [0-9]+ ; ){30}process [0-9]+: tail -f /dev/null ' <<'END'
setsid sh deep 30 &
until pgrep -x -s $! tail >pid; do :; done
cp pid youngest
echo "ok one"
END
# A process is found also while it is just becoming another: this one does nothing else.
leaves becomes_another 'process [0-9]+: .*' <<'END'
setsid perl -e 'exec { $^X } $^X, "-e", $ARGV[0], $ARGV[0]' 'exec { $^X } $^X, "-e", $ARGV[0], $ARGV[0]' &
echo "ok one"
END
leaves file 'file: .*/one/two' <<'END'
mkdir "$TMPDIR/one"
: >"$TMPDIR/one/two"
echo "ok one"
END
# Outside of TMPDIR a file is a test's if it is named after that.
leaves elsewhere 'file: /dev/shm/\.vmspan-test\.[^/ ]*; file: /dev/shm/x\.vmspan-test\.[^/ ]*' <<'END'
mkdir "/dev/shm/x.${TMPDIR##*/}.d"
: >"/dev/shm/.${TMPDIR##*/}"
echo "${TMPDIR##*/}" >tag
echo "ok one"
END
run 1 "${left[@]}"
for i in "${!left[@]}"; do
	said "left behind: ${left[i]}" "^not ok ${left[i]}: left behind: ${said_of[i]}\$"
done
check "of generations, the youngest too" test ! -e "/proc/$(cat "$tree/youngest")/fd/0"
rm -r "$tree/deep" "$tree/youngest" "$tree/pid"
none "what is elsewhere is removed" "$(find /dev/shm -name "*$(cat "$tree/tag")*")"
rm "$tree/tag"

# What a run has done to the source tree.
script edits <<'END'
echo 1 >'is new'
mkdir folder
: >folder/x.vmspan
echo 2 >>edited
rm removed
: >build/x
echo "ok one"
END
edits() { # STATUS VARIABLE...
	local want=$1
	shift
	rm -rf "$tree/is new" "$tree/folder"
	touch "$tree/removed" "$tree/edited"
	with=("$@")
	run "$want" golden/edits.sh
	with=()
}
edits 0
eq "what is not as before in the source tree is told" \
	"$(sed -n '/^== not as before in the source tree/,/^$/p' "$T/run" | sed "1d;/^\$/d" | xargs -d '\n')" \
	"changed: edited gone: removed new: folder new: folder/x.vmspan new: is new"
edits 1 VMSPAN_TEST_TREE=kept
said "and has failed where nobody works in it" \
	'^not ok the source tree: not as before: changed: edited; gone: removed; new: folder; new: folder/x.vmspan; new: is new$'
eq "it is one failure" "$(tail -n 1 "$T/run")" "1 passed, 1 failed, 0 skipped"
rm -r "$tree/is new" "$tree/folder" "$tree/edited"
with=(VMSPAN_TEST_TREE=kept)
run 0 golden/sound.sh
check "one that is as before is not spoken of" eval "! grep -q 'source tree' '$T/run'"
script many <<'END'
for ((i = 0; i < 30; i++)); do : >"new$i"; done
echo "ok one"
END
run 1 golden/many.sh
said "of many, some are named" '^not ok the source tree: not as before: new: new0; .*; and more$'
with=()
rm "$tree"/new*

script process <<'END'
tail -f /dev/null &
echo $! >pid
echo "ok one"
END
run 1 golden/process.sh
check "what was left is ended" test ! -e "/proc/$(cat "$tree/pid")/fd/0"
script goes <<'END'
(tail -s 0.01 -f --pid=$$ /dev/null; for ((i = 0; i < 100000; i++)); do :; done; echo >>gone) &
echo "ok one"
END
VMSPAN_TEST_LEFT=60 run 0 golden/goes.sh
check "what ends by itself is waited for" test -s "$tree/gone"
script fails_and_leaves <<'END'
tail -f /dev/null &
until [ "$(cat /proc/$!/comm)" = tail ]; do :; done
echo "not ok one - it is broken"
exit 1
END
run 1 golden/fails_and_leaves.sh
said "after a failure it is not a failure more, and is in the log" '^# left behind: process [0-9]+: tail -f /dev/null '
eq "counted once" "$(tail -n 1 "$T/run")" "0 passed, 1 failed, 0 skipped"

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

VMSPAN_TEST_TIMEOUT=1 run 1 golden/hangs.sh
said "and one that does not end" '^not ok golden/hangs.sh: did not end in 1 s$'
run 1 golden/broken.sh
said "repeats have a time in which they may begin" '^not run again: golden/broken.sh: the time for that is over$'
run 2 golden/sound.sh golden/none.sh
eq "so is a test that is not there" "$(cat "$T/run")" "tests/run: no such test: golden/none.sh"

# Locks are the runner's, not a test's, also when it is run again.
script locks <<'END'
[ -e ran ] && [ -z "$(find /proc/$$/fd -lname '*/build/log')" ] && echo "ok one" || echo "not ok one - it is broken"
touch ran
END
rm -f "$tree/ran"
again=600 run 0 golden/locks.sh

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
check "and says for whom" wait_line waits "^it is held by process $$, in $TOP: bash .*run.sh *\$"
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

# So does one that is run again.
script slow_again <<'END'
if [ ! -e again ]; then
	echo >again
	echo "not ok one - it is run again"
	exit 1
fi
trap 'echo tidied >tidied_again; exit 130' TERM
echo $PPID >slow_again
tail -f /dev/null &
wait
END
(cd "$tree" && exec env -u VMSPAN_RESULTS B=build tests/run golden/slow_again.sh) >"$T/run" 2>&1 &
lib_owns $!
check "a script runs again" until_true test -s "$tree/slow_again"
kill -s TERM $!
wait $!
eq "a repeat is broken off: status" $? 130
eq "a repeat is broken off: the script's own end" "$(cat "$tree/tidied_again")" tidied

(cd "$tree" && VMSPAN_RESULTS=$T/none B=build tests/run golden/sound.sh) >"$T/run" 2>&1
eq "results that are none: status" $? 2

# As tools/test has it: several runs, one summary.
mkdir "$T/results"
: >"$T/results/lines"
(cd "$tree" && VMSPAN_RESULTS=$T/results B=build tests/run golden/sound.sh golden/broken.sh golden/takes_time.sh) >"$T/run" 2>&1
eq "for another's results nothing is repeated or summed up" \
	"$(cut -f1-5 "$T/results/lines" | head -n 2; grep -c 'again\|passed,.*failed' "$T/run")" \
	$'build\tgolden/sound.sh\t1\t0\t1\nbuild\tgolden/broken.sh\t1\t2\t0\n0'
check "another is told the CPU time, as the last of a line" eval "tail -n 1 '$T/results/lines' | cut -f9 | grep -qx '[1-9][0-9]*'"
