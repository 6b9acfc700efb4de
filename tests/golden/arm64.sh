#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# once: it does not use the build folder
# The marks of aarch64, in an emulator of its programs, which knows no rseq(2): without, and with one that
# is played. The records that are made of them are those of x86-64, and a mark is there once before
# whichever of its instructions the thread is interrupted.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

for needed in aarch64-linux-gnu-gcc qemu-aarch64; do
	command -v $needed >/dev/null || skip_rest arm64 "no $needed: tools/install-deps"
done
build() { # NAME [ARGUMENTS...]
	check "$1 builds" aarch64-linux-gnu-gcc -O2 -Wall -Wextra -Werror -Iuser -I. -static "${@:2}" \
		user/source/marks.c user/base/buf.c user/base/array.c -o "$T/$1" || exit 1
}
build plain tests/golden/sdk/same_marks.c
build played -DPLAYED tests/golden/sdk/same_marks.c
build steps tests/golden/sdk/steps_arm64.c
check "version 1 builds" gcc -O2 -DOLD -I. tests/golden/sdk/same_marks.c -o "$T/old" -pthread || exit 1
for seed in 1 2 3; do
	"$T/old" $seed 20000 >"$T/old.txt"
	check "seed $seed: there are records" test "$(wc -l <"$T/old.txt")" -gt 1000
	for how in plain played; do
		qemu-aarch64 "$T/$how" $seed 20000 >"$T/new.txt"
		check "seed $seed, $how: the same" cmp "$T/old.txt" "$T/new.txt"
	done
done
check_status "interrupted before each instruction of a mark, each is there once, in order" 0 qemu-aarch64 "$T/steps"
read -r interrupted _ anew _ <"$T/out"
check "it was interrupted: $interrupted times" test "$interrupted" -ge 20000
check "most marks were begun anew: $anew" test "$anew" -ge 15000
