#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The page, in headless Chromium: its figures are those of report --json, and
# it can be used by mouse and keys. Pictures are left in $B/screens.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/viewers/common.bash
. "$(dirname "$0")/common.bash"

library=$VIEWERS/playwright/index.mjs
screens=$B/screens
mkdir -p "$screens"

browse() { # {CASE PAGE REPORT}...
	look_with "html $1 ${2##*/}" 600 tests/viewers/html.mjs "$library" "$chromium" "$screens" "$@"
}

pages() {
	cat >"$T/docs" <<-'END'
		# groups and where they are described
		addon:tracker = https://example.org/tracker

		page:* = https://example.org/pages
	END
	for scenario in basic lossy hostile long empty sampled; do
		check "$scenario: made" "$B/golden/make_recording" "$scenario" "$T/$scenario.vmspan" || return
		check "$scenario: export" "$VMSPAN" export "$T/$scenario.vmspan" -q -f html --docs "$T/docs" -o "$T/$scenario.html"
		ends_well "$VMSPAN" report "$T/$scenario.vmspan" --json >"$T/$scenario.json"
	done
	"$B/golden/make_large" 1 "$T/one.vmspan" >/dev/null
	check "one: report --html" "$VMSPAN" report "$T/one.vmspan" --html "$T/one.html"
	ends_well "$VMSPAN" report "$T/one.vmspan" --json >"$T/one.json"
	many_spans=600000
	[ -z "${VMSPAN_TEST_ALL-}" ] || many_spans=3000000
	"$B/golden/make_large" $many_spans "$T/large.vmspan" >"$T/large.counts"
	check "large: export" "$VMSPAN" export "$T/large.vmspan" -q -f html -o "$T/large.html"
	ends_well "$VMSPAN" report "$T/large.vmspan" --json >"$T/large.json"
	json_eq "large: spans" "$T/large.json" .spans "$(cut -d' ' -f1 "$T/large.counts")"
	size=$(stat -c %s "$T/large.html")
	echo "# the page of $many_spans spans has $size bytes"
	check "large: the page stays below 10 MB" test "$size" -lt 10000000
	head -c $(($(stat -c %s "$T/large.vmspan") * 2 / 3)) "$T/large.vmspan" >"$T/cut.vmspan"
	check "cut: export" "$VMSPAN" export "$T/cut.vmspan" -q -f html -o "$T/cut.html"
	ends_well "$VMSPAN" report "$T/cut.vmspan" --json >"$T/cut.json" 2>"$T/cut.err"
	json_eq "cut: it is known to be" "$T/cut.json" '.source.note != null' true
	check "no name stands in the markup" eval "! sed 's/<script type=\"application.json\".*//' '$T/hostile.html' | grep -q quoted"
}

# Real work makes better pictures; without root, the small recording must do.
looks() {
	local name=basic
	if [ "$(id -u)" = 0 ] && check "record real work" "$VMSPAN" record -q -o "$T/demo.vmspan" -- \
		"$HOST" --demo --processes 2 --turns 300 --expect /dev/null; then
		name=demo
		check "real work: export" "$VMSPAN" export "$T/demo.vmspan" -q -f html -o "$T/demo.html" || return
		ends_well "$VMSPAN" report "$T/demo.vmspan" --json >"$T/demo.json"
	fi
	pages+=(looks "$T/$name.html" "$T/$name.json")
}

links() {
	echo 'addon:tracker = javascript:alert(1)' >"$T/bad"
	check_status "a link that is no page is refused" 2 "$VMSPAN" export "$T/basic.vmspan" -f html --docs "$T/bad" -o "$T/no.html"
	check "and says where" grep -q 'bad:1: not a line of GROUP = URL' "$T/err"
	check "and leaves nothing behind" test ! -e "$T/no.html"
}

# Who is let in, and what is told, is asked in tests/golden/serve.sh.
status() { # URL CURL-OPTION...
	timeout "$LIMIT" curl -s -o "$T/body" -w '%{http_code}' "$@"
}

# The address that a server prints is in $url.
address() { # NAME
	url=$(wait_line "$1" '^http://') && return
	not_ok "$1: its address" "it prints none"
	return 1
}

serve_file() {
	start serve "$VMSPAN" serve "$T/basic.vmspan"
	address serve || return
	pages+=(figures "$url" "$T/basic.json")
}

# Until its page has been looked at.
serve_file_ends() {
	check_status "serve: SIGINT ends it well" 0 finish serve INT
}

# A part of a recording: the page that is served is the page that is written.
serve_range() {
	check "a recording with turns that a range cuts" "$VMSPAN" record -q -o "$T/turns.vmspan" -- \
		"$HOST" --turns 200
	start range "$VMSPAN" serve "$T/turns.vmspan" --from 100ms --to 300ms
	address range || return
	eq "serve --from --to: the page" "$(status "$url")" 200
	ends_well "$VMSPAN" report "$T/turns.vmspan" --from 100ms --to 300ms --html "$T/turns.html"
	check "serve --from --to: as report --html has it" cmp "$T/body" "$T/turns.html"
	check_status "serve --from --to: SIGINT ends it well" 0 finish range INT
}

serve_live() {
	if [ "$(id -u)" != 0 ]; then
		skip "serve -p" "needs root"
		return
	fi
	start host "$HOST" --demo --expect /dev/null
	need_line host '^ready '
	start live "$VMSPAN" serve -p "$host_pid" -i 200ms
	address live || return
	start events curl -sN "${url}events"
	check "serve -p: updates come" wait_line events '^data: .*"live":true'
	if [ -n "$chromium" ]; then
		browse live "$url" ''
	fi
	# One who asks and never reads holds nobody up, and costs no more with time.
	hostport=${url#http://} hostport=${hostport%%/*}
	exec 6<>"/dev/tcp/${hostport%:*}/${hostport#*:}"
	printf 'GET /%sevents HTTP/1.1\r\nHost: %s\r\n\r\n' "${url#http://*/}" "$hostport" >&6
	eq "serve -p: a reader that is slow holds nobody up" \
		"$(timeout "$LIMIT" curl -sN "${url}events" | grep -m 10 -c '^data: {')" 10
	check "serve -p: nor costs memory" test "$(awk '/^VmHWM/ { print $2 }' "/proc/$live_pid/status")" -lt 65536
	exec 6>&-
	kill "$host_pid"
	check "serve -p: the end is told" wait_line events '^event: end'
	eq "serve -p: the page stays" "$(status "$url")" 200
	finish live TERM
	eq "serve -p: SIGTERM ends it well" "$?" 0
}

chromium=$BROWSER
if [ -z "$chromium" ]; then
	skip "the page in a browser" "no chromium here (apt-get install chromium-headless-shell)"
elif [ ! -e "$library" ]; then
	skip "the page in a browser" "not here: tools/install-deps --viewers fetches it"
	chromium=
fi

pages
links
if [ -n "$chromium" ]; then
	pages=()
	for scenario in lossy long empty sampled one cut; do
		pages+=(figures "$T/$scenario.html" "$T/$scenario.json")
	done
	ends_well "$VMSPAN" export "$T/basic.vmspan" -q -f html -g addon:adblock -o "$T/chosen.html"
	ends_well "$VMSPAN" report "$T/basic.vmspan" --json -g addon:adblock >"$T/chosen.json"
	for scenario in hostile chosen; do
		pages+=("$scenario" "$T/$scenario.html" "$T/$scenario.json")
	done
	pages+=(use "$T/basic.html" "$T/basic.json" load "$T/large.html" "$T/large.json")
	looks
	serve_file
	browse "${pages[@]}"
	serve_file_ends
fi
if command -v curl >/dev/null; then
	[ "$(id -u)" != 0 ] || serve_range
	serve_live
else
	skip "serve" "no curl here"
fi
