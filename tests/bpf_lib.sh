# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# bpftool, which knows what is in the kernel. It is needed to build, too: without it a
# test has not been made ready, and fails. Sourced behind lib.sh.

bpftool=$(PATH=$PATH:/usr/sbin:/sbin command -v bpftool)

bpftool_or_fail() { # NAME
	: >"$T/err"
	[ -n "$bpftool" ] && "$bpftool" -j prog list >"$T/progs" 2>"$T/err" &&
		jq -e 'type == "array"' "$T/progs" >/dev/null 2>>"$T/err" && return
	not_ok "$1" "bpftool does not work (tools/install-deps): ${bpftool:-not found}: $(head -n 1 "$T/err")"
	exit 1
}
