# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# A real terminal for the tests, by tmux: what is on its screen, and keys. Waits for
# words on the screen, never for time. Sourced behind tests/lib.sh.
sockets=0

mux() {
	tmux -N -S "$T/mux.$sockets" -f /dev/null "$@"
}

# A terminal of its own, in $T/here: `words` are for the shell, then a shell
# says with which status it ended.
terminal() { # COLUMNS LINES WORDS
	mkdir -p "$T/here"
	mux kill-server 2>/dev/null
	# A server on its way out must not be asked for a session. It must not keep the ends of
	# our pipes.
	sockets=$((sockets + 1))
	start screen tmux -S "$T/mux.$sockets" -f /dev/null -D 8>&- 9>&-
	until_true session "$@" || not_ok "a terminal" "$(tail -n 3 "$T/screen.err" "$T/mux.err")"
}
session() { # COLUMNS LINES WORDS
	mux new-session -d -x "$1" -y "$2" -c "$T/here" \
		"export LC_ALL=\${LC_ALL:-C.UTF-8} TERM=tmux-256color; $3 2>'$T/here/err'; echo STATUS \$?; exec cat" 2>"$T/mux.err" && return
	pause
	return 1
}

capture() {
	mux capture-pane -p "$@" 2>/dev/null
}

# Captures the screen, in $T/screen, until the command likes it. What is captured may be
# half of one refresh and half of the next: so nothing is asked of a screen just once.
until_good() { # COMMAND...
	until_true good_now "$@" && return
	echo "never good: $*" >&2
	cat "$T/screen" >&2
	return 1
}

good_now() {
	capture >"$T/screen"
	"$@" && return
	pause
	return 1
}

seen() { # REGEX: a line of the screen matches
	grep -qE -- "$1" "$T/screen"
}
until_seen() { # REGEX
	until_good seen "$1"
}

gone() { # REGEX: none matches
	! seen "$1"
}
until_gone() { # REGEX
	until_good gone "$1"
}

key() {
	mux send-keys "$@"
}
