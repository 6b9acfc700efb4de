#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# speedscope, in a browser, reads what -f speedscope and -f collapsed write; the
# totals that it shows for each frame are those of the trace.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/viewers/common.bash
. "$(dirname "$0")/common.bash"

need speedscope "$VIEWERS/speedscope/dist/release/index.html"
browser=$(command -v chromium) || need Chromium /usr/bin/chromium

# Opens a file in the view with a table; $T/dom is the page then.
open_file() { # FILE [SECONDS]
	local page=$VIEWERS/speedscope/dist/release/index.html
	{
		printf 'speedscope.loadFileFromBase64("%s", "' "$(basename "$1")"
		base64 -w0 "$1"
		printf '")\n'
	} >"$T/profile.js"
	rm -rf "$T/browser"
	timeout -k 5 "${2:-60}" "$browser" --headless --no-sandbox --disable-gpu --disable-quic --no-first-run \
		--disable-background-networking --disable-component-update --disable-sync \
		--user-data-dir="$T/browser" --allow-file-access-from-files --virtual-time-budget=20000 \
		--window-size=1400,4000 --dump-dom "file://$page#localProfilePath=$T/profile.js&view=sandwich" \
		>"$T/dom" 2>"$T/viewer.err"
}

title() {
	grep -o '<title>[^<]*' "$T/dom" | head -n 1 | cut -c 8-
}

# The rows of the table: total, self, name; without the percents.
rows() {
	sed 's/<script.*<\/script>//g; s/<[^>]*>/\n/g' "$T/dom" | grep . |
		sed -n '/^Symbol Name$/,$p' | sed 1d | grep -v '^ *$' | paste -d '\t' - - - |
		sed -E 's/ \((&lt;)?[0-9.]+%\)//g' | LC_ALL=C sort
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

make_recordings || not_ok "make recordings" "$?"
for name in $recordings; do
	figures "$name" && export_to "$name" speedscope "$T/$name.speedscope.json" || continue
	open_file "$T/$name.speedscope.json"
	eq "$name: loads" "$(title)" "$name.vmspan - speedscope"
done
for name in basic lossy one; do
	open_file "$T/$name.speedscope.json"
	eq "$name: totals by frame" "$(rows)" "$(totals $name 1000)"
done

export_to basic collapsed "$T/basic.collapsed.txt"
open_file "$T/basic.collapsed.txt"
eq "collapsed: loads" "$(title)" "basic.collapsed.txt - speedscope"
eq "collapsed: all time is there" "$(awk '{ s += $NF } END { print s }' "$T/basic.collapsed.txt")" \
	"$(jq .events.wall_ns "$T/basic.json")"
eq "collapsed: totals by group" "$(rows | grep -P '\t(addon|page|plugin):' | cut -f 2,3)" \
	"$(jq -r '.groups[] | select(.kind != "top") | "\(.self_ns)\t\(.name)"' "$T/basic.json" |
		sed -E ':a; s/^([0-9]+)([0-9]{3})/\1,\2/; ta' | LC_ALL=C sort)"

export_to big speedscope "$T/big.speedscope.json"
open_file "$T/big.speedscope.json" 240
eq "3 M spans: loads" "$(title)" "big.vmspan - speedscope"

# The checks above can fail: a stay that does not end is refused.
echo '{"$schema":"https://www.speedscope.app/file-format-schema.json","profiles":[{"type":"evented",
	"name":"x","unit":"none","startValue":0,"endValue":9,"events":[{"type":"O","frame":0,"at":1}]}],
	"shared":{"frames":[{"name":"a"}]}}' >"$T/open.json"
open_file "$T/open.json" 20
eq "an open stay would be seen" "$(title)" speedscope
