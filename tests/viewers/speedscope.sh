#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# speedscope, in a browser, reads what -f speedscope and -f collapsed write; the
# totals that it shows for each frame are those of the trace.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/viewers/common.bash
. "$(dirname "$0")/common.bash"

speedscope=$VIEWERS/speedscope/dist/release/index.html
library=$VIEWERS/playwright/index.mjs
need speedscope "$speedscope"
need "a browser's driver" "$library" "$NODE"
need Chromium "${BROWSER:-/usr/bin/chromium-headless-shell}"

# Notes what the table must show, see speedscope.mjs: rows are lines of tabs on stdin.
expect_rows() { # NAME FILE TITLE [FRAMES]
	jq -Rn --arg name "$1" --arg file "$2" --arg title "$3" --arg frames "${4-}" '{name: $name,
		file: $file, title: $title, rows: [inputs | split("\t")]} + if $frames == "" then {} else {frames: $frames} end' -c >>"$T/checks"
}

expect_title() { # NAME FILE TITLE
	jq -cn --arg name "$1" --arg file "$2" --arg title "$3" \
		'{name: $name, file: $file} + if $title == "" then {} else {title: $title} end' >>"$T/checks"
}

# Times as speedscope writes them.
# shellcheck disable=SC2016
times='function t(ns) {
		if (ns >= 1e9) return sprintf("%.2fs", ns / 1e9)
		if (ns >= 1e6) return sprintf("%.2fms", ns / 1e6)
		return ns >= 1e3 ? sprintf("%.2fµs", ns / 1e3) : sprintf("%.2fns", ns)
	}
	BEGIN { FS = OFS = "\t" } { print t($1), t($2), $3 }'

# Of the first thread shown: frames are told apart by kind, group and name.
totals() { # NAME PID
	jq -sr --argjson pid "$2" '[.[] | select(.pid == $pid and .duration_ns != null and .implicit != true)
		| {k: [.type, (.group // ""), (.name // .label)], name: (if (.name // .label) == ""
		then {gc: "collection", block: "blocking call"}[.type] // .type else .name // .label end),
		total: .duration_ns, self: (if .type == "event" then .native_ns + .lost_ns else .self_ns end)}]
		| group_by(.k)[] | "\(map(.total) | add)\t\(map(.self) | add)\t\(.[0].name)"' "$T/$1.ndjson" |
		awk "$times" | LC_ALL=C sort
}

with_totals="basic lossy one" # what is loaded there need not be loaded besides
make_recordings || not_ok "make recordings" "$?"
for name in $recordings; do
	figures "$name" && export_to "$name" speedscope "$T/$name.speedscope.json" || continue
	[[ " $with_totals " == *" $name "* ]] ||
		expect_title "$name: loads" "$T/$name.speedscope.json" "$name.vmspan - speedscope"
done
for name in $with_totals; do
	[[ " $recordings " == *" $name "* ]] || continue
	totals "$name" 1000 >"$T/totals"
	check "$name: there are totals" test -s "$T/totals"
	expect_rows "$name: loads, and totals by frame" "$T/$name.speedscope.json" "$name.vmspan - speedscope" \
		<"$T/totals"
done

export_to basic collapsed "$T/basic.collapsed.txt"
eq "collapsed: all time is there" "$(awk '{ s += $NF } END { print s }' "$T/basic.collapsed.txt")" \
	"$(jq .events.wall_ns "$T/basic.json")"
expect_rows "collapsed: totals by group" "$T/basic.collapsed.txt" "basic.collapsed.txt - speedscope" \
	'^(addon|page|plugin):' < <(
	jq -r '.groups[] | select(.kind != "top") | "\(.self_ns)\t\(.name)"' "$T/basic.json" |
		sed -E ':a; s/^([0-9]+)([0-9]{3})/\1,\2/; ta')

# Of 3 M it can take minutes of CPU time, by itself.
[ "$many_spans" -lt 3000000 ] || many=large many_spans=600000
"$B/golden/make_recording" "$many" "$T/many.vmspan"
export_to many speedscope "$T/many.speedscope.json"
expect_title "$many_spans spans: loads" "$T/many.speedscope.json" "many.vmspan - speedscope"

# The checks above can fail: a stay that does not end is refused.
echo '{"$schema":"https://www.speedscope.app/file-format-schema.json","profiles":[{"type":"evented",
	"name":"x","unit":"none","startValue":0,"endValue":9,"events":[{"type":"O","frame":0,"at":1}]}],
	"shared":{"frames":[{"name":"a"}]}}' >"$T/open.json"
expect_title "an open stay would be seen" "$T/open.json" ""

look_with speedscope 1200 tests/viewers/speedscope.mjs "$library" "$BROWSER" "$speedscope" "$T" <"$T/checks"
eq "every profile was looked at" "$(grep -c '^\(not \)\?ok' "$T/look.out")" "$(wc -l <"$T/checks")"
