#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The systemd unit of docs/PERMISSIONS.md, as it stands there: systemd finds it
# right, and its command works as another user with the unit's capabilities, no
# new privileges, a file system that is read-only but for the state directory,
# and no network. (systemd itself is not needed, and seldom PID 1 in a container.)
# shellcheck source=tests/attach_lib.sh
. "$(dirname "$0")/../attach_lib.sh"

x_pid='' unit=$T/vmspan-host.service
sed -n '/^    \[Unit\]/,/^    WantedBy/s/^    //p' docs/PERMISSIONS.md >"$unit"
setting() { # NAME
	sed -n "s/^$1=//p" "$unit"
}
eq "the unit is there" "$(grep -c '^\[Service\]' "$unit")$(setting KillSignal)" 1SIGINT

if command -v systemd-analyze >/dev/null; then
	sed "s|^ExecStart=/usr/local/bin/vmspan|ExecStart=$(realpath "$VMSPAN")|" "$unit" >"$T/verify.service"
	rc=0
	systemd-analyze verify "$T/verify.service" >"$T/verify" 2>&1 || rc=$?
	# It also speaks of other units of this machine, and fails for them.
	check "systemd looks at it" test $rc -le 1
	none "systemd finds nothing wrong with it" "$(grep -F verify.service "$T/verify")"
else
	skip "systemd-analyze verify" "no systemd here"
fi

# Capability names as setpriv has them.
caps=$(setting AmbientCapabilities | tr '[:upper:]' '[:lower:]' | sed 's/cap_/+/g; s/ /,/g')
eq "what it may have is what it gets" "$(setting CapabilityBoundingSet)" "$(setting AmbientCapabilities)"
run=(setpriv --reuid 65534 --regid 65534 --clear-groups --no-new-privs --inh-caps "$caps"
	--ambient-caps "$caps" --bounding-set "-all,$caps")
unshare -mn "${run[@]}" true 2>/dev/null ||
	skip_rest "the unit's command" "namespaces or capabilities cannot be given here"
chmod 711 "$T"
mkdir "$T/state"
chown 65534:65534 "$T/state"
install -m 755 "$VMSPAN" "$T/vmspan" # whatever umask it was built with
rc=0
unshare -mn "${run[@]}" "$T/vmspan" doctor >"$T/doctor" 2>&1 || rc=$?
if [ $rc != 0 ] && grep -q 'CAP_SYS_ADMIN (before Linux 6.6' "$T/doctor"; then
	skip_rest "the unit's command" "this kernel wants CAP_SYS_ADMIN for probes in programs"
fi
eq "doctor finds that it can trace" "$rc$([ $rc = 0 ] || cat "$T/doctor")" 0
name=vmu$$
install -m 755 "$T/steady" "$T/$name"
command=$(setting ExecStart | sed -e "s|/usr/local/bin/vmspan|$T/vmspan|" \
	-e "s|/var/lib/vmspan|$T/state|" -e "s|--comm host|--comm $name|")
cat >"$T/service" <<-EOF
	mount --make-rprivate / && mount --bind "$T/state" "$T/state" &&
	mount -o remount,bind,ro / && exec ${run[*]} $command
EOF
if ! unshare -mn sh -c "mount --make-rprivate / && mount -o remount,bind,ro / && ! touch '$T/no'" 2>/dev/null; then
	skip_rest "the unit's command" "the file system cannot be made read-only here"
fi
target x "$T/$name"
start service unshare -mn sh "$T/service"
check "the unit's command records" wait_line service '^recording 1 process and those to come' err
tell x "spans 1009" "fork 7"
finish service "$(setting KillSignal | sed s/SIG//)"
eq "it ends well with the unit's signal" $? 0
"$VMSPAN" report "$T/state/host.vmspan" --json >"$T/report.json"
json_eq "another user's process: exact counts" "$T/report.json" \
	'[([.groups[] | select(.kind == "top") | .spans] | add), (.losses | add)]' '[1016,0]'
eq "the target is as it was" "$(state "$x_pid")" "$untouched"
dismiss x
