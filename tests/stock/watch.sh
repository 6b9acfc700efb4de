#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Alerts of stock VMs: the package, plugin or statement that holds the turn is named, and
# no other, with the stacks that say where; a dump gives the same again.
# shellcheck disable=SC2154 # the helpers set their variables
# shellcheck source=tests/stock/lib.sh
. "$(dirname "$0")/lib.sh"

# Who holds the turn works for two seconds of CPU time; who does not, for less than a
# hundredth of that. So it takes a second's stay off the CPU to be thought to hold one too.

# named NAME GROUP: what watch has said, and what it says of the dump again.
named() {
	# What goes on is told of too, and shorter then.
	jq -c 'select(.type == "alert")' "$T/watch.out" >"$T/alerts"
	json_eq "$1: that group, and no other" <(jq -s . "$T/alerts") \
		'[length >= 3, (map(.group) | unique)]' "[true,[\"$2\"]]"
	json_eq "$1: about as long as it was" <(jq -s . "$T/alerts") \
		'all(.[]; .total_ns > 1500000000 and .total_ns <= .event.wall_ns and .threshold_ns == 1000000000)' true
	json_eq "$1: the event's ledger sums" <(jq -s . "$T/alerts") 'all(.[].event; (.ledger | add) == .wall_ns)' true
	dump=$(jq -r 'select(.dump) | .dump' "$T/alerts" | head -n 1)
	check "$1: a dump" test -s "$dump"
	check_status "$1: the dump replayed" 0 "$VMSPAN" watch "$dump" --json --threshold 1s
	eq "$1: the same alerts as live" "$(jq -c '[.group, .total_ns, .event.iteration]' "$T/out" | head -n 3)" \
		"$(jq -c '[.group, .total_ns, .event.iteration]' "$T/alerts" | head -n 3)"
}
stacks_say() { # NAME FUNCTION
	json_eq "$1: the stacks say where" <(jq -s . "$T/watch.out") \
		"all(.[]; .stacks | length > 0 and (map(select(.frames[0] | tostring | contains(\"$2\"))) | length) > 0)" true
}
watch() { # PID
	start watch "$VMSPAN" watch -p "$1" --json --threshold 1s --dump "$T/dumps" --before 1h --after 1h --ring 64M
	wait_line watch '^watching ' err >/dev/null || not_ok "a watch of $1" "it does not begin"
}

PYTHON=/usr/bin/python3.11
if [ -x $PYTHON ]; then
	mkdir -p "$T/app/site-packages"
	for n in heavy middle light; do
		cp "$APPS/plugin.py" "$T/app/site-packages/$n.py"
	done
	cp "$APPS/slow.py" "$T/app"
	start_app env PYTHONPATH="$T/app/site-packages" $PYTHON "$T/app/slow.py"
	watch "$app_pid"
	ask hold 3 >/dev/null
	wait_lines watch '"type":"alert"' 3
	finish watch INT
	named CPython package:heavy
	stacks_say CPython inner
	stop_app
else
	skip "CPython" "no $PYTHON: tools/install-deps --vms"
fi

PHP=/usr/bin/php8.2
if [ -x $PHP ]; then
	for n in heavy middle light; do
		mkdir -p "$T/www/wp-content/plugins/$n"
		sed "s/NAME/$n/g" "$APPS/plugin.php" >"$T/www/wp-content/plugins/$n/$n.php"
	done
	cp "$APPS/slow.php" "$T/www/index.php"
	serve_php "$T/www"
	get_php / >"$T/warm"
	watch "$php_pid"
	for path in / '/?slow' / '/?slow' '/?slow'; do
		eq "PHP: $path is served" "$(get_php "$path")" answer
	done
	wait_lines watch '"type":"alert"' 3
	finish watch INT
	named PHP plugin:heavy
	stacks_say PHP heavy_inner
	finish php INT
else
	skip "PHP" "no $PHP: tools/install-deps --vms"
fi

if [ -x /usr/lib/postgresql/15/bin/postgres ]; then
	serve_postgres
	psql -q postgres -c 'create database shop'
	psql -q shop -f "$APPS/burn.sql"
	watch "$server_pid"
	for _ in 1 2 3; do
		psql -q postgres -c 'select 1' >"$T/quick"
		psql -q shop -c 'select burn(2)' >"$T/slow"
	done
	wait_lines watch '"type":"alert"' 3
	finish watch INT
	named PostgreSQL 'tenant:shop SELECT'
	finish server INT
else
	skip "PostgreSQL" "no postgres: tools/install-deps --vms"
fi
