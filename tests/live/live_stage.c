/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stops live_probe at a stage of attaching, so that a test can change the
 * world there: prints "at STAGE" and goes on when a line comes on stdin.
 *
 *   looked    the target's files are known, nothing is loaded
 *   loaded    the BPF programs are
 *   found     its files are known again, nothing is attached
 *   checked   the carrier's site has been looked at
 *   carried   the carrier is attached
 *   arming    the armed site has been looked at
 *   armed     everything is attached
 *   adopting  and the children that the targets have are looked for
 *
 * The functions in between are replaced by the linker's --wrap; the library is
 * the one that is shipped.
 */
#include "attach/kernel.h"
#include "attach/tracer.h"
#include "source/live_int.h"

#include <bpf/libbpf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char *stage_wanted;

static void stage(const char *name)
{
	char c;

	if (!stage_wanted || strcmp(stage_wanted, name))
		return;
	stage_wanted = NULL;
	/* Not by printf(): how stdout is buffered is settled later. */
	dprintf(1, "at %s\n", name);
	while (read(0, &c, 1) == 1 && c != '\n')
		;
}

struct tracer *__real_tracer_open(const struct tracer_config *config, struct err *err);
struct tracer *__wrap_tracer_open(const struct tracer_config *config, struct err *err);
struct tracer *__wrap_tracer_open(const struct tracer_config *config, struct err *err)
{
	struct tracer *t;

	stage("looked");
	t = __real_tracer_open(config, err);
	stage("loaded");
	return t;
}

static const char *next = "";

struct site_link *__real_site_flush(struct tracer *t, const struct plan_dso *d, struct err *err);
struct site_link *__wrap_site_flush(struct tracer *t, const struct plan_dso *d, struct err *err);
struct site_link *__wrap_site_flush(struct tracer *t, const struct plan_dso *d, struct err *err)
{
	stage("found");
	next = "checked";
	return __real_site_flush(t, d, err);
}

struct site_link *__real_site_armed(struct tracer *t, u32 pid, const struct plan_dso *d,
				    struct err *err);
struct site_link *__wrap_site_armed(struct tracer *t, u32 pid, const struct plan_dso *d,
				    struct err *err);
struct site_link *__wrap_site_armed(struct tracer *t, u32 pid, const struct plan_dso *d,
				    struct err *err)
{
	struct site_link *link;

	stage("carried");
	next = "arming";
	link = __real_site_armed(t, pid, d, err);
	stage("armed");
	return link;
}

int __real_children_open(struct live *l, struct err *err);
int __wrap_children_open(struct live *l, struct err *err);
int __wrap_children_open(struct live *l, struct err *err)
{
	stage("adopting");
	return __real_children_open(l, err);
}

struct bpf_link *__real_bpf_program__attach_uprobe_opts(const struct bpf_program *prog, pid_t pid,
							const char *path, size_t offset,
							const struct bpf_uprobe_opts *opts);
struct bpf_link *__wrap_bpf_program__attach_uprobe_opts(const struct bpf_program *prog, pid_t pid,
							const char *path, size_t offset,
							const struct bpf_uprobe_opts *opts);
struct bpf_link *__wrap_bpf_program__attach_uprobe_opts(const struct bpf_program *prog, pid_t pid,
							const char *path, size_t offset,
							const struct bpf_uprobe_opts *opts)
{
	stage(next);
	return __real_bpf_program__attach_uprobe_opts(prog, pid, path, offset, opts);
}

int __real_kernel_uprobe_multi(int prog, const struct kernel_probes *p);
int __wrap_kernel_uprobe_multi(int prog, const struct kernel_probes *p);
int __wrap_kernel_uprobe_multi(int prog, const struct kernel_probes *p)
{
	stage(next);
	return __real_kernel_uprobe_multi(prog, p);
}
