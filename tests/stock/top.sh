#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# What people see of a stock VM in top, on a terminal of 80 columns: its groups, why a
# probe is silent, to the last word, and nothing that is not known.
# shellcheck disable=SC2154 # start and start_app set NAME_pid
# shellcheck source=tests/stock/lib.sh
. "$(dirname "$0")/lib.sh"

if ! command -v tmux >"$T/which"; then
	skip_rest "top on a terminal" "no tmux: tools/install-deps"
fi
# shellcheck source=tests/screen_lib.sh
. "$(dirname "$0")/../screen_lib.sh"
vmspan=$(realpath "$VMSPAN")

# Waits for words on the screen, without the breaks of lines that were too long for it.
said() { # REGEX
	tr -s ' \n' '  ' <"$T/screen" | grep -qE -- "$1"
}
until_said() { # REGEX
	until_good said "$1"
}

top_of() { # NAME PID GROUP [PROBE REASON]
	terminal 80 24 "'$vmspan' top -p $2 -d 0.25 --no-config"
	check "$1: its group is on top" until_seen "^$3 +"
	check "$1: looks are counted" until_seen '[1-9][0-9]* looks/s'
	[ $# -lt 5 ] || check "$1: which probe is silent, why, what to do, to the last word" \
		until_said "note: .* $4 is armed, .*: $5 -> .*the build is to blame\\."
	key q
	check "$1: ends" until_seen 'STATUS 0'
}

if [ -x /usr/bin/python3.11 ]; then
	mkdir -p "$T/app/site-packages"
	for n in heavy middle light; do
		cp "$APPS/plugin.py" "$T/app/site-packages/$n.py"
	done
	cp "$APPS/app.py" "$T/app"
	app env PYTHONPATH="$T/app/site-packages" /usr/bin/python3.11 "$T/app/app.py"
	# Its turns are shorter than the time between two looks.
	terminal 80 24 "'$vmspan' top -p $app_pid -d 0.25 --no-config"
	check "short turns: who took most time is said, and of no turn who held it" \
		until_seen '^most time went to package:heavy, in turns too short to tell who held each'
	check "short turns: how long the longest of a group was is not known" \
		until_seen '^package:heavy .* -  +-$'
	key q
	check "short turns: ends" until_seen 'STATUS 0'
	top_of "CPython" "$app_pid" package:heavy python:gc__start 'gc\.disable\(\) was called, or nothing is made that needs one'
else
	skip "CPython" "no /usr/bin/python3.11: tools/install-deps --vms"
fi

if [ -x /usr/bin/ruby3.1 ]; then
	ruby_plugins
	app /usr/bin/ruby3.1 "${paths[@]}" "$APPS/app.rb"
	top_of "Ruby" "$app_pid" package:heavy ruby:gc__mark__begin 'GC\.disable was called, or nothing is made that needs one'
else
	skip "Ruby" "no /usr/bin/ruby3.1: tools/install-deps --vms"
fi

if [ -x /usr/bin/php8.2 ]; then
	mkdir -p "$T/wp-content/plugins/heavy"
	cat >"$T/wp-content/plugins/heavy/heavy.php" <<-'END'
		<?php
		function busy() { for ($x = $i = 0; $i < 100000; $i++) $x += $i; }
		echo "ready ", getmypid(), "\n";
		while (true) busy();
	END
	app /usr/bin/php8.2 "$T/wp-content/plugins/heavy/heavy.php"
	top_of "PHP" "$app_pid" plugin:heavy
else
	skip "PHP" "no /usr/bin/php8.2: tools/install-deps --vms"
fi
