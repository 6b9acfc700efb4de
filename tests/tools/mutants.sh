#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# tools/mutants over a tree of its own: which defects it calls found, and which not, and that it
# goes on where it was broken off.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

unset VMSPAN_RESULTS VMSPAN_RESULTS_END VMSPAN_TEST_SKIPS # of who runs this
tree=$T/tree
mkdir -p "$tree"/{tools,tests/{mutants,golden,unit}}
cp tools/mutants "$tree/tools/"
cp tests/run tests/{results,left}_lib.sh tests/reaper.c "$tree/tests/"
printf 'build\nruns\ntries\n' >"$tree/.gitignore"
# A program is its text; what has no "end" does not build.
cat >"$tree/Makefile" <<'END'
all: build/program
build/program: program
	grep -q '^end' $<
	cp $< $@
golden lib vm unit:
build/tests/mem_test build-san/tests/mem_test: program
	mkdir -p $(@D)
	printf '#!/bin/sh\necho 1..1\n$(if $(SAN),grep -q ^one program || printf "not "\n)echo ok 1 - mem\n' >$@
	chmod +x $@
END
: >"$tree/tests/unit/mem_test.c"
printf '%s\n' one $'two\t2' three end >"$tree/program"
# What is run is written down; the name of a test is that of the line which it looks for.
for name in one two three; do
	cat >"$tree/tests/golden/$name.sh" <<END
echo $name >>runs
if grep -q '^$name' build/program; then echo "ok $name"; else echo "not ok $name - it is not there"; exit 1; fi
echo done
END
done
# Fails once, where there is something to be found.
cat >"$tree/tests/golden/soft.sh" <<'END'
echo soft >>runs
if grep -q '^one' build/program || [ -e tries ]; then echo "ok soft"; else touch tries; echo "not ok soft - it is not there"; exit 1; fi
echo done
END
cat >"$tree/tests/mutants/first" <<'END'
# What begins so is not read.
wide: golden

defect: one is gone
file: program
tests: golden/one.sh
-one
+none

defect: two has lost its tab
file: program
tests: golden/two.sh golden/three.sh
 one
-two	2
-three
+2

defect: there is no end
file: program
tests: build
-end
END
git_tree() {
	git -C "$tree" -c user.name=tests -c user.email=tests -c init.defaultBranch=main "$@"
}
check "a tree" git_tree init -q
commit() {
	git_tree add -A && git_tree commit -qm "$1" && at=$(git_tree rev-parse --short=12 HEAD)
}
commit one
mutants() { # STATUS ARGUMENT...: what ran is in $ran
	local want=$1
	shift
	rm -f "$tree/build/mutants/tree/"{runs,tries}
	check_status "tools/mutants $*" "$want" "$tree/tools/mutants" "$@"
	ran=$(paste -sd' ' "$tree/build/mutants/tree/runs" 2>/dev/null)
}
told() { # what was said, without lengths of time and blanks that align
	sed -e 's/, [0-9]* s\b/, N s/' -e 's/  */ /g' -e '/^flaky\|^$/d' "$T/out"
}
list() { # NAME: it is read
	cat >"$tree/tests/mutants/$1"
}
says() { # NAME REGEX
	check "$1" grep -qE -- "$2" "$T/out"
}

mutants 0
eq "all are found, and the table says so" "$(told)" "first: 3 defects; first the tests that are to find them, without any
found: first/one is gone, N s: golden/one.sh: one - it is not there
found: first/two has lost its tab, N s: golden/two.sh: two - it is not there
found: first/there is no end, N s: $tree/build/mutants/make.log: make: *** [Makefile:3: build/program] Error 1
$at:
list defects found partly elsewhere hidden survived unbuilt left
first 3 3 0 0 0 0 0 0
all 3 3 0 0 0 0 0 0"
eq "first without a defect, then each until it has failed twice" "$ran" \
	"one two three one one two three two three"
mutants 0
none "what has been judged is not judged again" "$ran"
mutants 0 --fresh 'first/one*'
eq "but if that is asked for; tests without a defect are not run again" "$ran" "one one"
mutants 0 --list
eq "names" "$(cat "$T/out")" $'first/one is gone\nfirst/two has lost its tab\nfirst/there is no end'
mutants 0 --check
mutants 2 nosuch
touch "$tree/new"
commit two
mutants 1 --summary
eq "another commit: nothing is known of it" "$(told | grep '^first ')" "first 3 0 0 0 0 0 0 3"

# What is not found.
list second <<'END'
wide: golden/three.sh golden/one.sh

defect: an end that says more
file: program
tests: golden/one.sh
-end
+end of it

defect: one is gone, looked for by others
file: program
tests: golden/two.sh
-one
+

defect: one is gone, and only one of two finds it
file: program
tests: golden/one.sh golden/two.sh
-one

defect: there is no end of it
file: program
tests: golden/two.sh
-end
+
END
list third <<'END'
wide: none

defect: one is gone, and a repeat hides it
file: program
tests: golden/soft.sh
-one
+1
END
mutants 1 third
says "what a repeat hides is told" \
	'^hidden: third/one is gone, and a repeat hides it, [0-9]+ s: golden/soft.sh, only at first: soft - it is not there$'
mutants 1 second third
says "a survivor is told" '^survived: second/an end that says more, [0-9]+ s$'
says "so is one that others find, who have to be named" \
	'^elsewhere: second/one is gone, looked for by others, [0-9]+ s: golden/one.sh: one - it is not there$'
says "and one that not all find that are named" \
	'^partly: second/one is gone, and only one of two finds it, [0-9]+ s: not by golden/two.sh; golden/one.sh: '
says "and one that does not build" '^unbuilt: second/there is no end of it, '
eq "the table" "$(told | grep '^second \|^third \|^all ')" "second 4 0 1 1 0 1 1 0
third 1 0 0 0 1 0 0 0
all 5 0 1 1 1 1 1 0"

# What only sanitizers see.
list third <<'END'
wide: none

defect: one is gone, which harms memory
file: program
tests: san:unit/mem_test
-one
END
mutants 0 third
says "sanitizers find it" '^found: third/one is gone, which harms memory, [0-9]+ s: san:unit/mem_test: 1 - mem$'
sed -i 's/san://' "$tree/tests/mutants/third"
mutants 1 third
says "and nobody else" '^survived: third/one is gone, which harms memory, [0-9]+ s$'

# With a reason it may stay.
printf '# why\nsecond/an end that says more: nobody\n\treads it\n' >"$tree/tests/mutants/explained"
mutants 0 'second/an end*'
says "a survivor with a reason" '^survived, explained: second/an end that says more: nobody reads it$'
printf 'first/one is gone: none\nsecond/nobody: knows\nsecond/one is gone, looked for by others:\n' >"$tree/tests/mutants/explained"
mutants 1 --check
eq "explained must be what there is, with a reason" "$(LC_ALL=C sort "$T/out")" \
	"not ok explained without a reason: second/one is gone, looked for by others
not ok explained, but no defect: second/nobody"
printf 'first/one is gone: none\n' >"$tree/tests/mutants/explained"
mutants 1 'first/one is gone'
says "explained, and found all the same" '^explained, yet found: first/one is gone: '
rm "$tree"/tests/mutants/{explained,third}

# Lists that do not fit.
list second <<'END'
wide: golden/none.sh nosuch

defect: text that is not there
file: program
tests: golden/one.sh
-one
-three
+two

defect: text that is there twice
file: tests/golden/twice
tests: golden/one.sh
-same
+other

defect: no such file
file: none
tests: golden/one.sh
-same
+other

defect: no such test
file: program
tests: golden/none.sh
-one
+other

defect: it changes nothing
file: program
tests: golden/one.sh
-one
+one

defect: nothing to replace
file: program
tests: golden/one.sh
+one

defect: no tests
file: program
-one

defect: one name
file: program
tests: golden/one.sh
-one
what is this

defect: one name
file: program
tests: golden/one.sh
-one
END
printf 'same\nsame\n' >"$tree/tests/golden/twice"
commit three
want="not ok second/no such file: no such file: none
not ok second/no such test: no such test: golden/none.sh
not ok second/text that is not there: its text is 0 times in program, not once
not ok second/text that is there twice: its text is 2 times in tests/golden/twice, not once
not ok second: no such suite or test: golden/none.sh
not ok second: no such suite or test: nosuch
not ok second:NN: a defect needs a file and tests: no tests
not ok second:NN: a defect needs lines that are there, and a change: it changes nothing
not ok second:NN: a defect needs lines that are there, and a change: nothing to replace
not ok second:NN: a second defect of this name: one name
not ok second:NN: not understood: what is this"
mutants 1 --check
eq "what does not fit is told" "$(sed 's/:[0-9]*:/:NN:/' "$T/out" | LC_ALL=C sort)" "$want"
mutants 1 first
none "and nothing is planted" "$ran"
rm "$tree/tests/mutants/second"

# A tree whose own tests fail proves nothing.
sed -i s/three/other/ "$tree/program"
commit four
mutants 1 first/one*
mutants 1 first
says "text that is no longer there" '^not ok first/two has lost its tab: its text is 0 times in program, not once$'
sed -i 's/^-three/-other/' "$tree/tests/mutants/first"
commit five
mutants 1 first
check "a test that fails without a defect" grep -q '^not ok without any defect: golden/three.sh: ' "$T/err"
eq "nothing is planted then" "$(told | grep -v '^all \|^list \|:$')" "first: 3 defects; first the tests that are to find them, without any
not ok first: nothing is proved by tests that fail without a defect
first 3 0 0 0 0 0 0 3
left: first/one is gone
left: first/two has lost its tab
left: first/there is no end"

# Nor does one of which nothing can be run.
printf 'echo "skip two - it is not there"\necho done\n' >"$tree/tests/golden/two.sh"
sed -i 's/^other/three/' "$tree/program"
sed -i 's/^-other/-three/' "$tree/tests/mutants/first"
commit skips
mutants 1 first
check "a test that only skips" grep -q '^not ok: of golden/two.sh nothing can be run here: ' "$T/err"

# Broken off in the middle: what it has started ends, and what was judged stays.
cat >"$tree/tests/golden/two.sh" <<'END'
echo two >>runs
if grep -q '^two' build/program; then
	echo "ok two"
elif [ -e slow ]; then
	trap 'echo tidied >tidied; exit 130' TERM
	echo $$ >slow
	tail -f /dev/null &
	wait
else
	echo "not ok two - it is not there"
fi
echo done
END
echo slow >>"$tree/.gitignore"
echo tidied >>"$tree/.gitignore"
commit six
copy=$tree/build/mutants/tree
slow() { # until the second defect is planted and its test runs
	: >"$copy/slow"
	rm -f "$copy/tidied"
	(cd "$tree" && exec tools/mutants 'first/one*' 'first/two*') >"$T/out" 2>&1 &
	lib_owns $!
	check "the second is planted" until_true test -s "$copy/slow"
}
slow
kill -s TERM $!
wait $!
eq "broken off: status" $? 130
eq "broken off: the test's own end" "$(cat "$copy/tidied")" tidied
check "broken off: nothing of it runs" test ! -e "/proc/$(cat "$copy/slow")/fd/0"
slow
kill -s KILL "$(ps -o pid= --ppid $! | head -n 1)"
wait $!
eq "what runs the tests is killed: status" $? 1
check "what runs the tests is killed: nothing is left" test ! -e "/proc/$(cat "$copy/slow")/fd/0"
rm "$copy/slow"
mutants 0 'first/one*' 'first/two*'
eq "it goes on with what it was at" "$ran" "two three two three"
says "and the table has all" '^first +2 +2 '
