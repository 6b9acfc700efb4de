# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# What the viewer tests share: where the viewers are, recordings with known
# figures, and those figures. Sourced behind tests/lib.sh.
# shellcheck disable=SC2034 # for those that source this

VIEWERS=$TOP/build/viewers
NODE=$VIEWERS/node/bin/node
[ -e "$NODE" ] || NODE=$(command -v node || echo "$NODE")
export NODE_COMPILE_CACHE=$T/node # they are started by the dozen

BROWSER=$(tools/browser || true)

# What viewers take their time over: a scenario of make_recording, and its spans.
many=many many_spans=150000
[ -z "${VMSPAN_TEST_ALL-}" ] || many=big many_spans=3000000

# Ends the script, aloud, unless the files are there.
need() { # WHAT FILE...
	local what=$1 f
	shift
	for f; do
		[ -e "$f" ] && continue
		skip_rest "$what" "not here: tools/install-deps --viewers fetches it"
	done
}

# $T/NAME.vmspan; `cut` ends in the middle of a chunk. With VMSPAN_TEST_ALL every kind of recording.
recordings="basic hostile peers cut"
[ -z "${VMSPAN_TEST_ALL-}" ] || recordings="basic lossy hostile long peers one empty cut"
make_recordings() {
	local name size
	for name in ${recordings% cut} some $many; do
		"$B/golden/make_recording" "$name" "$T/$name.vmspan" || return 1
	done
	size=$(stat -c %s "$T/some.vmspan")
	head -c $((size * 2 / 3)) "$T/some.vmspan" >"$T/cut.vmspan"
}

# Runs a script that looks at pages in a browser and prints `ok` and `not ok` lines, and behind
# them `done N`, N their number: one that ends on the way, whatever its status, has failed.
look_with() { # NAME SECONDS SCRIPT ARGUMENT...
	local rc=0 results failures
	timeout -k 5 "$2" "$NODE" "${@:3}" >"$T/look.out" 2>"$T/look.err" || rc=$?
	sed '/^done [0-9]*$/d' "$T/look.out"
	results=$(grep -cE '^(not )?ok ' "$T/look.out")
	failures=$(grep -c '^not ok ' "$T/look.out")
	lib_failed=$((lib_failed + failures))
	if [ $rc -gt 1 ] || [ $rc != $((failures > 0)) ]; then
		not_ok "$1" "the browser did not end well: exit $rc"
	elif [ "$results" = 0 ] || [ "$(tail -n 1 "$T/look.out")" != "done $results" ]; then
		not_ok "$1" "did not come to its end, or some of its $results results are lost"
	else
		return
	fi
	tail -n 20 "$T/look.err" | sed 's/^/  | /'
}

export_to() { # NAME FORMAT OUT [OPTION...]
	local name=$1 format=$2 out=$3
	shift 3
	"$VMSPAN" export "$T/$name.vmspan" -q -f "$format" -o "$out" "$@" 2>"$T/export.err" && return
	not_ok "$name: export to $format" "$(cat "$T/export.err")"
	return 1
}

figures() { # NAME: $T/NAME.json is the report, $T/NAME.ndjson every span and event
	if ! "$VMSPAN" report "$T/$1.vmspan" --json >"$T/$1.json" 2>"$T/report.err"; then
		not_ok "$1: report" "$(cat "$T/report.err")"
		return 1
	fi
	export_to "$1" ndjson "$T/$1.ndjson"
}
