#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# What changes between discovery and attach: the tracer is stopped at each of
# the stages of live_stage.c, the world is changed, and it goes on. Either the
# counts are exact, or there are words and a status; and nothing is left behind.
# What is mounted is for this script alone, and ends with it.
if [ -z "${VMSPAN_TEST_MOUNTS-}" ] && unshare -m true 2>/dev/null; then
	VMSPAN_TEST_MOUNTS=own exec unshare -m bash "$0"
fi
# shellcheck source=tests/attach_lib.sh
. "$(dirname "$0")/../attach_lib.sh"

v_pid='' a_pid='' a_in=''
STAGES=(looked loaded found checked carried arming armed)
take_programs crowd
build_library "$T/libcrowd.so" || exit 1
take_programs plain
build "$T/new" tests/vm/steady.c -pthread -O0 -DVMSPAN_PROBES || exit 1
take_programs take_pid

# live_probe in the background, stopped there.
stop_at() { # STAGE PID
	local fd
	rm -f "$T/a.fifo"
	mkfifo "$T/a.fifo"
	: >"$T/a.out"
	: >"$T/a.err"
	(alone "$PROBE" -w "$1" -p "$2" <"$T/a.fifo" >"$T/a.out" 2>"$T/a.err") &
	a_pid=$!
	lib_owns "$a_pid"
	exec {fd}>"$T/a.fifo"
	a_in=$fd
	fds+=("$fd")
	need_line a "^at $1"
}

goes_on() { # attaches, and that is said
	echo >&"$a_in"
	need_line a '^attached'
}

status=''
gives_up() { # ends by itself; $status
	local fd=$a_in
	echo >&"$a_in"
	finish a
	status=$?
	exec {fd}>&-
}

# Collects what was wrong at which stage: one case for all of them.
wrong=''
is() { # STAGE WHAT ACTUAL EXPECTED
	[ "$3" = "$4" ] || wrong+="$1: $2 is $(printf %q "$3"), not $(printf %q "$4"); "
}
says() { # STAGE REGEX
	grep -Eq "$2" "$T/a.err" || wrong+="$1: says '$(head -n 1 "$T/a.err")'; "
}
verdict() { # NAME
	if [ -z "$wrong" ]; then ok "$1"; else not_ok "$1" "$wrong"; fi
	wrong=''
}

# ---- The name of the file means something else ----

swap() { # FILE: as a package manager does
	cp "$T/new" "$1.tmp" && mv "$1.tmp" "$1"
}
for change in swap rm; do
	for stage in "${STAGES[@]}"; do
		cp "$T/steady" "$T/moving"
		target v "$T/moving"
		stop_at "$stage" "$v_pid" || wrong+="$stage is not reached; "
		"$change" "$T/moving"
		goes_on || wrong+="$stage: $(cat "$T/a.err") "
		tell v "spans 1009" "fork 7"
		detach a
		is "$stage" spans "$(counts a .spans)$(counts a "$clean")" "1016$none"
		is "$stage" target "$(state "$v_pid")" "$untouched"
		dismiss v
	done
	[ $change = rm ] && what=deleted || what=replaced
	verdict "$what between discovery and attach: the old file's counts, exact, at 7 stages"
done

# ---- The file itself is another ----

offset() { # PROBE
	"$VMSPAN" list "$T/libcrowd.so" --json |
		jq --arg p "$1" '.files[0].probes[] | select(.name == $p) | .offset'
}
put() { # FILE PROBE BYTES
	printf '%b' "$3" | dd of="$1" bs=1 seek="$(offset "$2")" conv=notrunc status=none
}
# 06 is no instruction; 55 5d (push, pop) are two that a breakpoint could be put on.
for bytes in '\x06\x06' '\x55\x5d'; do
	for stage in "${STAGES[@]}"; do
		case $stage in
		carried | arming) probe=armed ;;
		*) probe=flush ;;
		esac
		cp "$T/libcrowd.so" "$T/libmoving.so"
		target v "$T/plain"
		tell v "open $T/libmoving.so" "lib 1"
		stop_at "$stage" "$v_pid" || wrong+="$stage is not reached; "
		put "$T/libmoving.so" "$probe" "$bytes"
		if [ "$stage" = armed ]; then
			# Too late for the file to matter: the kernel has its own copy.
			goes_on || wrong+="$stage: $(cat "$T/a.err") "
			detach a || wrong+="$stage: status $?; "
		else
			gives_up
			is "$stage" status "$status" 1
			says "$stage" 'changed in place|attaching to probe vmspan:'
		fi
		put "$T/libmoving.so" "$probe" '\x90\x66'
		# A page that had a breakpoint for a moment is the file's again, or stays what the
		# file was in that moment: docs/KERNELS.md, "What is left in a page".
		stays=$untouched
		case $bytes/$stage in
		'\x55\x5d/checked') stays='0 90 55 ' ;;
		'\x55\x5d/arming') stays='0 55 90 ' ;;
		esac
		now=$(state "$v_pid")
		[ "$now" = "$stays" ] || is "$stage" target "$now" "$untouched"
		tell v "lib 3"
		dismiss v || wrong+="$stage: the target ends badly; "
	done
	verdict "written over in place with ${bytes//\\x/} between discovery and attach: words, status 1, as it was"
done

# The kernel cannot take a probe out of a file that was cut short, and keeps it, by where the
# file's inode lay in memory: the next inode there has it too. Those of a ramfs lie among
# those of pipes, which nobody runs programs from.
mkdir "$T/own"
if [ -z "${VMSPAN_TEST_MOUNTS-}" ]; then
	skip "cut short between discovery and attach" "no file system of its own here: unshare is not allowed"
elif ! mount -t ramfs none "$T/own" 2>"$T/err"; then
	not_ok "cut short between discovery and attach" "no ramfs: $(head -n 1 "$T/err")"
else
	for stage in looked loaded found carried; do
		cp "$T/libcrowd.so" "$T/own/libcut$stage.so"
		target v "$T/plain"
		tell v "open $T/own/libcut$stage.so"
		stop_at "$stage" "$v_pid" || wrong+="$stage is not reached; "
		truncate -s 100 "$T/own/libcut$stage.so"
		gives_up
		case $stage in
		# Its notes are read again before the attach, and there are none.
		looked | loaded) is "$stage" status "$status" 4 && says "$stage" 'nothing to trace' ;;
		*) is "$stage" status "$status" 1 && says "$stage" 'changed in place' ;;
		esac
		kill -s KILL "$v_pid"
		dismiss v 2>/dev/null
	done
	verdict "cut short between discovery and attach: words and a status"
	umount "$T/own"
fi

# ---- The process is gone, or another ----

for stage in "${STAGES[@]}"; do
	target v "$T/steady"
	stop_at "$stage" "$v_pid" || wrong+="$stage is not reached; "
	kill -s KILL "$v_pid"
	dismiss v 2>/dev/null
	gives_up
	if [ "$stage" = armed ]; then
		is "$stage" status "$status" 0
		is "$stage" end "$(grep -c '^end' "$T/a.out")" 1
	else
		is "$stage" status "$status" 1
		says "$stage" "process $v_pid (does not exist|ended while)"
	fi
done
verdict "a target that dies at each stage of attaching: words, status 1"

for stage in "${STAGES[@]}"; do
	target v "$T/plain"
	tell v "open $T/libcrowd.so"
	stop_at "$stage" "$v_pid" || wrong+="$stage is not reached; "
	echo "into $T/steady 1009" >&"$v_in"
	dismiss v || wrong+="$stage: the target's status is $?; "
	gives_up
	# By then the other program has ended, too.
	if [ "$stage" = armed ]; then
		is "$stage" status "$status" 0
		is "$stage" end "$(grep -c '^end' "$T/a.out")" 1
		grep '^{' "$T/a.out" >"$T/a.json"
		is "$stage" 'what was seen' "$(counts a '[.seen, .execs, .exits, .names]')" \
			'[1,1,1,"plain:sdk,steady:,steady:"]'
	else
		is "$stage" status "$status" 1
		says "$stage" "process $v_pid (does not exist|has ended|ended while)"
	fi
done
verdict "a target that executes another program at each stage: an end and a status"

# Somebody else may have come to the PID first, a whole turn of all numbers later.
stranger() { # STAGE: a target that dies there, and another with its PID
	local try old rc
	for try in 1 2 3 4 5; do
		target v "$T/steady"
		old=$v_pid
		stop_at "$1" "$old" || wrong+="$1 is not reached; "
		kill -s KILL "$old"
		dismiss v 2>/dev/null
		target other "$T/take_pid" "$old" "$T/steady" && return
		dismiss other
		rc=$?
		gives_up
		[ $rc = 124 ] || break
		echo "# $1, try $try: PID $old is somebody's"
	done
	wrong+="$1: no stranger got PID $old, status $rc; "
	return 1
}
"$T/take_pid" $$ true 2>"$T/err"
may=$?
if [ $may = 124 ]; then
	for stage in "${STAGES[@]}"; do
		stranger "$stage" || continue
		echo >&"$a_in"
		finish a
		is "$stage" status "$?" 1
		says "$stage" "process $v_pid ended while"
		is "$stage" "the stranger's state" "$(state "$v_pid")" "$untouched"
		tell other "spans 3" || wrong+="$stage: the stranger does not work; "
		dismiss other || wrong+="$stage: the stranger ends badly; "
		exec {a_in}>&-
	done
	verdict "a PID that goes to a stranger at each stage: words, status 1, the stranger is not traced"
elif [ $may = 125 ]; then
	skip "a PID that goes to a stranger" "no PID may be chosen here: $(head -n 1 "$T/err")"
else
	not_ok "a PID that goes to a stranger" "take_pid: status $may"
fi

# ---- It has a child meanwhile ----

# The kernel side has told of it, and knows where its marks are, before it is found among those that
# were there before the trace. What it has handed over to nobody is read there at its end.
for ends in first later; do
	target v "$T/steady"
	stop_at adopting "$v_pid" || wrong+="adopting is not reached; "
	echo "keep 5" >&"$v_in"
	answer v >/dev/null # of its number
	answer v >/dev/null
	[ $ends = first ] || goes_on
	tell v "spans 3"
	echo _exit >&"$v_in"
	dismiss v # its parent ends with it
	[ $ends = later ] || goes_on
	need_line a '^end'
	exec {a_in}>&-
	finish a
	is "it ends $ends" status $? 0
	grep '^{' "$T/a.out" >"$T/a.json"
	is "it ends $ends" spans "$(counts a .spans)$(counts a "$clean")" "8$none"
done
verdict "a child that is born while the trace begins: exact counts, also when it ends at once"

# ---- The tracer is gone ----

target v "$T/crowd"
for stage in "${STAGES[@]}"; do
	stop_at "$stage" "$v_pid" || wrong+="$stage is not reached; "
	[ "$stage" != armed ] || is "$stage" "armed" "$(state "$v_pid")" "$traced"
	finish a KILL 2>/dev/null
	exec {a_in}>&-
	is "$stage" target "$(state "$v_pid")" "$untouched"
done
verdict "a tracer killed at each stage of attaching: the target is as it was"
attach a -p "$v_pid"
tell v "spans 1009" "storm 3 7"
detach a
eq "after all of them: exact counts" "$(counts a .spans)$(counts a "$clean")" "1030$none"
dismiss v
