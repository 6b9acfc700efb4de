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
# shellcheck disable=SC2016 # jq's
sums='.ledger | .self_ns + .gc_ns + .blocked_ns + .native_ns + .moved_ns + .stale_ns + .lost_ns == .event_wall_ns'
lost='[.losses | del(.unmatched, .names) | .[]] | add'

# Of a run that has ended: $T/report.json.
report_of() {
	"$T/chance$1" --print "$T/truth" >"$T/truth.json"
	"$VMSPAN" report "$T/rec.vmspan" --json >"$T/report.json"
}

# One run, whose report is in $T/report.json.
run() { # PROGRAM ACTIONS-OF BUILD SEED ACTIONS [RECORD-ARGUMENT...]
	local program=$1 actions_of=$2 i=$3 seed=$4 actions=$5
	shift 5
	rm -f "$T/truth"
	"$VMSPAN" record -q --buffer 64M -o "$T/rec.vmspan" "$@" -- \
		"$program" "$T/truth" "$seed" "$actions" "$actions_of" "$T/library$i"-*.so 2>"$T/record.err"
	report_of "$i"
}

# The same of a program that runs already.
# shellcheck disable=SC2154 # start sets program_pid
run_attached() { # PROGRAM ACTIONS-OF BUILD SEED ACTIONS [RECORD-ARGUMENT...]
	local program=$1 actions_of=$2 i=$3 seed=$4 actions=$5
	shift 5
	rm -f "$T/truth" "$T/gate"
	mkfifo "$T/gate"
	start program env "CHANCE_GATE=$T/gate" \
		"$program" "$T/truth" "$seed" "$actions" "$actions_of" "$T/library$i"-*.so
	# It has been mapped: so it is that program, and has its libraries.
	check "the program is there" until_true test -s "$T/truth"
	if [ "$program" = "$T/chance$i" ]; then
		start record "$VMSPAN" record --buffer 64M -o "$T/rec.vmspan" -p "$program_pid" "$@"
	else
		start record "$VMSPAN" record --buffer 64M -o "$T/rec.vmspan" --comm "${program##*/}" "$@"
	fi
	need_line record '^recording ' err
	check "the program goes on" timeout "$LIMIT" bash -c ': >"$1"' gate "$T/gate"
	finish program
	finish record INT
	report_of "$i"
}

# And by its name, which nobody else has.
run_by_name() { # PROGRAM ACTIONS-OF BUILD SEED ACTIONS [RECORD-ARGUMENT...]
	local name=chance$3.$$
	cp "$1" "$T/$name"
	run_attached "$T/$name" "${@:2}"
}

# The machine may make one lose something, and it says so: then that is compared in another run of it.
try() { # HOW BUILD SEED ACTIONS [RECORD-ARGUMENT...]
	local how=$1 i=$2 seed=$3 actions=$4 name expected program=$T/chance$2 actions_of=$may again told=.
	shift 4
	name="$how: ${builds[i]}, seed $seed, $actions actions${*:+, $*}"
	if [ "$*" = "--method direct" ]; then
		program=$T/traps$i actions_of=$may_by_traps
	fi
	for again in 1 2 3 4; do
		"$how" "$program" "$actions_of" "$i" "$seed" "$actions" "$@"
		[ "$(jq "$lost" "$T/report.json")" != 0 ] || break
		echo "# $name: $(jq -c .losses "$T/report.json")"
	done
	json_eq "$name: it came to its end" "$T/truth.json" '[.failed, .ended]' '[0,1]'
	[ "$program" = "$T/chance$i" ] || json_eq "$name: nobody is left out" "$T/report.json" .left_out null
	json_eq "$name: nothing is lost, in one run of $again" "$T/report.json" "$lost" 0
	# By traps it is not where a child marks before it has been attached to, or names are gone. (A leave
	# of what is not open any more is one that nothing was entered for: how many there are is compared below.)
	[ "$program" != "$T/chance$i" ] ||
		json_eq "$name: it is complete, but for what a hypervisor took" "$T/report.json" \
			'[.complete == (.events.incomplete == 0 and .losses.unmatched == 0), .losses_uncounted, (.events.missing // {} | del(.cpu))]' '[true,null,{}]'
	# By traps names are read from the program's memory, which may be gone by then: so it is said.
	[ "$program" = "$T/chance$i" ] || [ "$(jq .losses.names "$T/report.json")" = 0 ] || told='del(.groups)'
	expected=$(jq -cS 'del(.failed, .ended, .taken) | .groups |= with_entries(select(.value > 0)) | '"$told" "$T/truth.json")
	eq "$name: all of it" "$(jq -cS "$figures | $told" "$T/report.json")" "$expected"
	json_eq "$name: its times sum up" "$T/report.json" "$sums" true
	# Times are shared in another way then, and nothing else.
	"$VMSPAN" report "$T/rec.vmspan" --json --nested=suspend >"$T/report.json"
	eq "$name: and with --nested=suspend" "$(jq -cS "$figures | $told" "$T/report.json")" "$expected"
}

# What is executed goes on while the tracer attaches to it, by traps a child marks before that, and a library that is
# loaded: so much is a loss, and no more is told than there was. (Of what is in pieces for that, an end without its begin,
# there may be more pieces.)
bounds() { # HOW PROGRAM ACTIONS-OF BUILD SEED ACTIONS [RECORD-ARGUMENT...]
	local how=$1 name="$1: ${builds[$4]}, ${2##*/}, seed $5, $6 actions${*:7}"
	shift
	"$how" "$@"
	json_eq "$name: it came to its end" "$T/truth.json" '[.failed, .ended]' '[0,1]'
	eq "$name: no more than there was, and all of it where it is complete" "$(jq -cn --slurpfile r "$T/report.json" \
		--slurpfile t "$T/truth.json" "(\$r[0] | $figures) as \$told | \$t[0] as \$true |
		[\"events\", \"spans\", \"gcs\", \"inputs\", \"frames\"] |
		[.[] as \$k | select((\$told[\$k] > \$true[\$k] and \$k != \"events\" and \$k != \"spans\") or
			(\$told[\$k] < \$true[\$k] and \$r[0].complete)) | [\$k, \$told[\$k], \$true[\$k]]]")" '[]'
	json_eq "$name: its times sum up" "$T/report.json" "$sums" true
}

lib_now
end=$((lib_uptime + ${VMSPAN_TEST_SECONDS:-0}))
shopt -s nullglob
while :; do
	for i in "${!builds[@]}"; do
		for n in 0 1 2 3; do
			try run "$i" $((seed + n)) $((500 << n))
			[ $((n % 2)) = 0 ] || try run "$i" $((seed + n)) $((500 << n)) --exact
			[ $n != 1 ] || try run "$i" $((seed + n)) $((500 << n)) --method direct
			[ $n != 0 ] || bounds run_attached "$T/chance$i" "$may" "$i" $((seed + n)) $((500 << n))
			[ $n != 1 ] || bounds run_by_name "$T/chance$i" "$may" "$i" $((seed + n)) $((500 << n)) --exact
			[ $n != 2 ] || bounds run "$T/traps$i" "${may_by_traps}fl" "$i" $((seed + n)) $((500 << n)) --method direct
		done
	done
	seed=$((seed + 4))
	lib_now
	[ "$lib_uptime" -lt $end ] || break
done
