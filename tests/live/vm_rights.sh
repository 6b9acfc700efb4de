#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The probes of a stock VM, with the rights that docs/PERMISSIONS.md names and no other: by PID, by name, by the
# metrics; each that is missing is named. What the probes hand over is read wherever it is.
# shellcheck source=tests/attach_lib.sh
. "$(dirname "$0")/../attach_lib.sh"
# shellcheck source=tests/page_lib.sh
. "$(dirname "$0")/../page_lib.sh"
# shellcheck source=tests/user_lib.sh
. "$(dirname "$0")/../user_lib.sh"

user_or_skip "rights at a VM's probes"
user_folder "rights at a VM's probes"
D=$USER_DIR
as() { # CAPABILITIES COMMAND...: as nobody, with these and no others
	user_with "$1"
	shift
	"${as[@]}" "$@"
}
all=+bpf,+perfmon,+sys_ptrace
cp "$VMSPAN" "$D/"
mkdir "$D/out" "$D/unread"
chown 65534:65534 "$D/out"
build "$D/postgres" tests/vm/statements.c && build "$D/unread/postgres" tests/vm/statements.c -DUNREADABLE ||
	not_ok "build" "postgres"
chmod -R a+rX "$D"

server() { # NAME PROGRAM: named by its title as PostgreSQL's are
	# shellcheck disable=SC2016 # expanded there
	target "$1" bash -c 'exec -a "postgres: ann bench [local] idle" "$0"' "$2"
}
work() { # SERVER
	tell "$1" "register 1009 select 1" "memory 311 update held set x = 1" "memory 7 values (1)" \
		"register 11 values (2)"
}
# EVENTS counts each statement; the probe's text and the process's title make its name.
counted='[.groups[] | select(.name | startswith("tenant:bench ")) | [.name, .events]] | sort'
counts='[["tenant:bench SELECT",1009],["tenant:bench UPDATE",311],["tenant:bench VALUES",18]]'
records() { # NAME SERVER COMMAND ARGUMENT...
	local name=$1 server=$2 file=$D/out/a
	shift 2
	rm -f "$file"
	start rec "$@" -o "$file"
	if ! wait_line rec '^recording ' err >/dev/null; then
		not_ok "$name" "$(head -n 2 "$T/rec.err" | tr '\n' ' ')"
		finish rec
		return
	fi
	work "$server"
	finish rec INT
	"$VMSPAN" report "$file" --json >"$T/a.json"
	json_eq "$name: every statement, by its words" "$T/a.json" "$counted" "$counts"
	json_eq "$name: nothing is lost" "$T/a.json" \
		'[[.processes[].vm], ([.losses[]] | add)]' '[["postgres"],0]'
}

first_pid='' other_pid=''
server first "$D/postgres"
records "root" first "$VMSPAN" record -p "$first_pid"

user_with "$all"
user_traces_or_skip "rights at a VM's probes" "$D/vmspan"
records "three capabilities, by number" first "${as[@]}" "$D/vmspan" record -p "$first_pid"
records "three capabilities, by name" first "${as[@]}" "$D/vmspan" record --comm postgres

# ---- What is missing is named ----

miss() { # CAPABILITY RIGHTS ARGUMENT...
	local what=$1 rights=$2
	shift 2
	check_status "without $what: refused" 3 as "$rights" "$D/vmspan" record "$@" -o "$D/out/b"
	check "without $what: it is named" grep -q "$what" "$T/err"
}
miss CAP_BPF +perfmon,+sys_ptrace -p "$first_pid"
miss CAP_PERFMON +bpf,+sys_ptrace -p "$first_pid"
miss CAP_SYS_PTRACE +bpf,+perfmon -p "$first_pid"

# ---- A file beside it that may not be opened ----

build_library "$D/beside.so" && chmod 755 "$D/beside.so" || not_ok "build" "beside.so"
beside_pid=''
LD_PRELOAD=$D/beside.so server beside "$D/postgres"
rm "$D/beside.so"
user_with "$all"
records "a deleted library beside it" beside "${as[@]}" "$D/vmspan" record -p "$beside_pid"
json_eq "a deleted library beside it: nothing is complete" "$T/a.json" '[.left_out, ([.groups[].complete] | any)]' '[1,false]'
json_eq "a deleted library beside it: that it is not traced is said" "$T/a.json" \
	'[.processes[].notes[]? | .text | test("no permission to open 1 of its .*beside.so .deleted.: what is in those is not traced")]' '[true]'
dismiss beside

# ---- Metrics, with the rights of the unit that is installed ----

user_with "$all"
start unit "${as[@]}" "$D/vmspan" export-metrics --comm postgres --listen 127.0.0.1:0
address=$(page_address unit)
served() {
	have=$(page_spans "$address" "tenant:bench SELECT")
	[ "${have:-0}" -ge 1009 ] && return
	pause
	return 1
}
work first
until_true served
eq "metrics: every statement" "$have" 1009
finish unit TERM

# ---- What cannot be read ----

server other "$D/unread/postgres"
check_status "a text at an address by its name: refused" 1 "$VMSPAN" record -p "$other_pid" -o "$T/b"
check "it is named: $(head -n 1 "$T/err")" \
	grep -q 'statement__status hands over cannot be read: "8@.*said.*"' "$T/err"
check "the process lives on" tell other "memory 3 values (3)"
dismiss other
dismiss first
