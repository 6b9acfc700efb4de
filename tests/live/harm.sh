#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Programs that a tracer could harm do what they do untraced, while tracers come and go: the same
# words, the same status; and what one says that sees all of it is what they have made. With
# VMSPAN_TEST_SECONDS it is done again for so long, with other moments.
# shellcheck disable=SC2154 # start sets target_pid and record_pid
# shellcheck source=tests/attach_lib.sh
. "$(dirname "$0")/../attach_lib.sh"
# shellcheck source=tests/steal_lib.sh
. "$TOP/tests/steal_lib.sh"

seed=${VMSPAN_TEST_SEED:-1}
RANDOM=$seed
echo "# seed $seed"
if ! build "$T/harm" tests/vm/harm.c -pthread -ldl ||
	! build "$T/plugin.so" tests/vm/harm.c -shared -fPIC -DHARM_LIBRARY; then
	not_ok "build" "the programs of this test do not build"
	exit 1
fi
plugins=()
for i in $(seq 400); do
	plugins+=("$T/plugin$i.so")
	cp "$T/plugin.so" "$T/plugin$i.so"
done

# Now and then the kernel does not tell of a switch, and exact mode says so (bpf/sched.bpf.h): one or two, in one of some
# hundred of these runs, and no more than it has hidden. What is counted has to be right all the same.
UNSEEN_MAX=2
unseen_most() { # HIDDEN-BEFORE
	local hidden=$(($(hidden_now) - $1))
	echo $((hidden < UNSEEN_MAX ? hidden : UNSEEN_MAX))
}

begin() { # KIND ROUNDS [LIBRARY...]
	start_ready target "$T/harm" "$@"
}

# What it said, and its status: of one that was not traced, the same.
same_end() { # NAME KIND
	local status
	finish target
	status=$?
	eq "$1: the same words and status" "$(sed -n 2p "$T/target.out") $status" "$2: all is as it should be 0"
}

# At moments of its life that nobody has chosen.
come_and_go() { # RECORD-ARGUMENTS...
	local n
	for ((n = 0; n < tracers; n++)); do
		"$VMSPAN" record -q -p "$target_pid" --duration "$((5 + RANDOM % 60))ms" \
			-o "$T/rec.vmspan" "$@" || return 1
	done
}

# One that is there from before the first mark to the end.
all_of_it() { # NAME KIND [RECORD-ARGUMENT...]
	local name=$1 kind=$2 events unsure hidden unseen
	shift 2
	hidden=$(hidden_now)
	start record "$VMSPAN" record --buffer 64M -p "$target_pid" -o "$T/all.vmspan" "$@"
	need_line record '^recording ' err
	send target
	same_end "$name" "$kind"
	finish record
	eq "$name: the tracer's status" $? 0
	[[ " $counted " == *" $kind "* ]] || return
	"$VMSPAN" report "$T/all.vmspan" --json >"$T/all.json"
	unseen=$(unseen_most "$hidden")
	# What a child marks in its parent's place has no scheduler's record.
	if [ "$kind $*" = "vmarks --exact" ]; then
		json_eq "$name: what is lost lacks the scheduler's record" "$T/all.json" \
			".losses | if .sched <= $unseen then del(.sched) else . end | map_values(select(. > 0)) | keys" '["no_sched"]'
		return
	fi
	read -r events unsure < <(sed -n 3p "$T/target.out")
	# A child that was forked between the last look at a ring and its hand-over cannot hand it over:
	# its parent does.
	json_eq "$name: nothing lost" "$T/all.json" \
		".losses | if $unsure > 0 then del(.read_fault) else . end |
		 if .sched <= $unseen then del(.sched) else . end | map_values(select(. > 0))" '{}'
	json_eq "$name: all that was made" "$T/all.json" \
		"(.events.count - $events) as \$e | (.spans - 2 * $events) as \$s |
		 if \$e >= 0 and \$e <= $unsure and \$s >= 0 and \$s <= 2 * $unsure then true
		 else {of: $events, events: \$e, spans: \$s, unsure: $unsure, repairs: .repairs} end" true
}

# Whose marks are all heard of, and two spans of each event. What is left by a jump is repaired.
counted="plugins all handlers forks vforks vmarks threads keys coroutines execs"

untraced() { # KIND ROUNDS [LIBRARY...]
	begin "$@"
	send target
	same_end "$1, untraced" "$1"
}

traced() { # MODE KIND ROUNDS [LIBRARY...]
	local mode=$1 exact=()
	shift
	[ "$mode" = default ] || exact=(--exact)
	begin "$@"
	send target
	check "$1, $mode: tracers come and go" come_and_go ${exact+"${exact[@]}"}
	same_end "$1, $mode" "$1"
	begin "$@"
	all_of_it "$1, $mode, all of it" "$1" ${exact+"${exact[@]}"}
}

# Each in one of the two modes, if it is to be done once.
# (To detach from a library takes the kernel 0.1 s.)
tracers=1 both='' many=24
[ -z "${VMSPAN_TEST_SECONDS-}" ] || tracers=4 both=1 many=400 LIMIT=$((5 * LIMIT))
harm() { # MODE KIND ROUNDS [LIBRARY...]
	local mode=$1
	shift
	untraced "$@"
	[ "$both$mode" = exact ] || traced default "$@"
	[ "$both$mode" = default ] || traced exact "$@"
}

lib_now
end=$((lib_uptime + ${VMSPAN_TEST_SECONDS:-0}))
while :; do
	harm default plugins 100 "${plugins[@]:0:8}"
	harm default all 10 "${plugins[@]:0:many}"
	harm exact handlers 20000
	harm default jumps 2000
	harm exact forks 30
	harm default vforks 100
	harm default vmarks 100
	harm default threads 50
	harm exact keys 25
	harm default coroutines 500
	harm exact execs 10
	many=24 # so many of the others in an hour
	lib_now
	[ "$lib_uptime" -lt $end ] || break
done
