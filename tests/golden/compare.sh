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
"$VMSPAN" report "$T/a.vmspan" --json >"$T/report.json"
json_eq "the figures are the report's" "$T/out" '[.groups[] | {(.name): .after.p99_ns}] | add' \
	"$(jq -c '[.groups[] | {(.name): .p99_ns}] | add' "$T/report.json" |
		jq -c --argjson order "$(jq -c '[.groups[].name]' "$T/out")" '. as $v | [$order[] | {(.): $v[.]}] | add')"
check_status "--fail-if that holds" 1 "$VMSPAN" report "$T/a.vmspan" --fail-if '* wall >= 0s'
said "--fail-if that holds: which and for whom" "vmspan: failed: * wall >= 0s: "
check "--fail-if that holds: the report is there" grep -q '^GROUP' "$T/out"
check_status "--fail-if that does not hold" 0 "$VMSPAN" report "$T/a.vmspan" --fail-if '* max > 1000s' --fail-if 'none:* max > 0s'
check_status "--fail-if of nonsense" 2 "$VMSPAN" report "$T/a.vmspan" --fail-if 'addon:* p98 > 1ms'
said "--fail-if of nonsense: what there is" "Figures: mean, p50"
check_status "--fail-if slower of one recording" 2 "$VMSPAN" report "$T/a.vmspan" --fail-if slower
check_status "three recordings" 2 "$VMSPAN" report "$T/a.vmspan" "$T/a.vmspan" "$T/a.vmspan"
check_status "a second one that is not there" 1 "$VMSPAN" report "$T/a.vmspan" "$T/none"
