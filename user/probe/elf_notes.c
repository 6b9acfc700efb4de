/* SPDX-License-Identifier: BSD-2-Clause */
#include "probe/elf_notes.h"

#include <elf.h>
#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <stdio.h>
#include <string.h>

#define SEGMENTS_MAX 64
#define NOTE_STAPSDT 3
/* Of one section; more is no program's: the largest known hold 400,000 notes
 * in some 30 MB. */
#define NOTES_BYTES_MAX (128u << 20)

struct file {
	Elf *elf;
	GElf_Phdr load[SEGMENTS_MAX];
	size_t loads;
	u64 base; /* address of .stapsdt.base, or 0 */
};

/* File offset of an address, or 0 (never a valid answer: the header is there). */
static u64 offset_of(const struct file *f, u64 address, u32 flags)
{
	size_t i;

	for (i = 0; i < f->loads; i++) {
		const GElf_Phdr *p = &f->load[i];

		if ((p->p_flags & flags) == flags && address >= p->p_vaddr &&
		    address - p->p_vaddr < p->p_filesz)
			return address - p->p_vaddr + p->p_offset;
	}
	return 0;
}

/* The terminated string at *p, before end; moves *p behind it. NULL: none. */
static const char *string_at(const char **p, const char *end)
{
	const char *s = *p, *z = memchr(s, 0, (size_t)(end - s));

	if (!z)
		return NULL;
	*p = z + 1;
	return s;
}

static bool parse_note(const struct file *f, const char *desc, size_t size, struct elf_note *n)
{
	const char *end = desc + size, *p = desc + 3 * sizeof(u64);
	u64 at[3]; /* site, base, semaphore */

	if (size < sizeof(at) + 3)
		return false;
	memcpy(at, desc, sizeof(at));
	n->provider = string_at(&p, end);
	n->name = n->provider ? string_at(&p, end) : NULL;
	n->args = n->name ? string_at(&p, end) : NULL;
	if (!n->args)
		return false;
	/* prelink moves addresses but leaves notes alone. */
	if (f->base) {
		at[0] += f->base - at[1];
		if (at[2])
			at[2] += f->base - at[1];
	}
	n->address = at[0];
	n->offset = offset_of(f, at[0], PF_X);
	n->semaphore = at[2];
	n->semaphore_offset = at[2] ? offset_of(f, at[2], PF_W) : 0;
	return n->offset && (!at[2] || n->semaphore_offset);
}

static void read_build_id(const char *desc, size_t size, struct elf_summary *s)
{
	size_t i;

	for (i = 0; i < size && i < (sizeof(s->build_id) - 1) / 2; i++)
		snprintf(s->build_id + 2 * i, 3, "%02x", (u8)desc[i]);
}

static int read_section(const struct file *f, Elf_Scn *scn, elf_note_fn fn, void *ctx,
			struct elf_summary *s)
{
	Elf_Data *data = elf_rawdata(scn, NULL);
	size_t at = 0, name, desc;
	GElf_Nhdr h;

	/* gelf_getnote() wants a typed buffer; the bytes are the same. */
	if (!data || !data->d_buf)
		return 0;
	data->d_type = ELF_T_NHDR;
	while (at < data->d_size && (at = gelf_getnote(data, at, &h, &name, &desc)) > 0) {
		const char *owner = (const char *)data->d_buf + name;
		const char *body = (const char *)data->d_buf + desc;
		struct elf_note n;
		int r;

		if (h.n_type == NT_GNU_BUILD_ID && h.n_namesz == 4 && !memcmp(owner, "GNU", 4)) {
			read_build_id(body, h.n_descsz, s);
			continue;
		}
		if (h.n_type != NOTE_STAPSDT || h.n_namesz != 8 || memcmp(owner, "stapsdt", 8))
			continue;
		if (!parse_note(f, body, h.n_descsz, &n)) {
			s->skipped++;
			continue;
		}
		s->notes++;
		r = fn(ctx, &n);
		if (r)
			return r;
	}
	return 0;
}

static int read_layout(struct file *f)
{
	size_t i, count, names;
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	if (elf_getphdrnum(f->elf, &count))
		return -EBADMSG;
	for (i = 0; i < count && f->loads < SEGMENTS_MAX; i++)
		if (gelf_getphdr(f->elf, (int)i, &f->load[f->loads]) &&
		    f->load[f->loads].p_type == PT_LOAD)
			f->loads++;
	/* A file without section names has no base section: then no prelink. */
	if (elf_getshdrstrndx(f->elf, &names))
		return 0;
	while ((scn = elf_nextscn(f->elf, scn))) {
		const char *name;

		if (!gelf_getshdr(scn, &sh))
			continue;
		name = elf_strptr(f->elf, names, sh.sh_name);
		if (name && !strcmp(name, ".stapsdt.base")) {
			f->base = sh.sh_addr;
			break;
		}
	}
	return 0;
}

int elf_notes_read(int fd, elf_note_fn fn, void *ctx, struct elf_summary *s)
{
	struct elf_summary none;
	struct file f = { 0 };
	Elf_Scn *scn = NULL;
	GElf_Ehdr eh;
	GElf_Shdr sh;
	int r;

	s = s ? s : &none;
	memset(s, 0, sizeof(*s));
	if (elf_version(EV_CURRENT) == EV_NONE)
		return -ENOTSUP;
	/* Not ELF_C_READ_MMAP: the target could cut its file short under us. */
	f.elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!f.elf)
		return -ENOEXEC;
	r = -ENOEXEC;
	if (elf_kind(f.elf) != ELF_K_ELF || !gelf_getehdr(f.elf, &eh))
		goto out;
	r = -ENOTSUP;
	if (eh.e_ident[EI_CLASS] != ELFCLASS64 ||
	    eh.e_ident[EI_DATA] !=
		    (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB))
		goto out;
	r = read_layout(&f);
	while (!r && (scn = elf_nextscn(f.elf, scn)))
		if (gelf_getshdr(scn, &sh) && sh.sh_type == SHT_NOTE) {
			if (sh.sh_size > NOTES_BYTES_MAX)
				s->skipped++;
			else
				r = read_section(&f, scn, fn, ctx, s);
		}
out:
	elf_end(f.elf);
	return r;
}
