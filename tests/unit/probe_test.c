/* SPDX-License-Identifier: BSD-2-Clause */
/* Notes, profiles and maps: what is found, and that nonsense does no harm. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/buf.h"
#include "probe/elf_notes.h"
#include "probe/maps.h"
#include "base/record.h"
#include "probe/plan.h"
#include "probe/profile.h"
#include "probe/profile_file.h"
#include "temp.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define TEXT 0x401000ull
#define DATA 0x404000ull
#define NOTES_AT 0x2000

/* A file with code at TEXT (offset 0x1000), data at DATA (offset 0x1800), and
 * a note section without a name; with `base` also a section that tells where the probes'
 * base has been moved to. */
static int elf_based(const struct buf *notes, u64 base)
{
	static const char names[] = "\0.stapsdt.base";
	Elf64_Ehdr h = { .e_type = ET_EXEC,
			 .e_machine = EM_X86_64,
			 .e_version = EV_CURRENT,
			 .e_phoff = sizeof(h),
			 .e_ehsize = sizeof(h),
			 .e_phentsize = sizeof(Elf64_Phdr),
			 .e_phnum = 2,
			 .e_shentsize = sizeof(Elf64_Shdr),
			 .e_shnum = base ? 4 : 2,
			 .e_shstrndx = base ? 3 : 0 };
	Elf64_Phdr load[2] = {
		{ .p_type = PT_LOAD,
		  .p_flags = PF_R | PF_X,
		  .p_offset = 0x1000,
		  .p_vaddr = TEXT,
		  .p_filesz = 0x800,
		  .p_memsz = 0x800 },
		{ .p_type = PT_LOAD,
		  .p_flags = PF_R | PF_W,
		  .p_offset = 0x1800,
		  .p_vaddr = DATA,
		  .p_filesz = 0x100,
		  .p_memsz = 0x1000 },
	};
	Elf64_Shdr section[4] = { { 0 },
				  { .sh_type = SHT_NOTE,
				    .sh_offset = NOTES_AT,
				    .sh_size = notes->len,
				    .sh_addralign = 4 },
				  { .sh_name = 1,
				    .sh_type = SHT_PROGBITS,
				    .sh_addr = base,
				    .sh_offset = 0x1000,
				    .sh_size = 1 },
				  { .sh_type = SHT_STRTAB, .sh_size = sizeof(names) } };
	int fd = memfd_create("elf", MFD_CLOEXEC);

	memcpy(h.e_ident, ELFMAG, SELFMAG);
	h.e_ident[EI_CLASS] = ELFCLASS64;
	h.e_ident[EI_DATA] = ELFDATA2LSB;
	h.e_ident[EI_VERSION] = EV_CURRENT;
	h.e_shoff = NOTES_AT + ((notes->len + 7) & ~7ull);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)(h.e_shoff + sizeof(section))), 0);
	assert_int_equal(pwrite(fd, &h, sizeof(h), 0), sizeof(h));
	assert_int_equal(pwrite(fd, load, sizeof(load), sizeof(h)), sizeof(load));
	assert_int_equal(pwrite(fd, notes->data, notes->len, NOTES_AT), notes->len);
	section[3].sh_offset = h.e_shoff + sizeof(section);
	assert_int_equal(pwrite(fd, section, sizeof(section), (off_t)h.e_shoff), sizeof(section));
	if (base)
		assert_int_equal(pwrite(fd, names, sizeof(names), (off_t)section[3].sh_offset),
				 sizeof(names));
	else
		assert_int_equal(ftruncate(fd, (off_t)(h.e_shoff + 2 * sizeof(section[0]))), 0);
	return fd;
}

static int elf_with(const struct buf *notes)
{
	return elf_based(notes, 0);
}

static void add_raw(struct buf *b, const char *owner, u32 type, const void *desc, u32 size)
{
	u32 head[3] = { (u32)strlen(owner) + 1, size, type };

	buf_put(b, head, sizeof(head));
	buf_put(b, owner, head[0]);
	while (b->len % 4)
		buf_put_u8(b, 0);
	buf_put(b, desc, size);
	while (b->len % 4)
		buf_put_u8(b, 0);
}

/* strings: provider, name and arguments, `size` bytes with their zeroes. */
static void add_note(struct buf *b, u64 site, u64 semaphore, const char *strings, size_t size)
{
	u64 at[3] = { site, 0, semaphore };
	struct buf d = { 0 };

	buf_put(&d, at, sizeof(at));
	buf_put(&d, strings, size);
	add_raw(b, "stapsdt", 3, d.data, (u32)d.len);
	buf_free(&d);
}

#define STRINGS(s) s, sizeof(s)

struct seen {
	char text[512];
	u32 count;
};

static int see(void *ctx, const struct elf_note *n)
{
	struct seen *s = ctx;
	size_t at = strlen(s->text);

	s->count++;
	if (s->count < 8)
		snprintf(s->text + at, sizeof(s->text) - at, "%s:%s(%s)@%" PRIx64 "/%" PRIx64 " ",
			 n->provider, n->name, n->args, n->offset, n->semaphore_offset);
	return 0;
}

static void notes_are_found_without_section_names(void **state)
{
	struct elf_summary sum;
	struct seen s = { 0 };
	struct buf b = { 0 };
	int fd;

	(void)state;
	add_raw(&b, "GNU", 3, "\x12\x34\xab\xcd", 4);
	add_note(&b, TEXT + 0x10, DATA + 4, STRINGS("p\0n\0008@%rdi"));
	add_note(&b, TEXT + 0x20, 0, STRINGS("p\0other\0"));
	fd = elf_with(&b);
	assert_int_equal(elf_notes_read(fd, see, &s, &sum), 0);
	assert_string_equal(s.text, "p:n(8@%rdi)@1010/1804 p:other()@1020/0 ");
	assert_string_equal(sum.build_id, "1234abcd");
	assert_int_equal(sum.notes, 2);
	assert_int_equal(sum.skipped, 0);
	buf_free(&b);
	close(fd);
}

/* prelink moves a file's addresses and leaves its notes alone: the base section says how far. */
static void notes_of_a_file_that_was_moved_are_moved(void **state)
{
	const u64 moved = 0x100;
	struct elf_summary sum;
	struct seen s = { 0 };
	struct buf b = { 0 };
	int fd;

	(void)state;
	add_note(&b, TEXT + 0x10 - moved, DATA + 4 - moved, STRINGS("p\0n\0"));
	add_note(&b, TEXT + 0x20 - moved, 0, STRINGS("p\0other\0"));
	fd = elf_based(&b, moved);
	assert_int_equal(elf_notes_read(fd, see, &s, &sum), 0);
	assert_string_equal(s.text, "p:n()@1010/1804 p:other()@1020/0 ");
	assert_int_equal(sum.skipped, 0);
	buf_free(&b);
	close(fd);
}

static void malformed_notes_are_skipped(void **state)
{
	struct elf_summary sum;
	struct seen s = { 0 };
	struct buf b = { 0 };
	static const char zeroes[27];
	u32 size;
	int fd;

	(void)state;
	add_raw(&b, "stapsdt", 3, "short", 5);
	add_note(&b, TEXT, 0, "p", 1); /* no end */
	add_note(&b, TEXT, 0, STRINGS("p\0n")); /* no arguments */
	add_note(&b, 0x10, 0, STRINGS("p\0outside\0")); /* not in the code */
	add_note(&b, DATA, 0, STRINGS("p\0data\0")); /* not code */
	add_note(&b, TEXT, DATA + 0x800, STRINGS("p\0bss\0")); /* not in the file */
	add_note(&b, TEXT, TEXT, STRINGS("p\0text\0")); /* not writable */
	add_raw(&b, "other", 3, "ignored", 8);
	add_note(&b, TEXT + 1, 0, STRINGS("p\0good\0"));
	fd = elf_with(&b);
	assert_int_equal(elf_notes_read(fd, see, &s, &sum), 0);
	assert_string_equal(s.text, "p:good()@1001/0 ");
	assert_int_equal(sum.skipped, 7);
	close(fd);

	/* Too short for its addresses and three strings, with nothing behind it in the file. */
	for (size = 1; size < 27; size++) {
		struct buf alone = { 0 };

		add_raw(&alone, "stapsdt", 3, zeroes, size);
		memset(&s, 0, sizeof(s));
		fd = elf_with(&alone);
		assert_int_equal(elf_notes_read(fd, see, &s, &sum), 0);
		assert_int_equal(s.count, 0);
		assert_int_equal(sum.skipped, 1);
		buf_free(&alone);
		close(fd);
	}

	/* A note longer than its section ends the walk. */
	b.data[4] = 0xff;
	b.data[7] = 0x7f;
	memset(&s, 0, sizeof(s));
	fd = elf_with(&b);
	assert_int_equal(elf_notes_read(fd, see, &s, &sum), 0);
	assert_int_equal(s.count, 0);
	buf_free(&b);
	close(fd);
}

static void every_cut_of_a_file_is_survived(void **state)
{
	struct buf b = { 0 };
	off_t size, n;
	int fd;

	(void)state;
	add_note(&b, TEXT, DATA, STRINGS("p\0n\0"));
	fd = elf_with(&b);
	size = lseek(fd, 0, SEEK_END);
	for (n = size - 1; n >= 0; n -= n > 0x2100 || n < 200 ? 1 : 97) {
		struct seen s = { 0 };

		assert_int_equal(ftruncate(fd, n), 0);
		elf_notes_read(fd, see, &s, NULL);
		assert_true(s.count <= 1);
	}
	buf_free(&b);
	close(fd);
}

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Rule: the time grows with their number alone: some hundredths of a second. */
static void four_hundred_thousand_notes_are_read(void **state)
{
	double began;
	struct elf_summary sum;
	struct seen s = { 0 };
	struct buf b = { 0 };
	int fd, i;

	(void)state;
	for (i = 0; i < 400000; i++)
		add_note(&b, TEXT + (u64)i % 0x800, DATA, STRINGS("provider\0name\0008@%rdi"));
	fd = elf_with(&b);
	began = cpu_seconds();
	assert_int_equal(elf_notes_read(fd, see, &s, &sum), 0);
	assert_int_equal(s.count, 400000);
	began = cpu_seconds() - began;
	print_message("# %.2f s of CPU time\n", began);
	assert_true(began < 5);
	buf_free(&b);
	close(fd);
}

static void other_files_are_refused(void **state)
{
	int fd = memfd_create("text", MFD_CLOEXEC);
	struct seen s = { 0 };

	(void)state;
	assert_int_equal(elf_notes_read(fd, see, &s, NULL), -ENOEXEC);
	assert_int_equal(pwrite(fd, "#!/bin/sh\n", 10, 0), 10);
	assert_int_equal(elf_notes_read(fd, see, &s, NULL), -ENOEXEC);
	close(fd);
}

static void a_plan_wants_a_whole_method(void **state)
{
	struct err e = { 0 };
	struct buf b = { 0 };
	struct plan p;
	int fd;

	(void)state;
	add_note(&b, TEXT, 0, STRINGS("vmspan\0flush\0"));
	fd = elf_with(&b);
	assert_int_equal(plan_file(fd, "half", NULL, &p, &e), -ENOENT);
	assert_int_equal(err_status(&e), EXIT_NOTHING);
	close(fd);
	add_note(&b, TEXT + 16, DATA, STRINGS("vmspan\0armed\0"));
	fd = elf_with(&b);
	assert_int_equal(plan_file(fd, "whole", NULL, &p, NULL), 0);
	assert_int_equal(p.count, 1);
	assert_true(plan_has_flush(&p.dsos[0]));
	assert_false(plan_has_direct(&p.dsos[0]));
	assert_int_equal(p.dsos[0].probes.sites[ROLE_ARMED].semaphore_offset, 0x1800);
	plan_free(&p);
	buf_free(&b);
	close(fd);
}

/* The offset of the site that hands over, of a file last changed at that ns of an old second. */
static u64 flush_at(int fd, struct plan_cache *c, long changed_ns)
{
	const struct timespec times[2] = { { .tv_sec = 1000, .tv_nsec = changed_ns },
					   { .tv_sec = 1000, .tv_nsec = changed_ns } };
	struct plan p;
	u64 at;

	assert_int_equal(futimens(fd, times), 0);
	assert_int_equal(plan_file(fd, "file", c, &p, NULL), 0);
	at = p.dsos[0].probes.sites[ROLE_FLUSH].offset;
	plan_free(&p);
	return at;
}

static void a_file_is_parsed_once_until_it_changes(void **state)
{
	struct plan_cache c = { 0 };
	struct buf before = { 0 }, after = { 0 };
	int fd;

	(void)state;
	add_note(&before, TEXT, 0, STRINGS("vmspan\0flush\0"));
	add_note(&before, TEXT + 16, DATA, STRINGS("vmspan\0armed\0"));
	add_note(&after, TEXT + 32, 0, STRINGS("vmspan\0flush\0"));
	add_note(&after, TEXT + 16, DATA, STRINGS("vmspan\0armed\0"));
	fd = elf_with(&before);
	assert_int_equal(flush_at(fd, &c, 1), 0x1000);
	/* In place: of the same inode and size. Unread while the time is the same. */
	assert_int_equal(pwrite(fd, after.data, after.len, NOTES_AT), before.len);
	assert_int_equal(flush_at(fd, &c, 1), 0x1000);
	assert_int_equal(flush_at(fd, &c, 2), 0x1020);
	plan_cache_free(&c);
	buf_free(&before);
	buf_free(&after);
	close(fd);
}

static void the_built_in_profiles_parse(void **state)
{
	const struct profile *list;
	struct err e = { 0 };

	(void)state;
	assert_true(profile_list(&list, &e) >= 1);
	assert_string_equal(list[0].provider, "vmspan");
	assert_int_equal(profile_role(&list[0], "vmspan", "event__begin"), ROLE_EVENT_BEGIN);
	assert_int_equal(profile_role(&list[0], "other", "enter"), -ENOENT);
}

static void a_bad_profile_is_shown_with_a_caret(void **state)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
		{ "[profile]\nname = x\n[probes]\n  entr = a\n",
		  "f:4: no such role in [probes]\n    entr = a\n    ^" },
		{ "[profile]\nname = x\nname = y\n", "f:3: set twice\n  name = y\n         ^" },
		{ "[profile]\nnonsense\nfoo = 1\n",
		  "f:2: not a line of a profile\n  nonsense\n  ^" },
		{ "[profile]\nregistry = perhaps\n",
		  "f:2: yes or no is wanted\n  registry = perhaps\n             ^" },
		{ "[profile]\nname = x\nprovder = y\n",
		  "f:3: no such key in [profile]\n  provder = y\n  ^" },
		{ "[prof]\na = 1\n", "f:1: no such section\n  [prof]\n   ^" },
		{ "[profile]\nname = x\n", "f: [profile] needs a name and a provider" },
		{ "[profile]\nname = x\nprovider = y\n[probes]\nflush = z\n",
		  "f: [probes] has flush or armed without the other" },
		{ "[profile]\nname = x\nprovider = y\n[probes]\nenter = z\n",
		  "f: [probes] needs enter and leave, or armed and flush" },
		{ "[profile]\nname = x\nprovider = y\n",
		  "f: [probes] needs enter and leave, or armed and flush" },
		{ "[groups]\n0 = addon:a\n",
		  "f:2: a number is wanted, from 1 to 1048574\n  0 = addon:a\n  ^" },
		{ "[groups]\n1048575 = addon:a\n",
		  "f:2: a number is wanted, from 1 to 1048574\n  1048575 = addon:a\n  ^" },
		{ "[groups]\n7x = addon:a\n",
		  "f:2: a number is wanted, from 1 to 1048574\n  7x = addon:a\n  ^" },
		{ "[groups]\n-7 = addon:a\n",
		  "f:2: a number is wanted, from 1 to 1048574\n  -7 = addon:a\n  ^" },
		{ "[groups]\n7 = addon\n",
		  "f:2: KIND:NAME is wanted; kinds: addon, page, package, plugin, tenant\n"
		  "  7 = addon\n      ^" },
		{ "[groups]\n7 = top:a\n",
		  "f:2: KIND:NAME is wanted; kinds: addon, page, package, plugin, tenant\n"
		  "  7 = top:a\n      ^" },
		{ "[groups]\n7 = addon:\n",
		  "f:2: a name is wanted, of 255 bytes at most\n  7 = addon:\n  ^" },
		{ "[groups]\n7 = addon:a\n8 = page:a\n7 = addon:b\n",
		  "f:4: set twice\n  7 = addon:b\n  ^" },
		{ "[labels]\n7 =\n", "f:2: a name is wanted, of 255 bytes at most\n  7 =\n  ^" },
	};
	struct profile p;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		struct err e = { 0 };

		assert_int_equal(profile_parse(bad[i].text, "f", &p, &e), -EINVAL);
		assert_string_equal(e.what, bad[i].says);
		profile_free(&p);
	}
}

static void is_called(const struct profile_ids *ids, u32 id, u8 kind, const char *name)
{
	const struct profile_id *is = profile_id(ids, id);

	assert_non_null(is);
	assert_int_equal(is->kind, kind);
	assert_int_equal(is->len, strlen(name));
	assert_memory_equal(is->name, name, is->len);
}

/* Names are any bytes; groups and labels have numbers of their own. */
static void a_profile_says_what_numbers_mean(void **state)
{
	static const char text[] = "[profile]\nname = x\nprovider = y\n"
				   "[probes]\nenter = e\nleave = l\n"
				   "[groups]\n7 = addon:shop: one\n1048574 = tenant:\xc3\xa4\n"
				   "8 = plugin:p\n[labels]\n7 = checkout\n";
	struct err e = { 0 };
	struct profile p;

	(void)state;
	assert_int_equal(profile_parse(text, "f", &p, &e), 0);
	is_called(&p.groups, 7, VMSPAN_ADDON, "shop: one");
	is_called(&p.groups, 8, VMSPAN_PLUGIN, "p");
	is_called(&p.groups, 1048574, VMSPAN_TENANT, "\xc3\xa4");
	is_called(&p.labels, 7, 0, "checkout");
	assert_null(profile_id(&p.labels, 8));
	assert_null(profile_id(&p.groups, 0));
	profile_free(&p);
}

/* libinih would take what is beyond for a line of its own. */
static void a_line_that_is_too_long_is_named(void **state)
{
	char path[TEMP_PATH], says[TEMP_PATH + 80], line[300];
	size_t len;

	(void)state;
	for (len = 196; len < sizeof(line); len += len < 202 ? 1 : 50) {
		struct err e = { 0 };
		int fd = temp_file(path);

		assert_true(fd >= 0);
		memset(line, ';', len);
		assert_int_equal(dprintf(fd, "[profile]\n%.*s\n", (int)len, line), len + 11);
		assert_int_equal(profile_file_add(path, &e), -EINVAL);
		snprintf(says, sizeof(says), "%s:2: this line has more than 198 bytes", path);
		if (len <= 198)
			snprintf(says, sizeof(says), "%s: [profile] needs a name and a provider",
				 path);
		assert_string_equal(e.what, says);
		close(fd);
	}
}

static void own_maps_have_the_program_and_open_it(void **state)
{
	char exe[4096];
	struct maps m;
	bool found = false;
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	u32 i;

	(void)state;
	assert_true(n > 0);
	exe[n] = 0;
	assert_int_equal(maps_read((u32)getpid(), &m), 0);
	for (i = 0; i < m.count; i++) {
		char magic[4];
		int fd;

		if (strcmp(m.entries[i].path, exe))
			continue;
		found = true;
		fd = maps_open((u32)getpid(), &m.entries[i]);
		assert_true(fd >= 0);
		assert_int_equal(pread(fd, magic, 4, 0), 4);
		assert_memory_equal(magic, ELFMAG, 4);
		close(fd);
	}
	assert_true(found);
	maps_free(&m);
	assert_int_equal(maps_read(4194305, &m), -ESRCH);
}

/* Only where code may run can a probe be: files mapped to be read are passed
 * over, as the heap is. */
static void maps_that_run_nothing_are_passed_over(void **state)
{
	char exe[4096];
	struct maps m;
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	int fd;
	void *p;
	u32 i;

	(void)state;
	assert_true(n > 0);
	exe[n] = 0;
	fd = open(exe, O_RDONLY);
	assert_true(fd >= 0);
	p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_true(p != MAP_FAILED);
	assert_int_equal(maps_read((u32)getpid(), &m), 0);
	assert_true(m.count > 0);
	for (i = 0; i < m.count; i++) {
		assert_int_equal(m.entries[i].path[0], '/');
		assert_false(m.entries[i].start <= (uintptr_t)p && m.entries[i].end > (uintptr_t)p);
	}
	maps_free(&m);
	munmap(p, 4096);
	close(fd);
}

#if defined(__x86_64__)
static void the_instruction_at_a_site_is_told(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
		enum site_kind kind;
	} sites[] = {
		{ "\x90", 1, SITE_NOP },
		{ "\x0f\x1f\x44\x00\x00\xc3", 6, SITE_NOP5 },
		{ "\x0f\x1f\x44\x00\x01\xc3", 6, SITE_OTHER },
		{ "\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00", 10, SITE_NOP10 },
		{ "\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x01", 10, SITE_OTHER },
		{ "\xcc", 1, SITE_OTHER },
		{ "", 0, SITE_NONE },
	};
	int fd = temp_file(NULL);
	size_t i;

	(void)state;
	assert_true(fd >= 0);
	for (i = 0; i < ARRAY_SIZE(sites); i++) {
		assert_int_equal(ftruncate(fd, 0), 0);
		assert_int_equal(pwrite(fd, sites[i].bytes, sites[i].len, 7), sites[i].len);
		assert_int_equal(site_kind_at(fd, 7), sites[i].kind);
	}
	close(fd);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(notes_are_found_without_section_names),
		cmocka_unit_test(notes_of_a_file_that_was_moved_are_moved),
		cmocka_unit_test(malformed_notes_are_skipped),
		cmocka_unit_test(every_cut_of_a_file_is_survived),
		cmocka_unit_test(four_hundred_thousand_notes_are_read),
		cmocka_unit_test(other_files_are_refused),
		cmocka_unit_test(a_plan_wants_a_whole_method),
		cmocka_unit_test(a_file_is_parsed_once_until_it_changes),
		cmocka_unit_test(the_built_in_profiles_parse),
		cmocka_unit_test(a_bad_profile_is_shown_with_a_caret),
		cmocka_unit_test(a_profile_says_what_numbers_mean),
		cmocka_unit_test(a_line_that_is_too_long_is_named),
		cmocka_unit_test(own_maps_have_the_program_and_open_it),
		cmocka_unit_test(maps_that_run_nothing_are_passed_over),
#if defined(__x86_64__)
		cmocka_unit_test(the_instruction_at_a_site_is_told),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
