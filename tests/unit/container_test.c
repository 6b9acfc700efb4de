/* SPDX-License-Identifier: BSD-2-Clause */
/* Which container a control group's path is of, and how it is called. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "probe/container.c"
#include "probe/container_name.c"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ID2 "ffffffffffffffff0123456789abcdef0123456789abcdef0123456789abcdef"
#define UUID "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"

struct path {
	const char *path, *runtime; /* NULL: it is none's */
	const char *id, *name;
};

static void check_paths(const struct path *p, size_t n)
{
	struct container c;

	for (; n--; p++) {
		if (!p->runtime) {
			assert_false(container_in(p->path, &c));
			continue;
		}
		assert_true(container_in(p->path, &c));
		assert_string_equal(c.runtime, p->runtime);
		assert_string_equal(c.id, p->id);
		assert_string_equal(c.name, p->name);
	}
}

static void each_runtime_has_a_form_of_its_own(void **state)
{
	static const struct path paths[] = {
		{ "/system.slice/docker-" ID ".scope", "docker", ID, "" },
		{ "/docker/" ID, "docker", ID, "" },
		{ "/system.slice:docker:" ID, "docker", ID, "" },
		{ "/machine.slice/libpod-" ID ".scope", "podman", ID, "" },
		{ "/machine.slice/libpod-" ID ".scope/container", "podman", ID, "" },
		{ "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID
		  ".scope/container",
		  "podman", ID, "" },
		{ "/libpod_parent/libpod-" ID, "podman", ID, "" },
		{ "/libpod_parent/" ID2 "/libpod-" ID, "podman", ID, "" },
		{ "/machine.slice/machine-libpod_pod_" ID2 ".slice/libpod-" ID ".scope/container",
		  "podman", ID, "" },
		{ "/machine.slice/libpod-" ID ".scope (deleted)", "podman", ID, "" },
		{ "/system.slice/web.service/libpod-payload-" ID, "podman", ID, "" },
		{ "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1.slice/"
		  "cri-containerd-" ID ".scope",
		  "containerd", ID, "" },
		{ "/kubepods-besteffort-pod1.slice:cri-containerd:" ID, "containerd", ID, "" },
		{ "/kubepods/burstable/pod" UUID "/" ID, "container", ID, "" },
		{ "/kubepods.slice/kubepods-pod1.slice/crio-" ID ".scope", "cri-o", ID, "" },
		{ "/kubepods.slice/kubepods-pod1.slice/crio-" ID ".scope/container", "cri-o", ID,
		  "" },
		{ "/kubepods/burstable/pod1/crio-" ID, "cri-o", ID, "" },
		{ "/system.slice/nerdctl-" ID ".scope", "containerd", ID, "" },
		{ "/default/" ID, "container", ID, "" },
		{ "/machine.slice/machine-deb.scope/payload", "systemd-nspawn", "", "deb" },
		{ "/machine.slice/machine-a\\x2ddeb.scope", "systemd-nspawn", "", "a-deb" },
		{ "/machine.slice/systemd-nspawn@deb.service/payload/init.scope", "systemd-nspawn",
		  "", "deb" },
		{ "/machine.slice/machine-lxc\\x2d12\\x2dweb.scope", "lxc", "", "web" },
		{ "/lxc.payload.web/system.slice", "lxc", "", "web" },
		{ "/lxc/web/init.scope", "lxc", "", "web" },
		{ "/lxc/web/payload", "lxc", "", "web" },
		{ "/lxc.payload/web", "lxc", "", "web" },
		/* As it is seen from a container that sees the machine's processes. */
		{ "/../../kubepods-pod1.slice/cri-containerd-" ID ".scope", "containerd", ID, "" },
		/* Groups of others around it. */
		{ "/wsl-user/distro-1/systemd/system.slice/docker-" ID ".scope", "docker", ID, "" },
		{ "/ecs/task/" ID, "container", ID, "" },
	};

	(void)state;
	check_paths(paths, ARRAY_SIZE(paths));
}

static void what_supervises_a_container_is_in_none(void **state)
{
	static const struct path paths[] = {
		{ "/machine.slice/libpod-conmon-" ID ".scope", NULL, NULL, NULL },
		{ "/system.slice/crio-conmon-" ID ".scope", NULL, NULL, NULL },
		{ "/machine.slice/machine-deb.scope/supervisor", NULL, NULL, NULL },
		{ "/machine.slice/systemd-nspawn@deb.service/supervisor", NULL, NULL, NULL },
		{ "/lxc.monitor.web", NULL, NULL, NULL },
		{ "/lxc.monitor/web", NULL, NULL, NULL },
		{ "/lxc/web/monitor", NULL, NULL, NULL },
		{ "/lxc.pivot", NULL, NULL, NULL },
		{ "/system.slice/web.service/runtime", NULL, NULL, NULL },
		{ "/system.slice/containerd.service", NULL, NULL, NULL },
		/* The process of a virtual machine is the machine's. */
		{ "/machine.slice/machine-qemu\\x2d1\\x2dweb.scope/libvirt/emulator", NULL, NULL,
		  NULL },
	};

	(void)state;
	check_paths(paths, ARRAY_SIZE(paths));
}

static void what_only_looks_like_one_is_none(void **state)
{
	static const struct path paths[] = {
		{ "/", NULL, NULL, NULL },
		{ "", NULL, NULL, NULL },
		{ "/docker", NULL, NULL, NULL },
		{ "/lxc", NULL, NULL, NULL },
		{ "/docker/0123456789ab", NULL, NULL, NULL },
		/* A pod, and a step of a build. */
		{ "/libpod_parent/" ID, NULL, NULL, NULL },
		{ "/system.slice/docker-k3jvq0p2c8x1m5z7w9r4t6y8u.scope", NULL, NULL, NULL },
		{ "/docker-" ID "0.scope", NULL, NULL, NULL },
		{ "/docker-" ID, NULL, NULL, NULL },
		{ "/docker-.scope", NULL, NULL, NULL },
		{ "/docker/0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef", NULL,
		  NULL, NULL },
		{ "/system.slice/docker.service", NULL, NULL, NULL },
		{ "/machine.slice/machine-.scope", NULL, NULL, NULL },
		{ "/machine.slice/machine-a\\x00b.scope", NULL, NULL, NULL },
		{ "/machine.slice/machine-a\\xzzb.scope", NULL, NULL, NULL },
		{ "/machine.slice/machine-lxc\\x2dweb.scope", "systemd-nspawn", "", "lxc-web" },
		{ "/a:" ID, "container", ID, "" },
	};

	(void)state;
	check_paths(paths, ARRAY_SIZE(paths));
}

static void of_one_in_another_the_inner_counts(void **state)
{
	static const struct path paths[] = {
		{ "/docker/" ID2 "/docker/" ID, "docker", ID, "" },
		{ "/system.slice/docker-" ID2 ".scope/kubepods.slice/cri-containerd-" ID
		  ".scope/system.slice/a.service",
		  "containerd", ID, "" },
		{ "/machine.slice/machine-deb.scope/payload/machine.slice/libpod-" ID ".scope",
		  "podman", ID, "" },
	};

	(void)state;
	check_paths(paths, ARRAY_SIZE(paths));
}

static void a_name_that_is_too_long_is_cut(void **state)
{
	char path[CONTAINER_NAME_MAX + 100];
	struct container c;

	(void)state;
	memset(path, 'a', sizeof(path));
	memcpy(path, "/lxc.payload.", 13);
	path[sizeof(path) - 1] = 0;
	assert_true(container_in(path, &c));
	assert_int_equal(strlen(c.name), CONTAINER_NAME_MAX - 1);
}

static void the_process_itself_can_be_asked(void **state)
{
	struct container c;

	(void)state;
	assert_int_not_equal(container_of_process(0, &c), 0);
	assert_int_equal(container_of_process(4194305, &c), -ENOENT);
}

static struct container called(const char *runtime, const char *name)
{
	struct container c = { .runtime = runtime, .id = ID };

	set_kubernetes(&c, name);
	return c;
}

static struct container known_to_docker(const char *text)
{
	struct container c = { .runtime = "docker", .id = ID };
	json_t *known = json_loads(text, 0, NULL);

	set_dockers(&c, known);
	json_decref(known);
	return c;
}

static void docker_knows_whether_kubernetes_made_it(void **state)
{
	(void)state;
	assert_string_equal(known_to_docker("{\"ID\": \"" ID
					    "\", \"Name\": \"/k8s_app_web-1_shop_" UUID "_3\","
					    "\"Config\": {\"Labels\": {"
					    "\"io.kubernetes.pod.name\": \"web-1\"}}}")
				    .name,
			    "shop/web-1/app");
	assert_string_equal(known_to_docker("{\"ID\": \"" ID
					    "\", \"Name\": \"/k8s_app_web-1_shop_" UUID "_3\"}")
				    .name,
			    "k8s_app_web-1_shop_" UUID "_3");
	assert_string_equal(known_to_docker("{\"ID\": \"" ID "\", \"Name\": \"/web\"}").name,
			    "web");
	assert_string_equal(
		known_to_docker("{\"ID\": \"" ID "\", \"Name\": 1, \"Config\": {\"Labels\": []}}")
			.name,
		"");
	assert_string_equal(known_to_docker("no JSON").name, "");
	/* Of another container, or nobody knows whose. */
	assert_string_equal(known_to_docker("{\"Name\": \"/web\"}").name, "");
	assert_string_equal(known_to_docker("{\"ID\": \"12\", \"Name\": \"/web\"}").name, "");
}

static void kubernetes_names_have_three_parts(void **state)
{
	(void)state;
	assert_string_equal(called("cri-o", "k8s_app_web-1_shop_" UUID "_3").name,
			    "shop/web-1/app");
	assert_string_equal(called("cri-o", "k8s_POD_web-1_shop_" UUID "_0").name, "shop/web-1");
	/* Where there was one of that name already. */
	assert_string_equal(called("cri-o", "k8s_app_web-1_shop_" UUID "_3_0123abcd").name,
			    "shop/web-1/app");
	/* Somebody's own. */
	assert_string_equal(called("cri-o", "k8s_app").name, "k8s_app");
	assert_string_equal(called("cri-o", "k8s_app_a_b").name, "k8s_app_a_b");
	assert_string_equal(called("cri-o", "web").name, "web");
	assert_string_equal(called("cri-o", "").name, "");
}

static void a_pod_is_meant_by_whole_names(void **state)
{
	const struct container c = called("cri-o", "k8s_app_web-1_shop_" UUID "_3"),
			       pod = called("cri-o", "k8s_POD_web-1_shop_" UUID "_0"),
			       plain = called("podman", "web"), none = called("podman", "");

	(void)state;
	assert_true(container_is_called(&c, "shop/web-1/app"));
	assert_true(container_is_called(&c, "shop/web-1"));
	assert_true(container_is_called(&c, "web-1/app"));
	assert_true(container_is_called(&c, "web-1"));
	assert_true(container_is_called(&pod, "shop/web-1"));
	assert_true(container_is_called(&pod, "web-1"));
	assert_true(container_is_called(&plain, "web"));
	/* The container's own name is that of one in each pod; a namespace has many pods. */
	assert_false(container_is_called(&c, "app"));
	assert_false(container_is_called(&c, "shop"));
	assert_false(container_is_called(&c, "shop/"));
	assert_false(container_is_called(&c, "web-1/"));
	assert_false(container_is_called(&c, "web-1/ap"));
	assert_false(container_is_called(&c, "web"));
	assert_false(container_is_called(&c, "shop/web-1/app/x"));
	assert_false(container_is_called(&c, ""));
	assert_false(container_is_called(&pod, "web-1/app"));
	assert_false(container_is_called(&plain, "we"));
	assert_false(container_is_called(&none, ""));
}

static void an_argument_is_found_whole(void **state)
{
	char text[] = "conmon\0--n\0x\0-n\0web\0-n\0other\0-last\0";
	const struct arguments a = { text, sizeof(text) - 2 };

	(void)state;
	assert_string_equal(value_of(&a, "-n"), "web");
	assert_string_equal(value_of(&a, "-last"), "");
	assert_string_equal(value_of(&a, "-c"), "");
	assert_string_equal(program_of(&a), "conmon");
}

static struct container annotated(const char *text)
{
	struct container c = { .runtime = "containerd", .id = ID };
	json_t *bundle = json_loads(text, 0, NULL);

	set_by_annotations(&c, bundle);
	json_decref(bundle);
	return c;
}

static void annotations_are_read(void **state)
{
	(void)state;
	assert_string_equal(
		annotated("{\"annotations\": {\"io.kubernetes.cri.sandbox-name\": \"web-1\","
			  "\"io.kubernetes.cri.sandbox-namespace\": \"shop\","
			  "\"io.kubernetes.cri.container-name\": \"app\"}}")
			.name,
		"shop/web-1/app");
	assert_string_equal(
		annotated("{\"annotations\": {\"io.kubernetes.cri.sandbox-name\": \"web-1\","
			  "\"io.kubernetes.cri.sandbox-namespace\": \"shop\"}}")
			.name,
		"shop/web-1");
	assert_string_equal(annotated("{\"annotations\": {\"nerdctl/name\": \"web\"}}").name,
			    "web");
	assert_string_equal(annotated("{\"annotations\": {}}").name, "");
	assert_string_equal(annotated("[1]").name, "");
	assert_string_equal(annotated("no JSON").name, "");
}

static const char *path_in(const char *mounts, char path[4096])
{
	json_t *bundle = json_loads(mounts, 0, NULL);
	bool found = dockers_path(bundle, ID, path, 4096);

	json_decref(bundle);
	return found ? path : "";
}

#define MOUNT(file, source) "{\"destination\": \"/etc/" file "\", \"source\": \"" source "\"}"
#define OTHER "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"

static void dockers_folder_is_where_it_mounts_files_from(void **state)
{
	char path[4096];

	(void)state;
	assert_string_equal(path_in("{\"mounts\": [1, {\"destination\": \"/etc/hosts\"}," MOUNT(
					    "hostname", "/a/b/" ID "/hostname") "]}",
				    path),
			    "/a/b/" ID "/config.v2.json");
	/* A network that is another one's; a file of the user's. */
	assert_string_equal(
		path_in("{\"mounts\": [" MOUNT("hosts", "/a/" OTHER "/hosts") "]}", path),
		"/a/" ID "/config.v2.json");
	assert_string_equal(path_in("{\"mounts\": [" MOUNT("hostname", "/etc/hostname") "," MOUNT(
					    "resolv.conf", "/a/" ID "/resolv.conf") "]}",
				    path),
			    "/a/" ID "/config.v2.json");
	/* The user's own looks like another container's. */
	assert_string_equal(path_in("{\"mounts\": [" MOUNT("hosts", "/x/" OTHER "/hosts") "," MOUNT(
					    "hostname", "/a/" ID "/hostname") "]}",
				    path),
			    "/a/" ID "/config.v2.json");
	assert_string_equal(
		path_in("{\"mounts\": [" MOUNT("passwd", "/a/" ID "/passwd") "]}", path), "");
	assert_string_equal(path_in("{\"mounts\": [" MOUNT("hosts", "/a/x" ID "/hosts") "]}", path),
			    "");
	assert_string_equal(path_in("{\"mounts\": [" MOUNT("hosts", ID "/hosts") "]}", path), "");
	assert_string_equal(path_in("{\"mounts\": [" MOUNT("hosts", "hosts") "]}", path), "");
	assert_string_equal(path_in("no JSON", path), "");
}

/* As reports have it. */
static void a_label_means_its_container(void **state)
{
	const struct container c = { "podman", ID, "web" }, pod = called("cri-o", "k8s_a_b_c_d_0"),
			       none = { "docker", ID, "" };

	(void)state;
	assert_true(container_is_called(&c, "podman:web"));
	assert_true(container_is_called(&c, "podman:0123456789ab"));
	assert_true(container_is_called(&pod, "cri-o:c/b"));
	assert_true(container_is_called(&none, "docker:" ID));
	assert_false(container_is_called(&c, "docker:web"));
	assert_false(container_is_called(&c, "podman:"));
	assert_false(container_is_called(&c, "podman"));
	assert_false(container_is_called(&c, "podman:0123456789a"));
	assert_false(container_is_called(&none, "docker:" ID "0"));
	assert_false(container_is_called(&none, "docker:ffffffffffff"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_runtime_has_a_form_of_its_own),
		cmocka_unit_test(what_supervises_a_container_is_in_none),
		cmocka_unit_test(what_only_looks_like_one_is_none),
		cmocka_unit_test(of_one_in_another_the_inner_counts),
		cmocka_unit_test(a_name_that_is_too_long_is_cut),
		cmocka_unit_test(the_process_itself_can_be_asked),
		cmocka_unit_test(kubernetes_names_have_three_parts),
		cmocka_unit_test(a_pod_is_meant_by_whole_names),
		cmocka_unit_test(an_argument_is_found_whole),
		cmocka_unit_test(annotations_are_read),
		cmocka_unit_test(docker_knows_whether_kubernetes_made_it),
		cmocka_unit_test(dockers_folder_is_where_it_mounts_files_from),
		cmocka_unit_test(a_label_means_its_container),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
