#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Containers by their names. What supervises them is made, with the arguments, folders and control groups of
# the real ones; stock/containers.sh has those.
# shellcheck source=tests/attach_lib.sh
. "$(dirname "$0")/../attach_lib.sh"

build "$T/supervise" tests/vm/supervise.c || {
	not_ok "build" "the program of this test does not build"
	exit 1
}
ln "$T/supervise" "$T/conmon"
ln "$T/supervise" "$T/containerd-shim-runc-v2"

# ---- Control groups ----

group='' groups=()
groups_end() {
	local pid at
	for at in ${groups+"${groups[@]}"}; do
		[ -e "$at" ] || continue
		while read -r pid; do
			kill -s KILL "$pid" 2>/dev/null
		done <"$at/cgroup.procs"
	done
	for ((at = ${#groups[@]} - 1; at >= 0; at--)); do
		until_true group_remove "${groups[at]}"
	done
}
group_remove() { # FOLDER
	[ ! -e "$1" ] || rmdir "$1" 2>/dev/null
}
lib_endings+=(groups_end)
: >"$T/err"
for d in /sys/fs/cgroup/unified /sys/fs/cgroup /sys/fs/cgroup/systemd; do
	[ -f "$d/cgroup.procs" ] && group=$(mktemp -d "$d/vmspan-test-XXXXXX" 2>>"$T/err") && break
done
[ -n "$group" ] || skip_rest "containers" "no control group may be made here: $(tail -n 1 "$T/err")"
groups=("$group")

# A program in the control group PATH below the test's, into `inside`; NAME is the process that supervises it.
in_container() { # NAME PATH SUPERVISOR [ARGUMENT...]
	local name=$1 at=$group part parts
	IFS=/ read -ra parts <<<"$2"
	shift 2
	for part in "${parts[@]}"; do
		at+=/$part
		[ -e "$at" ] || { mkdir "$at" && groups+=("$at"); } || return
	done
	target "$name" "$@" -- "$at" "$T/steady"
	read -r inside <"$at/cgroup.procs"
}

# "RUNTIME ID NAME" of a process; "none".
container() { # PID
	"$VMSPAN" list -p "$1" --json | jq -r '.processes[0].container | if . then "\(.runtime) \(.id) \(.name)" else "none" end'
}

id() { # DIGIT: an id that nobody else has
	printf '%s%07x%056d' "$1" $$ 0
}

# ---- Names ----

# Others may have containers here too: these are called as none of theirs. Pods have no '_' in theirs.
web=web$$ shop=shop$$ one=one-$$ two=two-$$ app=app$$

in_container podman "libpod-$(id a).scope/container" "$T/conmon" --api-version 1 -c "$(id a)" -u "$(id a)" -n $web \
	--exit-command /usr/bin/podman --exit-command-arg -n --exit-command-arg other
podman=$inside
eq "podman: of conmon's arguments" "$(container "$podman")" "podman $(id a) $web"
eq "podman: conmon is in none" "$("$VMSPAN" list --json |
	jq -c --argjson pid "$podman_pid" '[.processes[] | select(.pid == $pid)]')" '[]'
"$VMSPAN" list -p "$podman" >"$T/list"
eq "podman: list -p" "$(head -n 1 "$T/list")" "$podman steady  in podman:$web"
"$VMSPAN" list >"$T/list"
eq "podman: list" "$(awk -v pid="$podman" '$1 == pid { print $NF }' "$T/list")" "podman:$web"
eq "podman: list --json" "$("$VMSPAN" list --json |
	jq -c --argjson pid "$podman" '.processes[] | select(.pid == $pid) | .container.name')" "\"$web\""

in_container crio "kubepods.slice/crio-$(id b).scope" "$T/conmon" -b /somewhere -c "$(id b)" \
	-n "k8s_${app}_${one}_${shop}_f81d4fae-7dec-11d0-a765-00a0c91e6bf6_0"
eq "CRI-O: a pod's container" "$(container "$inside")" "cri-o $(id b) $shop/$one/$app"
in_container sandbox "kubepods.slice/crio-$(id c)" "$T/conmon" -b /somewhere -c "$(id c)" \
	-n "k8s_POD_${one}_${shop}_f81d4fae-7dec-11d0-a765-00a0c91e6bf6_0"
eq "CRI-O: a pod's own process" "$(container "$inside")" "cri-o $(id c) $shop/$one"

# containerd's shim works in its first container's bundle; the others are beside it.
mkdir -p "$T/state/k8s.io/$(id d)" "$T/state/k8s.io/$(id e)"
echo '{}' >"$T/state/k8s.io/$(id d)/config.json"
jq -n --arg pod "$two" --arg space "$shop" --arg app "$app" '{annotations: {"io.kubernetes.cri.container-type": "container", "io.kubernetes.cri.container-name": $app,
	"io.kubernetes.cri.sandbox-name": $pod, "io.kubernetes.cri.sandbox-namespace": $space}}' \
	>"$T/state/k8s.io/$(id e)/config.json"
shim=("$T/containerd-shim-runc-v2" -namespace k8s.io -id "$(id d)" -address /run/containerd/containerd.sock)
from() { # FOLDER COMMAND...
	cd "$1" && shift && exec "$@"
}
export -f from
bundle=(bash -c 'from "$@"' from)
in_container containerd "kubepods.slice/cri-containerd-$(id e).scope" "${bundle[@]}" "$T/state/k8s.io/$(id d)" "${shim[@]}"
eq "containerd: a pod's container" "$(container "$inside")" "containerd $(id e) $shop/$two/$app"

mkdir -p "$T/state/moby/$(id f)" "$T/docker/containers/$(id f)"
jq -n --arg at "$T/docker/containers/$(id f)/hostname" '{mounts: [{destination: "/proc", source: "proc"},
	{destination: "/etc/hostname", source: $at}]}' >"$T/state/moby/$(id f)/config.json"
echo "{\"ID\": \"$(id f)\", \"Name\": \"/shop_db\"}" >"$T/docker/containers/$(id f)/config.v2.json"
in_container docker "docker/$(id f)" "${bundle[@]}" "$T/state/moby/$(id f)" "$T/containerd-shim-runc-v2" -namespace moby
eq "Docker: what it keeps of the container" "$(container "$inside")" "docker $(id f) shop_db"

# One that has the network of that one, and a name as Kubernetes gives them.
mkdir -p "$T/state/moby/$(id 6)" "$T/docker/containers/$(id 6)"
jq -n --arg at "$T/docker/containers/$(id f)/hosts" '{mounts: [{destination: "/etc/hostname", source: "/etc/hostname"},
	{destination: "/etc/hosts", source: $at}]}' >"$T/state/moby/$(id 6)/config.json"
echo "{\"ID\": \"$(id 6)\", \"Name\": \"/k8s_a_b_c_d_0\", \"Config\": {\"Labels\": {}}}" >"$T/docker/containers/$(id 6)/config.v2.json"
in_container sidecar "docker/$(id 6)" "${bundle[@]}" "$T/state/moby/$(id 6)" "$T/containerd-shim-runc-v2" -namespace moby
eq "Docker: another container's network" "$(container "$inside")" "docker $(id 6) k8s_a_b_c_d_0"

in_container machine 'machine.slice/machine-deb\x2d1.scope/payload' "$T/supervise"
eq "systemd-nspawn: a machine has no id" "$(container "$inside")" "systemd-nspawn  deb-1"
target plain "$T/steady"
eq "what runs in no container" "$(container "$plain_pid")" none

# ---- What is not known ----

# The name is the supervisor's to tell, and nobody's in the container.
in_container liar "libpod-$(id 1).scope" "$T/conmon" -c "$(id 1)" -n real -- "$group/libpod-$(id 1).scope" \
	"$T/conmon" -c "$(id 1)" -n forged
while read -r pid; do
	[ "$(cat "/proc/$pid/comm")" != steady ] || inside=$pid
done <"$group/libpod-$(id 1).scope/cgroup.procs"
eq "a container that tells another name" "$(container "$inside")" "podman $(id 1) real"
# What is executed in a container is the runtime's child at first.
in_container exec "libpod-$(id 5).scope" "$T/conmon" -c "$(id 5)" -n exec$$ -- "$group" "$T/supervise"
eq "what is executed in a container later" "$(container "$inside")" "podman $(id 5) exec$$"
in_container other "libpod-$(id 2).scope" "$T/conmon" -c "$(id 1)" -n $web
eq "a supervisor of another container" "$(container "$inside")" "podman $(id 2) "
"$VMSPAN" list -p "$inside" >"$T/list"
eq "without a name the id is shown" "$(head -n 1 "$T/list")" "$inside steady  in podman:$(id 2 | cut -c1-12)"
in_container none "libpod-$(id 3).scope" "$T/supervise"
eq "no supervisor" "$(container "$inside")" "podman $(id 3) "
mkdir -p "$T/state/k8s.io/$(id 4)"
in_container files "cri-containerd-$(id 4).scope" "${bundle[@]}" "$T/state/k8s.io/$(id d)" "${shim[@]}"
eq "no file" "$(container "$inside")" "containerd $(id 4) "
at=$T/state/k8s.io/$(id 4)/config.json
mkfifo "$at"
eq "a pipe in the file's place" "$(container "$inside")" "containerd $(id 4) "
rm "$at"
ln -s "$T/state/k8s.io/$(id e)/config.json" "$at"
eq "a link in the file's place" "$(container "$inside")" "containerd $(id 4) "
for text in '' '{' '[]' '{"annotations": 1}' '{"annotations": {"io.kubernetes.cri.sandbox-name": 1}}'; do
	rm "$at"
	printf %s "$text" >"$at"
	eq "a file that has '$text'" "$(container "$inside")" "containerd $(id 4) "
done
printf '{"annotations": {"nerdctl/name": "a\\u001bb"}}' >"$at"
"$VMSPAN" list -p "$inside" >"$T/list"
eq "a name that a terminal would obey" "$(head -n 1 "$T/list")" "$inside steady  in containerd:a�b"

# ---- In a trace ----

start rec "$VMSPAN" record -p "$podman" -p "$plain_pid" -o "$T/rec"
need_line rec '^recording ' err
tell podman "spans 3" "fork 5"
tell plain "spans 7"
finish rec INT
"$VMSPAN" report "$T/rec" --json >"$T/rec.json"
json_eq "a recording has the container of a process and of its children" "$T/rec.json" \
	'[.processes[] | .container | if . then "\(.runtime) \(.id) \(.name)" else "none" end] | sort' \
	"[\"none\",\"podman $(id a) $web\",\"podman $(id a) $web\"]"
"$VMSPAN" report "$T/rec" >"$T/text"
check "a report names the container" grep -q "steady ($podman) in podman:$web" "$T/text"

# ---- Traced by their names ----

# Their own alone: of each so many spans.
spans_of() { # WANTED
	attach a -g "$1"
	tell podman "spans 101"
	tell crio "spans 103"
	tell containerd "spans 107"
	detach a
	counts a '[.spans, .seen]'
}
eq "by a container's name" "$(spans_of "$web")" '[101,1]'
eq "by a part of its id" "$(spans_of "$(id a | cut -c1-12)")" '[101,1]'
eq "as it is shown" "$(spans_of "podman:$web")" '[101,1]'
# Its own process is one of it.
eq "by a pod" "$(spans_of "$one")" "[103,2]"
eq "by namespace and pod" "$(spans_of "$shop/$two")" '[107,1]'
eq "by namespace, pod and container" "$(spans_of "$shop/$two/$app")" '[107,1]'
eq "by pod and container" "$(spans_of "$one/$app")" '[103,1]'
for name in "$app" "$shop" "${web%?}" "$shop/${one%?}" "$one/${app%?}" "$shop/$one/$app/x"; do
	check_status "'$name' names none" 1 "$VMSPAN" record --cgroup "$name" -o "$T/none"
done
check_status "what nobody is called" 1 "$VMSPAN" record --cgroup "three-$$" -o "$T/none"
check "what nobody is called: words" grep -q "no control group, systemd unit or container three-$$" "$T/err"

# As it is beside a container, or in one with groups of its own: the tree of groups is not to be seen.
hidden() { # COMMAND...
	unshare -m sh -c 'mount -t tmpfs none /sys/fs/cgroup && exec "$@"' sh "$@"
}
for name in "$(id a | cut -c1-12)" "libpod-$(id a).scope" "podman:$web"; do
	check_status "no tree of groups: by ${name%%"$(id a | cut -c2-)"*}" 0 \
		hidden "$VMSPAN" record --cgroup "$name" --duration 100ms -o "$T/none"
	check "no tree of groups: it is found" grep -q '^recording 1 process' "$T/err"
done
check_status "no tree of groups: what nobody is called" 1 hidden "$VMSPAN" record --cgroup "three-$$" -o "$T/none"

for name in podman crio sandbox containerd docker sidecar machine plain liar exec other none files; do
	dismiss "$name"
done
