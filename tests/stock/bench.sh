#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The bench of stock VMs comes to its end, with a figure for each VM: in windows so short that
# they say nothing.
# shellcheck source=tests/stock/lib.sh
. "$(dirname "$0")/lib.sh"

for program in /usr/bin/python3.11 /usr/bin/php8.2 /usr/bin/ruby3.1 /usr/lib/jvm/java-17-openjdk-amd64/bin/javac; do
	[ -x $program ] || skip_rest "the bench of stock VMs" "no $program: tools/install-deps --vms"
done
[ -x "$B/bench/quiet" ] || skip_rest "the bench of stock VMs" "no $B/bench/quiet: make tests"

check_status "it comes to its end" 0 env OUT="$T/vms.json" SECONDS_EACH=1 TIMES=1 bash tests/bench/vms.sh accuracy price
eq "and complains of nothing" "$(cat "$T/err" && echo -)" -
json_eq "shares of four VMs, at two rates" "$T/vms.json" \
	'[.accuracy[] | select(.points >= 0 and .samples > 0) | [.vm, .hz]]' \
	'[["CPython",99],["CPython",999],["PHP",99],["PHP",999],["Ruby",99],["Ruby",999],["OpenJDK",99],["OpenJDK",999]]'
json_eq "what exact calls cost three, and what was told" "$T/vms.json" \
	'[.price[] | select(.measured > 0 and .told > 1 and .bare_ns > 0) | .vm]' '["CPython","PHP","Ruby, methods in C"]'
json_eq "how quiet it was, by part" "$T/vms.json" '.quiet | map_values(.ns > 0)' '{"accuracy":true,"price":true}'
