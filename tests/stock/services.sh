#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Whole services, by name: stock VMs and a program with the SDK in one recording,
# those that are there, those that are started later, and those that are forked.
# shellcheck source=tests/stock/lib.sh
. "$(dirname "$0")/lib.sh"

PYTHON=/usr/bin/python3.11
PHP=/usr/bin/php8.2
if [ ! -x $PYTHON ] || [ ! -x $PHP ]; then
	skip "services" "no $PYTHON or $PHP: tools/install-deps --vms"
	exit 0
fi
# A name that nothing else on this machine has; the VM is known by its file.
tag=vs$$
mkdir -p "$T/app/site-packages" "$T/bin"
ln -s $PYTHON "$T/bin/$tag-py"
ln -s $PHP "$T/bin/$tag-php"
cp "$B/vm/steady" "$T/bin/$tag-sdk"
for n in heavy middle light worker; do
	cp "$APPS/plugin.py" "$T/app/site-packages/$n.py"
done
cp "$APPS/app.py" "$APPS/prefork.py" "$T/app"
export PYTHONPATH="$T/app/site-packages"

# A program with a pipe for its commands: NAME_in.
serve() { # NAME COMMAND...
	local name=$1 fd
	shift
	mkfifo "$T/$name.fifo"
	exec {fd}<>"$T/$name.fifo"
	printf -v "${name}_in" %d "$fd"
	# shellcheck disable=SC2016 # expanded by the shell that is started
	start "$name" bash -c 'exec "$@" <"$0"' "$T/$name.fifo" "$@"
}
# ---- Present: a stock VM that forks, and a program with the SDK ----

fork_in='' sdk_in=''
serve fork "$T/bin/$tag-py" "$T/app/prefork.py"
wait_line fork '^ready' >/dev/null
serve sdk "$T/bin/$tag-sdk"
echo "spans 11" >&"$sdk_in"
wait_lines sdk '^ok' 1

start rec "$VMSPAN" record --comm "$tag-*" -o "$T/a" --hz 999
wait_line rec '^recording 2 processes' err >/dev/null
eq "by name: both that are there are attached to" $? 0
echo "spans 101" >&"$sdk_in"
for ms in 40 45 50; do
	echo $ms >&"$fork_in"
done

# ---- To come: the same, and another VM ----

start_app "$T/bin/$tag-py" "$T/app/app.py"
ask gc 7 >/dev/null
"$T/bin/$tag-php" -r 'for ($x = $i = 0; $i < 60000000; $i++) $x += $i; echo "done\n";' >"$T/php"
wait_lines sdk '^ok' 2
wait_lines fork '^answer' 3
eq "the forked workers have ended" $? 0
finish rec INT
report "$T/a"

# shellcheck disable=SC2154 # start sets NAME_pid
json_eq "each of the four is known by its VM" "$T/a.json" \
	'[.processes[] | select(.ppid != '"$fork_pid"') | .vm] | sort' '["cpython","cpython","php","sdk"]'
json_eq "spans of programs with the SDK are counted to the last" "$T/a.json" .spans 101
json_eq "workers are children of the master" "$T/a.json" \
	"[.processes[] | select(.ppid == $fork_pid) | .vm]" '["cpython","cpython","cpython"]'
json_eq "a group is one row, over all processes" "$T/a.json" \
	'[.groups[] | select(.name == "package:worker")] | length' 1
json_eq "and says which they are" "$T/a.json" \
	'[.groups[] | select(.name == "package:worker")][0].pids | map(tostring) | sort | join(" ")' \
	"\"$(sed -n 's/^answer //p' "$T/fork.out" | sort | paste -sd' ')\""
# Whoever is not looked at in the first 50 ms of a worker sees nothing of these: 40 to
# 50 looks. By how much they fall short of a worker's own count is up to the hypervisor.
json_eq "forked workers are looked at from their first instruction" "$T/a.json" \
	'[.groups[] | select(.name == "package:worker") | .processes[].ticks | . >= 15 and . <= 100]' \
	'[true,true,true]'
json_eq "one that is started later is too" "$T/a.json" \
	'[.groups[] | select(.name == "package:heavy")][0].cpu_ns > 1e7' true
php=$(jq '[.processes[] | select(.vm == "php")][0].pid' "$T/a.json")
json_eq "and the script of another VM" "$T/a.json" \
	"[.groups[].processes[] | select(.pid == $php) | .wall_ns > 1e8] | any" true
check_ledger "both kinds together" "$T/a.json"
json_eq "the method is said" "$T/a.json" .source.method '"sampled"'
json_eq "nothing is lost" "$T/a.json" '[.losses[]] | add' 0
echo quit >&"$sdk_in"
check "the program with the SDK ends in order" finish sdk
