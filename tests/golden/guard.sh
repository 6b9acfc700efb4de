#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The hot paths do not grow unseen: instructions of fixed pieces of work, as
# callgrind counts them, those the carrier executes for a hand-over (bpfrun), and those of
# the SDK's mark and of other BPF programs as compiled, against those kept in
# tests/bench/guard.txt. More
# than 10 % above fails, and so does a piece that only one of both has. No time is measured.
#   VMSPAN_TEST_UPDATE=1 tests/golden/guard.sh   keeps the counts of now
# once: its counts are of another build
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

kept=tests/bench/guard.txt
guard=$B/bench/guard

[ -x "$guard" ] || skip_rest "guard" "$guard is not built"
command -v valgrind >/dev/null || skip_rest "guard" "no valgrind (tools/install-deps)"
build=$("$guard" build)
want=$(sed -n 's/^# build: //p' "$kept" 2>/dev/null)
if [ -z "${VMSPAN_TEST_UPDATE-}" ] && [ "$build" != "$want" ]; then
	skip_rest "guard" "the counts kept are of $want, this is $build"
fi

# Nothing of a piece that did not come to its end.
instructions() { # PIECE
	local said
	said=$(valgrind --tool=callgrind --toggle-collect=guard_work --callgrind-out-file=/dev/null \
		"$guard" "$1" 2>&1 >/dev/null) && sed -n 's/.*Collected : \([0-9]*\).*/\1/p' <<<"$said"
}

# A BPF program's instructions are 8 bytes each.
program() { # NAME
	readelf -sW "$B/vmspan.bpf.o" 2>/dev/null | awk -v name="$1" '$8 == name && $4 == "FUNC" { print $3 / 8 }'
}

# From its begin to where it returns: a mark that has to do no more. (Emulators have no rseq, so
# nobody can count what it executes.)
mark() {
	objdump -d --no-show-raw-insn "$HOST" |
		awk '/<vmspan_mark_2>:$/ { on = 1; next } on && /^ / { n++; if ($2 ~ /^ret/) { print n; exit } }'
}

counts() {
	local piece
	echo "sdk-mark-compiled $(mark)"
	for piece in $("$guard" list); do
		echo "$piece $(instructions "$piece")"
	done
	"$B/bench/bpfrun" "$B/vmspan.bpf.o" || echo "bpf-flush"
	for piece in watch_enter watch_leave sched_switch; do
		echo "bpf-$piece-compiled $(program "$piece")"
	done
}

counts >"$T/now"
if [ -n "${VMSPAN_TEST_UPDATE-}" ]; then
	{
		echo "# Instructions of fixed pieces of work: tests/golden/guard.sh says how they are"
		echo "# counted. VMSPAN_TEST_UPDATE=1 tests/golden/guard.sh keeps those of now."
		echo "# build: $build"
		cat "$T/now"
	} >"$kept"
	cat "$kept"
	not_ok "guard" "counts were kept, none was compared"
	exit 1
fi
while read -r name now; do
	was=$(awk -v name="$name" '$1 == name { print $2 }' "$kept")
	if [ "${now:-0}" = 0 ]; then
		not_ok "$name" "could not be counted"
	elif [ -z "$was" ]; then
		not_ok "$name" "no count is kept; VMSPAN_TEST_UPDATE=1 tests/golden/guard.sh keeps $now"
	elif [ $((now * 10)) -gt $((was * 11)) ]; then
		not_ok "$name" "$now instructions, $was kept: if that is wanted, VMSPAN_TEST_UPDATE=1 tests/golden/guard.sh"
	else
		ok "$name: $now instructions, $was kept"
	fi
done <"$T/now"
none "each count that is kept is counted, once" \
	"$(LC_ALL=C comm -3 <(sed '/^#/d; s/ .*//' "$kept" | LC_ALL=C sort) <(cut -d' ' -f1 "$T/now" | LC_ALL=C sort) | xargs)"
