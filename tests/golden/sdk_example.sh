# SPDX-License-Identifier: BSD-2-Clause
# once: it does not use the build folder
# shellcheck shell=bash
# The VM author's page: its example is the file beside it, and works.
. "$(dirname "$0")/../lib.sh"

sed -n '/^```c$/,/^```$/p' user/sdk/README.md | sed '1d;$d' >"$T/quoted.c"
same "the README quotes example.c to the letter" "$T/quoted.c" user/sdk/example.c

strict=(-O2 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror)
for cc in gcc clang; do
	check "example.c builds with $cc" "$cc" -std=c11 "${strict[@]}" user/sdk/example.c -o "$T/c-$cc" -pthread
	eq "example.c built by $cc runs" "$("$T/c-$cc" 1000)" "1000 turns, checksum b7e983c2"
done
for cc in g++ clang++; do
	check "example.cc builds with $cc" "$cc" -std=c++11 "${strict[@]}" user/sdk/example.cc -o "$T/cc-$cc" -pthread
	eq "example.cc built by $cc runs" "$("$T/cc-$cc" 1000)" "900 good, 100 bad"
done
