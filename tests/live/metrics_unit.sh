#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The systemd unit's command, as a user of its own with exactly the unit's
# capabilities: it finds its processes by name, now and later, and serves them.
# shellcheck disable=SC2154 # start sets NAME_pid
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/page_lib.sh
. "$(dirname "$0")/../page_lib.sh"

command -v setpriv >/dev/null || skip_rest "the unit" "no setpriv: apt-get install util-linux"
unit=tools/systemd/vmspan-metrics@.service.in
setting() { # KEY
	sed -n "s/^$1=//p" "$unit"
}
eq "the unit has no more than it may inherit" "$(setting AmbientCapabilities)" "$(setting CapabilityBoundingSet)"
caps=-all
for c in $(setting AmbientCapabilities); do
	c=${c#CAP_}
	caps=$caps,+${c,,}
done

# What a user of its own may read and run.
chmod 755 "$T"
install -m 755 "$VMSPAN" "$T/vmspan"
install -m 755 "$B/vm/steady" "$T/unit-target"
start_ready first "$T/unit-target"
read -ra words < <(setting ExecStart | sed "s|@bindir@|$T|; s|%I|unit-target|; s|\${VMSPAN_LISTEN}|127.0.0.1:0|; s|\$VMSPAN_OPTIONS||")
start unit setpriv --reuid 65534 --regid 65534 --clear-groups --no-new-privs \
	--inh-caps "$caps" --ambient-caps "$caps" --bounding-set "$caps" "${words[@]}"
if ! address=$(page_address unit) || [ -z "$address" ]; then
	# Before Linux 6.6 there are no probes without CAP_SYS_ADMIN.
	if grep -qE '(before Linux 6.6|takes CAP_SYS_ADMIN)' "$T/unit.err"; then
		skip_rest "the unit's command" "this kernel needs CAP_SYS_ADMIN"
	fi
	not_ok "the unit's command starts" "$(tr '\n' ' ' <"$T/unit.err")"
	exit 1
fi
ok "the unit's command starts"
eq "it runs as a user of its own" "$(sed -n 's/^Uid:[[:space:]]*\([0-9]*\).*/\1/p' "/proc/$unit_pid/status")" 65534
eq "it has those capabilities and no other" \
	"$(sed -n 's/^CapEff:[[:space:]]*//p' "/proc/$unit_pid/status")" \
	"$(sed -n 's/^CapBnd:[[:space:]]*//p' "/proc/$unit_pid/status")"

spans() { # of the group, so far; $have
	have=$(page_spans "$address" "addon:first")
}
is_measured() {
	spans
	[ "$have" = 1009 ]
}
send first "event 1009"
until_true is_measured
eq "processes of another user are measured" "$have" 1009
start_ready later "$T/unit-target"
# Whole events, as many as there were since it was found.
is_found() {
	send later "event 31"
	spans
	[ "${have:-0}" != 1009 ]
}
until_true is_found
check "one that is started later is found by its name" test "${have:-0}" -gt 1009
eq "and measured in whole events" $(((have - 1009) % 31)) 0
finish unit INT
eq "it ends as systemd ends it" $? 0
