#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The attach matrix once more, as another user with CAP_BPF and CAP_PERFMON and
# no right besides. What only root can set up (mounts, control groups) is told
# as a comment: it runs as root in the scripts themselves.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

caps=+bpf,+perfmon
as=(setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps "$caps"
	--ambient-caps "$caps" --bounding-set "-all,$caps")
if ! "${as[@]}" true 2>/dev/null; then
	skip "the matrix with two capabilities" "setpriv may not give capabilities here"
	exit 0
fi
if ! "${as[@]}" test -r "$TOP/tests/lib.sh"; then
	skip "the matrix with two capabilities" "another user cannot read $TOP"
	exit 0
fi
if ! "${as[@]}" "$VMSPAN" doctor >/dev/null 2>&1; then
	skip "the matrix with two capabilities" "this kernel wants CAP_SYS_ADMIN for probes in programs"
	exit 0
fi
chmod 711 "$T"
mkdir "$T/nobody"
chown 65534:65534 "$T/nobody"
for script in life names where bad race; do
	rc=0
	TMPDIR=$T/nobody "${as[@]}" bash "tests/live/matrix_$script.sh" >"$T/log" 2>&1 || rc=$?
	# A script that broke off has not said what is wrong.
	if [ $rc != 0 ] && ! grep -q '^not ok' "$T/log"; then
		not_ok "two capabilities, $script" "exit $rc"
	fi
	lib_failed=$((lib_failed + $(grep -c '^not ok' "$T/log")))
	sed -e 's/^ok /ok two capabilities, /' -e 's/^not ok /not ok two capabilities, /' \
		-e 's/^skip /# as root only: /' "$T/log"
done
