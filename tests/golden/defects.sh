#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The lists of defects fit the tree.
# once: nothing of it is built
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

check "every defect fits the tree: its text is there once, its tests exist" tools/mutants --check
