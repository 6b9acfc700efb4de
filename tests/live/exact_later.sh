#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# --exact by name: what the scheduler does is known of each process from its first mark in the trace,
# whenever it has begun and was found.
# shellcheck source=tests/attach_lib.sh
. "$(dirname "$0")/../attach_lib.sh"
# shellcheck source=tests/steal_lib.sh
. "$(dirname "$0")/../steal_lib.sh"

taker_pid=''
# Nothing else on the machine is called so.
name=later$((SRANDOM % 100000))
if ! build "$T/$name" tests/vm/steady.c -pthread; then
	not_ok "build" "the program of this test does not build"
	exit 1
fi

is_traced() { # PID
	[ "$(state "$1")" = "$traced" ]
}

# Begins, is found, and sleeps for 50 ms in an event and a group of its own.
later() { # NAME TASK...
	local pid="$1_pid"
	target "$1" "$T/$name"
	check "$1: it is found" until_true is_traced "${!pid}"
	tell "$1" "group $1" "${@:2}" "open" "nap 50" "close"
}

# Those that are in the midst of it when the trace begins have the scheduler's record from their first mark in it on.
# (Each has a file of its own, which takes the tracer a while.)
running=(r1 r2 r3 r4 r5 r6 r7 r8 r9 r10 r11 r12)
turns() { # LINE...: what each of them is to do, which is not waited for
	local r in
	for r in "${running[@]}"; do
		in="${r}_in"
		printf '%s\n' "$@" >&"${!in}"
	done
}
for r in "${running[@]}"; do
	mkdir "$T/$r"
	cp "$T/$name" "$T/$r/"
	target "$r" "$T/$r/$name"
done
# What each is to do has to last until the trace has begun: else again, with more of it.
midst() {
	local naps
	for naps in 100 200 400 800 1600; do
		for _ in $(seq $naps); do turns open "nap 5" close; done
		steal_begin
		start record "$VMSPAN" record --exact --comm "$name" -o "$T/rec.vmspan"
		need_line record '^recording ' err
		turns "event 3"
		for r in "${running[@]}"; do
			for _ in $(seq $((3 * naps + 1))); do answer "$r" >/dev/null; done
		done
		finish record INT
		ends_well "$VMSPAN" report "$T/rec.vmspan" --json >"$T/report.json"
		[ "$(jq .events.count "$T/report.json")" -lt $((20 * ${#running[@]})) ] || break
	done
}
all_told midst || not_ok "those that run already" "it did not run"
json_eq "of those that run already no event lacks data, but for what was stolen" "$T/report.json" \
	"[.events.count >= $((20 * ${#running[@]})), $steal_explains, .ledger.lost_ns, (.losses | add)]" '[true,true,0,0]'
no_more_stolen "those that run already" "$(jq .repairs.stolen_ns "$T/report.json")"
for r in "${running[@]}"; do dismiss "$r"; done

steal_begin
target first "$T/$name"
start record "$VMSPAN" record --exact --comm "$name" -o "$T/rec.vmspan"
need_line record '^recording ' err
tell first "group first_of_all" "event 3" "open" "nap 50" "close"
later second "event 5"
later third "threads 4 100"
finish record INT
ends_well "$VMSPAN" report "$T/rec.vmspan" --json >"$T/report.json"
for g in first_of_all second third; do
	json_eq "$g: its sleep is known, and not its own" "$T/report.json" \
		".groups[] | select(.name == \"addon:$g\") | [.blocked_ns >= 50000000, .off_ns.sleeping >= 50000000]" '[true,true]'
done
json_eq "all events are there" "$T/report.json" '.events.count - .events.implicit' 5
json_eq "none lacks data, but for what was stolen" "$T/report.json" "[$steal_explains, .ledger.lost_ns]" '[true,0]'
no_more_stolen "by name" "$(jq .repairs.stolen_ns "$T/report.json")"
for n in first second third; do dismiss $n; done

# What the scheduler does is told of a process before its marks are: it has its name all the same. And of none that is no
# target, though each that executes something is looked at.
cp "$T/$name" "$T/renamed"
target taker "$T/renamed"
start record "$VMSPAN" record --exact --comm "$name" -o "$T/rec.vmspan"
need_line record '^recording ' err
tell taker "name $name"
check "one that takes the name is found" until_true is_traced "$taker_pid"
for _ in {1..40}; do /bin/true; done
tell taker "open" "nap 50" "close"
for _ in {1..40}; do /bin/true; done
tell taker "event 3"
finish record INT
ends_well "$VMSPAN" report "$T/rec.vmspan" --json >"$T/report.json"
json_eq "one that takes the name is called so, and is alone" "$T/report.json" \
	'[[.processes[] | [.pid, .name]], .events.count - .events.implicit]' "[[[$taker_pid,\"$name\"]],2]"
dismiss taker
