#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# serve, of a recording, as any client on this machine sees it: who is let in, what is told,
# and what is not. tests/viewers/html.sh has a browser look at it.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

command -v curl >/dev/null || skip_rest "serve" "no curl: tools/install-deps"
"$B/golden/make_recording" basic "$T/basic.vmspan" || exit 1

status() { # URL CURL-OPTION...: what was answered is in $T/body
	timeout "$LIMIT" curl --path-as-is -s -o "$T/body" -w '%{http_code}' "$@"
}

# ---- What is refused before anything is served ----

check_status "other hosts are not let in unasked" 2 timeout "$LIMIT" "$VMSPAN" serve "$T/basic.vmspan" --listen 0.0.0.0:0
check "other hosts: what lets them in" grep -q -- '--allow-remote' "$T/err"
check_status "nor by version 6" 2 timeout "$LIMIT" "$VMSPAN" serve "$T/basic.vmspan" --listen '[::]:0'
for address in localhost:0 127.0.0.1:65536 127.0.0.1: '[::1' 127.0.0.1:x ''; do
	check_status "no address: '$address'" 2 timeout "$LIMIT" "$VMSPAN" serve "$T/basic.vmspan" --listen "$address"
done
check_status "one of FILE and -p" 2 timeout "$LIMIT" "$VMSPAN" serve
check_status "no such recording" 1 timeout "$LIMIT" "$VMSPAN" serve "$T/none.vmspan"

# ---- Who is let in ----

start serve "$VMSPAN" serve "$T/basic.vmspan"
url=$(wait_line serve '^http://127.0.0.1:[0-9]+/[0-9a-f]{32}/$') || exit 1
base=${url%/*/} port=${url#http://127.0.0.1:}
port=${port%%/*} token=${url#"$base"/}
token=${token%/}
eq "the page" "$(status "$url")" 200
ends_well "$VMSPAN" report "$T/basic.vmspan" --html "$T/written.html" 2>"$T/err"
check "it is the page that report --html writes" cmp "$T/body" "$T/written.html"
eq "no token" "$(status "$base/")" 403
cut=$token
for ((i = 0; i < 32; i++)); do
	wrong=${token:0:i}$(tr '0-9a-f' '1-9a-f0' <<<"${token:i:1}")${token:i+1}
	[ "$(status "$base/$wrong/")" = 403 ] && [ "$(status "$base/${token:0:i}/")" = 403 ] || cut="$i digits"
done
eq "a token of which one digit is wrong, or that is cut short" "$cut" "$token"
eq "one that goes on is no page" "$(status "$base/${token}0/")" 404
eq "without a token nothing of the page is told" "$(status "$base/x/") $(grep -c addon "$T/body")" "403 0"
eq "another name" "$(status -H "Host: example.org:$port" "$url")" 403
eq "a name that ends as ours" "$(status -H "Host: localhost.example.org:$port" "$url")" 403
eq "an address of another host" "$(status -H "Host: 192.0.2.1:$port" "$url")" 403
eq "another port" "$(status -H "Host: 127.0.0.1:1" "$url")" 403
eq "no name" "$(status -H "Host:" "$url")" 403
eq "localhost" "$(status -H "Host: localhost:$port" "$url")" 200
eq "an address of this host" "$(status -H "Host: 127.0.0.2:$port" "$url")" 200
for method in POST PUT DELETE; do
	eq "only GET: $method" "$(status -X $method -d x "$url")" 405
done
eq "nothing else" "$(status "${url}etc/passwd")" 404
eq "nothing above" "$(status "${url}../../etc/passwd")" 404

# ---- What is told ----

timeout "$LIMIT" curl -si "$url" | tr -d '\r' | sed '/^$/q' >"$T/head"
while read -r header; do
	eq "header: $header" "$(grep -ixF -c -- "$header" "$T/head")" 1
done <<-'END'
	Content-Type: text/html; charset=utf-8
	Cache-Control: no-store
	Referrer-Policy: no-referrer
	X-Content-Type-Options: nosniff
	X-Frame-Options: DENY
	Cross-Origin-Resource-Policy: same-origin
END
timeout "$LIMIT" curl -sN "${url}events" >"$T/events"
eq "updates of a recording end" $? 0
eq "and say so" "$(grep -c '^event: end$' "$T/events")" 1

# More pages than may be open at a time: those of a recording end at once, so none is too many.
for ((i = 0; i < 20; i++)); do
	timeout "$LIMIT" curl -sN "${url}events" | grep -q '^event: end$' || break
done
eq "twenty pages, one after the other" $i 20
finish serve INT
eq "SIGINT ends it well" $? 0

check_status "a port that is taken" 1 env T="$T" VMSPAN="$VMSPAN" LIMIT="$LIMIT" bash -c '
	exec 3< <(exec "$VMSPAN" serve "$T/basic.vmspan") && read -r url <&3 && first=$!
	at=${url#http://} && timeout "$LIMIT" "$VMSPAN" serve "$T/basic.vmspan" --listen "${at%%/*}"
	rc=$?
	kill $first && wait $first
	exit $rc'
check "a port that is taken: what to do" grep -q 'choose another port' "$T/err"
size=$(stat -c %s "$T/basic.vmspan")
head -c $((size - 1)) "$T/basic.vmspan" >"$T/cut.vmspan"
start cut "$VMSPAN" serve "$T/cut.vmspan"
wait_line cut '^http://' >/dev/null
check "a recording that was cut: a note" grep -q "^vmspan: note: $T/cut.vmspan: " "$T/cut.err"
finish cut TERM
eq "SIGTERM ends it well" $? 0
