# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# A real terminal for the tests, by tmux: what is on its screen, and keys. Waits for
# words on the screen, never for time. Sourced behind tests/lib.sh.
sockets=0

mux() {
	# The server must not keep the ends of our pipes.
	tmux -L "vmspan-test-$$-$sockets" -f /dev/null "$@" 8>&- 9>&-
}

end_terminal() {
	local rc=$?
	mux kill-server 2>/dev/null
	(exit $rc)
	lib_end
}
trap end_terminal EXIT

# A terminal of its own, in $T/here: `words` are for the shell, then a shell
# says with which status it ended.
terminal() { # COLUMNS LINES WORDS
	mkdir -p "$T/here"
	mux kill-server 2>/dev/null
	# A server on its way out must not be asked for a session.
	sockets=$((sockets + 1))
	mux new-session -d -x "$1" -y "$2" -c "$T/here" \
		"export LC_ALL=\${LC_ALL:-C.UTF-8} TERM=tmux-256color; $3 2>'$T/here/err'; echo STATUS \$?; exec cat"
}

capture() {
	mux capture-pane -p "$@" 2>/dev/null
}

# Waits until the screen has a line that matches; it is then in $T/screen.
until_seen() { # REGEX
	local end=$((SECONDS + LIMIT))
	while [ $SECONDS -lt $end ]; do
		capture >"$T/screen"
		grep -qE -- "$1" "$T/screen" && return 0
		read -r -t 0.05 <>"$T/never"
	done
	echo "never seen: $1" >&2
	cat "$T/screen" >&2
	return 1
}
mkfifo "$T/never"

key() {
	mux send-keys "$@"
}
