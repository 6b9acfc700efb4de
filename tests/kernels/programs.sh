#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Builds what tests/live/attach.sh builds, into a folder, for guests that have no
# compiler.
#   programs.sh FOLDER
to=$(mkdir -p "$1" && cd "$1" && pwd) || exit 1
unset VMSPAN_TEST_PREBUILT
# shellcheck source=tests/attach_lib.sh
. "$(dirname "$0")/../attach_lib.sh"
build "$T/probes" tests/vm/steady.c -pthread -DVMSPAN_PROBES &&
	build "$T/hostile" tests/vm/hostile.c -pthread &&
	cp "$PROBE" "$T"/{steady,probes,hostile} "$to/"
