#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# What nobody has asked for is not there: which BPF programs a trace loads, and
# how often they run.
# shellcheck disable=SC2154 # start sets NAME_pid
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/runs_lib.sh
. "$(dirname "$0")/../runs_lib.sh"
[ -x "$bpftool" ] || skip_rest "parts" "no bpftool here: tools/install-deps"

start_ready target "$B/vm/steady"

of() { # NAME: the numbers of the programs that background command holds, as JSON
	local pid="${1}_pid"
	cat "/proc/${!pid}/fdinfo/"* 2>/dev/null | sed -n 's/^prog_id:[[:space:]]*//p' | jq -sc 'unique'
}
programs() { # NAME: of that background command, in a line
	"$bpftool" prog list -j | jq -r --argjson ids "$(of "$1")" \
		'[.[] | select(.id | IN($ids[])).name] | sort | unique | join(" ")'
}
runs() { # NAME: program=count, in a line; programs that never ran are not there
	"$bpftool" prog list -j | jq -r --argjson ids "$(of "$1")" \
		'[.[] | select((.id | IN($ids[])) and (.run_cnt // 0) > 0) | "\(.name)=\(.run_cnt)"] | sort | join(" ")'
}
watching() { # NAME OPTION...: attached
	local name=$1
	shift
	start "$name" "$VMSPAN" watch -p "$target_pid" "$@"
	wait_line "$name" '^watching ' err >/dev/null || not_ok "watch ($name)" "it does not begin"
}

watching plain
have=$(programs plain)
# Not every kernel has what these two need.
base=${have/ armed_multi/}
eq "batches: the carrier, and births and deaths" "${base/ tail_exec/}" "armed flush life_exec life_exit life_fork life_loaded"
finish plain INT
eq "batches: ^C ends the watch well" $? 0
watching alone --no-children
eq "without children nobody looks at forks" "$(programs alone)" "${have/life_fork /}"
finish alone INT
eq "without children: ^C ends the watch well" $? 0
watching exact --exact
for p in sched_switch sched_waking sched_born net_dev_queue netif_receive_skb; do
	check "--exact: $p" grep -qw "$p" <(programs exact)
done
none "--exact: nothing of stock VMs, no conventional probes" \
	"$(programs exact | tr ' ' '\n' | grep -E '^(walk|loop|vm|watch)_')"
finish exact INT
eq "--exact: ^C ends the watch well" $? 0

# How often: by the kernel's own count.
if count_runs; then
	watching counted --no-children
	check "the programs are there to be counted" test -n "$(programs counted)"
	none "an idle target runs no program" "$(runs counted | tr ' ' '\n' | grep -vE '^(life|tail)_')"
	send target "event 1000"
	need_line target '^ok'
	# 1,024 marks a ring: those of 1000 spans and an event.
	eq "a hand-over is one run of one program" "$(runs counted | tr ' ' '\n' | grep -vE '^(life|tail)_')" "flush=3"
	finish counted INT
	eq "counted: ^C ends the watch well" $? 0
else
	skip "how often they run" "this kernel does not count runs of BPF programs"
fi

send target quit
finish target
eq "the target ends well" $? 0
