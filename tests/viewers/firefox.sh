#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The Firefox Profiler's own loader reads what -f firefox writes: markers by
# name with their durations, on every thread, and the counters.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/viewers/common.bash
. "$(dirname "$0")/common.bash"

need "Firefox Profiler" "$NODE" "$VIEWERS/firefox/dist/profiler-cli.js"

export PROFILER_CLI_SESSION_DIR=$T/pq # holds the socket of the loader's server
mkdir "$PROFILER_CLI_SESSION_DIR"
# It gives up by itself when it has no connection in a second, or no answer in thirty, which a
# busy machine does not keep to: then it is asked again.
pq() {
	local rc end lib_uptime
	lib_now
	end=$((lib_uptime + 600))
	while :; do
		rc=0
		timeout -k 5 600 "$NODE" "$VIEWERS/firefox/dist/profiler-cli.js" "$@" >"$T/viewer.out" 2>"$T/viewer.err" || rc=$?
		lib_now
		[ $rc != 0 ] && [ "$lib_uptime" -lt $end ] && grep -qE 'Timed out after|ETIMEDOUT' "$T/viewer.err" || break
	done
	cat "$T/viewer.out"
	return $rc
}

# A session of its own for each: the server of the one before ends when it likes.
# The loader's own "load" gives its server half a second to start, which a busy
# machine does not keep to. So the server is started here, and asked until it has
# loaded the file, or says that it cannot, or has ended. (Who asks before it
# listens takes it for dead, and its socket away.)
session=test0
load() { # FILE
	session=test$((${session#test} + 1))
	start server "$NODE" "$VIEWERS/firefox/dist/profiler-cli.js" --daemon "$1" --session "$session"
	LIMIT=600 until_true loaded_or_not
	[ "$loaded" = yes ]
}

loaded_or_not() {
	local ended=''
	pause
	lib_is_ours "$server_pid" && [ "${lib_stat[0]}" != Z ] || ended=yes
	loaded=no
	if grep -qs "Daemon ready" "$PROFILER_CLI_SESSION_DIR/$session.log"; then
		! pq status --session "$session" >/dev/null || loaded=yes
		[ $loaded = yes ] || [ "$ended" ] || grep -q "Profile load failed" "$T/viewer.err"
	else
		[ "$ended" ]
	fi
}

# Every line of the trace as the marker it must be.
markers='def markers: .[] | select(.tid) | (
	if .type == "span" then {n: .group} elif .type == "gc" then {n: "Collection"}
	elif .type == "block" then {n: "Blocking call"}
	elif .type == "event" then if .implicit then empty
		else {n: (if .label == "" then "Event" else .label end)},
			if .wall_ns > 50000000 then {n: "Jank"} else empty end end
	elif .type == "value" then empty else {n: {input: "Input", frame: "Frame"}[.type]} end)
	+ {tid, ns: (.duration_ns // 0)};'

check_threads() { # NAME
	local name=$1 handle tid
	pq thread list --session "$session" --json >"$T/threads"
	jq -sc "$markers [markers] | group_by(.tid) | map({tid: .[0].tid, n: length})" \
		"$T/$name.ndjson" >"$T/want"
	eq "$name: markers a thread" "$(jq -c '[.threads[] | select(.tid > 0)
		| {tid, n: .markerCount}] | sort_by(.tid)' "$T/threads")" "$(cat "$T/want")"
	while read -r handle tid; do
		pq thread markers --session "$session" --thread "$handle" --json >"$T/markers"
		# An average times a count is a sum, within what doubles have of a ns.
		eq "$name: durations by marker, thread $tid" "$(jq -c '[.byType[] | {n: .markerName,
			count, ns: ((.durationStats.avg // 0) * .count * 1e6 | round)}] | sort_by(.n)' "$T/markers")" \
			"$(jq -sc --argjson tid "$tid" "$markers [markers | select(.tid == \$tid)] | group_by(.n)
			| map({n: .[0].n, count: length, ns: (map(.ns) | add)})" "$T/$name.ndjson")"
	done < <(jq -r '.threads[] | select(.tid > 0) | "\(.threadHandle) \(.tid)"' "$T/threads")
}

check_counters() { # NAME
	# What the loader says is the range over 0, its dummy first sample, and all.
	eq "$1: counters" "$(pq counter list --session "$session" --json | jq -c '[.counters[] | {name,
		n: .rangeSampleCount, range: (.stats[] | select(.source == "count-range") | .value)}]
		| sort_by(.name, .range)')" "$(jq -sc '
		[.[] | (if .type == "gc" then {n: "gc heap", v: (.bytes_before, .bytes_after)}
		elif .type == "value" then {n: .label, v: .value} else empty end) + {pid, tid}]
		| group_by(.pid, .tid, .n) | map({name: (.[0].n + if .[0].tid == .[0].pid then ""
		else " (\(.[0].tid))" end), n: (length + 1), range: (map(.v) + [0] | max - min)})
		| sort_by(.name, .range)' "$T/$1.ndjson")"
}

make_recordings || not_ok "make recordings" "$?"
for name in $recordings; do
	[ "$name" != cut ] || continue # below
	figures "$name" && export_to "$name" firefox "$T/$name.profile.json.gz" || continue
	if ! load "$T/$name.profile.json.gz"; then
		not_ok "$name: loads" "$(tail -n 3 "$T/viewer.err")"
		continue
	fi
	# Replaced bytes make names differ from those in the other file.
	[ "$name" = hostile ] || [ "$name" = long ] || check_threads "$name"
	[ "$name" != hostile ] && [ "$name" != long ] ||
		eq "$name: markers" "$(pq thread list --session "$session" --json | jq '[.threads[].markerCount] | add')" \
			"$(jq -s "$markers [markers] | length" "$T/$name.ndjson")"
	check_counters "$name"
	pq stop "$session" >/dev/null
done

for name in cut "$many"; do
	export_to "$name" firefox "$T/$name.profile.json"
	if load "$T/$name.profile.json"; then
		eq "$name: markers" "$(pq thread list --session "$session" --json | jq '[.threads[].markerCount] | add')" \
			"$(ends_well "$VMSPAN" report "$T/$name.vmspan" --json 2>/dev/null |
				jq '([.groups[] | select(.kind == "top") | .spans] | add) + .events.count')"
		pq stop "$session" >/dev/null
	else
		not_ok "$name: loads" "$(tail -n 3 "$T/viewer.err")"
	fi
	rm "$T/$name.profile.json"
done

# Sampled stacks: time by function, itself and with what it called.
ends_well "$B/golden/make_recording" sampled "$T/sampled.vmspan"
export_to sampled firefox "$T/sampled.profile.json"
export_to sampled collapsed "$T/sampled.txt"
if load "$T/sampled.profile.json"; then
	ok "sampled: loads"
else
	not_ok "sampled: loads" "$(tail -n 3 "$T/viewer.err")"
fi
eq "sampled: time by function" "$(pq thread functions --session "$session" --json --include-idle --limit 0 |
	jq -c '[.functions[] | [.name, (.selfSamples * 1e6 | round), (.totalSamples * 1e6 | round)]] | sort')" \
	"$(jq -RSc -n '[inputs | capture("^(?<s>.*) (?<ns>[0-9]+)$")
		| {s: (.s | split(";")[2:]), ns: (.ns | tonumber)} | select(.s != [])] | . as $all
		| [.[].s[]] | unique | map(. as $f | [$f, ([$all[] | select(.s[-1] == $f) | .ns] | add // 0),
		([$all[] | select(.s | index($f)) | .ns] | add)]) | sort' "$T/sampled.txt")"
eq "sampled: a category a group" "$(pq thread functions --session "$session" --json --include-idle --limit 0 |
	jq -c '[.functions[].library | values] | unique')" \
	'["addon:heavy","addon:light","page:(stdlib)","plugin:shop"]'
pq stop "$session" >/dev/null

# The checks above can fail.
check "a profile without a thread is made" jq '.threads = []' <(gunzip <"$T/basic.profile.json.gz")
mv "$T/check.out" "$T/none.json"
load "$T/none.json"
eq "without a thread it does not load" "$? $(grep -c 'Profile load failed' "$T/viewer.err")" "1 1"
pq stop "$session" >/dev/null
