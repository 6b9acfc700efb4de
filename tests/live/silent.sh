#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A program that uses the CPU and makes no mark is told of while it does; no longer when it makes one.
# shellcheck source=tests/attach_lib.sh
. "$(dirname "$0")/../attach_lib.sh"

SAID='note: steady ([0-9]*): its marks are armed, and it has used the CPU for a second and more without making one$'

t_pid=''
target t "$T/steady"
start watch "$VMSPAN" watch -p "$t_pid"
need_line watch '^watching ' err
start top "$VMSPAN" top -p "$t_pid" -d 0.2
start record "$VMSPAN" record -p "$t_pid" -o "$T/rec.vmspan"
need_line record '^recording ' err

# Each time it burns for so long; how often depends on when somebody looks.
burns=0
said_while_it_burns() { # FILE
	tell t "burn 200"
	burns=$((burns + 1))
	grep -q "$SAID" "$1"
}
check "watch says it" until_true said_while_it_burns "$T/watch.err"
check "not before it is worth a word" test "$burns" -ge 5
check "top says it" until_true said_while_it_burns "$T/top.out"
check "once" test "$(grep -c "$SAID" "$T/watch.err")" = 1
tell t "event 3"
for who in record watch top; do
	finish $who INT
	eq "$who ends well" $? 0
done
check_status "a report" 0 "$VMSPAN" report "$T/rec.vmspan" --json
json_eq "no word of it when it has made one" "$T/out" '[.spans, .processes[0].notes]' '[3,null]'

# What has made marks before is asked anew by each tracer.
start watch "$VMSPAN" watch -p "$t_pid"
need_line watch '^watching ' err
check "a trace of its own" until_true said_while_it_burns "$T/watch.err"
finish watch INT
eq "a trace of its own ends well" $? 0
start record "$VMSPAN" record -p "$t_pid" -o "$T/rec.vmspan"
need_line record '^recording ' err
tell t "burn 1100"
finish record INT
eq "a recording ends well" $? 0
"$VMSPAN" report "$T/rec.vmspan" | tr -s ' \n' ' ' >"$T/text" # its lines are cut to fit
check "so does a report" grep -q "${SAID%?} " "$T/text"
# Another program has none to make.
start watch "$VMSPAN" watch -p "$t_pid"
need_line watch '^watching ' err
tell t "leap"
ticks() {
	local stat
	read -r -a stat <"/proc/$t_pid/stat"
	echo $((stat[13] + stat[14]))
}
uses_the_cpu() { # for two seconds
	[ "$(ticks)" -ge $((leapt + 2 * $(getconf CLK_TCK))) ]
}
is_sh() {
	[ "$(<"/proc/$t_pid/comm")" = sh ]
}
check "it is another program" until_true is_sh
leapt=$(ticks)
check "which uses the CPU" until_true uses_the_cpu
finish watch INT
eq "whose target became another program: it ends well" $? 0
none "nobody expects marks of it" "$(grep 'marks are armed' "$T/watch.err")"
kill "$t_pid"

# Children that are there and not wanted are said to be left out; what is wanted, or to come, is not.
target t "$T/steady"
left_out() { # RECORDING: what is said of it
	"$VMSPAN" report "$1" --json >"$T/json" &&
		jq -r '[.processes[].notes[]? | .text + " -> " + .advice] | join("\n")' "$T/json"
}
record() { # ARGUMENT...
	start record "$VMSPAN" record -p "$t_pid" -o "$T/rec.vmspan" "$@"
	need_line record '^recording ' err
	tell t "spans 3"
	finish record INT
	eq "a recording ends well: $*" $? 0
}
record --no-children
none "nobody is there: nobody is left out" "$(left_out "$T/rec.vmspan")"
for _ in 1 2; do
	echo "keep 5" >&"$t_in"
	answer t >/dev/null && answer t >/dev/null
done
record --no-children
eq "a child of a child is one too" "$(left_out "$T/rec.vmspan")" \
	"2 processes that it has started before the trace are not traced -> Without --no-children they are, and those that it starts from then on; or name them by -p."
record
none "without the option nobody is left out" "$(left_out "$T/rec.vmspan")"
