#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# tools/nightly over a tree of its own: what has passed with a commit is not run again, what
# failed is, and the summary tells seeds and results.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

tree=$T/tree
mkdir -p "$tree/tools" "$tree"/tests/{stock,unit,fuzz}
cp tools/nightly "$tree/tools/"
touch "$tree"/tests/stock/{lib,one,two}.sh
echo '#include "seed.h"' >"$tree/tests/unit/drawn_test.c"
echo 'drawn by itself' >"$tree/tests/unit/other_test.c"
printf 'all vm unit:\n' >"$tree/Makefile"
printf 'build\nran\nfails\nsays\n' >"$tree/.gitignore"
printf '#!/bin/sh\ntest ! -e fails/install\n' >"$tree/tools/install-deps"
# shellcheck disable=SC2016 # expanded by the shell that is started
printf '#!/bin/sh\necho "$1 ${VMSPAN_TEST_SEED-} $VMSPAN_TEST_SKIPS" >>ran\necho "not ok log of $1"\ncat "says/${1##*/}"
test ! -e "fails/${1##*/}"\n' >"$tree/tests/run"
chmod +x "$tree/tests/run" "$tree/tools/install-deps"
git_tree() {
	git -C "$tree" -c user.name=tests -c user.email=tests -c init.defaultBranch=main "$@"
}
check "a tree" git_tree init -q
git_tree add -A && git_tree commit -qm one
commit() {
	git_tree rev-parse --short=12 HEAD
}
nightly() { # STATUS ARGUMENT...: $T/night; what was run is in $ran
	local want=$1
	shift
	rm -f "$tree/ran"
	check_status "tools/nightly $*" "$want" "$tree/tools/nightly" "$@"
	ran=$(cut -d' ' -f1 "$tree/ran" 2>/dev/null | tr '\n' ' ')
}
told() { # the summary, without lengths of time
	sed -n '/:$/,$p' "$T/out" | sed 's/[0-9]* s\b/N s/'
}

nightly 1 --summary
check "a summary of nothing says so" grep -qx 'nothing has been run' "$T/out"
mkdir -p "$tree/build/nightly/results"
nightly 1 vms
eq "where results cannot be kept it ends" "$ran" "stock/one.sh "
check "and says so" grep -qx "what became of vms stock/one.sh cannot be kept" "$T/err"
rmdir "$tree/build/nightly/results"
echo "another	vms stock/one.sh	passed	1	" >"$tree/build/nightly/results"
nightly 1 --summary
check "another commit's results are not this one's" eval "! grep -q passed '$T/out'"

mkdir "$tree/fails"
touch "$tree/fails/two.sh"
nightly 1 vms
eq "every step of a part is run" "$ran" "stock/one.sh stock/two.sh "
eq "the summary" "$(told)" "$(commit):
passed	vms stock/one.sh	N s
FAILED	vms stock/two.sh	N s"
check "the end of the log of what failed is told" grep -q '^not ok log of stock/two.sh$' "$T/out"
nightly 1 vms
eq "what has passed is not run again, what failed is" "$ran" "stock/two.sh "
rm "$tree/fails/two.sh"
nightly 0 vms
eq "it passes" "$(told)" "$(commit):
passed	vms stock/one.sh	N s
passed	vms stock/two.sh	N s"
nightly 0 vms
none "nothing is left to do" "$ran"
nightly 0 --fresh vms
eq "--fresh runs all" "$ran" "stock/one.sh stock/two.sh "
nightly 0 tools
eq "the tools' suite" "$ran" "tools "
nightly 0 random
check "a random test has a seed" grep -qE '^unit/drawn_test [1-9][0-9]* listed$' "$tree/ran"
eq "the ones that draw, no others" "$ran" "unit/drawn_test "
nightly 0 --summary
none "a summary runs nothing" "$ran"
check "the summary has the seed" grep -qE "^passed	random unit/drawn_test	[0-9]+ s, seed [1-9][0-9]*\$" "$T/out"
touch "$tree/new"
git_tree add -A && git_tree commit -qm two
nightly 0 vms
eq "another commit begins anew" "$ran" "stock/one.sh stock/two.sh "
echo changed >"$tree/new"
nightly 0 vms
nightly 0 vms
eq "what is not committed is run each time" "$ran" "stock/one.sh stock/two.sh "
git_tree checkout -q new
touch "$tree/tests/stock/zz.sh"
nightly 0 vms
nightly 0 vms
eq "nor what git does not know" "$ran" "stock/one.sh stock/two.sh stock/zz.sh "
rm "$tree/tests/stock/zz.sh"
mkdir "$tree/says"
echo 'flaky stock/one.sh: first - in run 1' >"$tree/says/one.sh"
nightly 1 --fresh vms
eq "what passed when it was run again has not passed" "$(told)" "$(commit):
FLAKY	vms stock/one.sh	N s
passed	vms stock/two.sh	N s"
echo '0 passed, 0 failed, 1 skipped' >"$tree/says/one.sh"
nightly 1 vms
eq "nor has what tried nothing" "$ran $(told | sed -n 2p | cut -f1,2)" "stock/one.sh  FAILED	vms stock/one.sh"
rm -r "$tree/says"
nightly 0 vms
rm "$tree/tests/unit/drawn_test.c"
nightly 1 random
eq "a part without steps has failed" "$ran $(told | tail -n 1 | cut -f1,2)" " FAILED	random, its steps"
git_tree checkout -q tests
echo changed >"$tree/new"
nightly 0 random
touch "$tree/fails/install"
nightly 1 vms
eq "a part that cannot be prepared has failed" "$ran $(told | tail -n 1 | cut -f1,2)" \
	" FAILED	vms, what it needs"
rm "$tree/fails/install"
nightly 0 vms
nightly 2 nosuch
