/* SPDX-License-Identifier: BSD-2-Clause */
#include "probe/vm_file.h"

#include "base/wire.h"
#include "probe/elf_notes.h"
#include "probe/plan.h"

#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct vm_cache_entry {
	const struct vm_profile *profile;
	u64 dev, inode, size, mtime_ns;
	int result; /* of reading it */
	struct vm_file_facts facts;
};

/* Of one table; more is no program's. */
#define SYMBOLS_BYTES_MAX (256u << 20)
/* Builds of VMs on one machine; more are read again each time. */
#define CACHE_MAX 4096

void vm_cache_free(struct vm_cache *c)
{
	map_free(&c->known);
	free(c->entries);
	memset(c, 0, sizeof(*c));
}

/* ---- Reading ---- */

struct notes {
	int fd;
	const struct vm_profile *profile;
	struct vm_file_facts *to;
};

static int take_note(void *ctx, const struct elf_note *n)
{
	struct notes *c = ctx;
	char provider[VM_NAME_MAX];
	int i;

	for (i = 0; i < VM_ROLES; i++) {
		const char *name = vm_probe(c->profile, (enum vm_role)i, provider);

		if (!name || strcmp(n->name, name) || strcmp(n->provider, provider))
			continue;
		c->to->probes[i] = true;
		c->to->nop5[i] |= site_kind_at(c->fd, n->offset) == SITE_NOP5;
	}
	return 0;
}

/* A VM that is linked into a program has its symbols in .symtab, unless that has
 * been stripped. */
static void read_symbols(Elf *elf, const struct vm_profile *p, struct vm_file_facts *to)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	GElf_Sym sym;
	size_t i, n;

	while ((scn = elf_nextscn(elf, scn))) {
		Elf_Data *data;

		if (!gelf_getshdr(scn, &sh) ||
		    (sh.sh_type != SHT_DYNSYM && sh.sh_type != SHT_SYMTAB) || !sh.sh_entsize ||
		    sh.sh_size > SYMBOLS_BYTES_MAX)
			continue;
		data = elf_getdata(scn, NULL);
		n = data ? sh.sh_size / sh.sh_entsize : 0;
		for (i = 0; i < n && gelf_getsym(data, (int)i, &sym); i++) {
			const char *name = elf_strptr(elf, sh.sh_link, sym.st_name);

			if (!name || sym.st_shndx == SHN_UNDEF)
				continue;
			if (p->symbol[0] && !strcmp(name, p->symbol))
				to->root = sym.st_value;
			if (p->version[0] && !strcmp(name, p->version))
				to->version = sym.st_value;
			if (p->sizes[0] && !strcmp(name, p->sizes))
				to->sizes = sym.st_value;
		}
	}
}

static void read_segments(Elf *elf, struct vm_file_facts *to)
{
	u64 page = (u64)sysconf(_SC_PAGESIZE) - 1;
	GElf_Phdr ph;
	size_t n, i;

	if (elf_getphdrnum(elf, &n))
		return;
	for (i = 0; i < n && to->segment_count < VM_SEGMENTS; i++) {
		if (!gelf_getphdr(elf, (int)i, &ph) || ph.p_type != PT_LOAD || !(ph.p_flags & PF_X))
			continue;
		to->segments[to->segment_count++] =
			(struct vm_segment){ ph.p_offset & ~page, ph.p_vaddr & ~page };
	}
}

static int read_elf(int fd, const struct vm_profile *p, struct vm_file_facts *to)
{
	struct notes notes = { fd, p, to };
	struct elf_summary sum;
	int r = elf_notes_read(fd, take_note, &notes, &sum);
	Elf *elf;

	if (r < 0)
		return r;
	memcpy(to->build_id, sum.build_id, sizeof(to->build_id));
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!elf)
		return -ENOEXEC;
	read_segments(elf, to);
	read_symbols(elf, p, to);
	elf_end(elf);
	return to->segment_count ? 0 : -ENOEXEC;
}

/* ---- By way of the cache ---- */

static void remember(struct vm_cache *c, u64 key, const struct vm_cache_entry *e)
{
	struct vm_cache_entry *grown;

	if (c->count >= CACHE_MAX)
		return;
	if ((c->count & (c->count - 1)) == 0) {
		grown = realloc(c->entries, (c->count ? 2 * c->count : 1) * sizeof(*grown));
		if (!grown)
			return;
		c->entries = grown;
	}
	c->entries[c->count] = *e;
	if (!map_put(&c->known, key, c->count + 1))
		c->count++;
}

int vm_file_read(int fd, const struct vm_profile *p, struct vm_cache *c, struct vm_file_facts *to)
{
	struct vm_cache_entry e = { .profile = p };
	struct stat st;
	u64 key, *at;

	memset(to, 0, sizeof(*to));
	if (!c)
		return read_elf(fd, p, to);
	if (fstat(fd, &st))
		return -errno;
	e.dev = st.st_dev;
	e.inode = st.st_ino;
	e.size = (u64)st.st_size;
	e.mtime_ns = (u64)st.st_mtim.tv_sec * NSEC_PER_SEC + (u64)st.st_mtim.tv_nsec;
	key = (e.dev * 0x9e3779b97f4a7c15ull ^ e.inode) * 31 + (u64)(uintptr_t)p;
	at = map_get(&c->known, key);
	if (at) {
		const struct vm_cache_entry *k = &c->entries[*at - 1];

		if (k->profile == p && k->dev == e.dev && k->inode == e.inode &&
		    k->size == e.size && k->mtime_ns == e.mtime_ns) {
			*to = k->facts;
			return k->result;
		}
	}
	e.result = read_elf(fd, p, to);
	e.facts = *to;
	remember(c, key, &e);
	return e.result;
}

bool vm_file_bias(const struct vm_file_facts *f, u64 pgoff, u64 start, u64 *bias)
{
	u32 i;

	for (i = 0; i < f->segment_count; i++) {
		if (f->segments[i].offset != pgoff)
			continue;
		*bias = start - f->segments[i].address;
		return true;
	}
	return false;
}
