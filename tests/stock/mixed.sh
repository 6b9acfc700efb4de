#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# --exact of a program with vmspan.h and of CPython beside it, by their numbers and by their names: the former with the
# scheduler's record, the latter as it is traced alone.
# shellcheck disable=SC2154 # start_app and start_ready set app_pid and program_pid
# shellcheck source=tests/stock/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/steal_lib.sh
. "$(dirname "$0")/../steal_lib.sh"

PYTHON=/usr/bin/python3.11
[ -x $PYTHON ] || skip_rest "CPython" "no $PYTHON: tools/install-deps --vms"
mkdir -p "$T/app/site-packages"
for n in heavy middle light; do
	cp "$APPS/plugin.py" "$T/app/site-packages/$n.py"
done
cp "$APPS/app.py" "$T/app"
# Nothing else on the machine is called so.
own=mix$((SRANDOM % 100000))
ln -s $PYTHON "$T/$own-py"
cp "$B/vm/steady" "$T/$own-c"
start_app env PYTHONPATH="$T/app/site-packages" "$T/$own-py" "$T/app/app.py"
start_ready program "$T/$own-c"
program_does() { # TASK...
	local answers task
	answers=$(grep -c '^ok' "$T/program.out")
	for task; do send program "$task"; done
	wait_lines program '^ok' $((answers + $#))
}

# While Python works: so that the program is kept off the CPU, too.
work() {
	around=$(ask truth)
	steal_begin
	start rec "$VMSPAN" record --exact --hz 999 -o "$T/a" "$@"
	need_line rec '^recording ' err
	first=$(ask truth)
	send app "run 5"
	program_does "group mixed" "event 50" open "nap 50" close
	wait_lines app '^answer.*"before"' $((runs += 1))
	answer=$(grep '^answer.*"before"' "$T/app.out" | tail -n 1 | sed 's/^answer *//')
	last=$(ask gc 7)
	finish rec INT
	jq -sc . <<<"$around$first$last$(ask truth)" >"$T/answers"
	report "$T/a"
	cp "$T/a.json" "$T/report.json"
}
runs=0

is_right() { # NAME
	json_eq "$1: both are there, and it is said of the stock VM" "$T/a.json" \
		'[.source.migrated, .source.method, ([.processes[] | [.vm, .notes[]?.text]] | sort)]' \
		'["split","sampled",[["cpython","--exact is for programs with vmspan.h: a stock VM is traced as without it"],["sdk"]]]'
	check "$1: so does record" grep -qF -- "note: --exact is for programs with vmspan.h: stock VMs are traced as without it" "$T/rec.err"
	json_eq "$1: the program's sleep is known, and not its own" "$T/a.json" \
		'[.groups[] | select(.name == "addon:mixed") | [.spans, .events, .blocked_ns >= 5e7, .off_ns.sleeping >= 5e7]]' '[[52,2,true,true]]'
	check_shares "$1" "$T/a.json" package "$(jq .before <<<"$answer")" "$(jq .used <<<"$answer")"
	check_ledger "$1" "$T/a.json"
	json_eq "$1: collections are as many as the VM counts" "$T/a.json" .gc.count \
		"$(($(jq .gc <<<"$last") - $(jq .gc <<<"$answer")))"
	check_turns "$1: events are turns of the loop, and the program's two" "$(($(jq .events.count "$T/a.json") - 2))" turns
	json_eq "$1: no event of the stock VM lacks data, and none of the program's but for what was stolen" "$T/a.json" \
		"[([.groups[] | select(.kind == \"package\") | .incomplete] | add), .events.incomplete <= 2, $steal_explains]" '[0,true,true]'
	json_eq "$1: nothing is lost" "$T/a.json" '[.losses[]] | add' 0
	json_eq "$1: nothing that the record tells is a package's" "$T/a.json" \
		'[.groups[] | select(.kind == "package") | [.preempted_ns, ([.off_ns[]] | add)]] | unique' '[[0,0]]'
}

all_told work -p "$program_pid,$app_pid" || not_ok "by their numbers" "it did not run"
is_right "by their numbers"
all_told work --comm "$own-*" || not_ok "by their names" "it did not run"
is_right "by their names"

check_status "CPython alone: refused" 2 "$VMSPAN" record --exact -p "$app_pid" -o "$T/b"
check "CPython alone: why" grep -qF "a stock VM's events always know when they had no CPU" "$T/err"
stop_app
send program quit
finish program
eq "the program ends well" $? 0
