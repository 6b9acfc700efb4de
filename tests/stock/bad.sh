#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Stock VMs that are not as one would have them: clear words, bounded work, and
# nothing lost.
# shellcheck disable=SC2154 # start and start_app set NAME_pid
# shellcheck source=tests/stock/lib.sh
. "$(dirname "$0")/lib.sh"

PYTHON=/usr/bin/python3.11
PHP=/usr/bin/php8.2
JDK=/usr/lib/jvm/java-17-openjdk-amd64
if [ ! -x $PYTHON ] || [ ! -x $PHP ] || ! command -v objcopy >"$T/which"; then
	skip "bad VMs" "no $PYTHON, $PHP or objcopy: tools/install-deps --vms"
	exit 0
fi
mkdir -p "$T/app/site-packages" "$T/v"
cp "$APPS/plugin.py" "$T/app/site-packages/heavy.py"
export PYTHONPATH="$T/app/site-packages"
patched() { # NAME WHAT...: a copy of CPython; its path is $T/NAME/python3.11
	mkdir "$T/$1"
	$PYTHON "$APPS/patch_elf.py" $PYTHON "$T/$1/python3.11" "${@:2}"
	chmod +x "$T/$1/python3.11"
}
app() { # NAME COMMAND...: starts it; ends the one before
	[ -z "${app_in-}" ] || exec {app_in}>&-
	rm -f "$T/in"
	start_app "$@"
}
# What is refused says why, on one line, and what to do, on the next.
refused() { # NAME PID REGEX
	check_status "$1: refused" 1 "$VMSPAN" record -p "$2" -o "$T/r"
	check "$1: says why: $(head -c 300 "$T/err" | head -n 1)" grep -qE -- "$3" "$T/err"
	check "$1: and what to do" test "$(wc -l <"$T/err")" -ge 2
	"$VMSPAN" doctor -p "$2" --json >"$T/doctor.json"
	json_eq "$1: doctor says so too" "$T/doctor.json" \
		'[.processes[0].checks[] | select(.result == "fail") | .advice != ""]' '[true]'
	check "$1: the process lives on" kill -0 "$2"
}

# ---- Builds ----

patched version version 0x030463f0
app "$T/version/python3.11" "$APPS/odd.py" threads 0
refused "a version without a table" "$app_pid" 'cpython 3\.[0-9]+ \(build [0-9a-f]+\): its frames cannot be walked: no table'
# In a sweep there is nobody to refuse: it is said beside what others do.
ln -s "$T/version/python3.11" "$T/version/vb$$"
app "$T/version/vb$$" "$APPS/odd.py" threads 0
start rec "$VMSPAN" record --comm "vb$$" -o "$T/s"
wait_line rec '^recording' err >"$T/line"
finish rec INT
report "$T/s"
json_eq "a version without a table: a sweep goes on, and says so" "$T/s.json" \
	'[.processes[] | .notes[0].text | test("cannot be walked: no table")]' '[true]'

patched other build-id
app "$T/other/python3.11" "$APPS/odd.py" threads 0
start_record "$T/o" "$app_pid" --duration 2s
finish rec
report "$T/o"
json_eq "another build of a known version: its frames are checked, and walked" "$T/o.json" \
	'[.groups[] | select(.name == "package:heavy") | .samples > 3]' '[true]'
sed 's/^\[layout 3.11\]/&\nbuild_id = 00/; s/^thread_native_id = .*/thread_native_id = 8/' \
	user/profiles/cpython.ini >"$T/wrong.ini"
check_status "a table of another build is not used" 1 "$VMSPAN" record -p "$app_pid" -o "$T/r" --profile "$T/wrong.ini"
sed -i '/^build_id/d' "$T/wrong.ini"
check_status "a table that is wrong is noticed" 1 "$VMSPAN" record -p "$app_pid" -o "$T/r" --profile "$T/wrong.ini"
check "and why: $(head -n 1 "$T/err")" grep -q 'cannot be walked: .*thread' "$T/err"

patched hidden hide _PyRuntime
app "$T/hidden/python3.11" "$APPS/odd.py" threads 0
refused "a stripped interpreter" "$app_pid" 'looks like cpython, but its symbol _PyRuntime is in none of its symbol tables'

mkdir "$T/bare"
objcopy -R .note.stapsdt $PYTHON "$T/bare/python3.11"
app "$T/bare/python3.11" "$APPS/odd.py" threads 0
start_record "$T/b" "$app_pid" --duration 2s
finish rec
report "$T/b"
json_eq "a build without probes: its stacks are looked at" "$T/b.json" \
	'[.groups[] | select(.name == "package:heavy") | .samples > 3]' '[true]'
json_eq "and it is said what is left out" "$T/b.json" \
	'[.processes[0].notes[].text | test("its build has no probe python:gc__start")]' '[true]'

# ---- An interpreter in a program of another name ----

static=/usr/lib/python3.11/config-3.11-x86_64-linux-gnu/libpython3.11.a
if [ -e $static ] && [ -e /usr/include/python3.11/Python.h ]; then
	cat >"$T/embed.c" <<'END'
#include <Python.h>
int main(int argc, char **argv) { return Py_BytesMain(argc, argv); }
END
	cc -no-pie -o "$T/embedder" -I/usr/include/python3.11 "$T/embed.c" $static -lm -lz -lexpat -ldl -lutil
	app "$T/embedder" "$APPS/odd.py" threads 0
	start_record "$T/e" "$app_pid" --duration 2s
	finish rec
	report "$T/e"
	json_eq "a statically linked interpreter is known by its symbols" "$T/e.json" \
		'[.processes[0].vm, ([.groups[] | select(.name == "package:heavy") | .samples > 3][0])]' '["cpython",true]'
	strip -o "$T/v/python3.11" "$T/embedder"
	app "$T/v/python3.11" "$APPS/odd.py" threads 0
	refused "a statically linked one, stripped" "$app_pid" 'looks like cpython, but'
	cp "$T/v/python3.11" "$T/v/nameless"
	app "$T/v/nameless" "$APPS/odd.py" threads 0
	check_status "one that nothing gives away" 4 "$VMSPAN" record -p "$app_pid" -o "$T/r"
else
	skip "a statically linked interpreter" "no libpython3.11-dev: tools/install-deps --vms"
fi

# ---- 400,000 notes ----

mkdir "$T/notes"
$PYTHON "$APPS/patch_elf.py" $PYTHON "$T/notes/section" notes 400000
objcopy --update-section .note.stapsdt="$T/notes/section" $PYTHON "$T/notes/python3.11"
rm "$T/notes/section"
app "$T/notes/python3.11" "$APPS/odd.py" threads 0
began=$SECONDS
start_record "$T/n" "$app_pid" --duration 2s
finish rec
report "$T/n"
json_eq "400,000 notes: its own are found" "$T/n.json" \
	'[.groups[] | select(.name == "package:heavy") | .samples > 3]' '[true]'
check "400,000 notes: in seconds ($((SECONDS - began)) s)" test $((SECONDS - began)) -lt 20

# ---- 5,000 threads ----

app $PYTHON "$APPS/odd.py" threads 5000
check "5,000 threads are there" test "$(find "/proc/$app_pid/task" -maxdepth 1 | wc -l)" -gt 5000
start_record "$T/t" "$app_pid" --duration 3s
finish rec
report "$T/t"
json_eq "5,000 threads: the one that works is seen" "$T/t.json" \
	'[.groups[] | select(.name == "package:heavy") | .self_samples / .samples > 0.9 and .samples > 5]' '[true]'
json_eq "5,000 threads: nothing is lost" "$T/t.json" '[.losses[]] | add' 0
check_ledger "5,000 threads" "$T/t.json"

# ---- Names that are no text ----

app $PYTHON "$APPS/odd.py" names
start_record "$T/x" "$app_pid" --duration 3s --hz 999
finish rec
report "$T/x"
json_eq "names that are no text: four groups, and JSON" "$T/x.json" \
	'[.groups[] | select(.kind == "package" and .self_samples > 3)] | length >= 4' true
"$VMSPAN" report "$T/x" >"$T/x.txt"
check "names that are no text: nothing of them reaches the terminal" \
	eval '! LC_ALL=C grep -qP "[\x00-\x08\x0b-\x1f\x7f]|\xe2\x80\xae" "$T/x.txt"'
check "names that are no text: nor are they cut within a character" iconv -f UTF-8 -t UTF-16 -o "$T/utf16" "$T/x.txt"
json_eq "names that are no text: nothing is lost" "$T/x.json" '[.losses[]] | add' 0

# ---- From one VM to another ----

app $PYTHON "$APPS/odd.py" exec $PHP -r \
	'function f() { for ($x = $i = 0; $i < 1000; $i++) $x += $i; }
	$end = getrusage()["ru_utime.tv_sec"] + 2;
	while (getrusage()["ru_utime.tv_sec"] < $end) f();
	echo "answer done\n";'
start_record "$T/k" "$app_pid"
ask go >"$T/line"
# Its one request, if it was seen to begin, ends with it.
finish rec
report "$T/k"
json_eq "exec into another VM: both are there, by one PID" "$T/k.json" \
	'[.processes[] | [.pid == '"$app_pid"', .vm]]' '[[true,"cpython"],[true,"php"]]'
json_eq "exec into another VM: what each did" "$T/k.json" \
	'[.groups[] | select(.name == "package:heavy" or .name == "package:(main)") | .samples > 3]' '[true,true]'
check_ledger "exec into another VM" "$T/k.json"
json_eq "exec into another VM: nothing is lost" "$T/k.json" '[.losses[]] | add' 0

# ---- JVMs ----

jvm() { # NAME: a JDK with a library of its own, $T/NAME/lib/server/libjvm.so, to be made
	mkdir -p "$T/$1/bin" "$T/$1/lib/server"
	cp $JDK/bin/java "$T/$1/bin"
	ln -s $JDK/conf "$T/$1"
	ln -s $JDK/lib/* "$T/$1/lib" 2>"$T/line"
	ln -s $JDK/lib/server/* "$T/$1/lib/server"
	rm "$T/$1/lib/server/libjvm.so"
}
if [ -x $JDK/bin/javac ]; then
	$JDK/bin/javac -d "$T" "$APPS/App.java"
	jvm jdk
	objcopy -R .note.stapsdt $JDK/lib/server/libjvm.so "$T/jdk/lib/server/libjvm.so"
	app "$T/jdk/bin/java" -XX:+UseSerialGC -Xmx32m -cp "$T" App
	start_record "$T/j" "$app_pid" --duration 2s
	finish rec
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
	json_eq "and why no more is seen is said" "$T/h.json" \
		'[.processes[0].notes[].text | test("its frames cannot be walked: what it publishes")] | any' true
else
	skip "JVMs" "no $JDK: tools/install-deps --vms"
fi
