# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Exports of recordings that are in $T. Sourced behind tests/lib.sh.

export_of() { # SCENARIO OPTION...: to standard output
	local scenario=$1
	shift
	(cd "$T" && ends_well "$TOP/$VMSPAN" export "$scenario.vmspan" -q -o - "$@")
}

# What the page shows, as JSON.
page_data() { # SCENARIO OPTION...
	export_of "$@" -f html | sed -n 's/.*<script type="application.json" id="data">\(.*\)<.script>/\1/p'
}
