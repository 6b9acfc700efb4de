#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Exact mode as another user with CAP_BPF and CAP_PERFMON and no right besides; and
# with too few of them: what is missing is said.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

BURN=$B/vm/burn
[ -x "$BURN" ] || { skip "exact mode with two capabilities" "$BURN is not built"; exit 0; }

# Sets `as`: another user who has these capabilities, as +bpf,+perfmon.
user_with() { # CAPABILITIES
	as=(setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps "$1"
		--ambient-caps "$1" --bounding-set "-all,$1")
}

user_with +bpf,+perfmon
if ! "${as[@]}" true 2>/dev/null; then
	skip "exact mode with two capabilities" "setpriv may not give capabilities here"
	exit 0
fi
if ! "${as[@]}" "$VMSPAN" doctor >/dev/null 2>&1; then
	skip "exact mode with two capabilities" "this kernel wants CAP_SYS_ADMIN for probes in programs"
	exit 0
fi
chmod 711 "$T"
mkdir "$T/nobody"
chown 65534:65534 "$T/nobody"

# Records a run of that user's own target.
run() { # CASE EVENTS
	start_ready burn setpriv --reuid 65534 --regid 65534 --clear-groups "$BURN" "$1" "$2" || return 1
	start record "${as[@]}" "$VMSPAN" record --exact -p "$burn_pid" -o "$T/nobody/rec.vmspan"
	wait_line record '^recording ' err >/dev/null || return 1
	send burn
	wait_line burn '^[{]' >/dev/null || return 1
	finish record INT
	finish burn
	"$VMSPAN" report "$T/nobody/rec.vmspan" --json >"$T/report.json"
}

if run migrate 60; then
	check "two capabilities: nothing is said to be missing" sh -c "! grep -q 'not possible' '$T/record.err'"
	json_eq "two capabilities: it is exact" "$T/report.json" '.source.migrated' '"split"'
	json_eq "two capabilities: nothing discarded, every event complete" "$T/report.json" \
		'[.ledger.moved_ns, .events.count, (.repairs.stolen_ns > 0 or .events.incomplete == 0)]' '[0,60,true]'
	json_eq "two capabilities: no CPU is known by its reason" "$T/report.json" \
		'[.groups[] | .off_ns | select(. != null) | add] | add > 0' true
else
	not_ok "two capabilities" "did not run"
	cat "$T/record.err"
fi

start_ready burn setpriv --reuid 65534 --regid 65534 --clear-groups "$BURN" plain 1
for caps in +bpf +perfmon; do
	user_with "$caps"
	rc=0
	timeout "$LIMIT" "${as[@]}" "$VMSPAN" record --exact -p "$burn_pid" -o "$T/nobody/no.vmspan" >"$T/out" 2>"$T/err" || rc=$?
	eq "$caps alone: no permission" "$rc" 3
	check "$caps alone: it says which is missing" \
		grep -q "CAP_$([ "$caps" = +bpf ] && echo PERFMON || echo BPF)" "$T/err"
done
# It was never told to go.
finish burn || :
