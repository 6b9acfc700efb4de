#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Programs by chance (tests/vm/chance.c): whatever a program does that keeps to the rules, what is
# reported of it as complete is what it has counted itself, to the unit. With VMSPAN_TEST_SECONDS it
# is done again for so long, with other seeds and builds.
# shellcheck source=tests/attach_lib.sh
. "$(dirname "$0")/../attach_lib.sh"

seed=${VMSPAN_TEST_SEED:-1}
echo "# seed $seed"
# Compilers differ in what they make of the header.
builds=("gcc -O2" "clang -O0")
if [ -n "${VMSPAN_TEST_SECONDS-}" ]; then
	builds+=("gcc -O0 -no-pie" "gcc -O3 -flto" "gcc -Os -fno-plt" "clang -O3" "gcc -O2 -static")
fi
# All but leaves of what was never entered, of which a trace says that it is not complete.
may=wsegbpcjtfrilozn
# By traps besides what a trace cannot know of: jumps, and what a library or a child marks before it has been attached to.
may_by_traps=wsegbptrion

for i in "${!builds[@]}"; do
	read -r cc flags <<<"${builds[i]}"
	read -ra flags <<<"$flags"
	if ! CC=$cc build "$T/chance$i" tests/vm/chance.c "${flags[@]}" -pthread -ldl 2>"$T/cc.err"; then
		not_ok "build" "${builds[i]}: $(head -n 1 "$T/cc.err")"
		exit 1
	fi
	for n in 0 1 2; do
		[[ ${builds[i]} == *-static* || ${builds[i]} == *-no-pie* ]] ||
			CC=$cc build "$T/library$i-$n.so" tests/vm/chance.c "${flags[@]}" -shared -fPIC "-DCHANCE_LIBRARY=$n"
	done
	CC=$cc build "$T/traps$i" tests/vm/chance.c "${flags[@]}" -DVMSPAN_PROBES -pthread -ldl
done

# As chance --print has them. What is open at an end is in no sum.
# shellcheck disable=SC2016 # jq's
figures='{ events: .events.count, implicit: .events.implicit, spans, repaired: .repairs.repaired,
	unmatched: .losses.unmatched, gcs: .gc.count, inputs, frames,
	unfinished: (.unfinished.count // 0),
	groups: ([.groups[] | select(.kind != "top") | select(.spans > 0) | { (.name): .spans }] | add // {}) }'
lost='[.losses | del(.unmatched, .names) | .[]] | add'

# One run, whose report is in $T/report.json.
run() { # PROGRAM ACTIONS-OF BUILD SEED ACTIONS [RECORD-ARGUMENT...]
	local program=$1 actions_of=$2 i=$3 seed=$4 actions=$5
	shift 5
	rm -f "$T/truth"
	"$VMSPAN" record -q --buffer 64M -o "$T/rec.vmspan" "$@" -- \
		"$program" "$T/truth" "$seed" "$actions" "$actions_of" "$T/library$i"-*.so 2>"$T/record.err"
	"$T/chance$i" --print "$T/truth" >"$T/truth.json"
	"$VMSPAN" report "$T/rec.vmspan" --json >"$T/report.json"
}

# The machine may make one lose something, and it says so: then that is compared in another run of it.
try() { # BUILD SEED ACTIONS [RECORD-ARGUMENT...]
	local i=$1 seed=$2 actions=$3 name expected program=$T/chance$1 actions_of=$may again told=.
	shift 3
	name="${builds[i]}, seed $seed, $actions actions${*:+, $*}"
	if [ "$*" = "--method direct" ]; then
		program=$T/traps$i actions_of=$may_by_traps
	fi
	for again in 1 2 3 4; do
		run "$program" "$actions_of" "$i" "$seed" "$actions" "$@"
		[ "$(jq "$lost" "$T/report.json")" != 0 ] || break
		echo "# $name: $(jq -c .losses "$T/report.json")"
	done
	json_eq "$name: it came to its end" "$T/truth.json" '[.failed, .ended]' '[0,1]'
	[ "$program" = "$T/chance$i" ] || json_eq "$name: nobody is left out" "$T/report.json" .left_out null
	json_eq "$name: nothing is lost, in one run of $again" "$T/report.json" "$lost" 0
	# By traps names are read from the program's memory, which may be gone by then: so it is said.
	[ "$program" = "$T/chance$i" ] || [ "$(jq .losses.names "$T/report.json")" = 0 ] || told='del(.groups)'
	expected=$(jq -cS 'del(.failed, .ended, .taken) | .groups |= with_entries(select(.value > 0)) | '"$told" "$T/truth.json")
	eq "$name: all of it" "$(jq -cS "$figures | $told" "$T/report.json")" "$expected"
}

lib_now
end=$((lib_uptime + ${VMSPAN_TEST_SECONDS:-0}))
shopt -s nullglob
while :; do
	for i in "${!builds[@]}"; do
		for n in 0 1 2 3; do
			try "$i" $((seed + n)) $((500 << n))
			[ $((n % 2)) = 0 ] || try "$i" $((seed + n)) $((500 << n)) --exact
			[ $n != 1 ] || try "$i" $((seed + n)) $((500 << n)) --method direct
		done
	done
	seed=$((seed + 4))
	lib_now
	[ "$lib_uptime" -lt $end ] || break
done
