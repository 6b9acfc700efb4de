#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Stock VMs: how far shares by samples are from what the programs measure
# themselves, what sampling and exact calls cost them, and the price that is told.
# Writes $B/bench/vms.json; tools/bench-md puts it into BENCHMARKS.md.
#   tests/bench/vms.sh [PART...]     (root; parts: accuracy slowdown price; about 4 minutes)
# Tests wait for facts; here time itself is what is wanted, so there are sleeps.
# shellcheck disable=SC2154 # start_app sets app_pid
# shellcheck source=tests/stock/lib.sh
. "$(dirname "$0")/../stock/lib.sh"

out=$B/bench/vms.json
mkdir -p "$B/bench"
[ -s "$out" ] || echo '{}' >"$out"
SECONDS_EACH=${SECONDS_EACH:-10}
ROUNDS=${ROUNDS:-4}
JAVA=/usr/lib/jvm/java-17-openjdk-amd64/bin/java
java_app=(heavy=heavy.Plugin middle=middle.Plugin light=light.Plugin)
java_plugins "$T/java"

keep() { # KEY JSON
	jq --arg k "$1" --argjson v "$2" '.[$k] = $v' "$out" >"$out.new" && mv "$out.new" "$out"
}

stop_app() {
	exec {app_in}>&-
	kill "$app_pid"
	wait "$app_pid" 2>/dev/null
	rm -f "$T/in"
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

error_of() { # FILE.json KIND BEFORE AFTER: the largest of three, in points
	jq -n --slurpfile r "$1" --arg k "$2" --argjson a "$3" --argjson b "$4" '
		["heavy", "middle", "light"] as $n
		| [$n[] | {n: ., t: ($b[.] - ($a[.] // 0)),
			o: ("\($k):\(.)" as $g | [$r[0].groups[] | select(.name == $g) | .cpu_ns][0] // 0)}]
		| (map(.t) | add) as $t | (map(.o) | add) as $o
		| [.[] | 100 * .t / $t - 100 * .o / $o | if . < 0 then -. else . end] | max * 100 | round / 100'
}

accuracy_of() { # VM KIND COMMAND...
	local vm=$1 kind=$2 hz before after points
	shift 2
	start_app "$@"
	for hz in 99 999; do
		start_record "$T/a" "$app_pid" --hz $hz --duration "${SECONDS_EACH}s"
		before=$(ask truth)
		finish rec
		after=$(ask truth)
		report "$T/a"
		points=$(error_of "$T/a.json" "$kind" "$(jq .used <<<"$before")" "$(jq .used <<<"$after")")
		rows+=("{\"vm\":\"$vm\",\"hz\":$hz,\"points\":$points,\"samples\":$(jq .events.samples "$T/a.json")}")
		echo "$vm, $hz looks a second: within $points points"
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
	echo "run 30" >&"$app_in"
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
	printf '%s\n' "$@" | jq -s 'sort | .[length / 2 | floor] * 1000 | round / 1000'
}

slowdown_of() { # VM WINDOW COMMAND...
	local vm=$1 window=$2 hz bare traced ratios
	shift 2
	start_app "$@"
	for hz in 99 999; do
		ratios=()
		for _ in $(seq "$ROUNDS"); do
			bare=$("$window" 1)
			start_record "$T/a" "$app_pid" --hz $hz
			traced=$("$window" 1)
			finish rec INT
			ratios+=("$(jq -n "($traced / $bare)")")
		done
		rows+=("{\"vm\":\"$vm\",\"hz\":$hz,\"ratio\":$(median "${ratios[@]}")}")
		echo "$vm, $hz looks a second: $(median "${ratios[@]}") times its CPU time"
	done
	stop_app
}

slowdown() {
	rows=()
	slowdown_of CPython window /usr/bin/python3.11 "$APPS/calls.py"
	slowdown_of PHP window /usr/bin/php8.2 "$APPS/calls.php"
	slowdown_of OpenJDK rounds "$JAVA" -cp "$T/java" App "${java_app[@]}"
	keep slowdown "$(printf '%s\n' "${rows[@]}" | jq -sc .)"
}

# ---- Exact calls: what is told, and what it then is; the peers beside it ----

price_of() { # VM COMMAND...
	local vm=$1 bare traced told
	shift
	start_app "$@"
	bare=$(window 1)
	echo "run 30" >&"$app_in"
	start_record "$T/a" "$app_pid" --exact-calls --yes
	ask end 0 >"$T/answer"
	traced=$(window 2)
	finish rec INT
	told=$(sed -n 's/^exact calls: [a-z ]* \([0-9.]*\)x.*/\1/p' "$T/rec.err")
	rows+=("{\"vm\":\"$vm\",\"told\":${told:-null},\"measured\":$(jq -n "($traced / $bare * 100 | round / 100)")}")
	echo "$vm, exact calls: told ${told:-nothing}x, measured $(jq -n "$traced / $bare")x"
	[ "$vm" != PHP ] || peer_of "$bare"
	stop_app
}

# The same by bpftrace: a count by file of every function of PHP.
peer_of() { # BARE
	local traced
	if ! command -v bpftrace >/dev/null; then
		echo "skip bpftrace: not installed"
		return
	fi
	start peer bpftrace -p "$app_pid" -e "BEGIN { printf(\"ready\\n\"); }
		usdt:/usr/bin/php8.2:php:function__entry { @begin[tid] = nsecs; @calls[str(arg1)] = count(); }
		usdt:/usr/bin/php8.2:php:function__return { @ns[str(arg1)] = sum(nsecs - @begin[tid]); }"
	wait_line peer '^ready' >/dev/null
	sleep 1
	traced=$(window 2)
	finish peer INT
	peers+=("{\"what\":\"bpftrace, entries and returns of PHP by file\",\"ratio\":$(jq -n "($traced / $1 * 100 | round / 100)")}")
	echo "bpftrace: $(jq -n "$traced / $1")x"
}

price() {
	rows=() peers=()
	price_of CPython /usr/bin/python3.11 "$APPS/calls.py"
	price_of PHP env USE_ZEND_DTRACE=1 /usr/bin/php8.2 "$APPS/calls.php"
	keep price "$(printf '%s\n' "${rows[@]}" | jq -sc .)"
	keep peers "$(printf '%s\n' "${peers[@]}" | jq -sc .)"
}

for part in "${@:-accuracy slowdown price}"; do
	for p in $part; do
		"$p"
	done
done
keep machine "$(jq -n --arg k "$(uname -r)" --arg c "$(nproc)" '{kernel: $k, cpus: $c}')"
