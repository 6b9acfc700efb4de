#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Stock VMs that are not as one would have them: clear words, bounded work, and
# nothing lost.
# shellcheck disable=SC2154 # start and start_app set NAME_pid
# shellcheck source=tests/stock/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/tasks_lib.sh
. "$(dirname "$0")/../tasks_lib.sh"

PYTHON=/usr/bin/python3.11
PHP=/usr/bin/php8.2
if [ ! -x $PYTHON ] || [ ! -x $PHP ] || ! command -v objcopy >"$T/which"; then
	skip_rest "bad VMs" "no $PYTHON, $PHP or objcopy: tools/install-deps --vms"
fi
mkdir -p "$T/app/site-packages" "$T/v"
cp "$APPS/plugin.py" "$T/app/site-packages/heavy.py"
export PYTHONPATH="$T/app/site-packages"
patched() { # NAME WHAT...: a copy of CPython; its path is $T/NAME/python3.11
	mkdir "$T/$1"
	$PYTHON "$APPS/patch_elf.py" $PYTHON "$T/$1/python3.11" "${@:2}"
	chmod +x "$T/$1/python3.11"
}

# Records the program while it uses so many seconds of CPU time.
record_work() { # FILE SECONDS ARGUMENT...
	start_record "$1" "$app_pid" "${@:3}"
	works "$app_pid" "$2"
	rec_ticks=$(cpu_ticks "$rec_pid")
	finish rec INT
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
json_eq "a version without a table: without it a sweep is not complete" "$T/s.json" .left_out 1
"$VMSPAN" report "$T/s" >"$T/s.txt"
check "a version without a table: in words" grep -q 'INCOMPLETE: 1 process left out' "$T/s.txt"

patched other build-id
app "$T/other/python3.11" "$APPS/odd.py" threads 0
record_work "$T/o" 1
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
record_work "$T/b" 1
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
	record_work "$T/e" 1
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

# ---- A library that nobody uses ----

library=$(ldconfig -p | sed -n 's/.*libpython3\.11\.so\.1\.0 .*=> //p' | head -n 1)
if [ -n "$library" ]; then
	unbegun "an interpreter that has not begun" "$library"
	check_status "an interpreter that has not begun: by its number" 4 "$VMSPAN" record -p "$app_pid" -o "$T/r"
	check "an interpreter that has not begun: that is why" grep -q 'cannot be walked: it has not begun yet' "$T/err"

	# A child begins it: of one that is waited for, and of a command.
	late() { # NAME RECORDING
		local kid
		wait_line app '^working' >"$T/line" && kid=$(sed -n 's/^working //p' "$T/app.out")
		works "$kid" 5
		finish rec INT
		report "$2"
		json_eq "$1: its stacks are looked at" "$2.json" \
			'[.left_out, ([.groups[] | select(.kind == "package") | .samples] | add > 20)]' '[null,true]'
	}
	start rec "$VMSPAN" record --comm "ed$$" -o "$T/k"
	wait_line rec '^recording' err >"$T/line"
	app "$T/ed$$" "$library"
	send app f
	late "a child that begins later, by its name" "$T/k"
	app "$T/ed$$" "$library"
	start rec "$VMSPAN" record -p "$app_pid" --wait -o "$T/w"
	wait_line rec '^recording' err >"$T/line"
	send app f
	late "a child that begins later, of one that is waited for" "$T/w"
else
	skip "a library that nobody uses" "no libpython3.11: tools/install-deps --vms"
fi

# ---- 400,000 notes ----

mkdir "$T/notes"
$PYTHON "$APPS/patch_elf.py" $PYTHON "$T/notes/section" notes 400000
objcopy --update-section .note.stapsdt="$T/notes/section" $PYTHON "$T/notes/python3.11"
rm "$T/notes/section"
app "$T/notes/python3.11" "$APPS/odd.py" threads 0
record_work "$T/n" 1
report "$T/n"
json_eq "400,000 notes: its own are found" "$T/n.json" \
	'[.groups[] | select(.name == "package:heavy") | .samples > 3]' '[true]'
check "400,000 notes: in less than 10 s of CPU time: $rec_ticks ticks" \
	test "$rec_ticks" -gt 0 -a "$rec_ticks" -lt $((10 * $(getconf CLK_TCK)))

# ---- 5,000 threads ----

if [ "$(tasks_free)" -lt 5100 ]; then
	skip "5,000 threads" "only $(tasks_free) may be made here"
else
	app $PYTHON "$APPS/odd.py" threads 5000
	check "5,000 threads are there" test "$(find "/proc/$app_pid/task" -maxdepth 1 | wc -l)" -gt 5000
	record_work "$T/t" 1
	report "$T/t"
	json_eq "5,000 threads: the one that works is seen" "$T/t.json" \
		'[.groups[] | select(.name == "package:heavy") | .self_samples / .samples > 0.9 and .samples > 5]' '[true]'
	json_eq "5,000 threads: nothing is lost" "$T/t.json" '[.losses[]] | add' 0
	check_ledger "5,000 threads" "$T/t.json"
fi

# ---- Names that are no text ----

app $PYTHON "$APPS/odd.py" names
record_work "$T/x" 2 --hz 999
report "$T/x"
json_eq "names that are no text: four groups, and JSON" "$T/x.json" \
	'[.groups[] | select(.kind == "package" and .self_samples > 3)] | length >= 4' true
"$VMSPAN" report "$T/x" >"$T/x.txt"
check "names that are no text: nothing of them reaches the terminal" \
	eval '! LC_ALL=C grep -qP "[\x00-\x08\x0b-\x1f\x7f]|\xe2\x80\xae" "$T/x.txt"'
check "names that are no text: nor are they cut within a character" iconv -f UTF-8 -t UTF-16 -o "$T/utf16" "$T/x.txt"
json_eq "names that are no text: nothing is lost" "$T/x.json" '[.losses[]] | add' 0

# ---- A reader that is stopped ----

# Some 3,000 looks into a ring that has room for 150. What a program without a loop is told of
# besides are its stays on the CPU, ten a second.
app $PYTHON "$APPS/odd.py" threads 0
start_record "$T/q" "$app_pid" --hz 999 --buffer 64K
kill -s STOP "$rec_pid"
works "$app_pid" 3
kill -s CONT "$rec_pid"
finish rec INT
report "$T/q"
json_eq "a reader that is stopped: each look that found no room is counted" "$T/q.json" \
	'[(.losses.ring_full > 1500), (.groups[] | select(.name == "package:heavy") | .samples > 3)]' '[true,true]'
check_ledger "a reader that is stopped" "$T/q.json"

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
