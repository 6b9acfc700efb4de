/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which container a process runs in: what its runtime made of its control group's path, and the name that
 * people gave it, of which the runtime's supervisor knows. Any thread; nothing is kept.
 */
#ifndef PROBE_CONTAINER_H
#define PROBE_CONTAINER_H

#include "base/record.h"
#include "base/types.h"

#define CONTAINER_ID_LEN 64
/* As many digits of it as Docker and Podman show: fewer mean none. */
#define CONTAINER_ID_LEAST 12
/* As definitions have it, with a 0 behind; what is longer is cut. In Kubernetes it is three names, mostly with 63
 * characters at most. */
#define CONTAINER_NAME_MAX (VMSPAN_NAME_MAX + 1)

struct container {
	const char *
		runtime; /* "docker", "podman", ...; "container": which one is not known. Never NULL */
	char id[CONTAINER_ID_LEN +
		1]; /* hexadecimal; "": of this runtime a container has a name alone */
	/* Any bytes but 0. Of Kubernetes "NAMESPACE/POD/CONTAINER", of a pod's own process "NAMESPACE/POD". "": not
	 * known. */
	char name[CONTAINER_NAME_MAX];
};

/* Of a control group's path, without the names that are not in it. The innermost, where one runs in another. What
 * supervises a container runs beside it, and is in none. */
bool container_in(const char *path, struct container *to);
/* 0; -ENOENT, it runs in none, or it is gone; other negative errno: it may not be looked at. Without the name. */
int container_of_process(u32 pid, struct container *to);
/* Its name, of a process that runs in it. What cannot be read leaves it empty: that takes the rights of the one
 * who started it, mostly root's. */
void container_find_name(u32 pid, struct container *c);
/* By its name, or a part of that which names a pod; also as "RUNTIME:NAME", or "RUNTIME:" and the id's first
 * digits, as reports have it. */
bool container_is_called(const struct container *c, const char *wanted);

#endif
