#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# NDJSON of two machines in a real column store: the tables, the load and the
# queries as user/sink/NDJSON.md has them. Their sums are the reports'.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/viewers/common.bash
. "$(dirname "$0")/common.bash"

need "DuckDB" "$VIEWERS/duckdb/duckdb.node" "$NODE"
sql() { # reads SQL
	"$NODE" tests/viewers/duckdb.mjs "$VIEWERS/duckdb/duckdb.node" "$T/fleet.duckdb"
}
block() { # NAME: that of the document
	sed -n "/^\`\`\`sql $1\$/,/^\`\`\`\$/p" user/sink/NDJSON.md | sed '1d;$d'
}
ask() { # NAME: its answer, an object a row, to $T/NAME.json
	local query
	query=$(block "$1")
	echo "COPY (${query%;}) TO '$T/$1.json' (FORMAT JSON, ARRAY true);" | sql
}

make_recordings || exit 1
check "the tables" sql < <(block tables)
for m in some:web-1 basic:web-2 hostile:web-3 cut:web-4; do
	name=${m%:*}
	figures "$name" || exit 1
	check "loading $name as ${m#*:}" sql < <(block load | sed "s|x\.ndjson|$T/$name.ndjson|; s|'web-1'|'${m#*:}'|")
done
check "what one add-on costs" ask cost
# Of every machine, and of all, to the nanosecond.
sum_of() { # NAME...: of its reports
	for m; do cat "$T/$m.json"; done | jq -sc '[.[].groups[] | select(.name == "addon:tracker")] |
		[(map(.events) | add), (map(.ticks) | add), (map(.wall_ns) | add), (map(.self_ns) | add)]'
}
row_of() { # MACHINE
	jq -c --arg m "$1" '.[] | select(.machine == $m) | [.events, .ticks, .wall_ns, .self_ns]' "$T/cost.json"
}
eq "one machine's sums are its report's" "$(row_of web-2)" "$(sum_of basic)"
eq "all machines' sums are those of all reports" "$(row_of '(all)')" "$(sum_of some basic hostile cut)"
check "add-ons by the hour" ask hours
eq "every charge of an add-on is in some hour" "$(jq '[.[].turns] | add' "$T/hours.json")" \
	"$(cat "$T"/{some,basic,hostile,cut}.json | jq -s '[.[].groups[] | select(.kind == "addon").events] | add')"
check "the slowest turns" ask slowest
eq "the slowest turns are the reports' longest" "$(jq 'map(.duration_ns) | max' "$T/slowest.json")" \
	"$(cat "$T"/{some,basic,hostile,cut}.ndjson | jq -s 'map(select(.type == "event").duration_ns) | max')"
eq "ten of them" "$(jq length "$T/slowest.json")" 10
echo "COPY (SELECT sum(self_ns + gc_ns + blocked_ns + native_ns + moved_ns + stale_ns + lost_ns)::UBIGINT
	= sum(wall_ns)::UBIGINT AS sums FROM event) TO '$T/ledger.json' (FORMAT JSON, ARRAY true);" | sql
json_eq "the ledger holds in there too" "$T/ledger.json" '.[0].sums' true
