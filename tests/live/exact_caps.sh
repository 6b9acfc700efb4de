#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Exact mode as another user with CAP_BPF and CAP_PERFMON and no right besides; and
# with too few of them: what is missing is said.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/user_lib.sh
. "$(dirname "$0")/../user_lib.sh"
# shellcheck source=tests/steal_lib.sh
. "$(dirname "$0")/../steal_lib.sh"

user_or_skip "exact mode with two capabilities"
user_folder "exact mode with two capabilities"
VMSPAN_THERE=$USER_DIR/vmspan BURN=$USER_DIR/burn
# Whatever umask they were built with.
if ! install -m 755 "$VMSPAN" "$VMSPAN_THERE" || ! install -m 755 "$B/vm/burn" "$BURN"; then
	not_ok "exact mode with two capabilities" "a program of this test is not built"
	exit 1
fi
user_traces_or_skip "exact mode with two capabilities" "$VMSPAN_THERE"

# Records a run of that user's own target.
run() { # CASE EVENTS
	steal_begin
	start_ready burn setpriv --reuid 65534 --regid 65534 --clear-groups "$BURN" "$1" "$2" || return 1
	start record "${as[@]}" "$VMSPAN_THERE" record --exact -p "$burn_pid" -o "$USER_DIR/rec.vmspan"
	wait_line record '^recording ' err >/dev/null || return 1
	send burn
	wait_line burn '^[{]' >"$T/truth.json" || return 1
	finish record INT && finish burn || return 1
	"$VMSPAN" report "$USER_DIR/rec.vmspan" --json >"$T/report.json"
}

exact() { # NAME EVENTS
	check "$1: nothing is said to be missing" sh -c "! grep -q 'not possible' '$T/record.err'"
	json_eq "$1: it is exact" "$T/report.json" '.source.migrated' '"split"'
	json_eq "$1: nothing lost or discarded, all events, and those incomplete had time stolen" "$T/report.json" \
		"[(.losses | add), .ledger.moved_ns, .events.count, $steal_explains]" \
		"[0,0,$2,true]"
	no_more_stolen "$1" "$(jq .repairs.stolen_ns "$T/report.json")"
}

if all_told run migrate 60; then
	exact "two capabilities" 60
else
	not_ok "two capabilities" "did not run"
	cat "$T/record.err"
fi

# Waits of 2 ms that nobody announces: the scheduler knows of each, and why. Who loses the
# CPU to a hypervisor on the way into one sleeps less. That way is some 10 us of a wait, and
# time is stolen at most some hundred times a second: 1 wait in 500. That 8 of 60 are
# so is less likely than 1 in 10^12.
if all_told run blocked 60; then
	exact "two capabilities, waiting" 60
	json_eq "two capabilities, waiting: all waits" "$T/truth.json" '.waits' 60
	json_eq "two capabilities, waiting: no CPU is known by its reason" "$T/report.json" \
		'.groups[] | select(.name == "addon:b") | .off_ns | .sleeping >= (60 - 7) * 2000000' true
else
	not_ok "two capabilities, waiting" "did not run"
	cat "$T/record.err"
fi

start_ready burn setpriv --reuid 65534 --regid 65534 --clear-groups "$BURN" plain 1
for caps in +bpf +perfmon; do
	user_with "$caps"
	rc=0
	timeout "$LIMIT" "${as[@]}" "$VMSPAN_THERE" record --exact -p "$burn_pid" -o "$USER_DIR/no.vmspan" \
		>"$T/out" 2>"$T/err" || rc=$?
	eq "$caps alone: no permission" "$rc" 3
	check "$caps alone: it says which is missing" \
		grep -q "CAP_$([ "$caps" = +bpf ] && echo PERFMON || echo BPF)" "$T/err"
done
# It was never told to go, and says so.
finish burn
eq "the target was not touched" $? 1
