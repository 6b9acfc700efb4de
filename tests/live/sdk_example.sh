# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# The VM author's examples under the tracer give what their page promises.
. "$(dirname "$0")/../lib.sh"

group() { # NAME FIELD: a jq filter
	echo ".groups[] | select(.name == \"$1\") | .$2"
}

check "example.c builds" gcc -O2 user/sdk/example.c -o "$T/c" -pthread
check "example.cc builds" g++ -O2 user/sdk/example.cc -o "$T/cc" -pthread

check "record -- example" "$VMSPAN" record -o "$T/c.vmspan" -- "$T/c"
"$VMSPAN" report --json "$T/c.vmspan" >"$T/c.json" || not_ok "report" "exit $?"
json_eq "events" "$T/c.json" .events.count 1000
json_eq "incomplete events" "$T/c.json" .events.incomplete 0
json_eq "spans of the speller" "$T/c.json" "$(group plugin:speller spans)" 1000
json_eq "spans of the dictionary" "$T/c.json" "$(group plugin:dictionary spans)" 3000
json_eq "events of the dictionary" "$T/c.json" "$(group plugin:dictionary events)" 1000
json_eq "its stopwatches, two of them inside the speller" "$T/c.json" \
	"$(group plugin:dictionary ticks)" 3000
json_eq "collections" "$T/c.json" .gc.count 10
json_eq "bytes freed" "$T/c.json" .gc.freed_bytes 480000
json_eq "losses" "$T/c.json" '[.losses[]] | add' 0
json_eq "the ledger sums" "$T/c.json" '.ledger | .self_ns + .gc_ns + .blocked_ns + .native_ns +
	.moved_ns + .stale_ns + .lost_ns == .event_wall_ns' true

check "record -- example, C++" "$VMSPAN" record -o "$T/cc.vmspan" -- "$T/cc"
"$VMSPAN" report --json "$T/cc.vmspan" >"$T/cc.json" || not_ok "report, C++" "exit $?"
json_eq "events, C++" "$T/cc.json" .events.count 1000
json_eq "spans of the reader, C++" "$T/cc.json" "$(group plugin:reader spans)" 1000
json_eq "spans of the parser, which throws, C++" "$T/cc.json" "$(group plugin:parser spans)" 1000
json_eq "losses, C++" "$T/cc.json" '[.losses[]] | add' 0
