#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Slow turns that are planted in stock VMs: each is told of once, with who is to blame, and nothing else is.
# With VMSPAN_TEST_SECONDS for so long, idle and beside programs that want the CPU.
# shellcheck disable=SC2154 # the helpers set their variables
# shellcheck source=tests/stock/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/planter_lib.sh
. "$TOP/tests/planter_lib.sh"

seed=${VMSPAN_TEST_SEED:-1}
echo "# seed $seed"
each=1 runs=1 # slow turns of a kind in a run, 0.8 s each
if [ -n "${VMSPAN_TEST_SECONDS-}" ]; then
	each=5
	runs=$((VMSPAN_TEST_SECONDS / (2 * 9 * each * 9 / 10) + 1))
fi
PYTHON=/usr/bin/python3.11
PHP=/usr/bin/php8.2
if [ ! -x $PYTHON ]; then
	skip_rest "planted turns" "no $PYTHON: tools/install-deps --vms"
fi
mkdir -p "$T/app/site-packages"
for n in a0 a1 a2 a3; do
	cp "$APPS/planted.py" "$T/app/site-packages/$n.py"
	mkdir -p "$T/www/wp-content/plugins/$n"
	sed "s/NAME/$n/g" "$APPS/planted.php" >"$T/www/wp-content/plugins/$n/$n.php"
done
cp "$APPS/planter.py" "$T/app"
cp "$APPS/planter.php" "$T/www/index.php"

planted() { # NAME KINDS WATCHED-PID TARGET...: none: the planter itself
	local name=$1 kinds=$2 pid=$3 count=$(($(tr , '\n' <<<"$2" | wc -l) * each))
	shift 3
	start_ready planter env PYTHONPATH="$T/app/site-packages" $PYTHON "$T/app/planter.py" "$from" "$count" "$kinds" "$@"
	planter_watch "$name, seed $from" "$count" "${pid:-$planter_pid}" none
}

all() { # CROWDED
	planted "CPython$1" burns,sleeps,calls,collects '' asyncio
	[ ! -x $PHP ] || planted "PHP$1" burns,sleeps,calls "$php_pid" php "$php_port"
	[ -z "${server_pid-}" ] || planted "PostgreSQL$1" burns,sleeps "$server_pid" postgres shop mall
}

if [ -x $PHP ]; then
	serve_php "$T/www"
else
	skip "PHP" "no $PHP: tools/install-deps --vms"
fi
if [ -x /usr/lib/postgresql/15/bin/postgres ]; then
	serve_postgres
	for n in shop mall; do
		psql -q postgres -c "create database $n"
		psql -q $n -f "$APPS/burn.sql"
	done
else
	skip "PostgreSQL" "no postgres: tools/install-deps --vms"
fi
for ((run = 0; run < runs; run++)); do
	from=$((seed + run))
	all ""
	[ -n "${VMSPAN_TEST_SECONDS-}" ] || continue
	planter_crowd
	all ", crowded"
	planter_disperse
done
[ -z "${server_pid-}" ] || finish server INT
[ ! -x $PHP ] || finish php INT
