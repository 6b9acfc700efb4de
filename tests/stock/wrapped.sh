#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A stock VM is found wherever it is below a command: behind a shell, another program that becomes it, and
# in what names its interpreter in the first line.
# shellcheck source=tests/stock/lib.sh
. "$(dirname "$0")/lib.sh"

cat >"$T/burn.py" <<-'EOF'
	#!/usr/bin/python3.11
	import os, sys
	while os.times().user < float(sys.argv[1]):
	    pass
EOF
cat >"$T/burn.rb" <<-'EOF'
	#!/usr/bin/ruby3.1
	nil while Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) < ARGV[0].to_f
EOF
cat >"$T/burn.php" <<-'EOF'
	#!/usr/bin/php8.2
	<?php do { $u = getrusage(); } while ($u["ru_utime.tv_sec"] + $u["ru_utime.tv_usec"] / 1e6 < (float)$argv[1]);
EOF
chmod +x "$T"/burn.*
ln -s burn.py "$T/burn"

found() { # COMMAND...
	ends_well "$VMSPAN" record -q -o "$T/a" -- "$@"
	report "$T/a"
	json_eq "${*//$T/}: is found" "$T/a.json" '[.groups[].samples // 0] | add > 0' true
}

for program in py:/usr/bin/python3.11 rb:/usr/bin/ruby3.1 php:/usr/bin/php8.2; do
	end=${program%%:*} program=${program#*:}
	if [ ! -x "$program" ]; then
		skip "$program" "no $program: tools/install-deps --vms"
		continue
	fi
	found "$T/burn.$end" 1
	found sh -c "true; $program $T/burn.$end 1; true"
	found env nice "$program" "$T/burn.$end" 1
done
[ ! -x /usr/bin/python3.11 ] || found "$T/burn" 1
# Nothing of the kind is no VM.
check_status "a command without one: nothing is traced" 4 "$VMSPAN" record -q -o "$T/a" -- sh -c true
