#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Ruby as Debian builds it, under load, attached to by PID.
# shellcheck disable=SC2154 # start_app sets app_pid
# shellcheck source=tests/stock/lib.sh
. "$(dirname "$0")/lib.sh"

RUBY=/usr/bin/ruby3.1
if [ ! -x $RUBY ]; then
	skip_rest "Ruby" "no $RUBY: tools/install-deps --vms"
fi
ruby_plugins
start_app $RUBY "${paths[@]}" "$APPS/app.rb"

check_sampled "10 s" package
json_eq "it says that it sampled" "$T/a.json" '[.source.method, .processes[0].vm]' '["sampled","ruby"]'
# However they nest, each is told of with a begin of its own; so is each piece of sweeping.
"$VMSPAN" export "$T/a" -q -f ndjson -o "$T/events"
json_eq "collections begin one by one" <(jq -c 'select(.type == "gc").begin_ns' "$T/events" | jq -sc .) \
	'length >= 7 and length == (unique | length)' true
check_stacks "Ruby"
check_kill "Ruby" "$app_pid"
answer=$(ask gc 1)
json_eq "and answers" <(echo "$answer") '.gc > 0' true

# Whoever looks whether more has come of a request, without waiting for it, is in no event loop: what it does then, until
# it waits for the next one elsewhere, is told, the last of each thread too.
app $RUBY "$APPS/pool.rb"
start_record "$T/pool" "$app_pid"
answer=$(ask jobs 2 300)
finish rec INT
report "$T/pool"
json_eq "the requests of a pool of threads are told" <(jq -c --argjson a "$answer" '.events.cpu_ns / $a.used' "$T/pool.json") \
	'. >= 0.95' true

# One that makes nothing but garbage sweeps thousands of times a second: those probes
# are let go of, and it is said; its collections are counted all the same.
app $RUBY "$APPS/calls.rb"
start_record "$T/garbage" "$app_pid"
answer=$(ask work 5000000)
finish rec INT
report "$T/garbage"
json_eq "sweeping in thousands of pieces is said to be left out" "$T/garbage.json" \
	'[.processes[0].notes[].text | select(test("sweeping is not timed any more: it went on in [0-9]+ pieces"))] | length' 1
json_eq "and all collections are counted" "$T/garbage.json" .gc.count "$(echo "$answer" | jq .gc)"

# Attached to amid collections, 600 a second and more: none of them is thought to go on
# for ever, whichever of its ends was seen, so those that follow are counted. Half of all
# attaches would show it.
told='' all=0
for _ in 1 2 3 4 5 6 7 8; do
	send app "run 0"
	start_record "$T/amid" "$app_pid"
	around=$(ask end 0)
	inside=$(ask work 100000)
	finish rec INT
	report "$T/amid"
	inside=$(jq .gc <<<"$inside") around=$(jq .gc <<<"$around") count=$(jq .gc.count "$T/amid.json")
	[ "$inside" -gt 10 ] && [ "$count" -ge "$inside" ] && [ "$count" -le $((around + inside)) ] && all=$((all + 1))
	told+=" $count of $inside to $((around + inside))"
done
eq "collections have ends however the attach falls:$told" $all 8
