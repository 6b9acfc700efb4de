/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Targets by what they are, not by PID: every process, those of a name, those of
 * a control group. Those that are there are looked through once; those to come
 * are known by their exec, by the SDK's word that it has been loaded, or by the
 * name or control group they take. Programs with the SDK and stock VMs are found
 * alike.
 */
#include "source/live_int.h"
#include "source/live_late.h"

#include "base/task_stat.h"
#include "source/live_cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Processes without probes (yet) that are looked at again. Where more begin in a second, what is not looked at is
 * a loss. */
#define CANDIDATES_MAX 4096

bool sweep_wanted(const struct live_sweep *s)
{
	return s->all || s->comm_count || s->cgroup_count;
}

/* The kernel keeps 15 bytes of a name. */
static bool comm_is(const char *pattern, const char *comm)
{
	return !fnmatch(pattern, comm, 0) || (strlen(pattern) > 15 && !strncmp(pattern, comm, 15));
}

static bool matches(const struct live_sweep *s, u32 pid, const char *comm)
{
	u32 i;

	if (s->all)
		return true;
	for (i = 0; i < s->comm_count; i++)
		if (comm_is(s->comms[i], comm))
			return true;
	for (i = 0; i < s->cgroup_count; i++)
		if (cgroup_is(s->cgroups[i], pid))
			return true;
	return false;
}

/* It was named, and may not be looked into: that is said of it. */
static int take_denied(struct live *l, u32 pid, const struct err *why, struct err *first)
{
	struct process *p = process_new(l, pid, task_parent(pid));

	if (!p)
		return -ENOMEM;
	live_refused(p, why);
	/* ENOENT: of some of its files alone. Others may have what is looked for, or those to come. */
	if (!first->code && why->code != -ENOENT)
		*first = *why;
	return 0;
}

/* It is looked at again, and let go of if nothing is found then. */
static void candidate(struct live *l, struct process *p)
{
	p->candidate = true;
	l->candidates++;
}

/* One that is there. Errors of one process are not those of the sweep. */
static int take_present(struct live *l, u32 pid, struct err *first)
{
	struct err e = { 0 };
	struct process *p;
	struct plan plan;
	int r = plan_process(pid, &l->cache, &plan, &e);

	plan_free(&plan);
	if (r == -ENOENT) {
		struct err vm_err = { 0 };
		int v = live_vm_look(l, pid, &vm_err);

		/* Of its VM there are no words where it has none. */
		r = v;
		if (v != -ENOENT)
			e = vm_err;
	}
	if (r && r != -ENOTSUP && err_status(&e) == EXIT_PERMISSION && !l->sweep.all)
		return take_denied(l, pid, &e, first);
	if (r && r != -ENOTSUP)
		return 0;
	p = process_new(l, pid, task_parent(pid));
	if (!p)
		return -ENOMEM;
	e = (struct err){ 0 };
	r = tracer_trace(l->t, pid, &e);
	if (r)
		live_refused(p, &e);
	else
		r = process_look_present(l, p, &e);
	if (!r)
		return 0;
	if (r == -EAGAIN) {
		candidate(l, p);
		return 0;
	}
	if (!p->refused && (r == -ESRCH || r == -ENOENT || r == -ENOMEM)) {
		candidate(l, p);
		p->ended = true;
		return r == -ENOMEM ? r : 0;
	}
	/* A VM that cannot be looked into does not end the sweep, wherever it is alone. */
	if (!first->code && !(r == -ENOTSUP && l->vm_hz))
		*first = e;
	return 0;
}

int sweep_open(struct live *l, struct err *err)
{
	DIR *d = opendir("/proc");
	struct err first = { 0 };
	struct dirent *e;
	int r = 0;
	u32 i;

	for (i = 0; i < l->sweep.cgroup_count && !r; i++)
		r = cgroup_check(l->sweep.cgroups[i], err);
	if (!d && !r)
		r = err_set(err, -errno, "/proc cannot be read: %s", strerror(errno));
	while (!r && (e = readdir(d))) {
		u32 pid = (u32)strtoul(e->d_name, NULL, 10);
		char comm[16];

		/* Whom a traced process has forked meanwhile, its fork tells of. */
		if (!pid || pid == (u32)getpid() || process_find(l, pid) ||
		    tracer_traces_since_birth(l->t, pid))
			continue;
		process_read_name(pid, comm);
		if (matches(&l->sweep, pid, comm))
			r = take_present(l, pid, &first);
	}
	if (d)
		closedir(d);
	if (r)
		return err->code ? r : err_set(err, r, "no memory");
	/* Rights that are missing for all of them will be for those to come. */
	if (!l->attached_once && first.code) {
		*err = first;
		return first.code;
	}
	return 0;
}

static bool is_wanted(const struct live *l, u32 pid, const char *comm)
{
	return sweep_wanted(&l->sweep) && pid != (u32)getpid() && matches(&l->sweep, pid, comm);
}

int sweep_new(struct live *l, const struct wire_life *w)
{
	struct err e = { 0 };
	u64 named_ns = 0;
	struct process *p;
	char comm[16];

	memcpy(comm, w->comm, sizeof(comm));
	comm[sizeof(comm) - 1] = 0;
	if (!is_wanted(l, w->h.pid, comm)) {
		/* Up to here the kernel side has told nothing more of it: it may have been renamed
		 * or moved again meanwhile. */
		tracer_untrace(l->t, w->h.pid);
		process_read_name(w->h.pid, comm);
		if (!is_wanted(l, w->h.pid, comm))
			return 0;
		named_ns = clock_mono_ns();
	}
	if (l->candidates >= CANDIDATES_MAX) {
		tracer_untrace(l->t, w->h.pid);
		return live_emit_loss(l, LOSS_LIMIT, 1, 0);
	}
	p = process_new(l, w->h.pid, task_parent(w->h.pid));
	if (!p)
		return l->failed ? l->failed : (l->failed = -ENOMEM);
	memcpy(p->name, comm, sizeof(comm));
	p->exec_ns = w->mono_ns;
	p->named_ns = named_ns;
	candidate(l, p);
	if (w->h.kind == WIRE_LOADED && process_loads(l, p, w))
		return l->failed;
	/* The kernel side has put it there already, unless the map was full. */
	if (!tracer_trace(l->t, p->pid, &e)) {
		process_look(l, p, &e);
		return 0;
	}
	/* There is no doubt about it, as about what a look finds. */
	p->exec_ns = 0;
	live_refused(p, &e);
	return 0;
}
