/* SPDX-License-Identifier: BSD-2-Clause */
#include "probe/plan.h"

#include "base/wire.h"
#include "probe/elf_notes.h"
#include "probe/target.h"
#include "base/task_stat.h"

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct plan_cache_entry {
	u64 dev, inode, size, mtime_ns;
	struct plan_probes probes;
};

#define CACHE_MAX 65536

void plan_cache_free(struct plan_cache *c)
{
	map_free(&c->known);
	free(c->entries);
	memset(c, 0, sizeof(*c));
}

const char *site_kind_name(enum site_kind kind)
{
	static const char *const names[] = {
		[SITE_NONE] = "none",   [SITE_NOP] = "nop",     [SITE_NOP5] = "nop5",
		[SITE_NOP10] = "nop10", [SITE_OTHER] = "other",
	};

	return names[kind];
}

enum site_kind site_kind_at(int fd, u64 offset)
{
#if defined(__x86_64__)
	static const u8 nop5[] = { 0x0f, 0x1f, 0x44, 0, 0 };
	static const u8 nop10[] = { 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0 };
	u8 b[10] = { 0 };

	if (pread(fd, b, sizeof(b), (off_t)offset) < 1)
		return SITE_NONE;
	if (b[0] == 0x90)
		return SITE_NOP;
	if (!memcmp(b, nop5, sizeof(nop5)))
		return SITE_NOP5;
	return memcmp(b, nop10, sizeof(nop10)) ? SITE_OTHER : SITE_NOP10;
#else
	u32 insn = 0;

	if (pread(fd, &insn, sizeof(insn), (off_t)offset) != sizeof(insn))
		return SITE_NONE;
	return insn == 0xd503201f ? SITE_NOP : SITE_OTHER;
#endif
}

u64 plan_copy(const struct plan_dso *d)
{
	const struct plan_probes *p = &d->probes;
	u64 armed = p->sites[ROLE_ARMED].semaphore;
	u64 semaphore = armed ? armed : p->sites[ROLE_ENTER].semaphore;

	/* Any semaphore of ours lies in its first bytes. */
	return p->profile->registry ? semaphore & ~(u64)(VMSPAN_REGISTRY_ALIGN - 1) : 0;
}

bool plan_has_flush(const struct plan_dso *d)
{
	return d->probes.sites[ROLE_FLUSH].offset && d->probes.sites[ROLE_ARMED].semaphore_offset;
}

bool plan_has_direct(const struct plan_dso *d)
{
	return d->probes.sites[ROLE_ENTER].offset && d->probes.sites[ROLE_LEAVE].offset;
}

struct collect {
	const struct profile *profiles;
	int count;
	struct plan_probes *to;
};

/* Keeps the first site of each role, of the first profile that matches. */
static int collect_note(void *ctx, const struct elf_note *n)
{
	struct collect *c = ctx;
	struct plan_site *s;
	int i, role;

	for (i = 0; i < c->count; i++) {
		const struct profile *p = &c->profiles[i];

		if (c->to->profile && c->to->profile != p)
			continue;
		role = profile_role(p, n->provider, n->name);
		if (role < 0)
			continue;
		c->to->profile = p;
		s = &c->to->sites[role];
		if (s->offset)
			return 0;
		s->address = n->address;
		s->offset = n->offset;
		s->semaphore = n->semaphore;
		s->semaphore_offset = n->semaphore_offset;
		return 0;
	}
	return 0;
}

static int scan(int fd, struct plan_probes *to, struct err *err)
{
	struct collect c = { .to = to };
	struct elf_summary sum;
	int i, r;

	memset(to, 0, sizeof(*to));
	c.count = profile_list(&c.profiles, err);
	if (c.count < 0)
		return c.count;
	r = elf_notes_read(fd, collect_note, &c, &sum);
	if (r < 0)
		return r;
	memcpy(to->build_id, sum.build_id, sizeof(to->build_id));
	for (i = 0; i < ROLE_COUNT; i++)
		if (to->sites[i].offset)
			to->sites[i].kind = site_kind_at(fd, to->sites[i].offset);
	return 0;
}

/* scan() by way of the cache. What cannot be parsed is remembered as empty. */
static int scan_cached(int fd, const struct stat *st, struct plan_cache *c, struct plan_probes *to,
		       struct err *err)
{
	u64 key = (u64)st->st_dev * 0x9e3779b97f4a7c15ull ^ st->st_ino;
	struct plan_cache_entry e = {
		.dev = st->st_dev,
		.inode = st->st_ino,
		.size = (u64)st->st_size,
		.mtime_ns = (u64)st->st_mtim.tv_sec * NSEC_PER_SEC + (u64)st->st_mtim.tv_nsec,
	};
	u64 *at = c ? map_get(&c->known, key) : NULL;
	struct plan_cache_entry *grown;
	int r;

	if (at) {
		const struct plan_cache_entry *k = &c->entries[*at - 1];

		if (k->dev == e.dev && k->inode == e.inode && k->size == e.size &&
		    k->mtime_ns == e.mtime_ns) {
			*to = k->probes;
			return 0;
		}
	}
	r = scan(fd, to, err);
	if (r == -ENOMEM || !c || c->count >= CACHE_MAX)
		return r;
	e.probes = *to;
	if ((c->count & (c->count - 1)) == 0) {
		grown = realloc(c->entries, (c->count ? 2 * c->count : 1) * sizeof(*grown));
		if (!grown)
			return r;
		c->entries = grown;
	}
	c->entries[c->count] = e;
	if (!map_put(&c->known, key, c->count + 1))
		c->count++;
	return r;
}

/* Takes fd over when it returns 1: the file has probes. 0: it has none. */
static int add(struct plan *p, int fd, const char *path, struct plan_cache *c, struct err *err)
{
	struct plan_dso d = { .fd = fd }, *grown;
	struct stat st;
	u32 i;
	int r;

	if (fstat(fd, &st))
		return -errno;
	for (i = 0; i < p->count; i++)
		if (p->dsos[i].dev == st.st_dev && p->dsos[i].inode == st.st_ino)
			return 0;
	r = scan_cached(fd, &st, c, &d.probes, err);
	if (r || !d.probes.profile)
		return r;
	d.dev = st.st_dev;
	d.inode = st.st_ino;
	if (!plan_has_flush(&d) && !plan_has_direct(&d))
		return 0;
	d.path = strdup(path);
	grown = realloc(p->dsos, (p->count + 1) * sizeof(*grown));
	if (grown)
		p->dsos = grown;
	if (!d.path || !grown) {
		free(d.path);
		return -ENOMEM;
	}
	p->dsos[p->count++] = d;
	return 1;
}

/* Run-time addresses, from the mappings that hold the file's code. */
static void place(struct plan_dso *d, const struct maps *m, const struct map_entry *first)
{
	const struct plan_site *armed = &d->probes.sites[ROLE_ARMED];
	const struct plan_site *enter = &d->probes.sites[ROLE_ENTER];
	const struct plan_site *site = armed->offset ? armed : enter;
	const struct map_entry *e;

	for (e = first; e < m->entries + m->count && d->place_count < PLAN_PLACES; e++)
		if (e->dev == first->dev && e->inode == first->inode && site->offset >= e->pgoff &&
		    site->offset - e->pgoff < e->end - e->start)
			d->places[d->place_count++] =
				e->start + (site->offset - e->pgoff) - site->address;
	d->bias = d->places[0];
	if (d->place_count && plan_copy(d))
		d->registry = plan_copy(d) + d->bias;
}

static int nothing(struct err *err, const struct plan *p, const char *where)
{
	err_set_status(err, -ENOENT, EXIT_NOTHING,
		       "%s: nothing to trace: looked for the probes vmspan:armed and vmspan:flush, "
		       "or vmspan:enter and vmspan:leave, in %u executable file%s%s",
		       where, p->files, p->files == 1 ? "" : "s",
		       p->unreadable ? " (some could not be read)" : "");
	err_hint(err,
		 "Build the program or its VM with user/sdk/vmspan.h, wait for what it may load "
		 "later (--wait), describe its own probes in a profile (--profile FILE), or name "
		 "another process; `vmspan list` shows those that can be traced.");
	return -ENOENT;
}

/* Of the kernel's. */
#define FLAG_EXITING 0x00000004u /* PF_EXITING */
#define FLAG_KERNEL_THREAD 0x00200000u /* PF_KTHREAD */

/* Its state, and the kernel's flags of it; false: it is not there. */
static bool read_state(u32 pid, char *state, unsigned int *flags)
{
	char line[TASK_STAT_MAX];
	const char *stat = task_stat(pid, 0, line);

	*state = '?';
	*flags = 0;
	return stat && sscanf(stat, "%c %*d %*d %*d %*d %*d %u", state, flags) >= 1;
}

/* For a moment of an exec the old program is gone, and nothing of the new one is there yet. */
static bool executes(u32 pid)
{
	unsigned int flags;
	char state;

	return read_state(pid, &state, &flags) && state != 'Z' && state != 'X' &&
	       !(flags & (FLAG_KERNEL_THREAD | FLAG_EXITING));
}

#define EXEC_TRIES 100

static int read_maps(u32 pid, struct maps *m)
{
	const struct timespec nap = { 0, 1000000 };
	int tries = 0, r;

	while (!(r = maps_read(pid, m)) && !m->count && tries++ < EXEC_TRIES && executes(pid)) {
		maps_free(m);
		nanosleep(&nap, NULL);
	}
	return r;
}

/* A process without a memory map cannot be traced; say which kind it is. */
static int no_maps(u32 pid, struct err *err)
{
	unsigned int flags;
	char state;

	if (!read_state(pid, &state, &flags))
		return err_set(err, -ESRCH, "process %u does not exist", pid);
	if (state == 'Z' || state == 'X')
		return err_set(err, -ESRCH,
			       "process %u has ended (it is a zombie: its parent has not waited "
			       "for it)",
			       pid);
	if (flags & FLAG_EXITING)
		return err_set(err, -ESRCH, "process %u is ending", pid);
	if (!(flags & FLAG_KERNEL_THREAD))
		return err_set(err, -EAGAIN,
			       "process %u has no code in memory: it is about to execute another "
			       "program",
			       pid);
	return err_set_status(err, -ENOENT, EXIT_NOTHING,
			      "process %u has no memory map: it is a kernel thread", pid);
}

static int no_access(u32 pid, int code, struct err *err)
{
	if (code == -ESRCH)
		return err_set(err, code, "process %u does not exist", pid);
	if (code != -EACCES && code != -EPERM)
		return err_set(err, code, "process %u: its memory map cannot be read: %s", pid,
			       strerror(-code));
	err_set_status(err, code, EXIT_PERMISSION,
		       "process %u: no permission to read its memory map: it belongs to another "
		       "user or has more rights",
		       pid);
	err_hint(err, "Run vmspan as root (sudo), or give it CAP_SYS_PTRACE.");
	return code;
}

#define DENIED_PATH (PATH_MAX + 16)

/* CAP_PERFMON shows the memory map of any process, and opens no file of it. */
static int files_denied(u32 pid, const char *path, struct err *err)
{
	err_set_status(err, -EACCES, EXIT_PERMISSION,
		       "process %u: no permission to open any of its executable files: it "
		       "belongs to another user or has more rights",
		       pid);
	err_hint(err, "%s", maps_denied(path));
	return -EACCES;
}

/* What there is to trace may be in this one. Of its path the end is told. */
static void some_denied(u32 pid, const struct plan *p, const char *path, int code, const char *then,
			struct err *err)
{
	size_t n = strlen(path);

	err_set_status(err, code, EXIT_PERMISSION,
		       "process %u: no permission to open %u of its %u executable files, such as "
		       "%s%s%s",
		       pid, p->denied, p->files, n > 100 ? "..." : "",
		       path + (n > 100 ? n - 100 : 0), then);
	err_hint(err, "%s", maps_denied(path));
}

/* In the process's memory: 1, 0, or -1, it cannot be read. */
static int is_elf_at(u32 pid, u64 address)
{
	char begin[SELFMAG];

	return target_read(pid, address, begin, SELFMAG) ? -1 : !memcmp(begin, ELFMAG, SELFMAG);
}

/*
 * A file that may not be opened may be a library. What a compiler has made at run time lies in files without a name
 * (memory that is shared, a temporary file that is deleted), executable from their begin, and does not begin as
 * libraries do; those that are in memory alone have parts that lie anywhere.
 */
static bool may_be_library(u32 pid, const struct maps *m, const struct map_entry *e)
{
	u32 i;

	for (i = 0; i < m->count; i++)
		if (m->entries[i].dev == e->dev && m->entries[i].inode == e->inode &&
		    !m->entries[i].pgoff)
			return is_elf_at(pid, m->entries[i].start) != 0;
	return strncmp(e->path, "/memfd:", 7) || is_elf_at(pid, e->start - e->pgoff) == 1;
}

/* Programs that run a translation of the target's code: a breakpoint that the kernel puts into the
 * original may be translated too, and then kills it. By what they have mapped. */
static const char *translator(const struct maps *m)
{
	static const struct {
		const char *file; /* its name begins so */
		const char *name;
	} known[] = {
		{ "vgpreload_", "valgrind" },
		{ "librrpreload", "rr" },
		{ "libdynamorio", "DynamoRIO" },
	};
	u32 i, k;

	for (i = 0; i < m->count; i++) {
		const char *file = strrchr(m->entries[i].path, '/');

		for (k = 0; file && k < ARRAY_SIZE(known); k++)
			if (!strncmp(file + 1, known[k].file, strlen(known[k].file)))
				return known[k].name;
		/* A static program has nothing preloaded, but the tool itself. */
		if (file && strstr(m->entries[i].path, "/valgrind/") && strstr(file, "-linux"))
			return known[0].name;
	}
	return NULL;
}

static int refuse_translated(struct plan *p, u32 pid, const char *by, struct err *err)
{
	plan_free(p);
	err_set(err, -ENOTSUP,
		"process %u runs under %s, which executes a translation of its code: a probe "
		"may kill it",
		pid, by);
	err_hint(err, "Run it without.");
	return -ENOTSUP;
}

/* One of them; `denied` keeps the path of the first that may not be opened. 0 or -ENOMEM. */
static int add_mapped(struct plan *p, u32 pid, const struct maps *m, const struct map_entry *e,
		      struct plan_cache *c, char denied[DENIED_PATH], struct err *err)
{
	int r, fd = maps_open(pid, e);

	if (fd == -EINVAL)
		return 0;
	p->files++;
	r = fd < 0 ? fd : add(p, fd, e->path, c, err);
	if (r == 1)
		place(&p->dsos[p->count - 1], m, e);
	else if (fd >= 0)
		close(fd);
	p->unreadable += fd < 0;
	if ((fd == -EACCES || fd == -EPERM) && may_be_library(pid, m, e)) {
		p->denied++;
		if (!denied[0])
			snprintf(denied, DENIED_PATH, "%s", e->path);
	}
	return r == -ENOMEM ? r : 0;
}

static int add_all_mapped(struct plan *p, u32 pid, const struct maps *m, struct plan_cache *c,
			  char denied[DENIED_PATH], struct err *err)
{
	struct map seen = { 0 };
	u64 key;
	u32 i;
	int r = 0;

	for (i = 0; i < m->count && !r; i++) {
		key = m->entries[i].dev * 0x9e3779b97f4a7c15ull ^ m->entries[i].inode;
		if (map_get(&seen, key))
			continue;
		r = map_put(&seen, key, 1);
		if (!r)
			r = add_mapped(p, pid, m, &m->entries[i], c, denied, err);
	}
	map_free(&seen);
	return r;
}

/* Why nothing was found. */
static int none_of_process(struct plan *p, u32 pid, const char *denied, struct err *err)
{
	char where[32];

	if (p->unreadable && maps_gone(pid))
		return no_maps(pid, err);
	if (p->denied && p->denied == p->files)
		return files_denied(pid, denied, err);
	if (p->denied) {
		some_denied(pid, p, denied, -ENOENT,
			    ", and there is nothing to trace in the others", err);
		return -ENOENT;
	}
	snprintf(where, sizeof(where), "process %u", pid);
	return nothing(err, p, where);
}

int plan_process(u32 pid, struct plan_cache *c, struct plan *p, struct err *err)
{
	char denied[DENIED_PATH] = "";
	const char *by;
	struct maps m;
	int r;

	memset(p, 0, sizeof(*p));
	r = read_maps(pid, &m);
	if (r)
		return no_access(pid, r, err);
	if (!m.count) {
		maps_free(&m);
		return no_maps(pid, err);
	}
	r = add_all_mapped(p, pid, &m, c, denied, err);
	by = translator(&m);
	maps_free(&m);
	if (r) {
		plan_free(p);
		return err_set(err, r, "process %u: no memory to look through its files", pid);
	}
	if (p->count && by)
		return refuse_translated(p, pid, by, err);
	if (p->denied && maps_gone(pid))
		p->denied = 0;
	if (p->denied)
		some_denied(pid, p, denied, 0, ": what is in those is not traced", &p->left_out);
	return p->count ? 0 : none_of_process(p, pid, denied, err);
}

int plan_file(int fd, const char *path, struct plan_cache *c, struct plan *p, struct err *err)
{
	int own, r;

	memset(p, 0, sizeof(*p));
	own = dup(fd);
	if (own < 0)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	p->files = 1;
	r = add(p, own, path, c, err);
	if (r == 1)
		return 0;
	close(own);
	if (r == -ENOMEM)
		return err_set(err, r, "%s: no memory to read it", path);
	return nothing(err, p, path);
}

void plan_free(struct plan *p)
{
	u32 i;

	for (i = 0; i < p->count; i++) {
		close(p->dsos[i].fd);
		free(p->dsos[i].path);
	}
	free(p->dsos);
	memset(p, 0, sizeof(*p));
}
