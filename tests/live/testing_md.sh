#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The script that docs/TESTING.md shows is one.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

mkdir -p "$T/tests/live"
cp tests/lib.sh "$T/tests/"
sed -n '/^```sh$/,/^```$/p' docs/TESTING.md | grep -v '^```' >"$T/tests/live/shown.sh"
case $B in
/*) from=$B ;;
*) from=$TOP/$B ;;
esac
check_status "the script of docs/TESTING.md" 0 env B="$from" bash "$T/tests/live/shown.sh"
eq "its results" "$(cat "$T/out")" "ok the recording ends well
ok every turn is an event
done"
empty "it complains of nothing" "$T/err"
