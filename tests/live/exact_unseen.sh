#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Exact mode where the kernel does not tell of every switch. Its own account of the thread ends an
# interval of which only the end went unseen; whatever else went unseen is a loss, and the
# event incomplete. In no case has a hypervisor taken what others had.
# shellcheck source=tests/attach_lib.sh
. "$(dirname "$0")/../attach_lib.sh"
# shellcheck source=tests/steal_lib.sh
. "$(dirname "$0")/../steal_lib.sh"

TARGET=$B/vm/unseen
BLIND=$T/vmspan
TRIES=20
[ -x "$TARGET" ] || skip_rest "unseen switches" "$TARGET is not built"
[ "$(nproc)" -gt 1 ] || skip_rest "unseen switches" "the target spins on a CPU of its own, and there is one"
objects=("$B"/user/cmd/*.o)
if ! build "$BLIND" tests/live/live_blind.c "${objects[@]}" ${SAN+"${SAN[@]}"} -Wl,--wrap=tracer_watch_sched \
	"$B/libvmspan.a" -lbpf -lelf -lz -linih -lncursesw -ljansson -lm -pthread; then
	not_ok "build" "the recorder of this test does not build"
	exit 1
fi
# What spins has its CPU, whoever wants it, real-time processes too.
first=()
! chrt --fifo 99 true 2>/dev/null || first=(chrt --fifo 99)

sleeps() { # PID
	[ "$(lib_state "$1")" = S ]
}

recorder() { # blind|see
	send record "$1"
	wait_line record "^$1" >/dev/null
}

# Ends a wait, which has lasted longer than the ticks by which a hypervisor's time is counted.
wake() {
	local i
	until_true sleeps "$target_pid" || return 1
	for ((i = 0; i < 6; i++)); do
		pause
	done
	send target
}

# The cases: the target's steps, and what is done meanwhile. It spins (s) where it is to stay on
# its CPU until the recorder is blind, or sees again.
declare -A steps=([come_end]=ws [come_leave]=wsw [come_end_elsewhere]=ws [come_leave_elsewhere]=wsw
	[leave]=wsws [both]=wsws)

# Two CPUs that the target may use.
cpus=()
for ((cpu = 0; ${#cpus[@]} < 2 && cpu < $(getconf _NPROCESSORS_CONF); cpu++)); do
	! taskset -c "$cpu" true 2>/dev/null || cpus+=("$cpu")
done
on_cpu() { # 0 or 1
	taskset -pc "${cpus[$1]}" "$target_pid" >/dev/null
}

# It comes back unseen, and is on its CPU until it hands over.
come_end() {
	until_true sleeps "$target_pid" && recorder blind && wake && recorder see && touch "$T/flag.1"
}

# It comes back unseen, and leaves again.
come_leave() {
	come_end && wake
}

# The same on another CPU than it had left, by whose clock the kernel's time of it is. Who leaves
# that has the same clock before it; no clock is known to be both CPUs'.
come_end_elsewhere() {
	until_true sleeps "$target_pid" && recorder blind && on_cpu 1 && wake && recorder see && touch "$T/flag.1"
}
come_leave_elsewhere() {
	come_end_elsewhere && wake
}

# It leaves unseen.
leave() {
	wake && recorder blind && touch "$T/flag.1" && until_true sleeps "$target_pid" &&
		recorder see && wake && touch "$T/flag.2"
}

# It does both unseen.
both() {
	wake && recorder blind && touch "$T/flag.1" && wake && recorder see && touch "$T/flag.2"
}

# The target is to leave its CPU where it waits, and nowhere else, since that may go unseen at another
# time than is asked about. It counts its switches; if there are more, the run is made again.
run() { # CASE
	local try
	for ((try = 0; try < TRIES; try++)); do
		rm -f "$T"/flag.*
		start_ready target ${first+"${first[@]}"} "$TARGET" "${steps[$1]}" "$T/flag" || return 1
		on_cpu 0 || return 1
		make_input record
		start record "$BLIND" record -p "$target_pid" --exact -o "$T/rec.vmspan"
		open_input record
		wait_line record '^recording ' err >/dev/null || return 1
		steal_begin
		send target
		"$1" && until_true sleeps "$target_pid" && send target || return 1
		wait_line target '^[{]' >"$T/truth.json" || return 1
		finish record INT && finish target || return 1
		most=$(steal_most)
		waits=${steps[$1]//s/}
		[ "$(jq .switches "$T/truth.json")" != "${#waits}" ] || break
	done
	"$VMSPAN" report "$T/rec.vmspan" --json >"$T/report.json"
	echo "# $1: try $((try + 1)), at most $most ns stolen, $(cat "$T/truth.json")" \
		"$(jq -c '{incomplete: .events.incomplete, stolen_ns: .repairs.stolen_ns, lost: .losses.sched, off_ns: .groups[0].off_ns}' "$T/report.json")"
	[ $try -lt $TRIES ]
}

for case in come_end come_leave come_end_elsewhere come_leave_elsewhere leave both; do
	if ! run $case; then
		not_ok "$case" "did not run"
		tail -n 5 "$T"/*.err
		continue
	fi
	waited=$(jq .waited_ns "$T/truth.json")
	# jq, of a report: what clocks may differ by. The target's are read later than it is woken.
	error="(100000 + $waited / 100 + $most)"
	json_eq "$case: both events are there" "$T/report.json" .events.count 2
	json_eq "$case: nothing is called stolen but what may have been" "$T/report.json" ".repairs.stolen_ns <= $error" true
	case $case in
	come_end | come_leave | come_leave_elsewhere)
		json_eq "$case: nothing is lost" "$T/report.json" '.losses | add' 0
		json_eq "$case: the events are complete, but for what was stolen" "$T/report.json" "$steal_explains" true
		json_eq "$case: it waited for as long as it did" "$T/report.json" \
			"(.groups[] | select(.name == \"addon:a\") | .off_ns.sleeping - $waited | fabs) <= $error" true
		;;
	*)
		json_eq "$case: a loss, for its cause" "$T/report.json" '.losses | to_entries | map(select(.value > 0) | .key)' '["sched"]'
		json_eq "$case: that event is incomplete, the next is not" "$T/report.json" .events.incomplete 1
		;;
	esac
done
