#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# report A B and --fail-if: what they say and how they end.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

"$B/golden/make_recording" basic "$T/a.vmspan" || exit 1

said() { # NAME WORDS
	if grep -qF -- "$2" "$T/err"; then
		ok "$1"
	else
		not_ok "$1" "'$2' is not in: $(tr '\n' ' ' <"$T/err")"
	fi
}

check_status "a recording with itself" 0 "$VMSPAN" report "$T/a.vmspan" "$T/a.vmspan" --fail-if slower
check "a recording with itself: nothing is slower" grep -q 'nothing is slower' "$T/out"
check_status "the same as JSON" 0 "$VMSPAN" report "$T/a.vmspan" "$T/a.vmspan" --json
json_eq "the same as JSON: one object" "$T/out" \
	'[.type, .slower, (.groups | length > 0), (.groups | map(.change) | unique), all(.groups[]; .before == .after)]' \
	'["comparison",0,true,["same"],true]'
ends_well "$VMSPAN" report "$T/a.vmspan" --json >"$T/report.json"
json_eq "the figures are the report's" "$T/out" '[.groups[] | {(.name): .after.p99_ns}] | add' \
	"$(jq -c '[.groups[] | {(.name): .p99_ns}] | add' "$T/report.json" |
		jq -c --argjson order "$(jq -c '[.groups[].name]' "$T/out")" '. as $v | [$order[] | {(.): $v[.]}] | add')"
check_status "--fail-if that holds" 1 "$VMSPAN" report "$T/a.vmspan" --fail-if '* wall >= 0s'
said "--fail-if that holds: which and for whom" "vmspan: failed: * wall >= 0s: "
check "--fail-if that holds: the report is there" grep -q '^GROUP' "$T/out"
check_status "--fail-if that does not hold" 0 "$VMSPAN" report "$T/a.vmspan" --fail-if '* max > 1000s' --fail-if 'none:* max > 0s'
# One that holds is enough, whichever it is.
check_status "--fail-if: the first of two holds" 1 "$VMSPAN" report "$T/a.vmspan" --fail-if '* wall >= 0s' --fail-if 'none:* max > 0s'
check_status "--fail-if: the second of two holds" 1 "$VMSPAN" report "$T/a.vmspan" --fail-if 'none:* max > 0s' --fail-if '* wall >= 0s'
check_status "--fail-if of nonsense" 2 "$VMSPAN" report "$T/a.vmspan" --fail-if 'addon:* p98 > 1ms'
said "--fail-if of nonsense: what there is" "Figures: mean, p50"
check_status "--fail-if slower of one recording" 2 "$VMSPAN" report "$T/a.vmspan" --fail-if slower
check_status "three recordings" 2 "$VMSPAN" report "$T/a.vmspan" "$T/a.vmspan" "$T/a.vmspan"
check_status "a second one that is not there" 1 "$VMSPAN" report "$T/a.vmspan" "$T/none"

# ---- Snapshots: what `stat --json` writes ----

# The form of a snapshot is that of a report, with histograms: made here of one.
snapshot() { # RECORDING FACTOR: every event that many times as long
	ends_well "$VMSPAN" report "$1" --json | jq -c --argjson f "$2" '.groups |= map(
		.wall_ns *= $f | .max_ns *= $f | .histogram = (if .events == 0 then [] else
			[[(.p50_ns * $f), .events]] end))'
}
snapshot "$T/a.vmspan" 1 >"$T/a.json"
{
	echo '{"schema":1,"groups":[]}'
	snapshot "$T/a.vmspan" 1
	printf '{"schema":1,"gro'
} >"$T/cut.json"
check_status "a snapshot with itself" 0 "$VMSPAN" report "$T/a.json" "$T/a.json" --fail-if slower
check_status "of several lines the last whole one counts" 0 "$VMSPAN" report "$T/a.json" "$T/cut.json" --json
json_eq "of several lines the last whole one counts: same" "$T/out" '[.slower, (.groups | map(.change) | unique)]' '[0,["same"]]'
check_status "a recording with a snapshot" 0 "$VMSPAN" report "$T/a.vmspan" "$T/a.json" --json
json_eq "a recording with a snapshot: ticks of one are those of the other" "$T/out" \
	'all(.groups[]; .before.events == .after.events and .before.self_ns == .after.self_ns)' true
# Many events: enough to tell a difference from chance.
# events HISTOGRAM: the groups' time is what their histogram says.
events() {
	jq -c ".groups |= map(.events = 1000 | .max_ns = 3000000 | .histogram = ($1) | .wall_ns = (.histogram | map(.[0] * .[1]) | add))" "$T/a.json"
}
events '[[1000000, 990], [2000000, 10]]' >"$T/fast.json"
events 'if .kind == "addon" then [[1000000, 400], [2000000, 600]] else [[1000000, 985], [2000000, 15]] end' >"$T/slow.json"
check_status "what got slower, beyond chance" 1 "$VMSPAN" report "$T/fast.json" "$T/slow.json" --json --fail-if slower
json_eq "regressions first, noise is none" "$T/out" \
	'[(.groups | map(select(.change == "slower").name) | map(split(":")[0]) | unique), .groups[0].change,
	(.groups | map(select(.change != "slower").change) | unique)]' '[["addon"],"slower",["same"]]'
slower=$(jq .slower "$T/out")
check_status "what is not shown fails too" 1 "$VMSPAN" report "$T/fast.json" "$T/slow.json" --top 1 --json --fail-if slower
json_eq "what is not shown is counted" "$T/out" '[(.groups | length), .slower]' "[1,$slower]"
check "there is more than is shown" test "$slower" -gt 1
jq -c '.losses.ring_full = 3' "$T/slow.json" >"$T/lossy.json"
check_status "what lacks something" 0 "$VMSPAN" report "$T/slow.json" "$T/lossy.json"
check "what lacks something says so" grep -qx "$T/lossy.json: INCOMPLETE: .*3 records lost" "$T/out"
check_status "--fail-if of a snapshot" 1 "$VMSPAN" report "$T/slow.json" "$T/slow.json" --fail-if 'addon:* p50 > 1ms'
said "--fail-if of a snapshot: which" "failed: addon:* p50 > 1ms: addon:"
for bad in '{}' '{"schema":1,"groups":[{}]}' '{"schema":2,"groups":[]}' '{"schema":1,"groups":[' '[1]' \
	'{"schema":1,"groups":[{"name":1}]}'; do
	echo "$bad" >"$T/bad.json"
	check_status "no snapshot: $bad" 1 "$VMSPAN" report "$T/a.json" "$T/bad.json"
done
jq -c 'del(.groups[].histogram)' "$T/a.json" >"$T/bad.json"
check_status "a report instead of a snapshot" 1 "$VMSPAN" report "$T/bad.json" "$T/a.json"
said "a report instead of a snapshot: words" "its groups have no histograms"
jq -c '.groups[0].histogram = [[5, 1]] | .groups[0].events = 7' "$T/a.json" >"$T/bad.json"
check_status "a histogram that is not of its events" 1 "$VMSPAN" report "$T/bad.json" "$T/a.json"
