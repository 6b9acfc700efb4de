/* SPDX-License-Identifier: BSD-2-Clause */
/* Stock VMs: attaching to them. What comes of it: live_vm_items.c. */
#include "source/live_vm_int.h"

#include "attach/vm.h"
#include "probe/jvm.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Probes of a file, for all processes that run it. */
struct vm_file {
	u64 dev, inode;
	struct probe_links links;
};

/* ---- Attaching ---- */

static struct vm_file *file_find(const struct live *l, const struct vm_target *v)
{
	u32 i;

	for (i = 0; i < l->vm_file_count; i++)
		if (l->vm_files[i]->dev == v->dev && l->vm_files[i]->inode == v->inode)
			return l->vm_files[i];
	return NULL;
}

static bool all_calls(const struct live *l)
{
	return l->calls && (l->trial == TRIAL_NOT || l->trial == TRIAL_ALL);
}

static bool wanted(struct live *l, const struct vm_target *v, int role)
{
	if (!v->probes[role] || role == VM_CALL_SWITCH || !part_wanted(l, part_of_role(true, role)))
		return false;
	if (role == VM_CALL_BEGIN)
		return all_calls(l);
	return role != VM_CALL_END || (l->calls && l->trial != TRIAL_NONE);
}

/* Calls are told of once what switches their probes on is up. */
static int switch_on(struct live *l, u32 pid, const struct vm_target *v, const struct vm_calls *c,
		     struct probe_links *links, struct err *err)
{
	if (!all_calls(l) || !c->switch_offset || links->of[VM_CALL_SWITCH])
		return 0;
	links->of[VM_CALL_SWITCH] = vm_switch(l->t, pid, v, c, err);
	return links->of[VM_CALL_SWITCH] ? 0 : err->code;
}

/* What of a file's probes is wanted and not there. */
static int attach_roles(struct live *l, u32 pid, const struct vm_target *v,
			const struct vm_calls *c, struct probe_links *links, struct err *err)
{
	int role;

	/* Ends before their begins: a begin whose end is not seen lasts until the
	 * probes go, and hides all that come behind it. */
	for (role = VM_ROLES - 1; role >= 0; role--) {
		if (links->of[role] || links->too_often & 1u << role || !wanted(l, v, role))
			continue;
		links->of[role] = vm_site(l->t, pid, v, (enum vm_role)role, err);
		if (!links->of[role])
			return err->code;
	}
	return switch_on(l, pid, v, c, links, err);
}

static int attach_file(struct live *l, const struct vm_target *v, const struct vm_calls *c,
		       struct err *err)
{
	struct vm_file *f = file_find(l, v), **grown;

	if (f)
		return attach_roles(l, 0, v, c, &f->links, err);
	grown = realloc(l->vm_files, (l->vm_file_count + 1) * sizeof(*grown));
	f = grown ? calloc(1, sizeof(*f)) : NULL;
	if (grown)
		l->vm_files = grown;
	if (!f)
		return err_set(err, -ENOMEM, "no memory");
	f->dev = v->dev;
	f->inode = v->inode;
	l->vm_files[l->vm_file_count++] = f;
	return attach_roles(l, 0, v, c, &f->links, err);
}

static int attach_process(struct live *l, struct process *p, const struct vm_target *v,
			  const struct vm_calls *c, struct err *err)
{
	struct attachment *a;

	for (a = p->attachments; a; a = a->next)
		if (a->dev == v->dev && a->inode == v->inode)
			return attach_roles(l, p->pid, v, c, &a->links, err);
	a = calloc(1, sizeof(*a));
	if (!a)
		return err_set(err, -ENOMEM, "no memory");
	a->dev = v->dev;
	a->inode = v->inode;
	a->vm = true;
	a->next = p->attachments;
	p->attachments = a;
	return attach_roles(l, p->pid, v, c, &a->links, err);
}

/* A program that serves requests is idle between them: no events there. */
static bool serves(u32 pid, const struct vm_target *v)
{
	const char *base = strrchr(v->path, '/');
	char path[40], line[512];
	size_t n, i;
	FILE *f;

	if (!v->probes[VM_REQUEST_BEGIN])
		return false;
	if (strstr(base ? base : v->path, "fpm") || strstr(base ? base : v->path, "cgi"))
		return true;
	snprintf(path, sizeof(path), "/proc/%u/cmdline", pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	n = fread(line, 1, sizeof(line) - 1, f);
	fclose(f);
	line[n] = 0;
	for (i = 0; i < n; i += strlen(line + i) + 1)
		if (!strncmp(line + i, "-S", 2))
			return true;
	return false;
}

/* Whose silence would tell of something. A script's one request began before anybody
 * looked. */
static u32 watched(const struct live *l, bool service)
{
	u32 roles = ~0u;

	if (!service)
		roles &= ~(1u << VM_REQUEST_BEGIN);
	if (!l->calls)
		roles &= ~(1u << VM_CALL_BEGIN);
	return roles;
}

/* What every process of the VM needs, where it is wanted. */
static int vm_begin(struct live *l, struct process *p, const struct vm_target *t,
		    const struct vm_proc *proc, bool walks, struct err *err)
{
	struct vm_state *v;

	if (!part_wanted(l, TRACE_TURNS))
		return 0;
	walks = walks && part_wanted(l, TRACE_SAMPLES);
	if (walks && proc->kind == VM_JVM) {
		v = vm_state_of(p);
		if (v && !v->jvm)
			v->jvm = jvm_new(
				proc, !jvm_flag(p->pid, t->root, t->sizes, "DebugNonSafepoints"));
		if (!v || !v->jvm)
			return err_set(err, -ENOMEM, "no memory");
	}
	return vm_start(l->t, l->vm_hz, proc->flags & VM_LOOPS, walks, err);
}

/* No stack is looked at; without a loop, stays on the CPU hold the calls. */
static u32 call_flags(u32 flags)
{
	return (flags & ~(u32)VM_WALK) | VM_CALLS | VM_BURSTS;
}

static int late(const struct vm_target *v, struct err *err)
{
	err->status = EXIT_DONE;
	snprintf(err->hint, sizeof(err->hint),
		 "It has had time to: its build may be another than its table of offsets is of. "
		 "Make "
		 "that with `tools/gen-offsets %s`, and give it by --profile.",
		 v->profile->name);
	return err->code = -ENOTSUP;
}

int live_vm_attach(struct live *l, struct process *p, struct err *err)
{
	struct vm_target v;
	struct vm_proc proc = { 0 };
	struct vm_calls calls = { 0 };
	struct err unseen = { 0 };
	bool walks, service, no_stacks, finishes;
	int r = vm_find(p->pid, &l->vm_cache, &v, err);

	if (r)
		return r;
	p->found = true;
	walks = vm_walks(v.profile) && !l->calls;
	if (l->calls)
		r = vm_calls_check(p->pid, &v, &calls, err);
	else
		r = vm_usable(p->pid, &v, err);
	if (!r)
		r = vm_layout(p->pid, &v, &proc, err);
	p->begins = r == -EAGAIN;
	no_stacks = r == -ENOTSUP || r == -EAGAIN;
	/* They could be looked at before: it finishes, and is traced as it was. */
	finishes = no_stacks && p->walks;
	if (finishes) {
		p->begins = no_stacks = false;
		*err = (struct err){ 0 };
		r = 0;
	}
	/* Its probes tell something by themselves. */
	if (no_stacks && walks && v.probes[VM_STALL_BEGIN]) {
		if (!p->begins)
			unseen = *err;
		*err = (struct err){ 0 };
		walks = false;
		r = 0;
	}
	/* No stack is looked at: whether it could be does not matter. */
	if (l->calls && no_stacks && proc.kind != VM_NONE) {
		*err = (struct err){ 0 };
		p->begins = false;
		r = 0;
	}
	/* It is the VM's own program, and has had its time: it has begun, and not where it should. */
	if (r == -EAGAIN && !p->rescans && process_is_program(p->pid, v.dev, v.inode))
		r = late(&v, err);
	if (l->calls)
		proc.flags = call_flags(proc.flags);
	service = serves(p->pid, &v);
	if (service)
		proc.flags &= ~(u32)VM_BURSTS;
	if (!r && !finishes)
		r = vm_begin(l, p, &v, &proc, walks, err);
	if (!r && !finishes && !l->calls)
		r = vm_trace(l->t, p->pid, &proc, err);
	/* A service's processes are many: one link a probe is enough for all. */
	if (!r)
		r = v.profile->scope_file || sweep_wanted(&l->sweep) || vm_links_all(l->t, p->pid)
			    ? attach_file(l, &v, &calls, err)
			    : attach_process(l, p, &v, &calls, err);
	/* Its first event begins once all of its probes are there. */
	if (!r && l->calls)
		r = vm_trace(l->t, p->pid, &proc, err);
	if (!r) {
		p->vm = v.profile->name;
		p->vm_profile = v.profile;
		p->vm_root = v.root;
		p->walks = walks;
		l->s.info.sampled |= walks || p->begins;
		live_watch_start(p, &v, watched(l, service));
		live_not_exact(l, p);
		l->attached_once = true;
	}
	if (!r && unseen.code)
		live_refused(p, &unseen);
	vm_target_free(&v);
	return r;
}

void live_vm_fall_back(struct live *l, struct process *p)
{
	struct err ignored = { 0 };
	struct vm_target v;
	struct vm_proc proc = { 0 };
	bool walks;

	if (vm_find(p->pid, &l->vm_cache, &v, &ignored))
		return;
	walks = vm_walks(v.profile) && !l->calls;
	if (!vm_layout(p->pid, &v, &proc, &ignored) || (l->calls && proc.kind != VM_NONE)) {
		if (l->calls)
			proc.flags = call_flags(proc.flags);
		if (!vm_begin(l, p, &v, &proc, walks, &ignored) &&
		    !vm_trace(l->t, p->pid, &proc, &ignored))
			l->s.info.sampled |= walks;
	}
	vm_target_free(&v);
}

int live_vm_look(struct live *l, u32 pid, struct err *err)
{
	struct vm_target v;
	int r = l->vm_hz ? vm_find(pid, &l->vm_cache, &v, err) : -ENOENT;

	if (!r)
		vm_target_free(&v);
	return r;
}

bool live_vm_drop_part(struct live *l, enum model_part part)
{
	bool had = false;
	u32 i;

	for (i = 0; i < l->vm_file_count; i++)
		had |= links_drop(&l->vm_files[i]->links, true, part);
	return had;
}

void live_vm_detach(struct live *l)
{
	u32 i;

	if (l->t)
		vm_stop(l->t);
	for (i = 0; i < l->vm_file_count; i++) {
		links_drop(&l->vm_files[i]->links, true, TRACE_PARTS);
		free(l->vm_files[i]);
	}
	free(l->vm_files);
	l->vm_files = NULL;
	l->vm_file_count = 0;
}
