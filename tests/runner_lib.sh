# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# tests/run over a tree of its own, for the scripts that look at the runner itself: a tree with scripts
# that pass, fail, and do what else they are told to do. Sourced behind lib.sh.
# shellcheck disable=SC2034 # for those that source this

unset VMSPAN_RESULTS VMSPAN_TEST_SKIPS # of who runs this
# What stays for good is not waited for as long as what may yet end.
export VMSPAN_TEST_LEFT=1
tree=$T/tree
mkdir -p "$tree/tests/golden"
cp tests/run tests/{results,left}_lib.sh tests/reaper.c "$tree/tests/"

script() { # NAME: its body is read
	{
		echo '#!/usr/bin/env bash'
		cat
		echo 'echo done'
	} >"$tree/tests/golden/$1.sh"
}
with=() # variables for the run
# In the tree; $T/run. With again=600 what fails is repeated, which takes as long again, twice.
run() { # STATUS NAME...
	local want=$1 rc=0
	shift
	(cd "$tree" && env ${with+"${with[@]}"} VMSPAN_AGAIN_SECONDS="${again-0}" B=build tests/run "$@") >"$T/run" 2>&1 || rc=$?
	eq "tests/run $*: status" $rc "$want"
}
said() { # NAME REGEX
	check "$1" grep -qE -- "$2" "$T/run"
}

script sound <<'END'
echo "ok one"
echo "skip two - it is not there"
END
script broken <<'END'
for i in $(seq 30); do echo "line $i"; done
echo "ok one"
echo "not ok two - it is broken"
echo "not ok three - that too"
exit 1
END
script takes_time <<'END'
(perl -e 'do { $n++ for 1 .. 100000 } until (times)[0] >= 1' &
	wait)
echo "ok one"
END
