#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The attach matrix: processes that fork, execute other programs, end at once,
# or are many. Every span is counted, none is lost.
# shellcheck source=tests/attach_lib.sh
. "$(dirname "$0")/../attach_lib.sh"
# shellcheck source=tests/tasks_lib.sh
. "$(dirname "$0")/../tasks_lib.sh"

vm_pid=''
take_programs crowd plain
# Marks before an exec, outside of any event, are not handed over: the programs
# here make none then.

# ---- Children ----

target vm "$T/crowd"
attach a -p "$vm_pid"
tell vm "spans 3" "storm 1000 7" "double 31" "spans 5"
detach a
eq "fork storm, 1,000 short-lived children, and a double fork: every span" \
	"$(counts a '[.spans, .forks, .exits, (.pids | length)]')" '[7039,1002,1002,1002]'
eq "fork storm: nothing lost, all defined" "$(counts a "$clean")" "$none"
eq "fork storm: the target is as it was" "$(state "$vm_pid")" "$untouched"

# ---- Threads ----

# Some hundred are for who runs this, and for others beside it.
threads=2000 free=$(tasks_free)
if [ "$free" -lt $((threads + 500)) ]; then
	skip "2,000 threads at once" "there may be $free processes and threads more here (ulimit -u, pids.max): 64 are made"
	threads=64
fi
attach a -p "$vm_pid"
tell vm "threads $threads 11"
detach a
eq "$threads threads at once: every span" "$(counts a '[.spans, .threads, .thread_ends]')" \
	"[$((threads * 11)),$threads,$threads]"
eq "$threads threads at once: nothing lost, all defined" "$(counts a "$clean")" "$none"
dismiss vm

# ---- A command, and whatever it executes ----

run_command a -- "$T/crowd" "storm 200 7" "double 31" "threads $threads 11" "spans 5"
eq "a command with children and threads: every span" "$(counts a '[.spans, .status]')" \
	"[$((200 * 7 + 31 + threads * 11 + 5)),0]"
eq "a command with children and threads: all defined" "$(counts a "$clean")" "$none"
run_command a -- "$T/steady" "spans 1"
eq "a command that ends at once" "$(counts a '[.spans, .status]')" '[1,0]'
run_command a -- "$T/plain" "run $T/steady 13" "run $T/crowd 17" "run $T/steady 19"
eq "a command without probes that runs others: every span" "$(counts a '[.spans, .execs, .status]')" \
	'[49,3,0]'
eq "a command without probes that runs others: all defined" "$(counts a "$clean")" "$none"
run_command a -- "$T/plain" "into $T/steady 13"
eq "exec into an instrumented program: every span" "$(counts a '[.spans, .status]')" '[13,0]'
run_command a -- "$T/crowd" "into $T/steady 13"
eq "exec of one instrumented program into another: every span" "$(counts a '[.spans, .status]')" \
	'[13,0]'
cat >"$T/script" <<-EOF
	#!/bin/sh
	for i in 1 2 3 4 5 6 7 8 9 10; do
		"$T/steady" "spans \$i" && "$T/crowd" "spans \$i"
	done
	exec "$T/steady" "spans 100"
EOF
chmod +x "$T/script"
run_command a -- "$T/script"
eq "a script that starts 21 processes of some milliseconds: every span" \
	"$(counts a '[.spans, .forks, .execs, .status]')" '[210,20,21,0]'
eq "a script: nothing lost, all defined" "$(counts a "$clean")" "$none"
# It waits for nobody, so it works when it has been attached to.
make_input e
start e "$PROBE" -- env -i "$T/steady"
open_input e
e_ready=$(wait_line e '^ready ')
check "a command that clears its environment is attached to" wait_armed "${e_ready#ready }"
send e "spans 13"
finish e
grep '^{' "$T/e.out" >"$T/e.json"
eq "a command that clears its environment: every span" "$(counts e '[.spans, .status]')" '[13,0]'
# What it may have marked before that is a loss, and nothing else is.
eq "a command that clears its environment: nothing lost beside, all defined" \
	"$(counts e "(.lost -= .marks_off) | $clean + [.marks_off < 2]")" "[0,0,0,0,true]"

# What is left in the environment of a process that outlives its tracer makes
# it wait for nobody.
# In the place of libc's function for any system call: nothing waits here, and it is counted.
cat >"$T/naps.c" <<-'EOF'
	#define _GNU_SOURCE
	#include <dlfcn.h>
	#include <sys/syscall.h>
	#include <unistd.h>
	long syscall(long n, ...)
	{
		long (*next)(long, long, long, long, long, long, long);
		__builtin_va_list v;
		long a[6];

		if (n == SYS_nanosleep)
			return write(2, "nap\n", 4) == 4 ? 0 : -1;
		__builtin_va_start(v, n);
		for (int i = 0; i < 6; i++)
			a[i] = __builtin_va_arg(v, long);
		__builtin_va_end(v);
		*(void **)&next = dlsym(RTLD_NEXT, "syscall");
		return next(n, a[0], a[1], a[2], a[3], a[4], a[5]);
	}
EOF
naps() { # PID [LIBRARY]: how often a program lies down to wait for that tracer
	LD_PRELOAD="$T/naps.so ${2-}" VMSPAN_WAIT=$1 "$T/steady" "spans 1" 2>&1 >/dev/null | grep -c nap
}
if "$CC" -shared -fPIC -o "$T/naps.so" "$T/naps.c" 2>"$T/cc.err" &&
	build "$T/copy.so" tests/vm/crowd.c -pthread -shared -fPIC -DCROWD_LIBRARY 2>"$T/cc.err"; then
	eq "a tracer that is gone is not waited for" "$(naps 4194304)" 0
	# Nor longer than a quarter of a second: on a busy machine they may be fewer.
	n=$(naps $$)
	check "one that never attaches is waited for 2500 times 100 us at most: $n times" \
		test "$n" -gt 0 -a "$n" -le 2500
	n=$(naps $$ "$T/copy.so")
	check "nor longer by a program with several copies: $n times" test "$n" -gt 0 -a "$n" -le 2500
else
	not_ok "how long a tracer is waited for" "a library cannot be built here: $(head -n 1 "$T/cc.err")"
fi

"$VMSPAN" record -q -o "$T/rec" -- "$T/script" 2>"$T/err"
"$VMSPAN" report "$T/rec" --json >"$T/report.json"
json_eq "vmspan record -- a script: every span" "$T/report.json" \
	'[.groups[] | select(.kind == "top") | .spans] | add' 210
json_eq "vmspan record -- a script: nothing lost" "$T/report.json" '.losses | add' 0
"$VMSPAN" record -q -o "$T/rec" -- "$T/crowd" "threads $threads 11" 2>"$T/err"
"$VMSPAN" report "$T/rec" --json >"$T/report.json"
json_eq "$threads threads: each span is its group's" "$T/report.json" \
	'[.groups[] | select(.name == "addon:crowd") | .spans] | add' $((threads * 11))

# ---- Under a trace by PID, without the wait ----

target vm "$T/plain"
check_status "a program without probes" 4 "$PROBE" -p "$vm_pid"
dismiss vm
target vm "$T/crowd"
attach a -p "$vm_pid"
tell vm "run $T/steady 13" "spans 7"
detach a
eq "by PID: what a child executes may begin untraced, never wrong" \
	"$(counts a '[.spans >= 7 and .spans <= 20, .gaps, .undefined, .execs]')" '[true,0,0,1]'
dismiss vm
