#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The demo host alone, without a tracer: the other live tests compare a tracer
# with what it expects, so its own books are checked here. Needs no root.
# shellcheck disable=SC2154 # start_host sets host_pid
# shellcheck disable=SC2016 # $x in jq filters is jq's
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

[ -x "$HOST" ] || {
	not_ok "the host is built" "no $HOST: make host"
	exit 1
}

expect() { # FILE ARGUMENT...: a whole run
	local file=$1
	shift
	rm -f "$file"
	timeout "$LIMIT" "$HOST" --expect "$file" "$@" >/dev/null ||
		not_ok "demohost $*" "exit status $?"
}

# What must be the same in every run: all but process numbers.
plain() { # FILE
	jq -S 'del(.. | .pid?, .pids?)' "$1"
}

# And but for where definitions were made.
work() { # FILE
	jq -S 'del(.. | .pid?, .pids?, .definitions_before?)' "$1"
}

# Rules that every expectation obeys, whatever the options.
books() { # NAME FILE
	json_eq "$1: the top group has every span" "$2" \
		'([.groups[] | select(.name == "top:demohost") | .spans] | add // 0) == .spans' true
	json_eq "$1: records are the sum of their kinds" "$2" \
		'.records == .events.count + .spans + .gc.count + .blocks + .inputs + .frames +
		 .values + .definitions' true
	json_eq "$1: the whole is the sum of its processes" "$2" \
		'[.processes | (map(.events) | add), (map(.nested) | add), (map(.spans) | add),
		  (map(.records) | add), (map(.gc.freed_bytes) | add)] ==
		 [.events.count, .events.nested, .spans, .records, .gc.freed_bytes]' true
	json_eq "$1: each group is the sum of its parts" "$2" \
		'[.processes[].groups[]] as $parts | all(.groups[]; . as $g |
		 [$parts[] | select(.name == $g.name)] | (map(.ticks) | add) == $g.ticks and
		 (map(.spans) | add) == $g.spans and (map(.stale) | add) == $g.stale)' true
	json_eq "$1: events <= ticks <= spans, stale <= spans" "$2" \
		'all(.groups[]; .events <= .ticks and .ticks <= .spans and .stale <= .spans)' true
}

same_seed() {
	local name set
	local -A sets=(
		[plain]=''
		[large]='--turns 600 --pages 9 --addons 12 --workers 4'
		[processes]='--processes 3 --workers 2'
		[modal]='--modal 2 --depth 300'
		[unbalanced]='--unbalanced --turns 500'
		[tenants]='--groups 500'
	)

	for name in "${!sets[@]}"; do
		read -ra set <<<"${sets[$name]}"
		expect "$T/a" --seed 7 "${set[@]}"
		expect "$T/b" --seed 7 "${set[@]}"
		expect "$T/c" --seed 8 "${set[@]}"
		plain "$T/a" >"$T/a.plain"
		plain "$T/b" >"$T/b.plain"
		same "$name: the same seed gives the same work" "$T/b.plain" "$T/a.plain"
		plain "$T/c" | jq 'del(.seed)' >"$T/c.plain"
		jq -S 'del(.seed)' "$T/a.plain" >"$T/a.noseed"
		if cmp -s "$T/a.noseed" "$T/c.plain"; then
			not_ok "$name: another seed gives other work" "both are alike"
		else
			ok "$name: another seed gives other work"
		fi
		books "$name" "$T/a"
	done
}

ways_to_start() {
	local way
	expect "$T/fork" --processes 3 --workers 2
	work "$T/fork" >"$T/fork.work"
	json_eq "three processes" "$T/fork" '[.processes[].pid] | unique | length' 3
	json_eq "an add-on of all processes is one group of three pids" "$T/fork" \
		'.groups[] | select(.name == "addon:tracker") | .pids | length' 3
	for way in --exec-children --fork-in-run; do
		expect "$T/way" --processes 3 --workers 2 $way
		work "$T/way" >"$T/way.work"
		same "$way: the work is that of forked processes" "$T/way.work" "$T/fork.work"
	done
}

counts() {
	expect "$T/e" --workers 0 --turns 211
	json_eq "every turn is one event" "$T/e" '.events.count - .events.nested' 211
	json_eq "a dialog every 17th turn" "$T/e" '.events.nested >= 2 * 12' true
	json_eq "exceptions leave no compartment open" "$T/e" '[.repaired, .unmatched, .too_deep]' '[0,0,0]'
	json_eq "pages are known by their titles" "$T/e" \
		'[.groups[] | select(.kind == "page") | .name]' '["page:mail","page:news","page:shop"]'

	expect "$T/e" --unbalanced --turns 500
	json_eq "--unbalanced: skipped leaves are repaired, none is unmatched" "$T/e" \
		'[.repaired > 0, .unmatched]' '[true,0]'

	expect "$T/e" --modal 0 --depth 300 --workers 0
	json_eq "--depth: 20 turns of 300 - 256 stays too deep" "$T/e" .too_deep $((20 * 44))
	json_eq "--modal 0: no nested event, nothing stale" "$T/e" \
		'[.events.nested, (.groups | map(.stale) | add)]' '[0,0]'
	expect "$T/e" --modal 0 --depth 255 --workers 0
	json_eq "--depth: a stack that fits is not too deep" "$T/e" .too_deep 0

	expect "$T/e" --groups 1009 --turns 53
	json_eq "--groups: every tenant worked" "$T/e" \
		'[.groups[] | select(.kind == "tenant" and .spans == 1)] | length' 1009

	expect "$T/e" --busy 0 --turns 13 --workers 2 --processes 2
	json_eq "--busy: 13 turns of 500 pairs on 6 threads" "$T/e" \
		'[.events.count, .spans, (.groups[] | select(.kind == "addon") | .ticks)]' \
		"[$((13 * 6)),$((13 * 6 * 1000)),$((13 * 6 * 500))]"
	expect "$T/e" --busy 1000000 --turns 7 --workers 0
	json_eq "--busy RATE: the same in smaller turns" "$T/e" '.spans' $((7 * 1000))
}

names() {
	expect "$T/plain" --pages 9 --addons 9
	for dress in --hostile --long-names; do
		expect "$T/e" --pages 9 --addons 9 $dress
		eq "$dress: as many groups, the same counts" \
			"$(jq -c '[.groups[].ticks] | sort' "$T/e")" \
			"$(jq -c '[.groups[].ticks] | sort' "$T/plain")"
	done
	# 254 or 255 bytes and a kind: an unfinished character became U+FFFD (3 bytes).
	json_eq "--long-names: as long as names may be" "$T/e" \
		'all(.groups[] | select(.kind != "top"); .name | utf8bytelength >= 255)' true
	expect "$T/e" --hostile
	# A backslash and a quote, unharmed.
	json_eq "--hostile: quotes survive" "$T/e" \
		'[.groups[].name | select(startswith("page:shop"))]' \
		'["page:shop \"quoted\" \\ '"'single' "'</script><b>&amp;"]'
}

# Nobody's any more. Where process 1 takes up no orphans, what has ended stays as a zombie.
ended() { # PID...
	local p
	for p; do
		case $(lib_state "$p") in '' | Z | X) ;; *) return 1 ;; esac
	done
}

# Reads a line of the coprocess, or fails the case.
line_is() { # NAME REGEX
	local line
	if ! read -r -t "$LIMIT" -u "${HOST_IO[0]}" line; then
		not_ok "$1" "no line"
	elif [[ $line =~ $2 ]]; then
		ok "$1"
	else
		not_ok "$1" "'$line'"
	fi
}

wait_mode() { # END: quit or eof
	local pid in
	rm -f "$T/e"
	coproc HOST_IO { exec "$HOST" --wait --processes 2 --expect "$T/e"; }
	pid=$HOST_IO_PID
	lib_owns "$pid"
	line_is "--wait ($1): says who is ready" "^ready $pid\$"
	in=${HOST_IO[1]}
	echo go >&"$in"
	line_is "--wait ($1): says when it is done" '^done$'
	json_eq "--wait ($1): the expectation is whole by then" "$T/e" \
		'[.processes | length, .[0].pid]' "[2,$pid]"
	eq "--wait ($1): content processes are there until the end" \
		"$(jq -r '.processes[].pid' "$T/e" | while read -r p; do
			ended "$p" || echo yes
		done | xargs)" "yes yes"
	[ "$1" = eof ] || echo quit >&"$in"
	exec {in}>&-
	wait "$pid"
	eq "--wait ($1): exit status" $? 0
	# shellcheck disable=SC2046
	check "--wait ($1): no process is left" ended $(jq -r '.processes[].pid' "$T/e")
}

# Stopped while it waits: whatever had run before `go` would be in the books.
wait_stopped() {
	local pid
	coproc HOST_IO { exec "$HOST" --wait --processes 2 --expect "$T/e"; }
	pid=$HOST_IO_PID
	lib_owns "$pid"
	line_is "--wait, stopped: says who is ready" "^ready $pid\$"
	kill -s TERM "$pid"
	line_is "--wait, stopped: says when it is done" '^done$'
	wait "$pid"
	eq "--wait, stopped: exit status" $? 0
	json_eq "--wait: nothing runs before go" "$T/e" '[.processes[].records, .records]' '[0,0,0]'
}

children_of() { # PID
	cat "/proc/$1"/task/*/children 2>/dev/null
}

# Fails the case instead of the script when one stays.
all_end() { # NAME PID...
	local name=$1 p left=''
	shift
	if [ $# = 0 ]; then
		not_ok "$name" "there was none"
		return
	fi
	for p; do
		until_true ended "$p" || left+=" $p"
	done
	none "$name" "$left"
}

stopping() {
	local kids sig p try rc
	for sig in TERM INT; do
		start_host --demo --processes 2 --expect "$T/e"
		kids=$(children_of "$host_pid")
		finish host $sig
		eq "--demo: SIG$sig ends it well" $? 0
		json_eq "--demo: SIG$sig: both processes report" "$T/e" '.processes | length' 2
		# shellcheck disable=SC2086
		all_end "--demo: SIG$sig: its $(wc -w <<<"$kids") children end too" $kids
	done
	# It is ready before its first turn: until it was stopped behind one.
	for ((try = 0; try < 50; try++)); do
		start_host --busy 1000 --workers 1 --expect "$T/e"
		rc=0
		finish host TERM || rc=$?
		[ $rc = 0 ] && [ "$(jq .events.count "$T/e")" = 0 ] || break
	done
	eq "--busy: SIGTERM ends it well" $rc 0
	books "--busy, stopped" "$T/e"
	start_host --demo --processes 3
	kids=$(children_of "$host_pid")
	eq "--processes 3: two content processes and a helper" "$(wc -w <<<"$kids")" 3
	# Of the content processes too: their helpers.
	for p in $kids; do kids+=" $(children_of "$p")"; done
	finish host KILL
	# shellcheck disable=SC2086
	all_end "killed, its children die with it" $kids
}

bad_use() {
	check_status "an unknown option" 2 "$HOST" --nonsense
	check_status "an argument" 2 "$HOST" nonsense
	check_status "not a number" 2 "$HOST" --turns many
	check_status "a number out of range" 2 "$HOST" --processes 65
	check_status "two ways to start at once" 2 "$HOST" --fork-in-run --exec-children
	check_status "an expectation that cannot be written" 1 "$HOST" --expect "$T/none/e" --turns 1
	check_status "a full disk" 1 "$HOST" --expect /dev/full --turns 1
	check_status "no go" 1 "$HOST" --wait --expect "$T/e" </dev/null
	check_status "help" 0 "$HOST" --help
}

same_seed
ways_to_start
counts
names
wait_mode quit
wait_mode eof
wait_stopped
stopping
bad_use
