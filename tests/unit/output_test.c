/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of recordings that nobody has named, and what becomes of the bytes. */
#include "cmd/output.c"
#include "temp.h"

#include <ftw.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

#include <cmocka.h>

#define PIECE 3

/* As a pipe does whose reader is slow. */
static ssize_t write_a_piece(int fd, const void *p, size_t n)
{
	return write(fd, p, min_u64(n, PIECE));
}

#define write write_a_piece
#include "base/out.c"
#undef write

static void assert_default(const char *name, u32 pid, const char *want)
{
	char path[OUTPUT_PATH_MAX];

	output_default(path, name, pid);
	assert_string_equal(path, want);
}

/* The name is the target's own: it leads nowhere else, is not hidden and is no option. */
static void a_recording_is_named_after_its_target(void **state)
{
	(void)state;
	assert_default("demohost", 12, "./demohost-12.vmspan");
	assert_default("demohost", 0, "./demohost.vmspan");
	assert_default("", 12, "./process-12.vmspan");
	assert_default("../../etc/passwd", 1, "./_._.._etc_passwd-1.vmspan");
	assert_default(".hidden", 1, "./_hidden-1.vmspan");
	assert_default("-o", 1, "./_o-1.vmspan");
	assert_default("a b\tc\nd", 1, "./a_b_c_d-1.vmspan");
	assert_default("Web Content+1", 1, "./Web_Content+1-1.vmspan");
	assert_default("\xc3\xa4;$(id)", 1, "./_____id_-1.vmspan");
	assert_default(
		"0123456789012345678901234567890123456789012345678901234567890123456789", 1,
		"./012345678901234567890123456789012345678901234567890123456789012-1.vmspan");
}

/* A write may take less than it was given, the last one too. */
static void what_is_taken_in_pieces_is_whole(void **state)
{
	static const char text[3 * PIECE + 2] = "0123456789";
	char got[2 * sizeof(text)];
	int fd = temp_file(NULL);
	struct out o;

	(void)state;
	assert_true(fd >= 0);
	out_open_fd(&o, fd);
	out_write(&o, text, 3 * PIECE + 1);
	assert_int_equal(out_close(&o), 0);
	assert_int_equal(o.written, 3 * PIECE + 1);
	assert_int_equal(pread(fd, got, sizeof(got), 0), 3 * PIECE + 1);
	assert_memory_equal(got, text, 3 * PIECE + 1);
	close(fd);
}

/* Whether a compressed file of random bytes was put in place, with room for so many of them. */
static bool compressed(u64 room)
{
	char folder[TEMP_PATH], path[TEMP_PATH + 8];
	struct rlimit before, limit;
	struct output o;
	struct err e = { 0 };
	u32 i, seed = 1;
	int rc;

	temp_template(folder);
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/x.gz", folder);
	assert_int_equal(output_open(&o, path, NULL, &e), 0);
	for (i = 0; i < 1000; i++) {
		seed = seed * 1664525 + 1013904223;
		out_write(&o.out, (u8 *)&seed + 3, 1);
	}
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	limit = (struct rlimit){ .rlim_cur = room, .rlim_max = before.rlim_max };
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	/* The head of the file finds room: it is the end that does not. */
	assert_int_equal(out_flush(&o.out), 0);
	rc = output_commit(&o, &e);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	output_abandon(&o);
	assert_int_equal(unlink(path), rc ? -1 : 0);
	assert_int_equal(rmdir(folder), 0);
	assert_true(!rc || rc == -EFBIG);
	return !rc;
}

static void a_compressed_file_that_a_full_disk_cut_is_none(void **state)
{
	(void)state;
	assert_true(compressed(2000));
	assert_false(compressed(500));
}

static int drop(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st;
	(void)kind;
	(void)at;
	return remove(path);
}

/* Names are those in a folder of the test's own, until it ends. */
static void temp_dir(char dir[TEMP_PATH])
{
	temp_template(dir);
	assert_non_null(mkdtemp(dir));
	assert_int_equal(chdir(dir), 0);
}

static void temp_dir_end(const char *dir)
{
	assert_int_equal(chdir("/"), 0);
	assert_int_equal(nftw(dir, drop, 8, FTW_DEPTH | FTW_PHYS), 0);
}

static mode_t mode_of(const char *path)
{
	struct stat st;

	return stat(path, &st) ? 0 : st.st_mode & 07777;
}

static void made(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static void made_with(const char *path, mode_t mode)
{
	made(path, "");
	assert_int_equal(chmod(path, mode), 0);
}

/* Who records is root, and what is recorded is everybody's. */
static void a_recording_is_for_its_owner_alone(void **state)
{
	const struct source_info info = { 0 };
	struct err e = { 0 };
	struct rec_writer *w;
	struct file_made file;
	char dir[TEMP_PATH];

	(void)state;
	temp_dir(dir);
	umask(0);
	assert_int_equal(output_recording("a.vmspan", &file, &e), 0);
	assert_int_not_equal(file.inode, 0);
	assert_int_equal(mode_of("a.vmspan"), 0600);
	w = rec_create("b.vmspan", &info, NULL, &e);
	assert_non_null(w);
	assert_int_equal(rec_close(w, &e), 0);
	assert_int_equal(mode_of("b.vmspan"), 0600);
	temp_dir_end(dir);
}

/* What one writes through a link is written where that leads: who else may write there is not to choose it. */
static void links_of_others_are_not_followed(void **state)
{
	struct output o;
	struct err e = { 0 };
	struct file_made file;
	char dir[TEMP_PATH], text[FILE_PLACE_MAX];

	(void)state;
	temp_dir(dir);
	made("precious", "");
	assert_int_equal(symlink("precious", "own.vmspan"), 0);
	assert_int_equal(mkdir("in", 0700), 0);
	assert_int_equal(symlink("../own.vmspan", "in/twice.vmspan"), 0);
	assert_int_equal(output_recording("in/twice.vmspan", &file, &e), 0);
	assert_int_equal(file.inode, 0);
	assert_int_equal(file_place("in/twice.vmspan", text), 0);
	assert_string_equal(text, "in/../precious");
	/* Exports come in the place of what the link leads to. */
	assert_int_equal(output_open(&o, "in/twice.vmspan", NULL, &e), 0);
	out_puts(&o.out, "whole");
	assert_int_equal(output_commit(&o, &e), 0);
	assert_int_equal(readlink("own.vmspan", text, sizeof(text)), 8);
	made("precious", "");
	/* The kernel's lead where a name does not. */
	snprintf(text, sizeof(text), "/proc/self/fd/%d", STDERR_FILENO);
	assert_int_equal(output_open(&o, text, NULL, &e), 0);
	output_abandon(&o);
	assert_int_equal(symlink("self", "self"), 0);
	assert_int_equal(output_recording("self", &file, &e), -ELOOP);
	if (geteuid()) {
		temp_dir_end(dir);
		return;
	}
	assert_int_equal(lchown("own.vmspan", 12345, 12345), 0);
	assert_int_equal(output_recording("own.vmspan", &file, &e), -ELOOP);
	assert_non_null(strstr(e.what, "somebody else"));
	assert_int_equal(output_recording("in/twice.vmspan", &file, &e), -ELOOP);
	assert_int_equal(output_open(&o, "own.vmspan", NULL, &e), -ELOOP);
	assert_int_equal(file_open_place("own.vmspan", O_WRONLY | O_CREAT, NULL), -ELOOP);
	assert_null(rec_create("own.vmspan", &(struct source_info){ 0 }, NULL, &e));
	/* One that leads nowhere would say where something is made. */
	assert_int_equal(symlink("nothing", "nowhere"), 0);
	assert_int_equal(lchown("nowhere", 12345, 12345), 0);
	assert_int_equal(file_open_place("nowhere", O_WRONLY | O_CREAT, NULL), -ELOOP);
	assert_int_equal(access("nothing", F_OK), -1);
	temp_dir_end(dir);
}

/* What is there already is taken over where it is ours, and left alone where it is not. */
static void files_of_others_are_not_recorded_into(void **state)
{
	struct source_info info = { 0 };
	struct rec_options just_made = { 0 };
	struct stat st;
	struct err e = { 0 };
	struct rec_writer *w;
	struct file_made file;
	char dir[TEMP_PATH], behind[32];
	int fd;

	(void)state;
	temp_dir(dir);
	made_with("ours.vmspan", 0644);
	assert_int_equal(output_recording("ours.vmspan", &file, &e), 0);
	assert_int_equal(mode_of("ours.vmspan"), 0644); /* nothing has become of it yet */
	w = rec_create("ours.vmspan", &info, NULL, &e);
	assert_non_null(w);
	assert_int_equal(rec_close(w, &e), 0);
	assert_int_equal(mode_of("ours.vmspan"), 0600);
	if (geteuid()) {
		temp_dir_end(dir);
		return;
	}
	made_with("theirs.vmspan", 0666);
	assert_int_equal(chown("theirs.vmspan", 12345, 12345), 0);
	assert_int_equal(output_recording("theirs.vmspan", &file, &e), -FILE_OTHERS);
	assert_non_null(strstr(e.what, "somebody else's"));
	assert_null(rec_create("theirs.vmspan", &info, NULL, &e));
	assert_non_null(strstr(e.what, "somebody else's"));
	/* Some file systems give what one makes to somebody else. */
	assert_int_equal(stat("theirs.vmspan", &st), 0);
	just_made.made = (struct file_made){ st.st_dev, st.st_ino + 1 };
	assert_null(rec_create("theirs.vmspan", &info, &just_made, &e));
	just_made.made = (struct file_made){ st.st_dev, st.st_ino };
	w = rec_create("theirs.vmspan", &info, &just_made, &e);
	assert_non_null(w);
	assert_int_equal(rec_close(w, &e), 0);
	assert_int_equal(mode_of("theirs.vmspan"), 0666);
	/* And it may have been handed over. */
	made("theirs.vmspan", "");
	fd = open("theirs.vmspan", O_WRONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	snprintf(behind, sizeof(behind), "/proc/self/fd/%d", fd);
	assert_int_equal(output_recording(behind, &file, &e), 0);
	w = rec_create(behind, &info, NULL, &e);
	assert_non_null(w);
	assert_int_equal(rec_close(w, &e), 0);
	close(fd);
	temp_dir_end(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_recording_is_named_after_its_target),
		cmocka_unit_test(a_recording_is_for_its_owner_alone),
		cmocka_unit_test(links_of_others_are_not_followed),
		cmocka_unit_test(files_of_others_are_not_recorded_into),
		cmocka_unit_test(what_is_taken_in_pieces_is_whole),
		cmocka_unit_test(a_compressed_file_that_a_full_disk_cut_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
