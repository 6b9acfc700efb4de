/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/live_cgroup.h"

#include "base/text.h"
#include "probe/container.h"

#include <dirent.h>
#include <errno.h>
#include <fts.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CGROUP_ROOT "/sys/fs/cgroup"

/* `path` is `root` or lies below it. */
static bool is_below(const char *root, const char *path)
{
	size_t n;

	/* A path may be written without its first '/'. */
	path += *root != '/' && *path == '/';
	n = strlen(root);
	while (n && root[n - 1] == '/')
		n--;
	return !strncmp(root, path, n) && (!path[n] || path[n] == '/');
}

/* What is between two '/' of a path, or behind the last. */
struct part {
	const char *text;
	size_t len;
};

static bool part_is(struct part p, const char *before, const char *wanted, const char *behind)
{
	size_t b = strlen(before), n = strlen(wanted), e = strlen(behind);

	return p.len == b + n + e && !strncmp(p.text, before, b) &&
	       !strncmp(p.text + b, wanted, n) && !strncmp(p.text + b + n, behind, e);
}

#define HEX "0123456789abcdef"

/* Podman, Docker, containerd and CRI-O each have the whole id in the group's name, alone or between other
 * words. */
static bool has_id(struct part p, const char *wanted)
{
	size_t n = strlen(wanted), i, digits = 0;

	if (n < CONTAINER_ID_LEAST || n > CONTAINER_ID_LEN || strspn(wanted, HEX) != n)
		return false;
	for (i = 0; i < p.len; i++) {
		digits = memchr(HEX, p.text[i], sizeof(HEX) - 1) ? digits + 1 : 0;
		if (digits == CONTAINER_ID_LEN)
			return !strncmp(p.text + i + 1 - CONTAINER_ID_LEN, wanted, n);
	}
	return false;
}

/* systemd writes what means something in a unit's name otherwise; of what a machine's may have that is the minus. */
static bool is_machines_scope(struct part p, const char *wanted)
{
	char name[4 * 64 + 1];
	size_t n = 0;

	for (; *wanted && n + 4 < sizeof(name); wanted++)
		n += (size_t)snprintf(name + n, sizeof(name) - n, *wanted == '-' ? "\\x2d" : "%c",
				      *wanted);
	return !*wanted && part_is(p, "machine-", name, ".scope");
}

static bool part_fits(struct part p, const char *wanted)
{
	static const struct {
		const char *before, *behind;
	} forms[] = {
		{ "", "" },
		{ "", ".service" },
		{ "", ".scope" },
		{ "", ".slice" },
		{ "systemd-nspawn@", ".service" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(forms); i++)
		if (part_is(p, forms[i].before, wanted, forms[i].behind))
			return true;
	return is_machines_scope(p, wanted) || has_id(p, wanted);
}

/* A name, not a path. */
static bool is_name(const char *wanted)
{
	return !strchr(wanted, '/');
}

/* Is a part of the path called so? */
static bool has_name(const char *wanted, const char *path)
{
	size_t n;

	for (; *path; path += n) {
		path += *path == '/';
		n = strcspn(path, "/");
		if (part_fits((struct part){ path, n }, wanted))
			return true;
	}
	return false;
}

/* A line of /proc/PID/cgroup: "number:controllers:path". The directory of a
 * version 1 hierarchy is named after its controllers. */
static bool line_is(const char *wanted, char *line)
{
	char *controllers = strchr(line, ':'), *path, full[4096];

	path = controllers ? strchr(controllers + 1, ':') : NULL;
	if (!path)
		return false;
	*path++ = 0;
	controllers++;
	if (is_name(wanted))
		return has_name(wanted, path);
	if (strncmp(wanted, CGROUP_ROOT, sizeof(CGROUP_ROOT) - 1))
		return is_below(wanted, path);
	if (!strncmp(controllers, "name=", 5))
		controllers += 5;
	snprintf(full, sizeof(full), CGROUP_ROOT "/%s%s", *controllers ? controllers : "unified",
		 path);
	if (is_below(wanted, full))
		return true;
	snprintf(full, sizeof(full), CGROUP_ROOT "%s", path);
	return !*controllers && is_below(wanted, full);
}

/* Of a path from the root on no container is called so. */
static bool is_container(const char *wanted, u32 pid)
{
	struct container c;

	if (*wanted == '/' || container_of_process(pid, &c))
		return false;
	container_find_name(pid, &c);
	return container_is_called(&c, wanted);
}

bool cgroup_is(const char *wanted, u32 pid)
{
	char path[40], line[4096];
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/cgroup", pid);
	f = fopen(path, "re");
	while (f && !found && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = 0;
		found = line_is(wanted, line);
	}
	if (f)
		fclose(f);
	return found || is_container(wanted, pid);
}

/* Processes tell how theirs are called, also where the tree of groups cannot be seen. */
static bool find_container(const char *wanted)
{
	DIR *d = opendir("/proc");
	bool found = false;
	struct dirent *e;
	u64 pid;

	while (d && !found && (e = readdir(d)))
		found = !text_parse_u64(e->d_name, INT32_MAX, &pid) && pid &&
			cgroup_is(wanted, (u32)pid);
	if (d)
		closedir(d);
	return found;
}

/* So many directories are looked through. */
#define DIRECTORIES_MAX 65536

/* 0, -ENOENT or -E2BIG: there are more than are looked through. */
static int find_called(char *root, u32 most, const char *wanted)
{
	char *const roots[] = { root, NULL };
	FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	bool found = false;
	u32 looked = 0;
	FTSENT *e;

	while (tree && !found && looked < most && (e = fts_read(tree)))
		/* Where a hierarchy is mounted, the folder's name is no group's. */
		if (e->fts_info == FTS_D && e->fts_level > 0 &&
		    e->fts_statp->st_dev == e->fts_parent->fts_statp->st_dev) {
			looked++;
			found = part_fits((struct part){ e->fts_name, e->fts_namelen }, wanted);
		}
	if (tree)
		fts_close(tree);
	return found ? 0 : looked < most ? -ENOENT : -E2BIG;
}

static int check_name(const char *wanted, struct err *err)
{
	char root[] = CGROUP_ROOT;
	int r = find_called(root, DIRECTORIES_MAX, wanted);

	if (r && find_container(wanted))
		return 0;
	if (r == -E2BIG) {
		err_set(err, r,
			"there are more than %d control groups, and among the first of them "
			"none is called %.150s",
			DIRECTORIES_MAX, wanted);
		err_hint(err, "Name it by its path, as /proc/PID/cgroup has it.");
	} else if (r) {
		err_set(err, r, "there is no control group, systemd unit or container %.150s",
			wanted);
		err_hint(
			err,
			"Is it running? 'vmspan list' shows the containers of programs that it can "
			"trace; of any other the id will do, as its runtime shows it.");
	}
	return r;
}

/* In every group of either version the kernel makes this file, and in no other folder. */
static int check_path(const char *path)
{
	char file[4096 + 400];

	snprintf(file, sizeof(file), "%s/cgroup.procs", path);
	return access(file, F_OK) ? -ENOENT : 0;
}

int cgroup_check(const char *wanted, struct err *err)
{
	char path[4096 + 300];
	struct dirent *e;
	int r = -ENOENT;
	DIR *d;

	if (is_name(wanted))
		return check_name(wanted, err);
	if (!strncmp(wanted, CGROUP_ROOT, sizeof(CGROUP_ROOT) - 1)) {
		r = check_path(wanted);
	} else {
		snprintf(path, sizeof(path), CGROUP_ROOT "/%.4000s", wanted);
		r = check_path(path);
		d = r ? opendir(CGROUP_ROOT) : NULL;
		while (d && r && (e = readdir(d))) {
			snprintf(path, sizeof(path), CGROUP_ROOT "/%s/%.4000s", e->d_name, wanted);
			r = e->d_name[0] == '.' ? -ENOENT : check_path(path);
		}
		if (d)
			closedir(d);
	}
	if (!r || find_container(wanted))
		return 0;
	err_set(err, r, "there is no control group or container %.150s", wanted);
	err_hint(err, "Name a directory below " CGROUP_ROOT ", a path as /proc/PID/cgroup has it, "
		      "or a container as 'vmspan list' shows it.");
	return r;
}
