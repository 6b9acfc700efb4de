#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Who was asked for and cannot be traced is said, and nothing is complete without: whoever comes later, children, what
# executes something else, what ends at once. Code that was made at run time is no library, and is said of nobody.
# shellcheck source=tests/attach_lib.sh
. "$(dirname "$0")/../attach_lib.sh"
# shellcheck source=tests/user_lib.sh
. "$(dirname "$0")/../user_lib.sh"

user_or_skip "left out"
user_folder "left out"
D=$USER_DIR
NOBODY=(setpriv --reuid 65534 --regid 65534 --clear-groups)
mkdir "$D/out"
chown 65534:65534 "$D/out"
install -m 755 "$VMSPAN" "$D/vmspan"
install -m 755 "$T/steady" "$D/steady"
install -m 755 "$T/steady" "$D/other"
# What may be executed and not read is closed to its own user too.
install -m 711 "$(readlink -f /bin/sh)" "$D/closed"
user_with +bpf,+perfmon
user_traces_or_skip "CAP_BPF and CAP_PERFMON alone" "$D/vmspan"

report() { # NAME
	"$VMSPAN" report "$D/out/$1" --json >"$T/$1.json"
}
# Spans, how many are left out, whether any group is complete, and who is said to be, and why.
figures='[.spans, .left_out, ([.groups[].complete] | any), ([.processes[] | .name as $n | .notes[]? | select(.left_out) | $n + ": " + (.text | capture("^(?<t>no permission to open) (any|1) of its").t)] | sort)]'
denied=": no permission to open"

# ---- Of a name: who comes later, and lives on, has ended, or executes another program ----

comm=left$$
ln -s "$D/steady" "$D/$comm"
mkdir "$D/shut"
ln -s "$D/closed" "$D/shut/$comm"
start rec "${as[@]}" "$D/vmspan" record --comm $comm -o "$D/out/name"
need_line rec '^recording ' err
own_pid='' shut_pid=''
# shellcheck disable=SC2016 # expanded there
target shut "${NOBODY[@]}" "$D/shut/$comm" -c 'echo ready; read -r line; exec "$1"' sh "$D/$comm"
# By way of another program: when its first exec is heard of, the second is over.
kill -STOP "$rec_pid"
target gone "$D/$comm"
kill -CONT "$rec_pid"
# The tracer takes what it hears in order: once it has armed this one it has looked at those.
target own "${NOBODY[@]}" "$D/$comm"
check "a name: one's own that comes later is traced" wait_armed "$own_pid"
dismiss gone
tell shut go
check "a name: what one that may not be looked into executes is traced" wait_armed "$shut_pid"
target late "$D/$comm"
tell own "spans 1013"
tell shut "spans 1021"
finish rec INT
dismiss late
dismiss own
dismiss shut
report name
json_eq "a name: whoever comes later and may not be looked into is left out" "$T/name.json" "$figures" \
	"[2034,3,false,[\"$comm$denied\",\"$comm$denied\",\"$comm$denied\"]]"
# One that nobody made wait may have gone on before its marks were on: that is said beside it.
late=
case $(jq .losses.marks_off "$T/name.json") in
[12]) late='records lost, how many is not known, ' ;;
esac
check "a name: the recording ends with how many" grep -q "INCOMPLETE: ${late}3 processes left out" "$T/rec.err"
check "a name: with who and why" grep -q "^note: $comm ([0-9]*) and 1 more process: no permission to open any" "$T/rec.err"
check "a name: with what to do" grep -q '^  -> Run vmspan as root' "$T/rec.err"

# ---- Who is over before anybody looks ----

mkdir "$D/pool" "$D/next"
cp /bin/sh "$D/next/$comm"
build "$D/pool/$comm" tests/vm/same_name.c || not_ok "build" "a program of this test does not build"
start rec "$VMSPAN" record --comm $comm -o "$D/out/over"
need_line rec '^recording ' err
kill -STOP "$rec_pid"
"$D/$comm" "spans 7"
"$D/steady" "spans 7" # not asked for
"$D/pool/$comm" # without marks
"$D/next/$comm" -c "exec $D/pool/$comm"
# It executes a program that nobody has asked for.
leap_pid=''
target leap "$D/$comm"
tell leap "spans 7" leap
until_true grep -qx sh "/proc/$leap_pid/comm"
kill -KILL "$leap_pid"
finish leap
kill -CONT "$rec_pid"
# The tracer takes what it hears in order.
target own "$D/$comm"
check "a name: behind one that was over the next is traced" wait_armed "$own_pid"
tell own "spans 1049"
finish rec INT
dismiss own
report over
json_eq "a name: who was over before it could be attached to is left out" "$T/over.json" \
	'[.spans, .left_out, ([.groups[].complete] | any), ([.processes[].notes[]? | select(.left_out) | .text] | sort)]' \
	'[1049,2,false,["it seems to have marks, and executed another program before it could be attached to","it seems to have marks, and was over before it could be attached to"]]'
check "a name: and told, with what to do" grep -q '^  -> Start such programs by vmspan record -- COMMAND' "$T/rec.err"

# ---- Children ----

# One of this script's own that is over before anybody looks.
start rec "$VMSPAN" record -p $$ --wait -o "$D/out/kid"
need_line rec '^recording ' err
kill -STOP "$rec_pid"
"$D/steady" "spans 7"
kill -CONT "$rec_pid"
finish rec INT
eq "a child that was over before it could be attached to: status" $? 4
report kid
json_eq "a child that was over before it could be attached to is left out" "$T/kid.json" \
	'[.spans, .left_out, ([.processes[].notes[]? | select(.left_out) | .text])]' \
	'[0,1,["it seems to have marks, and was over before it could be attached to"]]'

# Of a command, one that waits for nobody, since it is without the variable for it.
# shellcheck disable=SC2016 # expanded there
start rec "$VMSPAN" record -o "$D/out/bare" -- sh -c 'kill -STOP $PPID; env -i "$1" "spans 7"; echo over' sh "$D/steady"
need_line rec '^over'
kill -CONT "$rec_pid"
finish rec
report bare
json_eq "of a command, one that did not wait, and was over, is left out" "$T/bare.json" \
	'[.spans, .left_out, ([.processes[].notes[]? | select(.left_out) | .text])]' \
	'[0,1,["it seems to have marks, and was over before it could be attached to"]]'

# One that is there when the trace ends.
mkfifo "$T/rec.in"
exec {in}<>"$T/rec.in"
# shellcheck disable=SC2016 # expanded there
start rec "${as[@]}" "$D/vmspan" record -q -o "$D/out/child" -- \
	sh -c '"$1" "spans 1019"; "$2" -c "echo here; read -r line"; :' sh "$D/steady" "$D/closed"
need_line rec '^here'
finish rec INT
echo go >&"$in"
exec {in}>&-
rm "$T/rec.in"
report child
json_eq "a child that may not be looked into is left out" "$T/child.json" "$figures" "[1019,1,false,[\"closed$denied\"]]"
check "nobody is left out: it is recorded" "${as[@]}" "$D/vmspan" record -q -o "$D/out/none" -- \
	sh -c "/bin/true; $D/other 'spans 1031'"
report none
json_eq "nobody is left out: complete" "$T/none.json" "$figures" '[1031,null,true,[]]'

# ---- Code made at run time ----

build "$D/made.so" tests/vm/made_code.c -shared -fPIC || not_ok "build" "made.so"
chmod 755 "$D/made.so"
made_pid=''
target made "${NOBODY[@]}" env "MADE_AT=$D/out" "LD_PRELOAD=$D/made.so" "$D/steady"
user_with +bpf,+perfmon,+sys_ptrace
start rec "${as[@]}" "$D/vmspan" record -p "$made_pid" -o "$D/out/made"
need_line rec '^recording ' err
tell made "spans 1033"
eq "code made at run time: it is there, in files without a name" \
	"$(awk '$2 ~ /x/ && /memfd:|\/dev\/zero|made[.]code/' "/proc/$made_pid/maps" | wc -l)" 4
finish rec INT
dismiss made
report made
json_eq "code made at run time is no library that may not be opened" "$T/made.json" "$figures" '[1033,null,true,[]]'
