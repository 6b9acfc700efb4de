#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# PHP as Debian builds it: its built-in server, and FPM with workers that are
# forked later, attached to by PID.
# shellcheck source=tests/stock/lib.sh
. "$(dirname "$0")/lib.sh"

PHP=/usr/bin/php8.2
FPM=/usr/sbin/php-fpm8.2
if [ ! -x $PHP ] || [ ! -x $FPM ]; then
	skip_rest "PHP" "no $PHP or $FPM: tools/install-deps --vms"
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
none='{"heavy":0,"middle":0,"light":0}'

# ---- The built-in server ----

serve_php "$T/www"
get_php / >"$T/warm"
# shellcheck disable=SC2154 # start sets php_pid
# Requests that take 10 s of work: some 10,000 looks.
start_record "$T/a" "$php_pid" --hz 999
count=0 used=0
while [ "$used" -lt 10000000000 ]; do
	count=$((count + 1))
	answer=$(get_php "/?n=$count")
	echo "$answer" >>"$T/used"
	answer=${answer//[!0-9:]/}
	IFS=: read -r _ _ h m l <<<"$answer"
	used=$((used + h + m + l))
done
finish rec INT
report "$T/a"
json_eq "built-in server: requests" "$T/a.json" .events.count "$count"
json_eq "built-in server: the VM is known" "$T/a.json" '[.source.method, .processes[0].vm]' '["sampled","php"]'
check_shares "built-in server: 10 s" "$T/a.json" plugin "$none" "$(truth "$T/used")"
check_ledger "built-in server" "$T/a.json"
check_stacks "PHP"
check_kill "PHP" "$php_pid"
json_eq "and serves" <(get_php /) '.heavy > 0' true

# ---- A request that began before the trace: its probe is never hit ----

mkdir "$T/www/wp-content/plugins/endless"
cat >"$T/www/wp-content/plugins/endless/endless.php" <<'END'
<?php
function a_while()
{
    for ($x = $i = 0; $i < 100000; $i++)
        $x += $i;
}
function endless(string $stop)
{
    while (!file_exists($stop)) {
        a_while();
        clearstatcache();
    }
}
END
cat >"$T/www/endless.php" <<END
<?php
set_time_limit(0);
require 'wp-content/plugins/endless/endless.php';
file_put_contents('$T/began', 'x');
endless('$T/stop');
echo "ended\n";
END
chmod 777 "$T"
mkfifo "$T/began"
begin_endless() {
	rm -f "$T/stop"
	start endless get_php /endless.php
	timeout "$LIMIT" head -c 1 "$T/began" >"$T/line"
}
begin_endless
start_record "$T/e" "$php_pid"
start top "$VMSPAN" top -p "$php_pid" -d 0.5
check "a probe that is never hit: top says so" \
	wait_line top '^note: php8.2 .*request__startup is armed, and not hit once.*began before the trace'
# What it does is had from its stacks from then on.
check "and what it runs is shown all the same" wait_line top '^plugin:endless +[0-9]'
# The recording goes by the request's CPU time too, by its own clock.
works "$php_pid" 3
finish rec INT
report "$T/e"
json_eq "the recording says so, and what to do" "$T/e.json" \
	'.processes[0].notes | [length, (.[0].advice | startswith("Its stays on the CPU"))]' '[1,true]'
json_eq "and has its stays on the CPU" "$T/e.json" \
	'[.groups[] | select(.name == "plugin:endless") | .samples > 0]' '[true]'
start_record "$T/f" "$php_pid"
: >"$T/stop"
finish endless
eq "the request ends" "$(cat "$T/endless.out")" ended
get_php / >"$T/warm"
# A table that comes after the request has no note any more.
last_whole_table_is_clean() {
	tac "$T/top.out" | awk '/^note/ { noted = 1 } /^php8.2 \(/ { n++; if (n == 2) exit; if (n == 1) noted = 0 }
		END { exit n < 2 || noted }' && return
	pause
	return 1
}
check "the next request takes it back" until_true last_whole_table_is_clean
finish top INT
finish rec INT
report "$T/f"
json_eq "and is an event again" "$T/f.json" '.events.count >= 1 and (.processes[0].notes | not)' true

# The same where each call is measured: there its stays on the CPU hold the calls.
finish php TERM 2>"$T/finish"
serve_php "$T/www" USE_ZEND_DTRACE=1
begin_endless
start top "$VMSPAN" top -p "$php_pid" -d 0.5 --exact-calls --yes
check "exact calls of a request that began before: top says so" \
	wait_line top '^note: php8.2 .*request__startup is armed, and not hit once.*began before the trace'
check "and its calls are measured all the same" wait_line top '^plugin:endless +[0-9]'
finish top INT
: >"$T/stop"
finish endless
eq "and it ends" "$(cat "$T/endless.out")" ended

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
	pm.max_children = 1
END
# Killed, it would leave its workers behind.
end_fpm() {
	! lib_is_ours "$fpm_pid" || finish fpm TERM
}
start fpm setpriv --pdeathsig TERM -- $FPM -n -y "$T/fpm.conf" -F
lib_endings+=(end_fpm)
need_line fpm 'ready to handle connections' err
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
$PHP "$T/request.php" "$T/fpm.sock" "$T/www/index.php" 150 >"$T/used"
# A request ends after its answer: one more makes sure that those 150 have.
$PHP "$T/request.php" "$T/fpm.sock" "$T/www/index.php" 1 >"$T/warm"
cat "$T/warm" >>"$T/used"
finish rec INT
report "$T/b"
json_eq "FPM: requests of a worker forked later" "$T/b.json" '.events.count | . == 150 or . == 151' true
check_shares "FPM" "$T/b.json" plugin "$none" "$(truth "$T/used")"
check_ledger "FPM" "$T/b.json"
json_eq "FPM: the time is the worker's" "$T/b.json" \
	"[.groups[] | select(.name == \"plugin:heavy\")][0].pids | index($fpm_pid)" null

# A reload (SIGUSR2): the master executes itself again, with its PID, and its workers are
# others.
start_record "$T/d" "$fpm_pid" --hz 999
$PHP "$T/request.php" "$T/fpm.sock" "$T/www/index.php" 20 >"$T/used"
kill -s USR2 "$fpm_pid"
check "FPM: reloads while it is traced" wait_lines fpm "ready to handle connections" 2 err
$PHP "$T/request.php" "$T/fpm.sock" "$T/www/index.php" 20 >>"$T/used"
$PHP "$T/request.php" "$T/fpm.sock" "$T/www/index.php" 1 >"$T/warm"
finish rec INT
report "$T/d"
eq "FPM: all are served" "$(grep -c heavy "$T/used")" 40
json_eq "FPM: requests before and after a reload" "$T/d.json" '.events.count | . == 40 or . == 41' true
json_eq "FPM: of two workers" "$T/d.json" \
	'[.groups[] | select(.name == "plugin:heavy")][0].pids | length' "$(jq .pid "$T/used" | sort -u | wc -l)"
json_eq "FPM: nothing is lost by it" "$T/d.json" '[.losses[]] | add' 0
check_kill "FPM" "$fpm_pid"
json_eq "and serves" <($PHP "$T/request.php" "$T/fpm.sock" "$T/www/index.php" 1) '.heavy > 0' true

# The whole service by its name: master and worker, whichever there are.
check_status "FPM: by name" 0 "$VMSPAN" record --comm 'php-fpm*' --duration 100ms -o "$T/c" -q
report "$T/c"
json_eq "FPM: by name: the master is in it" "$T/c.json" "[.processes[].pid] | index($fpm_pid) != null" true
check "FPM: the master lives on" kill -0 "$fpm_pid"
check "FPM: ends" finish fpm TERM
