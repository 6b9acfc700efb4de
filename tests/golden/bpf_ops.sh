#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# once: a build with sanitizers has the same BPF programs
# Programs that kernels from 5.10 on refuse whatever they do. A compiler makes an atomic `or` of an
# addition of 0, and loops that are closed by an instruction that is no jump.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

check_status "the programs are read" 0 "$B/golden/bpf_ops" "$B/vmspan.bpf.o"
eq "those that every kernel has to load have no operation that Linux 5.10 does not know" \
	"$(grep -E '^(flush|armed|armed_multi|life_[a-z_]*) atomic' "$T/out" | grep -vc '^life_exit ')" 0
check "others do: they need a later one" grep -q '^watch_.* atomic' "$T/out"
check "and what reads the memory of those that end, from Linux 6.16 on" grep -q '^life_exit atomic' "$T/out"
eq "a jump closes each loop of any" "$(grep -c ' loop ' "$T/out")" 0
