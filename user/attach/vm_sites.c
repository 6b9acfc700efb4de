/* SPDX-License-Identifier: BSD-2-Clause */
#include "attach/vm_sites.h"

#include "attach/kernel.h"
#include "probe/elf_notes.h"
#include "probe/plan.h"
#include "probe/probe_args.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of one probe; the most that is known of are some ten, wherever it has been inlined. */
#define SITES_MAX 256

/* ---- What they hand over ---- */

struct vm_args_set {
	struct probe_args args;
	u32 users; /* sites */
};

void vm_args_free(struct vm_args *a)
{
	free(a->sets);
	a->sets = NULL;
}

int vm_args_take(struct vm_args *a, const struct probe_args *args)
{
	static const struct probe_args none;
	u32 i, unused = 0;

	if (!memcmp(args, &none, sizeof(none)))
		return 0;
	if (!a->sets)
		a->sets = calloc(PROBE_ARGS_SETS, sizeof(*a->sets));
	if (!a->sets)
		return -ENOMEM;
	for (i = PROBE_ARGS_SETS - 1; i; i--) {
		if (!a->sets[i].users)
			unused = i;
		else if (!memcmp(&a->sets[i].args, args, sizeof(*args)))
			break;
	}
	i = i ? i : unused;
	if (!i)
		return -ENOSPC;
	if (!a->sets[i].users && bpf_map_update_elem(a->fd, &i, args, BPF_ANY))
		return -errno;
	a->sets[i].args = *args;
	a->sets[i].users++;
	return (int)i;
}

void vm_args_give(struct vm_args *a, u32 set)
{
	if (set)
		a->sets[set].users--;
}

/* ---- Where they are ---- */

struct sites {
	struct tracer *t;
	const struct vm_target *v;
	enum vm_role role;
	const char *probe;
	char provider[VM_NAME_MAX];
	u64 offsets[SITES_MAX], semaphores[SITES_MAX], sets[SITES_MAX];
	u32 count;
	struct err *err;
};

/* Of the others nobody asks what they hand over. */
static bool hands_over(enum vm_role role)
{
	return role == VM_REQUEST_BEGIN || role == VM_STATUS || role == VM_CALL_BEGIN ||
	       role == VM_CALL_END;
}

static int describe(struct sites *s, const struct elf_note *n)
{
	struct probe_args args;
	const char *bad;
	int r;

	s->sets[s->count] = 0;
	if (!hands_over(s->role))
		return 0;
	if (probe_args_parse(n->args, &args, &bad))
		return err_set(s->err, -ENOTSUP,
			       "%s: what probe %s:%s hands over cannot be read: \"%.*s\" is of no "
			       "known kind",
			       s->v->path, s->provider, s->probe, (int)strcspn(bad, " "), bad);
	r = vm_args_take(&s->t->vm_args, &args);
	if (r < 0)
		return err_set(s->err, r, "%s: probe %s:%s: what it hands over finds no room: %s",
			       s->v->path, s->provider, s->probe, strerror(-r));
	s->sets[s->count] = (u64)r;
	return 0;
}

static int take_site(void *ctx, const struct elf_note *n)
{
	struct sites *s = ctx;
	enum site_kind kind;
	int r;

	if (strcmp(n->name, s->probe) || strcmp(n->provider, s->provider))
		return 0;
	kind = site_kind_at(s->v->fd, n->offset);
	if (kind == SITE_NONE || kind == SITE_OTHER)
		return err_set(s->err, -ENOEXEC,
			       "%s: there is no nop where its note says that probe %s:%s is: it "
			       "would break when traced",
			       s->v->path, s->provider, s->probe);
	if (s->count == SITES_MAX)
		return err_set(s->err, -E2BIG, "%s: probe %s:%s is in more than %d places",
			       s->v->path, s->provider, s->probe, SITES_MAX);
	r = describe(s, n);
	if (r)
		return r;
	s->offsets[s->count] = n->offset;
	s->semaphores[s->count++] = n->semaphore_offset;
	return 0;
}

static int find_sites(struct sites *s)
{
	int r = elf_notes_read(s->v->fd, take_site, s, NULL);

	if (!r && !s->count)
		r = -ENOENT;
	if (r && !s->err->code)
		err_set(s->err, r, "%s: reading where probe %s:%s is: %s", s->v->path, s->provider,
			s->probe, strerror(-r));
	return r;
}

/* ---- Links ---- */

static struct site_link *link_sites(struct sites *s, struct bpf_program *prog, u32 pid)
{
	char path[32], what[256];
	struct kernel_probes probes = { .path = path,
					.offsets = s->offsets,
					.semaphores = s->semaphores,
					.cookies = s->sets,
					.count = s->count,
					.pid = pid };
	struct site_link *link;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", s->v->fd);
	fd = kernel_uprobe_multi(bpf_program__fd(prog), &probes);
	link = fd >= 0 ? site_link_new(NULL, fd) : NULL;
	if (link)
		return link;
	snprintf(what, sizeof(what), "attaching to probe %s:%s", s->provider, s->probe);
	kernel_error(s->err, fd < 0 ? fd : -ENOMEM, what);
	return NULL;
}

/* The link has its sets from here on, and gives them back. */
static bool keep_sets(struct site_link *link, struct sites *s)
{
	u32 i;

	link->sets = calloc(s->count, sizeof(*link->sets));
	if (!link->sets)
		return false;
	for (i = 0; i < s->count; i++)
		link->sets[i] = (u16)s->sets[i];
	link->set_count = s->count;
	link->args = &s->t->vm_args;
	return true;
}

struct site_link *vm_sites_attach(struct tracer *t, struct bpf_program *prog, u32 pid,
				  const struct vm_target *v, enum vm_role role, struct err *err)
{
	struct sites s = { .t = t, .v = v, .role = role, .err = err };
	struct site_link *link = NULL;

	s.probe = vm_probe(v->profile, role, s.provider);
	if (!find_sites(&s))
		link = link_sites(&s, prog, pid);
	if (link && keep_sets(link, &s))
		return link;
	if (link)
		err_set(err, -ENOMEM, "no memory");
	site_release(link);
	while (s.count)
		vm_args_give(&t->vm_args, (u32)s.sets[--s.count]);
	return NULL;
}
