#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# What is tested in a guest: the live tests that do not measure time. Their lines
# go to the console, where tools/kernel-matrix reads them.
cd "$(dirname "$0")/../.." || exit 1
export B=build VMSPAN_TEST_PREBUILT=$PWD/build/prebuilt VMSPAN_TEST_LIMIT=300 # emulated
for t in kernels/machine kernels/host kernels/stock live/carrier live/attach; do
	began=$SECONDS
	bash "tests/$t.sh" >/tmp/said || echo "not ok $t - exit status $?"
	cat /tmp/said
	[ "$(tail -n 1 /tmp/said)" = "done" ] || echo "not ok $t - did not come to its last line"
	echo "kernel-matrix: $t took $((SECONDS - began)) s"
done
