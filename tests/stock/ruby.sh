#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Ruby as Debian builds it, under load, attached to by PID.
# shellcheck disable=SC2154 # start_app sets app_pid
# shellcheck source=tests/stock/lib.sh
. "$(dirname "$0")/lib.sh"

RUBY=/usr/bin/ruby3.1
if [ ! -x $RUBY ]; then
	skip "Ruby" "no $RUBY: tools/install-deps --vms"
	exit 0
fi
paths=()
for n in heavy middle light; do
	mkdir -p "$T/gems/$n-1.0.0/lib"
	sed "s/NAME/${n^}/" "$APPS/plugin.rb" >"$T/gems/$n-1.0.0/lib/$n.rb"
	paths+=(-I "$T/gems/$n-1.0.0/lib")
done
start_app $RUBY "${paths[@]}" "$APPS/app.rb"

start_record "$T/a" "$app_pid" --hz 999 --duration 6s
before=$(ask truth)
ask gc 7 >"$T/gc"
finish rec
after=$(ask truth)
report "$T/a"
json_eq "it says that it sampled" "$T/a.json" '[.source.method, .processes[0].vm]' '["sampled","ruby"]'
check_shares "999 Hz" "$T/a.json" package "$(jq .used <<<"$before")" "$(jq .used <<<"$after")" 6
check_ledger "999 Hz" "$T/a.json"
json_eq "collections are as many as the VM counts" "$T/a.json" .gc.count \
	"$(($(jq .gc <"$T/gc") - $(jq .gc <<<"$before")))"
check_kill "Ruby" "$app_pid"
answer=$(ask gc 1)
json_eq "and answers" <(echo "$answer") '.gc > 0' true
