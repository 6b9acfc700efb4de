#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A turn that hangs is told of while it does, and as it ends; one whose span changed CPU is told of too.
# shellcheck source=tests/attach_lib.sh
. "$(dirname "$0")/../attach_lib.sh"

# Set by target, by name.
vm_pid=''
if ! build "$T/vm" tests/vm/steady.c -pthread; then
	not_ok "build" "the program of this test does not build"
	exit 1
fi

watch() { # ARGUMENTS...: until it is attached
	start watch "$VMSPAN" watch -p "$vm_pid" "$@"
	need_line watch '^watching ' err
}

# Of all that was told of the group, for jq.
told() { # FILTER
	jq -s "map(select(.group == \"addon:first\")) | $1" "$T/watch.out"
}

is_told() { # FILTER
	[ "$(told "$1")" = true ]
}

# ---- A hang ----

cat >"$T/hook" <<'END'
#!/bin/sh
cat >>"$1"
END
chmod +x "$T/hook"
target vm "$T/vm"
watch --json --exec "$T/hook $T/hook.json" --dump "$T/dumps"
tell vm "event 3" "open" "burn 1100"
# Where others have the CPU it may have had less of it by then than it is long: it is to blame from its threshold on.
check "it is told of while it hangs" until_true is_told 'any(.type == "open" and .cause == "own")'
eq "with what it is in, and since when" "$(told '.[0] | [.id, .cause, .loop, .occurrences, .event.label, .threshold_ns] | tojson')" \
	"$(jq -n '[0, "own", "addon:first", 1, "turn", 64000000] | tojson')"
eq "it is so long" "$(told '.[0] | .total_ns >= 1000000000 and .cpu_ns >= .threshold_ns and .cpu_ns <= .total_ns and .total_ns <= .event.wall_ns')" true
eq "its stack of groups so far" "$(told '.[0].tree | map([.depth, .name]) | tojson')" '"[[0,\"first\"],[1,\"first/2\"]]"'
eq "its ledger sums up" "$(told '.[0].event | (.ledger | add) == .wall_ns')" true
eq "in words" "$(told '.[0].sentence | test("^addon:first has held .*loop for [0-9.]+ s so far")')" true
check "the command is run for it" until_true test -s "$T/hook.json"
eq "with the same object" "$(head -n 1 "$T/hook.json" | jq -c '[.type, .total_ns]')" "$(told '.[0] | [.type, .total_ns]' | jq -c .)"
# A look comes each second: what it burns meanwhile is another one.
tell vm "burn 1100" "close"
check "its end is told" until_true is_told 'any(.type == "alert")'
eq "once each" "$(told 'map(.type) | tojson')" '"[\"open\",\"alert\"]"'
eq "the end is an alert of the same turn, and longer" \
	"$(told '.[1].id > 0 and .[0].event.iteration == .[1].event.iteration and .[0].event.begin_ns == .[1].event.begin_ns
	and .[1].total_ns >= .[0].total_ns + 1100000000 and .[1].cpu_ns >= 2200000000')" true
eq "the recording around it is of the whole turn" "$(told 'map(.dump | type) | tojson')" '"[\"null\",\"string\"]"'

# The next one is another one. It goes on when the watch ends.
tell vm "open" "burn 1100"
check "the next one is told of too" until_true is_told 'map(.type) == ["open", "alert", "open"]'
rc=0
finish watch INT || rc=$?
eq "status" "$rc" 0
check "at its end the watch says so" grep -q '^1 alert shown, .*; 1 event had not ended: .* in addon:first' "$T/watch.err"
eq "and has told nothing more" "$(told length)" 3
dismiss vm

# Who waits for what never comes, for five seconds: not to blame by its CPU time, and shown all the same.
target vm "$T/vm"
watch --json
tell vm "open"
check "what stands still is told of" until_true is_told 'map([.type, .cause]) == [["open", "system"]]'
eq "when it has for so long" "$(told '.[0].total_ns >= 5000000000')" true
tell vm "close"
check "and its end" until_true is_told 'map([.type, .cause]) == [["open", "system"], ["alert", "system"]]'
finish watch INT
dismiss vm

# Who asks for words gets these.
target vm "$T/vm"
watch
tell vm "open" "burn 1100"
check "for people" until_true grep -q ' addon:first has held .* loop for [0-9.]* s so far.* \[SLOWDOWN\]$' "$T/watch.out"
check "with its tree" until_true grep -q '^ .* first, .* of it itself' "$T/watch.out"
finish watch INT
dismiss vm

# ---- A span that changes CPU ----

target vm "$T/vm"
if [ "$(nproc)" -gt 1 ]; then
	watch --json
	tell vm "cpu 0" "open" "burn 100" "cpu 1" "close"
	check "what changed CPU is told of" until_true is_told 'any(.type == "alert")'
	eq "as the group's doing, and charged to nobody" "$(told '.[0] | [.cause, .uncharged_ns == .total_ns, .history.wall_ns] | tojson')" \
		'"[\"own\",true,0]"'
	eq "in words too" "$(told '.[0].sentence | endswith("; not charged: it changed CPU")')" true
	finish watch INT
	check "at its end the watch says how much" grep -q '^charged to nobody: .*, the own time of spans that changed CPU' "$T/watch.err"
	watch --json --keep-moved
	tell vm "cpu 0" "open" "burn 100" "cpu 1" "close"
	check "where it is kept it is charged" until_true is_told 'any(.type == "alert")'
	eq "to its group" "$(told '.[0] | [.uncharged_ns, .history.wall_ns == .total_ns] | tojson')" '"[0,true]"'
	finish watch INT
else
	skip "a span that changes CPU" "there is one CPU"
fi
dismiss vm
