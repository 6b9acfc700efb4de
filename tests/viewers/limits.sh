#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# What exports do at their limits: 3 M spans in little memory, a disk that is
# full, a terminal that wants to know how far they are.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

formats="firefox chrome perfetto speedscope collapsed ndjson html"
check "make a recording of 3 M spans" "$B/golden/make_recording" big "$T/big.vmspan"
check "make a small one" "$B/golden/make_recording" some "$T/some.vmspan"

# Kept in memory it would be 240 MB. Of the 96 MB some 25 are programs and libraries.
for format in $formats; do
	rc=$(
		set -o pipefail
		bash -c "ulimit -v 96000; exec \"\$@\"" export \
			"$VMSPAN" export "$T/big.vmspan" -q -f "$format" -o - 2>"$T/err" | cksum >"$T/limited"
		echo $?
	)
	eq "$format: 3 M spans in 96 MB: $(head -n 1 "$T/err")" "$rc" 0
	"$VMSPAN" export "$T/big.vmspan" -q -f "$format" -o - | cksum >"$T/unlimited"
	# A checksum and a number of bytes.
	same "$format: 3 M spans in 96 MB: all that it writes without a limit" "$T/limited" "$T/unlimited"
	read -r _ bytes <"$T/limited"
	check "$format: 3 M spans in 96 MB: there is something ($bytes bytes)" test "$bytes" -gt 1000
done

# A terminal is shown how far it is, in one line that goes away.
if command -v script >/dev/null; then
	check_status "progress: ends well" 0 script -qec "$VMSPAN export $T/big.vmspan -f ndjson -o $T/shown" /dev/null
	eq "progress on a terminal" "$(grep -c 'records read' "$T/out")" 1
	eq "it is wiped" "$(tr -d '\r' <"$T/out" | tail -n 1 | sed 's/.*\x1b\[K//')" "wrote $T/shown"
	rm "$T/shown"
else
	skip "progress" "no script(1) here"
fi

# A full disk: the error says so, the file of that name stays as it was, and
# nothing else is there.
mkdir "$T/full"
if [ "$(id -u)" = 0 ] && mount -t tmpfs -o size=256k none "$T/full" 2>/dev/null; then
	for format in $formats; do
		echo old >"$T/full/out"
		check_status "$format: a full disk is an error" 1 \
			"$VMSPAN" export "$T/some.vmspan" -q -f "$format" -o "$T/full/out"
		eq "$format: and says so" "$(grep -c 'No space left on device' "$T/err")" 1
		eq "$format: what was there stays" "$(cat "$T/full/out")" old
		eq "$format: nothing is left behind" "$(ls -A "$T/full")" out
	done
	umount "$T/full"
else
	skip "a full disk" "no tmpfs can be mounted here"
fi
