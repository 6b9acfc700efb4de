#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Each stock VM with the three capabilities that docs/PERMISSIONS.md names, as another user: what its probes tell,
# to the unit, and its stacks. That each right is wanted, live/vm_rights.sh shows.
# shellcheck disable=SC2154 # start_app sets app_pid
# shellcheck source=tests/stock/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/user_lib.sh
. "$(dirname "$0")/../user_lib.sh"

user_or_skip "rights"
user_folder "rights"
A=$USER_DIR/out/a
install -m 755 "$VMSPAN" "$USER_DIR/vmspan"
cc -o "$USER_DIR/refuse" "$TOP/tests/vm/refuse.c" && chmod 755 "$USER_DIR/refuse" || {
	not_ok "build" "the program of this test does not build"
	exit 1
}
mkdir "$USER_DIR/out"
chown 65534:65534 "$USER_DIR/out"
user_with +bpf,+perfmon,+sys_ptrace
user_traces_or_skip "rights" "$USER_DIR/vmspan"

begins() { # NAME ARGUMENT...: a recording, as that user
	rm -f "$A"
	start rec "${as[@]}" "$USER_DIR/vmspan" record -o "$A" "${@:2}"
	wait_line rec '^recording ' err >/dev/null && return
	not_ok "$1" "$(head -n 2 "$T/rec.err" | tr '\n' ' ')"
	finish rec
	return 1
}
ends() { # NAME
	finish rec INT
	report "$A"
	json_eq "$1: nothing is left out" "$A.json" '[[.processes[].notes[]?.text], ([.losses[]] | add)]' '[[],0]'
}
collects() { # NAME ARGUMENT...: collections are as many as the program counts
	local before after
	begins "$@" || return 0
	before=$(ask run 1 | jq .gc)
	after=$(ask gc 17 | jq .gc)
	ends "$1"
	json_eq "$1: collections" "$A.json" .gc.count $((after - before))
	json_eq "$1: its stacks are seen" "$A.json" \
		'[.groups[] | select(.kind == "package") | .samples] | add > 20' true
}
calls() { # NAME
	check_status "$1, exact calls: their price cannot be tried" 3 "${as[@]}" "$USER_DIR/vmspan" record -p "$app_pid" \
		--exact-calls -o "$A"
	check "$1, exact calls: what that takes is said" grep -q 'without CAP_SYS_ADMIN' "$T/err"
	begins "$1, exact calls" -p "$app_pid" --exact-calls --yes --buffer 64M || return 0
	ask work 101 >"$T/answer"
	finish rec INT
	report "$A" --own
	jq -S .calls "$T/answer" >"$T/theirs"
	jq -S --slurpfile a "$T/answer" '[.groups[] | select(.kind == "compartment") |
		{(.name | ltrimstr("compartment:") | sub(" \\(.*"; "")): .spans}] | add |
		with_entries(select(.key | in($a[0].calls)))' "$A.json" >"$T/ours"
	same "$1, exact calls: of each function" "$T/ours" "$T/theirs"
}

python=/usr/bin/python3.11
if [ -x $python ]; then
	mkdir -p "$T/app/site-packages"
	for n in heavy middle light; do
		cp "$APPS/plugin.py" "$T/app/site-packages/$n.py"
	done
	start_app env PYTHONPATH="$T/app/site-packages" $python "$APPS/app.py"
	echo 4 >"$T/level"
	# shellcheck disable=SC2016 # expanded there
	check_status "CPython, where perf events are for CAP_SYS_ADMIN only" 3 unshare -m \
		sh -c 'mount --bind "$0" /proc/sys/kernel/perf_event_paranoid && exec "$@"' "$T/level" \
		"${as[@]}" "$USER_DIR/refuse" EACCES perf_event_open "$USER_DIR/vmspan" record -p "$app_pid" -o "$A"
	check "CPython, there: the level is named" grep -qF 'kernel.perf_event_paranoid is 4: perf events are for CAP_SYS_ADMIN only. Run vmspan with sudo; or:' "$T/err"
	collects "CPython, by its number" -p "$app_pid"
	collects "CPython, by its name" --comm "$(<"/proc/$app_pid/comm")"
	stop_app
	# Its own file alone may not be read, and that may be all that there is.
	mkdir "$T/closed"
	install -m 700 $python "$T/closed/python3.11"
	ln -s "$T/closed/python3.11" "$T/closed/py$$"
	start_app "$T/closed/py$$" "$APPS/calls.py"
	check_status "CPython, whose file may not be read, by its name" 3 timeout -k 5 "$LIMIT" "${as[@]}" "$USER_DIR/vmspan" record \
		--comm "py$$" -o "$A"
	check "CPython, whose file may not be read: it is named" grep -q 'closed/python3.11: .*Permission denied' "$T/err"
	stop_app
	start_app $python "$APPS/calls.py"
	calls "CPython"
	stop_app
else
	skip "CPython" "no $python: tools/install-deps --vms"
fi

if [ -x /usr/bin/ruby3.1 ]; then
	ruby_plugins
	start_app /usr/bin/ruby3.1 "${paths[@]}" "$APPS/app.rb"
	collects "Ruby, by its number" -p "$app_pid"
	collects "Ruby, by its name" --comm "$(<"/proc/$app_pid/comm")"
	stop_app
else
	skip "Ruby" "no /usr/bin/ruby3.1: tools/install-deps --vms"
fi

java=/usr/lib/jvm/java-17-openjdk-amd64/bin
if [ -x $java/javac ]; then
	java_plugins "$T/classes"
	start_app $java/java -cp "$T/classes" App heavy=heavy.Plugin middle=middle.Plugin light=light.Plugin
	collects "OpenJDK, by its number" -p "$app_pid"
	collects "OpenJDK, by its name" --comm "$(<"/proc/$app_pid/comm")"
	stop_app
else
	skip "OpenJDK" "no $java/javac: tools/install-deps --vms"
fi

requests() { # NAME ARGUMENT...
	local i
	begins "$@" || return 0
	for i in $(seq 13); do
		get_php "/?n=$i" >>"$T/answers"
	done
	ends "$1"
	json_eq "$1: requests" "$A.json" .events.count 13
}
if [ -x /usr/bin/php8.2 ]; then
	mkdir -p "$T/www"
	cp "$APPS/index.php" "$T/www"
	for n in heavy middle light; do
		mkdir -p "$T/www/wp-content/plugins/$n"
		sed "s/NAME/$n/g" "$APPS/plugin.php" >"$T/www/wp-content/plugins/$n/$n.php"
	done
	serve_php "$T/www"
	get_php / >"$T/warm"
	# shellcheck disable=SC2154 # start sets php_pid
	requests "PHP, by its number" -p "$php_pid"
	requests "PHP, by its name" --comm "$(<"/proc/$php_pid/comm")"
	finish php TERM || : # as it was told to
else
	skip "PHP" "no /usr/bin/php8.2: tools/install-deps --vms"
fi

statements() { # NAME ARGUMENT...
	begins "$@" || return 0
	for _ in 1 2 3 4 5; do
		psql -q postgres -c 'values (1)' -c 'delete from nothing_of_this_name' >"$T/sql" 2>"$T/sql.err"
	done
	ends "$1"
	json_eq "$1: statements" "$A.json" '[.groups[] | select(.name == "tenant:postgres VALUES" or
		.name == "tenant:postgres DELETE") | .events] | sort' '[5,5]'
}
if [ -x /usr/lib/postgresql/15/bin/postgres ]; then
	serve_postgres
	# shellcheck disable=SC2154 # start sets server_pid
	statements "PostgreSQL, by its number" -p "$server_pid"
	statements "PostgreSQL, by its name" --comm postgres
else
	skip "PostgreSQL" "no /usr/lib/postgresql/15/bin/postgres: tools/install-deps --vms"
fi
