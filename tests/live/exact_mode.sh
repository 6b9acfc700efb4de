#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Exact mode on the real kernel, against a target that measures from inside what
# each of its groups used: CPU time within 1 % of the event, whatever the
# scheduler does; nothing discarded; the ledger sums. Beyond that percent only what a switch
# itself takes may be missing: the kernel charges it to the thread, and vmspan sees the thread
# without a CPU.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/steal_lib.sh
. "$(dirname "$0")/../steal_lib.sh"

BURN=$B/vm/burn
[ -x "$BURN" ] || skip_rest "exact mode" "$BURN is not built"

# Other processes that want the CPU, two for each.
crowd() {
	for ((hungry = 0; hungry < 2 * $(nproc); hungry++)); do
		start "crowd$hungry" bash -c 'while :; do :; done'
	done
}

disperse() {
	while [ $((hungry--)) -gt 0 ]; do
		finish "crowd$hungry" KILL 2>/dev/null
	done
}

run() { # CASE EVENTS TIMES RECORD-ARGUMENTS...: stays are TIMES as long
	local what=("$1" "$2" "$3")
	shift 3
	start_ready burn "$BURN" "${what[@]}" || return 1
	start record "$VMSPAN" record -p "$burn_pid" -o "$T/rec.vmspan" "$@"
	wait_line record '^recording ' err >/dev/null || return 1
	send burn
	wait_line burn '^[{]' >"$T/truth.json" || return 1
	finish record INT && finish burn || return 1
	"$VMSPAN" report "$T/rec.vmspan" --json >"$T/report.json"
}

# The largest error of a group's CPU time in thousandths of all events', and what it may be where
# so much was stolen. A switch takes 1 to 8 us, more where others have had the caches.
SWITCH_NS=20000
errors_permille() { # STOLEN-NS
	jq -rn --slurpfile r "$T/report.json" --slurpfile t "$T/truth.json" --argjson switch $SWITCH_NS --argjson stolen "$1" '
		($r[0].groups | map({(.name): .cpu_ns}) | add) as $have |
		[([$t[0].groups | to_entries[] | select(.value > 0) |
			($have[.key] // 0) as $has | [.value - $has, $has - $t[0].groups_most[.key], 0] | max |
			. * 1000 / $t[0].cpu_ns] | max | ceil),
		(10 + ($t[0].switches * $switch + $stolen) * 1000 / $t[0].cpu_ns | floor)] | @tsv'
}

# Time of the events in which the thread neither had a CPU by its own clock nor was off it
# by the scheduler's record, in thousandths of their CPU time. What is stolen is there,
# in pieces of any size; nothing else is worth mentioning. Below 0 it had both at once:
# that is what switches take, or what is stolen in the middle of one, which the kernel
# charges to the thread too: pieces of 0.1 to 0.7 ms have been seen.
unexplained_permille() {
	jq '(.events.wall_ns - .events.cpu_ns - .ledger.preempted_ns - .ledger.blocked_ns) * 1000 / .events.cpu_ns | ceil' \
		"$T/report.json"
}
explained() {
	local rest
	rest=$(unexplained_permille)
	[ "$rest" -le 5 ] && [ "$rest" -ge $((-5 - $(jq "1000 * $SWITCH_NS * .switches / .cpu_ns | floor" "$T/truth.json"))) ]
}

TRIES=40 # of runs that are short enough to fall between two thefts
SHORT=2 TIMES=10 # events of those, and how long their stays are, so that switches are few

# What no thief touches is asked of a run of its own. CPU time is asked of the first short run
# from which nothing was stolen, neither by the kernel's count nor by the clocks. Where a hypervisor
# takes so much that there is none, it is asked of a long one, and may be wrong by what was taken.
exact() { # NAME CASE EVENTS
	local name=$1 case=$2 events=$3 times=1 try e may said=0 free='' stolen=0
	steal_begin
	for ((try = 0; try <= TRIES; try++)); do
		[ $try = 0 ] || events=$SHORT times=$TIMES
		if ! all_told run "$case" "$events" $times --exact; then
			not_ok "$name" "did not run"
			tail -n 5 "$T"/*.err
			return
		fi
		said=$((said + $(jq .repairs.stolen_ns "$T/report.json")))
		if [ $try = 0 ]; then
			untouched "$name" "$events"
			continue
		fi
		if [ "$(jq .stolen_ns "$T/truth.json")" = 0 ] && [ "$(jq .repairs.stolen_ns "$T/report.json")" = 0 ] &&
			explained; then
			free=1
			break
		fi
	done
	no_more_stolen "$name" $said
	if [ -z "$free" ]; then
		if [ "$(steal_ns)" = 0 ] && steal_told; then
			not_ok "$name: CPU time within 1 % of the event" \
				"$(unexplained_permille) thousandths of it are not explained, and nothing was stolen"
			return
		fi
		events=60
		if ! all_told run "$case" $events $TIMES --exact; then
			not_ok "$name" "did not run"
			return
		fi
		# On each CPU a tick may be all but full.
		stolen=$(($(jq .stolen_ns "$T/truth.json") + $(nproc) * 1000000000 / $(getconf CLK_TCK)))
	fi
	read -r e may <<<"$(errors_permille $stolen)"
	echo "# $name: $e of $may permille, try $try, at most $stolen ns stolen"
	if [ "$e" -le "$may" ]; then
		ok "$name: CPU time within 1 % of the event"
	else
		not_ok "$name: CPU time within 1 % of the event" "off by $e permille, may be by $may"
		jq -c '.groups[] | [.name, .wall_ns, .self_ns, .cpu_ns, .blocked_ns, .preempted_ns]' "$T/report.json"
		cat "$T/truth.json"
	fi
	json_eq "$name: every event complete from which nothing was stolen" "$T/report.json" \
		"[.events.count, $([ "$free" ] && echo '.events.incomplete == 0' || echo "$steal_explains")]" \
		"[$(turns "$case" "$events"),true]"
}

turns() { # CASE EVENTS: with the nested ones
	echo $(($2 * ($([ "$1" = nested ] && echo 2 || echo 1))))
}

untouched() { # NAME EVENTS
	json_eq "$1: nothing is discarded for having moved" "$T/report.json" '.ledger.moved_ns' 0
	json_eq "$1: the ledger sums" "$T/report.json" \
		'.ledger | .self_ns + .gc_ns + .blocked_ns + .native_ns + .moved_ns + .stale_ns + .lost_ns - .event_wall_ns' 0
	json_eq "$1: nothing lost; what is incomplete was stolen from" "$T/report.json" \
		"[(.losses | add), $steal_explains]" '[0,true]'
	json_eq "$1: says so" "$T/report.json" '.source.migrated' '"split"'
	cp "$T/rec.vmspan" "$T/first.vmspan"
	cp "$T/report.json" "$T/first.json"
}

exact "quiet" plain 60
exact "moving" migrate 60
exact "waiting" blocked 60
# Who loses the CPU on the way into a wait sleeps less, as tests/live/exact_caps.sh reckons.
json_eq "waiting: it is blocked time, unannounced as it is" "$T/first.json" \
	'(.groups[] | select(.name == "addon:b") | .blocked_ns) >= (60 - 7) * 2000000' true
json_eq "waiting: for the reason the kernel knows" "$T/first.json" \
	'(.groups[] | select(.name == "addon:b") | .off_ns.sleeping) >= (60 - 7) * 2000000' true
json_eq "waiting: a single event shows in which stay" \
	<("$VMSPAN" report "$T/first.vmspan" --slowest 1 --json) \
	'[.explained[0].tree[] | select(.name == "b") | .off_ns >= 2000000 and .off_ns < .ns] | . == [true]' true
exact "nested loops" nested 60
exact "threads that come and go" threads 60
crowd
exact "crowded" plain 60
json_eq "crowded: others had the CPU, and nobody pays for it" "$T/first.json" \
	'.ledger.preempted_ns > 0 and .ledger.native_ns >= .ledger.preempted_ns' true
exact "crowded and moving" migrate 60
disperse

# Default mode: moved spans are discarded and counted.
if [ "$(nproc)" = 1 ]; then
	skip "default" "there is one CPU, and nothing moves"
elif run migrate 60 1; then
	json_eq "default: moved spans are discarded and counted" "$T/report.json" \
		'.ledger.moved_ns > 0 and ([.groups[].moved] | max) > 0' true
	json_eq "default: says so" "$T/report.json" '.source.migrated' '"discard"'
else
	not_ok "default" "did not run"
fi
