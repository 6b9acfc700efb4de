/* SPDX-License-Identifier: BSD-2-Clause */
/* What is read of a target's memory and files: here of this process's own, which lies. */
#include "base/task_stat.h"
#include "probe/maps.h"
#include "probe/target.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define DATA (4 * VMSPAN_SLOT) /* bytes that a block holds */

union block {
	struct vmspan_log head;
	u8 all[sizeof(struct vmspan_log) + DATA];
};

struct target {
	struct abi1_registry registry;
	union block blocks[3];
};

static void target_make(struct target *t, u32 used)
{
	u32 i;

	memset(t, 0, sizeof(*t));
	t->registry.magic = VMSPAN_MAGIC;
	t->registry.abi = ABI1;
	t->registry.log = (u64)(uintptr_t)&t->blocks[0];
	for (i = 0; i < 3; i++) {
		t->blocks[i].head.size = DATA;
		t->blocks[i].head.used = used;
		t->blocks[i].head.next = i < 2 ? (u64)(uintptr_t)&t->blocks[i + 1] : 0;
	}
}

static int take(void *ctx, const void *data, u32 bytes)
{
	(void)data;
	*(u64 *)ctx += bytes;
	return 0;
}

static int read_log(struct target *t, struct log_cursor *c, u64 *bytes)
{
	return target_log_read((u32)getpid(), (u64)(uintptr_t)&t->registry, true, c, take, bytes);
}

/* Of another version of the SDK nothing is where it is expected. */
static void a_registry_of_another_version_is_not_read(void **state)
{
	static const u32 versions[] = { 0, VMSPAN_ABI + 1, UINT32_MAX };
	struct vmspan_registry head;
	struct abi1_registry old;
	u64 address;
	struct target t;
	bool abi1;
	u32 i;

	(void)state;
	target_make(&t, VMSPAN_SLOT);
	assert_int_equal(target_registry((u32)getpid(), (u64)(uintptr_t)&t, &head), 0);
	assert_int_equal(target_definer((u32)getpid(), (u64)(uintptr_t)&t, &address, &abi1), 0);
	assert_true(abi1 && address == (u64)(uintptr_t)&t);
	for (i = 0; i < ARRAY_SIZE(versions); i++) {
		struct log_cursor c = { 0 };
		u64 bytes = 0;

		t.registry.abi = versions[i];
		assert_int_equal(target_registry((u32)getpid(), (u64)(uintptr_t)&t, &head),
				 -ENOTSUP);
		assert_int_equal(head.abi, t.registry.abi);
		assert_int_equal(target_definer((u32)getpid(), (u64)(uintptr_t)&t, &address, &abi1),
				 -ENOTSUP);
		assert_int_equal(target_abi1((u32)getpid(), (u64)(uintptr_t)&t, &old), -ENOTSUP);
		assert_int_equal(read_log(&t, &c, &bytes), 0);
		assert_int_equal(bytes, 0);
	}
	/* Each by the functions that are for it. */
	t.registry.abi = VMSPAN_ABI;
	assert_int_equal(target_abi1((u32)getpid(), (u64)(uintptr_t)&t, &old), -ENOTSUP);
	t.registry.abi = ABI1;
	t.registry.magic++;
	assert_int_equal(target_registry((u32)getpid(), (u64)(uintptr_t)&t, &head), -EBADMSG);
}

static u64 kept = 4711;

static void *goes_on(void *ready)
{
	close(*(int *)ready);
	for (;;)
		pause();
	return NULL;
}

/* The kernel has a process by its first thread. Where that has ended, and others go on, it has no memory and no
 * files under that number. */
static void whose_first_thread_has_ended_is_read_by_another(void **state)
{
	static int ready[2];
	u64 was = 0, more = 4712;
	char line[TASK_STAT_MAX];
	const char *stat;
	struct maps m;
	pthread_t t;
	pid_t child;
	char end;
	int fd;

	(void)state;
	assert_int_equal(pipe(ready), 0);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		close(ready[0]);
		if (pthread_create(&t, NULL, goes_on, &ready[1]))
			_exit(1);
		pthread_exit(NULL);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &end, 1), 0);
	close(ready[0]);
	do {
		stat = task_stat((u32)child, 0, line);
		assert_non_null(stat);
	} while (*stat != 'Z');
	assert_int_not_equal(task_living((u32)child), child);
	assert_int_equal(maps_read((u32)child, &m), 0);
	assert_true(m.count > 0);
	fd = maps_open((u32)child, &m.entries[0]);
	assert_true(fd >= 0);
	close(fd);
	maps_free(&m);
	assert_false(maps_gone((u32)child));
	assert_int_equal(target_read((u32)child, (u64)(uintptr_t)&kept, &was, sizeof(was)), 0);
	assert_int_equal(was, 4711);
	assert_int_equal(target_write((u32)child, (u64)(uintptr_t)&kept, &more, sizeof(more)), 0);
	assert_int_equal(target_read((u32)child, (u64)(uintptr_t)&kept, &was, sizeof(was)), 0);
	assert_int_equal(was, 4712);
	/* Nobody of it is left. */
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitid(P_PID, (id_t)child, NULL, WEXITED | WNOWAIT), 0);
	assert_int_equal(task_living((u32)child), child);
	assert_true(maps_gone((u32)child));
	assert_int_equal(target_read((u32)child, (u64)(uintptr_t)&kept, &was, sizeof(was)), -ESRCH);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(task_living((u32)child), child);
}

/* Copies of one process share what they define, which is found where the first has put it. */
static void what_copies_share_is_found(void **state)
{
	struct vmspan_registry copy = { .magic = VMSPAN_MAGIC, .abi = VMSPAN_ABI };
	struct vmspan_process *p = calloc(1, sizeof(*p));
	struct log_cursor c = { 0 };
	u64 address, bytes = 0;
	struct target t;
	u32 defined[3];
	bool abi1;

	(void)state;
	assert_non_null(p);
	target_make(&t, VMSPAN_SLOT);
	assert_int_equal(target_definer((u32)getpid(), (u64)(uintptr_t)&copy, &address, &abi1),
			 -EAGAIN); /* it has not begun */
	copy.process = (u64)(uintptr_t)p;
	assert_int_equal(target_definer((u32)getpid(), (u64)(uintptr_t)&copy, &address, &abi1), 0);
	assert_true(!abi1 && address == (u64)(uintptr_t)p);
	p->log = (u64)(uintptr_t)&t.blocks[0];
	/* Not what it should be: nothing is believed of it. */
	assert_int_equal(target_log_read((u32)getpid(), address, false, &c, take, &bytes), 0);
	assert_int_equal(bytes, 0);
	assert_true(c.unread);
	p->magic = VMSPAN_MAGIC;
	p->abi = VMSPAN_ABI;
	p->group_last = 5;
	p->compartment_last = 6;
	p->label_last = 7;
	assert_int_equal(target_log_read((u32)getpid(), address, false, &c, take, &bytes), 0);
	assert_int_equal(bytes, 3 * VMSPAN_SLOT);
	assert_false(c.unread);
	assert_int_equal(target_defined((u32)getpid(), address, false, defined), 0);
	assert_true(defined[0] == 5 && defined[1] == 6 && defined[2] == 7);
	t.registry.group_last = 8;
	assert_int_equal(target_defined((u32)getpid(), (u64)(uintptr_t)&t, true, defined), 0);
	assert_int_equal(defined[0], 8);
	free(p);
}

/* What is new is read once. */
static void a_log_is_read_on_from_where_it_was(void **state)
{
	struct log_cursor c = { 0 };
	struct target t;
	u64 bytes = 0;

	(void)state;
	target_make(&t, 2 * VMSPAN_SLOT);
	t.blocks[2].head.used = VMSPAN_SLOT;
	assert_int_equal(read_log(&t, &c, &bytes), 0);
	assert_int_equal(bytes, 5 * VMSPAN_SLOT);
	assert_int_equal(read_log(&t, &c, &bytes), 0);
	assert_int_equal(bytes, 5 * VMSPAN_SLOT);
	t.blocks[2].head.used = 3 * VMSPAN_SLOT;
	assert_int_equal(read_log(&t, &c, &bytes), 0);
	assert_int_equal(bytes, 7 * VMSPAN_SLOT);
	assert_false(c.broken);
}

/* A log that cannot be one is not read any further, now or later. */
static void a_log_that_lies_is_left(void **state)
{
	static const struct {
		u32 used, size;
	} lies[] = {
		{ 5 * VMSPAN_SLOT, 4 * VMSPAN_SLOT }, /* more than there is */
		{ VMSPAN_SLOT + 1, 4 * VMSPAN_SLOT }, /* half a record */
		{ UINT32_MAX - VMSPAN_SLOT + 1, UINT32_MAX },
		{ VMSPAN_SLOT, 17 << 20 },
	};
	struct target t;
	u32 i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(lies); i++) {
		struct log_cursor c = { 0 };
		u64 bytes = 0;

		target_make(&t, VMSPAN_SLOT);
		t.blocks[1].head.used = lies[i].used;
		t.blocks[1].head.size = lies[i].size;
		assert_int_equal(read_log(&t, &c, &bytes), -EBADMSG);
		assert_int_equal(bytes, VMSPAN_SLOT);
		assert_true(c.broken);
		target_make(&t, VMSPAN_SLOT);
		assert_int_equal(read_log(&t, &c, &bytes), 0);
		assert_int_equal(bytes, VMSPAN_SLOT);
	}
	/* What has been used is not taken back. */
	{
		struct log_cursor c = { 0 };
		u64 bytes = 0;

		target_make(&t, 2 * VMSPAN_SLOT);
		assert_int_equal(read_log(&t, &c, &bytes), 0);
		t.blocks[2].head.used = VMSPAN_SLOT;
		assert_int_equal(read_log(&t, &c, &bytes), -EBADMSG);
	}
}

/* It may run in a circle, with something in it or with nothing. */
static void a_log_without_an_end_has_one(void **state)
{
	u32 used;

	(void)state;
	for (used = 0; used <= VMSPAN_SLOT; used += VMSPAN_SLOT) {
		struct log_cursor c = { 0 };
		struct target t;
		u64 bytes = 0;

		target_make(&t, used);
		t.blocks[2].head.next = t.registry.log;
		assert_int_equal(read_log(&t, &c, &bytes), -EBADMSG);
		assert_true(c.broken);
		assert_true(bytes <= 64ull << 20);
	}
}

static void what_cannot_be_read_is_nothing(void **state)
{
	struct log_cursor c = { 0 };
	struct target t;
	u64 bytes = 0;

	(void)state;
	target_make(&t, VMSPAN_SLOT);
	t.blocks[0].head.next = 16;
	assert_int_equal(read_log(&t, &c, &bytes), 0);
	assert_int_equal(bytes, VMSPAN_SLOT);
	assert_true(c.unread);
	t.registry.magic++;
	c = (struct log_cursor){ 0 };
	assert_int_equal(read_log(&t, &c, &bytes), 0);
	assert_int_equal(bytes, VMSPAN_SLOT);
}

/* To open a device may do something. */
static void only_regular_files_are_opened(void **state)
{
	static const char *const paths[] = { "/dev/null", "/dev/zero", "/proc", "/none" };
	u32 i;
	int fd;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(paths); i++) {
		struct map_entry e = { .start = 16, .end = 32, .path = (char *)paths[i] };

		assert_true(maps_open((u32)getpid(), &e) < 0);
	}
	fd = maps_open(
		(u32)getpid(),
		&(struct map_entry){ .start = 16, .end = 32, .path = (char *)"/proc/self/exe" });
	assert_true(fd >= 0);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_registry_of_another_version_is_not_read),
		cmocka_unit_test(whose_first_thread_has_ended_is_read_by_another),
		cmocka_unit_test(what_copies_share_is_found),
		cmocka_unit_test(a_log_is_read_on_from_where_it_was),
		cmocka_unit_test(a_log_that_lies_is_left),
		cmocka_unit_test(a_log_without_an_end_has_one),
		cmocka_unit_test(what_cannot_be_read_is_nothing),
		cmocka_unit_test(only_regular_files_are_opened),
	};

	/* What goes round in a circle ends here. */
	alarm(60);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
