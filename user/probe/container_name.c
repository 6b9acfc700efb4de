/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A container's name, from the process that supervises it, above it and outside of its control group. It has
 * to know of this very container. So it is found wherever a runtime keeps its files, of whichever user, and from a container
 * that sees the machine's processes; what runs inside a container has no say in it.
 *
 * conmon (Podman, CRI-O) has among its arguments the name with which the container was started (podman:
 * libpod/oci_conmon_common.go, cri-o: internal/oci/runtime_oci.go). containerd's shim works in the folder of
 * its first container's bundle, beside which are those of its others (containerd:
 * cmd/containerd-shim-runc-v2/manager), and of the bundle's config.json the annotations are the CRI plugin's
 * (internal/cri/annotations) or nerdctl's. Docker's bundle mounts files of the folders in which Docker keeps
 * what it knows of its containers (moby: daemon/container).
 */
#include "probe/container.h"

#include "base/file.h"
#include "base/task_stat.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* So far up a supervisor is looked for. */
#define GENERATIONS 256
/* Its arguments, of which Podman writes some 3 KB. */
#define ARGUMENTS_MAX 65536
/* What a runtime writes of a container: some 10 KB, of a pod with many volumes 100. */
#define JSON_MAX (4u << 20)

static bool is_inside(u32 pid, const struct container *c)
{
	struct container its;

	return !container_of_process(pid, &its) && !strcmp(its.id, c->id);
}

/* ---- Arguments ---- */

struct arguments {
	char *text; /* owned; each ends with a 0, and there is one more behind the last */
	size_t len;
};

static int read_arguments(u32 pid, struct arguments *to)
{
	char path[40];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/cmdline", pid);
	to->text = calloc(1, ARGUMENTS_MAX + 2);
	if (!to->text)
		return -ENOMEM;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -errno : file_read(fd, to->text, ARGUMENTS_MAX, 0);
	if (fd >= 0)
		close(fd);
	to->len = n > 0 ? (size_t)n : 0;
	return n > 0 ? 0 : -ENOENT;
}

/* The one behind the first that is `option`; "": there is none. */
static const char *value_of(const struct arguments *a, const char *option)
{
	const char *at = a->text, *next;

	for (; at < a->text + a->len; at = next) {
		next = at + strlen(at) + 1;
		if (!strcmp(at, option))
			return next < a->text + a->len ? next : "";
	}
	return "";
}

static const char *program_of(const struct arguments *a)
{
	const char *slash = strrchr(a->text, '/');

	return slash ? slash + 1 : a->text;
}

/* ---- Files ---- */

/* What is in an open file, which is closed; NULL: none that can be read. Owned by the caller. */
static json_t *read_json(int fd)
{
	char *text = fd < 0 ? NULL : malloc(JSON_MAX);
	ssize_t n = text ? file_read(fd, text, JSON_MAX, 0) : -1;
	json_t *root = n > 0 ? json_loadb(text, (size_t)n, 0, NULL) : NULL;

	free(text);
	if (fd >= 0)
		close(fd);
	return root;
}

/* No link is followed: who is root in a container may supervise another in there. */
static json_t *read_bundle(u32 shim, const char *id)
{
	char folder[40], path[sizeof("../") + CONTAINER_ID_LEN + sizeof("/config.json")];

	snprintf(folder, sizeof(folder), "/proc/%u/cwd", shim);
	snprintf(path, sizeof(path), "../%s/config.json", id);
	return read_json(file_open_regular_in(folder, path, RESOLVE_NO_SYMLINKS));
}

/* ---- Names ---- */

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

/* Of a pod's own container there is no third. */
static void set_pods(struct container *c, const char *space, const char *pod, const char *container)
{
	snprintf(c->name, sizeof(c->name), *container ? "%s/%s/%s" : "%s/%s", space, pod,
		 container);
}

static void set_plain(struct container *c, const char *name)
{
	snprintf(c->name, sizeof(c->name), "%s", name);
}

/* Kubernetes names a container "k8s_CONTAINER_POD_NAMESPACE_UID_ATTEMPT", of whose names none has a '_'; the
 * pod's own is called POD (cri-dockerd: core/naming.go; CRI-O's are alike). */
static void set_kubernetes(struct container *c, const char *name)
{
	char container[64], pod[254], space[64];
	int end = 0;

	sscanf(name, "k8s_%63[^_]_%253[^_]_%63[^_]_%*[^_]_%*u%n", container, pod, space, &end);
	if (end)
		set_pods(c, space, pod, strcmp(container, "POD") ? container : "");
	else
		set_plain(c, name);
}

static void set_by_annotations(struct container *c, const json_t *bundle)
{
	const json_t *all = json_object_get(bundle, "annotations");
	const char *pod = text_of(all, "io.kubernetes.cri.sandbox-name");

	if (*pod)
		set_pods(c, text_of(all, "io.kubernetes.cri.sandbox-namespace"), pod,
			 text_of(all, "io.kubernetes.cri.container-name"));
	else
		set_plain(c, text_of(all, "nerdctl/name"));
}

/*
 * Files that Docker puts into a container, one of them at least from the folder in which it keeps what it knows of
 * that: "/var/lib/docker/containers/ID/hostname", wherever Docker has its data. ID is another container's where
 * their network is one, and a file may be the user's own.
 */
static bool is_dockers_file(const char *destination)
{
	return !strcmp(destination, "/etc/hostname") || !strcmp(destination, "/etc/hosts") ||
	       !strcmp(destination, "/etc/resolv.conf");
}

/* Of "FOLDER/ID/FILE" the length of FOLDER; 0: it is otherwise. */
static size_t folder_of(const char *file)
{
	const char *slash = strrchr(file, '/');
	const size_t n = slash ? (size_t)(slash - file) : 0;
	size_t i;

	if (n < CONTAINER_ID_LEN + 2 || file[n - CONTAINER_ID_LEN - 1] != '/')
		return 0;
	for (i = n - CONTAINER_ID_LEN; i < n; i++)
		if (!strchr("0123456789abcdef", file[i]))
			return 0;
	return n - CONTAINER_ID_LEN - 1;
}

/* The folder of Docker's files, and its length; the container's own one, if any is, before another's. "": none. */
static const char *dockers_folder(const json_t *bundle, const char *id, size_t *len)
{
	const char *found = "";
	const json_t *mount;
	size_t i, n;

	*len = 0;
	json_array_foreach(json_object_get(bundle, "mounts"), i, mount)
	{
		const char *source = text_of(mount, "source");

		n = is_dockers_file(text_of(mount, "destination")) ? folder_of(source) : 0;
		if (n && (!*len || !strncmp(source + n + 1, id, CONTAINER_ID_LEN))) {
			found = source;
			*len = n;
		}
	}
	return found;
}

/* "/var/lib/docker/containers/ID/config.v2.json" of this container; false: it has no file of Docker's. */
static bool dockers_path(const json_t *bundle, const char *id, char *path, size_t cap)
{
	size_t n;
	const char *folder = dockers_folder(bundle, id, &n);

	return n && snprintf(path, cap, "%.*s/%s/config.v2.json", (int)n, folder, id) < (int)cap;
}

/* Kubernetes' names are taken apart where Kubernetes has made the container: anybody may call one so. */
static void set_dockers(struct container *c, const json_t *known)
{
	const json_t *labels = json_object_get(json_object_get(known, "Config"), "Labels");
	const char *name = text_of(known, "Name");

	/* Docker's own says so. */
	if (strcmp(text_of(known, "ID"), c->id))
		return;
	name += *name == '/';
	if (*text_of(labels, "io.kubernetes.pod.name"))
		set_kubernetes(c, name);
	else
		set_plain(c, name);
}

static void set_by_docker(u32 shim, struct container *c, const json_t *bundle)
{
	char folder[40], path[4096];
	json_t *known;

	if (!dockers_path(bundle, c->id, path, sizeof(path)))
		return;
	snprintf(folder, sizeof(folder), "/proc/%u/root", shim);
	known = read_json(file_open_regular_in(folder, path, RESOLVE_IN_ROOT));
	set_dockers(c, known);
	json_decref(known);
}

/* Is it that of this container? */
static bool ask_conmon(const struct arguments *a, struct container *c)
{
	/* Podman has it tell Podman when the container has ended. */
	bool podman = *value_of(a, "--exit-command");

	if (strcmp(value_of(a, "-c"), c->id))
		return false;
	if (!strcmp(c->runtime, "container"))
		c->runtime = podman ? "podman" : "cri-o";
	if (podman)
		set_plain(c, value_of(a, "-n"));
	else
		set_kubernetes(c, value_of(a, "-n"));
	return true;
}

/* Users that are mapped have a namespace "moby-UID.GID". */
static bool is_dockers(const char *space)
{
	return !strncmp(space, "moby", 4) && (!space[4] || space[4] == '-');
}

static bool ask_shim(u32 shim, const struct arguments *a, struct container *c)
{
	bool docker = is_dockers(value_of(a, "-namespace"));
	json_t *bundle = read_bundle(shim, c->id);

	if (!bundle)
		return false;
	if (!strcmp(c->runtime, "container"))
		c->runtime = docker ? "docker" : "containerd";
	if (docker)
		set_by_docker(shim, c, bundle);
	else
		set_by_annotations(c, bundle);
	json_decref(bundle);
	return true;
}

static bool ask(u32 pid, struct container *c)
{
	struct arguments a = { 0 };
	bool found = false;

	if (!read_arguments(pid, &a)) {
		if (!strcmp(program_of(&a), "conmon"))
			found = ask_conmon(&a, c);
		else if (!strncmp(program_of(&a), "containerd-shim", sizeof("containerd-shim") - 1))
			found = ask_shim(pid, &a, c);
	}
	free(a.text);
	return found;
}

/* False: the way up has broken off. Right behind the beginning, and that of what is executed in a container later, the
 * runtime itself is between: it may end meanwhile. */
static bool climb(u32 pid, struct container *c)
{
	u32 i;

	for (i = 0; i < GENERATIONS && pid > 1; i++, pid = task_parent(pid))
		if (!is_inside(pid, c) && ask(pid, c))
			return true;
	return pid == 1 || i == GENERATIONS;
}

/* How often the way up is tried again. */
#define TRIES 3

void container_find_name(u32 pid, struct container *c)
{
	u32 i;

	for (i = 0; *c->id && i < TRIES && !climb(pid, c); i++)
		;
}
