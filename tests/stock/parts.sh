#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A stock VM: looks at its stacks and its collections come and go while it is traced.
# shellcheck disable=SC2154 # the helpers set their variables
# shellcheck source=tests/stock/lib.sh
. "$(dirname "$0")/lib.sh"
PYTHON=/usr/bin/python3.11
if [ ! -x $PYTHON ]; then
	skip_rest "CPython" "no $PYTHON: tools/install-deps --vms"
fi
# shellcheck source=tests/attach_lib.sh
. "$(dirname "$0")/../attach_lib.sh"
# shellcheck source=tests/parts_lib.sh
. "$(dirname "$0")/../parts_lib.sh"

mkdir -p "$T/app/site-packages"
for n in heavy middle light; do
	cp "$APPS/plugin.py" "$T/app/site-packages/$n.py"
done
cp "$APPS/app.py" "$T/app"
start_app env PYTHONPATH="$T/app/site-packages" $PYTHON "$T/app/app.py"
target probe "$T/part_probe" "$app_pid" hz=199
ask gc 3 >/dev/null
ask run 1 >/dev/null
eq "all of it" "$(look '[.gc.count, .events.samples > 50, .not_measured]')" '[3,true,null]'
eq "both are let go" "$(part "off $((GC + SAMPLES))")" ok
part poll >/dev/null
eq "their links are gone" "$(links 'walk_tick|vm_gc_(begin|end)')" 0
before=$(runs 'walk_tick|vm_gc_(begin|end)')
look '[.events.samples, .events.count, .ledger.lost_ns]' >"$T/then"
ask gc 2 >/dev/null
ask run 1 >/dev/null
eq "their programs do not run" "$(runs 'walk_tick|vm_gc_(begin|end)')" "$before"
# The plugins used a second of CPU time in that, in turns of some ms.
eq "who ran is not known, and said to be" "$(look "$(jq -c . "$T/then")"' as $t | [.gc.count,
	.events.count > $t[1], .ledger.lost_ns > $t[2] + 500000000, .events.incomplete > 10,
	(.not_measured | map([.part, .now]))]')" '[3,true,true,true,[["gc",true],["samples",true]]]'
eq "the ledger adds up" "$(look "$sums")" true
eq "both are back" "$(part "on $((GC + SAMPLES))")" ok
part poll >/dev/null
look '[.events.samples, .ledger.lost_ns]' >"$T/then"
ask gc 4 >/dev/null
ask run 1 >/dev/null
eq "counts are right again" "$(look "$(jq -c . "$T/then")"' as $t | [.gc.count, .events.samples > $t[0] + 50,
	.ledger.lost_ns < $t[1] + 500000000, (.not_measured | map([.part, .now]))]')" \
	'[7,true,true,[["gc",false],["samples",false]]]'
# What began without looks has been told by now.
look '[.ledger.lost_ns, .events.incomplete]' >"$T/then"
ask run 1 >/dev/null
eq "and nothing is lost any more" "$(look '[.ledger.lost_ns, .events.incomplete]')" "$(cat "$T/then")"
eq "all goes, and comes back" "$(part "off $TURNS"; part poll; links 'walk_.*|loop_.*|vm_gc_.*'; part "on $TURNS"; part poll)" "ok
ok
0
ok
ok"
around=$(ask truth)
had=$(look .events.count)
begun=$(ask truth)
ask gc 2 >/dev/null
last=$(ask run 1)
had=$(($(look .events.count) - had))
jq -sc . <<<"$around$begun$last$(ask truth)" >"$T/answers"
check_turns "and is whole: as many events as turns" $had turns
eq "and as many collections" "$(look .gc.count) $(look "$sums")" '9 true'
dismiss probe
