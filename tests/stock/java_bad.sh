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

# ---- Short-lived, late, and never ----

cat >"$T/Hello.java" <<-'END'
	public class Hello {
	    public static void main(String[] args) {
	        System.out.println("hello");
	    }
	}
END
$JDK/bin/javac -d "$T" "$T/Hello.java"
cat >"$T/many" <<-'END'
	for i in 1 2 3 4 5 6 7 8 9 10; do
	    "$1" -cp "$2" Hello
	    "$1" -version
	    "$1" -Xbogus
	done
END
"$VMSPAN" record -q -o "$T/short" -- sh "$T/many" $JDK/bin/java "$T" >"$T/many.out" 2>"$T/many.err" || :
eq "JVMs that end at once: they have run" "$(grep -c '^hello' "$T/many.out")" 10
report "$T/short"
json_eq "JVMs that end at once: none is left out" "$T/short.json" '[.left_out, ([.processes[].notes] | add)]' '[null,null]'

# Its heap is touched before it begins: that takes longer than the first looks.
ln -s $JDK/bin/java "$T/jv$$"
start rec "$VMSPAN" record --comm "jv$$" -o "$T/late"
wait_line rec '^recording' err >"$T/line"
app "$T/jv$$" -XX:+UseSerialGC -Xms1g -Xmx1g -XX:+AlwaysPreTouch -cp "$T" App
works "$app_pid" 8
finish rec INT
report "$T/late"
json_eq "a JVM that takes long to begin: its stacks are looked at" "$T/late.json" \
	'[.left_out, (.groups[] | select(.name == "package:(main)") | .samples > 3)]' '[null,true]'

unbegun "a JVM that is never begun" $JDK/lib/server/libjvm.so
