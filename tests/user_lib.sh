# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# shellcheck disable=SC2034 # `as` and USER_DIR are for those that source this, behind lib.sh
# Helpers of tests that work as another user, who has some capabilities and no right besides.

# Sets `as`: such a user's command line.
user_with() { # CAPABILITIES, as +bpf,+perfmon
	as=(setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps "$1"
		--ambient-caps "$1" --bounding-set "-all,$1")
}

# Whether capabilities can be given at all; the script ends here where they cannot.
user_or_skip() { # NAME
	local bit have
	user_with +bpf,+perfmon
	"${as[@]}" true 2>"$T/err" && return
	have=0x$(sed -n 's/^CapEff:[[:space:]]*//p' /proc/self/status)
	# SETGID, SETUID, SETPCAP, PERFMON, BPF.
	for bit in 6 7 8 38 39; do
		[ $((have >> bit & 1)) = 1 ] ||
			skip_rest "$1" "setpriv may not give capabilities here: without number $bit itself"
	done
	not_ok "$1" "setpriv: $(head -n 1 "$T/err")"
	exit 1
}

# A folder of that user's: USER_DIR. Below $T, but where TMPDIR is below a closed folder. Its name
# says then which test it is of: tests/left_lib.sh looks for those.
USER_DIR=''
user_folder() { # NAME
	local at at_home=${TMPDIR:-/tmp}
	chmod 711 "$T"
	for at in "$T" /tmp /var/tmp /dev/shm; do
		USER_DIR=$(mktemp -d "$at/vmspan-user.${at_home##*/}.XXXXXX" 2>/dev/null) || continue
		chown 65534:65534 "$USER_DIR"
		# shellcheck disable=SC2016 # expanded there
		"${as[@]}" sh -c 'cp /bin/true "$1/" && "$1/true" && rm "$1/true"' sh "$USER_DIR" 2>>"$T/err" && return
		rm -rf "$USER_DIR"
	done
	USER_DIR=''
	not_ok "$1" "no folder that another user can reach and run programs in: $(tail -n 1 "$T/err")"
	exit 1
}
user_end() {
	[ -z "$USER_DIR" ] || rm -rf "$USER_DIR"
}
lib_endings+=(user_end)

# Whether that user can trace, by doctor, whose words are then in $T/doctor.json. Kernels
# before 6.6 want more for it; whatever else keeps it from that is a failure.
user_traces_or_skip() { # NAME VMSPAN
	local rc=0 kernel
	"${as[@]}" "$2" doctor --json >"$T/doctor.json" 2>"$T/doctor.err" || rc=$?
	[ $rc != 0 ] || return 0
	kernel=$(uname -r)
	if [ $rc = 3 ] && [ "$(printf '%s\n6.6\n' "$kernel" | sort -V | head -n 1)" != 6.6 ] &&
		jq -e 'any(.checks[]; .id == "capabilities" and (.detail | startswith("missing: CAP_SYS_ADMIN (before Linux 6.6")))' \
			"$T/doctor.json" >/dev/null 2>&1; then
		skip_rest "$1" "this kernel ($kernel) wants CAP_SYS_ADMIN for probes in programs"
	fi
	not_ok "$1" "doctor fails: status $rc"
	head -n 50 "$T/doctor.json" "$T/doctor.err" | sed 's/^/  | /'
	exit 1
}
