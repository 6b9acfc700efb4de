# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Helpers of the scripts in tests/golden, live, stock, soak, tools and viewers. A script sources
# this first, prints one result line a case through ok, not_ok and skip, and ends
# behind its last line, or with skip_rest; its exit status, the end of what it has
# started and its temporary folder are taken care of here. Nothing waits for time to
# pass: only for lines, for ends of processes, and all of it below a limit that fails.

[ -z "${lib_failed-}" ] || return 0 # by way of another helper
set -u
TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$TOP" || exit 1
B=${B:-build}
VMSPAN=$B/vmspan
HOST=$B/demohost
T=$(mktemp -d) || exit 1
# Seconds a single wait may last: a busy machine may take them, what hangs ends there.
LIMIT=${VMSPAN_TEST_LIMIT:-120}
lib_failed=0
lib_rest='' # the rest is skipped
lib_pids=() # PID:STARTTIME of what is to end with the script
lib_endings=() # functions to be called at its end
declare -A lib_began=() # when those began, by PID
declare -A lib_inputs=() # of programs that are sent lines: descriptors
export B VMSPAN HOST T
# What somebody has configured here is not tested.
export XDG_CONFIG_HOME=$T/config LC_ALL=C.UTF-8 TZ=UTC
unset LANGUAGE COLUMNS LINES NO_COLOR POSIXLY_CORRECT VMSPAN_WAIT
umask 022
# As one of the shell's own (Debian's bash-builtins) a pause makes no process.
enable -f /usr/lib/bash/sleep sleep 2>/dev/null || :
# What is started ends with the script, however that ends.
lib_with_us=(setpriv --pdeathsig KILL --)
"${lib_with_us[@]}" true 2>/dev/null || lib_with_us=()

ok() { # NAME
	echo "ok $1"
}

not_ok() { # NAME WHY...
	local name=$1
	shift
	lib_failed=$((lib_failed + 1))
	echo "not ok $name - $*"
	# Of a subshell the count is lost, and of what is piped on or kept the output.
	[ -z "${VMSPAN_TEST_FAILURES-}" ] || { echo "$name" >>"$VMSPAN_TEST_FAILURES"; } 2>/dev/null || :
}

skip() { # NAME WHY...
	local name=$1
	shift
	echo "skip $name - $*"
}

skip_rest() { # NAME WHY...: what follows in the script needs the same
	skip "$@"
	lib_rest=1
	exit 0
}

check() { # NAME COMMAND...: the command succeeds
	local name=$1 rc=0
	shift
	"$@" >"$T/check.out" 2>&1 || rc=$?
	if [ $rc = 0 ]; then
		ok "$name"
	else
		not_ok "$name" "exit $rc from: $*"
		sed 's/^/  | /' "$T/check.out"
	fi
	return $rc
}

check_status() { # NAME STATUS COMMAND...: the exit status, output to $T/out and $T/err
	local name=$1 want=$2 rc=0
	shift 2
	"$@" >"$T/out" 2>"$T/err" || rc=$?
	if [ "$rc" = "$want" ]; then
		ok "$name"
	else
		not_ok "$name" "exit $rc, not $want, from: $*"
		sed 's/^/  | /' "$T/out" "$T/err"
	fi
}

# Two values that are both empty say that nothing was compared.
eq() { # NAME ACTUAL EXPECTED
	if [ -z "$2$3" ]; then
		not_ok "$1" "got nothing, and expected nothing"
	elif [ "$2" = "$3" ]; then
		ok "$1"
	else
		not_ok "$1" "got $(printf %q "$2"), expected $(printf %q "$3")"
	fi
}

none() { # NAME ACTUAL: what must not be there, and is not
	if [ $# = 2 ] && [ -z "$2" ]; then
		ok "$1"
	else
		not_ok "$1" "got $(printf %q "${2-}")"
	fi
}

# For commands in pipes and substitutions, and whose output goes to a file: nobody sees their
# status. One that fails is a failure of the script at its end.
ends_well() { # COMMAND...
	local rc=0
	"$@" || rc=$?
	[ $rc = 0 ] || echo "exit $rc from: $*" >>"$T/unwell"
	return $rc
}

# Of nothing everything is true: all() with a condition asks for something that has it.
LIB_JQ='def all(g; f): [g | f] | if . == [] then error("all of nothing") else all end;
def all(f): all(.[]; f);'
json_eq() { # NAME FILE FILTER EXPECTED: as jq -c prints it
	local got
	got=$(jq -c "$LIB_JQ $3" "$2" 2>&1) || got="(jq: $got)"
	eq "$1" "$got" "$4"
}

same() { # NAME FILE EXPECTED-FILE
	if [ ! -s "$3" ]; then
		not_ok "$1" "$3 has nothing to compare with"
	elif diff -u "$3" "$2" >"$T/diff"; then
		ok "$1"
	else
		not_ok "$1" "$2 differs from $3"
		sed 's/^/  | /' "$T/diff"
	fi
}

# With VMSPAN_TEST_UPDATE what is expected is written anew, which is no pass: read the diff.
golden() { # NAME FILE: as tests/golden/expected/NAME
	if [ -z "${VMSPAN_TEST_UPDATE-}" ]; then
		same "$1" "$2" "$TOP/tests/golden/expected/$1"
	elif cp "$2" "$TOP/tests/golden/expected/$1"; then
		not_ok "$1" "written anew"
	fi
}

empty() { # NAME FILE: it is there, and nothing is in it
	if [ -e "$2" ] && [ ! -s "$2" ]; then
		ok "$1"
	else
		not_ok "$1" "$(head -c 500 "$2" 2>&1)"
	fi
}

# In the background; NAME_pid, $T/NAME.out, $T/NAME.err. It reads nothing, or $T/NAME.in
# where that is there.
start() { # NAME COMMAND...
	local name=$1 in=/dev/null
	shift
	[ ! -p "$T/$name.in" ] || in=$T/$name.in
	: >"$T/$name.out"
	: >"$T/$name.err"
	(
		# Others that hold a program's input open would keep it from its end.
		for fd in "${lib_inputs[@]}"; do exec {fd}>&-; done
		[ "$(type -t "$1")" = function ] || exec ${lib_with_us+"${lib_with_us[@]}"} "$@"
		"$@"
	) >"$T/$name.out" 2>"$T/$name.err" <"$in" &
	printf -v "${name}_pid" %d $!
	lib_owns $!
}

# Fields of /proc/PID/stat behind the name, from the state on, into lib_stat. The name may
# hold anything.
lib_read_stat() { # PID
	local all=''
	{ read -r -d '' all <"/proc/$1/stat"; } 2>/dev/null
	[ -n "$all" ] || return 1
	read -ra lib_stat <<<"${all##*) }"
}

# The process is killed at the end of the script, unless its number is another's by then.
lib_owns() { # PID
	lib_read_stat "$1" || return 0
	lib_pids+=("$1:${lib_stat[19]}")
	lib_began[$1]=${lib_stat[19]}
}

# It is what had that number when lib_owns was told of it. lib_stat is of now.
lib_is_ours() { # PID
	[ "$1" ] && lib_read_stat "$1" && [ "${lib_stat[19]}" = "${lib_began[$1]-}" ]
}

# What was started has ended, or never was.
lib_is_over() { # PID
	! lib_is_ours "$1" || [ "${lib_stat[0]}" = Z ]
}

# Starts a program that prints "ready" and then works by the lines that it is sent.
start_ready() { # NAME COMMAND...
	make_input "$1"
	start "$@"
	hold_input "$1"
}

make_input() { # NAME: for start
	rm -f "$T/$1.in"
	mkfifo "$T/$1.in"
}

open_input() { # NAME: of what was started
	local fd
	exec {fd}>"$T/$1.in"
	lib_inputs[$1]=$fd
}

hold_input() { # NAME: of what was started, until it is ready
	open_input "$1"
	wait_line "$1" '^ready ' >"$T/$1.ready"
}

send() { # NAME [LINE]
	echo "${2:-go}" >&"${lib_inputs[$1]}"
}

# Seconds since the machine began, into lib_uptime: nobody sets that clock.
lib_now() {
	read -r lib_uptime _ </proc/uptime
	lib_uptime=${lib_uptime%.*}
}

# Tries a command that asks for a fact, until it succeeds. What that waits for may have the CPU
# meanwhile.
until_true() { # COMMAND...
	local lib_uptime end
	lib_now
	end=$((lib_uptime + LIMIT))
	until "$@"; do
		lib_now
		[ "$lib_uptime" -lt $end ] || return 1
		pause 0.01
	done
}

kernel_since() { # MAJOR MINOR: of Linux
	local have
	have=$(uname -r | sed 's/[^0-9]/ /g')
	# shellcheck disable=SC2086 # words
	set -- "$1" "$2" $have
	[ $(($3 * 1000 + $4)) -ge $(($1 * 1000 + $2)) ]
}

# For what is asked again and again. Not by the shell's own read -t: that goes by the clock of
# the day, which may be set back meanwhile.
pause() { # [SECONDS]
	sleep "${1:-0.05}" || :
}

# 2 if that is no regular expression.
lib_matches() { # TEXT REGEX
	[[ $1 =~ $2 ]]
}

# The next line that matches of what FD is open on, into lib_line; waits for it while the process
# lives. A line that has no end yet is part of the next one.
lib_next_line() { # FD PID REGEX
	local lib_uptime end part lives=1 n=0 status=0
	lib_matches '' "$3" || status=$?
	if [ $status = 2 ]; then
		echo "no regular expression: $3" >&2
		return 2
	fi
	lib_now
	end=$((lib_uptime + LIMIT))
	lib_line=''
	while :; do
		part=''
		if IFS= read -r part <&"$1"; then
			lib_line+=$part
			[[ ! $lib_line =~ $3 ]] || return 0
			lib_line=''
			# One who writes without an end is given up too.
			if [ $((++n % 1000)) = 0 ]; then
				lib_now
				[ "$lib_uptime" -lt $end ] || return 1
			fi
			continue
		fi
		lib_line+=$part
		# What it has written before its end is read behind that.
		if [ -z "$lives" ]; then
			[ "$lib_line" ] && [[ $lib_line =~ $3 ]]
			return
		fi
		lib_now
		[ "$lib_uptime" -lt $end ] || return 1
		! lib_is_over "$2" || lives=''
		[ -z "$lives" ] || pause 0.01
	done
}

# Prints the first line that matches, waiting for it while the process lives.
wait_line() { # NAME REGEX [out|err]
	local file=$T/$1.${3:-out} pid="${1}_pid" fd lib_line rc=0
	exec {fd}<"$file" || return 1
	lib_next_line "$fd" "${!pid}" "$2" || rc=1
	exec {fd}<&-
	if [ $rc = 0 ]; then
		printf '%s\n' "$lib_line"
	else
		echo "no line /$2/ in ${file##*/}:" >&2
		tail -n 20 "$T/$1.out" "$T/$1.err" >&2
	fi
	return $rc
}

# Waits until COUNT lines have matched.
wait_lines() { # NAME REGEX COUNT [out|err]
	local fd pid="${1}_pid" lib_line n=0
	exec {fd}<"$T/$1.${4:-out}" || return 1
	while [ $n -lt "$3" ] && lib_next_line "$fd" "${!pid}" "$2"; do
		n=$((n + 1))
	done
	exec {fd}<&-
	[ $n = "$3" ]
}

# Waits for a line without which the rest of the script says nothing.
need_line() { # NAME REGEX [out|err]
	wait_line "$@" >/dev/null && return
	not_ok "$1 prints $2" "it does not: the rest is not tried"
	exit 1
}

# Waits for the end; its status is the result. It is sent nothing more, and
# SIGNAL, if given, is sent first. Only the one named in MAY_CRASH may end by a crash.
finish() { # NAME [SIGNAL]
	local pid="${1}_pid" rc=0 fd=${lib_inputs[$1]-}
	if [ "$fd" ]; then
		exec {fd}>&-
		unset "lib_inputs[$1]"
	fi
	[ $# -lt 2 ] || ! lib_is_ours "${!pid}" || kill -s "$2" "${!pid}" 2>/dev/null
	# A process that does not end fails the case instead of hanging the script.
	until_true lib_is_over "${!pid}"
	if lib_is_ours "${!pid}" && [ "${lib_stat[0]}" != Z ]; then
		echo "$1 (${!pid}) does not end: killed" >&2
		kill -s KILL "${!pid}" 2>/dev/null
	fi
	wait "${!pid}" || rc=$?
	# ILL, TRAP, ABRT, BUS, FPE, SEGV: whoever does not ask for the status does not want that either.
	case $rc in
	132 | 133 | 134 | 135 | 136 | 139) [ "${MAY_CRASH-}" = "$1" ] || not_ok "$1 ends without a crash" "its status is $rc" ;;
	esac
	return $rc
}

lib_state() { # PID
	sed -n 's/^State:[[:space:]]*\(.\).*/\1/p' "/proc/$1/status" 2>/dev/null
}

# For programs whose spans must not change CPU, which on a busy machine they do.
# shellcheck disable=SC2034 # for scripts that source this
ONE_CPU=(taskset -c "$(sed -n 's/^Cpus_allowed_list:[[:space:]]*\([0-9]*\).*/\1/p' /proc/self/status)")

# Starts the demo host and waits until it is ready; host_pid.
start_host() { # ARGUMENT...
	start host "$HOST" "$@"
	lib_host_ready "$@"
}

lib_host_ready() { # ARGUMENT...
	wait_line host '^ready ' >/dev/null && return
	not_ok "demohost $*" "is not ready: the rest is not tried"
	exit 1
}

# The same, for tests of which group holds its turns: on one CPU, and as a real-time
# process, which the work of others does not keep from it, where that right can be had.
# Outside of exact mode vmspan cannot tell their time from a group's own.
start_host_first() { # ARGUMENT...
	local first=()
	! chrt --fifo 1 true 2>/dev/null || first=(chrt --fifo 1)
	start host "${ONE_CPU[@]}" ${first+"${first[@]}"} "$HOST" "$@"
	lib_host_ready "$@"
}

# Nothing may stay mounted in a folder that is removed.
lib_unmount() {
	local at
	while read -r _ at _; do
		at=$(printf '%b' "${at//\\/\\0}") # a blank is \040 there
		[[ $at != "$T"/* ]] || umount "$at" || umount -l "$at"
	done < <(tac /proc/self/mounts)
}

# A script that ends by itself says so: one that leaves early with status 0 does not.
lib_end() { # STATUS LAST-COMMAND
	local rc=$1 last=$2 job
	for job in ${lib_endings+"${lib_endings[@]}"}; do
		"$job"
	done
	{ # the shell would tell of each that is killed
		for job in ${lib_pids+"${lib_pids[@]}"}; do
			lib_read_stat "${job%:*}" && [ "${lib_stat[19]}" = "${job#*:}" ] && kill -s KILL "${job%:*}"
		done
		# Of what was started by other means, what still runs: a script may end anywhere.
		for job in $(jobs -rp); do
			kill -s KILL "$job"
		done
		wait
	} 2>/dev/null
	[ ! -s "$T/unwell" ] || not_ok "what nobody asked for its status ends well" "$(head -n 5 "$T/unwell" | paste -sd';')"
	lib_unmount
	rm -rf "$T"
	[ "$rc" = 0 ] && [ "$lib_failed" -gt 0 ] && rc=1
	[[ -z $lib_rest && $last == exit* ]] || echo "done"
	exit "$rc"
}
trap 'lib_end "$?" "$BASH_COMMAND"' EXIT
trap 'exit 130' INT TERM
