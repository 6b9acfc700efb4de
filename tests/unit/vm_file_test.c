/* SPDX-License-Identifier: BSD-2-Clause */
/* What a VM's file says, by the file that this program runs from. */
#include "probe/vm_file.h"
#include "temp.h"

#include <link.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

u32 vm_file_test_root = 1, vm_file_test_version = 2, vm_file_test_sizes = 3;

static const struct vm_profile ours = { .name = "ours",
					.symbol = "vm_file_test_root",
					.version = "vm_file_test_version",
					.sizes = "vm_file_test_sizes" };
static const struct vm_profile other = { .name = "other", .symbol = "vm_file_test_sizes" };

static int own_file(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

/* Where the code of this program is mapped, and what of the file that is. */
static void own_code(u64 *start, u64 *pgoff)
{
	u64 code = (u64)(uintptr_t)own_code, end;
	FILE *f = fopen("/proc/self/maps", "re");
	char line[512];

	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64, start, &end, pgoff) == 3 &&
		    *start <= code && code < end)
			break;
	assert_false(feof(f));
	fclose(f);
}

static void symbols_and_code_are_where_they_run(void **state)
{
	const ElfW(Phdr) *ph = (const void *)getauxval(AT_PHDR);
	unsigned long n = getauxval(AT_PHNUM), i;
	u64 start, pgoff, bias;
	struct vm_file_facts facts;
	u32 code = 0;
	int fd = own_file();

	(void)state;
	assert_int_equal(vm_file_read(fd, &ours, NULL, &facts), 0);
	close(fd);
	own_code(&start, &pgoff);
	assert_true(vm_file_bias(&facts, pgoff, start, &bias));
	assert_int_equal(facts.root + bias, (u64)(uintptr_t)&vm_file_test_root);
	assert_int_equal(facts.version + bias, (u64)(uintptr_t)&vm_file_test_version);
	assert_int_equal(facts.sizes + bias, (u64)(uintptr_t)&vm_file_test_sizes);
	assert_false(vm_file_bias(&facts, pgoff + 1, start, &bias));
	/* Of the segments those of code, which are those that are probed. */
	for (i = 0; i < n; i++)
		code += ph[i].p_type == PT_LOAD && ph[i].p_flags & PF_X;
	assert_int_equal(facts.segment_count, code);
}

/* Each profile has its own answer, and what nobody has asked for is not there. */
static void what_is_kept_is_of_one_profile(void **state)
{
	struct vm_cache cache = { 0 };
	struct vm_file_facts first, second, again;
	int fd = own_file();

	(void)state;
	assert_int_equal(vm_file_read(fd, &ours, &cache, &first), 0);
	assert_int_equal(vm_file_read(fd, &other, &cache, &second), 0);
	assert_int_equal(second.root, first.sizes);
	assert_int_equal(second.version, 0);
	assert_int_equal(vm_file_read(fd, &ours, &cache, &again), 0);
	assert_int_equal(again.root, first.root);
	assert_int_equal(cache.count, 2);
	vm_cache_free(&cache);
	close(fd);
}

/* A copy of this program's file; its path while `fd` is open. */
static int copy_file(char path[TEMP_PATH])
{
	int from = own_file(), to = temp_file(path);
	char data[65536];
	ssize_t n;

	assert_true(to >= 0);
	while ((n = read(from, data, sizeof(data))) > 0)
		assert_int_equal(write(to, data, (size_t)n), n);
	assert_int_equal(n, 0);
	close(from);
	return to;
}

static void set_time(int fd, time_t seconds)
{
	const struct timespec times[2] = { { seconds, 5 }, { seconds, 5 } };

	assert_int_equal(futimens(fd, times), 0);
}

/* The same inode, the same size: its time is what tells. */
static void a_file_that_was_written_over_is_read_again(void **state)
{
	struct vm_cache cache = { 0 };
	struct vm_file_facts facts;
	char path[TEMP_PATH];
	int fd = copy_file(path);

	(void)state;
	assert_int_equal(pwrite(fd,
				"\x7f"
				"elf",
				4, 0),
			 4);
	set_time(fd, 1000);
	assert_true(vm_file_read(fd, &ours, &cache, &facts) < 0);
	assert_int_equal(pwrite(fd,
				"\x7f"
				"ELF",
				4, 0),
			 4);
	/* What is no VM's is not read with every look. */
	set_time(fd, 1000);
	assert_true(vm_file_read(fd, &ours, &cache, &facts) < 0);
	set_time(fd, 1001);
	assert_int_equal(vm_file_read(fd, &ours, &cache, &facts), 0);
	assert_int_not_equal(facts.root, 0);
	assert_int_equal(ftruncate(fd, 100), 0);
	set_time(fd, 1001);
	assert_true(vm_file_read(fd, &ours, &cache, &facts) < 0);
	vm_cache_free(&cache);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(symbols_and_code_are_where_they_run),
		cmocka_unit_test(what_is_kept_is_of_one_profile),
		cmocka_unit_test(a_file_that_was_written_over_is_read_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
