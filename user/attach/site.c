/* SPDX-License-Identifier: BSD-2-Clause */
/* Probe sites -> links. */
#include "attach/kernel.h"
#include "attach/place.h"
#include "attach/tracer_int.h"
#include "attach/vm_sites.h"
#include "base/task_stat.h"
#include "base/wire.h"
#include "probe/elf_notes.h"
#include "probe/probe_args.h"

#include <dirent.h>
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * A descriptor of the file, by a name the kernel can look up: it finds the
 * right file when that is deleted, replaced, or in another mount namespace.
 */
static const char *name_of(const struct plan_dso *d, char to[32])
{
	snprintf(to, 32, "/proc/self/fd/%d", d->fd);
	return to;
}

static int no_nop(const struct plan_dso *d, enum probe_role role, struct err *err)
{
	err_set(err, -ENOEXEC,
		"%s: there is no nop where its note says that probe %s:%s is: it would break when "
		"traced",
		d->path, d->probes.profile->provider, d->probes.profile->probes[role]);
	err_hint(err, "The file was changed in place, or its notes are wrong: build it again, and "
		      "replace files instead of writing over them.");
	return -ENOEXEC;
}

/*
 * Sites are trapped at their first byte, a one-byte nop: the fast and safe case
 * on every kernel; for the carrier there may be a better place, see place.h. A
 * 5-byte nop is refused where the kernel rewrites it into a call that destroys
 * the red zone and kills children. Anything but a nop is refused everywhere: a
 * breakpoint in the middle of an instruction breaks the program. The file is
 * asked before and after attaching, for it may be written over at any moment
 * since its notes were read.
 */
static int check_site(const struct plan_dso *d, enum probe_role role, struct err *err)
{
	const struct plan_site *s = &d->probes.sites[role];
	enum site_kind kind = site_kind_at(d->fd, s->offset);

	if (kind == SITE_NONE || kind == SITE_OTHER)
		return no_nop(d, role, err);
	if (kind != SITE_NOP5 || kernel_nops() != NOPS_UNSAFE)
		return 0;
	err_set(err, -ENOTSUP,
		"%s: probe %s:%s is a 5-byte nop, which this kernel (6.18 to 7.1) breaks "
		"programs at when it is traced",
		d->path, d->probes.profile->provider, d->probes.profile->probes[role]);
	err_hint(err, "Rebuild the program with the current vmspan.h, or run a kernel from 7.2 or "
		      "up to 6.17.");
	return -ENOTSUP;
}

static void attach_error(struct err *err, int code, u32 pid, const struct plan_dso *d,
			 enum probe_role role)
{
	const struct profile *p = d->probes.profile;
	char what[200], path[100];
	size_t n = strlen(d->path);

	if (code == -ESRCH) {
		err_set(err, code, "process %u ended while it was being attached to", pid);
		return;
	}
	snprintf(path, sizeof(path), "%s", n < sizeof(path) ? d->path : d->path + n - 99);
	if (code == -EINVAL && role != ROLE_FLUSH) {
		err_set(err, code,
			"%s: probe %s:%s is traced by another tool without its semaphore", path,
			p->provider, p->probes[role]);
		err_hint(err, "The kernel allows a probe with and without its semaphore not at the "
			      "same time: end the other tool.");
		return;
	}
	snprintf(what, sizeof(what), "attaching to probe %s:%s of %s", p->provider, p->probes[role],
		 path);
	kernel_error(err, code, what);
}

/* ---- Arguments ---- */

struct unreadable {
	const struct plan_dso *d;
	enum probe_role role;
	char *to;
	size_t size;
};

/* By libbpf (its usdt.c): registers, numbers, and memory by one register. */
static bool is_readable(const char *arg)
{
	struct probe_args a;
	const char *bad;

	return !probe_args_parse(arg, &a, &bad) && a.of[0].index == PROBE_NO_REGISTER;
}

static int find_unreadable(void *ctx, const struct elf_note *n)
{
	const struct unreadable *u = ctx;
	const struct profile *p = u->d->probes.profile;
	const char *at;

	if (strcmp(n->provider, p->provider) || strcmp(n->name, p->probes[u->role]))
		return 0;
	for (at = n->args + strspn(n->args, " "); *at; at += strspn(at, " ")) {
		size_t len = strcspn(at, " ");

		snprintf(u->to, u->size, "%.*s", (int)len, at);
		if (len >= u->size || !is_readable(u->to))
			return 1;
		at += len;
	}
	return 0;
}

/* Is it for one of its arguments that the probe cannot be attached to? */
static bool has_unreadable(const struct plan_dso *d, enum probe_role role, struct err *err)
{
	char arg[40];
	struct unreadable u = { d, role, arg, sizeof(arg) };

#ifndef __x86_64__
	return false;
#endif
	if (elf_notes_read(d->fd, find_unreadable, &u, NULL) != 1)
		return false;
	err_set(err, -ENODATA, "%s: probe %s:%s hands over %s, which cannot be read", d->path,
		d->probes.profile->provider, d->probes.profile->probes[role], arg);
	err_hint(err, "Arguments are read from general registers, numbers, and memory by one "
		      "register: build the program so that it has them there.");
	return true;
}

struct site_link *site_link_new(struct bpf_link *link, int fd)
{
	struct site_link *l = calloc(1, sizeof(*l));

	if (l) {
		l->link = link;
		l->fd = fd;
		return l;
	}
	bpf_link__destroy(link);
	if (fd >= 0)
		close(fd);
	errno = ENOMEM;
	return NULL;
}

/* pid 0: every process. NULL with errno. */
static struct site_link *attach_multi(struct bpf_program *prog, u32 pid, const struct plan_dso *d,
				      u64 offset, u64 semaphore_offset, u64 cookie)
{
	char name[32];
	const struct kernel_probes probes = { .path = name_of(d, name),
					      .offsets = &offset,
					      .semaphores =
						      semaphore_offset ? &semaphore_offset : NULL,
					      .cookies = cookie ? &cookie : NULL,
					      .count = 1,
					      .pid = pid };
	int fd = kernel_uprobe_multi(bpf_program__fd(prog), &probes);

	if (fd >= 0)
		return site_link_new(NULL, fd);
	errno = -fd;
	return NULL;
}

/* A perf event belongs to a thread, the breakpoint it makes to the process.
 * pid -1: every process. NULL with errno. */
static struct site_link *attach_perf(struct bpf_program *prog, int pid, const struct plan_dso *d,
				     u64 offset, u64 semaphore_offset, u64 cookie)
{
	LIBBPF_OPTS(bpf_uprobe_opts, opts, .ref_ctr_offset = semaphore_offset,
		    .bpf_cookie = cookie);
	struct bpf_link *link;
	char name[32];

	link = bpf_program__attach_uprobe_opts(prog, pid, name_of(d, name), offset, &opts);
	/* Before Linux 5.15 there are none. */
	if (!link && cookie && errno == EOPNOTSUPP)
		return attach_perf(prog, pid, d, offset, semaphore_offset, 0);
	return link ? site_link_new(link, -1) : NULL;
}

static struct site_link *checked(struct site_link *link, const struct plan_dso *d,
				 enum probe_role role, struct err *err)
{
	if (!check_site(d, role, err))
		return link;
	site_release(link);
	return NULL;
}

struct flush_site {
	struct tracer *t;
	const struct plan_dso *d;
	struct site_link *link;
	u64 at;
};

static int attach_flush(void *ctx, u64 offset)
{
	struct flush_site *f = ctx;

	const struct plan_site *own = &f->d->probes.sites[ROLE_FLUSH];
	u64 copy = plan_copy(f->d);
	/* From there to the file's copy of the SDK. */
	u64 cookie = copy ? copy - (own->address + offset - own->offset) : 0;

	f->at = offset;
	f->link = f->t->multi ? attach_multi(f->t->skel->progs.flush, 0, f->d, offset, 0, cookie)
			      : attach_perf(f->t->skel->progs.flush, -1, f->d, offset, 0, cookie);
	return f->link ? 0 : -errno;
}

struct site_link *site_flush(struct tracer *t, const struct plan_dso *d, struct err *err)
{
	u64 own = d->probes.sites[ROLE_FLUSH].offset, at[PLACES_MAX];
	struct flush_site f = { .t = t, .d = d };
	int r;

	if (check_site(d, ROLE_FLUSH, err))
		return NULL;
	r = places_try(at, places_in(d->fd, own, at), attach_flush, &f);
	if (r) {
		attach_error(err, r, 0, d, ROLE_FLUSH);
		return NULL;
	}
	if (f.at != own && places_in(d->fd, own, at) < 2) {
		site_release(f.link);
		no_nop(d, ROLE_FLUSH, err);
		return NULL;
	}
	return checked(f.link, d, ROLE_FLUSH, err);
}

/* Where the first thread has ended, any other will do. */
static int next_thread(u32 pid, u32 after)
{
	char path[48];
	struct dirent *e;
	u32 best = 0;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	d = opendir(path);
	if (!d)
		return -ESRCH;
	while ((e = readdir(d))) {
		u32 tid = (u32)strtoul(e->d_name, NULL, 10);

		if (tid > after && (!best || tid < best))
			best = tid;
	}
	closedir(d);
	return best ? (int)best : -ESRCH;
}

#define THREADS_TRIED 16

/*
 * A uprobe_multi link is either made or refused before anything is touched. A
 * perf event for a process that ends meanwhile is made and taken back, and with
 * it go the breakpoints of whoever no other link wants: children that live on
 * what they inherited.
 */
struct site_link *site_armed(struct tracer *t, u32 pid, const struct plan_dso *d, struct err *err)
{
	const struct plan_site *s = &d->probes.sites[ROLE_ARMED];
	int tid = (int)pid, after = 0, tries, r = -ESRCH;
	struct site_link *link;

	if (check_site(d, ROLE_ARMED, err))
		return NULL;
	if (t->has_multi && (t->multi || !task_has_ended(pid, pid))) {
		link = attach_multi(t->skel->progs.armed_multi, pid, d, s->offset,
				    s->semaphore_offset, 0);
		if (link)
			return checked(link, d, ROLE_ARMED, err);
		attach_error(err, -errno, pid, d, ROLE_ARMED);
		return NULL;
	}
	for (tries = 0; tries < THREADS_TRIED && tid > 0; tries++) {
		link = attach_perf(t->skel->progs.armed, tid, d, s->offset, s->semaphore_offset, 0);
		if (link)
			return checked(link, d, ROLE_ARMED, err);
		r = -errno;
		if (r != -ESRCH)
			break;
		tid = after = next_thread(pid, (u32)after);
	}
	attach_error(err, r, pid, d, ROLE_ARMED);
	return NULL;
}

/* Where its probes say that a copy of the SDK is there may be none: it has another `registry` then. */
static u64 cookie_of(const struct plan_dso *d, enum probe_role role)
{
	u64 copy = plan_copy(d);

	if (!copy || (d->registry && d->registry != copy + d->bias))
		return d->registry << 1;
	return (copy - d->probes.sites[role].address) | WIRE_COOKIE_COPY;
}

struct site_link *site_direct(struct tracer *t, u32 pid, const struct plan_dso *d,
			      enum probe_role role, struct err *err)
{
	struct bpf_program *const by_role[ROLE_COUNT] = {
		[ROLE_ENTER] = t->skel->progs.watch_enter,
		[ROLE_LEAVE] = t->skel->progs.watch_leave,
		[ROLE_EVENT_BEGIN] = t->skel->progs.watch_ev_begin,
		[ROLE_EVENT_END] = t->skel->progs.watch_ev_end,
		[ROLE_GC_BEGIN] = t->skel->progs.watch_gc_begin,
		[ROLE_GC_END] = t->skel->progs.watch_gc_end,
		[ROLE_BLOCK_BEGIN] = t->skel->progs.watch_bl_begin,
		[ROLE_BLOCK_END] = t->skel->progs.watch_bl_end,
		[ROLE_MARK] = t->skel->progs.watch_mark,
	};
	LIBBPF_OPTS(bpf_usdt_opts, opts, .usdt_cookie = cookie_of(d, role));
	struct site_link *made;
	struct bpf_link *link;
	char name[32];
	int r;

	if (check_site(d, role, err))
		return NULL;
	link = bpf_program__attach_usdt(by_role[role], (pid_t)pid, name_of(d, name),
					d->probes.profile->provider,
					d->probes.profile->probes[role], &opts);
	made = link ? site_link_new(link, -1) : NULL;
	if (made)
		return made;
	r = -errno;
	if ((r == -EPERM || r == -EACCES) && !kernel_has_cap(CAP_SYS_ADMIN)) {
		err_set_status(err, r, EXIT_PERMISSION,
			       "%s: the direct method is not permitted: it attaches perf events, "
			       "which takes CAP_SYS_ADMIN",
			       d->path);
		err_hint(err, "Run vmspan with sudo, or leave --method direct out: batches need no "
			      "more than CAP_BPF and CAP_PERFMON.");
		return NULL;
	}
	/* As libbpf says it. */
	if ((r != -EINVAL && r != -ENOENT) || !has_unreadable(d, role, err))
		attach_error(err, r, pid, d, role);
	return NULL;
}

void site_release(struct site_link *link)
{
	u32 i;

	if (!link)
		return;
	bpf_link__destroy(link->link);
	if (link->fd >= 0)
		close(link->fd);
	for (i = 0; i < link->set_count; i++)
		vm_args_give(link->args, link->sets[i]);
	free(link->sets);
	free(link);
}
