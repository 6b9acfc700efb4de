#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# export-metrics: the page itself, and a real Prometheus that scrapes it while
# the demo host works. Its sums must be the host's own counts.
# shellcheck disable=SC2154 # start sets NAME_pid
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

get() { # HOST PORT PATH [HEADER]: the body; the head to $T/head
	local line
	exec 8<>"/dev/tcp/$1/$2" || return 1
	printf 'GET %s HTTP/1.0\r\nHost: %s\r\n%s\r\n' "$3" "$1" "${4:+Accept: $4$'\r\n'}" >&8
	: >"$T/head"
	while IFS= read -r line <&8 && [ "$line" != $'\r' ]; do
		printf '%s\n' "${line%$'\r'}" >>"$T/head"
	done
	cat <&8
	exec 8>&-
}

said() { # NAME WORDS
	if grep -qF -- "$2" "$T/err"; then
		ok "$1"
	else
		not_ok "$1" "'$2' is not in: $(tr '\n' ' ' <"$T/err")"
	fi
}

# Reads the page or a query again until it is as wanted, below the limit.
until_eq() { # NAME EXPECTED COMMAND...
	local name=$1 want=$2 got=''
	shift 2
	until_true is_now "$want" "$@"
	eq "$name" "$got" "$want"
}
is_now() { # EXPECTED COMMAND...
	got=$("${@:2}" 2>/dev/null)
	[ "$got" != "$1" ] || return 0
	pause # the next scrape is a second away
	return 1
}
# Two tracers count the same; times each measures by a line of its own from the counter to the
# clock, through its own readings of both. A reading that is off by 25 us is off by so much.
until_near() { # NAME EXPECTED COMMAND...: to a ten-thousandth
	local name=$1 want=$2 got=''
	shift 2
	until_true is_near "$want" "$@"
	eq "$name" "$(near "$got" "$want" && echo near || echo "$got")" near
}
near() { # A B
	awk -v a="$1" -v b="$2" 'BEGIN { exit !(a > 0 && a - b <= b / 10000 && b - a <= b / 10000) }'
}
is_near() { # EXPECTED COMMAND...
	got=$("${@:2}" 2>/dev/null)
	! near "$got" "$1" || return 0
	pause
	return 1
}

start_ready host "$HOST" --wait --turns 300 --processes 2 --hostile --expect "$T/expect.json"
start metrics "$VMSPAN" export-metrics -p "$host_pid" --listen 127.0.0.1:0
# Beside it, what `report` will be asked about.
start record "$VMSPAN" record -p "$host_pid" -o "$T/host.vmspan"
check "a recording beside it" wait_line record '^recording ' err
port=$(wait_line metrics '^serving ' err | sed 's|.*127.0.0.1:\([0-9]*\)/.*|\1|')

check_status "the port is taken" 1 "$VMSPAN" export-metrics -p "$host_pid" --listen "127.0.0.1:$port"
said "the port is taken: words" "cannot listen on 127.0.0.1:$port: Address already in use"
check_status "no address" 2 "$VMSPAN" export-metrics -p "$host_pid" --listen nowhere:1
get 127.0.0.1 "$port" /other >"$T/out"
check "another path is not there" grep -q '^HTTP/1.[01] 404' "$T/head"
get 127.0.0.1 "$port" /metrics >"$T/empty"
check "the page's type" grep -qi '^Content-Type: application/openmetrics-text; version=1.0.0' "$T/head"
# Who gets which form: text is what nobody has to ask for.
family='application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily'
while read -r want accept; do
	get 127.0.0.1 "$port" /metrics "$accept" >/dev/null
	eq "Accept: $accept" "$(sed -n 's/^Content-Type: application\/\([a-z.-]*\).*/\1/p' "$T/head")" "$want"
done <<END
vnd.google.protobuf $family;encoding=delimited
vnd.google.protobuf $family; encoding=delimited; q=0.6, application/openmetrics-text;version=1.0.0;q=0.5
openmetrics-text $family;encoding=delimited;q=0.4,application/openmetrics-text;version=1.0.0;q=0.5
openmetrics-text $family;encoding=text
openmetrics-text application/vnd.google.protobuf
openmetrics-text $family;encoding=delimited;q=0
openmetrics-text text/html, */*;q=0.1
openmetrics-text ;;;,,q=9;application/vnd.google.protobuf
END
eq "the page ends as the format wants" "$(tail -n 1 "$T/empty")" "# EOF"
get 127.0.0.1 "$port" /metrics "text/plain;version=0.0.4" >"$T/plain"
check "the text from before OpenMetrics" grep -qi '^Content-Type: text/plain; version=0.0.4' "$T/head"
eq "has no end of its own" "$(grep -c '^# EOF' "$T/plain")" 0
check "and says of a counter what it is, by its whole name" grep -qx '# TYPE vmspan_events_total counter' "$T/plain"

# A client that asks for much and never reads holds nobody up.
exec 9<>"/dev/tcp/127.0.0.1/$port"
trap '' PIPE # it may be thrown out
for _ in $(seq 50); do
	printf 'GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n' >&9 || break
done 2>/dev/null

prometheus_port=
if prometheus=$("$TOP/tools/install-prometheus" --find); then
	cat >"$T/prometheus.yml" <<END
global: { scrape_interval: 1s }
scrape_configs:
  - job_name: vmspan
    static_configs: [ { targets: [ "127.0.0.1:$port" ] } ]
END
	# Beside it one that takes native histograms, and so the other form. Both say which
	# port the kernel gave them.
	start native "$prometheus" --config.file="$T/prometheus.yml" --storage.tsdb.path="$T/tsdb.native" \
		--web.listen-address=127.0.0.1:0 --enable-feature=native-histograms
	start prometheus "$prometheus" --config.file="$T/prometheus.yml" --storage.tsdb.path="$T/tsdb" \
		--web.listen-address=127.0.0.1:0
	port_of() { # NAME
		wait_line "$1" 'Listening on.*address=127.0.0.1:' err | sed 's/.*address=127.0.0.1:\([0-9]*\).*/\1/'
	}
	prometheus_port=$(port_of prometheus) native_port=$(port_of native)
fi

send host
check "the host works" wait_line host '^done'

# The names as the page writes them, from the host's own book.
want() { # FIELD: "name value" a group
	jq -r ".groups[] | [.name, .$1] | @tsv" "$T/expect.json" | LC_ALL=C sort
}
page() { # METRIC
	get 127.0.0.1 "$port" /metrics | sed -n "s/^vmspan_$1{group=\"\(.*\)\",kind=\"[a-z]*\"} /\1\t/p" |
		sed 's/\\"/"/g' | LC_ALL=C sort
}
sum() { awk -F'\t' '{ s += $NF } END { print s + 0 }'; }

for field in ticks events spans; do
	until_eq "the page: $field of all groups" "$(want $field | sum)" \
		bash -c "$(declare -f get page sum); T=$T port=$port; page group_${field}_total | sum"
done
get 127.0.0.1 "$port" /metrics >"$T/page"
want ticks | grep -a '^addon:tracker' >"$T/want"
page group_ticks_total | grep -a '^addon:tracker' >"$T/have"
check "the page has such an add-on" test -s "$T/want"
same "the page: an add-on's ticks" "$T/have" "$T/want"
check "the page: there were collections" jq -e '.gc.count > 0' "$T/expect.json"
eq "the page: collections" "$(sed -n 's/^vmspan_collections_total //p' "$T/page")" "$(jq .gc.count "$T/expect.json")"
eq "the page: nothing lost" "$(sed -n 's/^vmspan_lost_records_total{.*} //p' "$T/page" | sort -u)" 0
eq "the page: no line of the target's making" "$(grep -acvE '^(# (TYPE|UNIT|HELP|EOF)|vmspan_[a-z_]+(\{[^}]*\}|\{.*\})? [0-9.]+$)' "$T/page")" 0
check "the page: the ledger has time in it" grep -qE '^vmspan_ledger_seconds_total\{.*\} .*[1-9]' "$T/page"
check "the page: there are histograms" grep -qE '^vmspan_group_event_seconds_count\{.*\} [1-9]' "$T/page"
eq "the page: the ledger is the events' time" \
	"$(sed -n 's/^vmspan_ledger_seconds_total{.*} //p' "$T/page" | awk '{ split($1, p, "."); s += p[1]; n += p[2] } END { print s + int(n / 1e9), n % 1e9 }')" \
	"$(sed -n 's/^vmspan_event_wall_seconds_total //p' "$T/page" | awk '{ split($1, p, "."); print p[1] + 0, p[2] + 0 }')"
eq "the page: a histogram's last bucket is its count" \
	"$(sed -n 's/^vmspan_group_event_seconds_bucket{.*le="+Inf"} //p' "$T/page" | sum)" \
	"$(sed -n 's/^vmspan_group_event_seconds_count{.*} //p' "$T/page" | sum)"

# Twenty more of them, now that the page is long: what they leave unread is not kept for them.
resident() { awk '/^VmRSS/ { print $2 }' "/proc/$metrics_pid/status"; }
before=$(resident) greedy=()
for _ in $(seq 20); do
	exec {fd}<>"/dev/tcp/127.0.0.1/$port"
	greedy+=("$fd")
	for _ in $(seq 200); do
		printf 'GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n' >&"$fd" || break
	done 2>/dev/null
done
# Twenty answers may wait to be taken; none of those that were is kept.
eq "clients that never read: another gets the page" "$(for _ in $(seq 200); do
	get 127.0.0.1 "$port" /metrics | tail -n 1
done | sort | uniq -c | xargs)" "200 # EOF"
case $B in
*san*) skip "clients that never read: memory" "a sanitized build keeps what is freed" ;;
*) check "clients that never read: memory ($before kB, then $(resident) kB)" test "$(resident)" -lt $((before + 2048)) ;;
esac
for fd in "${greedy[@]}"; do
	exec {fd}>&-
done

query() { # EXPRESSION: the value
	get 127.0.0.1 "$prometheus_port" "/api/v1/query?query=$1" | jq -r '.data.result[0].value[1]'
}
if [ -n "$prometheus_port" ]; then
	for field in ticks events spans; do
		until_eq "Prometheus: sum of $field" "$(want $field | sum)" query "sum(vmspan_group_${field}_total)"
	done
	until_eq "Prometheus: one group by its name" "$(want ticks | grep -a '^addon:tracker' | cut -f 2)" \
		query 'sum(vmspan_group_ticks_total%7Bgroup=~"addon:tracker.*"%7D)'
	until_eq "Prometheus: quantiles of the histograms" true bash -c \
		"$(declare -f get query); T=$T prometheus_port=$prometheus_port
		get 127.0.0.1 $prometheus_port '/api/v1/query?query=histogram_quantile(0.5,sum(vmspan_group_event_seconds_bucket)by(le))>0' | jq '.data.result | length == 1'"
else
	skip "Prometheus" "no prometheus here: apt-get install prometheus"
fi

exec 9>&-
# The last scrape of a whole second shows all that happened before.
finish record INT
eq "the recording beside it ends well" $? 0
"$VMSPAN" report "$T/host.vmspan" --json >"$T/report.json"
if [ -n "$prometheus_port" ]; then
	totals=(
		'sum(vmspan_group_ticks_total)' '[.groups[].ticks] | add'
		'sum(vmspan_group_events_total)' '[.groups[].events] | add'
		'sum(vmspan_events_total)' '.events.count'
		'sum(vmspan_spans_total)' '.spans'
		'sum(vmspan_collections_total)' '.gc.count'
		'sum(vmspan_group_event_seconds_count)' '[.groups[].events] | add'
	)
	for ((i = 0; i < ${#totals[@]}; i += 2)); do
		until_eq "Prometheus and report: ${totals[i]}" "$(jq "${totals[i + 1]}" "$T/report.json")" \
			query "${totals[i]}"
	done
	until_near "Prometheus and report: time of the events" \
		"$(jq .events.wall_ns "$T/report.json")" \
		query 'round(sum(vmspan_event_wall_seconds_total)*1000000000)'
	until_near "Prometheus and report: time charged to groups" \
		"$(jq '[.groups[].wall_ns] | add' "$T/report.json")" \
		query 'round(sum(vmspan_group_wall_seconds_total)*1000000000)'
	finish prometheus TERM

	# The same from native histograms: of group_event_seconds there is nothing else then.
	natively() { prometheus_port=$native_port query "$1"; }
	for ((i = 0; i < ${#totals[@]}; i += 2)); do
		[[ ${totals[i]} != *event_seconds* ]] || continue
		until_eq "native Prometheus and report: ${totals[i]}" \
			"$(jq "${totals[i + 1]}" "$T/report.json")" natively "${totals[i]}"
	done
	until_eq "native: events of all groups" "$(jq '[.groups[].events] | add' "$T/report.json")" \
		natively 'histogram_count(sum(vmspan_group_event_seconds))'
	until_near "native: time charged" \
		"$(jq '[.groups[].wall_ns] | add' "$T/report.json")" \
		natively 'round(histogram_sum(sum(vmspan_group_event_seconds))*1000000000)'
	# Of one group a kind, the host's top: the report has its quantiles, to 1/16.
	for q in 50 99; do
		want=$(jq ".groups[] | select(.kind == \"top\") | .p${q}_ns" "$T/report.json")
		got=$(natively "histogram_quantile(0.$q,sum(vmspan_group_event_seconds%7Bkind=\"top\"%7D))")
		check "native: p$q of the turns is the report's: $got s, $want ns" awk -v got="$got" -v want="$want" \
			'BEGIN { exit !(got * 1e9 > want / 1.17 && got * 1e9 < want * 1.17) }'
	done
	eq "native: no classic buckets beside them" \
		"$(natively 'count(vmspan_group_event_seconds_bucket)')" null
	finish native TERM
fi
send host quit
check "it says that the targets have ended" wait_line metrics 'the targets have ended' err
get 127.0.0.1 "$port" /metrics >"$T/page"
eq "after the end: no process" "$(sed -n 's/^vmspan_processes //p' "$T/page")" 0
finish metrics TERM
eq "^C ends it" $? 0
