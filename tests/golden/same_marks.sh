# SPDX-License-Identifier: BSD-2-Clause
# once: it does not use the build folder
# shellcheck shell=bash
# The records that the reader makes of marks are those that version 1 of the SDK makes itself,
# and those that the kernel side makes of conventional probes, of the same calls.
. "$(dirname "$0")/../lib.sh"

lib=$(dirname "$VMSPAN")/libvmspan.a
check "version 1 builds" gcc -O2 -Wall -Wextra -Werror -DOLD -I. tests/golden/sdk/same_marks.c \
	-o "$T/old" -pthread
check "version 2 builds" gcc -O2 -Wall -Wextra -Werror -Iuser -I. tests/golden/sdk/same_marks.c \
	-o "$T/new" "$lib"
check "the kernel side builds" gcc -O2 -Wall -Wextra -Werror -DDIRECT -Iuser -I. \
	-Ivmlinux/"$(uname -m)" tests/golden/sdk/same_marks.c -o "$T/direct"
for seed in 1 2 3 4 5 6 7 8; do
	"$T/old" "$seed" 20000 >"$T/old.txt"
	"$T/new" "$seed" 20000 >"$T/new.txt"
	check "seed $seed: there are records" test "$(wc -l <"$T/old.txt")" -gt 1000
	"$T/direct" "$seed" 20000 >"$T/direct.txt"
	check "seed $seed: the same" cmp "$T/old.txt" "$T/new.txt"
	check "seed $seed: the same by conventional probes" cmp "$T/old.txt" "$T/direct.txt"
done
