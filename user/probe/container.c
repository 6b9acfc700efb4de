/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A runtime gives each container a control group of its own and writes into its name whose it is. The forms
 * are those of runc's and crun's two managers (systemd's scopes, and plain directories), of Kubernetes, of
 * systemd-nspawn and of LXC.
 */
#include "probe/container.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEX "0123456789abcdef"

/* What is between two '/' of a path. */
struct part {
	const char *text;
	size_t len;
};

static bool begins(struct part p, const char *with)
{
	return p.len >= strlen(with) && !memcmp(p.text, with, strlen(with));
}

static bool is(struct part p, const char *text)
{
	return p.len == strlen(text) && begins(p, text);
}

/* Takes what stands around it off the part. */
static bool strip(struct part *p, const char *before, const char *behind)
{
	size_t b = strlen(before), e = strlen(behind);

	if (p->len <= b + e || memcmp(p->text, before, b) ||
	    memcmp(p->text + p->len - e, behind, e))
		return false;
	p->text += b;
	p->len -= b + e;
	return true;
}

static bool is_id(struct part p)
{
	size_t i;

	for (i = 0; i < p.len && memchr(HEX, p.text[i], sizeof(HEX) - 1); i++)
		;
	return i == p.len && i == CONTAINER_ID_LEN;
}

static bool take_id(struct part p, const char *runtime, struct container *to)
{
	*to = (struct container){ .runtime = runtime };
	memcpy(to->id, p.text, p.len);
	return true;
}

/* Behind its last ':' a path has the id where runc was told a unit's name, but makes directories:
 * "system.slice:docker:ID". */
static bool take_unit(struct part p, struct container *to)
{
	static const struct {
		const char *unit, *runtime;
	} units[] = {
		{ "docker", "docker" },
		{ "libpod", "podman" },
		{ "cri-containerd", "containerd" },
		{ "nerdctl", "containerd" },
		{ "crio", "cri-o" },
	};
	struct part unit = p, id = p;
	size_t i, at = p.len;

	while (at && p.text[at - 1] != ':')
		at--;
	id = (struct part){ p.text + at, p.len - at };
	if (!at || !is_id(id))
		return false;
	for (unit.len = at - 1, i = unit.len; i && p.text[i - 1] != ':';)
		i--;
	unit = (struct part){ p.text + i, at - 1 - i };
	for (i = 0; i < ARRAY_SIZE(units); i++)
		if (is(unit, units[i].unit))
			return take_id(id, units[i].runtime, to);
	return take_id(id, "container", to);
}

/* By the words around the id; `above` is the part before it. */
static bool take_with_id(struct part above, struct part p, struct container *to)
{
	static const struct {
		const char *before, *behind, *runtime;
	} forms[] = {
		{ "docker-", ".scope", "docker" },
		{ "libpod-", ".scope", "podman" },
		{ "libpod-", "", "podman" },
		/* A unit with Delegate= that runs a container: its own processes, beside libpod-conmon-. */
		{ "libpod-payload-", "", "podman" },
		{ "cri-containerd-", ".scope", "containerd" },
		{ "nerdctl-", ".scope", "containerd" },
		{ "crio-", ".scope", "cri-o" },
		{ "crio-", "", "cri-o" },
	};
	struct part id;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(forms); i++) {
		id = p;
		if (strip(&id, forms[i].before, forms[i].behind) && is_id(id))
			return take_id(id, forms[i].runtime, to);
	}
	if (!is_id(p))
		return take_unit(p, to);
	/* Podman without systemd: a pod, in which containers are. */
	if (is(above, "libpod_parent"))
		return false;
	return take_id(p, is(above, "docker") ? "docker" : "container", to);
}

/* Of a unit's name, where systemd wrote bytes as "\x2d". */
static bool take_name(struct part p, const char *runtime, struct container *to)
{
	size_t n = 0, i;

	*to = (struct container){ .runtime = runtime };
	for (i = 0; i < p.len && n + 1 < sizeof(to->name); i++) {
		char digits[3] = "", *end;

		to->name[n++] = p.text[i];
		if (p.len - i < 4 || memcmp(p.text + i, "\\x", 2))
			continue;
		memcpy(digits, p.text + i + 2, 2);
		to->name[n - 1] = (char)strtoul(digits, &end, 16);
		if (*end || !to->name[n - 1])
			return false;
		i += 3;
	}
	to->name[n] = 0;
	return n > 0;
}

/* A machine that systemd knows: qemu's is none of processes, LXC's of libvirt has a number before its name. */
static bool take_machine(struct part p, struct container *to)
{
	size_t digits;

	if (!take_name(p, "systemd-nspawn", to) || !strncmp(to->name, "qemu-", 5))
		return false;
	if (strncmp(to->name, "lxc-", 4))
		return true;
	digits = strspn(to->name + 4, "0123456789");
	if (!digits || to->name[4 + digits] != '-' || !to->name[5 + digits])
		return true;
	to->runtime = "lxc";
	memmove(to->name, to->name + 5 + digits, strlen(to->name + 5 + digits) + 1);
	return true;
}

static bool take_with_name(struct part above, struct part p, struct part below,
			   struct container *to)
{
	struct part name = p;

	/* Where both are in a container's folder, LXC itself is beside it. */
	if (strip(&name, "lxc.payload.", "") || is(above, "lxc.payload") ||
	    (is(above, "lxc") && !is(below, "monitor")))
		return take_name(name, "lxc", to);
	/* So is systemd-nspawn. */
	if (is(below, "supervisor"))
		return false;
	if (strip(&name, "systemd-nspawn@", ".service"))
		return take_name(name, "systemd-nspawn", to);
	return strip(&name, "machine-", ".scope") && take_machine(name, to);
}

/* What the kernel writes behind the path of a group that has been removed. */
#define REMOVED " (deleted)"

static struct part next(const char **path)
{
	struct part p;

	*path += strspn(*path, "/");
	p = (struct part){ *path, strcspn(*path, "/") };
	*path += p.len;
	if (!**path)
		strip(&p, "", REMOVED);
	return p;
}

bool container_in(const char *path, struct container *to)
{
	struct part above = { "", 0 }, p, below = next(&path);
	bool found = false;
	struct container c;

	while (below.len) {
		p = below;
		below = next(&path);
		if (take_with_id(above, p, &c) || take_with_name(above, p, below, &c)) {
			*to = c;
			found = true;
		}
		above = p;
	}
	return found;
}

int container_of_process(u32 pid, struct container *to)
{
	char line[4096];
	bool found = false;
	FILE *f;

	snprintf(line, sizeof(line), "/proc/%u/cgroup", pid);
	f = fopen(line, "re");
	if (!f)
		return -errno;
	while (!found && fgets(line, sizeof(line), f)) {
		/* "number:controllers:path" */
		char *path = strchr(line, ':');

		path = path ? strchr(path + 1, ':') : NULL;
		line[strcspn(line, "\n")] = 0;
		found = path && container_in(path + 1, to);
	}
	fclose(f);
	return found ? 0 : -ENOENT;
}

/* Whole parts of "NAMESPACE/POD/CONTAINER", one behind the other, among which is the pod. */
static bool names_pod(const char *name, const char *wanted)
{
	const char *pod = strchr(name, '/'), *container;
	size_t n = strlen(wanted), length;

	if (!pod || !n)
		return false;
	container = strchr(++pod, '/');
	length = container ? (size_t)(container - pod) : strlen(pod);
	if (!strncmp(pod, wanted, n) && (n == length || !pod[n]))
		return true;
	return n == (size_t)(pod - name) + length && !strncmp(name, wanted, n);
}

static bool is_its_name(const struct container *c, const char *wanted)
{
	return *c->name && (!strcmp(c->name, wanted) || names_pod(c->name, wanted));
}

static bool is_its_id(const struct container *c, const char *wanted)
{
	size_t n = strlen(wanted);

	return n >= CONTAINER_ID_LEAST && !strncmp(c->id, wanted, n);
}

bool container_is_called(const struct container *c, const char *wanted)
{
	size_t n = strlen(c->runtime);

	if (is_its_name(c, wanted))
		return true;
	if (strncmp(wanted, c->runtime, n) || wanted[n] != ':')
		return false;
	wanted += n + 1;
	return is_its_name(c, wanted) || is_its_id(c, wanted);
}
