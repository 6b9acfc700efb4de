/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/scan.h"
#include "attach/kernel.h"
#include "base/text.h"
#include "probe/plan.h"
#include "probe/vm.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct snapshot_container scan_container(u32 pid, struct container *to)
{
	if (container_of_process(pid, to))
		return (struct snapshot_container){ 0 };
	container_find_name(pid, to);
	return (struct snapshot_container){ to->runtime, to->id, to->name };
}

/* A process on the way is no error: most have no probes, some end. */
static bool look_at(u32 pid, struct plan_cache *cache, struct vm_cache *vms,
		    void (*fn)(void *ctx, const struct scan_process *p), void *ctx)
{
	struct scan_process found = { .pid = pid };
	struct container container;
	struct vm_target vm;
	struct plan plan;
	char path[40];

	snprintf(path, sizeof(path), "/proc/%u/comm", pid);
	kernel_read_line(path, found.name, sizeof(found.name));
	if (!plan_process(pid, cache, &plan, NULL)) {
		found.profile = plan.dsos[0].probes.profile->name;
		found.path = plan.dsos[0].path;
		found.container = scan_container(pid, &container);
		fn(ctx, &found);
		plan_free(&plan);
		return true;
	}
	if (vm_find(pid, vms, &vm, NULL))
		return false;
	found.profile = vm.profile->name;
	found.path = vm.path;
	found.container = scan_container(pid, &container);
	fn(ctx, &found);
	vm_target_free(&vm);
	return true;
}

int scan_processes(void (*fn)(void *ctx, const struct scan_process *p), void *ctx, struct err *e)
{
	struct plan_cache cache = { 0 };
	struct vm_cache vms = { 0 };
	DIR *d = opendir("/proc");
	struct dirent *entry;
	int n = 0;
	u64 pid;

	if (!d)
		return err_set(e, -errno, "/proc cannot be read: %s", strerror(errno));
	while ((entry = readdir(d)))
		if (!text_parse_u64(entry->d_name, INT32_MAX, &pid) && pid)
			n += look_at((u32)pid, &cache, &vms, fn, ctx);
	closedir(d);
	plan_cache_free(&cache);
	vm_cache_free(&vms);
	if (n)
		return n;
	err_set_status(e, -ENOENT, EXIT_NOTHING, "no process here can be traced%s",
		       geteuid() ? " or looked into" : "");
	err_hint(e, geteuid() ? "processes of other users can be seen with sudo"
			      : "build a program or its VM with user/sdk/vmspan.h");
	return -ENOENT;
}
