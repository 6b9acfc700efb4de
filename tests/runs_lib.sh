# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Has the kernel count how often BPF programs run, for as long as a program of ours holds a
# descriptor for it: nothing has to be given back, however the test ends. Sourced behind lib.sh.

# shellcheck disable=SC2034 # for those that source this
bpftool=$(command -v bpftool || echo /usr/sbin/bpftool)

# Status 1 where the kernel cannot be asked to.
count_runs() {
	cat >"$T/count.c" <<-'C'
		#include <bpf/bpf.h>
		#include <stdio.h>

		int main(void)
		{
			if (bpf_enable_stats(BPF_STATS_RUN_TIME) < 0)
				return 1;
			puts("ready ");
			fflush(stdout);
			while (getchar() != EOF)
				;
			return 0;
		}
	C
	if ! "${CC:-cc}" -o "$T/count" "$T/count.c" -lbpf -lelf -lz; then
		not_ok "count runs" "the program for it does not build"
		return 1
	fi
	start_ready counting "$T/count" 2>/dev/null
}
