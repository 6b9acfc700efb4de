#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Containers by their names, of the real runtimes: Podman, Docker and containerd. Their daemons, files and groups
# are this test's own.
# shellcheck source=tests/attach_lib.sh
. "$(dirname "$0")/../attach_lib.sh"

# Their sockets have short paths.
TMPDIR=${TMPDIR:-/tmp}
RUN=/run/${TMPDIR##*/}-${T##*.}
rootfs=$T/rootfs comm=vmc$$ group=vmspan-test-${T##*.} # nobody else has these
mkdir -p "$RUN" "$rootfs"/{bin,lib64,proc,dev,sys,tmp,etc}
for file in "$T/steady" "$(readlink -f /bin/sh)"; do
	ldd "$file"
done | grep -o '/[^ ]*\.so[^ ]*' | sort -u | while read -r file; do
	mkdir -p "$rootfs${file%/*}"
	cp -L "$file" "$rootfs$file"
done
cp "$T/steady" "$rootfs/bin/$comm"
cp -L /bin/sh "$rootfs/bin/sh"

podman=(podman --root "$RUN/g" --runroot "$RUN/r" --tmpdir "$RUN/t" --runtime runc --cgroup-manager cgroupfs
	--storage-driver vfs)
docker=(docker -H "unix://$RUN/d.sock")
ctr=(ctr -a "$RUN/e/containerd/containerd.sock" -n k8s.io)
# Its own end; what still runs is killed by its number.
ends() {
	local id
	! command -v podman >/dev/null || "${podman[@]}" rm -fa >/dev/null 2>&1
	[ -z "${dockerd_pid-}" ] || {
		"${docker[@]}" rm -f "shop$$" "renamed$$" >/dev/null 2>&1
		for id in $("${ctr[@]}" task ls -q 2>/dev/null); do
			"${ctr[@]}" task rm -f "$id" >/dev/null 2>&1
		done
		finish dockerd TERM
	}
	until_true emptied
	rm -rf "$RUN"
}
emptied() {
	local d left=0
	while read -r d; do
		rmdir "$d" 2>/dev/null || left=1
	done < <(find /sys/fs/cgroup -depth -type d -path "*/$group*")
	[ $left = 0 ]
}
lib_endings+=(ends)

# The program in a container: which one it is in, and that it can be traced by name and id.
traced() { # NAME RUNTIME CONTAINER OTHER-NAME...
	local name=$1 runtime=$2 container=$3 id by
	shift 3
	pid=$(pgrep -nx "$comm")
	"$VMSPAN" list -p "$pid" --json >"$T/list.json"
	json_eq "$runtime: its name" "$T/list.json" '[.processes[0].container | .runtime, .name]' "[\"$runtime\",\"$container\"]"
	id=$(jq -r '.processes[0].container.id' "$T/list.json")
	for by in "$container" "${id:0:12}" "$@"; do
		attach a -g "$by"
		tell "$name" "spans 101"
		detach a
		eq "$runtime: traced as $by" "$(counts a '[.spans, .seen]')" '[101,1]'
	done
	start rec "$VMSPAN" record --comm "$comm" -o "$T/rec"
	need_line rec '^recording ' err
	tell "$name" "spans 103"
	finish rec INT
	"$VMSPAN" report "$T/rec" --json >"$T/rec.json"
	json_eq "$runtime: the recording has it" "$T/rec.json" '[.spans, .processes[0].container.name]' "[103,\"$container\"]"
}

# What is executed in a container later, by its name: at that moment its parent is still the runtime.
executed() { # RUNTIME CONTAINER COMMAND...
	local runtime=$1 container=$2 armed=0
	shift 2
	attach a -g "$container"
	for _ in 1 2 3 4 5; do
		target e "$@"
		wait_armed "$(pgrep -nx "$comm")" && armed=$((armed + 1))
		tell e "spans 11"
		dismiss e
	done
	detach a
	eq "$runtime: what is executed later: traced, of five" "$armed" 5
	eq "$runtime: what is executed later: exact counts" "$(counts a '[.spans, .gaps]')" '[55,0]'
}

# The limits that a runtime asks for may be more than are allowed here.
limits=(--ulimit nofile=1024:1024 --ulimit nproc=1024:1024)

if command -v podman >/dev/null && command -v runc >/dev/null; then
	target p "${podman[@]}" run --rm -i --network none --name "web$$" --cgroup-parent "/$group" "${limits[@]}" --rootfs "$rootfs" \
		"/bin/$comm"
	traced p podman "web$$"
	executed podman "web$$" "${podman[@]}" exec -i "web$$" "/bin/$comm"
	dismiss p
else
	skip "podman" "no Podman with runc: tools/install-deps --vms"
fi

if command -v dockerd >/dev/null && command -v ctr >/dev/null; then
	start dockerd dockerd --data-root "$RUN/data" --exec-root "$RUN/e" --pidfile "$RUN/pid" -H "unix://$RUN/d.sock" \
		--iptables=false --bridge=none --storage-driver=vfs
	until_true "${docker[@]}" info >/dev/null 2>&1
	tar -C "$rootfs" -c . | "${docker[@]}" import - steady >/dev/null
	target d "${docker[@]}" run --rm -i --network none --name "shop$$" --cgroup-parent "/$group" steady "/bin/$comm"
	traced d docker "shop$$"
	executed docker "shop$$" "${docker[@]}" exec -i "shop$$" "/bin/$comm"
	"${docker[@]}" rename "shop$$" "renamed$$"
	"$VMSPAN" list -p "$(pgrep -nx "$comm")" --json >"$T/list.json"
	json_eq "docker: renamed" "$T/list.json" '.processes[0].container.name' "\"renamed$$\""
	dismiss d
	# As Kubernetes' plugin has them made.
	id=$(printf '%08x%056d' $$ 0)
	target c "${ctr[@]}" run --rm --cgroup "/$group/$id" --annotation io.kubernetes.cri.sandbox-name="web-$$" \
		--annotation io.kubernetes.cri.sandbox-namespace=shop --annotation io.kubernetes.cri.container-name=app \
		--rootfs "$rootfs" "$id" "/bin/$comm"
	traced c containerd "shop/web-$$/app" "web-$$" "shop/web-$$" "web-$$/app"
	dismiss c
else
	skip "docker" "no Docker with containerd: tools/install-deps --vms"
fi
