/* SPDX-License-Identifier: BSD-2-Clause */
/* Configuration files where they lie: which are read, and what is saved in them. */
#include "cmd/config.h"

/* The machine's file is one of the test's. */
#undef CONFIG_SYSTEM
#define CONFIG_SYSTEM system_file
static const char *system_file;

#include "user/cmd/config.c"
#include "user/cmd/option_set.c"
#include "user/cmd/options.c"
#include "user/cmd/terminal.c"

#include "temp.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

/* Nothing is run here. */
#define ROW(name, function, ...) { name, NULL, __VA_ARGS__ },
const struct command commands[] = { COMMANDS(ROW){ 0 } };

static char folder[TEMP_PATH];
static struct options opts;
static struct err wrong;

/* A path in the folder; lives until the one after the next. */
static const char *in(const char *name)
{
	static char paths[2][TEMP_PATH + 64];
	static u32 turn;

	turn ^= 1;
	snprintf(paths[turn], sizeof(paths[turn]), "%s/%s", folder, name);
	return paths[turn];
}

static int folder_open(void **state)
{
	(void)state;
	opts = (struct options){ 0 };
	wrong = (struct err){ 0 };
	temp_template(folder);
	if (!mkdtemp(folder))
		return -1;
	unsetenv("XDG_CONFIG_HOME");
	system_file = "/proc/self/nothing";
	return setenv("HOME", folder, 1);
}

/* All that the tests below make. */
static int folder_close(void **state)
{
	static const char *const files[] = { ".config/vmspan/config",
					     "x/vmspan/config",
					     "config",
					     "link",
					     "pipe",
					     "system" },
				 *const folders[] = { ".config/vmspan", ".config", "x/vmspan",
						      "x" };
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(files); i++)
		unlink(in(files[i]));
	for (i = 0; i < ARRAY_SIZE(folders); i++)
		rmdir(in(folders[i]));
	return rmdir(folder);
}

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static void has_text(const char *path, const char *text)
{
	char got[1024];
	int fd = open(path, O_RDONLY | O_NOFOLLOW);
	ssize_t n;

	assert_true(fd >= 0);
	n = read(fd, got, sizeof(got) - 1);
	assert_true(n >= 0);
	got[n] = 0;
	close(fd);
	assert_string_equal(got, text);
}

static int save(const char *value)
{
	char path[4096];

	return config_save(&opts, "top", "columns", value, path, &wrong);
}

static int configure(void)
{
	opts.view.sort = NULL;
	wrong = (struct err){ 0 };
	return config_read(command_find("top"), &opts, &wrong);
}

static void it_is_the_users_own_that_is_read_and_saved(void **state)
{
	char path[4096];
	struct stat st;

	(void)state;
	/* There is none yet. */
	assert_int_equal(configure(), 0);
	assert_null(opts.view.sort);
	assert_int_equal(config_save(&opts, "top", "sort", "wall", path, &wrong), 0);
	assert_string_equal(path, in(".config/vmspan/config"));
	has_text(path, "[top]\nsort = wall\n");
	/* As an editor makes it: others may read it. */
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0644);
	assert_int_equal(configure(), 0);
	assert_string_equal(opts.view.sort, "wall");
	/* XDG_CONFIG_HOME holds over HOME, if it is a path as it has to be. */
	setenv("XDG_CONFIG_HOME", "x", 1);
	assert_int_equal(configure(), 0);
	assert_string_equal(opts.view.sort, "wall");
	setenv("XDG_CONFIG_HOME", in("x"), 1);
	assert_int_equal(configure(), 0);
	assert_null(opts.view.sort);
	assert_int_equal(config_save(&opts, "top", "sort", "max", path, &wrong), 0);
	assert_string_equal(path, in("x/vmspan/config"));
	assert_int_equal(configure(), 0);
	assert_string_equal(opts.view.sort, "max");
	unsetenv("XDG_CONFIG_HOME");
	setenv("HOME", "not/a/path", 1);
	assert_int_equal(configure(), 0);
	assert_null(opts.view.sort);
	assert_int_equal(save("self"), -ENOENT);
}

/* The machine's is read first: the user's holds over it, and over nothing else of it. */
static void the_users_file_holds_over_the_machines(void **state)
{
	char path[TEMP_PATH + 64];

	(void)state;
	snprintf(path, sizeof(path), "%s", in("system"));
	system_file = path;
	write_file(path, "[top]\nsort = p99\nreverse = yes\n");
	assert_int_equal(configure(), 0);
	assert_string_equal(opts.view.sort, "p99");
	opts.view.reverse = false;
	assert_int_equal(config_save(&opts, "top", "sort", "wall", (char[4096]){ 0 }, &wrong), 0);
	assert_int_equal(configure(), 0);
	assert_string_equal(opts.view.sort, "wall");
	assert_true(opts.view.reverse);
	/* What is wrong in it is said, whatever the user's says. */
	write_file(path, "[top]\nsrot = p99\n");
	assert_int_equal(configure(), -EINVAL);
	assert_non_null(strstr(wrong.what, "/system:2"));
}

/* --config names a file, which has to be there; with --no-config none is read. */
static void a_file_that_is_named_is_the_only_one(void **state)
{
	(void)state;
	assert_int_equal(save("self"), 0);
	opts.config.file = in("config");
	assert_int_equal(configure(), -ENOENT);
	assert_non_null(strstr(wrong.hint, "--no-config"));
	write_file(opts.config.file, "[top]\nsort = p99\n");
	assert_int_equal(configure(), 0);
	assert_string_equal(opts.view.sort, "p99");
	assert_int_equal(save("wall"), 0);
	has_text(in("config"), "[top]\nsort = p99\ncolumns = wall\n");
	has_text(in(".config/vmspan/config"), "[top]\ncolumns = self\n");
	opts.config.none = true;
	assert_int_equal(configure(), 0);
	assert_null(opts.view.sort);
}

static void saving_keeps_a_link_and_what_else_is_there(void **state)
{
	struct stat st;

	(void)state;
	write_file(in("config"), "[list]\nsort = x\n[top]\n columns: self\n");
	assert_int_equal(symlink(in("config"), in("link")), 0);
	opts.config.file = in("link");
	assert_int_equal(save("wall,max"), 0);
	assert_int_equal(lstat(in("link"), &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	has_text(in("config"), "[list]\nsort = x\n[top]\ncolumns = wall,max\n");
}

/* A configuration that is there and cannot be read is not passed by. */
static void what_cannot_be_read_is_said(void **state)
{
	static const char zero[] = "[top]\n";
	int fd;

	(void)state;
	opts.config.file = NULL;
	assert_int_equal(save("self"), 0);
	unlink(in(".config/vmspan/config"));
	assert_int_equal(symlink(in(".config/vmspan/config"), in(".config/vmspan/config")), 0);
	assert_int_equal(configure(), -ELOOP);
	assert_non_null(strstr(wrong.what, ".config/vmspan/config cannot be read"));
	unlink(in(".config/vmspan/config"));
	assert_int_equal(rmdir(in(".config/vmspan")), 0);
	write_file(in(".config/vmspan"), "");
	assert_int_equal(configure(), 0);
	unlink(in(".config/vmspan"));
	opts.config.file = folder;
	assert_int_equal(configure(), -EINVAL);
	/* A pipe that nobody writes to would be waited for. */
	assert_int_equal(mkfifo(in("pipe"), 0600), 0);
	opts.config.file = in("pipe");
	assert_int_equal(configure(), -EINVAL);
	opts.config.file = in("config");
	fd = open(opts.config.file, O_WRONLY | O_CREAT, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, zero, sizeof(zero)), sizeof(zero));
	assert_int_equal(configure(), -EINVAL);
	assert_int_equal(save("self"), -EINVAL);
	assert_int_equal(ftruncate(fd, CONFIG_BYTES_MAX + 1), 0);
	assert_int_equal(configure(), -EFBIG);
	close(fd);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, folder_open, folder_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(it_is_the_users_own_that_is_read_and_saved),
		TEST(the_users_file_holds_over_the_machines),
		TEST(a_file_that_is_named_is_the_only_one),
		TEST(saving_keeps_a_link_and_what_else_is_there),
		TEST(what_cannot_be_read_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
