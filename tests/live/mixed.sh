#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# --exact of programs with vmspan.h and stock VMs in one trace: by their numbers, by their names, and below a command.
# The scheduler's record is about the former, and that is said; the latter are traced as without it.
# shellcheck source=tests/attach_lib.sh
. "$(dirname "$0")/../attach_lib.sh"
# shellcheck source=tests/steal_lib.sh
. "$(dirname "$0")/../steal_lib.sh"

build "$T/postgres" tests/vm/statements.c || not_ok "build" "postgres"
# Nothing else on the machine is called so.
name=mixed$((SRANDOM % 100000))
cp "$T/steady" "$T/$name"
# Named by its title as PostgreSQL's are.
title="postgres: ann bench [local] idle"

note='--exact is for programs with vmspan.h: stock VMs are traced as without it'
of_one='--exact is for programs with vmspan.h: a stock VM is traced as without it'
# What the program does: two events with 52 spans of a group, and a sleep in one of them.
marks=("group mixed" "event 50" open "nap 50" close)
statements=("register 1009 select 1" "memory 311 update held set x = 1" "memory 7 values (1)" "register 11 values (2)")
counts='[["tenant:bench SELECT",1009],["tenant:bench UPDATE",311],["tenant:bench VALUES",18]]'

begin() { # ARGUMENT...
	steal_begin
	start record "$VMSPAN" record --exact -o "$T/rec.vmspan" "$@"
	need_line record '^recording ' err
}

both_work() {
	tell program "${marks[@]}"
	tell server "${statements[@]}"
	finish record INT
	ends_well "$VMSPAN" report "$T/rec.vmspan" --json >"$T/report.json"
}

by_numbers() { begin -p "$program_pid,$server_pid" && both_work; }
by_names() { begin --comm "$name" --comm postgres && both_work; }

# Of whom the record is, and of whom not: by their groups.
is_right() { # NAME
	eq "$1: it is said once" "$(grep -cF -- "note: $note" "$T/record.err")" 1
	json_eq "$1: and of the stock VM, in the recording" "$T/report.json" \
		'[.processes[] | select(.notes) | [.vm, [.notes[] | .text, .left_out]]]' "[[\"postgres\",[\"$of_one\",null]]]"
	json_eq "$1: it is a trace with the scheduler's record" "$T/report.json" .source.migrated '"split"'
	json_eq "$1: the program's sleep is known, and not its own" "$T/report.json" \
		'[.groups[] | select(.name == "addon:mixed") | .blocked_ns >= 50000000, .off_ns.sleeping >= 50000000]' '[true,true]'
	json_eq "$1: every mark" "$T/report.json" '[.groups[] | select(.name == "addon:mixed") | .spans]' '[52]'
	json_eq "$1: every statement, by its words" "$T/report.json" \
		'[.groups[] | select(.name | startswith("tenant:")) | [.name, .events]] | sort' "$counts"
	json_eq "$1: none of them lacks data, or has what the record tells" "$T/report.json" \
		'[.groups[] | select(.name | startswith("tenant:")) | [.incomplete, .preempted_ns, ([.off_ns[]] | add)]] | unique' '[[0,0,0]]'
	json_eq "$1: all events are there, and lack nothing but for what was stolen" "$T/report.json" \
		"[.events.count, $steal_explains, ([.losses[]] | add), .left_out]" '[1340,true,0,null]'
	no_more_stolen "$1" "$(jq .repairs.stolen_ns "$T/report.json")"
}

target program "$T/$name"
target server bash -c "exec -a '$title' \"\$0\"" "$T/postgres"
all_told by_numbers || not_ok "by their numbers" "it did not run"
is_right "by their numbers"
all_told by_names || not_ok "by their names" "it did not run"
is_right "by their names"

# A stock VM alone is refused, in words; by names and groups programs may come.
check_status "alone: refused" 2 "$VMSPAN" record --exact -p "$server_pid" -o "$T/no.vmspan"
check "alone: why" grep -q -- "--exact is for programs with vmspan.h: a stock VM's events always know when they had no CPU" "$T/err"
begin --comm postgres
tell server "${statements[@]}"
finish record INT
"$VMSPAN" report "$T/rec.vmspan" --json >"$T/report.json"
eq "alone, by its name: it is said" "$(grep -cF -- "note: $note" "$T/record.err")" 1
json_eq "alone, by its name: it is traced" "$T/report.json" '[.events.count, .events.incomplete]' '[1338,0]'

# Who watches is told by the notes of processes, as of all else.
start watch "$VMSPAN" watch --exact -p "$program_pid" -p "$server_pid"
check "watch: it is said of the stock VM" wait_line watch "note: .*\\($server_pid\\): $of_one" err >/dev/null
finish watch INT
eq "watch: once" "$(grep -cF -- "$of_one" "$T/watch.err")" 1
eq "watch: and of nobody else" "$(grep -cF -- "--exact is for" "$T/watch.err")" 1

# Without --exact there is nothing to say.
start record "$VMSPAN" record -p "$program_pid,$server_pid" -o "$T/rec.vmspan"
need_line record '^recording ' err
both_work
none "without --exact: nothing is said" "$(grep -F -- --exact "$T/record.err")$(grep -F -- "$of_one" "$T/report.json")"
dismiss program
dismiss server

# What a command executes: a program, which ends, and then a stock VM, which is sent its work once it is said to be traced.
below_a_command() {
	rm -f "$T/record.in"
	make_input record
	steal_begin
	# shellcheck disable=SC2016 # expanded by the shell that is started
	start record "$VMSPAN" record --exact -o "$T/rec.vmspan" -- bash -c \
		'"$1" "${@:4}" && exec -a "$3" "$2"' bash "$T/$name" "$T/postgres" "$title" "${marks[@]}"
	open_input record
	need_line record "note: $note" err
	for line in "${statements[@]}" quit; do send record "$line"; done
	finish record || return
	ends_well "$VMSPAN" report "$T/rec.vmspan" --json >"$T/report.json"
}
all_told below_a_command || not_ok "below a command" "it did not run"
is_right "below a command"
