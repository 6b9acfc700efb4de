/* SPDX-License-Identifier: BSD-2-Clause */
#include "attach/kernel_types.h"

#include <bpf/btf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const names[] = {
#define X(id, name) #name,
	KERNEL_TRACEPOINTS(X)
#undef X
};

static struct kernel_types types;

/* How programs see a tracepoint: typedef void (*btf_trace_NAME)(void *context, arguments...). */
static u32 tracepoint_parameters(const struct btf *btf, const struct btf_type *t)
{
	t = btf__type_by_id(btf, t->type);
	t = t && btf_is_ptr(t) ? btf__type_by_id(btf, t->type) : NULL;
	return t && btf_is_func_proto(t) ? btf_vlen(t) : 0;
}

static void look_at_tracepoint(const struct btf *btf, const struct btf_type *t, const char *name)
{
	size_t i;

	for (i = 0; i < KERNEL_TP_COUNT; i++)
		types.has[i] |= !strcmp(name, names[i]);
	if (!strcmp(name, "sched_process_exit"))
		types.exit_has_memory = tracepoint_parameters(btf, t) >= 3;
}

static void look_at_run_queue(const struct btf *btf, const struct btf_type *t)
{
	const struct btf_member *m = btf_members(t);
	u32 i;

	for (i = 0; i < btf_vlen(t); i++) {
		const char *name = btf__name_by_offset(btf, m[i].name_off);

		if (!name)
			continue;
		if (!strcmp(name, "prev_steal_time_rq"))
			types.run_queue_has_steal = true;
		else if (!strcmp(name, "nr_running"))
			types.has_run_queue = true;
	}
}

/* From Linux 6.16 on the description can be mapped, which spares reading it: half of the time. */
static struct btf *map_description(void)
{
	int fd = open("/sys/kernel/btf/vmlinux", O_RDONLY | O_CLOEXEC);
	struct btf *btf = NULL;
	struct stat st;
	void *p;

	if (fd < 0)
		return NULL;
	if (!fstat(fd, &st) && st.st_size > 0 && st.st_size <= UINT32_MAX) {
		p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (p != MAP_FAILED) {
			btf = btf__new(p, (u32)st.st_size);
			munmap(p, (size_t)st.st_size);
		}
	}
	close(fd);
	return btf;
}

static void look(void)
{
	static const char prefix[] = "btf_trace_";
	struct btf *btf = map_description();
	u32 id;

	if (!btf)
		btf = btf__load_vmlinux_btf();
	if (!btf) {
		types.error = errno ? -errno : -ENOENT;
		return;
	}
	types.count = btf__type_cnt(btf);
	for (id = 1; id < types.count; id++) {
		const struct btf_type *t = btf__type_by_id(btf, id);
		const char *name = btf__name_by_offset(btf, t->name_off);

		if (!name)
			continue;
		if (btf_is_typedef(t) && !strncmp(name, prefix, strlen(prefix)))
			look_at_tracepoint(btf, t, name + strlen(prefix));
		else if (btf_is_struct(t) && !strcmp(name, "rq"))
			look_at_run_queue(btf, t);
	}
	btf__free(btf);
}

const struct kernel_types *kernel_types(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, look);
	return &types;
}

bool kernel_has_tracepoint(enum kernel_tracepoint tp)
{
	return kernel_types()->has[tp];
}

const char *kernel_tracepoint_name(enum kernel_tracepoint tp)
{
	return names[tp];
}
