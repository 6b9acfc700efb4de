#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A stock VM in a box is traced as any other, from outside: with numbers of its own (a PID namespace), and
# with or without a /proc to see itself in.
# shellcheck source=tests/stock/lib.sh
. "$(dirname "$0")/lib.sh"

if ! unshare --pid --fork --mount true 2>"$T/err"; then
	skip "boxes" "no namespaces: $(cat "$T/err")"
	exit
fi

cat >"$T/burn.py" <<-'EOF'
	def work():
	    while True:
	        pass
	work()
EOF
cat >"$T/burn.rb" <<-'EOF'
	nil while true
EOF
cat >"$T/burn.php" <<-'EOF'
	<?php
	while (true) for ($i = 0; $i < 1000000; $i++);
EOF
mkdir "$T/classes"
cat >"$T/Burn.java" <<-'EOF'
	public class Burn {
	    static volatile long n;
	    static void work() {
	        while (true)
	            n++;
	    }
	    public static void main(String[] args) {
	        work();
	    }
	}
EOF
jdk=/usr/lib/jvm/java-17-openjdk-amd64

# In a box of a kind, as the only process there. The number by which it is known outside: $vm_pid.
box() { # KIND COMMAND...
	local kind=$1 before=true
	shift
	# Below that of its own is the one of outside.
	[ "$kind" != "no /proc" ] || before='umount -l /proc && umount -l /proc && ! test -e /proc/self'
	# shellcheck disable=SC2016 # expanded there
	start box unshare --pid --fork --kill-child --mount --mount-proc \
		sh -c "$before"' && exec "$@"' sh "$@"
	until_true started "$1"
}
started() { # FILE
	vm_pid=$(pgrep -P "$box_pid") && [ "$(readlink "/proc/$vm_pid/exe")" = "$(readlink -f "$1")" ] && return
	pause
	return 1
}

told() { # NAME ARGUMENT...: what is recorded of a second of its CPU time
	local name=$1
	shift
	start rec "$VMSPAN" record "$@" -o "$T/a"
	if ! wait_line rec '^recording ' err >/dev/null; then
		not_ok "$name" "$(head -n 1 "$T/rec.err")"
		finish rec
		return
	fi
	works "$vm_pid" 1
	finish rec INT
	report "$T/a"
	json_eq "$name: its frames are walked" "$T/a.json" \
		"[.processes[] | select(.pid == $vm_pid) | .notes[]?.text]" '[]'
	json_eq "$name: its stacks are seen" "$T/a.json" \
		'[.groups[] | select(.kind == "package") | .samples] | add > 20' true
}

for vm in python3.11 ruby3.1 php8.2 java; do
	program=/usr/bin/$vm
	[ "$vm" != java ] || program=$jdk/bin/java
	if [ ! -x "$program" ]; then
		skip "$vm" "no $program: tools/install-deps --vms"
		continue
	fi
	case $vm in
	python*) set -- "$program" "$T/burn.py" ;;
	ruby*) set -- "$program" "$T/burn.rb" ;;
	php*) set -- "$program" "$T/burn.php" ;;
	java)
		"$jdk/bin/javac" -d "$T/classes" "$T/Burn.java"
		set -- "$program" -cp "$T/classes" Burn
		# Without a /proc it does not find its own folder.
		export LD_LIBRARY_PATH=$jdk/lib
		;;
	esac
	for kind in "a /proc of its own" "no /proc"; do
		box "$kind" "$@" || not_ok "$vm, $kind" "does not begin: $(head -n 1 "$T/box.err")"
		told "$vm, $kind, by its number" -p "$vm_pid"
		told "$vm, $kind, by its name" --comm "$(<"/proc/$vm_pid/comm")"
		kill -s KILL "$vm_pid"
		finish box 2>/dev/null || : # as it was told to
	done
done
