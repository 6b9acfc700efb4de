#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# tests/lib.sh: what its helpers say of what is so and of what is not. They do not judge
# themselves: the results here are written out.
# once: it does not use the build folder
set -u
unset VMSPAN_TEST_FAILURES # they are made on purpose
cd "$(dirname "$0")/../.." || exit 1
at=$(mktemp -d) || exit 1
trap 'rm -rf "$at"' EXIT
failed=0

# A script of the helpers, and what it is to print, its end and its status.
script() { # NAME STATUS LINE...: its body is read
	local name=$1 status=$2 rc=0 want
	shift 2
	want=$(printf '%s\n' "$@")
	{
		echo '. tests/lib.sh'
		cat
	} >"$at/script"
	AT=$at bash "$at/script" >"$at/out" 2>"$at/err" </dev/null || rc=$?
	grep -v '^  | ' "$at/out" >"$at/said"
	if [ "$rc" = "$status" ] && [ "$(cat "$at/said")" = "$want" ]; then
		echo "ok $name"
	else
		failed=1
		echo "not ok $name - status $rc, not $status, or other lines:"
		diff <(echo "$want") "$at/said" | sed 's/^/  | /'
		sed 's/^/  | /' "$at/err"
	fi
}

script "what is so" 0 'ok eq' 'ok check' 'ok check_status' 'ok json_eq' 'ok same' 'ok empty' 'ok basic.txt' 'done' <<'END'
eq eq "a b" "a b"
check check true
check_status check_status 3 sh -c 'exit 3'
echo '{"a":[1]}' >"$T/json"
json_eq json_eq "$T/json" .a '[1]'
cp "$T/json" "$T/other"
same same "$T/json" "$T/other"
: >"$T/empty"
empty empty "$T/empty"
golden basic.txt "$TOP/tests/golden/expected/basic.txt"
END
script "what is not so" 1 'not ok eq - got a, expected b' "not ok eq of nothing - got '', expected b" \
	'not ok check - exit 1 from: false' \
	'not ok check_status - exit 4, not 3, from: sh -c exit 4' \
	'not ok check_status of success - exit 0, not 1, from: true' \
	'not ok json_eq - got \[1\], expected \[2\]' "not ok same - \$T/other differs from \$T/json" \
	'not ok empty - not empty' 'done' <<'END'
eq eq a b
eq "eq of nothing" "" b
check check false
check_status check_status 3 sh -c 'exit 4'
check_status "check_status of success" 1 true
echo '{"a":[1]}' >"$T/json"
json_eq json_eq "$T/json" .a '[2]'
echo "not empty" >"$T/other"
same same "$T/other" "$T/json" | sed "s|$T/|\$T/|g"
lib_failed=$((lib_failed + 1))
empty empty "$T/other"
END
script "JSON that is none" 1 'not ok none' 'done' <<'END'
echo '{"a":' >"$T/json"
json_eq none "$T/json" .a '[1]' | sed 's/ - .*//'
lib_failed=$((lib_failed + 1))
END
script "nothing that is compared with nothing" 1 'not ok eq' 'not ok json_eq' 'not ok all' 'not ok all groups' \
	'not ok same' 'ok none' 'not ok something' 'not ok no value' 'ok all of one' 'done' <<'END'
one() { "$@" | sed 's/ - .*//'; }
: >"$T/nothing"
echo '{"groups":[]}' >"$T/json"
one eq eq "" ""
one json_eq json_eq "$T/nothing" .a ""
one json_eq all "$T/json" 'all(.groups[]; . > 0)' true
one json_eq "all groups" "$T/json" '.groups | all(. > 0)' true
one same same "$T/nothing" "$T/nothing"
none none ""
one none something "x"
one none "no value"
json_eq "all of one" "$T/json" '[1] | all(. > 0)' true
lib_failed=$((lib_failed + 1))
END
script "a file that is not there" 1 'not ok empty' 'not ok same' 'not ok no_such_golden_file' 'done' <<'END'
empty empty "$T/none" | sed 's/ - .*//'
same same "$T/none" "$T/out" | sed 's/ - .*//'
: >"$T/out"
golden no_such_golden_file "$T/out" | sed 's/ - .*//'
lib_failed=$((lib_failed + 1))
END
script "one failure among many that passed" 1 'ok one' 'not ok two - got a, expected b' 'ok three' 'done' <<'END'
ok one
eq two a b
ok three
END
script "a status of its own" 7 'ok one' <<'END'
ok one
exit 7
END
script "the rest is skipped" 0 'ok one' 'skip two - no such thing' 'done' <<'END'
ok one
skip_rest two "no such thing"
not_ok three "not skipped"
END
script "what is no regular expression is not waited for" 0 'no regular expression: (' 'done' <<'END'
start says tail -f /dev/null
LIMIT=2 wait_line says '(' 2>&1 | head -n 1
END
script "a line that comes, and one that does not" 0 'line two' 'status 0' 'status 1' 'status 1' \
	'status 1' 'status 1' 'done' <<'END'
start says sh -c 'echo line one; echo line two; exec tail -f /dev/null'
wait_line says two
echo "status $?"
LIMIT=2 wait_line says three
echo "status $?"
LIMIT=2 wait_line nobody three
echo "status $?"
start without_end yes
LIMIT=2 wait_line without_end three
echo "status $?"
finish without_end KILL
finish says KILL
start ends sh -c 'echo line one'
wait_line ends two
echo "status $?"
finish ends
END
script "a line in pieces, a last one without an end, and so many lines" 0 'half a line is read' 'one line' 'the last' 'status 1' 'status 0' \
	'status 1' 'done' <<'END'
has_read() { # PID: all that there is, and it waits for more
	local fd
	for fd in "/proc/$1/fd"/*; do
		[ "$fd" -ef "$T/says.out" ] && grep -q "^pos:[[:space:]]*$(stat -c %s "$T/says.out")\$" "${fd/fd/fdinfo}" && [ "$(lib_state "$1")" = S ] && return
	done
	return 1
}
start_ready says sh -c 'printf "ready yet\nhalf "; read -r _; echo; printf "one "; read -r _; printf "line\nthe last"; read -r _'
send says
until_true grep -q 'one $' "$T/says.out"
wait_line says '^one line$' &
waits=$!
# While it reads, it is before or behind that place, or does not wait.
until_true has_read $waits && echo "half a line is read"
send says
wait $waits
finish says
wait_line says last
wait_line says 'last.'
echo "status $?"
wait_lines says e 3
echo "status $?"
wait_lines says e 4
echo "status $?"
END
script "the end of what was started" 0 'status 3' 'status 137' 'done' <<'END'
start three sh -c 'exit 3'
finish three
echo "status $?"
start hangs tail -f /dev/null
LIMIT=2 finish hangs 2>/dev/null
echo "status $?"
END
# The third is a process that no shell here has begun: a program's own.
script "what was started and not ended" 0 'done' <<'END'
start left tail -f /dev/null
echo "$left_pid" >"$AT/left"
sh -c 'exec tail -f /dev/null' &
lib_owns $!
echo $! >>"$AT/left"
lib_owns "$(sh -c 'tail -f /dev/null >/dev/null & echo $!' | tee -a "$AT/left")"
echo "$T" >"$AT/folder"
END
# tests/viewers/common.bash: what looks at pages, here a script of the shell.
script "a browser's script" 1 'ok one' 'ok two' 'ok one' 'not ok two - it is broken' 'after 1' \
	'ok one' 'not ok early - did not come to its end, or some of its 1 results are lost' \
	'ok one' 'not ok lost - did not come to its end, or some of its 1 results are lost' \
	'not ok nothing - did not come to its end, or some of its 0 results are lost' \
	'ok one' 'not ok status - the browser did not end well: exit 1' \
	'not ok one - it is broken' 'not ok hides - the browser did not end well: exit 0' \
	'ok one' 'not ok falls - the browser did not end well: exit 3' 'after 8' 'done' <<'END'
. tests/viewers/common.bash
NODE=bash
look() { # NAME: its body is read
	cat >"$T/look"
	look_with "$1" 60 "$T/look"
}
look well <<<'echo ok one; echo ok two; echo done 2'
look fails <<<'echo ok one; echo "not ok two - it is broken"; echo done 2; exit 1'
echo "after $lib_failed"
look early <<<'echo ok one; exit 0; echo ok two; echo done 2'
look lost <<<'echo ok one; echo done 2'
look nothing <<<'echo done 0'
look status <<<'echo ok one; echo done 1; exit 1'
look hides <<<'echo not ok one - it is broken; echo done 1'
look falls <<<'echo ok one; echo done 1; exit 3'
echo "after $lib_failed"
END
# Who is no child of a shell is killed, but not waited for.
all_gone() {
	local pid up end
	read -r up _ </proc/uptime
	end=$((${up%.*} + 60))
	while read -r pid; do
		while [ -e "/proc/$pid/fd/0" ]; do
			read -r up _ </proc/uptime
			[ "${up%.*}" -lt $end ] || return 1
		done
	done <"$at/left"
}
if [ "$(wc -l <"$at/left")" = 3 ] && all_gone && [ ! -e "$(cat "$at/folder")" ]; then
	echo "ok what was started and not ended: it is gone, and so is the folder"
else
	failed=1
	echo "not ok what was started and not ended - $(cat "$at/left" "$at/folder")"
fi
echo "done"
exit $failed
