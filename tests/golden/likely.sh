#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# once: asks nothing of the program
# Bounds of the tests that judge samples, compared with those that exact fractions give.
# shellcheck source=tests/stock/lib.sh
. "$(dirname "$0")/../stock/lib.sh"

# 2^-20 is more than 5 in ten million, 2^-21 is less.
eq "10 tosses may all be heads" "$(binomial 10 0.5)" "0 10"
eq "20 tosses too" "$(binomial 20 0.5)" "0 20"
eq "21 tosses may not" "$(binomial 21 0.5)" "1 20"
eq "what is rare" "$(binomial 100 0.001)" "0 4"
eq "10 s at 99 Hz" "$(binomial 970 0.6)" "507 656"
eq "the other side of it" "$(binomial 970 0.4)" "314 463"
eq "what never is" "$(binomial 1000 0)" "0 0"
eq "what always is" "$(binomial 1000 1)" "1000 1000"
eq "no looks" "$(binomial 0 0.5)" "0 0"
eq "what is known to a hundredth" "$(binomial 970 0.6 0.01)" \
	"$(binomial 970 0.59 | cut -d' ' -f1) $(binomial 970 0.61 | cut -d' ' -f2)"
# What is to fail here is no failure of this script.
judged() { # ARGUMENT...
	(
		unset VMSPAN_TEST_FAILURES
		likely "$@" | sed 's/ - .*//'
	)
}
eq "few enough to be too few" "$(judged few 506 970 0.6)" "not ok few"
eq "as few as may be" "$(judged few 507 970 0.6)" "ok few"
eq "as many as may be" "$(judged many 656 970 0.6)" "ok many"
eq "many enough to be too many" "$(judged many 657 970 0.6)" "not ok many"
eq "without a look nothing is known" "$(judged none 0 0 0.5)" "not ok none"
