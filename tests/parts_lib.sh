# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # TURNS and so on are for those that source this, who start `probe`
# Helpers of the tests about parts of a running trace: part_probe, which does what it is
# told, and what the kernel counts of its BPF programs. Sourced behind attach_lib.sh.

# shellcheck source=tests/runs_lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/runs_lib.sh"
[ -x "$bpftool" ] || skip_rest "parts of a running trace" "no bpftool here: tools/install-deps"
count_runs || skip_rest "parts of a running trace" "this kernel does not count runs of BPF programs"
build "$T/part_probe" tests/live/part_probe.c ${SAN+"${SAN[@]}"} "$B/libvmspan.a" -lbpf -lelf -lz -linih -ljansson ||
	{ not_ok "build" "part_probe does not build"; exit 1; }
TURNS=1 BLOCKING=2 GC=4 SAMPLES=8

runs() { # REGEX: how often its programs ran that match
	cat "/proc/$probe_pid/fdinfo/"* 2>/dev/null | sed -n 's/^prog_id:[[:space:]]*//p' | jq -sc unique >"$T/ids"
	"$bpftool" prog list -j | jq --slurpfile ids "$T/ids" --arg re "^($1)\$" \
		'[.[] | select((.id | IN($ids[0][])) and (.name | test($re))) | .run_cnt // 0] | add // 0'
}
links() { # REGEX: of its programs: in how many links they are
	cat "/proc/$probe_pid/fdinfo/"* 2>/dev/null | sed -n 's/^link_id:[[:space:]]*//p' | jq -sc unique >"$T/links"
	"$bpftool" prog list -j >"$T/progs"
	"$bpftool" link list -j | jq --slurpfile ids "$T/links" --slurpfile progs "$T/progs" --arg re "^($1)\$" \
		'[.[] | select(.id | IN($ids[0][])) | .prog_id as $p | $progs[0][] | select(.id == $p and (.name | test($re)))] | length'
}
part() { # TASK: to the probe, and what it answers
	echo "$1" >&"$probe_in"
	answer probe
}
look() { # JQ-FILTER: of the report
	part poll >/dev/null
	part json >"$T/json"
	answer probe >/dev/null
	jq -c "$1" "$T/json"
}
sums='.ledger | (.self_ns + .gc_ns + .blocked_ns + .native_ns + .moved_ns + .stale_ns + .lost_ns == .event_wall_ns)'
