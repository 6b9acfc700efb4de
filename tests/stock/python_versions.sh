#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# CPython 3.12 by its table of offsets, and 3.13 by the offsets it publishes:
# whichever can be run here.
# shellcheck disable=SC2154 # start_app sets app_pid
# shellcheck source=tests/stock/lib.sh
. "$(dirname "$0")/lib.sh"

mkdir -p "$T/app/site-packages"
for n in heavy middle light; do
	cp "$APPS/plugin.py" "$T/app/site-packages/$n.py"
done
cp "$APPS/app.py" "$T/app"

# One that runs: by its name, or as pyenv keeps it. Nothing: none.
python_of() { # VERSION
	local p
	for p in "python$1" ~/.pyenv/versions/"$1".*/bin/"python$1"; do
		"$p" -c 'import sys; print(sys.executable)' 2>/dev/null && return
	done
}

try() { # NAME COMMAND...
	local name=$1 answer
	shift
	start_app env PYTHONPATH="$T/app/site-packages" "$@" "$T/app/app.py"
	start_record "$T/a" "$app_pid" --hz 999
	answer=$(ask run 4)
	finish rec INT
	report "$T/a"
	json_eq "$name: the VM is known" "$T/a.json" '[.source.method, .processes[0].vm]' '["sampled","cpython"]'
	check_shares "$name" "$T/a.json" package "$(jq .before <<<"$answer")" "$(jq .used <<<"$answer")"
	check_ledger "$name" "$T/a.json"
	# A frame may change while it is read: counted, and rare.
	json_eq "$name: walks do not fail" "$T/a.json" '([.losses[]] | add) * 100 < .events.samples' true
	"$VMSPAN" export "$T/a" -q -f collapsed -o "$T/stacks"
	check "$name: whole stacks" grep -qE 'app\.py.*;work .*;inner ' "$T/stacks"
	stop_app
}

python=$(python_of 3.12)
if [ -n "$python" ]; then
	try "CPython 3.12" "$python"
else
	skip "CPython 3.12" "no python3.12 that runs"
fi

# Debian 13's beside this system's libraries: tools/install-python313.
trixie=${VMSPAN_TRIXIE:-$HOME/.cache/vmspan/trixie}
lib=$trixie/usr/lib/x86_64-linux-gnu
python=$(python_of 3.13)
if [ -x "$trixie/usr/bin/python3.13" ]; then
	PYTHONHOME=$trixie/usr try "CPython 3.13 of Debian" "$lib/ld-linux-x86-64.so.2" --library-path "$lib" "$trixie/usr/bin/python3.13"
elif [ -n "$python" ]; then
	try "CPython 3.13" "$python"
else
	skip "CPython 3.13" "no python3.13 that runs: tools/install-python313"
fi
# Its offsets come from its memory: no table is needed, and none is used.
eq "3.13 has no table in the profile" "$(grep -c '^\[layout 3.13\]' user/profiles/cpython.ini)" 0
