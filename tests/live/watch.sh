#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Alerts on a real target: who is named, what is handed over, what it costs an
# idle target, and what happens when something around fails.
# shellcheck disable=SC2154 # start and start_host set NAME_pid
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/steal_lib.sh
. "$(dirname "$0")/../steal_lib.sh"

said() { # NAME WORDS [FILE]
	if grep -qF -- "$2" "${3:-$T/err}"; then
		ok "$1"
	else
		not_ok "$1" "'$2' is not in: $(tr '\n' ' ' <"${3:-$T/err}")"
	fi
}

up_centiseconds() {
	local up
	read -r up _ </proc/uptime
	echo "${up/./}"
}

watch() { # WATCH-ARGUMENTS...: in the background, until it is attached
	start watch "$VMSPAN" watch "$@"
	wait_line watch '^watching ' err >/dev/null || not_ok "watch $*" "it does not begin"
}

# ---- The planted add-on, and only that one ----

start_host_first --demo
cat >"$T/hook" <<'END'
#!/bin/sh
cat >>"$1" && echo "run $2" >>"$1.runs"
END
chmod +x "$T/hook"
# A dump that reaches back to the start, so that it can be replayed as a whole.
watch -p "$host_pid" --group 'addon:*' --threshold 100ms -n 3 --json \
	--dump "$T/dumps" --before 1h --after 1h --ring 64M --exec "$T/hook $T/hook.json x;y"
finish watch
eq "watch -n 3 ends" $? 0
json_eq "the planted add-on, and only that one" <(jq -s . "$T/watch.out") \
	'[length, (map(.group) | unique), (map(.reasons[0]) | unique), all(.[]; .total_ns >= .threshold_ns)]' \
	'[3,["addon:tracker"],["SLOWDOWN"],true]'
json_eq "evidence: its loop, its tree, its past" <(jq -s . "$T/watch.out") \
	'all(.[]; (.loop | startswith("page:")) and ([.tree[] | select(.group == "addon:tracker")] | length) > 0
	and (.cpus | length) > 0 and .event.complete)' true
# The turn itself, unless sixteen later ones were there before it was told.
json_eq "evidence: its past, in order, with the turn itself" <(jq -s . "$T/watch.out") \
	'[length, all(.[]; .event.end_ns as $ended | .total_ns as $total | .history.last | map(.end_ns) == (map(.end_ns) | sort)
	and (any(.[]; .end_ns == $ended and .total_ns == $total) or (length == 16 and .[0].end_ns > $ended)))]' '[3,true]'
json_eq "the event's ledger sums" <(jq -s . "$T/watch.out") \
	'all(.[].event; (.ledger | add) == .wall_ns)' true
json_eq "--exec: each alert as JSON, the arguments as they are" "$T/hook.json" .id "$(jq .id "$T/watch.out")"
eq "--exec: no shell, one run an alert" "$(sort -u "$T/hook.json.runs"; wc -l <"$T/hook.json.runs")" $'run x;y\n3'
dump=$(jq -r 'select(.dump) | .dump' "$T/watch.out" | head -n 1)
check "--dump: the file named in the alert" test -s "$dump"
whole=$dump
eq "--dump: one, for the rate is limited" "$(find "$T/dumps" -type f | wc -l)" 1
check_status "--dump: report opens it" 0 "$VMSPAN" report "$dump" --json
json_eq "--dump: whole, nothing lost" "$T/out" '[.source.note, (.losses | add), .events.incomplete]' '[null,0,0]'
check_status "--dump: export opens it" 0 "$VMSPAN" export "$dump" -f chrome -o "$T/dump.json"
check_status "a dump replayed" 0 "$VMSPAN" watch "$dump" --group 'addon:*' --threshold 100ms -n 3 --json
eq "a dump replayed: the same alerts as live" \
	"$(jq -c '[.group, .total_ns, .event.iteration, .occurrences, .reasons]' "$T/out")" \
	"$(jq -c '[.group, .total_ns, .event.iteration, .occurrences, .reasons]' "$T/watch.out")"
said "words at the end" "3 alerts shown" "$T/watch.err"

# A dump of two seconds has those around the alert, and what is needed to read them. That
# of the fifth alert, before which there was more than that: the add-on rests for 0.8 s and more.
watch -p "$host_pid" --group 'addon:tracker' --threshold 100ms -n 5 --json --dump "$T/short" \
	--before 1s --after 0.5s --dump-every 1ms
finish watch
eq "short dumps: status" $? 0
tail -n 1 "$T/watch.out" >"$T/alert.json"
dump=$(jq -r .dump "$T/alert.json")
check_status "a short dump" 0 "$VMSPAN" watch "$dump" --group 'addon:tracker' --threshold 100ms --json
json_eq "a short dump: the alert is in it" <(jq -s . "$T/out") \
	"[.[] | select(.event.iteration == $(jq .event.iteration "$T/alert.json")) | .total_ns]" \
	"$(jq -c '[.total_ns]' "$T/alert.json")"
check_status "a short dump: report" 0 "$VMSPAN" report "$dump" --json
# By the stream's own times: parts of a recording begin once in a while, not in a turn.
json_eq "a short dump: what was before its second is not there" "$T/out" \
	".source.begin_ns | . > $(jq .time_ns "$T/alert.json") - 3000000000 and . <= $(jq .time_ns "$T/alert.json") - 1000000000" true
json_eq "a short dump: there was more" <(jq -s . "$T/watch.out") '.[4].time_ns - .[0].event.begin_ns > 3000000000' true
json_eq "a short dump: every name is known" "$T/out" '[.groups[].name | select(test("unknown"))]' '[]'

# The same with the scheduler's record: the part has a beginning of its own.
# An event from which a hypervisor stole is incomplete, live too: until there is one that is not.
# Where it steals from each, one that is not complete has to do.
steal_begin
for ((try = 0; try < 5; try++)); do
	watch -x -p "$host_pid" --group 'addon:tracker' -n 3 --json --dump "$T/exact" --before 0.5s --after 0.5s --dump-every 1ms
	rc=0
	finish watch || rc=$?
	alert=$(jq -c 'select(.dump and .event.complete)' "$T/watch.out" | tail -n 1)
	[ $rc = 0 ] && [ -z "$alert" ] || break
done
eq "--exact: status" "$rc" 0
json_eq "--exact: no time of others is charged" <(jq -s . "$T/watch.out") \
	'[length, all(.[]; .cause == "own" and .off_ns.preempted <= .preempted_ns)]' '[3,true]'
[ -n "$alert" ] || [ "$(steal_ns)" = 0 ] || alert=$(jq -c 'select(.dump)' "$T/watch.out" | tail -n 1)
if [ -n "$alert" ]; then
	check_status "--exact: a short dump" 0 "$VMSPAN" watch "$(jq -r .dump <<<"$alert")" --group 'addon:tracker' --json
	eq "--exact: a short dump: the same alert, as complete" \
		"$(jq -c "select(.event.iteration == $(jq .event.iteration <<<"$alert")) | [.total_ns, .event.complete]" "$T/out")" \
		"$(jq -c '[.total_ns, .event.complete]' <<<"$alert")"
else
	not_ok "--exact: a short dump" "no event of $((3 * try)) was complete, and nothing was stolen"
fi

# ---- A command that fails, hangs, or is not there ----

check_status "--exec: no such program" 2 "$VMSPAN" watch -p "$host_pid" --exec "$T/no/such"
said "--exec: no such program: words" "$T/no/such: No such file or directory"
check_status "--exec false: status" 1 "$VMSPAN" watch "$dump" --threshold 100ms --exec false --json
said "--exec false: words" "false: ended with status 1; the alerts go on"
check "--exec false: the alerts are there" jq -e .id "$T/out"
check_status "--exec that hangs: status" 1 "$VMSPAN" watch "$dump" --threshold 100ms -n 1 --exec "tail -f /dev/null" --exec-limit 50ms
said "--exec that hangs: words" "did not end in time, killed"
cat >"$T/spawns" <<'END'
#!/bin/sh
tail -f /dev/null &
echo $! $$ >"$1"
exec tail -f /dev/null
END
chmod +x "$T/spawns"
# The limit must not be over before it has started anything.
rc=''
for limit in 50ms 500ms 5s; do
	rm -f "$T/spawned"
	rc=0
	"$VMSPAN" watch "$dump" --threshold 100ms -n 1 --exec "$T/spawns $T/spawned" --exec-limit $limit >"$T/out" 2>"$T/err" || rc=$?
	[ ! -s "$T/spawned" ] || break
done
eq "--exec that hangs with what it has started: status" $rc 1
said "--exec that hangs with what it has started: words" "did not end in time, killed"
all_ended() { # PID...
	local p
	for p; do
		case $(lib_state "$p") in '' | Z | X) ;; *) return 1 ;; esac
	done
}
read -ra spawned <"$T/spawned"
eq "--exec that hangs: it had started another" ${#spawned[@]} 2
check "--exec that hangs: nothing of it is left" until_true all_ended "${spawned[@]}"
printf '#!/bin/sh\ncat >/dev/null; head -c 100M /dev/zero; echo ran >>%s\n' "$T/ran" >"$T/loud"
chmod +x "$T/loud"
rc=0
"$VMSPAN" watch "$dump" --threshold 100ms -n 1 --json --exec "$T/loud" >"$T/out" 2>/dev/null || rc=$?
eq "--exec that writes 100 MB: done, and none of it in our output" "$rc $(cat "$T/ran") $(wc -l <"$T/out")" "0 ran 1"
printf '#!/bin/sh\necho ran >>%s\n' "$T/read_nothing" >"$T/deaf"
chmod +x "$T/deaf"
check_status "--exec that reads nothing" 0 "$VMSPAN" watch "$whole" --group 'addon:*' --threshold 100ms --exec "$T/deaf" --json
eq "--exec that reads nothing: a run an alert" "$(wc -l <"$T/read_nothing")" "$(jq -s length "$T/out")"
check "--exec that reads nothing: there were several" test "$(wc -l <"$T/out")" -gt 1

# An alert that cannot be handed over has no run: here no file may have anything in it.
alerts=$(wc -l <"$T/out") rc=0
words=$( (ulimit -f 0 && exec "$VMSPAN" watch "$whole" --group 'addon:*' --threshold 100ms --exec true) 2>&1 >/dev/null) || rc=$?
eq "--exec, and no room for an alert: status" $rc 1
check "--exec, and no room for an alert: words" grep -qx "vmspan: true: File too large; the alerts go on" <<<"$words"
check "--exec, and no room for an alert: each is counted" grep -qx "$alerts alerts without a run of the command" <<<"$words"

# The first ^C ends the trace and waits for the runs, the second leaves them out.
printf '#!/bin/sh\necho run\nexec tail -f /dev/null\n' >"$T/stuck"
chmod +x "$T/stuck"
watch -p "$host_pid" --threshold 1ms --all-causes --exec "$T/stuck" --exec-limit 1h
need_line watch '^run$' err
kill -s INT "$watch_pid"
need_line watch '^waiting for [0-9]* runs? of .*; \^C leaves' err
finish watch INT
eq "--exec: a second ^C does not wait: status" $? 1
check "--exec: a second ^C: words" grep -q 'not waited for the runs' "$T/watch.err"
check "--exec: a second ^C: the run is killed, and counted" grep -qE '^1 of 1 run failed, 1 killed' "$T/watch.err"

# ---- A full disk ----

mkdir "$T/full"
# lib.sh takes it away again, however this ends.
if mount -t tmpfs -o size=64k none "$T/full" 2>/dev/null; then
	head -c 1M /dev/zero >"$T/full/fill" 2>/dev/null
	check_status "full dump disk: status" 1 "$VMSPAN" watch "$dump" --threshold 100ms --json --dump "$T/full/d"
	said "full dump disk: words" "No space left on device"
	said "full dump disk: what goes on" "the alerts go on"
	check "full dump disk: the alerts are there" jq -e .id "$T/out"
	eq "full dump disk: no rest of a file" "$(find "$T/full/d" -type f | wc -l)" 0

	# Room for the beginning of one, a page of memory.
	truncate -s -4096 "$T/full/fill"
	check_status "a disk that fills in mid-dump: status" 1 "$VMSPAN" watch "$whole" --threshold 100ms --json \
		--dump "$T/full/d" --before 1h --after 1h
	check "a disk that fills in mid-dump: words, of what is not there" \
		grep -qE "cannot write $T/full/d/alert-[^ ]*: No space left on device$" "$T/err"
	check "a disk that fills in mid-dump: the alerts are there" jq -e .id "$T/out"
	eq "a disk that fills in mid-dump: no rest of a file" "$(find "$T/full/d" -type f | wc -l)" 0

	# Live: when there is room again, dumps are written again.
	head -c 1M /dev/zero >>"$T/full/fill" 2>/dev/null
	watch -p "$host_pid" --group 'addon:*' --json --dump "$T/full/d" --dump-max 2 --dump-every 1ms \
		--before 2s --after 1ms
	need_line watch 'the next dump is tried again' err
	rm "$T/full/fill"
	# What is told from now on is written from now on.
	shown=$(wc -l <"$T/watch.out")
	check "room again: the alerts go on" timeout "$LIMIT" \
		bash -c 'grep -qm1 . < <(exec tail -n "+$2" -f --pid="$1" "$3")' - "$watch_pid" $((shown + 1)) "$T/watch.out"
	finish watch INT
	eq "room again: status of a watch that lost a dump" $? 1
	eq "room again: the failure is told once" "$(grep -c 'No space left' "$T/watch.err")" 1
	again=$(find "$T/full/d" -type f -name '*.vmspan' | sort | tail -n 1)
	check_status "room again: a dump that opens" 0 "$VMSPAN" report "${again:-none}" --json
	none "room again: no rest of a file" "$(find "$T/full/d" -name '*.part')"
	umount "$T/full"
else
	skip "full dump disk" "no tmpfs can be mounted here"
fi
check_status "--dump: not a directory" 1 "$VMSPAN" watch "$dump" --dump "$T/hook"
said "--dump: not a directory: words" "Not a directory"
mkdir -m 1777 "$T/everybodys"
check_status "--dump: where others may write" 1 "$VMSPAN" watch "$dump" --dump "$T/everybodys"
check "--dump: where others may write, in words" grep -q 'others may write there' "$T/err"
# Of the first recording, which has three alerts.
check_status "--dump-max keeps the newest" 0 "$VMSPAN" watch "$whole" --group 'addon:*' --threshold 100ms --json \
	--dump "$T/few" --dump-max 2 --dump-every 1ms --after 1ms
json_eq "--dump-max keeps the newest: there were more" <(jq -s . "$T/out") '[.[] | select(.dump)] | length > 2' true
eq "--dump-max keeps the newest: the last two" "$(find "$T/few" -name 'alert-*' | sort)" \
	"$(jq -r 'select(.dump) | .dump' "$T/out" | tail -n 2 | sort)"
# What a watch that was killed has left of a dump is an old file as any other.
mkdir "$T/left"
: >"$T/left/alert-20200101T000000Z-1-000001-x.vmspan.part"
: >"$T/left/other.vmspan.part"
check_status "--dump-max 1" 0 "$VMSPAN" watch "$dump" --threshold 100ms --dump "$T/left" --dump-max 1
eq "--dump-max: a dump that was never completed goes, others' files do not" \
	"$(find "$T/left" -name '*.part' -printf '%f')" other.vmspan.part

# ---- Bad usage ----

check_status "a bad glob" 2 "$VMSPAN" watch -p "$host_pid" --group 'addon:['
said "a bad glob: words" "is not a glob"
check_status "a bad threshold" 2 "$VMSPAN" watch -p "$host_pid" --threshold 'addon:*=soon'
check_status "nothing to watch" 2 "$VMSPAN" watch
check_status "--before without --dump" 2 "$VMSPAN" watch -p "$host_pid" --before 1s
printf '[page:*]\nthreshold = soon\n' >"$T/rules"
check_status "--rules: a bad time" 2 "$VMSPAN" watch "$dump" --rules "$T/rules"
said "--rules: a bad time: words" "[page:*]: threshold is not a time"
printf '[*]\nignore = yes\n' >"$T/rules"
check_status "--rules: all ignored" 0 "$VMSPAN" watch "$dump" --rules "$T/rules"
empty "--rules: all ignored: no alert" "$T/out"
rc=0
"$VMSPAN" watch "$dump" --threshold 1ms --all-causes --json >/dev/full 2>"$T/err" || rc=$?
eq "an output that is full: status" $rc 1
said "an output that is full: words" "cannot write standard output: No space left on device"

# ---- Verdicts ----

check_status "--verdicts" 0 "$VMSPAN" watch "$dump" --threshold 100ms --verdicts --json
json_eq "--verdicts: one behind each alert" <(jq -s . "$T/out") \
	'[.[] | select(.type == "verdict") | .alert] == [.[] | select(.type == "alert") | .id]' true
finish host TERM
eq "the host ends well" $? 0

# ---- An idle target costs nothing ----

start_ready host "$HOST" --wait --turns 20 --expect "$T/expect.json"
# In 1/100 s, of which the kernel tells whole ones.
begun=$(up_centiseconds)
watch -p "$host_pid" --dump "$T/idle" --duration 1
finish watch
eq "idle target: status" $? 0
check "--duration: no shorter" test $(($(up_centiseconds) - begun)) -ge 99
said "idle target: not a single wake-up" "; woken 0 times" "$T/watch.err"
send host
check "idle target: it works then" wait_line host '^done'
send host quit
finish host
eq "idle target: it ends well" $? 0
