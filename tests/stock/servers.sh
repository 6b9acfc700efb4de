#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Servers with pools of threads, as Debian has them: what they do for requests is told, request by request, and while they
# have nothing to do there is nothing to tell.
# shellcheck disable=SC2154 # start sets server_pid
# shellcheck source=tests/stock/lib.sh
. "$(dirname "$0")/lib.sh"

PYTHON=/usr/bin/python3.11 JAVA=/usr/lib/jvm/java-17-openjdk-amd64/bin
if [ ! -x $PYTHON ] || [ ! -x $JAVA/javac ]; then
	skip_rest "servers" "no $PYTHON, or no $JAVA/javac: tools/install-deps --vms"
fi
port='' # of the server that runs
free_port() {
	"$PYTHON" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# Requests by one client, whose answer is what they have used: in $T/used.
requests() { # N MS PAUSE keep|close
	timeout "$LIMIT" "$PYTHON" "$APPS/servers/client.py" "$port" "$@" >"$T/used"
}
answers() {
	timeout "$LIMIT" "$PYTHON" "$APPS/servers/client.py" "$port" 1 1 0 close >"$T/used" 2>/dev/null && return
	pause
	return 1
}

# What was told of while it did something; or, given a time to record for, in that: the end of it has nothing to do.
recorded() { # COMMAND...
	start_record "$T/s" "$server_pid"
	"$@"
	finish rec INT
	read_events
}
recorded_for() { # TIME COMMAND...
	start_record "$T/s" "$server_pid" --duration "$1"
	shift
	"$@"
	finish rec
	read_events
}
read_events() {
	"$VMSPAN" export "$T/s" -q -f ndjson -o "$T/records"
	jq -sc '[.[] | select(.type == "event") | {wall: .wall_ns, cpu: .cpu_ns, blocked: .blocked_ns}]' "$T/records" >"$T/events"
}
told() { # NAME
	json_eq "$1: all of it is told" <(jq -c --argjson used "$(cat "$T/used")" 'map(.cpu) | add / $used' "$T/events") \
		'. >= 0.95' true
}
# Waits for work are in no event: with 200 ms and more between two requests, or so much of a trickle's 50 ms.
waited() { # NAME
	json_eq "$1: no event waits" "$T/events" 'map(select(.blocked >= 19e7)) | length' 0
}

check_server() { # NAME COMMAND...
	local name=$1 kind
	shift
	start server "$@"
	until_true answers || not_ok "$name" "it does not answer: $(tail -n 3 "$T/server.out" "$T/server.err")"
	recorded_for 3s true
	json_eq "$name, idle: nothing lasts" "$T/events" 'map(select(.wall >= 90e6)) | length' 0
	for kind in keep close; do
		recorded requests 12 200 0.2 $kind
		told "$name, $kind"
		waited "$name, $kind"
		# A thread is known to be of a pool at the first look at it.
		json_eq "$name, $kind: a request is an event" "$T/events" \
			'[map(.cpu | select(. >= 5e7)), (map(select(.cpu >= 19e7 and .cpu < 3e8)) | length)] |
			if .[1] >= 8 and .[1] <= 12 then true else .[0] end' true
		recorded requests 60 15 0.05 $kind
		told "$name, a trickle, $kind"
		waited "$name, a trickle, $kind"
	done
	recorded_for 4s requests 2 300 0 close
	told "$name, two requests"
	finish server TERM 2>"$T/finish" || : # as it was told to; the script may end with this
}

if command -v puma >/dev/null; then
	port=$(free_port)
	check_server Puma "$(command -v puma)" -q -t 2:2 -b "tcp://127.0.0.1:$port" "$APPS/servers/config.ru"
else
	skip Puma "not installed: tools/install-deps --vms"
fi
if [ -x /usr/bin/gunicorn ]; then
	port=$(free_port)
	check_server gunicorn $PYTHON /usr/bin/gunicorn -k gthread --threads 2 -b "127.0.0.1:$port" \
		--chdir "$APPS/servers" wsgi:app
else
	skip gunicorn "not installed: tools/install-deps --vms"
fi

java_server() { # NAME CLASS ARGUMENT...; `jars` are its
	local path
	path=$(printf '%s:' "${jars[@]}")
	mkdir -p "$T/$2"
	if $JAVA/javac -nowarn -cp "$path" -d "$T/$2" "$APPS/servers/Work.java" "$APPS/servers/$2.java" 2>"$T/err"; then
		check_server "$1" $JAVA/java -cp "$T/$2:$path" "$2" "${@:3}"
	else
		skip "$1" "not installed: tools/install-deps --vms"
	fi
}

jars=(/usr/share/java/{jetty9-{server,http,io,util},servlet-api}.jar)
port=$(free_port)
java_server Jetty JettyServer "$port"
jars=(/usr/share/java/tomcat10-*.jar)
mkdir "$T/tomcat"
port=$(free_port)
java_server Tomcat TomcatServer "$port" "$T/tomcat"
