#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The library's example attached to the demo host: the host's own counts.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

CC=${CC:-gcc}
case ${B##*/} in
*san*) skip_rest "library" "a sanitized library is not for others" ;;
esac
command -v pkg-config >/dev/null || skip_rest "library" "no pkg-config: apt-get install pkg-config"
read -ra flags < <(PKG_CONFIG_PATH=$B/lib pkg-config --cflags --libs --static libvmspan)
sed 's|libvmspan_listen(trace|puts("attached"), fflush(stdout), &|' user/lib/example/example.c >"$T/example.c"
"$CC" "$T/example.c" -o "$T/example" "${flags[@]}" || exit 1
start_ready host "$HOST" --wait --turns 100 --expect "$T/expect.json"
start example "$T/example" "$host_pid"
check "the example attaches" wait_line example '^attached'
send host
check "the host works" wait_line host '^done'
send host quit
finish example
eq "the example ends with the process" $? 0
eq "its ticks are the host's own" \
	"$(sed -n 's/^\([a-z]*:.*\) \([0-9]*\) [0-9]*$/\1 \2/p' "$T/example.out" | LC_ALL=C sort)" \
	"$(jq -er '.groups[] | "\(.name) \(.ticks)"' "$T/expect.json" | LC_ALL=C sort)"
check "there were some" jq -e '.groups | length > 3' "$T/expect.json"
check "nothing lost" grep -q "^$(jq .events.count "$T/expect.json") events, 0 lost" "$T/example.out"
