# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# The page that export-metrics serves, for tests that source this behind lib.sh.

# Of what was started and says where it serves: HOST:PORT; empty if it does not.
page_address() { # NAME
	wait_line "$1" '^serving ' err | sed -n 's|^serving http://\([^,/]*\).*|\1|p'
}

page_of() { # HOST:PORT
	local line
	exec 8<>"/dev/tcp/${1%:*}/${1##*:}" || return 1
	printf 'GET /metrics HTTP/1.0\r\nHost: x\r\n\r\n' >&8
	while IFS= read -r line <&8; do
		printf '%s\n' "$line"
	done
	exec 8>&-
}

# Of the group, so far.
page_spans() { # HOST:PORT GROUP
	page_of "$1" | sed -n "s/^vmspan_group_spans_total{group=\"$2\".*} //p"
}
