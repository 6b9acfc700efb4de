#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The scripts, each with what it sources: tools/check by itself looks at each alone.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

command -v shellcheck >/dev/null || skip_rest "scripts" "no shellcheck: tools/install-deps"
tools/check sourced >"$T/out" 2>&1
eq "each with what it sources" "$(grep -A 100 'ok shell scripts' "$T/out" | sed '/^[^ ]/{1!Q}')" \
	"ok shell scripts pass shellcheck"
