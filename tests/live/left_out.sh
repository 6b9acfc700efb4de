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
install -m 711 /bin/true "$D/closed"
install -m 711 "$(readlink -f /bin/sh)" "$D/closed_sh"
user_with +bpf,+perfmon
user_traces_or_skip "CAP_BPF and CAP_PERFMON alone" "$D/vmspan"

report() { # NAME
	"$VMSPAN" report "$D/out/$1" --json >"$T/$1.json"
}
# Spans, how many are left out, whether any group is complete, and who is said to be, and why.
figures='[.spans, .left_out, ([.groups[].complete] | any), ([.processes[] | .name as $n | .notes[]? | select(.left_out) | $n + ": " + .text[:35]] | sort)]'
denied=": no permission to open any of its ex"

# ---- Of a name: who comes later, and lives on or has ended ----

comm=left$$
ln -s "$D/steady" "$D/$comm"
start rec "${as[@]}" "$D/vmspan" record --comm $comm -o "$D/out/name"
need_line rec '^recording ' err
own_pid=''
target own "${NOBODY[@]}" "$D/$comm"
check "a name: one's own that comes later is traced" wait_armed "$own_pid"
target gone "$D/$comm"
dismiss gone
target late "$D/$comm"
tell own "spans 1013"
finish rec INT
dismiss late
dismiss own
report name
json_eq "a name: whoever comes later and is another user's is left out" "$T/name.json" "$figures" \
	"[1013,2,false,[\"$comm$denied\",\"$comm$denied\"]]"
eq "a name: the recording ends with who, why, and what to do" \
	"$(grep -c -e 'INCOMPLETE: 2 processes left out' -e "^note: $comm .* and 1 more process: no permission" -e '^  -> Run vmspan as root' "$T/rec.err")" 3

# ---- Children, and what executes something else ----

check "a child: it is recorded" "${as[@]}" "$D/vmspan" record -q -o "$D/out/child" -- \
	sh -c "$D/closed; exec $D/steady 'spans 1019'"
report child
json_eq "a child that may not be looked into is left out" "$T/child.json" "$figures" "[1019,1,false,[\"closed$denied\"]]"
check "another program: it is recorded" "${as[@]}" "$D/vmspan" record -q -o "$D/out/exec" -- \
	sh -c "$D/closed_sh -c 'exec $D/steady \"spans 1021\"'; :"
report exec
json_eq "what it was before it executed another program is left out" "$T/exec.json" '[.spans, .left_out]' '[1021,1]'
check_status "the command itself may not be looked into" 3 "${as[@]}" "$D/vmspan" record -q -o "$D/out/closed" -- "$D/closed"
check "the command itself may not be looked into: that is why nothing was traced" \
	grep -q 'process [0-9]*: no permission to open any of its executable files' "$T/err"
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
