#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# What snapshots and alerts promise, on the demo host, live and replayed:
# figures only grow, ids stay, parts are not larger than the whole, who burns is
# named and nobody else.
# shellcheck disable=SC2154 # start and start_host set NAME_pid
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

start_host_first --demo
start record "$VMSPAN" record -p "$host_pid" -o "$T/a.vmspan"
need_line record '^recording ' err
start stat "$VMSPAN" stat -p "$host_pid" --json -i 300ms
# Until every page has had its turn. Of an event that has taken 0.1 s, as any may that has no CPU, figures hold what
# it came to if it ended then; at its end that may become less. So what only grows is asked of the other moments.
all_had_turns() {
	jq -se '(map(select(.open | not)) | length >= 6) and
		(.[-1].groups | map(select(.kind == "page" and .wall_ns > 1000000)) | length == 3)' \
		"$T/stat.out" >/dev/null 2>&1
}
check "every page has its turns" until_true all_had_turns
finish stat INT
eq "stat ends well" $? 0
finish record INT
eq "recording beside it" $? 0
jq -sc 'map(del(.interval_ns))' "$T/stat.out" >"$T/live.json"
for t in 400ms 800ms 1200ms 1600ms 60s; do
	"$VMSPAN" report "$T/a.vmspan" --json --to "$t"
done | jq -sc . >"$T/replayed.json"

for way in live replayed; do
	f=$T/$way.json
	check "$way: there are several moments" jq -e 'length >= 5 and .[-1].events.count > .[0].events.count' "$f"
	json_eq "$way: no figure is negative" "$f" '[.. | numbers | select(. < 0)] | length' 0
	json_eq "$way: no group's figure ever falls" "$f" 'map(select(.open | not)) as $s |
		[range(1; $s | length) as $i | $s[$i - 1].groups[] as $old |
		($s[$i].groups[] | select(.name == $old.name)) as $new |
		select($new.ticks < $old.ticks or $new.wall_ns < $old.wall_ns or $new.self_ns < $old.self_ns
			or $new.cpu_ns < $old.cpu_ns or $new.blocked_ns < $old.blocked_ns or $new.max_ns < $old.max_ns
			or ([range(10) as $k | $new.durations[$k] < $old.durations[$k]] | any))] | length' 0
	json_eq "$way: no group goes away" "$f" 'map(select(.open | not)) as $s | [range(1; $s | length) as $i | $s[$i - 1].groups[].name as $n |
		select([$s[$i].groups[].name] | index($n) | not)] | length' 0
	json_eq "$way: ten durations, none above the shorter one" "$f" '[.[] | .events, .groups[] | .durations |
		length == 10 and . == (sort | reverse)] | all' true
	json_eq "$way: each group is there once" "$f" 'all(.[]; [.groups[].name] | length == (unique | length))' true
	json_eq "$way: the process is the one that was named" "$f" "all(.[]; any(.processes[]; .pid == $host_pid))" true
	json_eq "$way: a group is the sum of its processes" "$f" '[.[].groups[] |
		.wall_ns == ([.processes[].wall_ns] | add) and .ticks == ([.processes[].ticks] | add)] | all' true
	json_eq "$way: no group had more than its process had" "$f" '[.[] | .events.wall_ns as $all | .groups[].wall_ns <= $all] | all' true
	json_eq "$way: the ledger is the events' time" "$f" '[.[] | .ledger | .self_ns + .gc_ns + .blocked_ns + .native_ns
		+ .moved_ns + .stale_ns + .lost_ns == .event_wall_ns] | all' true
	json_eq "$way: pages by their own titles, frames not at all" "$f" \
		'.[-1].groups | map(select(.kind == "page").name) | sort' '["page:mail","page:news","page:shop"]'
	json_eq "$way: a busy page has passed a millisecond" "$f" 'all(.[-1].groups[] | select(.kind == "page"); .wall_ns > 1000000)' true
	json_eq "$way: a page nobody opened is not there" "$f" '[.[].groups[] | select(.name == "page:none")] | length' 0
done

# Who is told: the planted add-on, whether it is watched alone or among all, and
# the same ones when it is replayed. A machine that takes the CPU from the host in
# the middle of a turn makes others late: they are told too, and short of CPU time.
start other "$VMSPAN" watch -p "$host_pid" --group addon:darkmode --threshold 100ms --json
start one "$VMSPAN" watch -p "$host_pid" --group addon:tracker --threshold 100ms --json -n 2
start all "$VMSPAN" watch -p "$host_pid" --threshold 100ms --json \
	--dump "$T/d" --before 1h --after 1h --ring 64M
for name in other one all; do
	check "watch ($name)" wait_line "$name" '^watching ' err
done
finish one
eq "watch (one) ends with its second alert" $? 0
had_the_cpu='select(.cpu_ns >= .threshold_ns) | .group'
planted_twice() {
	[ "$(jq -r "$had_the_cpu" "$T/all.out" 2>/dev/null | grep -cx addon:tracker)" -ge 2 ]
}
check "the planted add-on is told, again and again" until_true planted_twice
for name in other all; do
	finish "$name" INT
	eq "watch ($name) ends well" $? 0
done
eq "who burns is the planted add-on, and only that one" "$(jq -r "$had_the_cpu" "$T/all.out" | sort -u)" addon:tracker
# What a turn lacks of CPU time, its event lacks, to a rounding.
json_eq "whoever else is told was kept from the CPU" <(jq -sc . "$T/all.out" "$T/other.out") \
	'all(.[]; .cpu_ns >= .threshold_ns or .total_ns - .cpu_ns <= .event.wall_ns - .event.cpu_ns + 1000000)' true
eq "who watches it alone hears of it" "$(jq -r .group "$T/one.out" | sort -u)" addon:tracker
none "who watches another hears nothing of it" "$(jq -r "$had_the_cpu" "$T/other.out")"
json_eq "each for a turn over the threshold" <(jq -sc . "$T/all.out") \
	'all(.[]; .total_ns >= 100000000 and .event.wall_ns >= .total_ns)' true
check_status "replayed" 0 "$VMSPAN" watch "$T"/d/*.vmspan --threshold 100ms --json -n "$(wc -l <"$T/all.out")"
eq "replayed: the same" "$(jq -c '[.group, .total_ns, .event.iteration]' "$T/out")" \
	"$(jq -c '[.group, .total_ns, .event.iteration]' "$T/all.out")"
jq -c 'select(.group != "addon:tracker") | del(.tree)' "$T/all.out" "$T/other.out" | sed 's/^/# /' # for those who read the log
finish host TERM
eq "the host ends well" $? 0

# A pure burn of 300 ms: not before it is watched, then all of it, none of it waiting.
start_ready churn "${ONE_CPU[@]}" "$B/vm/churn" 1 300
send churn
need_line churn '^done 1'
start burn "$VMSPAN" stat -p "$churn_pid" --json -i 200ms
need_line burn '"groups"'
json_eq "a burn before it was watched is nobody's" <(head -n 1 "$T/burn.out") '[.events.count, .groups]' '[0,[]]'
send churn
need_line churn '^done 2'
need_line burn '"addon:churn"'
finish churn
eq "a burn: the target ends well" $? 0
finish burn
eq "a burn: stat ends well with its target" $? 0
tail -n 1 "$T/burn.out" >"$T/burn.json"
json_eq "the burn is charged, to the group and to the process" "$T/burn.json" \
	'[.groups[] | select(.name == "addon:churn" or .kind == "top") | .cpu_ns >= 290000000] | [length > 1, all]' '[true,true]'
json_eq "a burn is no waiting" "$T/burn.json" '[.groups[].blocked_ns] | add' 0
