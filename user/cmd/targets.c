/* SPDX-License-Identifier: BSD-2-Clause */
/* Whole services: the processes that --all, --comm and --cgroup mean. */
#include "base/text.h"
#include "cmd/options.h"
#include "probe/plan.h"
#include "probe/vm.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool read_file(u32 pid, const char *name, char *to, size_t cap)
{
	char path[48];
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/%s", pid, name);
	f = fopen(path, "re");
	if (!f)
		return false;
	n = fread(to, 1, cap - 1, f);
	to[n] = 0;
	fclose(f);
	return true;
}

static bool comm_matches(u32 pid, const char *glob)
{
	char comm[32];

	if (!read_file(pid, "comm", comm, sizeof(comm)))
		return false;
	comm[strcspn(comm, "\n")] = 0;
	return !fnmatch(glob, comm, 0);
}

/* A line is "0::/system.slice/php.service"; those below it belong to it. */
static bool in_cgroup(u32 pid, const char *wanted)
{
	size_t len = strlen(wanted);
	char text[4096], *line, *rest = NULL;

	while (len > 1 && wanted[len - 1] == '/')
		len--;
	if (!read_file(pid, "cgroup", text, sizeof(text)))
		return false;
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		const char *at = strchr(line, ':');

		at = at ? strchr(at + 1, ':') : NULL;
		if (at && !strncmp(at + 1, wanted, len) &&
		    (!at[1 + len] || at[1 + len] == '/' || wanted[len - 1] == '/'))
			return true;
	}
	return false;
}

static bool traceable(u32 pid, struct plan_cache *cache)
{
	struct vm_target vm;
	struct plan plan;

	if (!plan_process(pid, cache, &plan, NULL)) {
		plan_free(&plan);
		return true;
	}
	if (vm_find(pid, &vm, NULL))
		return false;
	vm_target_free(&vm);
	return true;
}

static bool wanted(const struct options *o, u32 pid, struct plan_cache *cache)
{
	if (pid == (u32)getpid() || (o->target.comm && !comm_matches(pid, o->target.comm)) ||
	    (o->target.cgroup && !in_cgroup(pid, o->target.cgroup)))
		return false;
	return traceable(pid, cache);
}

static bool listed(const struct options *o, u32 pid)
{
	u32 i;

	for (i = 0; i < o->target.count; i++)
		if (o->target.pids[i] == pid)
			return true;
	return false;
}

int targets_find(struct options *o, struct err *e)
{
	struct plan_cache cache = { 0 };
	struct dirent *entry;
	DIR *d;
	int r = 0;
	u64 pid;

	if (!o->target.all && !o->target.comm && !o->target.cgroup)
		return 0;
	d = opendir("/proc");
	if (!d)
		return err_set(e, -errno, "/proc cannot be read: %s", strerror(errno));
	while (!r && (entry = readdir(d))) {
		if (text_parse_u64(entry->d_name, INT32_MAX, &pid) || !pid || listed(o, (u32)pid) ||
		    !wanted(o, (u32)pid, &cache))
			continue;
		if (o->target.count == OPTION_PIDS_MAX) {
			r = err_set(e, -E2BIG, "more than %d processes are meant", OPTION_PIDS_MAX);
			err_hint(e, "Narrow them by --comm or --cgroup.");
			break;
		}
		o->target.pids[o->target.count++] = (u32)pid;
	}
	closedir(d);
	plan_cache_free(&cache);
	if (r || o->target.count)
		return r;
	err_set_status(e, -ENOENT, EXIT_NOTHING, "no process that is meant can be traced");
	err_hint(e,
		 "Processes with vmspan.h or a known VM can; `vmspan list` and `vmspan doctor -p "
		 "PID` say more.");
	return -ENOENT;
}
