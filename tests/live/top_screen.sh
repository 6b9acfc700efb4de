#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The live table in a real terminal: what is on the screen after each key, at
# many sizes. Waits for words on the screen, never for time.
# shellcheck disable=SC2154 # start and start_host set NAME_pid
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

command -v tmux >/dev/null || skip_rest "top on a terminal" "no tmux: tools/install-deps"
vmspan=$(realpath "$VMSPAN")
export XDG_CONFIG_HOME=$T/config
# shellcheck source=tests/screen_lib.sh
. "$(dirname "$0")/../screen_lib.sh"

press() { # X Y, from 0: the left button down and up, as terminals have told it since X10
	local at
	at=$(printf '%x %x' $(($1 + 33)) $(($2 + 33)))
	# shellcheck disable=SC2086 # two bytes
	mux send-keys -H 1b 5b 4d 20 $at 1b 5b 4d 23 $at
}

# The cells of a column by its title, top to bottom, without units. Not every
# awk counts characters, so there must be none of more than a byte.
column() { # TITLE
	LC_ALL=C.UTF-8 sed 's/[^ -~]/#/g' "$T/screen" | awk -v title="$1" '
		!at && (i = index($0, " " title)) && /SELF/ { at = i + length(title); next }
		at && /^(q quit|$)/ { exit }
		at { n = split(substr($0, 1, at), w, " "); print w[n] }'
}

falls() { # numbers on stdin, largest first?
	awk 'NR > 1 && $1 > last { bad = 1 } { last = $1 } END { exit bad || NR < 2 }'
}

# Is the table sorted by its share of self time?
sorted() { # cat, or tac: the other way round
	column 'SELF%' | "$1" | falls
}

last_line_is() { # LINE-NUMBER WORDS
	[ "$(sed -n "$1p" "$T/screen" | cut -c "1-${#2}")" = "$2" ]
}

only_addons() {
	seen '^GROUP' && seen '^addon:' &&
		! sed -n '/^GROUP/,/^$/p' "$T/screen" | grep -qE '^(page|top|tenant):'
}

start_host --demo --groups 20

# ---- 80x24 ----

terminal 80 24 "'$vmspan' top -p $host_pid -d 0.25"
check "a table appears" until_seen 'addon:tracker +'
for words in "^demohost \($host_pid\).*, last .*, by self" 'events/s .*busy' '^of event time: self' \
	'longest turn so far' '^GROUP .*SELF% +SELF +WALL'; do
	check "80x24: $words" until_seen "$words"
done
check "80x24: keys in the last line" until_good last_line_is 24 "q quit"
eq "80x24: no control bytes" "$(LC_ALL=C grep -c '[[:cntrl:]]' "$T/screen")" 0
check "sorted by self" until_good sorted cat
check "a sparkline" until_seen '[▁▂▃▄▅▆▇█]'

key s
check "s: by wall" until_seen ', by wall'
key '<'
check "<: by self" until_seen ', by self'
key c
check "c: since the start" until_seen ', all .*, by self'
check "since the start: sorted" until_good sorted cat
key r
check "r: reversed" until_seen 'by self reversed'
check "reversed: sorted the other way" until_good sorted tac
key r
key w
check "w: the last interval again" until_seen ', last .*, by self'
key c
check "c once more" until_seen ', all '

key / a d d o n
check "/: what is typed" until_seen '^filter: addon_'
key Enter
check "/: only those" until_seen 'only \*addon\*'
check "/: no other rows" until_good only_addons
key / BSpace BSpace BSpace BSpace BSpace Enter
check "/: empty shows all" until_seen '^page:'

key t
check "t: by process" until_seen '^PROCESS / GROUP'
check "t: a process" until_seen "^$host_pid demohost"
check "t: its groups below" until_seen '^  (page|addon):'
key t
check "t: by kind" until_seen '^KIND / GROUP'
check "t: a kind" until_seen '^addon +'
key t
check "t: flat" until_seen '^GROUP'
key H
check "H: threads" until_seen '^THREAD'
check "H: the main thread" until_seen "^$host_pid demohost"
key H
check "H: groups" until_seen '^GROUP'

key p
check "p: paused" until_seen 'PAUSED'
# The rest of that refresh may be still to come; a screen that goes on has new figures
# in every interval. On a busy machine not every interval has an event.
stays() {
	before=$(capture)
	"$VMSPAN" top -p "$host_pid" -d 0.6 --json 2>/dev/null |
		jq -n 'first(inputs | select(.events.count > 0)) | true' >"$T/elsewhere"
	[ "$(capture)" = "$before" ]
}
check "paused: the screen stays" until_true stays
json_eq "paused: measuring goes on elsewhere" "$T/elsewhere" . true
key p
check "p: on" until_gone 'PAUSED'

key F3 t r a c k e r Enter
key Enter
check "F3, Enter: the detail of what was found" until_seen '^addon:tracker, all'
check "detail: worst turns" until_seen 'of a turn of .*, iteration [0-9]+, thread [0-9]+'
check "detail: callers" until_seen 'x  page:'
check "detail: collections it caused" until_seen 'x  \(gc\)'
key Escape
check "Esc: back" until_seen '^GROUP'
key c
key o
check "o: compartments of the selected group by themselves" until_seen '^compartment:tracker '
check "o: those of other groups are not" until_gone '^compartment:darkmode '
key c
key o
check "o: no longer" until_seen 'compartments of addon:tracker are no longer measured'
key h
check "h: help" until_seen '^Keys'
check "help: every key fits in 80 columns" until_seen '^q F10 *quit'
key h
check "h: back" until_seen '^GROUP'

# ---- The mouse ----

# Lines of the head come and go; in a pause all stay where they are.
key p
until_seen PAUSED || not_ok "before the mouse" "not paused"
until_seen '^GROUP .* WALL'
row=$(($(grep -n '^GROUP' "$T/screen" | cut -d : -f 1) - 1))
title=$(sed -n $((row + 1))p "$T/screen")
at=${title%%WALL*}
press ${#at} $row
check "a click on a title sorts" until_seen ', by wall'
press ${#at} $row
check "another turns it around" until_seen ', by wall reversed'
press ${#at} $row
until_gone reversed
press 3 $((row + 1))
press 3 $((row + 1))
check "a click on the selected row opens it" until_seen '^(top|addon|page|tenant):.*, all'
key Escape
until_seen '^GROUP' || not_ok "back from the mouse" "no table"
key p
until_gone PAUSED

# ---- Columns, chosen and kept ----

key C
check "C: the columns" until_seen '^Columns, left to right'
check "C: those shown are marked" until_seen '^\[x\] SELF% '
key Space
mux resize-window -x 300 -y 24 # the folder may have a long name
key S
check "S: kept" until_seen "columns are kept in $T/config/vmspan/config"
mux resize-window -x 80 -y 24
eq "S: the first one was taken away" "$(grep -c '^columns = self%,' "$T/config/vmspan/config")" 1
eq "S: it is in its section" "$(head -n 1 "$T/config/vmspan/config")" "[top]"
check "it is gone from the screen" until_gone LATELY

# ---- A recording from a key ----

key R
check "R: records" until_seen 'RECORDING'
check "R: to a file with the name of the target" until_seen "recording to ./demohost-$host_pid.vmspan"
key Escape
has_grown() {
	[ "$(stat -c %s "$T/here/demohost-$host_pid.vmspan" 2>/dev/null || echo 0)" -gt 4096 ]
}
until_good has_grown
key R
check "R: ends it" until_seen "recorded to ./demohost-$host_pid.vmspan"
check_status "R: the recording is whole" 0 "$VMSPAN" report --json "$T/here/demohost-$host_pid.vmspan"
json_eq "R: it holds events" "$T/out" '[.source.note, .events.count > 0]' '[null,true]'

# ---- Sizes ----

key Escape
for size in 120x40 200x50 300x60 60x15 40x10 80x24; do
	mux resize-window -x "${size%x*}" -y "${size#*x}"
	if [ "${size#*x}" -ge 12 ]; then
		check "$size: keys in the last line" until_good last_line_is "${size#*x}" "q quit"
	else
		check "$size: a table" until_seen '^GROUP|^demohost'
	fi
	none "$size: lines fit" "$(LC_ALL=C.UTF-8 wc -L <"$T/screen" | awk -v w="${size%x*}" '$1 > w')"
	eq "$size: no control bytes" "$(LC_ALL=C grep -c '[[:cntrl:]]' "$T/screen")" 0
done

key q
check "q: quits" until_seen 'STATUS 0'
empty "q: no words" "$T/here/err"
eq "q: the screen is given back" "$(grep -c SELF "$T/screen")" 0

# ---- What was kept is there again; widths bring columns ----

terminal 120 40 "'$vmspan' top -p $host_pid -d 0.25"
check "the columns kept before" until_seen '^GROUP +SELF% '
key q
until_seen 'STATUS 0' || not_ok "quit" "it runs on"
terminal 300 60 "'$vmspan' top -p $host_pid -d 0.25 --no-config"
check "300 columns: a bar" until_seen '^\[█+'
for title in LATELY SELF% SELF WALL CPU% CPU GC BLOCKED EVENTS TICKS SPANS MOVED P50 P99 MAX '>16ms' '>64ms'; do
	check "300 columns: $title" until_seen "^GROUP.* $title( |\$)"
done
check "it is coloured" grep -q "$(printf '\033')\\[38;5;" <(capture -e)
key C-c
check "^C ends it" until_seen 'STATUS 0'

# ---- Parts by key: each lets go of one, and asks for it again ----

terminal 120 40 "'$vmspan' top -p $host_pid -d 0.25 --no-config --exact"
until_seen 'addon:tracker +' || not_ok "top --exact" "no table"
key B
check "B: the scheduler's record goes" until_seen 'what keeps threads off the CPU: not measured until the same key'
check "B: the head says so" until_seen '^not measured: what keeps threads off the CPU for .*, and not now'
key B
check "B: it comes back" until_seen 'measuring what keeps threads off the CPU again'
check "B: the head says for how long it was away" until_gone 'and not now'
key P
check "P: turns go" until_seen 'turns: not measured until the same key'
check "P: the head says so" until_seen '^not measured: .*turns for .*, and not now'
check "P: nothing is measured then" until_seen '^0 events/s'
key P
check "P: they come back" until_seen 'measuring turns again'
check "P: figures move again" until_seen '^[1-9][0-9.]* events/s'
key G
check "G: collections cost nothing apart here" until_seen 'collections come with the turns here'
key S
check "S: nothing is sampled here" until_seen 'nothing is sampled here'
key q
until_seen 'STATUS 0' || not_ok "quit" "it runs on"
terminal 120 40 "'$vmspan' top -p $host_pid -d 0.25 --no-config"
until_seen 'addon:tracker +' || not_ok "top" "no table"
key B
check "B: without --exact: words" until_seen 'what keeps threads off the CPU takes --exact'
key q
until_seen 'STATUS 0' || not_ok "quit" "it runs on"

# ---- Without colour, without UTF-8 ----

terminal 120 40 "NO_COLOR=1 '$vmspan' top -p $host_pid -d 0.25 --no-config"
check "NO_COLOR: a table" until_seen 'addon:tracker +'
eq "NO_COLOR: no colour" "$(capture -e | grep -cE "$(printf '\033')\\[[0-9;]*([34][0-7]|[34]8;[0-9;]*)m")" 0
check "NO_COLOR: the bar has letters" until_seen '^\[s+'
key q
until_seen 'STATUS 0' || not_ok "quit" "it runs on"
terminal 120 40 "LC_ALL=C TERM=vt100 '$vmspan' top -p $host_pid -d 0.25 --no-config"
check "vt100, C locale: a table" until_seen 'addon:tracker +'
eq "vt100, C locale: ASCII alone" "$(LC_ALL=C grep -c '[^ -~]' "$T/screen")" 0
key q
until_seen 'STATUS 0' || not_ok "quit" "it runs on"

# ---- A group that runs on, and a target that ends ----

mkfifo "$T/hang"
cat >"$T/hang.c" <<'C'
#include SDK
#include <stdio.h>

/* Ends a turn, then stays in `stuck` until its input ends. */
int main(void)
{
	unsigned int g = vmspan_group(VMSPAN_ADDON, "stuck");
	unsigned int c = vmspan_compartment("stuck code", &g, 1);

	puts("ready");
	fflush(stdout);
	if (getchar() < 0)
		return 1;
	vmspan_event_begin(0);
	vmspan_enter(c);
	vmspan_leave(c);
	vmspan_event_end();
	vmspan_event_begin(0);
	vmspan_enter(c);
	while (getchar() >= 0)
		;
	vmspan_leave(c);
	vmspan_event_end();
	return 0;
}
C

a_program_that_hangs() { # VERSION HEADER
	local v=$1
	if ! ${CC:-cc} -I. -DSDK="\"$2\"" -o "$T/hangs" "$T/hang.c" -pthread 2>"$T/cc"; then
		not_ok "$v: a program that hangs" "does not build: $(cat "$T/cc")"
		return
	fi
	: >"$T/hangs.out"
	# On one CPU: a stay that moves is charged to nobody.
	"${ONE_CPU[@]}" "$T/hangs" <"$T/hang" >"$T/hangs.out" &
	hangs_pid=$!
	lib_owns "$hangs_pid"
	exec 8>"$T/hang"
	wait_line hangs ready >/dev/null || not_ok "$v: a program that hangs" "it does not begin"
	terminal 100 30 "'$vmspan' top -p $hangs_pid -d 0.25 --no-config"
	until_seen 'nothing ran' || not_ok "$v: attached" "no table"
	echo go >&8
	check "$v: a stay that has not ended is named" until_seen '^still running: addon:stuck for .* in thread'
	check "$v: and in its row" until_seen '^addon:stuck +[0-9.]+ m?s '
	check "$v: its time grows to seconds" until_seen 'addon:stuck for [1-9][.0-9]* s in'
	exec 8>&-
	check "$v: a target that ends: the last figures stay" until_seen 'ENDED'
	check "$v: and the turn is counted" until_seen '^addon:stuck held 1 of [12] turns?'
	key q
	check "$v: and q quits" until_seen 'STATUS 0'
}
a_program_that_hangs "version 1" user/sdk/v1/vmspan.h
a_program_that_hangs "version 2" user/sdk/vmspan.h

# ---- vmspan alone: a list to pick from ----

terminal 100 30 "'$vmspan'"
check "vmspan alone offers processes" until_seen 'Which one\?'
check "with the host" until_seen "$host_pid +demohost"
key n o Enter
check "what is none of them is asked again" until_seen 'none of them'
key "$host_pid" Enter
check "the one picked is shown" until_seen "^demohost \($host_pid\).*, last"
key q
check "and that ends as top does" until_seen 'STATUS 0'

finish host INT

# ---- Budgets: memory with 10,000 groups, time a refresh with 1,000 ----

many() { # GROUPS: a host that touches each once, after go
	rm -f "$T/go"
	mkfifo "$T/go"
	: >"$T/many.out"
	"$HOST" --wait --groups "$1" --turns 200 --expect "$T/expect.json" <"$T/go" >"$T/many.out" 2>&1 &
	many_pid=$!
	lib_owns "$many_pid"
	exec 9>"$T/go"
	wait_line many '^ready ' >/dev/null || not_ok "a host of $1 groups" "it does not begin"
}

many 10000
terminal 120 40 "exec '$vmspan' top -p $many_pid -d 0.5 --no-config"
until_seen 'nothing ran' || not_ok "attached" "no table"
echo go >&9
check "10,000 groups: the host works" wait_line many '^done'
key c
check "10,000 groups: all are shown" until_seen '^tenant:tenant '
key t t
check "10,000 groups: as a tree" until_seen '^KIND / GROUP'
key t
until_seen '^GROUP'
pid=$(mux list-panes -F '#{pane_pid}')
peak=$(awk '/^VmHWM/ { print $2 }' "/proc/$pid/status")
case $B in
*san*) skip "10,000 groups: memory" "a sanitized build takes more" ;;
# 32 MB when it reads in time: a reader that comes late reads more in one go.
*) check "10,000 groups: at most 80 MB ($peak kB)" test "$peak" -le 81920 ;;
esac
exec 9>&-
mux kill-server
check "10,000 groups: the host ends well" finish many

start_host --demo --groups 1000
cat >"$T/timed" <<'SH'
TIMEFORMAT='%U %S'
to=$1
shift
{ time "$@" 2>/dev/null; } 2>"$to"
SH
cpu() { # FRAMES: milliseconds of CPU time, in $ms; not in a subshell, for terminal()
	terminal 120 40 "bash '$T/timed' '$T/time' '$vmspan' top -p $host_pid -n $1 -d 0.1 --no-config"
	ms=''
	until_seen 'STATUS 0' >/dev/null && ms=$(awk '{ print int(($1 + $2) * 1000) }' "$T/time")
}
# What else runs makes it more, never less: the least of each is asked.
few=9999 more=9999
for _ in 1 2; do
	cpu 5
	few=$((${ms:-9999} < few ? ms : few))
	cpu 35
	more=$((${ms:-9999} < more ? ms : more))
done
case $B in
*san*) skip "1,000 groups: CPU time" "a sanitized build takes more" ;;
# 2 to 10 ms each are usual, by how dear the machine's page tables are; so is its begin, which is the
# measure here. 35 refreshes take with it twice as long as 5; 3.7 times, if each took four times as much.
*) check "1,000 groups: what a refresh takes ($few ms of CPU for 5, $more ms for 35)" test "$more" -le $((few < 9999 ? few * 3 : 0)) ;;
esac
finish host INT
