#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The accuracy table: how far each method is from what the target measured
# inside, in the cases that make it hard; and what --exact costs the target.
# Writes $B/bench/accuracy.json; tools/accuracy-md puts the tables into README.md
# and BENCHMARKS.md.
#   tests/bench/accuracy.sh [RUNS [EVENTS]]      (root)
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/bench/quiet_lib.sh
. "$(dirname "$0")/quiet_lib.sh"

runs=${1:-2}
events=${2:-200}
out=$B/bench/accuracy.json
# shellcheck disable=SC2034 # for tests/lib.sh
LIMIT=60

crowd() { # N: processes that want the CPU
	local i
	for i in $(seq "$1"); do
		start "crowd$i" bash -c 'while :; do :; done'
	done
}

disperse() {
	local i
	for i in $(seq "$1"); do
		finish "crowd$i" KILL 2>/dev/null
	done
}

record() { # ARGUMENTS...
	start record "$VMSPAN" record -p "$target_pid" -o "$T/rec.vmspan" "$@"
	wait_line record '^recording ' err >/dev/null
}

measure_once() { # NAME CASE
	start_ready target "$B/vm/burn" "$2" "$events" && record --exact || return 1
	send target
	wait_line target '^[{]' >"$T/truth.json" || return 1
	finish record INT
	finish target
	"$B/bench/accuracy" "$1" "$T/rec.vmspan" "$T/truth.json" >"$T/line"
}

# Where another machine had our CPU there is no truth to compare with: the
# thread's clock does not know of it. Once more, and it is said how often.
measure() { # RUN NAME CASE
	local try from
	echo "run $1: $2" >&2
	for try in 1 2 3 4 5 6; do
		from=$(quiet) || return 1
		measure_once "$2" "$3" || return 1
		[ "$(jq .stolen_ns "$T/line")" != 0 ] || break
	done
	jq -c --argjson run "$1" --argjson tries "$try" --argjson quiet "$(quiet "$from")" \
		'. + {run: $run, tries: $tries, quiet: $quiet}' "$T/line" >>"$T/lines"
}

accuracy() { # RUN
	local cpus
	cpus=$(nproc)
	measure "$1" "idle machine" plain
	crowd $((2 * cpus))
	measure "$1" "2x oversubscribed" plain
	measure "$1" "short events, 2x oversubscribed" short
	disperse $((2 * cpus))
	measure "$1" "forced migration" migrate
	measure "$1" "bursts of 2 us" bursts
	measure "$1" "unannounced sleeps" blocked
	measure "$1" "nested loops" nested
	measure "$1" "threads that come and go" threads
}

# Two processes on one CPU take turns, 10,000 switches a second. Every round
# has each way of tracing once, so what the machine does meanwhile is in all.
round() { # KEY RECORD-ARGUMENTS...
	local key=$1
	shift
	[ "$key" = none ] || record "$@"
	send target
	seen=$((seen + 1))
	read -r _ ns switches < <(wait_nth "$seen")
	jq -nc --arg how "$key" --argjson ns "$ns" --argjson switches "$switches" \
		'{how: $how, ns: $ns, switches: $switches}' >>"$T/rounds"
	[ "$key" = none ] || finish record INT
}

# The N-th `took` line; they come one by one.
wait_nth() {
	local n=$1 line
	while ! line=$(sed -n '/^took /p' "$T/target.out" | sed -n "${n}p") || [ -z "$line" ]; do
		read -r -t 0.02 <> <(:)
	done
	echo "$line"
}

overhead() { # RUN ROUNDS
	local i seen=0 from
	echo "run $1: overhead" >&2
	from=$(quiet) || return 1
	: >"$T/rounds"
	start_ready target "$B/vm/pair" pipe 1500 90 || return 1
	for i in $(seq "$2"); do
		round none
		round default
		round exact --exact
		round exact --exact
		round default
		round none
	done
	finish target
	jq -sc --argjson run "$1" --argjson quiet "$(quiet "$from")" '
		def median: sort | .[length / 2 | floor];
		# The lower quartile: what else the machine does only adds.
		def took(how): map(select(.how == how) | .ns) | sort | .[length / 4 | floor];
		{run: $run, rounds: length,
		 switches_per_s: (map(.switches * 1e9 / .ns) | median | round),
		 none_ns: took("none"), default_ns: took("default"), exact_ns: took("exact"),
		 exact_over_default_ppm: ((took("exact") / took("default") - 1) * 1e6 | round),
		 exact_over_none_ppm: ((took("exact") / took("none") - 1) * 1e6 | round), quiet: $quiet}' "$T/rounds" >>"$T/overhead"
}

: >"$T/lines"
: >"$T/overhead"
begin=$(quiet) || exit 1
for run in $(seq "$runs"); do
	accuracy "$run" || exit 1
	overhead "$run" 5 || exit 1
done
jq -s --slurpfile overhead "$T/overhead" --arg kernel "$(uname -r)" --argjson cpus "$(nproc)" \
	--arg cpu "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" \
	--argjson quiet "$(quiet "$begin")" \
	'{schema: 3, kernel: $kernel, cpus: $cpus, cpu: $cpu, quiet: $quiet, cases: ., overhead: $overhead}' "$T/lines" >"$out"
tools/accuracy-md --check "$out"
