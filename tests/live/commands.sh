#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The live commands on a real target: what they print, and how they end.
# shellcheck disable=SC2154 # start_host sets host_pid
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

said() { # NAME WORDS
	if grep -qF -- "$2" "$T/err"; then
		ok "$1"
	else
		not_ok "$1" "'$2' is not in: $(tr '\n' ' ' <"$T/err")"
	fi
}

# A host that works until it is stopped.
start_host --busy 20000

# ---- top ----

check_status "top --batch ends after -n" 0 "$VMSPAN" top -p "$host_pid" -n 3 -d 0.1 --batch
eq "top --batch: a table a refresh" "$(grep -c '^GROUP ' "$T/out")" 3
eq "top --batch: names the target" "$(grep -c "^demohost ($host_pid), last " "$T/out")" 3
# Rows of the table: a group, a share, times and counts.
start batch "$VMSPAN" top -p "$host_pid" -d 0.1 --batch
row=' +[0-9.]+( +[1-9][0-9.]* [num]?s){2} +[1-9][0-9]*( +[1-9][0-9.]* [num]?s){2} +[0-9]+$'
check "top --batch: a row of an add-on" wait_line batch "^addon:tracker$row"
for group in top:demohost page:; do
	check "top --batch: a row of $group" wait_line batch "^${group}[^ ]*$row"
done
finish batch INT
eq "top --batch: ^C ends it well" $? 0
eq "top --batch: no escapes" "$(grep -c "$(printf '\033')" "$T/out")" 0
check_status "top: batch when piped" 0 "$VMSPAN" top -p "$host_pid" -n 1 -d 0.1
eq "top: batch when piped: a table" "$(grep -c '^GROUP ' "$T/out")" 1
check_status "top --json ends after -n" 0 "$VMSPAN" top -p "$host_pid" -n 3 -d 0.1 --json
json_eq "top --json: an object a line" <(jq -s . "$T/out") \
	'[length, all(.[]; .schema == 1 and .source.kind == "live" and .interval_ns > 0)]' '[3,true]'
# On a busy machine not every interval has an event: until the lines are such a one.
until_lines() { # NAME FILTER: of all lines of a background command; then it is ended
	check "$1: $2" until_true lines_are "$1" "$2"
	finish "$1" INT
	eq "$1: ends well" $? 0
}
lines_are() { # NAME FILTER
	jq -se "$2" "$T/$1.out" >/dev/null 2>&1
}
start top "$VMSPAN" top -p "$host_pid" -d 0.1 --json
until_lines top 'length > 2 and .[0].events.count < .[-1].events.count'
json_eq "top --json: nothing falls" <(jq -s . "$T/top.out") '[.[].events.count] | . == sort' true
json_eq "top --json: every ledger sums" <(jq -s . "$T/top.out") \
	'[.[].ledger | .self_ns + .gc_ns + .blocked_ns + .native_ns + .moved_ns + .stale_ns + .lost_ns - .event_wall_ns] | unique' '[0]'
start rows "$VMSPAN" top -p "$host_pid" -d 0.1 --json --sort name --top 2
until_lines rows 'any(.[]; .groups | length == 2)'
json_eq "top --sort name --top 2: rows" <(jq -s . "$T/rows.out") \
	'all(.[]; [.groups[].name] | length <= 2 and . == sort)' true

# On a terminal; script(1) makes one.
rc=0
TERM=xterm timeout "$LIMIT" script -qec "stty rows 24 cols 80; $VMSPAN top -p $host_pid -n 2 -d 0.1" /dev/null \
	</dev/null >"$T/screen" 2>&1 || rc=$?
eq "top on a terminal: status" $rc 0
check "top on a terminal: draws the table" grep -q "GROUP.*SELF" "$T/screen"
check "top on a terminal: leaves the alternate screen" grep -qF "$(printf '\033[?1049l')" "$T/screen"
rc=0
TERM=nonsense timeout "$LIMIT" script -qec "$VMSPAN top -p $host_pid -n 2" /dev/null </dev/null >"$T/screen" 2>&1 || rc=$?
eq "top on an unknown terminal: status" $rc 1
check "top on an unknown terminal: says what to do" grep -q -- "--batch" "$T/screen"

# ---- stat ----

check_status "stat" 0 "$VMSPAN" stat -p "$host_pid" -n 3 -i 0.1
eq "stat: a head and a line an interval" "$(wc -l <"$T/out")" 4
eq "stat: the head" "$(head -n 1 "$T/out" | xargs)" \
	'TIME EVENTS SPANS MEAN >1ms >16ms >64ms >256ms BUSY% LOST TOP GROUP'
eq "stat: the lines" "$(tail -n +2 "$T/out" |
	grep -cE '^ *[0-9.]+ m?s( +[0-9]+){2} +[0-9.]+( [num]?s)?( +[0-9]+){4} +[0-9.]+ +0  [^ ]')" 3
# An interval that has an event has its group.
start lines "$VMSPAN" stat -p "$host_pid" -i 0.1
check "stat: a line with an event" wait_line lines \
	'^ *[0-9.]+ m?s +[1-9][0-9]* +[1-9][0-9]* +[0-9.]+ [num]?s( +[0-9]+){4} +[0-9.]+ +0  (page|addon|top):[^ ]* [0-9.]+ %$'
finish lines INT
eq "stat: ^C ends it well" $? 0
check_status "stat --json" 0 "$VMSPAN" stat -p "$host_pid" -n 2 -i 0.1 --json
eq "stat --json: a line an interval" "$(wc -l <"$T/out")" 2
start stat "$VMSPAN" stat -p "$host_pid" -i 0.1 --json
until_lines stat '.[0].spans < .[-1].spans'
json_eq "stat --json: totals never decrease" <(jq -s . "$T/stat.out") '[.[].spans] | . == sort' true

# ---- A reader that goes away, an output that is full ----

rc=0
"$VMSPAN" stat -p "$host_pid" -i 0.05 --json 2>"$T/err" | head -n 1 >"$T/out"
rc=${PIPESTATUS[0]}
eq "stat: a reader that goes away: status, words" "$rc$(cat "$T/err")" 1
rc=0
"$VMSPAN" top -p "$host_pid" -n 2 -d 0.05 >/dev/full 2>"$T/err" || rc=$?
eq "top to /dev/full: status" $rc 1
said "top to /dev/full: words" "cannot write standard output: No space left on device"

# ---- record ----

start rec "$VMSPAN" record -p "$host_pid" -o "$T/a.vmspan"
check "record: begins" wait_line rec '^recording ' err
finish rec TERM
eq "record: SIGTERM ends it" $? 0
eq "record: one line says that it records" "$(grep -c '^recording ' "$T/rec.err")" 1
check "record: a summary" grep -Eq '^[^ ]*a\.vmspan: .* events, [0-9]+ spans, ' "$T/rec.err"
check_status "record: the file is whole" 0 "$VMSPAN" report "$T/a.vmspan" --json
json_eq "record: no note" "$T/out" '.source.note' null
check_status "record --duration, over a recording" 0 "$VMSPAN" record -p "$host_pid" -o "$T/a.vmspan" --duration 1
# From before it is attached until after it has let go.
check_status "record --duration: the file is whole" 0 "$VMSPAN" report "$T/a.vmspan" --json
json_eq "record --duration: no shorter" "$T/out" '[.source.duration_ns >= 1000000000, .events.count > 0]' '[true,true]'
check_status "record -q" 0 "$VMSPAN" record -q -p "$host_pid" -o "$T/a.vmspan" --duration 0.1
empty "record -q: no words" "$T/err"

mkdir "$T/here"
vmspan=$(realpath "$VMSPAN")
check_status "record: without -o" 0 env -C "$T/here" "$vmspan" record -q -p "$host_pid" --duration 0.1
check "record: default name" test -s "$T/here/demohost-$host_pid.vmspan"

# A disk that fills up: here a limit on the size of files.
rc=0
(ulimit -f 16 && exec timeout -s KILL "$LIMIT" "$VMSPAN" record -p "$host_pid" -o "$T/full.vmspan") 2>"$T/err" || rc=$?
eq "full disk: status" $rc 1
said "full disk: words" "$T/full.vmspan"
said "full disk: why" "File too large"
said "full disk: what stays" "readable"
check_status "full disk: the file can be read" 0 "$VMSPAN" report "$T/full.vmspan" --json
json_eq "full disk: the report notes it" "$T/out" '.source.note | type' '"string"'
# All that so short a recording has is written as it is closed.
rc=0
(ulimit -f 1 && exec timeout -s KILL "$LIMIT" "$VMSPAN" record -p "$host_pid" --duration 0.5 -o "$T/end.vmspan") 2>"$T/err" || rc=$?
eq "full disk at the end: status" $rc 1
said "full disk at the end: why" "File too large"

# ---- A command, and targets that end ----

check_status "record -- CMD" 0 "$VMSPAN" record -o "$T/cmd.vmspan" -- "$HOST" --seed 5 --turns 23 --expect "$T/expect.json"
check_status "record -- CMD: report" 0 "$VMSPAN" report "$T/cmd.vmspan" --json
json_eq "record -- CMD: every span of it" "$T/out" .spans "$(jq .spans "$T/expect.json")"
check_status "record -- CMD that does not exist" 1 "$VMSPAN" record -o "$T/no.vmspan" -- "$T/no/such"
check "record -- CMD that does not exist: no file" test ! -e "$T/no.vmspan"
# What was asked for is not in the recording, whoever reads it later.
for method in auto direct; do
	check_status "record -- CMD without probes, $method" 4 "$VMSPAN" record --method $method -o "$T/vain.vmspan" -- true
	check_status "record -- CMD without probes, $method: report" 0 "$VMSPAN" report "$T/vain.vmspan" --json
	json_eq "record -- CMD without probes, $method: it is not complete, and says why" "$T/out" \
		'[.complete, .left_out, [.processes[].notes[].text]]' \
		'[false,1,["neither the command nor its children had probes to trace"]]'
done

start stat "$VMSPAN" stat -p "$host_pid" -i 0.1
need_line stat "(page|addon):"
kill -INT "$host_pid"
finish stat
eq "stat ends with its target" $? 0

# ---- Without the library that serves pages ----

mkdir "$T/empty"
: >"$T/empty/libmicrohttpd.so.12" # found first, and no library
without_http() { # COMMAND...
	LD_LIBRARY_PATH=$T/empty "$@"
}
check_status "no HTTP library: a recording is reported" 0 \
	without_http "$VMSPAN" report "$T/cmd.vmspan" --json
json_eq "no HTTP library: in full" "$T/out" .spans "$(jq .spans "$T/expect.json")"
check_status "no HTTP library: serve cannot" 1 without_http "$VMSPAN" serve "$T/cmd.vmspan"
said "no HTTP library: serve says what to do" "Install libmicrohttpd"
check_status "no HTTP library: export-metrics cannot" 1 \
	without_http "$VMSPAN" export-metrics --listen 127.0.0.1:0 -p $$
said "no HTTP library: export-metrics says what to do" "Install libmicrohttpd"
