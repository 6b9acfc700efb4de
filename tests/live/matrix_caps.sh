#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The attach matrix once more, as another user with CAP_BPF and CAP_PERFMON and
# no right besides. What only root can set up is told as a comment: it runs as root in
# the scripts themselves. With VMSPAN_TEST_ALL=1 the rest too, in which rights matter less.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/user_lib.sh
. "$(dirname "$0")/../user_lib.sh"

scripts=(names where)
[ "${VMSPAN_TEST_ALL:-0}" = 0 ] || scripts+=(life bad race)

# What cannot be had without root, as SCRIPT: NAME - WHY.
root_only=(
	"names: by control group - no control group may be made here: *Permission denied"
	"where: another mount and PID namespace - unshare is not allowed here: *Operation not permitted"
	"race: cut short between discovery and attach - no file system of its own here: *"
	"race: a PID that goes to a stranger - no PID may be chosen here: *Operation not permitted"
)
is_root_only() { # SCRIPT: NAME - WHY
	local pattern
	for pattern in "${root_only[@]}"; do
		# shellcheck disable=SC2053 # a pattern
		[[ $1 != $pattern ]] || return 0
	done
	return 1
}

user_or_skip "the matrix with two capabilities"
user_folder "the matrix with two capabilities"

# A copy, for nobody else can read below somebody's home or a temporary folder.
copy=$USER_DIR/copy
mkdir -p "$copy/build" "$USER_DIR/tmp" &&
	cp -r --parents tests/*.sh tests/live tests/vm bpf user "$copy/" &&
	cp -r "$B"/{vmspan,libvmspan.a,vm} "$copy/build/" &&
	chmod -R go+rX "$copy" && chown 65534:65534 "$USER_DIR/tmp" || {
	not_ok "the matrix with two capabilities" "what it needs cannot be copied"
	exit 1
}
user_traces_or_skip "the matrix with two capabilities" "$copy/build/vmspan"

for script in "${scripts[@]}"; do
	rc=0
	# Who breaks off early does not come to this line.
	echo "echo '# the end of $script'" >>"$copy/tests/live/matrix_$script.sh"
	B=build TMPDIR=$USER_DIR/tmp "${as[@]}" bash "$copy/tests/live/matrix_$script.sh" >"$T/log" 2>&1 || rc=$?
	if ! grep -q "^# the end of $script\$" "$T/log"; then
		not_ok "two capabilities, $script" "it breaks off, with status $rc"
	elif [ $rc != 0 ] && ! grep -q '^not ok' "$T/log"; then
		not_ok "two capabilities, $script" "exit $rc"
	fi
	lib_failed=$((lib_failed + $(grep -c '^not ok' "$T/log")))
	while IFS= read -r line; do
		case $line in
		done) ;;
		'ok '*) echo "ok two capabilities, ${line#ok }" ;;
		'not ok '*) echo "not ok two capabilities, ${line#not ok }" ;;
		'skip '*)
			if is_root_only "$script: ${line#skip }"; then
				echo "# as root only: ${line#skip }"
			else
				not_ok "two capabilities, ${line#skip }" "skipped as another user"
			fi
			;;
		*) printf '%s\n' "$line" ;;
		esac
	done <"$T/log"
done
