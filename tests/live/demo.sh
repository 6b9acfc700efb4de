# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# tools/demo, as the README says, without a terminal: ends by itself and
# leaves a recording, a trace and no process.
. "$(dirname "$0")/../lib.sh"

if tools/demo >"$T/demo.out" 2>&1; then
	ok "the demo ends well by itself"
else
	not_ok "the demo ends well by itself" "exit $?"
	sed 's/^/  | /' "$T/demo.out"
fi
check "it shows the slow add-on" grep -q 'addon:' "$T/demo.out"
"build/vmspan" report --json build/demo/demo.vmspan >"$T/r.json" || not_ok "report" "exit $?"
json_eq "it recorded turns of the loop" "$T/r.json" '.events.count > 50' true
json_eq "and lost nothing" "$T/r.json" '[.losses[]] | add' 0
check "the trace is JSON with events" jq -e '(.traceEvents // .) | length > 100' build/demo/demo.json
pid=$(sed -n 's/^it runs as process \([0-9]*\)$/\1/p' "$T/demo.out")
if [ -n "$pid" ] && [ ! -e "/proc/$pid" ]; then
	ok "its host has ended"
else
	not_ok "its host has ended" "process ${pid:-unknown} is still there"
fi

start demo tools/demo
wait_line demo '^it runs as process' >"$T/line" || not_ok "the demo starts" "see above"
pid=$(sed 's/[^0-9]//g' "$T/line")
finish demo TERM
eq "interrupted, it says so" "$?" 143
if [ -n "$pid" ] && [ ! -e "/proc/$pid" ]; then
	ok "and takes its host along"
else
	not_ok "and takes its host along" "process ${pid:-unknown} is still there"
	kill "$pid"
fi
