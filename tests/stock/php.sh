#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# PHP as Debian builds it: its built-in server, and FPM with workers that are
# forked later, attached to by PID.
# shellcheck source=tests/stock/lib.sh
. "$(dirname "$0")/lib.sh"

PHP=/usr/bin/php8.2
FPM=/usr/sbin/php-fpm8.2
if [ ! -x $PHP ] || [ ! -x $FPM ]; then
	skip "PHP" "no $PHP or $FPM: tools/install-deps --vms"
	exit 0
fi
mkdir -p "$T/www"
chmod -R 755 "$T"
cp "$APPS/index.php" "$T/www"
for n in heavy middle light; do
	mkdir -p "$T/www/wp-content/plugins/$n"
	sed "s/NAME/$n/g" "$APPS/plugin.php" >"$T/www/wp-content/plugins/$n/$n.php"
done

# Adds up what the pages say they used.
truth() { # FILE
	jq -sc '{heavy: (map(.heavy) | add), middle: (map(.middle) | add), light: (map(.light) | add)}' "$1"
}
zero='{"heavy":0,"middle":0,"light":0}'

# ---- The built-in server ----

# Port 0 is not offered: try some until one is free.
for port in 18231 18232 18233 18234 18235; do
	start php $PHP -S "127.0.0.1:$port" -t "$T/www"
	wait_line php 'started|Failed to listen' err | grep -q started && break
done
get() { # PATH
	local fd line body=
	exec {fd}<>"/dev/tcp/127.0.0.1/$port"
	printf 'GET %s HTTP/1.0\r\n\r\n' "$1" >&"$fd"
	while IFS= read -r line <&"$fd"; do
		body=$line
	done
	exec {fd}<&-
	printf '%s\n' "$body"
}
get / >"$T/warm"
# shellcheck disable=SC2154 # start sets php_pid
start_record "$T/a" "$php_pid" --hz 999
for i in $(seq 50); do
	get "/?n=$i"
done >"$T/used"
finish rec INT
report "$T/a"
json_eq "built-in server: requests" "$T/a.json" .events.count 50
json_eq "built-in server: the VM is known" "$T/a.json" '[.source.method, .processes[0].vm]' '["sampled","php"]'
check_shares "built-in server" "$T/a.json" plugin "$zero" "$(truth "$T/used")" 6
check_ledger "built-in server" "$T/a.json"
check_kill "PHP" "$php_pid"
json_eq "and serves" <(get /) '.heavy > 0' true

# ---- FPM: a master, and workers that it forks while it is traced ----

cat >"$T/fpm.conf" <<-END
	[global]
	error_log = /proc/self/fd/2
	daemonize = no
	[www]
	user = www-data
	group = www-data
	listen = $T/fpm.sock
	listen.mode = 0666
	pm = ondemand
	pm.max_children = 2
END
start fpm $FPM -n -y "$T/fpm.conf" -F
wait_line fpm 'ready to handle connections' err >/dev/null
# A request by the FastCGI protocol, made by hand.
# shellcheck disable=SC2154 # start sets fpm_pid
cat >"$T/request.php" <<'END'
<?php
[$self, $socket, $script, $count] = $argv;
function record(int $type, string $body): string
{
    return pack('CCnnCx', 1, $type, 1, strlen($body), 0) . $body;
}
for ($i = 0; $i < $count; $i++) {
    $params = '';
    foreach (['SCRIPT_FILENAME' => $script, 'REQUEST_METHOD' => 'GET', 'REQUEST_URI' => "/?n=$i",
        'SCRIPT_NAME' => '/index.php', 'QUERY_STRING' => "n=$i"] as $k => $v)
        $params .= chr(strlen($k)) . chr(strlen($v)) . "$k$v";
    $s = stream_socket_client("unix://$socket");
    fwrite($s, record(1, pack('nCx5', 1, 0)) . record(4, $params) . record(4, '') . record(5, ''));
    $all = stream_get_contents($s);
    preg_match('/\{.*\}/', $all, $m);
    echo $m[0] ?? 'no answer', "\n";
}
END
start_record "$T/b" "$fpm_pid" --hz 999
$PHP "$T/request.php" "$T/fpm.sock" "$T/www/index.php" 50 >"$T/used"
finish rec INT
report "$T/b"
json_eq "FPM: requests of a worker forked later" "$T/b.json" .events.count 50
check_shares "FPM" "$T/b.json" plugin "$zero" "$(truth "$T/used")" 6
check_ledger "FPM" "$T/b.json"
json_eq "FPM: the time is the worker's" "$T/b.json" \
	"[.groups[] | select(.name == \"plugin:heavy\")][0].pids | index($fpm_pid)" null

# The whole service by its name: master and worker, whichever there are.
check_status "FPM: by name" 0 "$VMSPAN" record --comm 'php-fpm*' --duration 100ms -o "$T/c" -q
report "$T/c"
json_eq "FPM: by name: the master is in it" "$T/c.json" "[.processes[].pid] | index($fpm_pid) != null" true
check "FPM: the master lives on" kill -0 "$fpm_pid"
# Killed, it would leave its workers behind.
check "FPM: ends" finish fpm TERM
