#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The accuracy table: how far each method is from what the target measured
# inside, in the cases that make it hard. Writes $B/bench/accuracy.json.
#   tests/bench/accuracy.sh [EVENTS]      (root)
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

events=${1:-200}
out=$B/bench/accuracy.json
: >"$T/lines"

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

measure() { # NAME CASE
	rm -f "$T/go"
	mkfifo "$T/go"
	"$B/vm/burn" "$2" "$events" <"$T/go" >"$T/burn.out" 2>"$T/burn.err" &
	burn_pid=$!
	lib_pids+=("$burn_pid")
	exec 7>"$T/go"
	wait_line burn '^ready ' >/dev/null || return 1
	start record "$VMSPAN" record --exact -p "$burn_pid" -o "$T/rec.vmspan"
	wait_line record '^recording ' err >/dev/null || return 1
	echo go >&7
	wait_line burn '^[{]' >"$T/truth.json" || return 1
	finish record INT
	exec 7>&-
	finish burn
	"$B/bench/accuracy" "$1" "$T/rec.vmspan" "$T/truth.json" >>"$T/lines"
}

cpus=$(nproc)
measure "idle machine" plain
crowd $((2 * cpus))
measure "2x oversubscribed" plain
disperse $((2 * cpus))
measure "forced migration" migrate
measure "bursts of 2 us" bursts
measure "nested loops" nested
measure "threads that come and go" threads
jq -s '{schema: 1, cases: .}' "$T/lines" >"$out"
printf '%-26s %10s %10s %10s %10s   %s\n' "CPU time, largest error" exact default original "1 kHz" "ledger sums"
jq -r '.cases[] | [.case, .exact_ppm, .default_ppm, .original_ppm, .sampled_ppm, .ledgers_sum] | @tsv' "$out" |
	awk -F'\t' '{ printf "%-26s %8.3f %% %8.3f %% %8.3f %% %8.3f %%   %s\n", $1, $2 / 1e4, $3 / 1e4, $4 / 1e4, $5 / 1e4, $6 }'
