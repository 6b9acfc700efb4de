#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# An event that goes on is in the live figures while it does: its group, its time, the CPU time that its
# thread has had; and as it ends it is counted once.
# shellcheck source=tests/attach_lib.sh
. "$(dirname "$0")/../attach_lib.sh"

# Set by target, by name.
vm_pid='' vm_in=''
if ! build "$T/vm" tests/vm/steady.c -pthread; then
	not_ok "build" "the program of this test does not build"
	exit 1
fi

# The thread's own clock.
clock() {
	local line
	echo clock >&"$vm_in"
	line=$(answer vm)
	answer vm >/dev/null
	echo "${line#clock }"
}

# Is this true of the newest line?
shows() { # FILTER
	tail -n 1 "$T/top.out" | jq -e "$1" >/dev/null 2>&1
}

# Do the newest two lines have the same CPU time?
stands() {
	[ "$(tail -n 2 "$T/top.out" | jq -s 'length == 2 and .[0].events.cpu_ns == .[1].events.cpu_ns' 2>&1)" = true ]
}

newest() { # FILTER
	tail -n 1 "$T/top.out" | jq "$1"
}

group='.groups[] | select(.name == "addon:first")'
for mode in default exact; do
	exact=() pinned=()
	# In the default mode what changes CPU is charged to nobody, as it ends.
	if [ "$mode" = default ]; then pinned=("${ONE_CPU[@]}"); else exact=(--exact); fi
	target vm ${pinned+"${pinned[@]}"} "$T/vm"
	start top "$VMSPAN" top -p "$vm_pid" -d 0.2 --json ${exact+"${exact[@]}"}
	start text "$VMSPAN" top -p "$vm_pid" -b -d 0.2 ${exact+"${exact[@]}"}
	start stat "$VMSPAN" stat -p "$vm_pid" -i 0.2 ${exact+"${exact[@]}"}
	check "$mode: it is traced" until_true shows '.events.count == 0'
	check "$mode: by all of them" until_true test -s "$T/text.out" -a -s "$T/stat.out"
	before=$(clock)
	# Of its CPU time switches take some, 20 us each at most, which exact mode has not.
	tell vm "event 3" "open" "burn 330"
	check "$mode: what goes on is shown" until_true shows '.open.count == 1 and .events.open == 1'
	check "$mode: with all that it has burned" until_true shows \
		".events.cpu_ns >= 300000000 and [$group | .self_ns][0] >= 300000000"
	check "$mode: what it is in" until_true shows '.open.longest[0] | .group == "addon:first" and .label == "turn" and
		[.inside[].name] == ["first", "first/2"] and has("ended") == false'
	check "$mode: it is an event" until_true shows '.events.count == 2'
	check "$mode: longer than so long" until_true shows "[$group | .durations[8]][0] == 1"
	check "$mode: nothing lacks" until_true shows "[.losses[], .events.incomplete] | add == 0"
	check "$mode: the ledger sums up" until_true shows '.ledger |
		.self_ns + .gc_ns + .blocked_ns + .native_ns + .moved_ns + .stale_ns + .lost_ns == .event_wall_ns'
	# Now it sleeps, in the event: the time goes on, its clock does not, once it is exact.
	check "$mode: its clock stands" until_true stands
	cpu=$(newest .events.cpu_ns) so_far=$(newest '.open.longest[0].so_far_ns')
	check "$mode: its time goes on" until_true shows ".open.longest[0].so_far_ns > $so_far + 500000000"
	check "$mode: the longest is as long" until_true shows '.events.max_ns >= .open.longest[0].so_far_ns'
	eq "$mode: who sleeps has no CPU time" "$(newest .events.cpu_ns)" "$cpu"
	check "$mode: no more than the thread's own clock says" test "$cpu" -le $(($(clock) - before))
	check "$mode: top names it first" until_true grep -q "addon:first held 1 of 1 turn longer than 256 ms" "$T/text.out"
	check "$mode: so does stat" until_true grep -Eq " addon:first [0-9.]+ %$" "$T/stat.out"
	tell vm "close"
	check "$mode: it has ended" until_true shows '(has("open") | not) and .events.count == 2'
	check "$mode: and is counted once" until_true shows \
		"(.events | has(\"open\") | not) and [$group | .events, (has(\"open\") | not)] == [2, true]"
	check "$mode: its group keeps its time" until_true shows "[$group | .wall_ns][0] > $so_far"
	finish top INT
	finish text INT
	finish stat INT
	dismiss vm
done

# Such figures can be kept, and compared.
target vm "$T/vm"
start stat "$VMSPAN" stat -p "$vm_pid" -i 0.2 --json
check "kept: it is traced" until_true test -s "$T/stat.out"
tell vm "event 3" "open"
is_open() {
	tail -n 1 "$T/stat.out" >"$T/now.json"
	jq -e '.open.count == 1' "$T/now.json" >/dev/null 2>&1
}
check "kept: it is shown" until_true is_open
check_status "kept: figures with what goes on are a snapshot" 0 "$VMSPAN" report "$T/now.json" "$T/now.json"
finish stat INT
dismiss vm

# What never ends goes with its process.
target vm "$T/vm"
start top "$VMSPAN" top -p "$vm_pid" -d 0.2 --json
check "killed: it is traced" until_true shows '.events.count == 0'
tell vm "open"
check "killed: it is shown" until_true shows '.open.count == 1'
kill -s KILL "$vm_pid"
dismiss vm 2>/dev/null
finish top
check "killed: then it is one that had not ended" until_true shows \
	'(has("open") | not) and .events.count == 0 and .unfinished.count == 1'

# Nobody looks at the figures of a recording while it grows.
target vm "$T/vm"
start record "$VMSPAN" record -p "$vm_pid" -o "$T/rec.vmspan"
need_line record '^recording ' err
tell vm "open" "burn 300" "close"
finish record INT
ends_well "$VMSPAN" report "$T/rec.vmspan" --json >"$T/report.json"
json_eq "recorded: an event like any other" "$T/report.json" \
	'[.events.count, has("open"), has("unfinished")]' '[1,false,false]'
dismiss vm
