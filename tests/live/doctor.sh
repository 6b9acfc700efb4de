#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# What doctor says of stolen CPU time: the kernel's own count, to the tick; and of a
# made machine, whose /proc/stat is replaced in a mount namespace, the very words.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

ns=$((1000000000 / $(getconf CLK_TCK)))

# {"cpu": {used, stolen}, "cpu0": ...} in ns, by another's reading of the same file.
kernel() {
	awk -v ns="$ns" '/^cpu/ {
		printf "%s\"%s\": {\"used\": %.0f, \"stolen\": %.0f}", sep ? sep : "{", $1, ($2 + $3 + $4 + $7 + $8) * ns, $9 * ns
		sep = ", "
	} END { print "}" }' /proc/stat
}

# ---- This machine ----

kernel >"$T/before.json"
check_status "doctor: tracing works" 0 "$VMSPAN" doctor --json
kernel >"$T/after.json"
mv "$T/out" "$T/doctor.json"
json_eq "stolen time is one check of the machine, and no failure" "$T/doctor.json" \
	'[.checks[] | select(.id == "stolen") | .result == "fail"]' '[false]'
json_eq "a tick" "$T/doctor.json" .stolen.tick_ns "$ns"
json_eq "the window is a second at least, and not before the start" "$T/doctor.json" \
	'.stolen | .window.ns >= 1000000000 and .window.ns < .since_start.ns' true
# Readings bracket each other: before <= doctor's <= after, for all CPUs and for each.
between() { # NAME FILTER: of $before, $after (the kernel's) and the doctor's own, as .
	check "$1" jq -e --slurpfile b "$T/before.json" --slurpfile a "$T/after.json" \
		"\$b[0] as \$before | \$a[0] as \$after | .stolen | $2" "$T/doctor.json"
}
between "since the start: the kernel's count" '.since_start |
	$before.cpu.used <= .used_ns and .used_ns <= $after.cpu.used and
	$before.cpu.stolen <= .stolen_ns and .stolen_ns <= $after.cpu.stolen'
between "since the start, each CPU: the kernel's count" '.since_start.cpus | length > 0 and all(.[]; "cpu\(.cpu)" as $n |
	$before[$n].used <= .used_ns and .used_ns <= $after[$n].used and
	$before[$n].stolen <= .stolen_ns and .stolen_ns <= $after[$n].stolen)'
between "every CPU is there" '(.since_start.cpus | map("cpu\(.cpu)") | sort) == ($after | keys - ["cpu"] | sort)'
between "in the window: no more than between the readings around it" '.window |
	.used_ns <= $after.cpu.used - $before.cpu.used and .stolen_ns <= $after.cpu.stolen - $before.cpu.stolen'
if [ "$(uname -m)" = x86_64 ]; then
	json_eq "a virtual machine, or none" "$T/doctor.json" .stolen.virtual \
		"$(grep -qm 1 '^flags.* hypervisor' /proc/cpuinfo && echo true || echo false)"
fi

# ---- A made one ----

made() { # /proc/stat comes on stdin; what doctor says of it in $T/doctor.json, $T/words
	cat >"$T/stat"
	as_json=$(unshare -m sh -c "mount --bind '$T/stat' /proc/stat"' && exec "$@"' sh "$VMSPAN" doctor --json)
	echo "$as_json" >"$T/doctor.json"
	jq -r '.checks[] | select(.id == "stolen") | "\(.result): \(.detail)"' "$T/doctor.json" |
		sed -E 's/the last .* programs/the last WINDOW programs/; s/start .* ago/start TIME ago/' >"$T/words"
}
if unshare -m true 2>"$T/err"; then
	made <<-'END'
		cpu  9000 0 0 70000 0 0 0 1000 0 0
		cpu0 4500 0 0 35000 0 0 0 30 0 0
		cpu3 4500 0 0 35000 0 0 0 970 0 0
		intr 1 2 3
	END
	eq "much of one CPU: the words" "$(cat "$T/words")" \
		"warn: in the last WINDOW programs wanted 0 ns of CPU time, and the hypervisor took none of it; since the start TIME ago 10 % (CPU 3: 18 %)"
	json_eq "much of one CPU: a warning is no failure" "$T/doctor.json" '.status' 0
	json_eq "much of one CPU: what to do" "$T/doctor.json" \
		'.checks[] | select(.id == "stolen") | .advice | test("Wall times .*contain it") and test("outside of this machine")' true
	json_eq "much of one CPU: the figures" "$T/doctor.json" \
		'.stolen | [.told, .window.stolen_ns, .since_start.used_ns, .since_start.stolen_ns, (.since_start.cpus | map([.cpu, .used_ns, .stolen_ns]))]' \
		"[true,0,$((9000 * ns)),$((1000 * ns)),[[0,$((4500 * ns)),$((30 * ns))],[3,$((4500 * ns)),$((970 * ns))]]]"
	made <<-'END'
		cpu  9000 0 0 70000 0 0 0
		cpu0 9000 0 0 70000 0 0 0
	END
	eq "no such column: the words" "$(cat "$T/words")" "ok: not known: this kernel does not count it"
	json_eq "no such column: no figures" "$T/doctor.json" '.stolen | [.window, .since_start]' '[null,null]'
else
	skip "a made machine" "no mount namespaces: $(cat "$T/err")"
fi
