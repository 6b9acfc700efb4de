#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Perfetto's trace processor reads what -f chrome and -f perfetto write: nothing
# is an error to it or lost, and its counts and sums are those of the report.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/viewers/common.bash
. "$(dirname "$0")/common.bash"

need "trace processor" "$NODE" "$VIEWERS/trace_processor/engine.mjs"

# One trace processor for all traces, another where it has failed. To compile all of it well takes
# longer than what it is asked.
begin() {
	make_input engine
	start engine "$NODE" --liftoff-only --wasm-lazy-compilation tests/viewers/trace_processor.mjs \
		"$VIEWERS/trace_processor"
	open_input engine
	exec {answers}<"$T/engine.out"
}
begin

query() { # FILE SQL...: a line of JSON for each, in $T/rows
	local lib_line
	: >"$T/rows"
	send engine "$(jq -nc '$ARGS.positional' --args "$@")"
	while LIMIT=600 lib_next_line "$answers" "$engine_pid" .; do
		[ "$lib_line" != ready ] || return 0
		printf '%s\n' "$lib_line" >>"$T/rows"
	done
	tail -n 3 "$T/engine.err" >"$T/viewer.err"
	finish engine KILL
	begin
	return 1
}

bad="select name, value from stats where severity in ('error', 'data_loss') and value > 0"

# Slices by category; self time is summed where the report sums it. A span that
# may have lost something counts where its event is whole, as it is in all these.
slices() { # ARGUMENT-PREFIX
	cat <<-END
		select category as kind, count(*) as n,
			sum(iif(ifnull(extract_arg(arg_set_id, '$1.fate'), 'lost') = 'lost',
				ifnull(extract_arg(arg_set_id, '$1.self_ns'), 0), 0)) as self
		from slice where category not in ('event', 'input', 'frame', 'gc', 'blocked')
		group by 1 order by 1
	END
}
events() {
	cat <<-END
		select count(*) as n, ifnull(sum(extract_arg(arg_set_id, '$1.wall_ns')), 0) as wall,
			ifnull(sum(extract_arg(arg_set_id, '$1.native_ns')), 0) as native,
			ifnull(sum(extract_arg(arg_set_id, '$1.lost_ns')), 0) as lost
		from slice where category = 'event'
	END
}
gc="select count(*) as n, ifnull(sum(dur), 0) as ns, ifnull(max(dur), 0) as max
	from slice where category = 'gc'"
counters="select count(*) as n, ifnull(sum(value), 0) as sum from counter c
	join process_counter_track t on c.track_id = t.id"
names="select p.pid, p.name, t.tid, t.name as thread from thread t join process p using (upid)
	where t.tid > 0 and t.utid in (select utid from thread_track) order by 1, 3"

load() { # NAME FORMAT PREFIX FILE
	local name=$1 format=$2 prefix=$3
	if ! query "$4" "$bad" "$(slices "$prefix")" "$(events "$prefix")" "$gc" "$counters" "$names"; then
		not_ok "$name: loads as $format" "$(tail -n 3 "$T/viewer.err")"
		return
	fi
	eq "$name: no error and no loss as $format" "$(sed -n 1p "$T/rows")" '[]'
	eq "$name: spans and self time by kind as $format" "$(sed -n 2p "$T/rows")" "$(jq -c '
		[.groups[] | select(.kind != "top" and .spans > 0)] | group_by(.kind)
		| map({kind: .[0].kind, n: (map(.spans) | add), self: (map(.self_ns) | add)})' "$T/$name.json")"
	eq "$name: events as $format" "$(sed -n 3p "$T/rows")" "$(jq -c '
		{n: .events.count, wall: .events.wall_ns, native: .ledger.native_ns, lost: .ledger.lost_ns}
		| [.]' "$T/$name.json")"
	eq "$name: collections as $format" "$(sed -n 4p "$T/rows")" \
		"$(jq -c '[{n: .gc.count, ns: .gc.total_ns, max: .gc.max_ns}]' "$T/$name.json")"
	eq "$name: counters as $format" "$(sed -n 5p "$T/rows")" "$(jq -sc '
		[.[] | if .type == "gc" then .bytes_before, .bytes_after elif .type == "value" then .value
		else empty end] | [{n: length, sum: (add // 0)}]' "$T/$name.ndjson")"
	[ "$name" != peers ] || eq "peers: names as $format" "$(sed -n 6p "$T/rows")" \
		'[{"pid":1000,"name":"client","tid":1000,"thread":"client main"},{"pid":1000,"name":"client","tid":1002,"thread":"pool-1"},{"pid":1001,"name":"server","tid":1001,"thread":"server main"}]'
}

make_recordings || not_ok "make recordings" "$?"
for name in $recordings; do
	figures "$name" || continue
	export_to "$name" chrome "$T/$name.chrome.gz" && load "$name" chrome args "$T/$name.chrome.gz"
	export_to "$name" perfetto "$T/$name.perfetto" && load "$name" perfetto debug "$T/$name.perfetto"
done

for format in chrome perfetto; do
	query "$T/peers.$format$([ $format = perfetto ] || echo .gz)" "
		select a.category as a, a.ts - min(a.ts) over () as at, b.ts - a.ts as after, b.dur
		from flow f join slice a on f.slice_out = a.id join slice b on f.slice_in = b.id order by 3"
	eq "peers: a call points at what it waited for, as $format" "$(cat "$T/rows")" \
		'[{"a":"blocked","at":0,"after":500000,"dur":1000000},{"a":"blocked","at":0,"after":1600000,"dur":1400000}]'
done

for format in chrome perfetto; do
	export_to "$many" $format "$T/$many.$format" || continue
	query "$T/$many.$format" "$bad" "select category as kind, count(*) as n, sum(dur) as ns from slice
		group by 1 order by 1"
	eq "$many_spans spans as $format: no error and no loss" "$(sed -n 1p "$T/rows")" '[]'
	eq "$many_spans spans as $format: by kind" "$(sed -n 2p "$T/rows" | jq -c 'map([.kind, .n, .ns])')" \
		"$(jq -nc --argjson n "$many_spans" '[["addon", $n * 6 / 10, $n * 4100], ["event", $n / 10, $n * 3300],
			["page", $n / 5, $n * 200], ["plugin", $n / 5, $n * 200]]')"
	rm -f "$T/$many.$format"
done

# Sampled stacks: every look that found the thread running, as other exports have it.
ends_well "$B/golden/make_recording" sampled "$T/sampled.vmspan"
export_to sampled perfetto "$T/sampled.perfetto"
export_to sampled firefox "$T/sampled.firefox"
query "$T/sampled.perfetto" "$bad" "select f.name, ltrim(m.name, '/') as mapping, min(c.depth) as depth,
	count(*) as n from perf_sample s join stack_profile_callsite c on s.callsite_id = c.id
	join stack_profile_frame f on c.frame_id = f.id join stack_profile_mapping m on f.mapping = m.id
	group by 1, 2 order by 1"
eq "sampled: no error and no loss" "$(sed -n 1p "$T/rows")" '[]'
eq "sampled: looks by function, group and depth" "$(sed -n 2p "$T/rows" | jq -c 'map([.name, .mapping, .depth, .n])')" \
	"$(jq -c '.shared as $s | def depth: $s.stackTable.prefix[.] as $p | if $p == null then 0 else 1 + ($p | depth) end;
	[.threads[].samples.stack[] | . as $k | $s.stackTable.frame[$k] as $f | $s.frameTable.func[$f] as $n
	| {n: $s.stringArray[$s.funcTable.name[$n]], d: ($k | depth),
	g: ($s.funcTable.resource[$n] as $r | if $r < 0 then "vmspan" else $s.stringArray[$s.resourceTable.name[$r]] end)}
	| select(.n != "(waiting)")] | group_by(.n, .g) | map([.[0].n, .[0].g, (map(.d) | min), length])' "$T/sampled.firefox")"

# The checks above can fail: an overlap is what Perfetto drops.
cat >"$T/overlap.json" <<-END
	{"traceEvents":[{"ph":"X","pid":1,"tid":1,"cat":"a","name":"a","ts":1,"dur":10},
	{"ph":"X","pid":1,"tid":1,"cat":"a","name":"b","ts":5,"dur":10}]}
END
query "$T/overlap.json" "$bad"
eq "an overlap would be seen" "$(jq -c length "$T/rows")" 1
query "$T/overlap.json" "select nothing"
eq "nor does what fails pass" "$? $(cat "$T/rows")" "1 "
check "and says why" grep -q nothing "$T/viewer.err"
query "$T/overlap.json" "select 1 as one"
eq "what follows is asked another" "$(cat "$T/rows")" '[{"one":1}]'
finish engine
eq "it ends well" $? 0
