#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Stock VMs: how far shares by samples are from what the programs measure
# themselves, what sampling and exact calls cost them, and the price that is told.
# Writes $B/bench/vms.json ($OUT); tools/vms-md puts it into BENCHMARKS.md.
#   tests/bench/vms.sh [PART...]     (root; parts: accuracy slowdown price peers; about 13 minutes)
# Tests wait for facts; here time itself is what is wanted, so there are sleeps.
# shellcheck disable=SC2154 # start_app sets app_pid
# shellcheck source=tests/stock/lib.sh
. "$(dirname "$0")/../stock/lib.sh"
# shellcheck source=tests/bench/quiet_lib.sh
. "$(dirname "$0")/quiet_lib.sh"

out=${OUT:-$B/bench/vms.json}
mkdir -p "${out%/*}"
[ -s "$out" ] || echo '{}' >"$out"
SECONDS_EACH=${SECONDS_EACH:-10}
TIMES=${TIMES:-3} # what chance does to looks differs from one time to the next
ROUNDS=${ROUNDS:-8}
bpftool=$(command -v bpftool || echo /usr/sbin/bpftool)
bpf_stats=$(cat /proc/sys/kernel/bpf_stats_enabled)
JAVA=/usr/lib/jvm/java-17-openjdk-amd64/bin/java
java_app=(heavy=heavy.Plugin middle=middle.Plugin light=light.Plugin)
java_plugins "$T/java"

keep() { # KEY JSON
	jq --arg k "$1" --argjson v "$2" '.[$k] = $v' "$out" >"$out.new" && mv "$out.new" "$out"
}

plugins() {
	local n
	mkdir -p "$T/app/site-packages"
	cp "$APPS/app.py" "$T/app"
	for n in heavy middle light; do
		cp "$APPS/plugin.py" "$T/app/site-packages/$n.py"
		mkdir -p "$T/gems/$n-1.0.0/lib" "$T/www/wp-content/plugins/$n"
		sed "s/NAME/${n^}/" "$APPS/plugin.rb" >"$T/gems/$n-1.0.0/lib/$n.rb"
		sed "s/NAME/$n/g" "$APPS/plugin.php" >"$T/www/wp-content/plugins/$n/$n.php"
	done
}

# ---- Shares, against the program's own ----

list() {
	local IFS=,
	echo "$*"
}

error_of() { # FILE.json KIND BEFORE AFTER: the largest of three, in points
	jq -n --slurpfile r "$1" --arg k "$2" --argjson a "$3" --argjson b "$4" '
		["heavy", "middle", "light"] as $n
		| [$n[] | {n: ., t: ($b[.] - ($a[.] // 0)),
			o: ("\($k):\(.)" as $g | [$r[0].groups[] | select(.name == $g) | .cpu_ns][0] // 0)}]
		| (map(.t) | add) as $t | (map(.o) | add) as $o
		| [.[] | 100 * .t / $t - 100 * .o / $o | if . < 0 then -. else . end] | max * 100 | round / 100'
}

accuracy_of() { # VM KIND COMMAND...
	local vm=$1 kind=$2 hz before after points looks
	shift 2
	start_app "$@"
	for hz in 99 999; do
		points=() looks=()
		for _ in $(seq "$TIMES"); do
			start_record "$T/a" "$app_pid" --hz $hz --duration "${SECONDS_EACH}s"
			before=$(ask truth)
			finish rec
			after=$(ask truth)
			report "$T/a"
			points+=("$(error_of "$T/a.json" "$kind" "$(jq .used <<<"$before")" "$(jq .used <<<"$after")")")
			looks+=("$(jq .events.samples "$T/a.json")")
		done
		rows+=("$(jq -nc --arg vm "$vm" --argjson hz $hz --argjson points "[$(list "${points[@]}")]" \
			--argjson looks "[$(list "${looks[@]}")]" 'def median: sort | .[length / 2 | floor];
			{vm: $vm, hz: $hz, points: ($points | median), worst: ($points | max), samples: ($looks | median)}')")
		echo "$vm, $hz looks a second: within ${points[*]} points"
	done
	stop_app
}

accuracy() {
	rows=()
	plugins
	accuracy_of CPython package env PYTHONPATH="$T/app/site-packages" /usr/bin/python3.11 "$T/app/app.py"
	accuracy_of PHP plugin /usr/bin/php8.2 "$APPS/app.php" "$T/www"
	accuracy_of Ruby package /usr/bin/ruby3.1 -I "$T/gems/heavy-1.0.0/lib" -I "$T/gems/middle-1.0.0/lib" \
		-I "$T/gems/light-1.0.0/lib" "$APPS/app.rb"
	accuracy_of OpenJDK package "$JAVA" -cp "$T/java" App "${java_app[@]}"
	keep accuracy "$(printf '%s\n' "${rows[@]}" | jq -sc .)"
}

# ---- Cost: CPU time a call in windows with and without ----

window() { # SECONDS: ns of CPU time a call
	send app "run 30"
	sleep "$1"
	ask end 0 | jq '.ns / ([.calls[]] | add)'
}

# The same of a program that says how many rounds its plugins made.
rounds() { # SECONDS
	local before
	before=$(ask truth)
	sleep "$1"
	ask truth | jq --argjson a "$before" '(([.used[]] | add) - ([$a.used[]] | add)) / (.rounds - $a.rounds)'
}

median() {
	printf '%s\n' "$@" | jq -s 'sort | (.[(length - 1) / 2 | floor] + .[length / 2 | floor]) / 2 * 1000 | round / 1000'
}

# A window with something attached, of the mean of the windows before and behind it.
beside() { # BEFORE DURING AFTER
	jq -n "2 * $2 / ($1 + $3)"
}

# What the kernel's timer takes by itself, with nothing to do.
start_timer() { # HZ
	start timer bpftrace -e "BEGIN { printf(\"ready\\n\"); } profile:hz:$1 { @n = count(); }
		interval:ms:50 /!@told/ { printf(\"runs\\n\"); @told = 1; }"
	wait_line timer '^runs' >/dev/null
}

# What the program at the timer takes a look, in ns, by the kernel's own count.
look_of() { # WINDOW HZ
	local ns
	echo 1 >/proc/sys/kernel/bpf_stats_enabled
	start_record "$T/a" "$app_pid" --hz "$2"
	"$1" 1 >"$T/first"
	cat "/proc/$rec_pid/fdinfo/"* 2>/dev/null | sed -n 's/^prog_id:[[:space:]]*//p' | jq -sc unique >"$T/ids"
	ns=$("$bpftool" prog list -j | jq --slurpfile ids "$T/ids" \
		'[.[] | select((.id | IN($ids[0][])) and .name == "walk_tick") | .run_time_ns] | add')
	finish rec INT
	echo "$bpf_stats" >/proc/sys/kernel/bpf_stats_enabled
	report "$T/a"
	jq --argjson ns "$ns" '$ns / .events.samples | round' "$T/a.json"
}

slowdown_of() { # VM WINDOW COMMAND...
	local vm=$1 window=$2 hz before during after ours alone look
	shift 2
	start_app "$@"
	for hz in 99 999; do
		look=$(look_of "$window" $hz)
		ours=() alone=()
		before=$("$window" 0.7)
		for _ in $(seq "$ROUNDS"); do
			start_record "$T/a" "$app_pid" --hz $hz
			"$window" 0.5 >"$T/first" # what it lets go of is seen by then
			during=$("$window" 0.7)
			finish rec INT
			after=$("$window" 0.7)
			ours+=("$(beside "$before" "$during" "$after")")
			start_timer $hz
			during=$("$window" 0.7)
			finish timer INT
			before=$("$window" 0.7)
			alone+=("$(beside "$after" "$during" "$before")")
		done
		rows+=("{\"vm\":\"$vm\",\"hz\":$hz,\"ratio\":$(median "${ours[@]}"),\"timer\":$(median "${alone[@]}"),\"look_ns\":$look}")
		echo "$vm, $hz looks a second: $(median "${ours[@]}") times its CPU time, the timer alone $(median "${alone[@]}"), a look $look ns"
	done
	stop_app
}

slowdown() {
	rows=()
	slowdown_of CPython window /usr/bin/python3.11 "$APPS/calls.py"
	slowdown_of PHP window /usr/bin/php8.2 "$APPS/calls.php"
	slowdown_of Ruby window /usr/bin/ruby3.1 "$APPS/calls.rb"
	slowdown_of OpenJDK rounds "$JAVA" -cp "$T/java" App "${java_app[@]}"
	keep slowdown "$(printf '%s\n' "${rows[@]}" | jq -sc .)"
}

# ---- Exact calls: what is told, and what it then is ----

price_of() { # VM COMMAND...
	local vm=$1 before during after told how
	shift
	start_app "$@"
	before=$(window 1)
	send app "run 30"
	start_record "$T/a" "$app_pid" --exact-calls --yes
	ask end 0 >"$T/answer"
	during=$(window 2)
	finish rec INT
	after=$(window 1)
	told=$(sed -nE 's/^exact calls: (about|more than) ([0-9.]+)x a call.*/\2/p' "$T/rec.err")
	how=$(sed -nE 's/^exact calls: (about|more than) [0-9.]+x a call.*/\1/p' "$T/rec.err")
	during=$(beside "$before" "$during" "$after")
	rows+=("{\"vm\":\"$vm\",\"how\":\"$how\",\"told\":${told:-null},\"measured\":$(jq -n "$during * 100 | round / 100"),
		\"bare_ns\":$(jq -n "($before + $after) / 2 | round")}")
	echo "$vm, exact calls: told $how ${told:-nothing}x, measured ${during}x"
	stop_app
}

price() {
	rows=()
	price_of CPython /usr/bin/python3.11 "$APPS/calls.py"
	price_of PHP env USE_ZEND_DTRACE=1 /usr/bin/php8.2 "$APPS/calls.php"
	price_of "Ruby, methods in C" /usr/bin/ruby3.1 "$APPS/calls.rb"
	keep price "$(printf '%s\n' "${rows[@]}" | jq -sc .)"
}

# ---- The same job by others ----

peer() { # WHAT RATIO SAYS
	peers+=("$(jq -nc --arg what "$1" --argjson ratio "${2:-null}" --arg says "$3" '$ARGS.named')")
	echo "$1: ${2:-no figure}; $3"
}

# bpftrace tells when it was hit; what it prints at its end is counted.
bpftrace_of() { # WHAT PATTERN COMMAND... -- PROGRAM
	local what=$1 pattern=$2 before during after command=() ratio=''
	shift 2
	while [ "$1" != -- ]; do
		command+=("$1")
		shift
	done
	shift
	start_app "${command[@]}"
	before=$(window 1)
	send app "run 30"
	start peer bpftrace -p "$app_pid" -e "BEGIN { @told = 0; @calls_or_looks = 0; } $1
		interval:ms:100 /!@told && @calls_or_looks/ { printf(\"hit\\n\"); @told = 1; }
		interval:s:4 /!@told/ { printf(\"never hit\\n\"); @told = 1; }"
	wait_line peer 'hit$' >/dev/null
	ask end 0 >"$T/answer"
	during=$(window 1)
	finish peer INT
	after=$(window 1)
	ratio=$(jq -n "$(beside "$before" "$during" "$after") * 100 | round / 100")
	peer "$what" "$ratio" "$(if grep -q '^never hit' "$T/peer.out"; then
		echo "never hit in 4 s: no line"
	else
		echo "$(grep -cE "$pattern" "$T/peer.out") lines name its functions or files"
	fi)"
	stop_app
}

# What bcc's tool says in 4 s: the last line of an error, or how many lines name our functions.
bcc_of() { # TOOL COMMAND...
	local tool=$1 says
	shift
	start_app "$@"
	send app "run 30"
	if ! command -v "$tool" >/dev/null; then
		says='not installed (bpfcc-tools)'
	else
		timeout 30 "$tool" "$app_pid" 4 >"$T/bcc" 2>&1
		says=$(grep -E '^[A-Za-z.]*(Exception|Error)|rror:|nable to' "$T/bcc" | tail -n 1 | tr -d "<>")
		says=${says:-$(grep -cE 'leaf|swapcase' "$T/bcc") lines name its functions or files}
	fi
	peer "bcc, \`$tool\`" '' "$says"
	stop_app
}

peers() {
	local python=(/usr/bin/python3.11 "$APPS/calls.py") php=(env USE_ZEND_DTRACE=1 /usr/bin/php8.2 "$APPS/calls.php")
	peers=()
	bpftrace_of "bpftrace, entries and returns of PHP, time by file" calls.php "${php[@]}" -- "
		usdt:/usr/bin/php8.2:php:function__entry { @begin[tid] = nsecs; @calls[str(arg1)] = count(); @calls_or_looks = 1; }
		usdt:/usr/bin/php8.2:php:function__return { @ns[str(arg1)] = sum(nsecs - @begin[tid]); }"
	bpftrace_of "bpftrace, entries and returns of CPython, time by file" calls.py "${python[@]}" -- "
		usdt:/usr/bin/python3.11:python:function__entry { @begin[tid] = nsecs; @calls[str(arg0)] = count(); @calls_or_looks = 1; }
		usdt:/usr/bin/python3.11:python:function__return { @ns[str(arg0)] = sum(nsecs - @begin[tid]); }"
	bpftrace_of "bpftrace, user stacks of CPython at 99 Hz" 'calls.py|leaf' "${python[@]}" -- "
		profile:hz:99 /comm == \"python3.11\"/ { @looks[ustack] = count(); @calls_or_looks = 1; }"
	bcc_of phpcalls-bpfcc "${php[@]}"
	bcc_of pythoncalls-bpfcc "${python[@]}"
	bcc_of rubycalls-bpfcc /usr/bin/ruby3.1 "$APPS/calls.rb"
	keep peers "$(printf '%s\n' "${peers[@]}" | jq -sc .)"
}

for part in "${@:-accuracy slowdown price peers}"; do
	for p in $part; do
		from=$(quiet) || exit 1
		"$p"
		keep quiet "$(jq --arg part "$p" --argjson quiet "$(quiet "$from")" '(.quiet // {}) | .[$part] = $quiet' "$out")"
	done
done
keep machine "$(jq -n --arg k "$(uname -r | cut -d- -f1)" --arg c "$(nproc)" '{kernel: $k, cpus: $c}')"
