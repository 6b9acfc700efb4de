#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Threads of a pool: an event is what one does for a request, from one wait for work to the next. By real programs of
# each VM, with the pools that its profile knows.
# shellcheck disable=SC2154 # start_app sets app_pid
# shellcheck source=tests/stock/lib.sh
. "$(dirname "$0")/lib.sh"

# Requests of 200 ms by the program that runs, one after the other. A thread is known to be of a pool at the first look
# at it, and from then on what it waits for.
# WAIT: a regular expression for the frames that wait for work, of awk's.
check_pool() { # NAME WAIT ARGUMENT...: of the recording
	local answer kind
	for kind in jobs polled; do
		start_record "$T/p" "$app_pid" "${@:3}"
		answer=$(ask $kind 12 200)
		finish rec INT
		"$VMSPAN" export "$T/p" -q -f ndjson -o "$T/records"
		json_eq "$1, $kind: all of it is told" <(jq -s --argjson a "$answer" \
			'[.[] | select(.type == "event").cpu_ns] | add / $a.used' "$T/records") '. >= 0.95' true
		json_eq "$1, $kind: a request is an event" <(jq -sc \
			'[.[] | select(.type == "event").cpu_ns | select(. >= 19e7 and . < 3e8)]' "$T/records") \
			'length >= 8 and length <= 12' true
		"$VMSPAN" export "$T/p" -q -f collapsed -o "$T/stacks"
		# But for short ones, which are for the lock on the way to it. Each of 12 lasts for 50 ms and more.
		json_eq "$1, $kind: no event has a wait for work" <(awk -v wait="$2.*;[(]waiting[)]\$" \
			'{ n = $NF; sub(/ [0-9]+$/, "") } $0 ~ wait { sum += n } END { print sum + 0 }' "$T/stacks") \
			'. < 2e8' true
	done
}

if [ -x /usr/bin/python3.11 ]; then
	app /usr/bin/python3.11 "$APPS/pool.py"
	check_pool CPython ';_worker [(][^;]*[)]'
else
	skip "CPython" "no /usr/bin/python3.11: tools/install-deps --vms"
fi

JAVA=/usr/lib/jvm/java-17-openjdk-amd64/bin
if [ -x $JAVA/javac ]; then
	$JAVA/javac -d "$T/classes" "$APPS/Pool.java"
	app $JAVA/java -cp "$T/classes" Pool
	check_pool OpenJDK ';getTask [(]'
else
	skip "OpenJDK" "no $JAVA/javac: tools/install-deps --vms"
fi

RUBY=/usr/bin/ruby3.1
if [ -x $RUBY ]; then
	# A pool of one's own is known by a profile of one's own.
	sed 's/^\[idle\]$/&\nat = \/pool\\.rb$ waits_for_work\npool = \/pool\\.rb$ worker/' "$TOP/user/profiles/ruby.ini" >"$T/own.ini"
	app $RUBY "$APPS/pool.rb"
	check_pool Ruby ';waits_for_work [(][^;]*[)]' --profile "$T/own.ini"

	# Without those lines nobody knows which waits are for work: so they would be seen.
	start_record "$T/p" "$app_pid"
	ask polled 6 20 >"$T/line"
	finish rec INT
	"$VMSPAN" export "$T/p" -q -f collapsed -o "$T/stacks"
	check "Ruby, a pool that is not known: its waits for work are in events" \
		grep -qE ';waits_for_work \([^;]*\).*;\(waiting\) [0-9]+$' "$T/stacks"

	# Who waits does so with its own stack, whoever has got the lock.
	start_record "$T/n" "$app_pid"
	ask naps 200 >"$T/line"
	finish rec INT
	"$VMSPAN" export "$T/n" -q -f collapsed -o "$T/stacks"
	json_eq "Ruby: naps are waits, and the thread is never where another one works" <(grep -F ";napper;" "$T/stacks" |
		awk '/;naps \(.*;\(waiting\) / { naps += $NF } /;works \(/ { works++ } END { printf "[%d,%d]", naps, works }') \
		'.[0] >= 100e6 and .[1] == 0' true
else
	skip "Ruby" "no $RUBY: tools/install-deps --vms"
fi
