/* SPDX-License-Identifier: BSD-2-Clause */
/* Which VM a process runs, and whether its frames can be walked. */
#include "probe/vm.h"

#include "base/task_stat.h"
#include "probe/jvm.h"
#include "probe/maps.h"
#include "probe/target.h"
#include "probe/threads.h"
#include "probe/vm_file.h"
#include "probe/vm_published.h"

#include <errno.h>
#include <libelf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Which version ---- */

#define VERSION "0123456789."

/* CPython's Py_Version is a number, others' a text. */
static void read_version(u32 pid, struct vm_target *t, u64 at)
{
	char text[16] = "";
	u64 number;

	if (t->profile->kind == VM_CPYTHON) {
		if (!target_read(pid, at, &number, sizeof(number)))
			snprintf(t->version, sizeof(t->version), "%u.%u",
				 (unsigned int)(number >> 24 & 0xff),
				 (unsigned int)(number >> 16 & 0xff));
		return;
	}
	if (target_read(pid, at, text, sizeof(text) - 1))
		return;
	/* Layouts are of minor versions. */
	text[strspn(text, VERSION)] = 0;
	if (strchr(text, '.') && strchr(strchr(text, '.') + 1, '.'))
		*strchr(strchr(text, '.') + 1, '.') = 0;
	snprintf(t->version, sizeof(t->version), "%s", text);
}

static void version_set(struct vm_target *t, const char *s, size_t n)
{
	while (n && s[n - 1] == '.')
		n--;
	if (n < sizeof(t->version)) {
		memcpy(t->version, s, n);
		t->version[n] = 0;
	}
}

/* "8.2" of php-fpm8.2; else the folder, as of /usr/lib/postgresql/15/bin/postgres. */
static void version_of_name(struct vm_target *t, const char *base)
{
	const char *s = strpbrk(base, VERSION), *path = t->path;
	size_t n;

	if (s)
		version_set(t, s, strspn(s, VERSION));
	for (; !s && (path = strchr(path, '/')); path++) {
		n = strspn(path + 1, VERSION);
		if (n && path[1 + n] == '/')
			version_set(t, path + 1, n);
	}
}

static const struct vm_layout *choose_layout(const struct vm_target *t)
{
	const struct vm_layout *best = NULL;
	u32 i;

	for (i = 0; i < t->profile->layout_count; i++) {
		const struct vm_layout *l = &t->profile->layouts[i];

		if (l->build_id[0] ? !strcmp(l->build_id, t->build_id)
				   : !best && !strcmp(l->version, t->version))
			best = l;
	}
	return best;
}

/* ---- Finding it ---- */

static bool name_fits(const struct vm_profile *p, const char *path, char name[256])
{
	const char *base = strrchr(path, '/');

	snprintf(name, 256, "%s", base ? base + 1 : path);
	if (strstr(name, " (deleted)"))
		*strstr(name, " (deleted)") = 0;
	return !regexec(&p->file, name, 0, NULL, 0);
}

/* 1: it is the VM's; 0: not. */
static int try_file(u32 pid, const struct map_entry *e, const struct vm_profile *p,
		    const char *name, struct vm_cache *c, struct vm_target *t)
{
	struct vm_file_facts f;
	struct stat st;
	u64 bias;

	memset(t, 0, sizeof(*t));
	t->profile = p;
	t->fd = maps_open(pid, e);
	if (t->fd < 0)
		return t->fd;
	if (fstat(t->fd, &st) || vm_file_read(t->fd, p, c, &f) ||
	    !vm_file_bias(&f, e->pgoff, e->start, &bias) || (p->symbol[0] && !f.root)) {
		close(t->fd);
		return 0;
	}
	t->path = strdup(e->path);
	if (!t->path) {
		close(t->fd);
		return -ENOMEM;
	}
	t->dev = st.st_dev;
	t->inode = st.st_ino;
	memcpy(t->build_id, f.build_id, sizeof(t->build_id));
	memcpy(t->probes, f.probes, sizeof(t->probes));
	memcpy(t->nop5, f.nop5, sizeof(t->nop5));
	t->root = f.root ? f.root + bias : 0;
	t->sizes = f.sizes ? f.sizes + bias : 0;
	if (f.version)
		read_version(pid, t, f.version + bias);
	else if (p->kind == VM_JVM)
		snprintf(t->version, sizeof(t->version), "%u", jvm_version(pid, t->root));
	else
		version_of_name(t, name);
	t->layout = choose_layout(t);
	return 1;
}

/* What looks like a VM by its name and is none by what is in it, or cannot be opened. */
struct guess {
	const struct vm_profile *profile;
	char path[PATH_MAX];
};

/* Of a path that is long the end, as far as a message has room for it. */
static const char *end_of(const char *path)
{
	size_t n = strlen(path);

	return n > 150 ? path + n - 150 : path;
}

static int search(u32 pid, const struct maps *m, struct vm_cache *c, struct vm_target *t,
		  struct guess *g, struct err *err)
{
	const struct vm_profile *const *list;
	int count = vm_profiles(&list, err), i, r = 0;
	char name[256];
	u32 k;

	if (count < 0)
		return count;
	for (k = 0; k < m->count && !r; k++)
		for (i = 0; i < count && !r; i++) {
			const char *path = m->entries[k].path;

			if (!name_fits(list[i], path, name))
				continue;
			r = try_file(pid, &m->entries[k], list[i], name, c, t);
			if (r > 0 || (!r && g->profile))
				continue;
			g->profile = list[i];
			snprintf(g->path, sizeof(g->path), "%s", path);
		}
	/* A program into which a VM is linked has a name of its own, and so has a copy of one. */
	for (i = 0; i < count && !r && !g->profile && m->count; i++)
		if (list[i]->symbol[0])
			r = try_file(pid, &m->entries[0], list[i], "", c, t);
	/* That nobody may read it says nothing of a VM. */
	return !g->profile && (r == -EACCES || r == -EPERM) ? 0 : r;
}

int vm_find(u32 pid, struct vm_cache *c, struct vm_target *t, struct err *err)
{
	struct guess g = { 0 };
	struct maps m;
	int r;

	if (elf_version(EV_CURRENT) == EV_NONE)
		return -ENOENT;
	r = maps_read(pid, &m);
	if (r)
		return err_set(err, r, "process %u: its memory map cannot be read: %s", pid,
			       strerror(-r));
	r = search(pid, &m, c, t, &g, err);
	maps_free(&m);
	if (r > 0)
		return 0;
	if (r < 0 && maps_gone(pid))
		return err_set(err, -ESRCH, "process %u is ending", pid);
	if (r < 0 && (!err || !err->code)) {
		err_set(err, r, "process %u: %s%sits VM cannot be looked into: %s", pid,
			end_of(g.path), g.path[0] ? ": " : "", strerror(-r));
		if (r == -EACCES || r == -EPERM)
			err_hint(err, "%s", maps_denied(g.path));
	}
	if (r < 0)
		return r;
	if (!g.profile)
		return -ENOENT;
	err_set(err, -ENOTSUP,
		"process %u: %s looks like %s, but its symbol %s is in none of its symbol "
		"tables: "
		"it is stripped, or no build of the kind that is known",
		pid, end_of(g.path), g.profile->name, g.profile->symbol);
	err_hint(err, "Run the distribution's own build, or one that is linked with -rdynamic "
		      "(--export-dynamic) or not stripped.");
	return -ENOTSUP;
}

static const struct vm_profile *profile_of_file(const char *path)
{
	const struct vm_profile *const *list;
	int count = vm_profiles(&list, NULL), i;
	char real[PATH_MAX];
	const char *base;

	if (!realpath(path, real) || access(real, X_OK))
		return NULL;
	base = strrchr(real, '/') + 1;
	for (i = 0; i < count; i++)
		if (!regexec(&list[i]->file, base, 0, NULL, 0))
			return list[i];
	return NULL;
}

const struct vm_profile *vm_of_command(const char *command)
{
	const char *path = getenv("PATH"), *at;
	const struct vm_profile *p = NULL;
	char file[PATH_MAX];

	if (strchr(command, '/'))
		return profile_of_file(command);
	for (at = path; at && *at && !p; at += strcspn(at, ":"), at += *at == ':') {
		snprintf(file, sizeof(file), "%.*s/%s", (int)strcspn(at, ":"), at, command);
		if (!access(file, X_OK))
			return profile_of_file(file);
	}
	return p;
}

void vm_target_free(struct vm_target *t)
{
	if (!t->profile)
		return;
	close(t->fd);
	free(t->path);
	memset(t, 0, sizeof(*t));
}

/* ---- Are the offsets true here? ---- */

const char vm_not_begun[] = "it has not begun yet";
static const char unreadable[] = "its memory cannot be read";

static u64 read_u64(u32 pid, u64 at)
{
	u64 v = 0;

	return at && !target_read(pid, at, &v, sizeof(v)) ? v : 0;
}

#define FLAG_FORKED 0x00000040u /* PF_FORKNOEXEC of the kernel's: it has executed nothing since */

static bool is_forked(u32 pid)
{
	char line[TASK_STAT_MAX];
	const char *stat = task_stat(pid, 0, line);
	unsigned int flags;

	return stat && sscanf(stat, "%*c %*d %*d %*d %*d %*d %u", &flags) == 1 &&
	       flags & FLAG_FORKED;
}

/*
 * Some thread of the interpreter must be one of the process. A server that forks without Python's help, as uWSGI
 * does, has a child's first thread by the number that it had in its parent: the oldest of the list, whose number is
 * nobody's here. So has one of os.fork() for a moment.
 */
static const char *check_cpython(u32 pid, struct vm_proc *p)
{
	u64 at, number = 0;
	bool found = false, has_first = false, is_own = false, listed;
	u32 first = threads_own_number(pid);
	struct map own = { 0 };
	int i;

	if (target_read(pid, p->root + p->off[OFF_runtime_interpreters], &at, sizeof(at)))
		return unreadable;
	if (!at)
		return vm_not_begun;
	at = read_u64(pid, at + p->off[OFF_interp_threads]);
	listed = !threads_numbers(pid, &own);
	for (i = 0; i < 4096 && at; i++) {
		number = read_u64(pid, at + p->off[OFF_thread_native_id]);
		is_own = map_get(&own, number);
		found |= is_own;
		has_first |= number == first;
		at = read_u64(pid, at + p->off[OFF_thread_next]);
	}
	map_free(&own);
	if (!has_first && !is_own && !at && number && number <= INT32_MAX && is_forked(pid)) {
		p->forked_as = (u32)number;
		found = true;
	}
	return found    ? NULL
	       : listed ? "none of its interpreter's threads is a thread of the process"
			: "the process's threads cannot be listed";
}

/* Between requests there is no frame; a frame's function must be of a type. */
static const char *check_php(u32 pid, const struct vm_proc *p)
{
	u64 at, func = 0;
	u8 type = 0;
	int i;

	if (target_read(pid, p->root + p->off[OFF_globals_execute_data], &at, sizeof(at)))
		return unreadable;
	for (i = 0; i < 64 && at; i++) {
		func = read_u64(pid, at + p->off[OFF_execute_func]);
		if (func &&
		    (target_read(pid, func + p->off[OFF_func_type], &type, 1) || !type || type > 4))
			return "what should be a function is none";
		at = read_u64(pid, at + p->off[OFF_execute_prev]);
	}
	return NULL;
}

/* The second word of a list's first node leads back to its head; while it changes it may not. */
static bool is_list(u32 pid, u64 head)
{
	int i;

	for (i = 0; i < 3; i++) {
		u64 first = read_u64(pid, head);

		if (!first || read_u64(pid, first + 8) == head)
			return true;
	}
	return false;
}

static const char *check_ruby(u32 pid, const struct vm_proc *p)
{
	u64 vm, ractor, thread, ec, base, size, cfp;

	if (target_read(pid, p->root, &vm, sizeof(vm)))
		return unreadable;
	if (!vm)
		return vm_not_begun;
	ractor = read_u64(pid, vm + p->off[OFF_vm_main_ractor]);
	if (!ractor)
		return "it has no main ractor";
	if (!is_list(pid, ractor + p->off[OFF_ractor_threads]))
		return "where the list of its threads should be is none";
	thread = read_u64(pid, ractor + p->off[OFF_ractor_main]);
	ec = read_u64(pid, thread ? thread + p->off[OFF_thread_ec] : 0);
	if (!ec)
		return NULL; /* its first thread is not made yet */
	base = read_u64(pid, ec + p->off[OFF_ec_stack]);
	size = read_u64(pid, ec + p->off[OFF_ec_stack_size]);
	cfp = read_u64(pid, ec + p->off[OFF_ec_cfp]);
	if (!base || size > 1ull << 32 || cfp < base || cfp > base + 8 * size)
		return "its frames do not lie on its stack";
	return NULL;
}

static int cannot_walk(u32 pid, const struct vm_target *t, const char *why, struct err *err)
{
	int code = why == vm_not_begun ? -EAGAIN : -ENOTSUP;

	/* What was read may be what was left of it. */
	if (maps_gone(pid))
		return err_set(err, -ESRCH, "process %u is ending", pid);
	err_set_status(err, code, code == -EAGAIN ? EXIT_NOTHING : EXIT_DONE,
		       "process %u: %s %s (build %s): its frames cannot be walked: %s", pid,
		       t->profile->name, t->version[0] ? t->version : "of an unknown version",
		       t->build_id[0] ? t->build_id : "unknown", why);
	if (code == -EAGAIN)
		err_hint(err, "Wait until it has (-p with --wait). A program that only links to "
			      "its library may "
			      "never begin it: then it runs nothing that could be traced.");
	return code;
}

static int refuse(u32 pid, const struct vm_target *t, const char *why, struct err *err)
{
	int code = cannot_walk(pid, t, why, err);

	err_hint(err,
		 "Make its table with `tools/gen-offsets %s` where the headers of that very build "
		 "are installed, append it to user/profiles/%s.ini, and give that by --profile.",
		 t->profile->name, t->profile->name);
	return code;
}

int vm_usable(u32 pid, const struct vm_target *t, struct err *err)
{
	char provider[VM_NAME_MAX];
	const char *name;
	int i;

	if (vm_walks(t->profile))
		return 0;
	for (i = 0; i < VM_ROLES; i++)
		if (t->probes[i])
			return 0;
	for (i = 0; i < VM_ROLES && !(name = vm_probe(t->profile, (enum vm_role)i, provider)); i++)
		;
	err_set(err, -ENOTSUP,
		"process %u: %s%s%s: %.120s was built without probes (%s:%s and others), and "
		"nothing "
		"else tells what it does",
		pid, t->profile->name, t->version[0] ? " " : "", t->version, t->path,
		i < VM_ROLES ? provider : "", i < VM_ROLES ? name : "");
	err_hint(err, "Run the distribution's own build, which has them: Debian's openjdk-17, "
		      "postgresql-15; or one configured with --enable-dtrace.");
	return -ENOTSUP;
}

static int layout_jvm(u32 pid, const struct vm_target *t, struct vm_proc *to, struct err *err)
{
#ifdef __x86_64__
	const char *why = jvm_published(pid, t->root, t->sizes, to);

	if (!why)
		why = jvm_check(pid, to);
#else
	const char *why = "how frames lie on this kind of machine is not known";
#endif
	int code;

	if (!why) {
		to->flags |= VM_WALK;
		return 0;
	}
	code = cannot_walk(pid, t, why, err);
	to->flags = 0;
	err_hint(err,
		 "Known are 64-bit OpenJDK %d on x86-64, as Debian 12 has it, and builds that "
		 "publish the same. Its safepoints and collections are seen without.",
		 JVM_MAJOR);
	return code;
}

int vm_layout(u32 pid, const struct vm_target *t, struct vm_proc *to, struct err *err)
{
	const struct vm_profile *p = t->profile;
	const char *why = NULL;
	int published;

	memset(to, 0, sizeof(*to));
	to->kind = p->kind;
	to->root = t->root;
	to->flags = (p->loop ? VM_LOOPS : 0) | (p->bursts ? VM_BURSTS : 0);
	if (!vm_walks(p))
		return 0;
	if (p->kind == VM_JVM)
		return layout_jvm(pid, t, to, err);
	published = p->kind == VM_CPYTHON ? cpython_published(pid, t->root, to->off) : -ENOENT;
	if (published == -ENOTSUP)
		return err_set(err, -ENOTSUP,
			       "process %u: %s %s runs without a GIL, and its "
			       "frames cannot be walked",
			       pid, p->name, t->version);
	if (published && !t->layout)
		return refuse(pid, t, "no table of its offsets is known", err);
	if (published)
		memcpy(to->off, t->layout->off, sizeof(to->off));
	to->flags |= VM_WALK;
	if (p->kind == VM_CPYTHON)
		why = check_cpython(pid, to);
	else if (p->kind == VM_PHP)
		why = check_php(pid, to);
	else if (p->kind == VM_RUBY)
		why = check_ruby(pid, to);
	return why ? refuse(pid, t, why, err) : 0;
}
