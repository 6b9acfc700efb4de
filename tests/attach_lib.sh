# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Helpers of the live tests that attach: targets that take tasks, and a tracer
# that counts what it gets. Sourced instead of lib.sh.
# shellcheck source=tests/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

CC=${CC:-cc}
FLAGS=(-std=gnu11 -g -O2 -D_GNU_SOURCE "-DVMSPAN_VERSION=\"test\"" -I. -Iuser "-I$B")
# shellcheck disable=SC2034 # for those that source this and build with the library
case $B in *san*) SAN=(-fsanitize="address,undefined") ;; *) SAN=() ;; esac
PROBE=$T/live_probe

# Where there is no compiler, this folder has what can be had.
PREBUILT=${VMSPAN_TEST_PREBUILT-}
build() { # OUTPUT SOURCE FLAG...
	local out=$1 src=$2
	shift 2
	if [ -n "$PREBUILT" ]; then
		cp "$PREBUILT/${out##*/}" "$out"
		return
	fi
	"$CC" "${FLAGS[@]}" -o "$out" "$src" "$@"
}

# A library with probes. The kernel keeps a probe that it cannot take out of a file, as one
# that was cut short ("leaking uprobe"), and finds it again, with the bytes it then saw, for
# any file whose inode comes to lie where that one's lay, at the same offset. So the
# probes of each library are somewhere else: VMSPAN_TEST_PAD has them where a failure was.
build_library() { # OUTPUT
	local pad=${VMSPAN_TEST_PAD:-$((16 + SRANDOM % 20000 * 16))}
	echo "# ${1##*/}: probes $pad bytes further on"
	build "$1" tests/vm/crowd.c -pthread -shared -fPIC -DCROWD_LIBRARY "-DCROWD_PAD=$pad"
}

# The steady program linked in another way, as $T/variant; a case that this
# compiler cannot make is skipped.
build_variant() { # NAME FLAG...
	local name=$1
	shift
	build "$T/variant" tests/vm/steady.c -pthread "$@" 2>"$T/cc.err" && return
	skip "$name" "this compiler cannot link so: $(head -n 1 "$T/cc.err")"
	return 1
}

# Runs a command without the descriptors that keep others going: a pipe ends
# for its reader when its last writer is gone.
fds=()
alone() {
	local fd
	for fd in ${fds+"${fds[@]}"}; do
		exec {fd}>&-
	done
	exec "$@"
}

# A program that takes tasks: NAME_in and NAME_from are its descriptors.
target() { # NAME COMMAND...
	local name=$1
	shift
	rm -f "$T/$name.fifo" "$T/$name.answers"
	mkfifo "$T/$name.fifo" "$T/$name.answers"
	(alone ${lib_with_us+"${lib_with_us[@]}"} "$@" <"$T/$name.fifo" >"$T/$name.answers" 2>"$T/$name.err") &
	printf -v "${name}_pid" %d $!
	lib_owns $!
	exec {fd}>"$T/$name.fifo"
	printf -v "${name}_in" %d "$fd"
	fds+=("$fd")
	exec {fd}<"$T/$name.answers"
	printf -v "${name}_from" %d "$fd"
	fds+=("$fd")
	answer "$name" >/dev/null || not_ok "target $name" "is not ready: $(tail -n 3 "$T/$name.err")"
}

answer() { # NAME: the next line it prints
	local from="${1}_from" line
	IFS= read -r -t "$LIMIT" -u "${!from}" line || return 1
	printf '%s\n' "$line"
}

tell() { # NAME TASK...
	local name=$1 in="${1}_in" task
	shift
	for task; do
		echo "$task" >&"${!in}"
		answer "$name" >/dev/null || return 1
	done
}

dismiss() { # NAME
	local in="${1}_in" from="${1}_from" fd
	fd=${!in}
	exec {fd}>&-
	fd=${!from}
	exec {fd}<&-
	finish "$1"
}

# live_probe in the background, attached; PROBE-NAME_in keeps it going.
attach() { # NAME ARGUMENT...
	local name=$1
	shift
	rm -f "$T/$name.fifo"
	mkfifo "$T/$name.fifo"
	: >"$T/$name.out"
	: >"$T/$name.err"
	(alone ${lib_with_us+"${lib_with_us[@]}"} "$PROBE" "$@" <"$T/$name.fifo" >"$T/$name.out" 2>"$T/$name.err") &
	printf -v "${name}_pid" %d $!
	lib_owns $!
	exec {fd}>"$T/$name.fifo"
	printf -v "${name}_in" %d "$fd"
	fds+=("$fd")
	wait_line "$name" '^attached' >/dev/null && return
	not_ok "attach $name" "not attached: $(tail -n 3 "$T/$name.err")"
	return 1
}

detach() { # NAME: its counts are then in $T/NAME.json
	local fd in="${1}_in"
	fd=${!in}
	exec {fd}>&-
	finish "$1"
	local rc=$?
	grep '^{' "$T/$1.out" >"$T/$1.json"
	[ $rc = 0 ] || cat "$T/$1.err"
	return $rc
}

counts() { # NAME FILTER: of its JSON
	jq -c "$2" "$T/$1.json" 2>&1
}

state() { # PID: semaphore, armed byte, flush byte
	"$PROBE" -i "$1" | tr '\n' ' '
}

# Until a tracer has armed COUNT (1) of its files with probes: asked of the target.
wait_armed() { # PID [COUNT]
	until_true is_armed "$1" "${2:-1}"
}
is_armed() { # PID COUNT
	[ "$("$PROBE" -i "$1" | grep -c '^1 cc cc')" = "$2" ]
}

site() { # PID: the instructions of its carrier
	"$PROBE" -b "$1"
}

run_command() { # NAME ARGUMENT...: live_probe until its command has ended
	local name=$1
	shift
	"$PROBE" "$@" >"$T/$name.out" 2>"$T/$name.err" </dev/null
	local rc=$?
	grep '^{' "$T/$name.out" >"$T/$name.json"
	return $rc
}

# Programs that `make vm` has built (crowd, and plain, which is crowd without marks), each as a file
# of this test's own.
take_programs() { # NAME...
	local name
	for name; do
		cp "${PREBUILT:-$B/vm}/$name" "$T/$name" && continue
		not_ok "build" "the program $name is not there: make vm"
		exit 1
	done
}

[ "$(uname -m)" = x86_64 ] || skip_rest "attach" "reads x86-64 instruction bytes"
take_programs live_probe steady
chmod 755 "$T" "$PROBE" "$T/steady"

# What the tests compare with.
# shellcheck disable=SC2034 # used by those that source this
{
	clean='[.gaps, (.lost - .sched - .no_sched), .undefined, .backwards]'
	none='[0,0,0,0]'
	untouched='0 90 90 '
	traced='1 cc cc '
	# shellcheck disable=SC2034 # for those that source this
	disarmed='0 90 cc '
}
