#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The command line: what is wrong is said in words, with the documented status.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

said() { # NAME WORDS: the last check_status printed them on stderr
	if grep -qF -- "$2" "$T/err"; then
		ok "$1: says so"
	else
		not_ok "$1: says so" "'$2' is not in: $(tr '\n' ' ' <"$T/err")"
	fi
}

# How many files match.
files() { # GLOB
	compgen -G "$1" | wc -l
}

fails() { # STATUS WORDS ARGUMENTS...
	local status=$1 words=$2
	shift 2
	check_status "vmspan $*" "$status" "$VMSPAN" "$@"
	said "vmspan $*" "$words"
}

# ---- Help ----

check_status "no arguments" 2 "$VMSPAN"
said "no arguments" "usage: vmspan COMMAND"
check_status "--version" 0 "$VMSPAN" --version
eq "--version prints the version" "$(cat "$T/out")" "vmspan $(cat VERSION)"
check_status "--help" 0 "$VMSPAN" --help
eq "help: the same" "$(ends_well "$VMSPAN" help)" "$(ends_well "$VMSPAN" --help)"
commands=$(ends_well "$VMSPAN" --generate commands)
eq "the commands" "$(tr '\n' ' ' <<<"$commands")" "top record report export stat watch export-metrics serve list doctor "
for command in $commands; do
	check_status "$command --help" 0 "$VMSPAN" "$command" --help
	eq "$command --help: on stdout alone" "$(head -n 1 "$T/out" | cut -d ' ' -f 1-3) $(wc -c <"$T/err")" \
		"usage: vmspan $command 0"
	none "$command --help: at most 80 columns" "$(awk 'length > 80' "$T/out")"
	eq "help $command: the same" "$(ends_well "$VMSPAN" help "$command")" "$(cat "$T/out")"
done
check_status "help of nothing known" 2 "$VMSPAN" help recrod

# ---- Nothing to list ----

# A program of the system; a process that runs one, and one that is not there.
fails 4 "nothing to trace" list /bin/true
fails 4 "nothing to trace" list --json /bin/true
check_status "list of this process" 4 "$VMSPAN" list -p $$
said "list of this process" "nothing to trace"
fails 1 "does not exist" list -p 4194304
fails 1 "cannot be read" list "$T/none"

# ---- Bad usage ----

fails 2 "did you mean 'report'?" repotr
fails 2 "unknown option --frobnicate" --frobnicate
fails 2 "did you mean --duration?" record -p 1 --duraton 3
fails 2 "that is an option of record" top -p 1 --ring 1M
fails 2 "needs a value" record -o
fails 2 "is not a list of process ids" top -p 12,abc
fails 2 "is not a time" record -p 1 --duration soon
fails 2 "is not a size" record -p 1 --ring big
fails 2 "did you mean wall?" report x.vmspan --sort wal
fails 2 "no process given" top
fails 2 "no process given" stat
fails 2 "nothing to record" record
fails 2 "a command comes after --" record true
fails 2 "not both" record -p 1 -- true
fails 2 "no recording given" report
fails 2 "one recording at a time" export a b
fails 2 "two recordings at most" report a b c
fails 2 "unknown format 'firfox'; known: firefox, chrome" export x.vmspan -f firfox
fails 2 "--to is not after --from" report x.vmspan --from 2 --to 1

# ---- Files ----

fails 1 "$T/none.vmspan" report "$T/none.vmspan"
fails 1 "$T/none.vmspan" export "$T/none.vmspan" -o "$T/none.json"
eq "a failed export leaves nothing" "$(files "$T/none*")" 0
echo "this is not a recording" >"$T/text"
fails 1 "$T/text" report "$T/text"
: >"$T/empty"
fails 1 "$T/empty" report "$T/empty"
fails 1 "$T" report "$T"
fails 1 "is not a recording" record -p $$ -o "$T/text"
eq "what is no recording is not overwritten" "$(cat "$T/text")" "this is not a recording"
fails 1 "cannot write $T/no/such/dir/x" record -p $$ -o "$T/no/such/dir/x"
fails 1 "cannot write $T" record -p $$ -o "$T"
fails 1 "does not exist" record -p 999999999 -o "$T/new.vmspan"
eq "it leaves no file" "$(files "$T/new*")" 0

# ---- Output that cannot be written ----

# To a full device, to a reader that is gone, to a closed descriptor.
rc=0
"$VMSPAN" --help >/dev/full 2>"$T/err" || rc=$?
eq "/dev/full: status" $rc 1
said "/dev/full" "cannot write standard output: No space left on device"
rc=0
"$VMSPAN" --help 2>"$T/err" >&- || rc=$?
eq "stdout closed: status" $rc 1
said "stdout closed" "cannot write standard output"
mkfifo "$T/pipe"
# A pipe whose reader is gone before the first byte is written.
exec 8<>"$T/pipe"
exec 9>"$T/pipe"
exec 8>&-
rc=0
"$VMSPAN" top --help >&9 2>"$T/err" || rc=$?
exec 9>&-
eq "a reader that is gone: status" $rc 1
none "a reader that is gone: no words" "$(cat "$T/err")"

# ---- With a recording ----

maker=$B/golden/make_recording
if [ -x "$maker" ]; then
	"$maker" basic "$T/basic.vmspan" || exit 1
	check_status "report" 0 "$VMSPAN" report "$T/basic.vmspan"
	eq "no colour in a pipe" "$(grep -c "$(printf '\033')" "$T/out")" 0
	# A path is never cut.
	check_status "COLUMNS=40" 0 env -C "$T" COLUMNS=40 "$TOP/$VMSPAN" report basic.vmspan
	none "COLUMNS=40 is kept" "$(awk 'length > 40' "$T/out")"
	rc=0
	"$VMSPAN" report "$T/basic.vmspan" --json >/dev/full 2>"$T/err" || rc=$?
	eq "report to /dev/full: status" $rc 1
	said "report to /dev/full" "No space left on device"
	rc=0
	"$VMSPAN" export -q "$T/basic.vmspan" -o - >/dev/full 2>"$T/err" || rc=$?
	eq "export to /dev/full: status" $rc 1
	said "export to /dev/full" "No space left on device"
	check_status "watch: alerts of other causes" 0 "$VMSPAN" watch "$T/basic.vmspan" --threshold 1ms
	check "watch: says why some are not shown" grep -q "^not shown: .*--all-causes" "$T/err"
	check "watch: what nobody is charged with for nested loops" grep -q '^charged to nobody: 400 us of .*, the time around nested event loops$' "$T/err"
	check_status "watch: charged" 0 "$VMSPAN" watch "$T/basic.vmspan" --threshold 1ms --nested suspend
	none "watch: then nothing is without" "$(grep 'around nested event loops' "$T/err")"
	# The group that did it is below its own threshold, and nobody else would name it.
	"$maker" sampled "$T/sampled.vmspan" || exit 1
	check_status "watch: an alert that names a group without one" 0 "$VMSPAN" watch \
		"$T/sampled.vmspan" --threshold 'top:*=40ms' --threshold 'plugin:*=1h'
	eq "watch: both turns are shown" "$(grep -c "for 43.0 ms; the cause is addon:heavy" "$T/out")" 2
	check_status "watch: not of one that may take so long" 0 "$VMSPAN" watch "$T/sampled.vmspan" \
		--threshold 'top:*=20ms' --threshold 'plugin:*=1h' --threshold 'addon:*=1h'
	eq "watch: then none is shown" "$(grep -c "the cause is" "$T/out")" 0
	printf '[watch]\nthreshold = *=1h\n' >"$T/rules.conf"
	check_status "watch: a rule of the configuration" 0 "$VMSPAN" watch "$T/basic.vmspan" --all-causes --config "$T/rules.conf"
	none "watch: it holds" "$(cat "$T/out")"
	check_status "watch: one of the command line" 0 "$VMSPAN" watch "$T/basic.vmspan" --all-causes --config "$T/rules.conf" --threshold '*=1ms'
	check "watch: that one holds over it" test -s "$T/out"
	# A pipe that nobody writes to: neither is waited for.
	check_status "report of a pipe" 1 timeout "$LIMIT" "$VMSPAN" report "$T/pipe"
	check "report of a pipe: words" grep -q "it is not a regular file" "$T/err"
	if [ "$(id -u)" = 0 ]; then
		check_status "record to a pipe" 1 timeout "$LIMIT" "$VMSPAN" record -o "$T/pipe" -- true
		check "record to a pipe: words" grep -q "record to a file" "$T/err"
	else
		skip "record to a pipe" "needs root"
	fi
	check_status "export to a device" 0 "$VMSPAN" export "$T/basic.vmspan" -o /dev/null
	eq "a device stays one" "$(stat -c %F /dev/null)" "character special file"
	fails 2 "is the recording that is read" export "$T/basic.vmspan" -o "$T/basic.vmspan"
	check_status "export, default name" 0 "$VMSPAN" export "$T/basic.vmspan"
	json_eq "export, default name: the file" "$T/basic.profile.json" '.threads | length > 0' true
	eq "export leaves no other file" "$(files "$T/*json.*")" 0
	fails 1 "cannot write" export "$T/basic.vmspan" -o "$T/no/such/dir/x"
	# A disk that is full in the middle: here a limit on the size of files.
	"$maker" some "$T/some.vmspan" || exit 1
	rc=0
	(trap '' XFSZ && ulimit -f 16 && exec "$VMSPAN" export "$T/some.vmspan" -f chrome -o "$T/half.json") 2>"$T/err" || rc=$?
	eq "an export that finds no more room: status" $rc 1
	said "an export that finds no more room" "cannot write $T/half.json: File too large"
	eq "an export that finds no more room leaves nothing" "$(files "$T/half*")" 0
	check_status "--top 1" 0 "$VMSPAN" report "$T/basic.vmspan" --top 1 --json
	json_eq "--top 1: one group" "$T/out" '.groups | length' 1
	check_status "--group" 0 "$VMSPAN" report "$T/basic.vmspan" --group 'addon:*' --json
	json_eq "--group: that kind" "$T/out" '[.groups[].kind] | unique' '["addon"]'
	size=$(stat -c %s "$T/basic.vmspan")
	head -c $((size - 1)) "$T/basic.vmspan" >"$T/cut.vmspan"
	check_status "a cut recording" 0 "$VMSPAN" report "$T/cut.vmspan" --json
	said "a cut recording" "note: $T/cut.vmspan: "
	json_eq "a cut recording: note in JSON" "$T/out" '.source.note | type' '"string"'
	json_eq "a cut recording: is not complete" "$T/out" '[.complete, .losses_uncounted]' '[false,{"truncated":1}]'
	check_status "a cut recording: in text" 0 "$VMSPAN" report "$T/cut.vmspan"
	check "a cut recording: says so in text" grep -q '^lost: records, how many is not known, lost because the' "$T/out"
	check_status "a cut recording: export" 0 "$VMSPAN" export -q "$T/cut.vmspan" -o "$T/cut.json"
	said "a cut recording: export" "note: $T/cut.vmspan: "
	check_status "a cut recording: watch" 0 "$VMSPAN" watch "$T/cut.vmspan"
	said "a cut recording: watch" "note: $T/cut.vmspan: "
else
	skip "recordings" "make_recording is not built"
fi
