#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# tools/test itself, over a tree whose tests and builds are made up: what a lane does not come
# to is a failure, and so is a build that fails.
# once: it does not use the build folder
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

tree=$T/tree
mkdir -p "$tree"/{tools,tests/viewers,tests/unit}
cp tests/results_lib.sh "$tree/tests/"
: >"$tree/tests/viewers/html.sh"
: >"$tree/tests/viewers/other.sh"
touch "$tree"/tests/unit/{sdk_one,v2_one,other}_test.c
printf '#!/bin/sh\ntrue\n' >"$tree/tools/install-deps"
# Each test passes. With EARLY, names, the run that has one is over before. With MAKES it leaves a file.
cat >"$tree/tests/run" <<'END'
#!/usr/bin/env bash
. tests/results_lib.sh
for name; do
	[[ "${EARLY-}" != *" $name "* ]] || exit 0
	[ "$name" != "${MAKES-}" ] || : >made
	results_add "$VMSPAN_RESULTS" "$B" "$name" 1 0 0 0 "" ""
done
: >"$VMSPAN_RESULTS_END"
END
# With BREAKS a build fails.
cat >"$tree/Makefile" <<'END'
.PHONY: shipped list-shipped header fuzz sanitized
shipped header fuzz sanitized:
	@test "$(BREAKS)" != $(B)
list-shipped:
	@$(if $(NO_LIST),false,echo unit/of_two)
END
chmod +x "$tree/tests/run" "$tree/tools/install-deps"

with=() # variables for the run
run() { # NAME STATUS [SCRIPT]: of sed, that changes tools/test
	local rc=0
	sed "${3-}" tools/test >"$tree/tools/test"
	chmod +x "$tree/tools/test"
	(cd "$tree" && env -u VMSPAN_RESULTS ${with+"${with[@]}"} tools/test) >"$T/run" 2>&1 </dev/null || rc=$?
	eq "$1: status" $rc "$2"
}
ends() { # NAME LINE
	eq "$1: the last line" "$(tail -n 1 "$T/run")" "$2"
}

run "all passes" 0
# Builds: 3. check, live, html; one of the unit tests and golden; unit and golden; two of the header, and
# fuzz; the other viewer.
ends "all passes" "14 passed, 0 failed, 0 skipped"
every=(checks tracing with_gcc with_sanitizers with_clang)
lanes='\(checks\|tracing\|with_gcc\|with_sanitizers\|with_clang\)'
run "lanes are killed" 1 "s/^$lanes() {\$/&\nkill -s KILL \$BASHPID/"
for lane in "${every[@]}"; do
	check "a lane is killed: it is named: $lane" grep -qx "not ok lane $lane: ended early" "$T/run"
done
ends "lanes are killed" "1 passed, 5 failed, 0 skipped"
run "lanes break off" 1 "s/^$lanes() {\$/&\n: \$there_is_no_such_variable/"
for lane in "${every[@]}"; do
	check "a lane breaks off: it is named: $lane" grep -qx "not ok lane $lane: ended early" "$T/run"
done
run "one lane is killed" 1 "s/^checks() {\$/&\nkill -s KILL \$BASHPID/"
ends "one lane is killed" "13 passed, 1 failed, 0 skipped"
with=("BREAKS=build")
run "no build by gcc" 1
ends "no build by gcc" "1 passed, 1 failed, 0 skipped"
with=("NO_LIST=1")
run "no list of unit tests" 1
ends "no list of unit tests" "13 passed, 1 failed, 0 skipped"
with=("BREAKS=build-san")
run "no build with sanitizers" 1
ends "no build with sanitizers" "11 passed, 1 failed, 0 skipped"
with=("BREAKS=build-clang")
run "no build by clang" 1
ends "no build by clang" "10 passed, 1 failed, 0 skipped"
with=("MAKES=golden" "VMSPAN_TEST_TREE=kept")
run "a test leaves a file in the source tree" 1
ends "a test leaves a file in the source tree" "14 passed, 1 failed, 0 skipped"
check "it is named" grep -qx "not ok the source tree: not as before: new: made" "$T/run"
early=(check live viewers/html.sh golden fuzz viewers/other.sh)
with=("EARLY= ${early[*]} ")
run "runs of tests end early" 1
for run in 'check' 'live' 'viewers/html.sh' 'unit/of_two golden' 'unit golden' '.* fuzz' 'viewers/other.sh'; do
	check "a run of tests ends early: it is named: $run" grep -q "^not ok .*tests/run $run: ended early$" "$T/run"
done
with=("EARLY= fuzz ")
run "one run of tests ends early" 1
ends "one run of tests ends early" "13 passed, 1 failed, 0 skipped"
