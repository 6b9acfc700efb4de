#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# watch --exact over thousands of processes that come and go, half of the time on
# a machine that is busy with other things: memory and descriptors stay as they
# are once the tables are full, an idle target wakes nobody (but for a look a second), and no alert is lost
# or doubled, by the target's own list of its slow events. VMSPAN_TEST_SOAK=N rounds of
# 1000 processes (default 24 after the 8 that fill the tables); a night is 10000.
# A heap finds its size in steps of some megabytes, up and down, so the middle of the
# last third's rounds may be 8 MB above the first third's (1.4 were seen): the longer it
# runs, the smaller the leak that is found. 24 rounds find half a kB a process. The ring
# is small, so that it is full before that.
# shellcheck disable=SC2154 # start sets NAME_pid
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
rounds=${VMSPAN_TEST_SOAK:-24} # at least 12
room=8192 # kB
fill=8 # 4096 ended processes are kept apart; by then all tables have their size

status() { # KEY
	sed -n "s/^$1:[[:space:]]*\([0-9]*\).*/\1/p" "/proc/$watch_pid/status"
}
descriptors() { # [links]: all but links, or those
	find "/proc/$watch_pid/fd" -mindepth 1 -printf '%l\n' |
		if [ $# -gt 0 ]; then grep -c bpf_link; else grep -vc bpf_link; fi
}
# A round is over when the last child's alert has come out, or when it never will.
round() { # NUMBER
	send churn
	wait_line churn "^done $1\$" >/dev/null || exit 1
	timeout "$LIMIT" tail -n +1 -s 0.05 -f --pid="$watch_pid" "$T/watch.out" 2>/dev/null |
		sed -n "$(($1 * 1000))q"
}
busy() { # on: others want every CPU; off
	local i
	if [ "$1" = on ]; then
		for i in $(seq "$(($(nproc) + 1))"); do
			start "other$i" bash -c 'while :; do :; done'
			others+=("other$i")
		done
	else
		for i in "${others[@]}"; do finish "$i" KILL 2>/dev/null; done
		others=()
	fi
}
# In each four rounds the first two are beside others.
surroundings() { # ROUND, from 0
	case $(($1 % 4)) in
	0) busy on ;;
	2) busy off ;;
	esac
}
middle() { # FIRST LAST: of the rounds' memory, from 1
	sed -n "$1,$2p" "$T/memory" | sort -n | sed -n "$((($2 - $1) / 2 + 1))p"
}
# A child that is there just now is held by one: the fewest of a third's rounds are without.
fewest() { # FIRST LAST
	sed -n "$1,$2p" "$T/files" | sort -n | head -n 1
}

others=() done=0
start_ready churn "$B/vm/churn" 1000 2
start watch "$VMSPAN" watch --exact -p "$churn_pid" --group addon:churn --threshold 1ms --json \
	--dump "$T/dumps" --ring 1M
wait_line watch '^watching ' err >/dev/null
while [ $done -lt $fill ]; do
	done=$((done + 1))
	round $done
done
had=$(descriptors links) links=$had
for ((i = 0; i < rounds; i++)); do
	surroundings $i
	done=$((done + 1))
	round $done
	now=$(descriptors links)
	[ "$now" -le "$links" ] || links=$now
	status VmRSS >>"$T/memory"
	descriptors >>"$T/files"
done
[ ${#others[@]} = 0 ] || busy off
third=$((rounds / 3))
early=$(middle 1 $third) late=$(middle $((rounds - third + 1)) "$rounds")
check "memory is flat: $early kB in the first $third rounds, $late in the last" \
	test "$late" -lt $((early + room))
# A child that lives for 50 ms, as any may on a busy machine, has links of its own: 256 of the
# dead's are kept, so these become more until then.
check "links are few: $links" test "$links" -le $((had + 300))
before=$(fewest 1 $third) after=$(fewest $((rounds - third + 1)) "$rounds")
check "descriptors are flat: $before, then $after" test "$after" -le "$before"
# What is under way ends; then watch looks once a second whether something hangs, and nobody wakes it
# besides: a reader that found no rest would look each 50 ms. Two seconds are over when another
# watch that was to last as long has ended.
uptime_ms() {
	local up
	read -r up _ </proc/uptime
	echo "${up/./}0"
}
is_calm() {
	local took wakes
	took=$(uptime_ms) wakes=$(status voluntary_ctxt_switches)
	"$VMSPAN" watch -p "$churn_pid" --no-children --duration 2 -q >/dev/null 2>&1 || return 1
	wakes=$(($(status voluntary_ctxt_switches) - wakes)) took=$(($(uptime_ms) - took))
	[ $took -ge 1900 ] && [ $wakes -le $((5 * took / 1000)) ]
}
check "an idle target wakes nobody" until_true is_calm
check "the target ends in order" finish churn
finish watch
eq "watch ends with its target" $? 0
sed -n 's/^child //p' "$T/churn.out" | LC_ALL=C sort >"$T/slow"
jq -r .pid "$T/watch.out" | LC_ALL=C sort >"$T/told"
eq "the target had its slow events" "$(wc -l <"$T/slow")" $((done * 1000))
none "no alert is lost" "$(LC_ALL=C comm -23 "$T/slow" "$T/told")"
none "no alert is doubled" "$(LC_ALL=C comm -13 "$T/slow" "$T/told")"
none "each has a number of its own" "$(jq -r .id "$T/watch.out" | sort | uniq -d)"
none "nothing was lost" "$(grep ' lost because ' "$T/watch.err")"
echo "watch: $(tail -n 1 "$T/watch.err")"
