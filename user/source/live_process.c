/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processes under the trace.
 *
 * A forked child inherits its parent's breakpoints and semaphore, so it is
 * traced from its first instruction on links that belong to its parent. The
 * kernel takes both away from it when any link of that file is detached whose
 * filter does not match the child, and nothing can be told from here about a
 * child that is just being born. So a child that lives gets links of its own,
 * one that is short-lived never does, and links of the dead are kept: they cost
 * the target nothing. Only when there are many of them some are detached, at a
 * moment when no child is known that would suffer.
 */
#include "source/live_int.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A child of this age is worth links of its own. */
#define LINK_NS (50 * NSEC_PER_MSEC)
/* Links of the dead that are kept. Some more wait for a quiet moment; no more
 * than that, for each is two descriptors. */
#define BURIED_KEPT 64
#define BURIED_MAX 256
/* Detaching takes some 30 ms each, in which nobody drains the ring. */
#define DETACH_AT_ONCE 2

struct process *process_find(const struct live *l, u32 pid)
{
	u64 *at = map_get(&l->processes, pid);

	return at ? (struct process *)(uintptr_t)*at : NULL;
}

void process_read_name(u32 pid, char to[16])
{
	char path[48];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/comm", pid);
	f = fopen(path, "re");
	*to = 0;
	if (!f)
		return;
	if (!fgets(to, 16, f))
		*to = 0;
	to[strcspn(to, "\n")] = 0;
	fclose(f);
}

struct process *process_new(struct live *l, u32 pid, u32 ppid)
{
	struct process *p = process_find(l, pid);

	if (p && process_end(l, p, clock_mono_ns()))
		return NULL;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->pid = pid;
	p->ppid = ppid;
	p->number = ++l->process_last;
	p->vm = "";
	process_read_name(pid, p->name);
	/* Where there are no pidfds (before 5.3) the exit record alone tells. */
	p->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (map_put(&l->processes, pid, (u64)(uintptr_t)p)) {
		if (p->pidfd >= 0)
			close(p->pidfd);
		free(p);
		return NULL;
	}
	if (p->pidfd >= 0)
		ring_watch_pidfd(&l->ring, p->pidfd, pid);
	else if (errno == ESRCH)
		p->ended = true;
	return p;
}

static int emit_change(struct live *l, const struct process *p, enum process_change change,
		       u64 mono_ns)
{
	struct item it = { .type = ITEM_PROCESS,
			   .process = { .change = change,
					.pid = p->pid,
					.ppid = p->ppid,
					.mono_ns = mono_ns,
					.name = p->name,
					.vm = p->vm } };

	return live_emit(l, &it);
}

int process_tell(struct live *l, struct process *p)
{
	if (p->told)
		return 0;
	p->told = true;
	return emit_change(l, p, PROCESS_SEEN, clock_mono_ns());
}

/* ---- Attachments ---- */

static struct carrier *carrier_get(struct live *l, const struct plan_dso *d, struct err *err)
{
	struct carrier **grown, *c;
	u32 i;

	for (i = 0; i < l->carrier_count; i++) {
		c = l->carriers[i];
		if (c->dev == d->dev && c->inode == d->inode) {
			c->users++;
			return c;
		}
	}
	grown = realloc(l->carriers, (l->carrier_count + 1) * sizeof(struct carrier *));
	c = grown ? calloc(1, sizeof(*c)) : NULL;
	if (grown)
		l->carriers = grown;
	if (!c) {
		err_set(err, -ENOMEM, "no memory");
		return NULL;
	}
	c->link = site_flush(l->t, d, err);
	if (!c->link) {
		free(c);
		return NULL;
	}
	c->dev = d->dev;
	c->inode = d->inode;
	c->users = 1;
	l->carriers[l->carrier_count++] = c;
	return c;
}

static void carrier_put(struct live *l, struct carrier *c)
{
	u32 i;

	if (!c || --c->users)
		return;
	for (i = 0; i < l->carrier_count; i++)
		if (l->carriers[i] == c)
			l->carriers[i] = l->carriers[--l->carrier_count];
	site_release(c->link);
	free(c);
}

/* The marks of the file stop; its carrier stays. */
static void detach_links(struct attachment *a)
{
	site_release(a->armed);
	a->armed = NULL;
	while (a->count)
		site_detach(a->links[--a->count]);
}

static void attachment_free(struct live *l, struct attachment *a)
{
	detach_links(a);
	carrier_put(l, a->carrier);
	free(a);
}

static void bury(struct live *l, struct attachment **at)
{
	struct attachment *a = *at;

	*at = a->next;
	a->next = l->buried;
	l->buried = a;
}

static int attach_direct(struct live *l, struct process *p, const struct plan_dso *d,
			 struct attachment *a, struct err *err)
{
	int role;

	for (role = ROLE_ENTER; role < ROLE_COUNT; role++) {
		if (!d->probes.sites[role].offset)
			continue;
		a->links[a->count] = site_direct(l->t, p->pid, d, (enum probe_role)role, err);
		if (!a->links[a->count])
			return -1;
		a->count++;
	}
	return 0;
}

static int attach_flush(struct live *l, struct process *p, const struct plan_dso *d,
			struct attachment *a, struct err *err)
{
	if (l->s.info.clock != CLOCK_TSC)
		return err_set(err, -ENOTSUP,
			       "%s: batches are measured in TSC cycles, and another target can "
			       "only be measured by the monotonic clock here: trace them apart",
			       d->path);
	/* The carrier first: the first mark may fill a batch. */
	a->carrier = carrier_get(l, d, err);
	if (!a->carrier)
		return -1;
	if (d->registry)
		registry_new_session(p->pid, d->registry);
	a->armed = site_armed(l->t, p->pid, d, err);
	return a->armed ? 0 : -1;
}

static bool wants_direct(const struct live *l, const struct plan_dso *d)
{
	return l->method == METHOD_DIRECT || (l->method == METHOD_AUTO && !plan_has_flush(d));
}

/* 0 also when the file has nothing for the method that was asked for. */
static int attach_dso(struct live *l, struct process *p, const struct plan_dso *d, struct err *err)
{
	bool direct = wants_direct(l, d);
	struct vmspan_registry head;
	struct attachment *a;
	int r;

	if (!(direct ? plan_has_direct(d) : plan_has_flush(d)))
		return 0;
	if (d->registry && target_registry(p->pid, d->registry, &head) == -ENOTSUP) {
		err_set(err, -ENOTSUP, "%s: built with a vmspan.h of ABI %u, this is ABI %u",
			d->path, head.abi, VMSPAN_ABI);
		err_hint(err, "Use the vmspan that belongs to the program's vmspan.h.");
		return -ENOTSUP;
	}
	for (a = p->attachments; a; a = a->next)
		if (a->dev == d->dev && a->inode == d->inode)
			break;
	if (!a) {
		a = calloc(1, sizeof(*a));
		if (!a)
			return err_set(err, -ENOMEM, "no memory");
		a->dev = d->dev;
		a->inode = d->inode;
		r = direct ? attach_direct(l, p, d, a, err) : attach_flush(l, p, d, a, err);
		if (r) {
			attachment_free(l, a);
			return err->code;
		}
		a->next = p->attachments;
		p->attachments = a;
	}
	if (d->registry)
		live_registry_at(p, d->registry);
	p->vm = d->probes.profile->name;
	l->attached_once = true;
	return 0;
}

/* What an exec has unmapped is detached later. */
static void drop_unmapped(struct live *l, struct process *p, const struct plan *plan)
{
	struct attachment **at = &p->attachments;
	u32 i;

	while (*at) {
		for (i = 0; i < plan->count; i++)
			if (plan->dsos[i].dev == (*at)->dev && plan->dsos[i].inode == (*at)->inode)
				break;
		if (i < plan->count)
			at = &(*at)->next;
		else
			bury(l, at);
	}
}

int process_attach_file(struct live *l, struct process *p, const struct plan *plan, struct err *err)
{
	int r = 0;
	u32 i;

	for (i = 0; i < plan->count && !r; i++)
		r = attach_dso(l, p, &plan->dsos[i], err);
	return r;
}

static int no_method(const struct live *l, const struct process *p, struct err *err)
{
	if (l->method == METHOD_DIRECT)
		err_hint(err, "Build the target with -DVMSPAN_PROBES, or leave the method out.");
	return err_set_status(err, -ENOENT, EXIT_NOTHING,
			      "process %u: it has probes, but not those of the method asked for",
			      p->pid);
}

static void not_candidate(struct live *l, struct process *p)
{
	if (p->candidate && l->candidates)
		l->candidates--;
	p->candidate = false;
}

int process_attach(struct live *l, struct process *p, struct err *err)
{
	struct plan plan;
	int r;

	p->looked_ns = clock_mono_ns();
	r = plan_process(p->pid, &l->cache, &plan, err);
	if (r == -ENOENT && l->vm_hz) {
		struct err vm_err = { 0 };
		int v = live_vm_attach(l, p, &vm_err);

		if (v != -ENOENT) {
			if (!v)
				not_candidate(l, p);
			*err = vm_err;
			return v;
		}
	}
	if (!r || r == -ENOENT)
		drop_unmapped(l, p, &plan);
	if (!r)
		r = process_attach_file(l, p, &plan, err);
	if (!r && !p->attachments)
		r = no_method(l, p, err);
	plan_free(&plan);
	if (p->attachments)
		not_candidate(l, p);
	return r;
}

int process_defs(struct live *l, struct process *p)
{
	u32 i;

	/* Else they are read before its first batch. */
	for (i = 0; i < p->registry_count && p->told; i++)
		if (registry_read(l, p, &p->registries[i]))
			break;
	return l->failed;
}

/* ---- Fork, exec, exit ---- */

static void set_name(struct process *p, const struct wire_life *w)
{
	memcpy(p->name, w->comm, sizeof(p->name));
	p->name[sizeof(p->name) - 1] = 0;
}

int process_fork(struct live *l, const struct wire_life *w)
{
	struct process *parent = process_find(l, w->h.pid), *p;
	u32 i;

	/* The parent's exec was of no concern. */
	if (!parent && sweep_wanted(&l->sweep)) {
		tracer_untrace(l->t, w->other);
		return 0;
	}
	/* Found by a look at /proc after its parent was traced. */
	p = process_find(l, w->other);
	if (p && p->adopted) {
		p->adopted = false;
		return 0;
	}
	p = process_new(l, w->other, w->h.pid);
	if (!p)
		return l->failed ? l->failed : (l->failed = -ENOMEM);
	set_name(p, w);
	p->unlinked = true;
	p->link_ns = clock_mono_ns() + LINK_NS;
	if (parent && parent->candidate) {
		p->candidate = true;
		l->candidates++;
		p->rescans = parent->rescans;
		p->rescan_ns = parent->rescan_ns;
	}
	if (parent) {
		p->vm = parent->vm;
		p->vm_profile = parent->vm_profile;
		for (i = 0; i < parent->registry_count; i++) {
			struct registry *r = live_registry_at(p, parent->registries[i].address);

			if (r)
				registry_copy(r, &parent->registries[i]);
		}
	}
	/* The child inherits definitions, and may have ended before its own log
	 * can be read: so its parent's must have been handed out. */
	if (parent && parent->registry_count &&
	    (process_tell(l, parent) || process_defs(l, parent)))
		return l->failed;
	p->told = parent && parent->told;
	return p->told ? emit_change(l, p, PROCESS_FORK, w->mono_ns) : 0;
}

static void forget_memory(struct process *p)
{
	u32 i;

	for (i = 0; i < p->registry_count; i++)
		live_registry_free(&p->registries[i]);
	free(p->registries);
	p->registries = NULL;
	p->registry_count = 0;
	map_free(&p->threads);
	live_vm_free(p);
	p->vm_profile = NULL;
}

/* The loader maps libraries after the exec; ours may be among them. The first
 * look is taken at once, then after 4 ms, 16 ms ... 1 s. */
#define RESCANS 5
#define RESCAN_FIRST_NS (4 * NSEC_PER_MSEC)

static void look_later(struct process *p)
{
	p->rescan_ns = clock_mono_ns() + (RESCAN_FIRST_NS << 2 * (RESCANS - p->rescans));
}

void process_look(struct live *l, struct process *p)
{
	struct err ignored = { 0 };

	/* It need not have probes: then its children may. */
	if (!process_attach(l, p, &ignored))
		p->unlinked = false;
	p->rescans = RESCANS;
	look_later(p);
}

int process_loaded(struct live *l, const struct wire_life *w)
{
	struct process *p = process_find(l, w->h.pid);

	if (!p)
		return sweep_new(l, w);
	/* The target says so, as often as it likes. */
	p->rescans = p->rescans ? p->rescans : 1;
	p->rescan_ns = p->looked_ns + RESCAN_FIRST_NS;
	return 0;
}

int process_exec(struct live *l, const struct wire_life *w)
{
	struct process *p = process_find(l, w->h.pid);
	bool first;

	if (!p)
		return sweep_new(l, w);
	first = p->command;
	p->command = false;
	forget_memory(p);
	set_name(p, w);
	if (!first)
		p->vm = "";
	process_look(l, p);
	/* The exec that makes the command what it is, is no change of it. */
	if (!first && p->told && emit_change(l, p, PROCESS_EXEC, w->mono_ns))
		return l->failed;
	return process_defs(l, p);
}

int process_end(struct live *l, struct process *p, u64 mono_ns)
{
	if (p->told)
		emit_change(l, p, PROCESS_EXIT, mono_ns);
	if (!tracer_has_life(l->t) || p->candidate)
		tracer_untrace(l->t, p->pid);
	not_candidate(l, p);
	if (l->command.pid == (int)p->pid)
		command_reap(&l->command, true);
	while (p->attachments)
		bury(l, &p->attachments);
	map_del(&l->processes, p->pid);
	process_free(l, p);
	return l->failed;
}

void process_free(struct live *l, struct process *p)
{
	struct attachment *a;

	while ((a = p->attachments)) {
		p->attachments = a->next;
		attachment_free(l, a);
	}
	forget_memory(p);
	if (p->pidfd >= 0)
		close(p->pidfd);
	free(p);
}

int process_thread(struct live *l, struct process *p, u32 tid)
{
	struct item it = { .type = ITEM_THREAD };
	char path[64], name[32] = "";
	FILE *f;

	if (map_get(&p->threads, tid))
		return 0;
	if (map_put(&p->threads, tid, 1))
		return 0;
	snprintf(path, sizeof(path), "/proc/%u/task/%u/comm", p->pid, tid);
	f = fopen(path, "re");
	if (f) {
		if (!fgets(name, sizeof(name), f))
			name[0] = 0;
		name[strcspn(name, "\n")] = 0;
		fclose(f);
	}
	it.thread = (struct item_thread){
		.pid = p->pid, .tid = tid, .mono_ns = clock_mono_ns(), .name = name
	};
	return live_emit(l, &it);
}

/* ---- At quiet moments ---- */

u64 process_next_rescan(const struct live *l)
{
	u64 next = UINT64_MAX, key, value;
	size_t at = 0;

	while (map_next(&l->processes, &at, &key, &value)) {
		const struct process *p = (const struct process *)(uintptr_t)value;

		if (p->rescans)
			next = min_u64(next, p->rescan_ns);
		if (p->unlinked)
			next = min_u64(next, p->link_ns);
	}
	return next;
}

static int settle_one(struct live *l, struct process *p, u64 now)
{
	struct err ignored = { 0 };
	u32 i;

	if (p->unlinked && now >= p->link_ns) {
		/* A process that has just ended says so by its exit record. */
		process_attach(l, p, &ignored);
		p->unlinked = false;
	}
	if (p->rescans && now >= p->rescan_ns) {
		p->rescans--;
		look_later(p);
		process_attach(l, p, &ignored);
		for (i = 0; i < p->registry_count && p->told; i++)
			if (!p->registries[i].read_ns && registry_read(l, p, &p->registries[i]))
				return l->failed;
	}
	/* A sweep's processes that turn out to have nothing are let go. */
	p->ended |= p->candidate && !p->rescans && !p->unlinked;
	for (i = 0; i < p->registry_count; i++)
		if (p->registries[i].due && now - p->registries[i].read_ns >= REREAD_NS &&
		    registry_read(l, p, &p->registries[i]))
			return l->failed;
	return 0;
}

static struct process *ended_one(const struct live *l)
{
	u64 key, value;
	size_t at = 0;

	while (map_next(&l->processes, &at, &key, &value)) {
		struct process *p = (struct process *)(uintptr_t)value;

		if (p->ended)
			return p;
	}
	return NULL;
}

/* True when a child lives on links that are not its own. */
static bool has_unlinked(const struct live *l)
{
	u64 key, value;
	size_t at = 0;

	while (map_next(&l->processes, &at, &key, &value))
		if (((struct process *)(uintptr_t)value)->unlinked)
			return true;
	return false;
}

/* The oldest are at the end of the list. */
static void detach_some(struct live *l, bool idle)
{
	struct attachment *a, **at;
	u32 count = 0, n;

	for (a = l->buried; a; a = a->next)
		count++;
	if (count <= BURIED_KEPT || (count < BURIED_MAX && (!idle || has_unlinked(l))))
		return;
	for (n = 0; n < DETACH_AT_ONCE; n++) {
		for (at = &l->buried; (*at)->next; at = &(*at)->next)
			;
		a = *at;
		*at = NULL;
		attachment_free(l, a);
	}
}

int process_settle(struct live *l, bool idle)
{
	u64 now = clock_mono_ns(), key, value;
	struct process *p;
	size_t at = 0;

	/* The exit record of a process comes before its pidfd tells of it, so
	 * with the ring empty it was lost, or there are none here. */
	while ((p = ended_one(l)))
		if (process_end(l, p, now))
			return l->failed;
	while (map_next(&l->processes, &at, &key, &value))
		if (settle_one(l, (struct process *)(uintptr_t)value, now))
			return l->failed;
	detach_some(l, idle);
	return 0;
}

void process_free_buried(struct live *l)
{
	struct attachment *a;

	while ((a = l->buried)) {
		l->buried = a->next;
		attachment_free(l, a);
	}
}

void process_disarm_all(struct live *l)
{
	struct attachment *a;
	u64 key, value;
	size_t at = 0;

	while (map_next(&l->processes, &at, &key, &value))
		for (a = ((struct process *)(uintptr_t)value)->attachments; a; a = a->next)
			detach_links(a);
	for (a = l->buried; a; a = a->next)
		detach_links(a);
}

void process_detach_all(struct live *l)
{
	u32 i;

	for (i = 0; i < l->carrier_count; i++) {
		site_release(l->carriers[i]->link);
		l->carriers[i]->link = NULL;
	}
}
