#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Parts of a running trace come and go with their users: without any their BPF
# programs do not run and their links are gone, then counts are right again, and the
# figures say what was not measured.
# shellcheck disable=SC2154 # target and probe set their variables
# shellcheck source=tests/attach_lib.sh
. "$(dirname "$0")/../attach_lib.sh"
# shellcheck source=tests/parts_lib.sh
. "$(dirname "$0")/../parts_lib.sh"
# shellcheck source=tests/steal_lib.sh
. "$(dirname "$0")/../steal_lib.sh"
build "$T/marks" tests/vm/steady.c -DVMSPAN_PROBES -pthread

# ---- What the scheduler does ----
sched='sched_(switch|born|exec|waking)|(irq_handler|softirq|hrtimer_expire)_(entry|exit)'
target steady "$T/steady"
# Where it has one CPU only, no switch can be lost to the trace, though some are hidden from it.
taskset -apc "$(awk '/^Cpus_allowed_list:/ { split($2, cpu, "[-,]"); print cpu[1] }' "/proc/$steady_pid/status")" \
	"$steady_pid" >/dev/null
target probe "$T/part_probe" "$steady_pid" exact
steal_begin
tell steady "event 10"
eq "an event of exact mode" "$(look "[.events.count, $steal_explains, .spans, .not_measured]")" "[1,true,10,null]"
check "while it is wanted it runs" test "$(runs 'sched_switch')" -gt 0
eq "a second user" "$(part "on $BLOCKING")" ok
eq "one of two leaves" "$(part "off $BLOCKING")" ok
part poll >/dev/null
before=$(runs 'sched_switch')
tell steady "event 10"
check "the other is enough" test "$(runs 'sched_switch')" -gt "$before"
eq "and nothing is missing" "$(look "[.events.count, $steal_explains, .not_measured]")" "[2,true,null]"
eq "the last one leaves" "$(part "off $BLOCKING")" ok
part poll >/dev/null
eq "its links are gone" "$(links "$sched")" 0
before=$(runs "$sched")
tell steady "event 10" "threads 3 100" "event 10"
part poll >/dev/null
eq "its programs do not run" "$(runs "$sched")" "$before"
eq "events meanwhile are counted, and lack data" \
	"$(look '[.spans, .events.incomplete >= 2, (.not_measured | map([.part, .now]))]')" '[340,true,[["blocking",true]]]'
eq "the ledger adds up" "$(look "$sums")" true
lacking=$(look .events.incomplete) stolen=$(look .repairs.stolen_ns)
eq "nobody has it: words" "$(part "off $BLOCKING")" "-2 "
eq "it comes back" "$(part "on $BLOCKING")" ok
part poll >/dev/null
before=$(runs 'sched_switch')
tell steady "event 10" "threads 2 50" "event 10"
check "its programs run" test "$(runs 'sched_switch')" -gt "$before"
eq "events behind it are whole, threads born meanwhile too" \
	"$(look "[.spans, (.events.incomplete - $lacking) * 100000 <= .repairs.stolen_ns - $stolen, (.not_measured | map([.part, .now, .ns > 0]))]")" \
	'[460,true,[["blocking",false,true]]]'
eq "what happened to its threads meanwhile is no loss" "$(look '[.losses[]] | add')" 0
eq "the ledger adds up again" "$(look "$sums")" true
no_more_stolen "the scheduler's record" "$(look .repairs.stolen_ns)"
dismiss probe

# ---- Everything ----
target probe "$T/part_probe" "$steady_pid"
tell steady "event 10" "spans 5"
eq "turns: the last user leaves" "$(part "off $TURNS")" ok
eq "turns: what had been measured is all there" "$(look '[.spans, .events.incomplete]')" "[15,0]"
eq "turns: the target is as if nobody traced it" "$(state "$steady_pid")" "$untouched"
eq "turns: the links are gone" "$(links 'flush|armed|armed_multi')" 0
before=$(runs 'flush|armed|armed_multi')
figures='del(.source, .not_measured)'
look "$figures" >"$T/one"
tell steady "event 1000" "spans 1000" "gc 3"
look "$figures" >"$T/two"
same "turns: figures stand still" "$T/two" "$T/one"
eq "turns: no program runs" "$(runs 'flush|armed|armed_multi')" "$before"
eq "turns: a child is born meanwhile" "$(tell steady "fork 20"; look .spans)" 15
eq "turns: they come back" "$(part "on $TURNS")" ok
part poll >/dev/null
eq "turns: the target is traced" "$(state "$steady_pid")" "$traced"
tell steady "event 300" "fork 30" "spans 7"
eq "turns: the end of the trace" "$(part stop)" ok
eq "turns: counts are right again" \
	"$(look '[.spans, .events.incomplete, ([.losses[]] | add), .repairs.repaired, (.not_measured | map([.part, .now]))]')" \
	'[352,0,0,0,[["turns",false]]]'
dismiss probe
target probe "$T/part_probe" "$steady_pid" "without=$TURNS"
tell steady "event 10"
eq "turns: never asked for, never attached" "$(state "$steady_pid")$(look '[.spans, .not_measured[0].now]')" "${untouched}[0,true]"
dismiss probe

# Whose marks the tracer itself has turned off, ends without a loss.
target brief "$T/steady"
target probe "$T/part_probe" "$brief_pid"
tell brief "event 10"
eq "an end meanwhile: the last user leaves" "$(part "off $TURNS")" ok
dismiss brief
eq "an end meanwhile: no loss" "$(look '[.spans, ([.losses[]] | add)]')" '[10,0]'
dismiss probe

# ---- Who listens for alerts needs turns ----
target probe "$T/part_probe" "$steady_pid" "without=$TURNS"
eq "listeners: none, and nothing is traced" "$(part poll; state "$steady_pid")" "ok
$untouched"
eq "listeners: two come" "$(part listen; part listen; part poll)" "ok
ok
ok"
eq "listeners: for them it is" "$(state "$steady_pid")" "$traced"
tell steady "event 10"
eq "listeners: one who is not there cannot go" "$(part "unlisten 3")" "-2 "
eq "listeners: one goes" "$(part "unlisten 1"; part poll)" "ok
ok"
tell steady "event 20"
eq "listeners: the other is enough" "$(look .spans)$(state "$steady_pid")" "30$traced"
eq "listeners: the last one goes" "$(part "unlisten 2"; part poll)" "ok
ok"
eq "listeners: nothing is traced any more" "$(state "$steady_pid")$(links 'flush|armed|armed_multi')" "${untouched}0"
before=$(runs 'flush|armed|armed_multi')
tell steady "event 1000"
eq "listeners: no program runs" "$(runs 'flush|armed|armed_multi')$(look .spans)" "${before}30"
dismiss probe
dismiss steady

# ---- Conventional probes ----
target marks "$T/marks"
target probe "$T/part_probe" "$marks_pid" direct "without=$GC"
tell marks "gc 3" "event 2" "block 4"
eq "direct: collections are left out" \
	"$(look '[.gc.count, .spans, (.not_measured | map(.part))]')" '[0,2,["gc"]]'
eq "direct: no link of theirs" "$(links 'watch_gc_.*')$(runs 'watch_gc_.*')" 00
eq "direct: they come" "$(part "on $GC")" ok
part poll >/dev/null
tell marks "gc 3" "event 1"
eq "direct: blocking calls go" "$(part "off $BLOCKING")" ok
eq "direct: counts of both" "$(look '[.gc.count, .spans]')" '[3,3]'
eq "direct: a program ran for each" "$(runs 'watch_gc_begin') $(runs 'watch_bl_begin')" "3 4"
tell marks "block 5" "gc 2"
eq "direct: nobody looks at blocking calls" "$(runs 'watch_bl_begin')$(links 'watch_bl_.*')" 40
eq "direct: and the rest goes on" "$(part stop && look .gc.count)" "ok
5"
dismiss probe
dismiss marks
