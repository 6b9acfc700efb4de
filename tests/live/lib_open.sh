#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Who uses the library hears of an event while it goes on, once, and of its end.
# shellcheck source=tests/attach_lib.sh
. "$(dirname "$0")/../attach_lib.sh"

case ${B##*/} in
*san*) skip_rest "library" "a sanitized library is not for others" ;;
esac
command -v pkg-config >/dev/null || skip_rest "library" "no pkg-config: apt-get install pkg-config"
read -ra flags < <(PKG_CONFIG_PATH=$B/lib pkg-config --cflags --libs --static libvmspan)
build "$T/looker" tests/live/looker.c "${flags[@]}"

t_pid=''
target t "$T/steady"
make_input looker
start looker "$T/looker" "$t_pid"
open_input looker
check "it attaches" wait_line looker '^attached'
tell t "open"
check "what goes on is told" wait_line looker '^open addon:first long'
tell t "close"
check "and its end" wait_line looker '^ended addon:first long'
send looker
finish looker
eq "once each" "$(grep -c '^open addon:first' "$T/looker.out") $(grep -c '^ended addon:first' "$T/looker.out")" "1 1"
dismiss t
