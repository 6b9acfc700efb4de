#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# JVMs that are not as one would have them: clear words, and what can be seen is.
# shellcheck disable=SC2154 # start and start_app set NAME_pid
# shellcheck source=tests/stock/lib.sh
. "$(dirname "$0")/lib.sh"

JDK=/usr/lib/jvm/java-17-openjdk-amd64
PYTHON=/usr/bin/python3.11
if [ ! -x $JDK/bin/javac ] || [ ! -x $PYTHON ] || ! command -v objcopy >"$T/which"; then
	skip_rest "bad JVMs" "no $JDK, $PYTHON or objcopy: tools/install-deps --vms"
fi
jvm() { # NAME: a JDK with a library of its own, $T/NAME/lib/server/libjvm.so, to be made
	mkdir -p "$T/$1/bin" "$T/$1/lib/server"
	cp $JDK/bin/java "$T/$1/bin"
	ln -s $JDK/conf "$T/$1"
	ln -s $JDK/lib/* "$T/$1/lib" 2>"$T/line"
	ln -s $JDK/lib/server/* "$T/$1/lib/server"
	rm "$T/$1/lib/server/libjvm.so"
}
$JDK/bin/javac -d "$T" "$APPS/App.java"
jvm jdk
objcopy -R .note.stapsdt $JDK/lib/server/libjvm.so "$T/jdk/lib/server/libjvm.so"
app "$T/jdk/bin/java" -XX:+UseSerialGC -Xmx32m -cp "$T" App
start_record "$T/j" "$app_pid"
works "$app_pid" 1
finish rec INT
report "$T/j"
json_eq "a JVM without probes: its stacks are looked at" "$T/j.json" \
	'[.groups[] | select(.name == "package:(main)") | .samples > 3]' '[true]'
json_eq "and it is said what is left out" "$T/j.json" \
	'[.processes[0].notes[].text | test("its build has no probe")] | any' true

jvm hidden-jvm
$PYTHON "$APPS/patch_elf.py" $JDK/lib/server/libjvm.so "$T/hidden-jvm/lib/server/libjvm.so" \
	hide gHotSpotVMStructs
app "$T/hidden-jvm/bin/java" -XX:+UseSerialGC -Xmx32m -cp "$T" App
refused "a JVM that publishes nothing" "$app_pid" \
	'looks like jvm, but its symbol gHotSpotVMStructs is in none of its symbol tables'

jvm half
$PYTHON "$APPS/patch_elf.py" $JDK/lib/server/libjvm.so "$T/half/lib/server/libjvm.so" \
	hide gHotSpotVMTypes
app "$T/half/bin/java" -XX:+UseSerialGC -Xmx32m -cp "$T" App
start_record "$T/h" "$app_pid"
ask gc 7 >"$T/line"
finish rec INT
report "$T/h"
json_eq "a JVM whose frames cannot be walked: its safepoints are seen" "$T/h.json" \
	'[.source.method, .gc.count, .events.count >= 7]' '["exact",7,true]'
json_eq "a JVM whose frames cannot be walked: its figures are not complete" "$T/h.json" .left_out 1
json_eq "and why no more is seen is said" "$T/h.json" \
	'[.processes[0].notes[].text | test("its frames cannot be walked: what it publishes")] | any' true
