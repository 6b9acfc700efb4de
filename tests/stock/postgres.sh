#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# PostgreSQL as Debian builds it: every statement of every backend, those that
# are forked later included, counted as the clients count them.
# shellcheck source=tests/stock/lib.sh
. "$(dirname "$0")/lib.sh"

PG=/usr/lib/postgresql/15/bin
if [ ! -x $PG/postgres ] || [ ! -x $PG/pgbench ]; then
	skip_rest "PostgreSQL" "no $PG: tools/install-deps --vms"
fi
serve_postgres
psql -q postgres -c 'create database bench'
$PG/pgbench -i -q bench 2>"$T/init"
# The server itself says what pgbench asks for, in sessions that begin from now on.
psql -q postgres -c "alter database bench set log_statement = 'all'"

# Under load when it is attached to: clients that let the server count.
psql -q postgres -c 'create database load'
echo 'select sum(i) from generate_series(1, 50000) i;' >"$T/load.sql"
start load $PG/pgbench -n -c 4 -T 600 -P 1 -f "$T/load.sql" load
need_line load 'progress' err
# A verb that pgbench itself does not use when it begins.
echo 'values (1);' >"$T/values.sql"

# shellcheck disable=SC2154 # start sets server_pid
start_record "$T/a" "$server_pid"
$PG/pgbench -n -c 4 -j 2 -t 50 bench >"$T/bench" 2>&1
$PG/pgbench -n -c 2 -t 50 -S -M prepared bench >>"$T/bench" 2>&1
for mode in simple extended prepared; do
	$PG/pgbench -n -c 2 -t 101 -f "$T/values.sql" -M $mode bench >>"$T/bench" 2>&1
done
for _ in 1 2 3 4 5 6 7; do
	psql -q bench -c 'delete from nothing_of_this_name' 2>"$T/sql.err"
done
# Two statements in one message are one event.
psql -q postgres -c '/* a comment */ select 1; select 2' >"$T/sql"
# ---- Transactions: how they end; locks; clients that do nothing ----

psql -q postgres -c 'create database trans'
psql -q trans -c 'create table held (x int); insert into held values (1)'
printf 'begin;\nvalues (1);\nend;\n' >"$T/trans.sql"
$PG/pgbench -n -c 2 -t 103 -f "$T/trans.sql" trans >"$T/transactions" 2>&1
psql -q trans -c begin -c 'select no_such_thing' -c 'values (1)' -c rollback >"$T/sql" 2>"$T/sql.err"
# This client goes away in the middle of one.
psql -q trans -c begin -c 'values (1)' >"$T/sql"
# One holds a row and sends nothing; another waits for it.
start_ready holder psql -q trans -c '\echo ready to hold' -f -
send holder 'begin; update held set x = 2;'
send holder '\echo holding'
wait_line holder holding >"$T/line"
start waiter psql -q trans -c 'update held set x = 3'
PGOPTIONS="-c statement_timeout=${LIMIT}s" psql -q postgres -c "do \$\$ begin
	while not exists (select from pg_stat_activity where datname = 'trans' and
			wait_event_type = 'Lock' and clock_timestamp() - query_start > '0.3 s') loop
		perform pg_sleep(0.02);
		perform pg_stat_clear_snapshot();
	end loop; end \$\$"
send holder 'commit;'
check "who waited for a lock gets it" finish waiter
check "who held it ends" finish holder
# Where names in its title end its memory says.
psql -q postgres -c 'create role "some one" superuser login' -c 'create database "my: old shop"'
start_ready named psql -q -U 'some one' 'my: old shop' -c '\echo ready to name' -f -
send named 'values (1);'
send named 'values (2);'
send named '\echo named'
wait_line named named >"$T/line"

finish rec INT
check "whose names have blanks ends" finish named
report "$T/a"
check "the clients were served" grep -q "number of transactions actually processed: 200/200" "$T/bench"
json_eq "the VM is known, and nothing is sampled" "$T/a.json" \
	'[.source.method, .processes[0].vm]' '["exact","postgres"]'
count() { # GROUP
	jq --arg g "$1" '[.groups[] | select(.name == $g) | .events] | add // 0' "$T/a.json"
}
eq "statements: UPDATE" "$(count 'tenant:bench UPDATE')" 600
eq "statements: INSERT" "$(count 'tenant:bench INSERT')" 200
eq "statements: BEGIN" "$(count 'tenant:bench BEGIN')" 200
eq "statements: END" "$(count 'tenant:bench END')" 200
# Preparing is a message of its own that the server takes time for: one a client.
eq "by the simple, the extended and the prepared protocol" "$(count 'tenant:bench VALUES')" \
	$((3 * 2 * 101 + 2))
eq "those that fail count" "$(count 'tenant:bench DELETE')" 7
eq "names with blanks and colons" "$(count 'tenant:my: old shop VALUES')" 2
json_eq "what takes the time is on top" "$T/a.json" \
	'[.groups[] | select(.kind == "tenant")] | sort_by(-.self_ns)[0].name' '"tenant:load SELECT"'
eq "databases are told apart" "$(count 'tenant:postgres SELECT')" 1
# pgbench itself asks for the tables' layout before each run. What is prepared is a message
# of its own, one for each of two clients.
eq "statements: SELECT, simple and prepared" "$(count 'tenant:bench SELECT')" \
	$(($(grep -ciE 'LOG: +(statement|execute [^:]*): select' "$T/server.err") + 2))
check "transactions: all were made" grep -q 'actually processed: 206/206' "$T/transactions"
# What a client asks without a transaction of its own is one too: pgbench's own questions,
# the table, the update that waited; the holder's is one.
eq "transactions: each commit" "$(count 'tenant:trans (commit)')" \
	$((206 + $(count 'tenant:trans SELECT') - 1 + 1 + 1 + 1))
eq "transactions: rolled back, and left behind by a client" "$(count 'tenant:trans (rollback)')" 2
eq "transactions: each failed statement" "$(count 'tenant:bench (rollback)')" 7
eq "statements in a transaction that has failed count" "$(count 'tenant:trans VALUES')" $((206 + 1 + 1))
json_eq "a statement that waits for a lock is blocked, and does not run" "$T/a.json" \
	'[.groups[] | select(.name == "tenant:trans UPDATE")][0] |
	.events == 2 and .blocked_ns > 3e8 and .self_ns + .blocked_ns == .wall_ns' true
json_eq "a client that leaves its transaction open is shown" "$T/a.json" \
	'[.groups[] | select(.name == "tenant:trans (idle in transaction)")][0] |
	.events >= 1 and .max_ns > 3e8 and .self_ns == 0 and .blocked_ns == .wall_ns' true
check_ledger "PostgreSQL" "$T/a.json"
json_eq "nothing is lost" "$T/a.json" '[.losses[]] | add' 0
json_eq "every backend is a process" "$T/a.json" '[.groups[] | select(.name ==
	"tenant:bench UPDATE")][0].processes | length' 4
check_kill "PostgreSQL" "$server_pid"
eq "and serves" "$(psql -At bench -c 'select 40 + 2')" 42
finish server INT
