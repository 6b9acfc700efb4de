/* SPDX-License-Identifier: BSD-2-Clause */
/* Which control groups are meant by a path, a unit, a machine or a container's id. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "source/live_cgroup.c"

#include <fcntl.h>

static void a_control_group_has_what_lies_below_it(void **state)
{
	(void)state;
	assert_true(is_below("/a/b", "/a/b"));
	assert_true(is_below("/a/b", "/a/b/c"));
	assert_true(is_below("/a/b/", "/a/b"));
	assert_true(is_below("/a/b//", "/a/b/c/d"));
	assert_false(is_below("/a/b", "/a/bc"));
	assert_false(is_below("/a/b/", "/a/bc"));
	assert_false(is_below("/a/b", "/a"));
	assert_false(is_below("/a/b", "/c/a/b"));
	/* The root has all. */
	assert_true(is_below("/", "/"));
	assert_true(is_below("/", "/a"));
	/* The first '/' may be missing. */
	assert_true(is_below("a/b", "/a/b/c"));
	assert_false(is_below("a/b", "/a/bc"));
	assert_false(is_below("a/b", "/c/a/b"));
}

static bool line_of(const char *wanted, const char *line)
{
	char text[256];

	snprintf(text, sizeof(text), "%s", line);
	return line_is(wanted, text);
}

static void a_line_of_the_kernels_names_a_group_in_several_ways(void **state)
{
	(void)state;
	/* As the line has it, of any hierarchy. */
	assert_true(line_of("/a", "0::/a/b"));
	assert_true(line_of("/a", "3:cpu,cpuacct:/a"));
	assert_false(line_of("/a", "0::/ab"));
	/* As a directory. */
	assert_true(line_of("/sys/fs/cgroup/a", "0::/a"));
	assert_true(line_of("/sys/fs/cgroup/unified/a", "0::/a"));
	assert_true(line_of("/sys/fs/cgroup/cpu,cpuacct/a", "3:cpu,cpuacct:/a"));
	assert_true(line_of("/sys/fs/cgroup/systemd/a", "1:name=systemd:/a"));
	assert_false(line_of("/sys/fs/cgroup/a", "3:cpu:/a"));
	assert_false(line_of("/sys/fs/cgroup/a", "0::/ab"));
	assert_false(line_of("/a", "no line of a control group"));
	/* A path may have colons. */
	assert_true(line_of("/a:b/c", "0::/a:b/c"));
}

static void a_name_is_that_of_any_group_on_the_way(void **state)
{
	(void)state;
	assert_true(line_of("web", "0::/web"));
	assert_true(line_of("web", "0::/a/web/b"));
	assert_true(line_of("web", "3:cpu,cpuacct:/a/web"));
	assert_false(line_of("web", "0::/webs"));
	assert_false(line_of("web", "0::/a-web"));
	assert_false(line_of("web", "3:web:/"));
	assert_false(line_of("web", "0::/"));
}

static void a_unit_needs_no_suffix(void **state)
{
	(void)state;
	assert_true(line_of("nginx", "0::/system.slice/nginx.service"));
	assert_true(line_of("nginx.service", "0::/system.slice/nginx.service"));
	assert_true(line_of("session-1", "0::/user.slice/user-0.slice/session-1.scope"));
	assert_true(line_of("system", "0::/system.slice/nginx.service"));
	assert_false(line_of("nginx", "0::/system.slice/nginx.socket"));
	assert_false(line_of("nginx", "0::/system.slice/nginx2.service"));
	assert_false(line_of("nginx", "0::/system.slice/my-nginx.service"));
	assert_false(line_of("nginx.", "0::/system.slice/nginx.service"));
	/* Machines of systemd-nspawn, started by a unit and by hand. */
	assert_true(line_of("deb", "0::/machine.slice/systemd-nspawn@deb.service/payload"));
	assert_true(line_of("deb", "0::/machine.slice/machine-deb.scope/payload"));
	assert_false(line_of("deb", "0::/machine.slice/machine-debian.scope"));
	assert_true(line_of("a-deb", "0::/machine.slice/machine-a\\x2ddeb.scope/payload"));
	assert_false(line_of("a-deb", "0::/machine.slice/machine-a-deb.scope/payload"));
}

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void of_a_containers_id_twelve_digits_are_enough(void **state)
{
	static const char *const lines[] = {
		"0::/docker/" ID,
		"0::/system.slice/docker-" ID ".scope",
		"0::/machine.slice/libpod-" ID ".scope/container",
		"0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-" ID ".scope",
		"4:memory:/kubepods/burstable/pod1/" ID,
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(lines); i++) {
		assert_true(line_of("0123456789ab", lines[i]));
		assert_true(line_of(ID, lines[i]));
		/* Too few may be another's; what lies within is none's; capitals are no id's. */
		assert_false(line_of("0123456789a", lines[i]));
		assert_false(line_of("123456789abc", lines[i]));
		assert_false(line_of("0123456789AB", lines[i]));
		assert_false(line_of("0123456789ab0", lines[i]));
		assert_false(line_of(ID "0", lines[i]));
	}
	/* What is shorter is no id. */
	assert_false(line_of("0123456789ab", "0::/docker-0123456789abcdef.scope"));
}

static void what_nobody_is_called_is_refused(void **state)
{
	struct err e = { 0 };

	(void)state;
	assert_int_equal(cgroup_check("no-unit-of-this-name", &e), -ENOENT);
	assert_non_null(strstr(e.what, "no-unit-of-this-name"));
	assert_non_null(strstr(e.hint, "vmspan list"));
	e = (struct err){ 0 };
	assert_int_equal(cgroup_check("no/path/of/this/name", &e), -ENOENT);
	assert_int_equal(cgroup_check("/no/path/of/this/name", &e), -ENOENT);
}

static void a_folder_is_a_group_where_the_kernel_has_made_it_one(void **state)
{
	char folder[] = "/tmp/vmspan-group.XXXXXX", file[64];
	int fd;

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(file, sizeof(file), "%s/cgroup.procs", folder);
	assert_int_equal(check_path(folder), -ENOENT);
	fd = open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(check_path(folder), 0);
	assert_int_equal(unlink(file), 0);
	assert_int_equal(rmdir(folder), 0);
}

static void a_search_that_is_cut_says_so(void **state)
{
	static const char *const folders[] = { "a", "a/b", "a/b/c.service", "d" };
	char root[] = "/tmp/vmspan-groups.XXXXXX", path[64];
	size_t i;

	(void)state;
	assert_non_null(mkdtemp(root));
	for (i = 0; i < ARRAY_SIZE(folders); i++) {
		snprintf(path, sizeof(path), "%s/%s", root, folders[i]);
		assert_int_equal(mkdir(path, 0700), 0);
	}
	assert_int_equal(find_called(root, 5, "c"), 0);
	assert_int_equal(find_called(root, 5, "e"), -ENOENT);
	assert_int_equal(find_called(root, 4, "e"), -E2BIG);
	for (i = ARRAY_SIZE(folders); i-- > 0;) {
		snprintf(path, sizeof(path), "%s/%s", root, folders[i]);
		assert_int_equal(rmdir(path), 0);
	}
	assert_int_equal(rmdir(root), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_control_group_has_what_lies_below_it),
		cmocka_unit_test(a_line_of_the_kernels_names_a_group_in_several_ways),
		cmocka_unit_test(a_name_is_that_of_any_group_on_the_way),
		cmocka_unit_test(a_unit_needs_no_suffix),
		cmocka_unit_test(of_a_containers_id_twelve_digits_are_enough),
		cmocka_unit_test(what_nobody_is_called_is_refused),
		cmocka_unit_test(a_folder_is_a_group_where_the_kernel_has_made_it_one),
		cmocka_unit_test(a_search_that_is_cut_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
