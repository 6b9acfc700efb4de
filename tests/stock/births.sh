#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Forked processes and threads that are looked at before their VM knows their number: they
# are found soon after that, and not only by a look long afterwards. Threads that end have
# ended.
# shellcheck source=tests/stock/lib.sh
. "$(dirname "$0")/lib.sh"

if ! cc -O2 -shared -fPIC -o "$T/early.so" "$APPS/early.c" 2>"$T/err"; then
	not_ok "early.c" "$(cat "$T/err")"
	exit 1
fi
mkdir -p "$T/app/site-packages"
cp "$APPS/plugin.py" "$T/app/site-packages/worker.py"
cp "$APPS/births.py" "$T/app"

# Of each thread that began: looks at it before its own first instruction, and looks until
# one found FRAME on its stack. $T/born.
tell_looks() { # FRAME
	local begin
	"$VMSPAN" export "$T/a" -q -f firefox -o "$T/looks"
	"$VMSPAN" export "$T/a" -q -f ndjson -o "$T/events"
	begin=$(head -n 1 "$T/events" | jq .start_mono_ns)
	sed -n 's/^began //p' "$T/app.out" |
		jq -Rn '[inputs | split(" ") | {(.[0]): .[1] | tonumber}] | add' >"$T/began"
	jq -c --arg frame "$1" --argjson begin "$begin" --slurpfile began "$T/began" '
		.shared as $s | $s.stackTable as $stacks
		| (reduce range($stacks.length) as $i ([]; . + [$stacks.prefix[$i] as $p
			| ($p != null and .[$p]) or ($s.stringArray[$s.funcTable.name[
				$s.frameTable.func[$stacks.frame[$i]]]] | test($frame))])) as $has
		| [.threads[] | $began[0][.tid | tostring] as $at | select($at)
			| (($at - $begin) / 1e6) as $ms
			| {before: [.samples.time[] | select(. < $ms)] | length,
				unseen: ([.samples.stack[] | $has[.]] | index(true) // length)}]' "$T/looks" >"$T/born"
}

# Eight of them. That each is looked at too early is what the test is about: it is tried
# again where the machine did not have it so.
births() { # NAME WORD FRAME
	local try
	for try in 1 2 3 4 5; do
		start_record "$T/a" "$app_pid" --hz 999
		for _ in 1 2 3 4 5 6 7 8; do ask "$2" >"$T/line"; done
		finish rec INT
		tell_looks "$3"
		jq -e '[.[] | select(.before > 0)] | length == 8' "$T/born" >"$T/line" && break
		[ $try = 5 ] && not_ok "$1: each is looked at early" "$(cat "$T/born")"
	done
	json_eq "$1: eight began while they were looked at" "$T/born" length 8
	json_eq "$1: each is found before it is twice as old: $(cat "$T/born")" "$T/born" \
		'all(.unseen < 2 * .before)' true
}
early=(env "EARLY_MS=10" "LD_PRELOAD=$T/early.so")

PYTHON=/usr/bin/python3.11
if [ -x $PYTHON ]; then
	app "${early[@]}" PYTHONPATH="$T/app/site-packages" $PYTHON "$T/app/births.py"
	births "CPython, forked" fork '^work '
	births "CPython, threads" thread '^work '

	# A thread is looked at, and interrupted, also on its last steps through the kernel.
	app env PYTHONPATH="$T/app/site-packages" $PYTHON "$T/app/births.py"
	start_record "$T/a" "$app_pid" --hz 9999
	ask brief 1000 >"$T/line"
	finish rec INT
	"$VMSPAN" export "$T/a" -q -f firefox -o "$T/looks"
	json_eq "CPython, threads that end: what each did is one thread's" "$T/looks" \
		"[.threads[] | select(.tid != $app_pid) | .tid] | [length, (unique | length)]" '[1000,1000]'
else
	skip "CPython" "no $PYTHON: tools/install-deps --vms"
fi

JAVA=/usr/lib/jvm/java-17-openjdk-amd64/bin
if [ -x $JAVA/javac ]; then
	$JAVA/javac -d "$T" "$APPS/Births.java"
	app "${early[@]}" $JAVA/java -XX:+UseSerialGC -Xmx32m -cp "$T" Births
	births "OpenJDK, threads" thread 'Births'
else
	skip "OpenJDK" "no $JAVA/javac: tools/install-deps --vms"
fi
