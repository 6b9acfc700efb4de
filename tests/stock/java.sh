#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# OpenJDK as Debian builds it, without any flag, under load, attached to by PID.
# shellcheck disable=SC2154 # start_app sets app_pid
# shellcheck source=tests/stock/lib.sh
. "$(dirname "$0")/lib.sh"

JAVA=/usr/lib/jvm/java-17-openjdk-amd64/bin
if [ ! -x $JAVA/javac ]; then
	skip_rest "OpenJDK" "no $JAVA/javac: tools/install-deps --vms"
fi
java_plugins "$T/out"
plugins=(heavy=heavy.Plugin middle=middle.Plugin light=light.Plugin)
hosts=(heavy=host.Hostheavy middle=host.Hostmiddle light=host.Hostlight)

# Shares against what the program measured, for five seconds of its work.
shares_of() { # NAME
	local answer
	start_record "$T/s" "$app_pid" --hz 999
	answer=$(ask run 5)
	finish rec INT
	report "$T/s"
	check_shares "$1" "$T/s.json" package "$(jq .before <<<"$answer")" "$(jq .used <<<"$answer")"
	check_ledger "$1" "$T/s.json"
}

start_app $JAVA/java -cp "$T/out" App "${plugins[@]}"
check_sampled "10 s" package
json_eq "it says that it sampled" "$T/a.json" '[.source.method, .processes[0].vm]' '["sampled","jvm"]'
"$VMSPAN" export "$T/a" -q -f ndjson -o "$T/events"
check_turns "events are turns of the loop" "$(jq -c 'select(.type == "event" and .thread == "worker")' "$T/events" |
	wc -l)" rounds
json_eq "collections lie in safepoints" "$T/a.json" '.ledger.gc_ns > 0' true
json_eq "the class library is a package of its own" "$T/a.json" \
	'[.groups[].name] | contains(["package:(stdlib)", "package:(main)"])' true
# Between looks in a row at a thread that runs; a timer with one period has the same from all
# of them. Of 200 periods drawn 80 would have to be within a part that has 36 of 100.
"$VMSPAN" export "$T/a" -q -f firefox -o "$T/looks"
json_eq "the timer does not keep step with the loop" "$T/looks" '[.threads[].samples.time |
	select(length > 1000)] | add as $t | [range(1; $t | length) | $t[.] - $t[. - 1] |
	select(. > 0.7 and . < 1.4)] | sort | length > 500 and .[length * 0.9 | floor] - .[length * 0.1 | floor] > 0.15' true
"$VMSPAN" export "$T/a" -f collapsed -o "$T/stacks" 2>"$T/err"
check "whole stacks: from the thread's begin to the innermost method" grep -qE \
	'run \(java/lang/Thread\);.*plugins \(App\);applyAsLong \(heavy/Plugin\);inner \(heavy/Plugin\) [0-9]+$' "$T/stacks"
"$VMSPAN" doctor -p "$app_pid" --json >"$T/doctor.json"
json_eq "doctor: it publishes what is needed" "$T/doctor.json" \
	'.processes[0].checks[] | select(.id == "vm_frames") | [.result, .detail]' \
	'["ok","it publishes its structures itself, and they are what they are here"]'
check_kill "OpenJDK" "$app_pid"
answer=$(ask gc 1)
json_eq "and answers" <(echo "$answer") '.gc > 0' true

# What is compiled into another package's method is still its own package's.
app $JAVA/java -cp "$T/out" App "${hosts[@]}"
shares_of "inlined"
json_eq "inlined: the method around it ran for next to nothing" "$T/s.json" \
	'[.groups[] | select(.name == "package:host") | .self_ns < 0.03 * .wall_ns]' '[true]'
# Where a place is between two that the VM tells of, of two methods, it may be either's.
vague='[.processes[].notes[]?.text | select(test("what its compiler has inlined"))] | length'
json_eq "inlined: that some of it is not sure is said" "$T/s.json" "$vague" 1
report "$T/s" --attribute outermost
json_eq "--attribute outermost: who called" "$T/s.json" \
	'[.groups[] | select(.kind == "package")] | sort_by(-.self_ns)[0].name' '"package:host"'

app $JAVA/java -XX:+UnlockDiagnosticVMOptions -XX:+DebugNonSafepoints -cp "$T/out" App "${hosts[@]}"
shares_of "inlined, and told of each place"
json_eq "inlined, and told of each place: nothing is said of it" "$T/s.json" "$vague" 0

app $JAVA/java -Xint -cp "$T/out" App "${plugins[@]}"
shares_of "interpreted"
app $JAVA/java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -cp "$T/out" App "${plugins[@]}"
shares_of "the quick compiler"
