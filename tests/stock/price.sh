#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The question of --exact-calls on a terminal: y goes on; no, nothing, the end of the
# input and ^C do not, at once, and nothing is traced.
# shellcheck disable=SC2154 # start_app sets app_pid
# shellcheck source=tests/stock/lib.sh
. "$(dirname "$0")/lib.sh"

if [ ! -x /usr/bin/python3.11 ]; then
	skip_rest "the question" "no /usr/bin/python3.11: tools/install-deps --vms"
fi

# Runs record on a terminal of its own; types ANSWER when it sees WORDS. The terminal's text
# and, last, "status N" are in $T/seen.
on_terminal() { # WORDS ANSWER FILE
	/usr/bin/python3.11 - "$1" "$2" "$VMSPAN" record -p "$app_pid" -o "$3" --exact-calls \
		--duration 1s >"$T/seen" 2>&1 <<-'EOF'
		import os, pty, select, sys
		words, answer, command = sys.argv[1].encode(), sys.argv[2].encode(), sys.argv[3:]
		pid, fd = pty.fork()
		if not pid:
		    os.execv(command[0], command)
		seen, typed = b"", False
		while select.select([fd], [], [], 100)[0]:
		    try:
		        part = os.read(fd, 4096)
		    except OSError:
		        break
		    if not part:
		        break
		    seen += part
		    if words in seen and not typed:
		        typed = os.write(fd, answer)
		else:
		    os.kill(pid, 9)
		print(seen.decode().replace("\r", ""))
		print("status", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
	EOF
}

no() { # NAME WORDS ANSWER WHY
	on_terminal "$2" "$3" "$T/$1"
	check "$1: status 5" grep -q '^status 5$' "$T/seen" || cat "$T/seen" >&2
	check "$1: why" grep -q "nothing is traced: $4" "$T/seen"
	check "$1: nothing is recorded" test ! -e "$T/$1"
}

start_app /usr/bin/python3.11 "$APPS/calls.py"
send app "run 3"
asked='go on? [y/N] '
price='it would be more than twice as slow'
no "no" "$asked" $'n\n' "$price"
no "Enter" "$asked" $'\n' "$price"
no "the end" "$asked" $'\004' "$price"
no "^C" "$asked" $'\003' "$price"
no "^C in the trial" 'trying what they cost' $'\003' 'it was interrupted'
on_terminal "$asked" $'y\n' "$T/yes"
check "yes: status 0" grep -q '^status 0$' "$T/seen" || cat "$T/seen" >&2
report "$T/yes"
json_eq "yes: it is traced" "$T/yes.json" '.source.method == "exact" and (.groups | map(.spans) | add) > 100' true
ask end 0 >"$T/answer"
json_eq "the program runs on" "$T/answer" '.calls.leaf > 1000' true
