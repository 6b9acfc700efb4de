#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# How quiet a machine was that measured: by a made /proc.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

QUIET=$B/bench/quiet
[ -x "$QUIET" ] || skip_rest "quiet" "$QUIET is not built"
hz=$(getconf CLK_TCK)

# Its figures are hundredths of a second.
P=$T/proc
machine() { # UPTIME USED STOLEN: two CPUs
	mkdir -p "$P"
	awk -v s="$1" 'BEGIN { printf "%.2f 1.00\n", s / 100 }' >"$P/uptime"
	awk -v u="$2" -v s="$3" -v hz="$hz" 'BEGIN {
		f = hz / 100
		printf "cpu  %d 0 0 999 99 0 0 %d 77 0\ncpu0 %d 0 0 0 0 0 0 0\ncpu1 0 0 0 0 0 0 0 0\nintr 5\n", u * f, s * f, u * f }' >"$P/stat"
}
process() { # PID PARENT USER SYSTEM WAITED-USER WAITED-SYSTEM [NAME]
	mkdir -p "$P/$1"
	awk -v pid="$1" -v parent="$2" -v f=$((hz / 100)) -v u="$3" -v s="$4" -v wu="$5" -v ws="$6" -v name="${7-sh}" 'BEGIN {
		printf "%d (%s) S %d 1 1 0 -1 4194304 7 8 9 10 %d %d %d %d 20 0 1 0 5 1 1\n",
			pid, name, parent, u * f, s * f, wu * f, ws * f }' >"$P/$1/stat"
}

machine 10000 5000 10
process 1 0 100 100 0 0
process 500 1 10 5 20 5 # the script: 40
process 501 500 7 3 0 0 # 10
process 400 501 30 0 0 0 'a) R 1 (' # below it, with a smaller number and a hostile name: 30
process 600 1 999 999 0 0 # another's
mkdir "$P/700" # one that has ended meanwhile
reading=$("$QUIET" "$P" 500)
eq "a reading: uptime, used, stolen, and ours" "$reading" \
	"100000000000 $((5000 * hz / 100)) $((10 * hz / 100)) $((80 * hz / 100))"
since() {
	"$QUIET" "$P" 500 "$reading"
}
# 10 s of two CPUs: 20 s. Used 10 s, of which 9.2 ours.
machine 11000 6000 10
process 400 501 800 100 0 0 # 870 more
process 500 1 10 5 60 15 # 50 more
eq "0.8 of 20 s by others, nothing stolen: quiet" "$(since)" \
	'{"ns":10000000000,"stolen_ppm":0,"others_ppm":40000,"quiet":true}'
machine 11000 6020 10
eq "1 of 20 s is not" "$(since)" '{"ns":10000000000,"stolen_ppm":0,"others_ppm":50000,"quiet":false}'
machine 11000 5920 19
eq "less than a hundredth of what was wanted was stolen" "$(since)" \
	'{"ns":10000000000,"stolen_ppm":9688,"others_ppm":0,"quiet":true}'
machine 11000 5990 22
eq "a hundredth, and it is certain" "$(since)" '{"ns":10000000000,"stolen_ppm":11976,"others_ppm":35000,"quiet":false}'
machine 11000 5920 20
eq "a hundredth, by a tick that may have been full before" "$(since | jq .quiet)" true
machine 11000 5910 10
eq "ticks that others have less than nothing of" "$(since)" '{"ns":10000000000,"stolen_ppm":0,"others_ppm":0,"quiet":true}'
machine 11000 4999 10
eq "a count that has gone back: not known" "$(since)" null
machine 11000 6000 9
eq "stolen time that has gone back: not known" "$(since)" null
machine 10000 6000 10
eq "no time has passed: not known" "$(since)" null
machine 11000 6000 10
process 400 501 0 0 0 0
process 500 1 0 0 0 0
eq "time of ours that is gone: not known" "$(since)" null
check_status "no reading" 2 "$QUIET" "$P" 500 "1 2"
echo "cpu " >"$P/stat"
check_status "no such file" 1 "$QUIET" "$P" 500
reading=$("$QUIET" /proc $$)
figure() {
	"$QUIET" /proc $$ "$reading" >"$T/figure" && jq -e '.others_ppm >= 0 and .stolen_ppm >= 0 and .ns > 0' "$T/figure"
}
check "this machine: a figure, once its clock has moved" until_true figure
