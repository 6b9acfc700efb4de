#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Time that a hypervisor steals is noticed by --exact, counted, and said. None need be stolen here:
# the target's CPU clock stands still for known times, which is all that can be seen of it
# from within. What is really stolen meanwhile is on top of that.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/steal_lib.sh
. "$(dirname "$0")/../steal_lib.sh"

TARGET=$B/vm/stolen
[ -x "$TARGET" ] || skip_rest "stolen time" "$TARGET is not built"
events=20
half=$((events / 2))
each=4000000 # ns; in half of the events
withheld=$((half * each))
# jq, of a report: in each event the clocks may differ by 0.1 ms and a hundredth, either way.
error='(.events.count * 100000 + .events.wall_ns / 100)'

run() { # RECORD-ARGUMENTS...
	steal_begin
	start_ready target "$TARGET" $events $each || return 1
	start record "$VMSPAN" record -p "$target_pid" -o "$T/rec.vmspan" "$@"
	wait_line record '^recording ' err >/dev/null || return 1
	send target
	wait_line target '^[{]' >"$T/truth.json" || return 1
	finish record INT && finish target || return 1
	most=$(steal_most) # for those who read the log
	"$VMSPAN" report "$T/rec.vmspan" --json >"$T/report.json"
	COLUMNS=500 "$VMSPAN" report "$T/rec.vmspan" >"$T/report.txt"
	echo "# at most $most ns stolen by the kernel's count," \
		"$(jq -c '{events: .events, repairs: .repairs, blocked_ns: .ledger.blocked_ns, preempted_ns: .ledger.preempted_ns}' "$T/report.json")"
	"$VMSPAN" export -q -f ndjson -o - "$T/rec.vmspan" | grep '"type":"event"' >"$T/events"
}

all_told run --exact || not_ok "--exact" "did not run"
json_eq "nothing is lost, every event is there" "$T/report.json" '[(.losses | add), .events.count]' "[0,$events]"
json_eq "the target withheld what it was told to" "$T/truth.json" .withheld_ns $withheld
json_eq "every event that was stolen from lacks data" <(jq -s . "$T/events") \
	'[to_entries[] | select(.key % 2 == 1) | .value.incomplete] | unique' '[true]'
json_eq "as much is said to be stolen as was, no less" "$T/report.json" \
	".repairs.stolen_ns >= $withheld - $error" true
no_more_stolen "but for what was withheld" \
	"$(jq "[.repairs.stolen_ns - $withheld - $error, 0] | max | floor" "$T/report.json")"
json_eq "others lack data where really stolen from only" "$T/report.json" \
	"(.events.incomplete - $half) * 100000 <= .repairs.stolen_ns - $withheld + $error" true
words=$(jq -r '"INCOMPLETE: \(.events.incomplete) of \(.events.count) events lack data (a hypervisor took "' "$T/report.json")
check "the report says so in words" grep -qF "$words" "$T/report.txt"
check "the recorder too" grep -qF "$words" "$T/record.err"
# In text with three digits.
said=$(sed -nE 's/.*a hypervisor took ([0-9.]+) ms of their CPU time\).*/\1/p' "$T/report.txt")
json_eq "in words it is the same figure" "$T/report.json" "(.repairs.stolen_ns / 1e6 - ${said:--1} | fabs) <= 0.05" true

# Without the scheduler's record nobody can tell it from others that had the CPU.
run || not_ok "default" "did not run"
json_eq "without --exact nothing is said to be stolen, and nothing lacks data" "$T/report.json" \
	'[.events.count, .events.incomplete, .repairs.stolen_ns]' "[$events,0,0]"
check "nor in words" sh -c "! grep -q hypervisor '$T/report.txt' '$T/record.err'"
json_eq "but it is in wall times, and not in CPU times" "$T/report.json" \
	".events.wall_ns - .events.cpu_ns >= $withheld - $error" true
