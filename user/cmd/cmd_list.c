/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lists what can be traced: the probes and groups of processes, the probes of
 * an ELF file, the groups of a recording, or all processes that have probes.
 */
#include "attach/kernel.h"
#include "base/json.h"
#include "base/text.h"
#include "cmd/known.h"
#include "cmd/scan.h"
#include "cmd/session.h"
#include "probe/elf_notes.h"
#include "probe/plan.h"
#include "probe/target.h"
#include "probe/vm.h"
#include "sink/containers.h"
#include "source/replay.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Both forms of output come from the same calls. */
struct print {
	struct out out;
	struct json json;
	bool as_json;
};

static const char *clean(char *to, size_t cap, const char *s)
{
	return text_clean(to, cap, s, strlen(s));
}

/* ---- Probes ---- */

struct notes {
	struct print *p;
	const struct plan_dso *dso;
	u32 pid; /* 0: a file, not a process */
};

/* What stands at the site in the process: 0xcc where somebody traces it. */
static const char *site_now(u32 pid, const struct plan_dso *d, const struct elf_note *n)
{
	u8 byte;

	if (pid && !target_read(pid, n->address + d->bias, &byte, 1) && byte == 0xcc)
		return "int3";
	return site_kind_name(site_kind_at(d->fd, n->offset));
}

static int put_note(void *ctx, const struct elf_note *n)
{
	const struct notes *c = ctx;
	const char *site = site_now(c->pid, c->dso, n);
	char provider[192], name[192], args[192];
	struct print *p = c->p;
	u16 semaphore = 0;
	bool known;

	known = c->pid && n->semaphore &&
		!target_read(c->pid, n->semaphore + c->dso->bias, &semaphore, sizeof(semaphore));
	if (p->as_json) {
		json_object(&p->json);
		json_key_string(&p->json, "provider", n->provider);
		json_key_string(&p->json, "name", n->name);
		json_key_string(&p->json, "arguments", n->args);
		json_key_u64(&p->json, "offset", n->offset);
		json_key_u64(&p->json, "semaphore_offset", n->semaphore_offset);
		json_key(&p->json, "semaphore");
		if (known)
			json_u64(&p->json, semaphore);
		else
			json_null(&p->json);
		json_key_string(&p->json, "site", site);
		json_end_object(&p->json);
		return 0;
	}
	out_printf(&p->out, "    %s:%s  0x%" PRIx64 "  %s",
		   clean(provider, sizeof(provider), n->provider),
		   clean(name, sizeof(name), n->name), n->offset, site);
	if (known)
		out_printf(&p->out, "  semaphore %u", semaphore);
	else if (n->semaphore)
		out_puts(&p->out, "  semaphore");
	if (n->args[0])
		out_printf(&p->out, "  %s", clean(args, sizeof(args), n->args));
	out_puts(&p->out, "\n");
	return 0;
}

static void put_dso(struct print *p, u32 pid, const struct plan_dso *d)
{
	struct notes c = { p, d, pid };
	char path[1024];

	if (p->as_json) {
		json_object(&p->json);
		json_key_string(&p->json, "path", d->path);
		json_key_string(&p->json, "build_id", d->probes.build_id);
		json_key_string(&p->json, "profile", d->probes.profile->name);
		json_key_bool(&p->json, "batches", plan_has_flush(d));
		json_key_bool(&p->json, "direct", plan_has_direct(d));
		json_key_array(&p->json, "probes");
	} else {
		out_printf(&p->out, "  %s: profile %s%s%s\n", clean(path, sizeof(path), d->path),
			   d->probes.profile->name, plan_has_flush(d) ? ", batches" : "",
			   plan_has_direct(d) ? ", conventional probes" : "");
	}
	elf_notes_read(d->fd, put_note, &c, NULL);
	if (p->as_json) {
		json_end_array(&p->json);
		json_end_object(&p->json);
	}
}

/* ---- Groups ---- */

static void put_known(void *ctx, const struct known_name *k)
{
	char kind[64], name[VMSPAN_NAME_MAX * 3 + 4];
	struct print *p = ctx;

	if (p->as_json) {
		json_object(&p->json);
		json_key_string(&p->json, "kind", k->kind);
		json_key(&p->json, "name");
		json_bytes(&p->json, k->name, k->len);
		json_key_u64(&p->json, "id", k->id);
		json_end_object(&p->json);
		return;
	}
	out_printf(&p->out, "    %s:%s\n", clean(kind, sizeof(kind), k->kind),
		   text_clean(name, sizeof(name), k->name, k->len));
}

static void put_names(struct print *p, const struct known_names *names)
{
	static const struct {
		u8 type;
		const char *key, *title;
	} sections[] = {
		{ VMSPAN_DEF_GROUP, "groups", "groups" },
		{ VMSPAN_DEF_COMPARTMENT, "compartments", "compartments" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sections); i++) {
		u32 n = known_count(names, sections[i].type);

		if (p->as_json)
			json_key_array(&p->json, sections[i].key);
		else
			out_printf(&p->out, "  %s: %u\n", sections[i].title, n);
		known_each(names, sections[i].type, put_known, p);
		if (p->as_json)
			json_end_array(&p->json);
	}
}

struct reading {
	struct known_names *names;
	u32 pid;
	u64 registry;
};

static int take_log(void *ctx, const void *data, u32 bytes)
{
	const struct reading *g = ctx;

	if (batch_check(data, bytes, UINT32_MAX))
		return -EBADMSG;
	return known_add(g->names, g->pid, g->registry, data, bytes);
}

static void read_names(u32 pid, const struct plan *plan, struct known_names *names)
{
	u32 i;

	for (i = 0; i < plan->count; i++) {
		struct reading g = { names, pid, 0 };
		struct log_cursor c = { 0 };
		bool abi1;

		if (plan->dsos[i].registry &&
		    !target_definer(pid, plan->dsos[i].registry, &g.registry, &abi1))
			target_log_read(pid, g.registry, abi1, &c, take_log, &g);
	}
}

/* ---- What may be listed ---- */

static void put_container(struct print *p, const struct snapshot_container *c)
{
	char label[CONTAINER_LABEL_MAX];

	if (p->as_json)
		container_json(&p->json, c);
	else if (*container_label(c, label))
		out_printf(&p->out, "  in %s", label);
}

/* How each process begins. */
static void put_process_head(struct print *p, u32 pid)
{
	char path[40], comm[32], name[100];
	struct snapshot_container shown;
	struct container c;

	snprintf(path, sizeof(path), "/proc/%u/comm", pid);
	kernel_read_line(path, comm, sizeof(comm));
	if (p->as_json) {
		json_object(&p->json);
		json_key_u64(&p->json, "pid", pid);
		json_key_string(&p->json, "name", comm);
	} else {
		out_printf(&p->out, "%u %s", pid, clean(name, sizeof(name), comm));
	}
	shown = scan_container(pid, &c);
	put_container(p, &shown);
	if (!p->as_json)
		out_puts(&p->out, "\n");
}

/* A stock VM: 0, or -ENOENT when it runs none. */
static int list_vm(struct print *p, u32 pid)
{
	char name[100], path[1024], provider[VM_NAME_MAX];
	struct vm_target t;
	int i;

	if (vm_find(pid, NULL, &t, NULL))
		return -ENOENT;
	put_process_head(p, pid);
	if (p->as_json) {
		json_key_string(&p->json, "vm", t.profile->name);
		json_key_string(&p->json, "version", t.version);
		json_key_string(&p->json, "path", t.path);
		json_key_string(&p->json, "build_id", t.build_id);
		json_key_bool(&p->json, "layout", t.layout != NULL);
		json_key_array(&p->json, "probes");
	} else {
		out_printf(&p->out, "  %s: %s %s\n", clean(path, sizeof(path), t.path),
			   t.profile->name, t.version);
	}
	for (i = 0; i < VM_ROLES; i++) {
		const char *probe = vm_probe(t.profile, (enum vm_role)i, provider);

		if (!t.probes[i] || !probe)
			continue;
		snprintf(name, sizeof(name), "%s:%s", provider, probe);
		if (p->as_json)
			json_string(&p->json, name);
		else
			out_printf(&p->out, "    %s\n", name);
	}
	if (p->as_json) {
		json_end_array(&p->json);
		json_end_object(&p->json);
	}
	vm_target_free(&t);
	return 0;
}

static int list_process(struct print *p, u32 pid, struct err *e)
{
	struct known_names names = { 0 };
	struct plan plan;
	u32 i;
	int r;

	r = plan_process(pid, NULL, &plan, e);
	if (r == -ENOENT && !list_vm(p, pid)) {
		*e = (struct err){ 0 };
		return 0;
	}
	if (r)
		return r;
	read_names(pid, &plan, &names);
	put_process_head(p, pid);
	if (p->as_json)
		json_key_array(&p->json, "files");
	for (i = 0; i < plan.count; i++)
		put_dso(p, pid, &plan.dsos[i]);
	if (p->as_json)
		json_end_array(&p->json);
	put_names(p, &names);
	if (p->as_json)
		json_end_object(&p->json);
	known_free(&names);
	plan_free(&plan);
	return 0;
}

static int list_pids(struct print *p, const struct options *o, struct err *e)
{
	int r = 0;
	u32 i;

	if (p->as_json)
		json_key_array(&p->json, "processes");
	for (i = 0; i < o->target.count && !r; i++)
		r = list_process(p, o->target.pids[i], e);
	if (p->as_json)
		json_end_array(&p->json);
	return r;
}

static void put_process(void *ctx, const struct scan_process *s)
{
	char name[100], path[1024];
	struct print *p = ctx;

	if (p->as_json) {
		json_object(&p->json);
		json_key_u64(&p->json, "pid", s->pid);
		json_key_string(&p->json, "name", s->name);
		json_key_string(&p->json, "profile", s->profile);
		json_key_string(&p->json, "path", s->path);
		put_container(p, &s->container);
		json_end_object(&p->json);
	} else {
		out_printf(&p->out, "%7u  %-16s %-8s %s", s->pid,
			   clean(name, sizeof(name), s->name), s->profile,
			   clean(path, sizeof(path), s->path));
		put_container(p, &s->container);
		out_puts(&p->out, "\n");
	}
}

static int list_all(struct print *p, struct err *e)
{
	int n;

	if (p->as_json)
		json_key_array(&p->json, "processes");
	n = scan_processes(put_process, p, e);
	if (p->as_json)
		json_end_array(&p->json);
	return n < 0 ? n : 0;
}

static int list_elf(struct print *p, int fd, const char *path, struct err *e)
{
	struct plan plan;
	u32 i;
	int r = plan_file(fd, path, NULL, &plan, e);

	if (r)
		return r;
	if (p->as_json)
		json_key_array(&p->json, "files");
	for (i = 0; i < plan.count; i++)
		put_dso(p, 0, &plan.dsos[i]);
	if (p->as_json)
		json_end_array(&p->json);
	plan_free(&plan);
	return 0;
}

static int take_item(void *ctx, const struct item *it)
{
	struct known_names *names = ctx;

	if (it->type == ITEM_DEFS)
		return known_add(names, it->defs.pid, it->defs.registry, it->defs.data,
				 it->defs.bytes);
	if (it->type != ITEM_BATCH)
		return 0;
	return known_add(names, it->batch.pid, it->batch.registry, it->batch.data, it->batch.bytes);
}

static int list_recording(struct print *p, const char *path, struct err *e)
{
	struct known_names names = { 0 };
	struct source *s = replay_open(path, e);
	int r;

	if (!s)
		return e->code;
	do {
		r = source_poll(s, -1, -1, take_item, &names, e);
	} while (r > 0);
	if (!r && !p->as_json) {
		char name[1024];

		out_printf(&p->out, "%s: a recording\n", clean(name, sizeof(name), path));
	}
	if (!r)
		put_names(p, &names);
	known_free(&names);
	source_free(s);
	return r;
}

static int list_file(struct print *p, const char *path, struct err *e)
{
	char magic[4] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), r;

	if (fd < 0)
		return err_set_status(e, -errno, errno == EACCES ? EXIT_PERMISSION : EXIT_FAILED,
				      "%s cannot be read: %s", path, strerror(errno));
	if (pread(fd, magic, sizeof(magic), 0) == sizeof(magic) && !memcmp(magic, "\177ELF", 4))
		r = list_elf(p, fd, path, e);
	else
		r = list_recording(p, path, e);
	close(fd);
	return r;
}

int cmd_list(int argc, char **argv)
{
	const struct command *self = command_find("list");
	struct options o;
	struct print p = { 0 };
	struct err e = { 0 };
	int status, r;

	status = options_parse(self, argc, argv, &o);
	if (status != OPTIONS_RUN)
		return status;
	if (o.rest_count > 1 || (o.rest_count && o.target.count)) {
		usage_error(&e, self, "either processes or one file can be listed");
		return say_error(&e);
	}
	out_open_fd(&p.out, STDOUT_FILENO);
	json_open(&p.json, &p.out);
	p.as_json = o.output.json;
	if (p.as_json) {
		json_object(&p.json);
		json_key_u64(&p.json, "schema", 1);
	}
	r = o.rest_count     ? list_file(&p, o.rest[0], &e)
	    : o.target.count ? list_pids(&p, &o, &e)
			     : list_all(&p, &e);
	if (p.as_json) {
		json_end_object(&p.json);
		json_line(&p.json);
	}
	status = finish_output(&p.out, "standard output", EXIT_DONE);
	return r ? say_error(&e) : status;
}
