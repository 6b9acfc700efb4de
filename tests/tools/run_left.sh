#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# What a test leaves behind, in the machine and in the source tree, is found by tests/run, over a tree
# of its own.
# shellcheck disable=SC2034 # what run() of runner_lib.sh reads
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/runner_lib.sh
. "$(dirname "$0")/../runner_lib.sh"

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
until grep -aq ^tail /proc/$!/cmdline; do :; done
echo "ok one"
END
leaves session 'process [0-9]+: tail -f /dev/null ' <<'END'
setsid tail -f /dev/null &
echo $! >pid
until grep -aq ^tail /proc/$!/cmdline; do :; done
echo "ok one"
END
leaves nothing_of_its_own 'process [0-9]+: tail -f /dev/null ' <<'END'
(cd / && env -i setsid sh -c 'tail -f /dev/null & until grep -aq ^tail /proc/$!/cmdline; do :; done; exit 0')
echo "ok one"
END
leaves a_family 'process [0-9]+: sh -c tail -f /dev/null; : ; process [0-9]+: tail -f /dev/null ' <<'END'
setsid sh -c 'tail -f /dev/null; :' &
until pgrep -fx -P $! 'tail -f /dev/null' >pid; do :; done
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
until pgrep -fx -s $! 'tail -f /dev/null' >pid; do :; done
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

script goes <<'END'
(tail -s 0.01 -f --pid=$$ /dev/null; for ((i = 0; i < 100000; i++)); do :; done; echo >>gone) &
echo "ok one"
END
VMSPAN_TEST_LEFT=60 run 0 golden/goes.sh
check "what ends by itself is waited for" test -s "$tree/gone"
script fails_and_leaves <<'END'
tail -f /dev/null &
until grep -aq ^tail /proc/$!/cmdline; do :; done
echo "not ok one - it is broken"
exit 1
END
run 1 golden/fails_and_leaves.sh
said "after a failure it is not a failure more, and is in the log" '^# left behind: process [0-9]+: tail -f /dev/null '
eq "counted once" "$(tail -n 1 "$T/run")" "0 passed, 1 failed, 0 skipped"

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
