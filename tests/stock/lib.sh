# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# shellcheck disable=SC2034 # variables are for the scripts that source this
# Helpers of the tests with stock VMs: programs that take commands, and what
# every VM must hold to.
# Programs here work for seconds of CPU time, which a busy machine makes many more.
export VMSPAN_TEST_LIMIT=${VMSPAN_TEST_LIMIT:-150}
# shellcheck source=tests/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
APPS=$TOP/tests/stock/apps

# Starts a program that prints "ready PID" and takes commands; app_pid.
start_app() { # COMMAND...
	start_ready app "$@" || not_ok "$*" "does not begin"
}

# Programs here work until they are told to end.
stop_app() {
	finish app TERM 2>"$T/finish"
	return 0 # as it was told to; a script may end with this
}

# Compiles App.java with three plugins, and classes into which they are inlined.
java_plugins() { # TO
	local n
	mkdir -p "$T/src/host"
	for n in heavy middle light; do
		mkdir "$T/src/$n"
		sed "s/NAME/$n/g" "$APPS/java/Plugin.java" >"$T/src/$n/Plugin.java"
		sed "s/NAME/$n/g" "$APPS/java/Host.java" >"$T/src/host/Host$n.java"
	done
	/usr/lib/jvm/java-17-openjdk-amd64/bin/javac -d "$1" "$APPS/App.java" "$T"/src/*/*.java
}

# Starts it, and ends the one before.
app() { # COMMAND...
	[ -z "${app_pid-}" ] || stop_app
	start_app "$@"
}

# A program that has a VM's library and never begins it: nothing is left out without it, however long it is looked at.
unbegun() { # NAME LIBRARY
	[ -x "$T/ed$$" ] || cc -o "$T/ed$$" "$APPS/editor.c"
	app "$T/ed$$" "$2"
	check "$1: by its name it is recorded" "$VMSPAN" record -q --comm "ed$$" --duration 2s -o "$T/unbegun"
	report "$T/unbegun"
	json_eq "$1: nothing is left out" "$T/unbegun.json" '[.left_out, ([.processes[].notes] | add)]' '[null,null]'
}

# What is refused says why, on one line, and what to do, on the next.
refused() { # NAME PID REGEX
	check_status "$1: refused" 1 "$VMSPAN" record -p "$2" -o "$T/r"
	check "$1: says why: $(head -c 300 "$T/err" | head -n 1)" grep -qE -- "$3" "$T/err"
	check "$1: and what to do" test "$(wc -l <"$T/err")" -ge 2
	"$VMSPAN" doctor -p "$2" --json >"$T/doctor.json"
	json_eq "$1: doctor says so too" "$T/doctor.json" \
		'[.processes[0].checks[] | select(.result == "fail") | .advice != ""]' '[true]'
	check "$1: the process lives on" kill -0 "$2"
}

# Sends a command; prints the answer.
ask() { # COMMAND...
	local answers
	answers=$(grep -c '^answer' "$T/app.out")
	send app "$*"
	wait_lines app '^answer' $((answers + 1)) || return 1
	grep '^answer' "$T/app.out" | sed -n "$((answers + 1))s/^answer *//p"
}

# The CPU time of a process, in ticks of the clock that /proc counts in.
cpu_ticks() { # PID
	lib_read_stat "$1" && echo $((lib_stat[11] + lib_stat[12]))
}

# Waits until a process has used so many seconds of CPU time more.
works() { # PID SECONDS
	local end
	end=$(($(cpu_ticks "$1") + $2 * $(getconf CLK_TCK)))
	until_true has_used "$1" $end || not_ok "PID $1" "does not use $2 s of CPU time"
}
has_used() { # PID TICKS
	local now
	now=$(cpu_ticks "$1") && [ "$now" -ge "$2" ] && return
	pause
	return 1
}

# Starts a recording; returns when it has attached.
start_record() { # FILE PID ARGUMENT...
	local file=$1 pid=$2
	shift 2
	start rec "$VMSPAN" record -p "$pid" -o "$file" "$@"
	wait_line rec '^recording ' err >/dev/null || not_ok "a recording of $pid" "it does not begin"
}

report() { # FILE ARGUMENT... -> FILE.json
	local file=$1
	shift
	"$VMSPAN" report "$file" --json "$@" >"$file.json"
}

# Of LOOKS at what takes the part P of the time, how many see it: the fewest and the most
# that may be. Fewer come once in 2,000,000 times by the binomial distribution, and more
# likewise. ASIDE: P is known to this only.
binomial() { # LOOKS P [ASIDE]
	awk -v n="$1" -v p="$2" -v aside="${3:-0}" '
		# The fewest: summed up from none on, each by its logarithm.
		function fewest(p,   k, l, sum) {
			if (p <= 0)
				return 0
			if (p >= 1)
				return n
			l = n * log(1 - p)
			for (k = 0; k < n; k++) {
				sum += l > -700 ? exp(l) : 0
				if (sum > 5e-7)
					break
				l += log(n - k) - log(k + 1) + log(p) - log(1 - p)
			}
			return k
		}
		BEGIN { print fewest(p - aside), n - fewest(1 - p - aside) }'
}

# Fails a right program once in a million times. At 999 Hz a turn of the programs here lasts
# for some looks, so that they are spread over it better than chance would: then less often.
likely() { # NAME SEEN LOOKS P [ASIDE]
	local least most
	read -r least most < <(binomial "${@:3}")
	if [ "$3" -gt 0 ] && [ "$2" -ge "$least" ] && [ "$2" -le "$most" ]; then
		ok "$1"
	else
		not_ok "$1" "seen by $2 of $3 looks, expected $least to $most, of the part $4"
	fi
}

check_ledger() { # NAME FILE.json
	json_eq "$1: the ledger sums" "$2" '.ledger | .self_ns + .gc_ns + .blocked_ns + .native_ns
		+ .moved_ns + .stale_ns + .lost_ns - .event_wall_ns' 0
	json_eq "$1: the ledger has every event" "$2" '.ledger.event_wall_ns - .events.wall_ns' 0
}

# Compares the shares of three plugins in the looks with what the program measured itself
# between two answers, as {"heavy": ns, ...}. Fails a right program three times in a million.
check_shares() { # NAME FILE.json KIND BEFORE AFTER [ASIDE]
	local n seen looks part shares=0
	while read -r n seen looks part; do
		shares=$((shares + 1))
		likely "$1: share of $n" "$seen" "$looks" "$part" "${6:-0}"
	done < <(jq -r --arg kind "$3" --argjson a "$4" --argjson b "$5" '
		["heavy", "middle", "light"] as $names
		| ($names | map({key: ., value: ($b[.] - ($a[.] // 0))}) | from_entries) as $used
		| ([.groups[] | {(.name): .self_samples}] | add) as $seen
		| ($names | map($seen["\($kind):\(.)"] // 0) | add) as $looks
		| $names[] | "\(.) \($seen["\($kind):\(.)"] // 0) \($looks) \($used[.] / ($used | add))"' "$2")
	[ $shares = 3 ] || not_ok "$1: shares" "there are $shares"
	json_eq "$1: heavy is on top of the plugins" "$2" \
		"[.groups[] | select(.name | IN(\"$3:heavy\", \"$3:middle\", \"$3:light\"))] |
		sort_by(-.self_ns)[0].name" "\"$3:heavy\""
}

# Attached to for as long as the plugins take for 10 s of work: some 10,000 looks. Then 7
# collections. $T/a.json; $T/answers has what the program answered before, first, last and after.
check_sampled() { # NAME KIND
	local around first answer last
	around=$(ask truth)
	start_record "$T/a" "$app_pid" --hz 999
	first=$(ask truth)
	answer=$(ask run 10)
	last=$(ask gc 7)
	finish rec INT
	jq -sc . <<<"$around$first$last$(ask truth)" >"$T/answers"
	report "$T/a"
	check_shares "$1" "$T/a.json" "$2" "$(jq .before <<<"$answer")" "$(jq .used <<<"$answer")"
	check_ledger "$1" "$T/a.json"
	json_eq "$1: collections are as many as the VM counts" "$T/a.json" .gc.count \
		"$(($(jq .gc <<<"$last") - $(jq .gc <<<"$answer")))"
	json_eq "$1: no event was lost" "$T/a.json" '[.losses[]] | add' 0
}

# As many events as the program had turns while check_sampled() recorded it: at least those
# between its first and last answer then, at most those between the answers around them.
check_turns() { # NAME EVENTS KEY: in the answers
	local least most
	read -r least most < <(jq -r --arg key "$3" '[.[][$key]] | "\(.[2] - .[1]) \(.[3] - .[0])"' "$T/answers")
	check "$1: $2, of $least to $most" test "$least" -gt 100 -a "$2" -ge "$least" -a "$2" -le "$most"
}

# $T/a has whole stacks, for flame graphs: `work` of heavy calls its `inner`.
check_stacks() { # NAME
	"$VMSPAN" export "$T/a" -q -f collapsed -o "$T/stacks"
	check "$1: whole stacks, collapsed" grep -qE \
		'work \([^;]*heavy[^;]*;[^;]*inner \([^;]*heavy[^;]*\) [0-9]+$' "$T/stacks"
	"$VMSPAN" export "$T/a" -q -f speedscope -o "$T/stacks.json"
	json_eq "$1: whole stacks, for speedscope" "$T/stacks.json" \
		'.shared.frames as $f | [.profiles[] | select(.type == "sampled") | .samples[] |
		[.[-2:][] | $f[.].name] | length == 2 and (.[0] | test("work .*heavy")) and
		(.[1] | test("inner .*heavy"))] | any' true
}

# A tracer that is killed leaves the program as it was.
check_kill() { # NAME PID
	start_record "$T/killed" "$2"
	finish rec KILL 2>"$T/finish"
	check "$1: lives on when the tracer is killed" kill -0 "$2"
}

# PHP's own server on a folder; php_pid. Port 0 is not offered: some are tried.
serve_php() { # FOLDER [NAME=VALUE...]: of its environment
	for php_port in 18231 18232 18233 18234 18235; do
		start php env "${@:2}" /usr/bin/php8.2 -S "127.0.0.1:$php_port" -t "$1"
		wait_line php 'started|Failed to listen' err | grep -q started && return
	done
	not_ok "PHP's server" "no port is free"
}

# The last line that it answers.
get_php() { # PATH
	# shellcheck disable=SC2016 # expanded by the shell that is started
	timeout "$LIMIT" bash -c 'exec {fd}<>"/dev/tcp/127.0.0.1/$0" &&
		printf "GET %s HTTP/1.0\r\n\r\n" "$1" >&"$fd" && exec cat <&"$fd"' "$php_port" "$1" | tail -n 1
}

# A PostgreSQL of its own in $T/pg, which psql then finds; server_pid. It refuses to run as
# root, and leaves shared memory behind when it is killed.
serve_postgres() {
	local as=(setpriv --reuid=postgres --regid=postgres --clear-groups --pdeathsig QUIT)
	PG=/usr/lib/postgresql/15/bin
	chmod 711 "$T"
	mkdir "$T/pg"
	chown postgres "$T/pg"
	"${as[@]}" env -C "$T/pg" $PG/initdb -D "$T/pg/data" -A trust >"$T/initdb" 2>&1
	start server "${as[@]}" $PG/postgres -D "$T/pg/data" -c listen_addresses= -k "$T/pg" -c autovacuum=off
	lib_endings+=(end_postgres)
	need_line server 'ready to accept connections' err
	export PGHOST=$T/pg PGUSER=postgres
}
end_postgres() {
	! lib_is_ours "$server_pid" || finish server QUIT 2>"$T/finish"
}

# Three gems for app.rb; `paths` has the options that find them.
ruby_plugins() {
	local n
	paths=()
	for n in heavy middle light; do
		mkdir -p "$T/gems/$n-1.0.0/lib"
		sed "s/NAME/${n^}/" "$APPS/plugin.rb" >"$T/gems/$n-1.0.0/lib/$n.rb"
		paths+=(-I "$T/gems/$n-1.0.0/lib")
	done
}
