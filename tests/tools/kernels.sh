#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# What runs tests on other kernels, where there are none: nothing ran, and that is no pass.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

mkdir "$T/bin"
for name in apt-get apt-cache; do
	printf '#!/bin/sh\nexit 1\n' >"$T/bin/$name"
	chmod +x "$T/bin/$name"
done
check_status "no kernel can be had: a failure" 1 \
	env PATH="$T/bin:$PATH" VMSPAN_KERNELS="$T/cache" tools/kernel-matrix 6.1 9.9
check "and each is named" grep -q '^skip 9.9 - ' "$T/out"
eq "and counted" "$(tail -n 1 "$T/out" | sed 's/[0-9]* skipped/N skipped/')" "0 passed, 0 failed, N skipped"
