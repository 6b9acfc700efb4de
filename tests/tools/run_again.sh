#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# tests/run runs again what failed, over a tree of its own: what that must not hide, and when it is
# not done.
# shellcheck disable=SC2034 # what run() of runner_lib.sh reads
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/runner_lib.sh
. "$(dirname "$0")/../runner_lib.sh"

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

run 1 golden/broken.sh
said "repeats have a time in which they may begin" '^not run again: golden/broken.sh: the time for that is over$'

# Locks are the runner's, not a test's, also when it is run again.
script locks <<'END'
[ -e ran ] && [ -z "$(find /proc/$$/fd -lname '*/build/log')" ] && echo "ok one" || echo "not ok one - it is broken"
touch ran
END
rm -f "$tree/ran"
again=600 run 0 golden/locks.sh

# A script that is run again comes to its own end too when the runner is told to end.
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
