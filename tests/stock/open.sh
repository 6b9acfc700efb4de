#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# What a thread of a stock VM has been in for long is in all figures while it goes on, and is told of by watch.
# shellcheck disable=SC2154 # start_app sets app_pid, serve_php php_port and php_pid
# shellcheck source=tests/stock/lib.sh
. "$(dirname "$0")/lib.sh"

# Of the intervals so far, for jq.
seen() { # FILTER
	[ "$(jq -s "$1" "$T/top.out")" = true ]
}

# Figures are those of the trace so far.
top() { # PID
	start top "$VMSPAN" top -p "$1" --json -d 0.25 --no-config
	need_line top '^\{'
}

# It goes on, and its group has TERM for a second and more; then release() ends it.
goes_on() { # NAME GROUP TERM
	local before longest
	check "$1: its time grows while it goes on" until_true seen \
		"any(.[]; .open.count == 1 and .events.open == 1 and .open.longest[0].so_far_ns >= 1e9 and
		any(.groups[]; .name == \"$2\" and .$3 >= 0.9e9))"
	longest=$(jq -sc '[.[] | select(.open)] | last.open.longest[0] | [.event, .group]' "$T/top.out")
	eq "$1: it is called by its group" "$longest" "[true,\"$2\"]"
	before=$(jq -s '[.[] | select(.open)] | last.open.longest[0].so_far_ns' "$T/top.out")
	release
	check "$1: when it has ended it is counted as such" until_true seen \
		"last | .open == null and .events.open == null and .events.max_ns >= $before"
	finish top INT
	# The one that hangs; before it, and behind it, there may be short ones.
	json_eq "$1: it is one event, and none but that was long" <(jq -s last "$T/top.out") '.events.durations[9]' 1
	# What it ran between its waits is shared with the looks of later ones: less than 4 times 10.1 ms.
	json_eq "$1: the time of events does not go back" <(jq -sc 'map(.events.wall_ns)' "$T/top.out") \
		'[range(1; length) as $i | .[$i - 1] - .[$i]] | max < 41e6' true
	json_eq "$1: the ledger sums up at any time" <(jq -sc . "$T/top.out") 'all(.[]; .ledger | .self_ns + .gc_ns
		+ .blocked_ns + .native_ns + .moved_ns + .stale_ns + .lost_ns == .event_wall_ns)' true
	json_eq "$1: nothing is lost" <(jq -s last "$T/top.out") '[.losses[]] | add' 0
}

# watch tells of it while it goes on, once, and of its end.
told() { # NAME GROUP FUNCTION
	local told="map(select(.group == \"$2\"))"
	check "$1: watch tells of it while it goes on" until_true alerted "$told | any(.[]; .type == \"open\")"
	json_eq "$1: with the stack" <(jq -s "$told" "$T/watch.out") \
		".[0].stacks | any(.[]; .frames | any(.[]; .name | test(\"$3\")))" true
	release
	check "$1: and of its end" until_true alerted "$told | any(.[]; .type == \"alert\")"
	finish watch INT
	json_eq "$1: once each, of one event" <(jq -s "$told" "$T/watch.out") \
		'[map(.type), (map(.event.iteration) | unique | length)]' '[["open","alert"],1]'
}
alerted() { # FILTER
	[ "$(jq -s "$1" "$T/watch.out")" = true ]
}
watch() { # PID
	start watch "$VMSPAN" watch -p "$1" --json --threshold 500ms
	need_line watch '^watching ' err
}

PYTHON=/usr/bin/python3.11
if [ -x $PYTHON ]; then
	mkdir "$T/app"
	cp "$APPS/hangs.py" "$T/app/hangs.py"
	mkfifo "$T/fifo"
	# A wait begins and ends where nobody else needs the CPU for it.
	for mode in loop pool; do
		app $PYTHON "$T/app/hangs.py" "$mode"
		for what in hang wait; do
			if [ $what = hang ]; then
				release() { : >"$T/end"; }
				arg=$T/end term=self_ns
			else
				release() { echo >"$T/fifo"; }
				arg=$T/fifo term=blocked_ns
			fi
			for by in top watch; do
				$by "$app_pid"
				# The first turn began before anybody knew that it is one of a loop.
				ask turn >"$T/line"
				# A pool's thread is known by a look at it.
				ask work >"$T/line"
				answers=$(grep -c '^answer' "$T/app.out")
				send app "$what $arg"
				if [ $by = top ]; then
					goes_on "CPython, $mode, $what" package:app $term
				else
					told "CPython, $mode, $what" package:app "^$what "
				fi
				wait_lines app '^answer' $((answers + 1)) || not_ok "CPython, $mode, $what" "it does not end"
				rm -f "$T/end"
			done
		done
	done
	stop_app
else
	skip "CPython" "no $PYTHON: tools/install-deps --vms"
fi

if [ -x /usr/bin/php8.2 ]; then
	mkdir -p "$T/www/wp-content/plugins/heavy"
	cat >"$T/www/index.php" <<-'END'
		<?php
		require __DIR__ . '/wp-content/plugins/heavy/heavy.php';
		echo "answer\n";
	END
	cat >"$T/www/wp-content/plugins/heavy/heavy.php" <<-END
		<?php
		function hang() { while (isset(\$_GET['hang']) && !file_exists('$T/end')) clearstatcache(); }
		hang();
	END
	serve_php "$T/www"
	release() { : >"$T/end"; }
	for by in top watch; do
		$by "$php_pid"
		eq "PHP: it answers" "$(get_php /)" answer
		get_php "/?hang" >"$T/answer" &
		client=$!
		if [ $by = top ]; then
			goes_on "PHP, a request" plugin:heavy self_ns
			json_eq "PHP, a request: it is called by its path" \
				<(jq -sc '[.[] | select(.open)] | last.open.longest[0].label' "$T/top.out") . '"/"'
		else
			told "PHP, a request" plugin:heavy "^hang "
		fi
		wait $client
		eq "PHP: it is answered" "$(cat "$T/answer")" answer
		rm "$T/end"
	done
	finish php INT 2>"$T/finish" || :
else
	skip "PHP" "no /usr/bin/php8.2: tools/install-deps --vms"
fi

if [ -x /usr/lib/postgresql/15/bin/postgres ]; then
	serve_postgres
	start_ready holder psql -q postgres -c '\echo ready to hold' -f -
	release() { send holder 'select pg_advisory_unlock(1);'; }
	for by in top watch; do
		$by "$server_pid"
		send holder 'select pg_advisory_lock(1);'
		send holder '\echo holding'
		wait_lines holder '^holding' "$([ $by = top ] && echo 1 || echo 2)" || not_ok "PostgreSQL" "no lock"
		psql -q postgres -c 'select pg_advisory_lock(1)' >"$T/sql" &
		client=$!
		if [ $by = top ]; then
			goes_on "PostgreSQL, a lock" "tenant:postgres SELECT" blocked_ns
		else
			check "PostgreSQL, a lock: watch tells of it while it goes on" until_true alerted \
				'any(.[]; .type == "open" and .group == "tenant:postgres SELECT" and .blocked_ns >= 0.9 * .total_ns)'
			release
			finish watch INT
		fi
		wait $client
	done
else
	skip "PostgreSQL" "no PostgreSQL 15: tools/install-deps --vms"
fi
