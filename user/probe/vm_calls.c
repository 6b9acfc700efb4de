/* SPDX-License-Identifier: BSD-2-Clause */
#include "probe/vm_calls.h"

#include "probe/elf_notes.h"
#include "probe/started.h"

#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- How it was started ---- */

/* An argument, or one of those that a variable holds (JAVA_TOOL_OPTIONS). */
static bool has_flag(u32 pid, const regex_t *flag)
{
	static const char *const names[] = { "cmdline", "environ" };
	bool found = false;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names) && !found; i++) {
		char *text = started_strings(pid, names[i]), *s, *word, *rest;
		size_t len;

		for (s = text; s && *s && !found; s += len) {
			len = strlen(s) + 1;
			rest = s;
			while (!found && (word = strsep(&rest, " =\"'\t")))
				found = !regexec(flag, word, 0, NULL, 0);
		}
		free(text);
	}
	return found;
}

/* ---- What has to be up ---- */

struct look {
	const char *provider, *name;
	u64 semaphore_offset;
};

static int find_switch(void *ctx, const struct elf_note *n)
{
	struct look *l = ctx;

	if (strcmp(n->name, l->name) || strcmp(n->provider, l->provider))
		return 0;
	l->semaphore_offset = n->semaphore_offset;
	return 1;
}

/* The file offset of an address of its code, or 0. */
static u64 offset_of(Elf *elf, u64 address)
{
	GElf_Phdr ph;
	size_t n, i;

	if (elf_getphdrnum(elf, &n))
		return 0;
	for (i = 0; i < n; i++)
		if (gelf_getphdr(elf, (int)i, &ph) && ph.p_type == PT_LOAD && ph.p_flags & PF_X &&
		    address >= ph.p_vaddr && address - ph.p_vaddr < ph.p_filesz)
			return address - ph.p_vaddr + ph.p_offset;
	return 0;
}

/* The file's initialisation function: the loader called it once. */
static u64 find_quiet(int fd)
{
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	Elf_Scn *scn = NULL;
	u64 offset = 0;

	while (elf && (scn = elf_nextscn(elf, scn))) {
		Elf_Data *data;
		GElf_Shdr sh;
		GElf_Dyn d;
		int i;

		if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_DYNAMIC)
			continue;
		data = elf_getdata(scn, NULL);
		for (i = 0; data && gelf_getdyn(data, i, &d) && d.d_tag != DT_NULL; i++)
			if (d.d_tag == DT_INIT)
				offset = offset_of(elf, d.d_un.d_ptr);
	}
	elf_end(elf);
	return offset;
}

/* ---- All of it ---- */

static int refuse(struct err *err, u32 pid, const struct vm_profile *p, const char *why)
{
	return err_set(err, -ENOTSUP, "process %u: %s tells of no calls: %s", pid, p->name, why);
}

static int refuse_start(struct err *err, u32 pid, const struct vm_profile *p, const char *with)
{
	err_set(err, -ENOTSUP,
		"process %u: %s tells of no calls: its probes at them were not switched on when it "
		"was started",
		pid, p->name);
	err_hint(err, "Start it with %s, or leave --exact-calls out.", with);
	return -ENOTSUP;
}

int vm_calls_check(u32 pid, const struct vm_target *t, struct vm_calls *c, struct err *err)
{
	const struct vm_profile *p = t->profile;
	char provider[VM_NAME_MAX], with[VM_NAME_MAX + 8];
	const char *name = vm_probe(p, VM_CALL_SWITCH, provider);
	struct look look = { .provider = provider, .name = name };

	*c = (struct vm_calls){ 0 };
	if (!t->probes[VM_CALL_BEGIN] || !t->probes[VM_CALL_END])
		return refuse(err, pid, p, p->calls.none[0] ? p->calls.none : "it has no probes");
	if (p->calls.env[0] && !started_number(pid, p->calls.env)) {
		snprintf(with, sizeof(with), "%s=1", p->calls.env);
		return refuse_start(err, pid, p, with);
	}
	if (p->calls.has_flag && !has_flag(pid, &p->calls.flag))
		return refuse_start(err, pid, p, p->calls.flag_name);
	if (!name)
		return 0;
	elf_notes_read(t->fd, find_switch, &look, NULL);
	c->switch_offset = look.semaphore_offset;
	c->quiet_offset = find_quiet(t->fd);
	if (!c->switch_offset || !c->quiet_offset)
		return refuse(err, pid, p, "what switches them on was not found in its file");
	return 0;
}
