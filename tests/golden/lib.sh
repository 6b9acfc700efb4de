#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The library as others use it: found by pkg-config, with its example.
# once: a build with sanitizers is not for others
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

CC=${CC:-gcc}
case ${B##*/} in
*san*) skip_rest "library" "a sanitized library is not for others" ;;
esac
export PKG_CONFIG_PATH=$B/lib
if ! command -v pkg-config >/dev/null; then
	skip_rest "library" "no pkg-config: apt-get install pkg-config"
fi
"$B/golden/make_recording" basic "$T/a.vmspan" || exit 1
read -ra flags < <(pkg-config --cflags --libs --static libvmspan)
check "the example compiles" "$CC" -std=c11 -Wall -Wextra -Werror user/lib/example/example.c -o "$T/example" "${flags[@]}" || exit 1
check_status "the example reads a recording" 0 "$T/example" "$T/a.vmspan"
"$VMSPAN" report "$T/a.vmspan" --json >"$T/report.json"
eq "its figures are the report's" "$(grep -a : "$T/out" | grep -v '^alert' | LC_ALL=C sort)" \
	"$(jq -r '.groups[] | "\(.name) \(.ticks) \(.wall_ns)"' "$T/report.json" | LC_ALL=C sort)"
check_status "no such recording" 1 "$T/example" "$T/none"
check "no such recording: words" grep -q "$T/none: No such file" "$T/err"
printf '#include <libvmspan.h>\nint main() { return !libvmspan_free; }\n' >"$T/x.cc"
check "the header is C++ too" g++ -std=c++11 -Wall -Wextra -Wpedantic -Wno-address -fsyntax-only -I "$B/lib" "$T/x.cc"
eq "nothing is visible but the interface" "$(nm -g --defined-only "$B/lib/libvmspan.a" | grep ' [A-Z] ' | grep -cv ' libvmspan_')" 0
