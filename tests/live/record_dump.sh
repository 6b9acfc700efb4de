#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# SIGUSR2 has a recorder with a ring write what is in it, and go on.
# shellcheck source=tests/attach_lib.sh
. "$(dirname "$0")/../attach_lib.sh"

# Set by target and start, by name.
vm_pid='' record_pid=''
if ! build "$T/vm" tests/vm/steady.c -pthread; then
	not_ok "build" "the program of this test does not build"
	exit 1
fi

events() { # FILE
	"$VMSPAN" report "$1" --json 2>>"$T/report.err" | jq '.events.count'
}

dumped() { # how many
	grep -c '^wrote ' "$T/record.err"
}

is_dumped() { # N
	[ "$(dumped)" -ge "$1" ]
}

up_ms() { # to 10 ms, never ahead
	local up
	read -r up _ </proc/uptime
	echo $((10#${up%.*} * 1000 + 10#${up#*.} * 10))
}

# When it ends, in ms of the same clock.
end_ms() { # FILE
	"$VMSPAN" report "$1" --json | jq '(.source.begin_ns + .source.duration_ns) / 1e6 | ceil'
}

# Asks for another one until it has so many events: what is on its way comes with the next.
dump_has() { # EVENTS
	local n
	n=$(($(dumped) + 1))
	asked=$(up_ms)
	kill -s USR2 "$record_pid" && until_true is_dumped "$n" || return
	dump=$(sed -n 's/^wrote \(.*\.vmspan\), .*/\1/p' "$T/record.err" | tail -n 1)
	[ "$(events "$dump")" = "$1" ]
}

dump='' asked=0
target vm "$T/vm"
start record "$VMSPAN" record -p "$vm_pid" --ring 1M -o "$T/ring.vmspan"
need_line record '^recording ' err
for n in 1 2 3; do tell vm "event 31"; done
check "what the ring holds is written" until_true dump_has 3
one=$dump
check "to a file beside it, with its time" grep -qE "^$T/ring-[0-9]{8}T[0-9]{6}Z-[0-9]+\.vmspan$" <<<"$one"
tell vm "event 5" "event 5"
eq "which lacks nothing" "$("$VMSPAN" report "$one" --json | jq -c '[.complete, ([.losses[]] | add)]')" '[true,0]'
check "the recording goes on, and is written again" until_true dump_has 5
# The clock is read four times a second otherwise.
reaches_so_far() {
	tell vm "nap 50"
	dump_has 5 && [ "$(end_ms "$dump")" -ge "$asked" ]
}
for n in 1 2 3; do check "it is of all until it was asked for ($n)" reaches_so_far; done
eq "the first is left as it was" "$(events "$one")" 3
tell vm "event 7"
# Whoever hangs is why it is written: what goes on is in it, and in the recording only as what it comes to.
tell vm "open" "burn 200"
unfinished() { # FILE
	"$VMSPAN" report "$1" --json | jq -c '[.unfinished.count // 0, (.unfinished.longest // [])[0].group]'
}
hangs() {
	dump_has 6 && [ "$(unfinished "$dump")" = '[1,"addon:first"]' ]
}
check "what goes on is in it" until_true hangs
tell vm "close"
finish record INT
eq "status" $? 0
eq "all is in the recording" "$(events "$T/ring.vmspan")" 7
eq "what went on has ended in it" "$(unfinished "$T/ring.vmspan")" '[0,null]'
eq "no part of a file is left" "$(find "$T" -name '*.part' | wc -l)" 0

# Who has all of it anyway is told so.
start record "$VMSPAN" record -p "$vm_pid" -o "$T/all.vmspan"
need_line record '^recording ' err
kill -s USR2 "$record_pid"
need_line record '^vmspan: SIGUSR2 writes what --ring holds' err
tell vm "event 7"
finish record INT
eq "without a ring: the recording goes on" "$(events "$T/all.vmspan")" 1
eq "without a ring: nothing is written beside it" "$(find "$T" -name 'all-*' | wc -l)" 0
dismiss vm
