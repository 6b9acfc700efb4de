#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Exact mode: a page in one process waits for an add-on in another, and the
# report says so, by group where both are traced; and why a thread had no CPU.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

PAIR=$B/vm/pair
ROUNDS=200
[ -x "$PAIR" ] || skip_rest "peers" "$PAIR is not built"

# Both work, one of them or both are traced; $T/report.json, page_pid, addon_pid.
run() { # HOW both|page
	start_ready pair "$PAIR" "$1" $ROUNDS 200 apart || return 1
	read -r _ page_pid addon_pid <"$T/pair.ready"
	local pids=(-p "$page_pid")
	[ "$2" != both ] || pids+=(-p "$addon_pid")
	start record "$VMSPAN" record --exact --no-children "${pids[@]}" -o "$T/rec.vmspan"
	wait_line record '^recording ' err >/dev/null || return 1
	send pair
	wait_line pair '^took ' >/dev/null || return 1
	finish record INT && finish pair || return 1
	"$VMSPAN" report "$T/rec.vmspan" --json >"$T/report.json"
}

# Of the page's waits that somebody ended, the part (in percent) that pass.
part() { # JQ-CONDITION
	jq "[.waits[] | select(.pid == $page_pid)] |
		(map(select($1) | .ns) | add // 0) * 100 / (map(.ns) | add // 1) | floor" "$T/report.json"
}

for how in pipe socket tcp udp futex; do
	if ! run $how both; then
		not_ok "$how" "did not run"
		tail -n 5 "$T"/*.err
		continue
	fi
	# A full machine wakes the page's CPU for other reasons too; most is this.
	percent=$(part ".peer_pid == $addon_pid")
	check "$how: the page waited for the add-on's process: $percent %" test "$percent" -ge 90
	json_eq "$how: by name" "$T/report.json" \
		"[.waits[] | select(.peer_pid == $addon_pid) | .peer_process] | unique" '["addon"]'
	json_eq "$how: it is blocked time, for its reason" "$T/report.json" \
		"(.groups[] | select(.name == \"page:shop\") | .off_ns.$([ $how = futex ] && echo lock || echo sleeping)) as \$off |
		\$off > 0 and ([.waits[] | select(.group == \"page:shop\") | .ns] | add) <= \$off" true
	# A socket's reader frees what was sent, and that wakes the sender early.
	[ $how != socket ] || continue
	json_eq "$how: in the group that did it" "$T/report.json" \
		'[.waits[] | select(.group == "page:shop" and .peer_group == "addon:translate") | .count] | add > 20' true
	"$VMSPAN" report "$T/rec.vmspan" >"$T/report.txt"
	check "$how: the report says it" grep -q "page:shop waited .* for addon:translate of addon ($addon_pid)" "$T/report.txt"
	"$VMSPAN" report "$T/rec.vmspan" --slowest 300 >"$T/slowest.txt"
	check "$how: so does a single event" grep -q "page:shop waited .* for addon:translate of addon ($addon_pid)" "$T/slowest.txt"
	"$VMSPAN" export "$T/rec.vmspan" -f ndjson -o "$T/out.ndjson" 2>"$T/export.err"
	eq "$how: and an export, as often" \
		"$(jq -n '[inputs | select(.type == "event") | .waits // [] | .[] | select(.peer_group == "addon:translate") | .count] | add' "$T/out.ndjson")" \
		"$(jq '[.waits[] | select(.peer_group == "addon:translate") | .count] | add' "$T/report.json")"
	"$VMSPAN" export "$T/rec.vmspan" -q -f chrome -o "$T/out.json"
	eq "$how: arrows go from the page's turns to the add-on's" "$(jq -c --argjson page "$page_pid" --argjson addon "$addon_pid" \
		'[.traceEvents[] | select(.ph == "s" or .ph == "f") | select(.ph == "s" and .pid == $page or .ph == "f" and .pid == $addon)
		| .id] | group_by(.) | map(length) | [length > 10, (unique == [2])]' "$T/out.json")" '[true,true]'
done

# The peer is not traced: its process is known all the same.
if run pipe page; then
	json_eq "untraced peer: by process" "$T/report.json" \
		"[.waits[] | select(.group == \"page:shop\" and .peer_pid == $addon_pid) | [.peer_process, .peer_group]] | unique" \
		'[["addon",""]]'
else
	not_ok "untraced peer" "did not run"
fi

# Packets of others fly while a target waits for timers only: they have not ended that.
start_ready pair "$PAIR" udp 1000000 0 apart && send pair
read -r _ page_pid addon_pid <"$T/pair.ready"
start_ready burn "$B/vm/burn" blocked 60
start record "$VMSPAN" record --exact -p "$burn_pid" -o "$T/rec.vmspan"
if wait_line record '^recording ' err >/dev/null && send burn && wait_line burn '^[{]' >/dev/null; then
	finish record INT
	eq "packets of others: the recording ends well" $? 0
	"$VMSPAN" report "$T/rec.vmspan" --json >"$T/report.json"
	# Who loses the CPU on the way into a wait sleeps less, as tests/live/exact_caps.sh reckons.
	json_eq "packets of others: it waited" "$T/report.json" \
		'(.groups[] | select(.name == "addon:b") | .off_ns.sleeping) >= (60 - 7) * 2000000' true
	# What else the machine does may end a wait.
	json_eq "packets of others: not for them" "$T/report.json" \
		"[.waits[] | select(.peer_pid == $page_pid or .peer_pid == $addon_pid or .peer_process == \"addon\")]" '[]'
else
	not_ok "packets of others" "did not run"
fi
finish burn
eq "packets of others: the target ends well" $? 0
finish pair TERM

# An alert says it in its sentence. Four fifths of each turn are that wait, so that it is
# most of the turn whatever else delays the page.
start_ready pair "$PAIR" pipe 20 3000,12000 apart
read -r _ page_pid addon_pid <"$T/pair.ready"
start watch "$VMSPAN" watch --exact --no-children -p "$page_pid" -p "$addon_pid" --threshold 7ms
if wait_line watch '^watching ' err >/dev/null && send pair &&
	wait_line watch "page:shop held .* waiting for addon:translate of addon \($addon_pid\)" >"$T/alert"; then
	ok "an alert says for whom"
else
	not_ok "an alert says for whom" "$(tail -n 3 "$T/watch.err" "$T/watch.out")"
fi
finish watch INT
eq "an alert says for whom: the watch ends well" $? 0
none "an alert says for whom: none names another" "$(grep 'page:shop held' "$T/watch.out" | grep 'waiting for' |
	grep -v "waiting for addon:translate of addon ($addon_pid)")"
finish pair
eq "an alert says for whom: the targets end well" $? 0
