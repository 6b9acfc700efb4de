#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# CPython as Debian builds it, under load, attached to by PID.
# shellcheck disable=SC2154 # start_app sets app_pid
# shellcheck source=tests/stock/lib.sh
. "$(dirname "$0")/lib.sh"

PYTHON=/usr/bin/python3.11
if [ ! -x $PYTHON ]; then
	skip_rest "CPython" "no $PYTHON: tools/install-deps --vms"
fi
mkdir -p "$T/app/site-packages"
for n in heavy middle light; do
	cp "$APPS/plugin.py" "$T/app/site-packages/$n.py"
done
cp "$APPS/app.py" "$T/app"
start_app env PYTHONPATH="$T/app/site-packages" $PYTHON "$T/app/app.py"

check_sampled "10 s" package
json_eq "it says that it sampled" "$T/a.json" '[.source.method, .processes[0].vm]' '["sampled","cpython"]'
json_eq "each group says how sure its share is" "$T/a.json" \
	'[.groups[].self_share | .low_ppm <= .ppm and .ppm <= .high_ppm] | unique' '[true]'
check_turns "events are turns of the loop" "$(jq .events.count "$T/a.json")" turns
check_stacks "CPython"
check_kill "CPython" "$app_pid"
answer=$(ask gc 1)
json_eq "and answers" <(echo "$answer") '.gc > 0' true

# Who called: the standard library's time is that of the package that uses it.
report "$T/a" --attribute outermost
json_eq "--attribute outermost: sums too" "$T/a.json" \
	'.ledger | .self_ns + .gc_ns + .blocked_ns + .native_ns + .lost_ns - .event_wall_ns' 0

# A build nobody knows is refused, in words.
printf '[profile]\nname = cpython\nvm = cpython\nprovider = python\nfile = ^python3\nsymbol = _PyRuntime\nversion = Py_Version\n[layout 3.99]\n' >"$T/empty.ini"
check_status "a build without a table is refused" 1 "$VMSPAN" record -p "$app_pid" -o "$T/b" --profile "$T/empty.ini"
check "it says how to make one" grep -q "tools/gen-offsets cpython" "$T/err"
printf '[profile]\nname = x\nvm = cobol\n' >"$T/bad.ini"
check_status "a profile with an error" 2 "$VMSPAN" record -p "$app_pid" -o "$T/b" --profile "$T/bad.ini"
check "is shown with a caret" grep -q '\^' "$T/err"

# What a package waits for in a turn is blocked, and its; in the turn's own thread, of two.
cp "$APPS/sleeper.py" "$T/app/site-packages"
cp "$APPS/naps.py" "$T/app"
app env PYTHONPATH="$T/app/site-packages" $PYTHON "$T/app/naps.py"
start_record "$T/n" "$app_pid"
# The first turn began before anybody knew that it is one of a loop.
ask 1 >"$T/line"
ask 20 >"$T/line"
finish rec INT
report "$T/n"
json_eq "20 naps of 50 ms are blocked, and the package's" "$T/n.json" \
	'[.groups[] | select(.name == "package:sleeper")][0] | .blocked_ns >= 1e9 and
	.self_ns < .blocked_ns / 4 and .max_ns >= 1e9' true
json_eq "another thread's package does not wait with it" "$T/n.json" \
	'[.groups[] | select(.name == "package:heavy")][0] | .self_ns > 0 and .blocked_ns < 5e8' true
check_ledger "naps" "$T/n.json"

# Who is preempted does not wait, however long others have its CPU. In one turn, which is no
# wait either; held until somebody has taken the CPU.
preemptions() {
	sed -n 's/^nonvoluntary_ctxt_switches:[[:space:]]*//p' "/proc/$app_pid/status"
}
cp "$APPS/slow.py" "$T/app"
app "${ONE_CPU[@]}" env PYTHONPATH="$T/app/site-packages" $PYTHON "$T/app/slow.py"
start crowd "${ONE_CPU[@]}" bash -c 'while :; do :; done'
start_record "$T/p" "$app_pid"
for _ in 1 2 3 4 5; do
	before=$(preemptions)
	ask hold 1 >"$T/line"
	taken=$(($(preemptions) - before))
	[ $taken -lt 10 ] || break
done
finish rec INT
finish crowd KILL 2>"$T/finish"
report "$T/p"
check "preempted: somebody took the CPU: $taken times" test "$taken" -ge 10
json_eq "preempted: it has not waited" "$T/p.json" \
	'[.groups[] | select(.name == "package:heavy")][0] | .self_ns > 5e8 and .blocked_ns < .self_ns / 10' true
check_ledger "preempted" "$T/p.json"

# A server in C forks without Python's help, as uWSGI does: the child's thread keeps its parent's number.
cat >"$T/raw.py" <<-'EOF'
	import ctypes, signal, sys, threading, time
	libc = ctypes.CDLL(None)
	pid = libc.fork()
	if pid:
	    print("ready", pid, flush=True)
	    sys.stdin.read()
	libc.prctl(1, signal.SIGKILL)
	threading.Thread(target=time.sleep, args=(1000,)).start()
	while not pid:
	    pass
EOF
app $PYTHON "$T/raw.py"
child=$(sed -n 's/^ready //p' "$T/app.ready")
start_record "$T/raw" "$child"
works "$child" 1
finish rec INT
report "$T/raw"
json_eq "a child that Python knows nothing of: its stacks are seen" "$T/raw.json" \
	'[[.processes[].notes[]?.text], ([.groups[] | select(.kind == "package") | .samples] | add > 20)]' '[[],true]'
