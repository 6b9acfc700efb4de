#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# What becomes of figures from a machine that was not quiet: they are marked, and replace no
# others unless that is asked for.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

command -v python3 >/dev/null || skip_rest "documents" "no python3"

tree=$T/tree
mkdir -p "$tree/docs"
cp -r tools "$tree/"
documents() {
	printf '# R\n\n<!-- cost -->\nold\n<!-- /cost -->\n\n<!-- accuracy -->\nold\n<!-- /accuracy -->\n' >"$tree/README.md"
	printf '<!-- %s -->\nold\n<!-- /%s -->\n' machine{,} budgets{,} pairs{,} series{,} tracer{,} scale{,} accuracy{,} vms{,} \
		>"$tree/BENCHMARKS.md"
	cp "$tree/README.md" "$tree/BENCHMARKS.md" "$T/"
	rm -f "$tree"/docs/*
}
untouched() { # NAME
	check "$1: the files are as they were" cmp -s "$tree/README.md" "$T/README.md" &&
		check "$1: and BENCHMARKS.md" cmp -s "$tree/BENCHMARKS.md" "$T/BENCHMARKS.md"
}
said() { # NAME WORDS: in $T/err
	check "$1" grep -qF -- "$2" "$T/err"
}
has() { # NAME FILE LINE
	check "$1" grep -qxF -- "$3" "$tree/$2"
}
q() { # STOLEN OTHERS QUIET
	echo "{\"ns\":1,\"stolen_ppm\":$1,\"others_ppm\":$2,\"quiet\":$3}"
}

accuracy() { # QUIET-OF-RUN-2
	jq -n --argjson quiet "$(q 1500 2000 true)" --argjson two "$1" '
		{exact_ppm: 100, default_ppm: 200, original_ppm: 300, sampled_ppm: 400} as $e |
		{schema: 3, kernel: "6.1.0-x", cpus: 2, cpu: "a CPU", quiet: $quiet,
		 cases: [{case: "idle machine", run: 1, cpu: $e, wall: $e, ledgers_sum: true, quiet: $quiet},
			 {case: "idle machine", run: 2, cpu: $e, wall: $e, ledgers_sum: true, quiet: $two},
			 {case: "nested loops", run: 1, tries: 3, cpu: $e, wall: $e, ledgers_sum: true, quiet: $quiet}],
		 overhead: [{run: 1, switches_per_s: 9000, none_ns: 100, default_ns: 104, exact_ns: 105,
			exact_over_default_ppm: 9000, exact_over_none_ppm: 50000, quiet: $quiet}]}' >"$T/accuracy.json"
}
documents
accuracy "$(q 9000 1000 true)"
check_status "accuracy, quiet" 0 "$tree/tools/accuracy-md" "$T/accuracy.json"
has "accuracy: the worst of each figure is in the README's table" README.md \
	"| idle machine | 0.010 % | 0.020 % | 0.030 % | 0.040 % | 0.9 %, 0.2 % |"
has "accuracy: in the other's too" BENCHMARKS.md \
	"| idle machine | 0.010 % | 0.020 % | 0.030 % | 0.040 % | 0.9 %, 0.2 % |"
has "accuracy: with what --exact costs" BENCHMARKS.md "| run 1 | 9,000 | +4.00 % | +5.00 % | +0.90 % | 0.1 %, 0.2 % |"
check "accuracy: in all the time, and how often it was tried again" grep -qF \
	"in all that time: 0.1 %, 0.2 %. 2 of the runs were made again, since time had been stolen in them." "$tree/README.md"
eq "accuracy: nothing is marked" "$(grep -c 'not quiet' "$tree/README.md" "$tree/BENCHMARKS.md" | tr '\n' ' ' | sed 's|[^ ]*/||g')" \
	"README.md:0 BENCHMARKS.md:0 "
for how in "stolen $(q 25000 2000 false)" "used $(q 0 200000 false)" "not-known null"; do
	documents
	accuracy "${how#* }"
	check_status "accuracy, ${how%% *}: refused" 1 "$tree/tools/accuracy-md" "$T/accuracy.json"
	said "accuracy, ${how%% *}: says which" "not quiet: run 2, idle machine: "
	said "accuracy, ${how%% *}: says what to do" "--not-quiet"
	untouched "accuracy, ${how%% *}"
	check_status "accuracy, ${how%% *}: --check is of the targets" 0 "$tree/tools/accuracy-md" --check "$T/accuracy.json"
	said "accuracy, ${how%% *}: and says it" "not quiet: run 2, idle machine: "
	untouched "accuracy, ${how%% *}, --check"
	check_status "accuracy, ${how%% *}: as asked" 0 "$tree/tools/accuracy-md" --not-quiet "$T/accuracy.json"
	check "accuracy, ${how%% *}: its row is marked" \
		grep -qE '^\| idle machine .*\| ([0-9.]+ %, [0-9.]+ %|not known): \*\*not quiet\*\* \|$' "$tree/README.md"
	has "accuracy, ${how%% *}: no other is" README.md "| nested loops | 0.010 % | 0.020 % | 0.030 % | 0.040 % | 0.1 %, 0.2 % |"
done
documents
accuracy "$(q 0 0 true)"
jq '.quiet.quiet = false' "$T/accuracy.json" >"$T/whole.json"
check_status "accuracy, quiet in each case and not in all the time: refused" 1 "$tree/tools/accuracy-md" "$T/whole.json"
said "accuracy, not quiet in all the time: says so" "not quiet: all of it: "
untouched "accuracy, not quiet in all the time"
jq 'del(.quiet, .cases[].quiet, .overhead[].quiet)' "$T/accuracy.json" >"$T/before.json"
check_status "accuracy of a version that did not look: refused" 1 "$tree/tools/accuracy-md" "$T/before.json"
untouched "accuracy of a version that did not look"
check_status "accuracy: what is no option" 1 "$tree/tools/accuracy-md" --quiet "$T/accuracy.json"

bench() { # FILE QUIET-OF-PAIRS
	jq -n --argjson quiet "$(q 1500 2000 true)" --argjson pairs "$2" '
		{schema: 1, alternations: 9, machine: {kernel: "6.1.0-x", cpus: "2"},
		 pairs: [{key: "rdtsc", name: "two rdtsc", median_ps: 20000, min_ps: 19000, max_ps: 21000, lost: 0},
			 {key: "record", name: "vmspan record", median_ps: 30000, min_ps: 29000, max_ps: 31000, lost: 0}],
		 series: [{key: "depth", title: "by depth", points: [{x: 1, record_ps: 30000, rdtsc_ps: 20000, lost: 0},
			{x: 2, record_ps: 30000, rdtsc_ps: 20000, lost: 0}]}],
		 tracer: [{key: "cpu", text: "CPU time", unit: "ns", value: 20}],
		 budgets: [{key: "cpu", text: "CPU time", unit: "ns", limit: 50, least: false, value: 20, met: true}],
		 quiet: {whole: $quiet, pairs: $pairs, series: $quiet, tracer: $quiet}}' >"$T/bench/$1"
}
mkdir "$T/bench"
documents
bench bench-before.json "$(q 0 0 true)"
bench bench.json "$(q 3000 41000 true)"
check_status "bench, quiet" 0 "$tree/tools/bench-md" "$T/bench"
has "bench: a row for each part" BENCHMARKS.md "| pairs | 0.0 %, 0.0 % | 0.3 %, 4.1 % |"
has "bench: and for all" BENCHMARKS.md "| the whole run | 0.1 %, 0.2 % | 0.1 %, 0.2 % |"
has "bench: the README is told" README.md "| vmspan record | 30.00 | 1.50x |"
eq "bench: nothing is marked" "$(grep -ciE '(:|\*\*) ?\*?\*?not quiet' "$tree/README.md" "$tree/BENCHMARKS.md" | sed 's|.*:||' | tr '\n' ' ')" "0 0 "
for how in "stolen $(q 25000 2000 false)" "used $(q 0 200000 false)" "not-known null"; do
	documents
	bench bench.json "${how#* }"
	check_status "bench, ${how%% *}: refused" 1 "$tree/tools/bench-md" "$T/bench"
	said "bench, ${how%% *}: says which" "not quiet: run 2, pairs: "
	said "bench, ${how%% *}: says what to do" "--not-quiet"
	untouched "bench, ${how%% *}"
	none "bench, ${how%% *}: no plot" "$(ls "$tree/docs")"
	check_status "bench, ${how%% *}: as asked" 0 "$tree/tools/bench-md" --not-quiet "$T/bench"
	has "bench, ${how%% *}: the README's table is marked" README.md "**Not quiet: run 2; BENCHMARKS.md says by how much.**"
	eq "bench, ${how%% *}: budgets and pairs are marked, series and tracer are not" \
		"$(awk '/<!-- [a-z]/ { part = $2 } /^\*\*Not quiet: run 2;/ { print part }' "$tree/BENCHMARKS.md" | tr '\n' ' ')" "budgets pairs "
	check "bench, ${how%% *}: with the figures" \
		grep -qE '^\| pairs \| 0.0 %, 0.0 % \| ([0-9.]+ %, [0-9.]+ %|not known): \*\*not quiet\*\* \|$' "$tree/BENCHMARKS.md"
	check_status "bench, ${how%% *}: the README still agrees with BENCHMARKS.md, but for the accuracy" 1 "$tree/tools/bench-md" --check
	eq "bench, ${how%% *}: in nothing else" "$(cat "$T/err")" "README.md: the accuracy is not that of BENCHMARKS.md"
done
check_status "bench: what is no option" 1 "$tree/tools/bench-md" --quiet

rm "$T"/bench/*
scale() { # QUIET-OF-THREADS
	jq -n --argjson quiet "$(q 1500 2000 true)" --argjson threads "$1" '
		{schema: 2, rows: [("spans", "groups", "threads") as $s | (1, 10) as $x |
			{series: $s, x: $x, what: "record", ns_a_span: 50, peak_kb: 2000, lost: 0}],
		 beyond: {pair_roomy_ps: 24000, pair_tiny_ps: 27000, made: 100, kept: 60, lost: 40, whole_of_last_50: 50},
		 quiet: {whole: $quiet, spans: $quiet, groups: $quiet, threads: $threads, beyond: $quiet}}' >"$T/bench/scale.json"
}
documents
scale "$(q 0 1000 true)"
check_status "scaling, quiet" 0 "$tree/tools/bench-md" "$T/bench"
has "scaling: a row for each part" BENCHMARKS.md "| by threads | 0.0 %, 0.1 % |"
documents
scale "$(q 0 300000 false)"
check_status "scaling, not quiet: refused" 1 "$tree/tools/bench-md" "$T/bench"
untouched "scaling, not quiet"
check_status "scaling, not quiet: as asked" 0 "$tree/tools/bench-md" --not-quiet "$T/bench"
has "scaling, not quiet: marked" BENCHMARKS.md "| by threads | 0.0 %, 30.0 %: **not quiet** |"

vms() { # QUIET-OF-PRICE
	jq -n --argjson quiet "$(q 1500 2000 true)" --argjson price "$1" '
		{machine: {kernel: "6.1.0-x", cpus: "2"},
		 accuracy: [{vm: "PHP", hz: 99, points: 1, worst: 2, samples: 500}],
		 price: [{vm: "PHP", how: "about", told: 20, measured: 21, bare_ns: 50}],
		 quiet: {accuracy: $quiet, price: $price}}' >"$T/vms.json"
}
documents
vms "$(q 0 1000 true)"
check_status "stock VMs, quiet" 0 "$tree/tools/vms-md" "$T/vms.json"
has "stock VMs: a row for each part" BENCHMARKS.md "| shares | 0.1 %, 0.2 % |"
documents
vms null
check_status "stock VMs, not known: refused" 1 "$tree/tools/vms-md" "$T/vms.json"
untouched "stock VMs, not known"
check_status "stock VMs, not known: as asked" 0 "$tree/tools/vms-md" --not-quiet "$T/vms.json"
has "stock VMs, not known: marked" BENCHMARKS.md "| \`--exact-calls\` | not known: **not quiet** |"
