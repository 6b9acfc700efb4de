#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# --exact on machines that lack something for it: it says what, and does the best
# it can. The machine is this one, with a file of the kernel's replaced in a mount
# namespace of the recorder's own.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/steal_lib.sh
. "$(dirname "$0")/../steal_lib.sh"

BURN=$B/vm/burn
[ -x "$BURN" ] || skip_rest "what is missing" "$BURN is not built"
unshare -m true 2>"$T/err" || skip_rest "what is missing" "no mount namespaces: $(cat "$T/err")"

# Records a run of the target; MOUNT is done before, in the recorder's namespace.
run() { # MOUNT RECORD-ARGUMENTS...
	local mount=$1
	shift
	rm -f "$T/rec.vmspan"
	steal_begin
	start_ready burn "$BURN" migrate 40 || return 1
	start record unshare -m sh -c "$mount"' && exec "$@"' sh \
		"$VMSPAN" record -p "$burn_pid" -o "$T/rec.vmspan" "$@"
	wait_line record '^recording ' err >/dev/null || return 1
	send burn
	wait_line burn '^[{]' >/dev/null || return 1
	finish record INT && finish burn || return 1
	"$VMSPAN" report "$T/rec.vmspan" --json >"$T/report.json"
}

falls_back() { # NAME REASON
	check "$1: it says what is missing" grep -q "note: --exact is not possible here: .*$2" "$T/record.err"
	check "$1: and what it does instead" grep -q "Going on without it" "$T/record.err"
	json_eq "$1: the report says so" "$T/report.json" '.source.migrated' '"discard"'
	# On one CPU nothing moves.
	json_eq "$1: moved spans are discarded and counted" "$T/report.json" \
		"(.ledger.moved_ns > 0) == ($(nproc) > 1) and .events.incomplete == 0 and .events.count == 40" true
}

if [ "$(uname -m)" = x86_64 ]; then
	# What the kernel says of its counters, and was told at its start.
	echo hpet acpi_pm >"$T/sources"
	echo "root=/dev/vda xtsc=unstable tsc=unstablex tsc=reliable ro" >"$T/found"
	echo "root=/dev/vda tsc=reliable tsc=unstable" >"$T/told"
	no_tsc="mount --bind '$T/sources' /sys/devices/system/clocksource/clocksource0/available_clocksource"
	if run "$no_tsc && mount --bind '$T/found' /proc/cmdline" --exact; then
		falls_back "an unstable counter" "found the time-stamp counter unstable"
	else
		not_ok "an unstable counter" "did not run"
	fi
fi

# The same names in another spelling are not there.
sed 's/btf_trace_sched_switch/btf_trace_sched_swatch/g' /sys/kernel/btf/vmlinux >"$T/btf"
if run "mount --bind '$T/btf' /sys/kernel/btf/vmlinux" --exact; then
	falls_back "no BTF tracepoint" "no tracepoint sched_switch"
else
	not_ok "no BTF tracepoint" "did not run"
	cat "$T/record.err"
fi

# Exact all the same: without the counter's events by the monotonic clock, and
# without the tracepoints of interrupts without peers.
all_there() { # NAME
	check "$1: nothing is said to be missing" sh -c "! grep -q 'not possible' '$T/record.err'"
	json_eq "$1: exact" "$T/report.json" '.source.migrated' '"split"'
	json_eq "$1: nothing discarded, every event complete that nothing was stolen from" "$T/report.json" \
		"[.ledger.moved_ns, .events.count, $steal_explains]" '[0,40,true]'
	no_more_stolen "$1" "$(jq .repairs.stolen_ns "$T/report.json")"
	json_eq "$1: the ledger sums" "$T/report.json" \
		'.ledger | .self_ns + .gc_ns + .blocked_ns + .native_ns + .moved_ns + .stale_ns + .lost_ns - .event_wall_ns' 0
}

if [ "$(uname -m)" = x86_64 ]; then
	if all_told run "$no_tsc && mount --bind '$T/told' /proc/cmdline" --exact; then
		all_there "a counter that the kernel was told not to try"
	else
		not_ok "a counter that the kernel was told not to try" "did not run"
		cat "$T/record.err"
	fi
	# What one CPU alone measures says nothing of where the target runs.
	if [ "$(nproc)" = 1 ]; then
		skip "such a counter, and a recorder on one CPU" "there is only one"
	elif run "$no_tsc && mount --bind '$T/told' /proc/cmdline && taskset -p -c 0 \$\$ >/dev/null" --exact; then
		falls_back "such a counter, and a recorder on one CPU" "this process may not use all of them"
	else
		not_ok "such a counter, and a recorder on one CPU" "did not run"
		cat "$T/record.err"
	fi
	doctor_says() { # TOLD
		unshare -m sh -c "$no_tsc && mount --bind '$T/$1' /proc/cmdline"' && exec "$@"' sh "$VMSPAN" doctor --json |
			jq -c '.checks[] | select(.id == "tsc") | [.result, (.detail | split(", ")[2] | split(";")[0])]'
	}
	eq "doctor: an unstable counter" "$(doctor_says found)" '["warn","not trusted by the kernel: CPUs may disagree"]'
	eq "doctor: one that was not tried" "$(doctor_says told)" \
		"[\"$(grep -q '^flags.* constant_tsc' /proc/cpuinfo && echo ok || echo warn)\",\"not used by the kernel\"]"
fi

mkdir "$T/devices"
if all_told run "mount --bind '$T/devices' /sys/bus/event_source/devices/msr" --exact; then
	all_there "no counter events"
else
	not_ok "no counter events" "did not run"
	cat "$T/record.err"
fi
sed 's/btf_trace_net_dev_queue/btf_trace_net_dev_quoue/g' /sys/kernel/btf/vmlinux >"$T/btf"
if all_told run "mount --bind '$T/btf' /sys/kernel/btf/vmlinux" --exact; then
	all_there "no tracepoint of packets"
else
	not_ok "no tracepoint of packets" "did not run"
	cat "$T/record.err"
fi
sed 's/btf_trace_hrtimer_expire_entry/btf_trace_hrtimer_expire_antry/g' /sys/kernel/btf/vmlinux >"$T/btf"
if all_told run "mount --bind '$T/btf' /sys/kernel/btf/vmlinux" --exact; then
	all_there "no tracepoint of timers"
else
	not_ok "no tracepoint of timers" "did not run"
	cat "$T/record.err"
fi
