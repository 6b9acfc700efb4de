#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The carrier's site, whatever form the kernel gives it: hits are counted to the
# last one, the red zone below it stays the program's, and forked children live.
# shellcheck source=tests/attach_lib.sh
. "$(dirname "$0")/../attach_lib.sh"

rz_pid='' rz_in=''
ask() { # TASK: what the target answers
	echo "$1" >&"$rz_in"
	answer rz
}

# $optimized: what doctor says of this kernel.
optimized=$("$VMSPAN" doctor --json | jq -r '.checks[] | select(.id == "optimized_probes") | .detail')
target rz "$B/vm/redzone"
eq "not traced: the red zone is whole" "$(ask "hit 1000")" "whole 1000"
attach a -p "$rz_pid"
eq "traced: the red zone is whole" "$(ask "hit 1000")" "whole 1000"
eq "traced: a forked child lives, its red zone too" "$(ask "fork 1009")" "exit 0"
eq "after a child: the red zone is whole" "$(ask "hit 11")" "whole 11"
case $optimized in
good*) eq "the site has its optimized form" "$(site "$rz_pid")" "90 48 8d 64 24 80 e8" ;;
*) eq "the site has a breakpoint, no other form" "$(site "$rz_pid")" "cc 66 2e 0f 1f 84 00" ;;
esac
attach b -p "$rz_pid"
eq "a second tracer: the red zone is whole" "$(ask "hit 7")" "whole 7"
detach b
eq "a second tracer, gone: the red zone is whole" "$(ask "hit 5")" "whole 5"
detach a
eq "traced: every hit was counted" "$(counts a .read_fault)" $((1000 + 1009 + 11 + 7 + 5))
eq "a second tracer: every hit was counted" "$(counts b .read_fault)" 7
eq "traced no more: nothing but nops at the site" "$(site "$rz_pid" | cut -c 1-17)" "90 66 2e 0f 1f 84"
eq "traced no more: the red zone is whole" "$(ask "hit 1000")" "whole 1000"
eq "traced no more: forked children live" "$(ask "fork 10")" "exit 0"
attach a -p "$rz_pid"
eq "traced again: the red zone is whole" "$(ask "hit 1000")" "whole 1000"
finish a KILL
eq "tracer killed: nothing but nops at the site" "$(site "$rz_pid" | cut -c 1-17)" "90 66 2e 0f 1f 84"
eq "tracer killed: the red zone is whole" "$(ask "hit 1000")" "whole 1000"
dismiss rz

# ---- Processes that interrupt each other in the middle of the program ----

# What they hand over takes room in the ring and is not to be read: it must not
# stay there, with a reader that nobody wakes.
storm=(r1 r2 r3 r4)
pids=()
for r in "${storm[@]}"; do
	target "$r" "$B/vm/redzone"
	pid=${r}_pid
	pids+=(-p "${!pid}")
done
ring=$((1 << 20))
attach a -r $ring "${pids[@]}"
for r in "${storm[@]}"; do
	in=${r}_in
	echo "hit 100003" >&"${!in}"
done
for r in "${storm[@]}"; do
	eq "many at once ($r): the red zone is whole" "$(answer "$r")" "whole 100003"
done
detach a
eq "many at once: every hit was counted" "$(counts a '.read_fault + .ring_full')" $((4 * 100003))
# Each takes 120 bytes there: a head, a batch of no records, and what the kernel adds.
eq "many at once: the reader empties the ring" "$(counts a ".read_fault > $ring / 120")" true
for r in "${storm[@]}"; do
	dismiss "$r"
done
