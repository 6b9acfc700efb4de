#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# What grows with the work and what does not: cost and memory from 10^5 to 10^8
# spans, to 100,000 groups, to 2,000 threads, and what becomes of the target when
# more comes than the tracer can take. Writes $B/bench/scale.json;
# tools/bench-md puts the tables into BENCHMARKS.md.
#   tests/bench/scale.sh [SPANS]     (root; SPANS: the largest number, 10^8)
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/bench/quiet_lib.sh
. "$(dirname "$0")/quiet_lib.sh"

most=${1:-100000000}
out=$B/bench/scale.json
rate=2000000
exec 9<> <(:) # nothing ever comes: reading from it takes the time it is given
: >"$T/lines"

cpu_ns() { # PID: CPU time of all its threads
	cat /proc/"$1"/task/*/schedstat | awk '{ s += $1 } END { printf "%d\n", s }'
}

peak_kb() { # PID
	sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' /proc/"$1"/status
}

# A target on the last CPU; it answers a line to each line on descriptor 7.
target_up() { # GROUPS
	rm -f "$T/in" "$T/answers"
	mkfifo "$T/in" "$T/answers"
	taskset -c $(($(nproc) - 1)) "$B/bench/target-sdk" "$1" <"$T/in" >"$T/answers" &
	target=$!
	lib_owns "$target"
	exec 7>"$T/in" 8<"$T/answers"
	ask on >/dev/null
}

ask() { # LINE
	local answer
	echo "$1" >&7
	read -r -t 600 answer <&8
	echo "$answer"
}

target_down() {
	exec 7>&- 8<&-
	wait "$target"
}

# A tracer beside it; `tracer` is its process.
tracer_up() { # ARGS...
	"$VMSPAN" "$@" -p "$target" >"$T/tracer.out" 2>"$T/tracer.err" &
	tracer=$!
	lib_owns "$tracer"
	until [ "$(ask on)" = 1 ]; do
		kill -0 "$tracer" || { cat "$T/tracer.err" >&2; exit 1; }
	done
}

tracer_down() {
	kill -INT "$tracer"
	wait "$tracer"
}

# Until the tracer has nothing left to do: two readings of its CPU time are alike.
drained() {
	local before=-1 now
	now=$(cpu_ns "$tracer")
	while [ $((now - before)) -gt 2000000 ]; do
		before=$now
		read -r -t 0.2 _ <&9
		now=$(cpu_ns "$tracer")
	done
}

row() { # SERIES X WHAT SPANS CPU_NS PEAK_KB LOST
	jq -cn --arg series "$1" --argjson x "$2" --arg what "$3" --argjson spans "$4" \
		--argjson cpu_ns "$5" --argjson peak_kb "$6" --argjson lost "$7" \
		'{series: $series, x: $x, what: $what, ns_a_span: ($cpu_ns / $spans * 100 | round / 100),
		  peak_kb: $peak_kb, lost: $lost}' | tee -a "$T/lines"
}

lost_in() { # RECORDING
	"$VMSPAN" report --json --top 1 "$1" | jq '[.losses[]] | add'
}

live() { # SERIES X WORK TRACER-ARGS...: what the tracer of that work costs
	local series=$1 x=$2 work=$3 spans from used peak lost=0
	shift 3
	rm -f "$T/rec"
	tracer_up "$@"
	drained
	from=$(cpu_ns "$tracer")
	spans=$(ask "$work")
	# A loop answers with a time: it has made the pairs it was told to.
	[ "${work%% *}" = pace ] || spans=$(echo "$work" | awk '{ print $3 * $6 }')
	drained
	used=$(($(cpu_ns "$tracer") - from))
	peak=$(peak_kb "$tracer")
	tracer_down
	[ ! -s "$T/rec" ] || lost=$(lost_in "$T/rec")
	# top says it in words, and last what was lost in all.
	[ "$1" != top ] || lost=$(sed -n 's/^\([0-9,]*\) record.* lost because.*/\1/p' "$T/tracer.out" |
		tail -1 | tr -d ,)
	row "$series" "$x" "$1" "$spans" "$used" "$peak" "${lost:-0}"
}

replay() { # SERIES X SPANS WHAT ARGS...: reading a recording
	local series=$1 x=$2 spans=$3 what=$4 t
	shift 4
	/usr/bin/env time -f '%U %S %M' -o "$T/time" "$VMSPAN" "$@" >/dev/null 2>"$T/err" ||
		{ cat "$T/err" >&2; exit 1; }
	t=$(awk 'END { printf "%.0f", ($1 + $2) * 1e9 }' "$T/time")
	row "$series" "$x" "$what" "$spans" "$t" "$(awk 'END { print $3 }' "$T/time")" 0
}

by_spans() {
	local n
	target_up 2
	for ((n = 100000; n <= most; n *= 10)); do
		live spans "$n" "pace $rate $((n / (rate / 1000)))" record -q -o "$T/rec"
		live spans "$n" "pace $rate $((n / (rate / 1000)))" top --batch
	done
	target_down
	for ((n = 100000; n <= most; n *= 10)); do
		"$B/golden/make_large" "$n" "$T/large" >"$T/made"
		replay spans "$n" "$n" report report "$T/large"
		replay spans "$n" "$n" export export -q -f chrome -o /dev/null "$T/large"
	done
	rm -f "$T/large"
}

by_groups() {
	local n
	for n in 1 10 100 1000 10000 100000; do
		target_up "$n"
		live groups "$n" "pace $rate 2000" record -q -o "$T/rec"
		replay groups "$n" 4000000 report report "$T/rec"
		live groups "$n" "pace $rate 2000" top --batch
		target_down
	done
}

by_threads() {
	local n
	for n in 1 10 100 1000 2000; do
		target_up 2
		live threads "$n" "loop mark $((1000000 / n)) 500 1 $n" record -q --buffer 64M -o "$T/rec"
		replay threads "$n" 1000000 report report "$T/rec"
		target_down
	done
}

# A ring that holds eight batches: most are dropped, each is counted, and when
# the target slows down nothing is lost any more.
beyond() {
	local roomy tiny
	target_up 2
	tracer_up record -q --buffer 64M -o "$T/rec"
	ask "loop mark 200000 1000 1 1" >/dev/null
	roomy=$(ask "loop mark 200000 1000 1 1")
	tracer_down
	tracer_up record -q --buffer 64K -o "$T/rec"
	tiny=$(ask "loop mark 2000000 1000 1 1")
	drained
	ask "pace 50000 1000" >/dev/null
	drained
	tracer_down
	"$VMSPAN" report --json --top 1 "$T/rec" | jq --argjson roomy "$roomy" --argjson tiny "$tiny" \
		--argjson whole "$(last_whole "$T/rec")" \
		'{pair_roomy_ps: $roomy, pair_tiny_ps: $tiny, made: (2050000 + 2050), kept: .records,
		  lost: ([.losses[]] | add), whole_of_last_50: $whole}' | tee "$T/beyond"
	target_down
}

# Of the last fifty events, those that lack nothing.
last_whole() { # RECORDING
	"$VMSPAN" export -q -f ndjson -o - "$1" | grep '"type":"event"' | tail -50 |
		jq -s 'map(select(.incomplete | not)) | length'
}

echo '{}' >"$T/quiet"
part() { # NAME COMMAND: how quiet it was meanwhile is kept
	local from
	from=$(quiet) || exit 1
	"$2"
	jq --arg name "$1" --argjson quiet "$(quiet "$from")" '.[$name] = $quiet' "$T/quiet" >"$T/quiet.new"
	mv "$T/quiet.new" "$T/quiet"
}

begin=$(quiet) || exit 1
part spans by_spans
part groups by_groups
part threads by_threads
part beyond beyond
jq -s --argjson whole "$(quiet "$begin")" '{schema: 2, rows: .[0], beyond: .[1], quiet: ({whole: $whole} + .[2])}' \
	<(jq -s . "$T/lines") "$T/beyond" "$T/quiet" >"$out"
