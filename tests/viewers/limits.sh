#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# What exports do at their limits: many spans in little memory, a disk that is
# full, a terminal that wants to know how far they are.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

# Kept in memory a span takes 80 bytes. Some 25 MB are programs and libraries.
many=large many_spans=600000 most=48000
[ -z "${VMSPAN_TEST_ALL-}" ] || many=big many_spans=3000000 most=96000
formats="firefox chrome perfetto speedscope collapsed ndjson html"
check "make a recording of $many_spans spans" "$B/golden/make_recording" "$many" "$T/many.vmspan"
check "make a small one" "$B/golden/make_recording" some "$T/some.vmspan"

for format in $formats; do
	rc=$(
		set -o pipefail
		bash -c "ulimit -v $most; exec \"\$@\"" export \
			"$VMSPAN" export "$T/many.vmspan" -q -f "$format" -o - 2>"$T/err" | cksum >"$T/limited"
		echo $?
	)
	eq "$format: $many_spans spans in $most KB: $(head -n 1 "$T/err")" "$rc" 0
	"$VMSPAN" export "$T/many.vmspan" -q -f "$format" -o - | cksum >"$T/unlimited"
	# A checksum and a number of bytes.
	same "$format: $many_spans spans in $most KB: all that it writes without a limit" "$T/limited" "$T/unlimited"
	read -r _ bytes <"$T/limited"
	check "$format: $many_spans spans in $most KB: there is something ($bytes bytes)" test "$bytes" -gt 1000
done

# A terminal is shown how far it is, in one line that goes away.
if command -v script >/dev/null; then
	"$B/golden/make_recording" big "$T/big.vmspan"
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
