/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks of one process. */
#include "attach/checks.h"

#include "attach/place.h"
#include "probe/plan.h"
#include "probe/target.h"
#include "probe/vm.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct list {
	struct check *at, *end;
};

__attribute__((format(printf, 5, 6))) static struct check *
put(struct list *l, const char *id, const char *what, enum check_result r, const char *fmt, ...)
{
	static struct check spare;
	struct check *c = l->at < l->end ? l->at++ : &spare;
	va_list ap;

	*c = (struct check){ .id = id, .what = what, .result = r, .status = EXIT_FAILED };
	va_start(ap, fmt);
	vsnprintf(c->detail, sizeof(c->detail), fmt, ap);
	va_end(ap);
	return c;
}

static void put_namespace(struct list *l, u32 pid, const char *kind, const char *id,
			  const char *what)
{
	struct stat own, other;
	char path[48];

	snprintf(path, sizeof(path), "/proc/self/ns/%s", kind);
	if (stat(path, &own))
		return;
	snprintf(path, sizeof(path), "/proc/%u/ns/%s", pid, kind);
	if (stat(path, &other))
		return;
	put(l, id, what, CHECK_OK,
	    own.st_ino == other.st_ino ? "the same as ours" : "another one; that is no obstacle");
}

/* The end of a path says more than its start. */
static const char *tail(const char *path)
{
	size_t n = strlen(path);

	return n > 80 ? path + n - 80 : path;
}

static void put_registry(struct list *l, u32 pid, const struct plan_dso *d)
{
	struct vmspan_registry head;
	u32 defined[3] = { 0 };
	struct check *c;
	u64 address;
	bool abi1;
	int r;

	if (!d->registry)
		return;
	r = target_registry(pid, d->registry, &head);
	if (r == -ENOTSUP) {
		c = put(l, "registry", "registry", CHECK_FAIL, "ABI %u; this vmspan knows ABI %u",
			head.abi, VMSPAN_ABI);
		snprintf(c->advice, sizeof(c->advice),
			 "Use the vmspan that belongs to the program's vmspan.h.");
		return;
	}
	if (r == -EBADMSG && !plan_has_flush(d)) {
		put(l, "registry", "registry", CHECK_OK,
		    "none: each number is a group, each mark a trap");
		return;
	}
	if (r) {
		c = put(l, "registry", "registry", CHECK_FAIL, "cannot be read: %s",
			r == -EBADMSG ? "there is none where it should be" : strerror(-r));
		c->status = r == -EPERM ? EXIT_PERMISSION : EXIT_FAILED;
		if (r == -EPERM)
			snprintf(c->advice, sizeof(c->advice),
				 "Run vmspan with sudo, or give it CAP_SYS_PTRACE.");
		return;
	}
	if (!target_definer(pid, d->registry, &address, &abi1))
		target_defined(pid, address, abi1, defined);
	put(l, "registry", "registry", CHECK_OK,
	    "ABI %u; %u groups, %u compartments, %u labels defined", head.abi, defined[0],
	    defined[1], defined[2]);
	put(l, "semaphores", "tracers attached now", CHECK_OK, "marks %s, conventional probes %u",
	    head.semaphore ? "yes" : "no", head.probes_semaphore);
}

static void put_carrier(struct list *l, const struct plan_dso *d)
{
	u64 at[PLACES_MAX];

	if (plan_has_flush(d))
		put(l, "carrier", "its marks", CHECK_OK, "handed over by %s",
		    places_in(d->fd, d->probes.sites[ROLE_FLUSH].offset, at) > 1
			    ? "a call (optimized probe)"
			    : "a trap");
}

static void put_dso(struct list *l, u32 pid, const struct plan_dso *d)
{
	bool unsafe = false;
	struct check *c;
	int i;

	put(l, "probes", "probes", CHECK_OK, "%s: %s%s%s", tail(d->path),
	    plan_has_flush(d) ? "marks" : "", plan_has_flush(d) && plan_has_direct(d) ? ", " : "",
	    plan_has_direct(d) ? "conventional probes" : "");
	for (i = 0; i < ROLE_COUNT; i++)
		unsafe |= d->probes.sites[i].offset && d->probes.sites[i].kind == SITE_NOP5;
	if (unsafe) {
		c = put(l, "sites", "probe sites", CHECK_WARN, "5-byte nops");
		snprintf(c->advice, sizeof(c->advice), "Rebuild it with the current vmspan.h.");
	}
	put_carrier(l, d);
	put_registry(l, pid, d);
}

/* ---- Stock VMs ---- */

/* What tracing costs a program of each VM, as measured. */
static const char *const costs[VM_KINDS] = {
	[VM_CPYTHON] =
		"a look takes some us (99 a second by default), a turn of the loop about 1 us, "
		"every other system call of the machine some 150 ns; a collection 2 us",
	[VM_PHP] = "a look takes some us (99 a second by default), a request 2 us",
	[VM_RUBY] = "a look takes some us (99 a second by default), a turn of the loop about 1 us, "
		    "every other system call of the machine some 150 ns; a collection 2 us",
	[VM_JVM] = "a look takes some us (99 a second by default), a turn of a loop about 1 us, "
		   "every other system call of the machine some 150 ns; a safepoint or collection "
		   "2 us",
	[VM_POSTGRES] = "a statement about 3 us, a transaction 1 us, in every server that runs the "
			"file",
};

static void put_vm_probes(struct list *l, const struct vm_target *t)
{
	char have[120] = "", lack[120] = "", provider[VM_NAME_MAX];
	struct check *c;
	int i;

	for (i = 0; i < VM_ROLES; i++) {
		const char *name = vm_probe(t->profile, (enum vm_role)i, provider);
		char *to = t->probes[i] ? have : lack;
		size_t n = strlen(to);

		if (name)
			snprintf(to + n, 120 - n, "%s%s", n ? ", " : "", name);
	}
	if (!lack[0]) {
		put(l, "vm_probes", "probes", CHECK_OK, "%s", have[0] ? have : "none are needed");
		return;
	}
	c = put(l, "vm_probes", "probes", CHECK_WARN, "missing: %s%s%s", lack,
		have[0] ? "; there: " : "", have);
	snprintf(
		c->advice, sizeof(c->advice),
		"This build has them not compiled in (--with-dtrace or --enable-dtrace): what they "
		"tell is left out. The distribution's own build has them.");
}

static void put_memory(struct list *l, u32 pid, const struct vm_target *t)
{
	struct check *c;
	u64 word;

	if (!t->root)
		return;
	if (!target_read(pid, t->root, &word, sizeof(word))) {
		put(l, "vm_memory", "its memory", CHECK_OK, "can be read");
		return;
	}
	c = put(l, "vm_memory", "its memory", CHECK_FAIL, "cannot be read");
	c->status = EXIT_PERMISSION;
	snprintf(c->advice, sizeof(c->advice), "Run vmspan with sudo, or give it CAP_SYS_PTRACE.");
}

/* True when it runs a VM, known or not. */
static bool put_vm(struct list *l, u32 pid)
{
	struct vm_target t;
	struct vm_proc proc;
	struct err e = { 0 };
	struct check *c;

	if (vm_find(pid, NULL, &t, &e)) {
		if (e.code != -ENOTSUP)
			return false;
		c = put(l, "vm", "VM", CHECK_FAIL, "%.190s", e.what);
		snprintf(c->advice, sizeof(c->advice), "%.390s", e.hint);
		return true;
	}
	put(l, "vm", "VM", CHECK_OK, "%s%s%s, %s", t.profile->name, t.version[0] ? " " : "",
	    t.version, tail(t.path));
	put_memory(l, pid, &t);
	if (vm_usable(pid, &t, &e) || vm_layout(pid, &t, &proc, &e)) {
		c = put(l, "vm_frames", "frames", CHECK_FAIL, "%.190s", e.what);
		snprintf(c->advice, sizeof(c->advice), "%.390s", e.hint);
	} else {
		put(l, "vm_frames", "frames", CHECK_OK,
		    !vm_walks(t.profile) ? "not looked at"
		    : t.profile->kind == VM_JVM
			    ? "it publishes its structures itself, and they are what they are here"
			    : "their layout is known, and is what it is here");
	}
	put_vm_probes(l, &t);
	put(l, "vm_cost", "expected cost", CHECK_OK, "%s", costs[t.profile->kind]);
	put_namespace(l, pid, "pid", "target_pid_namespace", "its PID namespace");
	put_namespace(l, pid, "mnt", "target_mount_namespace", "its mount namespace");
	vm_target_free(&t);
	return true;
}

u32 checks_process(u32 pid, struct check list[CHECKS_MAX])
{
	struct list l = { list, list + CHECKS_MAX };
	struct err e = { 0 };
	struct plan plan;
	struct check *c;
	u32 i;

	if (plan_process(pid, NULL, &plan, &e)) {
		if (e.code == -ENOENT && put_vm(&l, pid))
			return (u32)(l.at - list);
		c = put(&l, "probes", "probes", CHECK_FAIL, "%.190s", e.what);
		c->status = err_status(&e);
		snprintf(c->advice, sizeof(c->advice), "%.390s", e.hint);
		return (u32)(l.at - list);
	}
	put_namespace(&l, pid, "pid", "target_pid_namespace", "its PID namespace");
	put_namespace(&l, pid, "mnt", "target_mount_namespace", "its mount namespace");
	for (i = 0; i < plan.count; i++)
		put_dso(&l, pid, &plan.dsos[i]);
	plan_free(&plan);
	return (u32)(l.at - list);
}
