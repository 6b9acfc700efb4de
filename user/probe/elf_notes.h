/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The SystemTap probe notes (.note.stapsdt) of an ELF file, which may be
 * hostile: malformed notes are skipped, everything is bounded by the file.
 */
#ifndef PROBE_ELF_NOTES_H
#define PROBE_ELF_NOTES_H

#include "base/err.h"

/* Strings are borrowed for the call of elf_note_fn. */
struct elf_note {
	const char *provider, *name, *args;
	u64 address; /* of the site, as linked; prelink is undone */
	u64 offset; /* of the site in the file */
	u64 semaphore; /* address as linked, or 0: none */
	u64 semaphore_offset; /* in the file, or 0: none */
};

struct elf_summary {
	char build_id[65]; /* hexadecimal, or "" */
	u32 notes; /* well-formed ones */
	u32 skipped; /* malformed, or pointing outside the file's segments */
};

/* Takes a note. Non-zero ends the walk and is returned. */
typedef int (*elf_note_fn)(void *ctx, const struct elf_note *n);

/*
 * Hands each note of the file to fn. The descriptor is borrowed. `s` may be
 * NULL. 0, -ENOEXEC (not an ELF file), -ENOTSUP (not 64-bit of this machine's
 * byte order), -EBADMSG, what fn returned.
 */
int elf_notes_read(int fd, elf_note_fn fn, void *ctx, struct elf_summary *s);

#endif
