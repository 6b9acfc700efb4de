#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# OpenJDK as Debian builds it, attached to by PID: collections, safepoints.
# shellcheck disable=SC2154 # start_app sets app_pid
# shellcheck source=tests/stock/lib.sh
. "$(dirname "$0")/lib.sh"

JAVA=/usr/lib/jvm/java-17-openjdk-amd64/bin
if [ ! -x $JAVA/javac ]; then
	skip "OpenJDK" "no $JAVA/javac: tools/install-deps --vms"
	exit 0
fi
$JAVA/javac -d "$T" "$APPS/App.java"
start_app $JAVA/java -XX:+UseSerialGC -Xmx32m -cp "$T" App

start_record "$T/a" "$app_pid"
before=$(ask truth)
after=$(ask gc 7)
finish rec INT
report "$T/a"
json_eq "the VM is known" "$T/a.json" '[.source.method, .processes[0].vm]' '["exact","jvm"]'
json_eq "collections are as many as the VM counts" "$T/a.json" .gc.count \
	"$(($(jq .gc <<<"$after") - $(jq .gc <<<"$before")))"
json_eq "they lie in safepoints" "$T/a.json" '.events.count >= 7 and .ledger.gc_ns > 0' true
check_ledger "safepoints" "$T/a.json"
check_kill "OpenJDK" "$app_pid"
answer=$(ask gc 1)
json_eq "and answers" <(echo "$answer") '.gc > 0' true
