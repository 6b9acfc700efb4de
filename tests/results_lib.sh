# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# What tests have come to: for tests/run and tools/test, which source it. Results
# are a folder of one run, made by results_begin, whose file "lines" has one line for each
# program or script that ran, its fields separated by tabs:
#   FOLDER NAME PASSED FAILED SKIPPED SECONDS LOG REASON CPU
# FOLDER is the build's; LOG may be empty, REASON is that of the first failure. CPU are the seconds
# of CPU time that it took, with all that it has started.
# shellcheck disable=SC2034 # for those that source this

# Seconds that all repeats together may begin in: what hangs is not waited for for ever.
AGAIN_SECONDS=${VMSPAN_AGAIN_SECONDS:-600}
AGAIN_TRIES=2
results_home=${BASH_SOURCE[0]%/*} # where the runner is

# Makes a folder and prints its name. Not in /tmp: root may not append to a user's file there.
results_begin() { # PARENT
	local to
	mkdir -p "$1" && to=$(mktemp -d "$1/results.XXXXXX") || return 1
	: >"$to/lines"
	: >"$to/flaky"
	cp /proc/stat "$to/stat"
	results_tree >"$to/tree"
	echo "$to"
}

# What is in the source tree, a line each: kind, size, time and name. Not by git: a tree may have
# none, git tells root nothing of another user's, and tests may leave what .gitignore names.
# Build folders are no part of it.
results_tree() {
	local folder
	folder=$(realpath -m --relative-base="$PWD" -- "${B:-build}")
	find . \( -path ./.git -o -path './build*' -o -path "./$folder" \) -prune -o -path . -o \
		-type d -printf 'd - - %P\0' -o -printf '%y %s %T@ %P\0' 2>/dev/null | LC_ALL=C tr '\n\0' '?\n'
}

# What is no longer as it was, a line each. Who made it cannot be told: it may have been somebody
# who works in the tree, so that this is a failure only where nobody does.
results_tree_changed() { # TREE: as it was
	results_tree | LC_ALL=C awk '
		{ at = $1 " " $2 " " $3; name = substr($0, length(at) + 2) }
		FILENAME != "-" { was[name] = at; next }
		!(name in was) { print "new: " name }
		name in was && was[name] != at { print "changed: " name }
		{ delete was[name] }
		END { for (name in was) print "gone: " name }' "$1" - |
		LC_ALL=C sort | LC_ALL=C tr '\001-\011\013-\037\177' '?' | sed '21{s/.*/and more/;q}'
}

# One run at a time writes into a log folder. The locks are those of this shell:
# results_unlock gives them up in what it starts.
results_locks=()
results_lock() { # FOLDER
	local fd
	exec {fd}<"$1" || return 1 # the folder itself: also where root has been before
	if ! flock -n "$fd"; then
		echo "another run of tests writes into $1: wait for it, or choose another build folder by B=FOLDER" >&2
		return 1
	fi
	results_locks+=("$fd")
}
results_unlock() {
	local fd
	for fd in ${results_locks+"${results_locks[@]}"} ${results_turns+"${results_turns[@]}"}; do
		exec {fd}>&-
	done
}

# Locks that are waited for, for the time of one test: for itself (x), or shared (s).
results_turns=()
results_lock_wait() { # FILE x|s
	local fd
	if [ ! -e "$1" ] && ! (umask 022 && : >>"$1") 2>/dev/null; then
		[ "$2" = x ] || return 0 # who may trace has not been here
		echo "no lock can be made: $1" >&2
		exit 1
	fi
	exec {fd}<"$1" || exit 1
	if ! flock -n "-$2" "$fd"; then
		echo "waiting for another test: $1"
		if ! results_wait flock -w 3 "-$2" "$fd"; then
			results_holders "$1"
			results_wait flock "-$2" "$fd" || { echo "no lock can be had: $1" >&2 && exit 1; }
		fi
	fi
	results_turns+=("$fd")
}

# Who has a file locked, a line each. The kernel names the process that has asked for the lock,
# which may be a flock(1) that is gone; so who has the open file is looked for. What such a
# process has started may have it too, and is not named.
results_holders() { # FILE
	local info pid inode command pids=' ' named=''
	inode=$(stat -Lc %i "$1")
	while IFS= read -r info; do
		pid=${info#/proc/} pid=${pid%%/*}
		[ "${info/fdinfo/fd}" -ef "$1" ] && [[ $pids != *" $pid "* ]] && pids+="$pid "
	done < <(grep -lsE "^lock:.*FLOCK.*:$inode " /proc/[0-9]*/fdinfo/*)
	for pid in $pids; do
		[[ $pids != *" $(sed -n 's/^PPid:[[:space:]]*//p' "/proc/$pid/status") "* ]] || continue
		command=$(tr '\0' ' ' <"/proc/$pid/cmdline") && named=1 || continue
		printf 'it is held by process %s, in %s: %.200s\n' "$pid" "$(readlink "/proc/$pid/cwd")" "$command" | results_plain
	done
	[ -n "$named" ] || echo "who holds it cannot be seen from here: it is another user's process, or in a container"
} 2>/dev/null
results_unlock_wait() {
	local fd
	for fd in ${results_turns+"${results_turns[@]}"}; do
		exec {fd}<&-
	done
	results_turns=()
}

# Runs a function of this shell; what it prints is not mixed with another's.
results_print() { # RESULTS FUNCTION...
	local fd
	exec {fd}>"$1/print" || exit 1
	flock "$fd"
	shift
	"$@"
	exec {fd}>&-
}

# Skips that may be are in tests/skips, a line each: TEST and a pattern of "NAME - WHY".
results_may_skip() { # TEST "NAME - WHY"
	local test pattern
	while read -r test pattern; do
		# shellcheck disable=SC2053 # patterns
		[[ $test != '#'* && $1 == $test && $2 == $pattern ]] && return 0
	done <tests/skips
	return 1
}

results_add() { # RESULTS FOLDER NAME PASSED FAILED SKIPPED SECONDS LOG REASON [CPU]
	local to=$1/lines IFS=$'\t'
	shift
	# A tab or a line's end would be read as a field's or the line's, and a terminal
	# acts upon others.
	printf '%s\n' "${*//[[:cntrl:]]/ }" >>"$to" && return
	echo "not ok $2: its result cannot be written: $to"
	exit 1
}

# The milliseconds of CPU time that what this shell has started and waited for has taken, in
# $results_cpu. No process is made for it, which would itself take some, but a file is written.
results_cpu_time() { # FILE
	local user=0m0.000s system=0m0.000s time
	results_cpu=0
	times >"$1" && { read -r _ && read -r user system; } <"$1"
	for time in "$user" "$system"; do
		time=${time%s} time=${time/[.,]/}
		results_cpu=$((results_cpu + ${time%m*} * 60000 + 10#${time#*m}))
	done
}

# Reads one line of a results file into r_folder, r_name and so on. Not by read alone:
# that takes empty fields for none.
results_parse() { # LINE
	local rest=$1$'\t' f fields=()
	while [ -n "$rest" ]; do
		f=${rest%%$'\t'*}
		rest=${rest#*$'\t'}
		fields+=("$f")
	done
	r_folder=${fields[0]-} r_name=${fields[1]-} r_passed=${fields[2]-} r_failed=${fields[3]-}
	r_skipped=${fields[4]-} r_seconds=${fields[5]-} r_log=${fields[6]-} r_reason=${fields[7]-}
	r_cpu=${fields[8]-}
}

results_title() {
	if [ "$r_folder" = build ]; then
		echo "$r_name"
	else
		echo "$r_name ($r_folder)"
	fi
}

# Waits for a command so that who is told to end need not wait for that.
results_waits=''
results_wait() { # COMMAND...
	local rc=0
	"$@" &
	results_waits=$!
	wait "$results_waits" || rc=$?
	results_waits=''
	return $rc
}

# Tells a child of this shell to end, and waits for it. One that was forked just now has this
# shell's traps, and loses a signal when it gives them up: it is told once it is another program.
results_tell() { # PID
	while cmp "/proc/$1/cmdline" "/proc/$BASHPID/cmdline" && cmp "/proc/$1/environ" "/proc/$BASHPID/environ"; do
		sleep 0.01
	done
	kill -s TERM "$1"
	wait "$1"
} >/dev/null 2>&1

# Ends the repeat that runs, or what is waited for: for who is told to end.
results_repeat=''
results_end() {
	local pid
	for pid in $results_repeat $results_waits; do
		results_tell "$pid"
	done
}

# Runs one program or script again, alone, by tests/run itself, with results of its own.
# Fails if that did not come to one line.
results_once() { # RESULTS
	local as_root=()
	case $r_name in
	live/* | stock/* | soak/* | viewers/html.sh)
		# As it was the first time: who is not root has asked for it by sudo.
		[ "$(id -u)" = 0 ] || ! command -v sudo >/dev/null || as_root=(sudo)
		;;
	esac
	rm -rf "$1"
	mkdir "$1"
	: >"$1/lines"
	(
		results_unlock
		exec "${as_root[@]}" env --default-signal=INT,QUIT B="$r_folder" VMSPAN_RESULTS="$1" \
			"$results_home/run" "$r_name"
	) >"$1/out" 2>&1 </dev/null 3<&- &
	results_repeat=$!
	wait "$results_repeat"
	results_repeat=''
	[ ${#as_root[@]} = 0 ] || sudo chown -R "$(id -u):$(id -g)" "$r_folder" "$1"
	[ "$(wc -l <"$1/lines")" = 1 ]
}

# The cases of a log that came to a result, a line each, by name: numbers, reasons and figures
# differ from run to run.
results_cases() { # LOG "ok"|"ok|not ok"
	LC_ALL=C sed -nE "s/^($2) //p" "$1" | LC_ALL=C sed -E 's/^[0-9]+ - //; s/ - .*//; s/[0-9]+/0/g' | LC_ALL=C sort
}
results_without() { # FIRST SECOND: the lines of one text that the other has not, or not as often
	LC_ALL=C comm -23 <(printf '%s\n' "$1") <(printf '%s\n' "$2")
}

# What passes when it is run again has tried what it tried before: each case that was ok or was
# not is ok now, as often, and no more was skipped. Where what failed has no name that could be ok
# (a program did not start), more cases are ok than before. A failure of the whole, its status or
# what it left behind, has no line.
results_passes() { # PASSED SKIPPED LOG: of the first run
	local now
	[ "$r_failed" = 0 ] && [ "$r_skipped" -le "$2" ] && [ "$r_passed" -ge "$1" ] || return 1
	now=$(results_cases "$r_log" ok)
	[ -z "$(results_without "$(results_cases "$3" ok)" "$now")" ] || return 1
	[ "$r_passed" -gt "$1" ] || [ -z "$(results_without "$(results_cases "$3" "ok|not ok")" "$now")" ]
}

# No machine makes a program fall over its own memory: by the end of a test, of a command in it,
# or by what a sanitizer says of either. What passed may bear any name. Statuses are those of
# ILL, ABRT, BUS, FPE, SEGV.
results_crashed() { # REASON LOG
	[[ $1 =~ ^ended\ by\ signal\ (4|6|7|8|11)$ ]] ||
		LC_ALL=C sed '/^ok /d' "$2" | LC_ALL=C grep -aE \
			'^not ok .*exit (status )?(132|134|135|136|139)\b|Test failed with exception|ERROR: (Address|Leak)Sanitizer|: runtime error: ' >/dev/null
} 2>/dev/null

# Seconds since the machine began: nobody sets that clock.
results_uptime() {
	local up
	read -r up _ </proc/uptime
	echo "${up%.*}"
}

# Runs what failed again, each alone, and writes down what became of it. It has passed if it then
# passes AGAIN_TRIES times in a row: who fails twice in three runs does so by a defect.
results_again() { # RESULTS
	local new=$1/lines.new try line first first_log passed skipped began title
	began=$(results_uptime)
	: >"$new"
	while IFS= read -r line <&3; do
		results_parse "$line"
		# A build is no test, nor a run that did not come to its end.
		if [ "$r_failed" = 0 ] || [[ ! $r_name =~ ^(check|[a-z]+/[^\ ]+)$ ]] ||
			results_crashed "$r_reason" "$r_log"; then
			printf '%s\n' "$line" >>"$new"
			continue
		fi
		first=$r_reason passed=$r_passed skipped=$r_skipped first_log=$r_log.1
		title=$(results_title)
		for ((try = 1; try <= AGAIN_TRIES; try++)); do
			if [ $(($(results_uptime) - began)) -ge "$AGAIN_SECONDS" ]; then
				echo "not run again: $title: the time for that is over"
				break
			fi
			[ ! -e "$r_log" ] || cp "$r_log" "$r_log.$try"
			echo "again, alone: $title ($first)"
			results_once "$1/once" || break
			line=$(cat "$1/once/lines")
			results_parse "$line"
			[ "$r_failed" = 0 ] || break
			if ! results_passes "$passed" "$skipped" "$first_log"; then
				line=$(results_fails "run again it did not try what had failed; before: $first")
				break
			fi
			if [ $try = $AGAIN_TRIES ]; then
				printf 'flaky %s: %s - log of the failure: %s\n' "$title" "$first" "$first_log" >>"$1/flaky"
			else
				line=$(results_fails "run again it passed $try of $AGAIN_TRIES times; before: $first")
			fi
		done
		printf '%s\n' "$line" >>"$new"
	done 3<"$1/lines"
	# On a full disk the old ones hold.
	if [ "$(wc -l <"$new")" = "$(wc -l <"$1/lines")" ]; then
		mv "$new" "$1/lines"
	else
		echo "what came of the repeats cannot be written: $new"
	fi
}

# The line of what was read last, as a failure.
results_fails() { # REASON
	printf '%s\t%s\t%s\t1\t%s\t%s\t%s\t%s\t%s\n' "$r_folder" "$r_name" "$r_passed" "$r_skipped" "$r_seconds" "$r_log" "$1" "$r_cpu"
}

# What a test has printed may hold anything: without what a terminal would act upon.
results_plain() {
	LC_ALL=C tr -d '\000-\010\013-\037\177'
}

# The machine between a copy of /proc/stat and now, in a line.
results_machine() { # STAT
	awk -v cpus="$(nproc)" -v load="$(cut -d' ' -f3 /proc/loadavg)" '
		$1 == "cpu" {
			n++
			for (i = 2; i <= 9; i++)
				d[i] += n == 1 ? -$i : $i
		}
		END {
			all = d[2] + d[3] + d[4] + d[5] + d[6] + d[7] + d[8] + d[9]
			if (!all)
				all = 1
			printf "%d CPUs: %.1f %% of their time was stolen by the hypervisor, %.0f %% was in use; load %s\n", cpus,
				d[9] * 100 / all, (all - d[5] - d[6] - d[9]) * 100 / all, load
		}' "$1" /proc/stat
}

# What anybody wants to know, last; status 1 if anything failed.
results_summary() { # RESULTS SECONDS
	local line passed=0 failed=0 skipped=0 changed
	changed=$(results_tree_changed "$1/tree")
	if [ -n "$changed" ]; then
		printf '\n== not as before in the source tree\n'
		echo "$changed"
		[ "${VMSPAN_TEST_TREE-}" != kept ] ||
			results_add "$1" build "the source tree" 0 1 0 0 "" "not as before: ${changed//$'\n'/; }"
	fi
	if [ "$(wc -l <"$1/lines")" -gt 10 ]; then
		printf '\n== the ten slowest\n'
		LC_ALL=C sort -t $'\t' -k6,6nr "$1/lines" | head -n 10 |
			awk -F'\t' '{
				cpu = $9 == "" ? "" : ", " $9 " s of CPU time"
				print $6 " s  " $2 ($1 == "build" ? "" : " (" $1 ")") cpu
			}'
	fi
	if [ -s "$1/flaky" ]; then
		printf '\n== failed, and passed when run again, alone\n'
		cat "$1/flaky"
	fi
	while IFS= read -r line <&3; do
		results_parse "$line"
		[[ $r_passed-$r_failed-$r_skipped =~ ^[0-9]+-[0-9]+-[0-9]+$ ]] ||
			r_passed=0 r_failed=1 r_skipped=0 r_log='' r_reason='its result is not whole'
		passed=$((passed + r_passed)) failed=$((failed + r_failed)) skipped=$((skipped + r_skipped))
		[ "$r_failed" != 0 ] || continue
		printf '\n== failed: %s\n' "$(results_title)"
		echo "not ok $r_name: $r_reason"
		[ "$r_failed" = 1 ] || echo "and $((r_failed - 1)) more"
		[ ! -e "$r_log" ] || tail -n 15 "$r_log" | results_plain | cut -c1-400 | sed 's/^/   | /'
		[ -z "$r_log" ] || echo "log: $r_log"
	done 3<"$1/lines"
	printf '\n'
	results_machine "$1/stat"
	echo "$2 s"
	echo "$passed passed, $failed failed, $skipped skipped"
	[ $failed = 0 ]
}
