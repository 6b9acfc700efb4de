/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The links of processes: which files of theirs are attached to, and for how long.
 *
 * A forked child inherits its parent's breakpoints and semaphore, so it is
 * traced from its first instruction on links that belong to its parent. The
 * kernel takes both away from it when any link of that file is detached whose
 * filter does not match the child, be it another tracer's. So a child that lives
 * gets links of its own, one that is short-lived never does, and links of the
 * dead are kept, for they cost the target nothing. Only when there are many of
 * them some are detached, at a moment when no child is known that would suffer.
 * One that was just being born then is found by its semaphore: it is armed
 * again, and what it may have lost is counted.
 */
#include "source/live_int.h"
#include "source/live_late.h"

#include "base/task_stat.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Links of the dead that are kept. Some more wait for a quiet moment; no more
 * than that, for each is a descriptor. */
#define BURIED_KEPT 256
#define BURIED_MAX 1024
/* Detaching takes some 30 ms each, in which nobody drains the ring. */
#define DETACH_AT_ONCE 2

/* Without its link. */
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

static void disarm(struct attachment *a)
{
	site_release(a->armed);
	a->armed = NULL;
}

/* The marks of the file stop; its carrier stays. */
static void detach_links(struct attachment *a)
{
	disarm(a);
	links_drop(&a->links, a->vm, TRACE_PARTS);
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

/* What defines the ids of a copy of the SDK. NULL: nothing yet, or it cannot be read. */
static struct registry *registry_of(struct process *p, const struct plan_dso *d)
{
	u64 address;
	bool abi1;

	if (!d->registry || target_definer(p->pid, d->registry, &address, &abi1))
		return NULL;
	return live_registry_of(p, d->registry);
}

/* The first mark of version 2 is heard of as it is made. Version 1 tells of what has ended: of one that
 * hangs in its first stay nothing comes. */
static void expect_marks(struct process *p, const struct registry *r)
{
	if (!r || !r->abi1)
		live_silence_begin(p);
}

static int attach_flush(struct live *l, struct process *p, const struct plan_dso *d,
			struct attachment *a, struct err *err)
{
	struct registry *r;

	if (l->s.info.clock != CLOCK_TSC)
		return err_set(err, -ENOTSUP,
			       "%s: its marks are in TSC cycles, and another target can only "
			       "be measured by the monotonic clock here: trace them apart",
			       d->path);
	/* The carrier first: the first mark may fill a batch. */
	if (!a->carrier)
		a->carrier = carrier_get(l, d, err);
	if (!a->carrier)
		return -1;
	if (!part_wanted(l, TRACE_TURNS))
		return 0;
	if (!a->carrier->link)
		a->carrier->link = site_flush(l->t, d, err);
	if (!a->carrier->link)
		return -1;
	/* A stock VM may load a library that has marks, or execute them while it is found to be one. */
	if (l->s.info.exact)
		tracer_join_process(l->t, p->pid);
	if (a->armed) {
		/* An exec has given the file another place, maybe. */
		if (d->registry)
			tracer_armed(l->t, p->pid, d->registry);
		expect_marks(p, registry_of(p, d));
		return 0;
	}
	r = registry_of(p, d);
	if (r && r->abi1)
		registry_new_session(p->pid, r->address);
	else
		live_rings_begin(l, p, r);
	a->armed = site_armed(l->t, p->pid, d, err);
	if (a->armed && d->registry)
		tracer_armed(l->t, p->pid, d->registry);
	if (a->armed)
		expect_marks(p, r);
	return a->armed ? 0 : -1;
}

static bool wants_direct(const struct live *l, const struct plan_dso *d)
{
	return l->method == METHOD_DIRECT ||
	       (l->method == METHOD_AUTO && l->direct && !plan_has_flush(d));
}

bool process_is_program(u32 pid, u64 dev, u64 inode)
{
	struct stat st;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%u/exe", task_living(pid));
	return !stat(path, &st) && st.st_dev == dev && st.st_ino == inode;
}

/* Where its registry would be there may be none: its probes are of its own making. */
static int check_registry(struct process *p, struct plan_dso *d, bool direct, struct err *err)
{
	struct vmspan_registry head;
	int r = d->registry ? target_registry(p->pid, d->registry, &head) : -EBADMSG;

	/* (Of a command that has not begun, nobody knows yet where its registry will be.) */
	if (direct && r == -EBADMSG && !(p->command && d->probes.profile->registry))
		d->registry = NUMBERS_FIRST + profile_place(d->probes.profile);
	if (r != -ENOTSUP)
		return 0;
	err_set(err, -ENOTSUP, "%s: built with a vmspan.h of ABI %u, this is ABI %u", d->path,
		head.abi, VMSPAN_ABI);
	err_hint(err, "Use the vmspan that belongs to the program's vmspan.h.");
	return -ENOTSUP;
}

/* 0 also when the file has nothing for the method that was asked for. */
static int attach_dso(struct live *l, struct process *p, struct plan_dso *d, struct err *err)
{
	bool direct = wants_direct(l, d);
	/* Before its marks are on: with them it may run, and be gone at once. */
	u32 which = copy_which(p->pid, d->registry);
	struct attachment *a;
	int r;

	l->passed_by |= !direct && !plan_has_flush(d);
	if (!(direct ? plan_has_direct(d) : plan_has_flush(d)))
		return 0;
	r = check_registry(p, d, direct, err);
	if (r)
		return r;
	for (a = p->attachments; a; a = a->next)
		if (a->dev == d->dev && a->inode == d->inode)
			break;
	if (!a && direct)
		a = direct_again(l, p, d);
	if (!a) {
		a = calloc(1, sizeof(*a));
		if (!a)
			return err_set(err, -ENOMEM, "no memory");
		a->pid = p->pid;
		a->dev = d->dev;
		a->inode = d->inode;
		/* What is found at once has begun at once. */
		if (p->asked_ns != p->looked_ns)
			p->waits = process_waits(p);
		p->asked_ns = p->looked_ns;
		if (live_rings_read_out(l, p)) {
			attachment_free(l, a);
			return l->failed;
		}
		r = direct ? direct_attach(l, p, d, a, err) : attach_flush(l, p, d, a, err);
		if (r) {
			attachment_free(l, a);
			return err->code;
		}
		a->armed_ns = clock_mono_ns();
		if (process_armed(l, p, a->armed_ns)) {
			attachment_free(l, a);
			return l->failed;
		}
		a->next = p->attachments;
		p->attachments = a;
	} else if (direct ? direct_attach(l, p, d, a, err) : attach_flush(l, p, d, a, err)) {
		return err->code; /* a part that came back */
	}
	a->copy_seen = d->registry;
	a->which = which ? which : copy_which(p->pid, d->registry);
	live_refuse_places(p, d, direct);
	if (registry_of(p, d))
		live_rings_tell(l, p);
	if (process_is_program(p->pid, d->dev, d->inode))
		p->own_copy = d->registry;
	p->vm = d->probes.profile->name;
	l->attached_once = true;
	return 0;
}

/* What has been unmapped is detached later. */
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
	else
		err_hint(err, "--method direct takes a trap for each of its marks.");
	return err_set_status(err, -ENOENT, EXIT_NOTHING,
			      "process %u: it has probes, but not those of the method asked for",
			      p->pid);
}

/*
 * Files and probes are found and attached to by PID. That all of it was this
 * process is certain only while it lives: what it was that took its PID must
 * not keep the links.
 */
static int check_reused(struct live *l, struct process *p, const struct attachment *before,
			struct err *err)
{
	struct attachment *a;
	int other;
	bool alive;

	if (!process_is_over(p->pidfd))
		return 0;
	other = process_pidfd(p->pid);
	alive = other >= 0 && !process_is_over(other);
	if (other >= 0)
		close(other);
	if (!alive)
		return 0;
	while ((a = p->attachments) != before) {
		p->attachments = a->next;
		attachment_free(l, a);
	}
	return err_set(err, -ESRCH,
		       "process %u ended while it was being attached to, and another has its "
		       "number now",
		       p->pid);
}

/* Is there a copy of the SDK at this address, and no tracer of its marks? */
static bool is_off(u32 pid, u64 copy)
{
	struct vmspan_registry head;

	return !target_registry(pid, copy, &head) && !head.semaphore;
}

/* Marks that are off although this tracer has not turned them off. */
static bool has_lost_marks(const struct process *p)
{
	u64 copy, address;
	size_t at = 0;

	/* A library that a child has loaded may lie where one of its parent's lay, and wait. */
	if (p->own_copy || p->loaded)
		return p->own_copy && is_off(p->pid, p->own_copy);
	while (map_next(&p->copies, &at, &copy, &address))
		if (is_off(p->pid, copy))
			return true;
	return false;
}

/* Have others turned the marks of a child off that lives on what it has inherited? Of those whose parent
 * had not been armed yet they were never on. */
static bool others_disarmed(struct live *l, const struct process *p)
{
	return p->unlinked && p->by_batches && p->link_ns && l->parts[TRACE_TURNS].on &&
	       !l->marks_off && has_lost_marks(p);
}

/* How many marks there were while they were off nobody knows. */
static int tell_disarmed(struct live *l)
{
	return live_emit_loss(l, LOSS_MARKS_OFF, 1, 0);
}

/* What is traced of it may not be all that there is. */
static void tell_denied(struct process *p, const struct plan *plan)
{
	p->denied = plan->denied;
	if (p->denied > p->denied_said)
		live_refused(p, &plan->left_out);
}

static int look_and_attach(struct live *l, struct process *p, struct err *err)
{
	bool disarmed = others_disarmed(l, p);
	const struct attachment *before;
	struct plan plan;
	int r;

	p->looked_ns = clock_mono_ns();
	r = plan_process(p->pid, &l->cache, &plan, err);
	p->found = !r;
	if (r == -ENOENT && l->vm_hz) {
		struct err vm_err = { 0 };
		int v = live_vm_attach(l, p, &vm_err);

		if (v != -ENOENT) {
			if (!v) {
				process_not_candidate(l, p);
				tell_denied(p, &plan);
			}
			/* Whatever is with its VM, it has no marks. */
			r = process_looked(l, p, v && !live_is_inconclusive(p, v) ? -ENOENT : v);
			plan_free(&plan);
			*err = vm_err;
			return r ? r : v;
		}
	}
	if (!r || r == -ENOENT)
		drop_unmapped(l, p, &plan);
	before = p->attachments;
	if (!r)
		r = process_attach_file(l, p, &plan, err);
	if (!r)
		r = check_reused(l, p, before, err);
	/* As soon as marks are on, so that none falls between, and no later: it may end or exec before
	 * it has something to say. */
	if (!r && !p->told && process_defs(l, p))
		r = err_set(err, l->failed, "no memory for the definitions");
	if (!r && !p->attachments)
		r = no_method(l, p, err);
	if (!r)
		tell_denied(p, &plan);
	plan_free(&plan);
	if (p->attachments)
		process_not_candidate(l, p);
	if (process_looked(l, p, r))
		return l->failed;
	/* One that could not be attached to, the kernel side tells of as it ends, if it can look then. */
	if (disarmed && (!r || !l->tails) && tell_disarmed(l))
		return l->failed;
	return r;
}

int process_attach(struct live *l, struct process *p, struct err *err)
{
	struct err *before = p->refused;
	int r;

	p->refused = NULL;
	p->begins = false;
	r = look_and_attach(l, p, err);
	live_looked(l, p, before, r, err);
	return r;
}

/* ---- The way back ---- */

void attachments_bury(struct live *l, struct process *p)
{
	while (p->attachments)
		bury(l, &p->attachments);
}

bool attachments_by_batches(const struct process *p)
{
	const struct attachment *a;

	if (!p || p->vm_profile)
		return false;
	for (a = p->attachments; a; a = a->next)
		if (!a->carrier)
			return false;
	return p->attachments || p->by_batches;
}

void attachments_free(struct live *l, struct process *p)
{
	struct attachment *a;

	while ((a = p->attachments)) {
		p->attachments = a->next;
		attachment_free(l, a);
	}
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

bool attachments_armed(const struct process *p)
{
	const struct attachment *a;

	for (a = p->attachments; a; a = a->next)
		if (a->armed)
			return true;
	return false;
}

bool attachments_of_marks(const struct process *p)
{
	const struct attachment *a;

	for (a = p->attachments; a; a = a->next)
		if (!a->vm)
			return true;
	return false;
}

bool process_has_ended(const struct process *p)
{
	struct pollfd end = { .fd = p->pidfd, .events = POLLIN };

	return p->ended || (p->pidfd >= 0 && poll(&end, 1, 0) > 0);
}

int process_link(struct live *l, struct process *p)
{
	struct err ignored = { 0 };
	u64 rescan_ns = p->rescan_ns;
	u32 rescans = p->rescans;

	if (process_young(l, p))
		return l->failed;
	/* Of one that has ended the kernel side tells, if it can look then: its memory is gone. */
	if (process_has_ended(p))
		return 0;
	process_look_present(l, p, &ignored);
	/* A sweep's candidate is looked at for as long as its parent. */
	if (!p->rescans) {
		p->rescans = rescans;
		p->rescan_ns = rescan_ns;
	}
	return l->failed;
}

/* Whoever lives on links that are not its own gets some. */
static void link_all(struct live *l)
{
	u64 key, value;
	size_t at = 0;

	while (!l->failed && map_next(&l->processes, &at, &key, &value)) {
		struct process *p = (struct process *)(uintptr_t)value;

		if (p->unlinked)
			process_link(l, p);
	}
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
	link_all(l);
	l->doubt_begin_ns = clock_mono_ns();
	for (n = 0; n < DETACH_AT_ONCE; n++) {
		for (at = &l->buried; (*at)->next; at = &(*at)->next)
			;
		a = *at;
		*at = NULL;
		attachment_free(l, a);
	}
	l->doubt_end_ns = clock_mono_ns();
}

/* The children that were born while links were being detached. */
static int rearm(struct live *l)
{
	u64 key, value;
	size_t at = 0;

	l->doubt_end_ns = 0;
	while (!l->failed && map_next(&l->processes, &at, &key, &value)) {
		struct process *p = (struct process *)(uintptr_t)value;

		if (others_disarmed(l, p))
			process_link(l, p);
	}
	return l->failed;
}

void attachments_ended(struct live *l, const struct process *p, u64 mono_ns)
{
	if (p->unlinked && p->by_batches && p->told && p->forked_ns < l->doubt_end_ns &&
	    mono_ns > l->doubt_begin_ns)
		live_emit_loss(l, LOSS_MARKS_OFF, 1, 0);
}

int attachments_thin(struct live *l, bool idle)
{
	/* The news of births while links were detached have been drained by now. */
	if (l->doubt_end_ns && rearm(l))
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

/* Both sides know whether it is the tracer itself who has turned them off. */
static void set_marks_off(struct live *l, bool off)
{
	l->marks_off = off;
	tracer_marks_off(l->t, off);
}

/* At the end of the trace links of the dead are left until all has been handed over: it would take seconds, in which
 * others still run. A child without links of its own is turned off by some of them. */
static void detach_all(struct live *l, void (*detach)(struct attachment *a))
{
	bool dead_too = !l->detached || has_unlinked(l);
	struct attachment *a;
	u64 key, value;
	size_t at = 0;

	while (map_next(&l->processes, &at, &key, &value))
		for (a = ((struct process *)(uintptr_t)value)->attachments; a; a = a->next)
			detach(a);
	for (a = l->buried; a; a = a->next)
		if (dead_too || process_find(l, a->pid))
			detach(a);
}

void process_disarm_all(struct live *l)
{
	u64 key, value;
	size_t at = 0;

	/* Before it cannot be told any more who has turned them off. */
	while (map_next(&l->processes, &at, &key, &value))
		if (others_disarmed(l, (struct process *)(uintptr_t)value))
			tell_disarmed(l);
	at = 0;
	set_marks_off(l, true);
	detach_all(l, disarm);
	while (map_next(&l->processes, &at, &key, &value))
		direct_ends(l, (const struct process *)(uintptr_t)value);
	/* Detaching probes takes a while, in which what threads are in would pass for hanging. */
	clock_read(l->s.info.clock, &l->marks_off_at);
	detach_all(l, detach_links);
	l->paused |= !l->detached;
}

bool process_drop_part(struct live *l, enum model_part part)
{
	struct attachment *a;
	u64 key, value;
	size_t at = 0;
	bool had = false;

	while (map_next(&l->processes, &at, &key, &value))
		for (a = ((struct process *)(uintptr_t)value)->attachments; a; a = a->next)
			had |= links_drop(&a->links, a->vm, part);
	for (a = l->buried; a; a = a->next)
		had |= links_drop(&a->links, a->vm, part);
	return had;
}

int process_attach_missing(struct live *l, struct err *err)
{
	u64 key, value;
	size_t at = 0;
	int r, first = 0;

	while (map_next(&l->processes, &at, &key, &value)) {
		struct process *p = (struct process *)(uintptr_t)value;
		struct err e = { 0 };

		if (process_has_ended(p) || (!p->attachments && !p->vm_profile && !p->unlinked))
			continue;
		r = process_attach(l, p, &e);
		/* One that is just ending has nothing left to attach to. */
		if (!r || r == -ENOENT || r == -ESRCH || r == -EAGAIN || process_has_ended(p) ||
		    first)
			continue;
		first = r;
		*err = e;
	}
	if (l->marks_off && part_wanted(l, TRACE_TURNS)) {
		l->open_ns = clock_mono_ns();
		set_marks_off(l, false);
	}
	return first;
}

void process_detach_all(struct live *l)
{
	u32 i;

	for (i = 0; i < l->carrier_count; i++) {
		site_release(l->carriers[i]->link);
		l->carriers[i]->link = NULL;
	}
}
