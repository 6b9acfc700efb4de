#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The attach matrix: where a program lives and how it is linked. Each row has
# exact counts and leaves the target as it was; and its failing twin has words,
# a status and an end.
# shellcheck source=tests/attach_lib.sh
. "$(dirname "$0")/../attach_lib.sh"

v_pid='' other_pid=''

# A target that is traced by PID from outside.
row() { # NAME SPANS COMMAND...
	local name=$1 spans=$2
	shift 2
	target v "$@"
	find_pid
	attach a -p "$v_pid" || {
		not_ok "$name" "$(cat "$T/a.err")"
		dismiss v
		return
	}
	tell v "spans $spans" "fork 3"
	detach a
	eq "$name: exact counts" "$(counts a '[.spans, .forks]')" "[$((spans + 3)),1]"
	eq "$name: nothing lost, all defined" "$(counts a "$clean")" "$none"
	eq "$name: as it was" "$(state "$v_pid" | sort -u)" "$untouched"
	dismiss v
}

# unshare -f stays in between: the target is its child, or its grandchild.
find_pid() {
	local child
	while [ "$(cat "/proc/$v_pid/comm")" = unshare ]; do
		child=$(cat "/proc/$v_pid/task/$v_pid/children")
		v_pid=${child%% *}
	done
	lib_owns "$v_pid"
}

# ---- Namespaces ----

mounts=''
if unshare -m true 2>"$T/err"; then
	mounts=1
	mkdir "$T/mnt"
	row "another mount namespace" 1009 unshare -m sh -c \
		"mount -t tmpfs none '$T/mnt' && cp '$T/steady' '$T/mnt/' && exec '$T/mnt/steady'"
	row "another PID namespace" 1013 unshare -pf --mount-proc "$T/steady"
	unshare -pf --mount-proc "$PROBE" -- "$T/steady" "spans 31" "fork 7" >"$T/a.out" 2>"$T/a.err"
	grep '^{' "$T/a.out" >"$T/a.json"
	eq "the tracer inside a PID namespace: exact counts" \
		"$(counts a '[.spans, .forks, .exits]')" '[38,1,2]'
else
	skip "another mount and PID namespace" "unshare is not allowed here: $(head -n 1 "$T/err")"
fi
if unshare -Ur true 2>"$T/err"; then
	row "another user namespace" 1019 unshare -Ur "$T/steady"
	row "user, mount, PID, network and IPC namespace at once" 1021 \
		unshare -Urmpinf --mount-proc "$T/steady"
	check_status "a tracer that is root in a user namespace only: says so" 3 \
		unshare -Ur "$PROBE" -- "$T/steady" "spans 1"
else
	skip "another user namespace" "unshare is not allowed here: $(head -n 1 "$T/err")"
fi
if [ -n "$mounts" ]; then
	# Its file system is gone for everyone else, and its file is deleted.
	target v unshare -m sh -c "mount -t tmpfs none '$T/mnt' && cp '$T/steady' '$T/mnt/' &&
		cd '$T/mnt' && exec ./steady"
	nsenter -t "$v_pid" -m rm "$T/mnt/steady"
	attach a -p "$v_pid"
	tell v "spans 17"
	detach a
	eq "deleted in another mount namespace: exact counts" "$(counts a .spans)" 17
	dismiss v
	check_status "a namespace that is gone with its process" 1 "$PROBE" -p "$v_pid"
	eq "a namespace that is gone: words" "$(grep -c 'does not exist' "$T/err")" 1
fi

# ---- The file ----

cp "$T/steady" "$T/gone"
target v "$T/gone"
rm "$T/gone"
attach a -p "$v_pid"
tell v "spans 1009"
detach a
eq "a deleted program: exact counts" "$(counts a .spans)" 1009
dismiss v

# An upgrade: another file has the name, and another layout.
build "$T/new" tests/vm/steady.c -pthread -O0 -DVMSPAN_PROBES
cp "$T/steady" "$T/upgraded"
target v "$T/upgraded"
cp "$T/new" "$T/upgraded.tmp" && mv "$T/upgraded.tmp" "$T/upgraded"
target other "$T/upgraded"
attach a -p "$v_pid" -p "$other_pid"
tell v "spans 1009"
tell other "spans 1013"
detach a
eq "an upgraded program, old and new at once: exact counts" \
	"$(counts a '[.spans, ([.pids[]] | sort)]')" '[2022,[1009,1013]]'
eq "an upgraded program: as it was" "$(state "$v_pid")$(state "$other_pid")" "$untouched$untouched"
tell v exec
answer v >/dev/null
dismiss other
attach a -p "$v_pid"
tell v "spans 1019"
detach a
eq "executed again from its deleted file: exact counts" "$(counts a .spans)" 1019
dismiss v

# ---- How it is linked ----

variant() { # NAME BUILD-FLAG...
	local name=$1
	build_variant "$@" || return 0
	row "$name" 1009 "$T/variant"
	run_command a -- "$T/variant" "spans 11"
	eq "$name, as a command: exact counts" "$(counts a '[.spans, .status]')" '[11,0]'
}
variant "static" -static
variant "static PIE" -static-pie
variant "stripped" -s
cp "$T/variant" "$T/bare"
if objcopy --strip-all --remove-section=.comment "$T/bare" 2>"$T/err"; then
	row "stripped by objcopy" 1013 "$T/bare"
else
	not_ok "stripped by objcopy" "$(head -n 1 "$T/err")"
fi

# ---- In libraries ----

for n in 1 2; do
	build_library "$T/libcrowd$n.so"
done
build "$T/lib.so" tests/vm/steady.c -pthread -shared -fPIC -Dmain=library_main
echo 'int library_main(int, char **); int main(int c, char **v) { return library_main(c, v); }' \
	>"$T/main.c"
"$CC" -o "$T/with_lib" "$T/main.c" "$T/lib.so" -Wl,-rpath,"$T"
row "in a shared library" 1009 "$T/with_lib"
run_command a -- "$T/with_lib" "spans 11"
eq "in a shared library, as a command: exact counts" "$(counts a '[.spans, .status]')" '[11,0]'

take_programs crowd plain
target v "$T/crowd"
tell v "open $T/libcrowd1.so" "open $T/libcrowd2.so"
eq "in the program and in two libraries: three of them" "$(state "$v_pid" | wc -w)" 9
attach a -p "$v_pid"
tell v "spans 5" "lib 11" "storm 2 3"
detach a
eq "in the program and in two libraries: exact counts" "$(counts a .spans)" $((5 + 22 + 6))
eq "in the program and in two libraries: nothing lost" "$(counts a "$clean")" "$none"
dismiss v
run_command a -- "$T/plain" "open $T/libcrowd1.so" "lib 7" "open $T/libcrowd2.so" "lib 11"
eq "opened later by a command: every span" "$(counts a '[.spans, .status]')" "[$((7 + 22)),0]"

target v "$T/crowd"
attach a -p "$v_pid"
tell v "spans 5" "open $T/libcrowd1.so"
check "dlopen after attach: it is attached to" wait_armed "$v_pid" 2
tell v "lib 1009" "open $T/libcrowd2.so"
check "dlopen of a second one: it is attached to" wait_armed "$v_pid" 3
tell v "lib 3" "spans 7"
detach a
eq "dlopen after attach: exact counts" "$(counts a .spans)" $((5 + 1009 + 6 + 7))
eq "dlopen after attach: nothing lost, all defined" "$(counts a "$clean")" "$none"
dismiss v
check_status "a library that is not loaded" 4 "$PROBE" -- "$T/plain" "spans 1"
