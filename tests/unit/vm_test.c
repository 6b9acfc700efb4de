/* SPDX-License-Identifier: BSD-2-Clause */
/* Profiles of stock VMs: those built in, what files they group, what is wrong
 * with a bad one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "probe/profile.h"
#include "probe/vm.h"
#include "probe/vm_published.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct vm_profile *find(const char *name)
{
	const struct vm_profile *const *list;
	int n = vm_profiles(&list, NULL), i;

	for (i = 0; i < n; i++)
		if (!strcmp(list[i]->name, name))
			return list[i];
	fail_msg("no profile %s", name);
	return NULL;
}

static void test_built_in(void **state)
{
	static const char *const names[] = { "cpython", "php", "ruby", "jvm", "postgres" };
	const struct vm_profile *const *list;
	const struct profile *others;
	struct err e = { 0 };
	size_t i;

	(void)state;
	assert_int_equal(vm_profiles(&list, &e), ARRAY_SIZE(names));
	/* Of CPython two versions have tables; the JVM and PostgreSQL need none. */
	for (i = 0; i < ARRAY_SIZE(names); i++)
		assert_int_equal(find(names[i])->layout_count, !i ? 2 : i < 3);
	/* And they are not taken for profiles of instrumented programs. */
	assert_int_equal(profile_list(&others, &e), 1);
}

/* What a VM publishes is believed when it is of the version that we can read. */
static void test_published(void **state)
{
	/* By the places of pycore_runtime.h of 3.13, in words. */
	enum {
		VERSION = 1,
		FREE,
		HEAD = 5,
		THREADS = 9,
		NEXT = 21,
		FRAME = 23,
		NATIVE = 25,
		PREVIOUS = 29,
		CODE = 30,
		OWNER = 33,
		FILENAME = 35,
		QUALNAME = 37,
		STATE = 68,
		LENGTH,
		ASCII
	};
	u64 words[96] = { 0 };
	u16 off[OFF_COUNT] = { 0 };
	u32 self = (u32)getpid();
	u64 root = (u64)(uintptr_t)words;

	(void)state;
	memcpy(words, "xdebugpy", 8);
	words[VERSION] = 0x030d05f0;
	words[HEAD] = 632;
	words[THREADS] = 7344;
	words[NEXT] = 8;
	words[FRAME] = 72;
	words[NATIVE] = 160;
	words[PREVIOUS] = 11;
	words[OWNER] = 70;
	words[FILENAME] = 112;
	words[QUALNAME] = 128;
	words[STATE] = 32;
	words[LENGTH] = 16;
	words[ASCII] = 40;
	assert_int_equal(cpython_published(self, root, off), 0);
	assert_int_equal(off[OFF_runtime_interpreters], 632);
	assert_int_equal(off[OFF_interp_threads], 7344);
	assert_int_equal(off[OFF_thread_native_id], 160);
	assert_int_equal(off[OFF_thread_frame], 72);
	assert_int_equal(off[OFF_frame_previous], 11);
	assert_int_equal(off[OFF_frame_owner], 70);
	assert_int_equal(off[OFF_code_qualname], 128);
	assert_int_equal(off[OFF_text_compact], 56);
	words[THREADS] = 1 << 20;
	assert_int_equal(cpython_published(self, root, off), -ENOENT);
	words[THREADS] = 7344;
	words[FREE] = 1;
	assert_int_equal(cpython_published(self, root, off), -ENOTSUP);
	words[FREE] = 0;
	words[VERSION] = 0x030e00f0;
	assert_int_equal(cpython_published(self, root, off), -ENOENT);
	words[VERSION] = 0x030d00f0;
	words[0] = 0;
	assert_int_equal(cpython_published(self, root, off), -ENOENT);
	assert_int_equal(cpython_published(self, 0, off), -ENOENT);
}

static void test_groups(void **state)
{
	static const struct {
		const char *profile, *file, *name;
		u8 kind;
		bool named;
	} cases[] = {
		{ "cpython", "/usr/lib/python3/dist-packages/requests/api.py", "requests",
		  VMSPAN_PACKAGE, true },
		{ "cpython", "/v/lib/python3.11/site-packages/six.py", "six", VMSPAN_PACKAGE,
		  true },
		{ "cpython", "/usr/lib/python3.11/asyncio/events.py", "(stdlib)", VMSPAN_PACKAGE,
		  false },
		{ "cpython", "<frozen importlib._bootstrap>", "(stdlib)", VMSPAN_PACKAGE, false },
		{ "cpython", "/srv/shop/views.py", "shop", VMSPAN_PACKAGE, false },
		{ "cpython", "app.py", "(main)", VMSPAN_PACKAGE, false },
		{ "cpython", "./app.py", "(main)", VMSPAN_PACKAGE, false },
		{ "cpython", "/usr/bin/hg", "hg", VMSPAN_PACKAGE, false },
		{ "cpython", "/usr/share/tool/lib/a.py", "tool", VMSPAN_PACKAGE, false },
		{ "cpython", "/srv/shop/lib/a.py", "shop/lib", VMSPAN_PACKAGE, false },
		{ "cpython", "/srv/lib/shop/a.py", "shop", VMSPAN_PACKAGE, false },
		{ "cpython", "/x/site-packages/sphinxcontrib/plantuml.py", "sphinxcontrib/plantuml",
		  VMSPAN_PACKAGE, true },
		{ "cpython", "/x/dist-packages/sphinx/ext/autodoc/mock.py", "sphinx/ext/autodoc",
		  VMSPAN_PACKAGE, true },
		{ "cpython", "/x/dist-packages/sphinx/application.py", "sphinx", VMSPAN_PACKAGE,
		  true },
		{ "cpython", "/x/site-packages/ansible_collections/a/b/plugins/c.py", "a/b",
		  VMSPAN_PACKAGE, true },
		{ "cpython", "/x/site-packages/six.py", "six", VMSPAN_PACKAGE, true },
		{ "ruby", "/var/lib/gems/3.1.0/gems/rack-test-2.0.1/lib/rack.rb", "rack-test",
		  VMSPAN_PACKAGE, true },
		{ "ruby", "<internal:kernel>", "(core)", VMSPAN_PACKAGE, false },
		{ "ruby", "/usr/lib/ruby/3.1.0/json.rb", "(stdlib)", VMSPAN_PACKAGE, false },
		{ "ruby", "/usr/lib/x86_64-linux-gnu/ruby/3.1.0/etc.rb", "(stdlib)", VMSPAN_PACKAGE,
		  false },
		{ "ruby", "/usr/lib/ruby/vendor_ruby/puma/server.rb", "puma", VMSPAN_PACKAGE,
		  true },
		{ "ruby", "/usr/lib/ruby/vendor_ruby/3.1.0/thin.rb", "thin", VMSPAN_PACKAGE, true },
		{ "ruby", "/usr/lib/ruby/vendor_ruby/sinatra.rb", "sinatra", VMSPAN_PACKAGE, true },
		{ "ruby", "/s/bundler/gems/rack-0123456789ab/lib/rack.rb", "rack", VMSPAN_PACKAGE,
		  true },
		{ "ruby", "/usr/share/redmine/plugins/budget/lib/hooks.rb", "budget", VMSPAN_PLUGIN,
		  true },
		{ "ruby", "/usr/share/redmine/lib/redmine/hook.rb", "redmine", VMSPAN_PACKAGE,
		  false },
		{ "ruby", "/usr/share/redmine/app/models/issue.rb", "redmine", VMSPAN_PACKAGE,
		  false },
		{ "ruby", "/srv/blog/_plugins/tags.rb", "tags", VMSPAN_PLUGIN, true },
		{ "ruby", "/usr/share/rubygems-integration/all/gems/rack-2.2.6.4/lib/rack.rb",
		  "rack", VMSPAN_PACKAGE, true },
		{ "ruby", "/srv/shop/app/models/cart.rb", "app/models", VMSPAN_PACKAGE, false },
		{ "ruby", "/usr/bin/jekyll", "jekyll", VMSPAN_PACKAGE, false },
		{ "ruby", "./t.rb", "(main)", VMSPAN_PACKAGE, false },
		{ "php", "/w/wp-content/plugins/akismet/class.php", "akismet", VMSPAN_PLUGIN,
		  true },
		{ "php", "/w/wp-content/themes/dark/index.php", "dark", VMSPAN_ADDON, true },
		{ "php", "/var/lib/wordpress/wp-content/mu-plugins/fast.php", "fast", VMSPAN_PLUGIN,
		  true },
		{ "php", "/usr/share/wordpress/wp-includes/post.php", "wordpress", VMSPAN_PACKAGE,
		  true },
		{ "php", "/usr/share/wordpress/index.php", "wordpress", VMSPAN_PACKAGE, false },
		{ "php", "/usr/share/mediawiki/extensions/Cite/src/Cite.php", "Cite", VMSPAN_PLUGIN,
		  true },
		{ "php", "/usr/share/mediawiki/extensions/Cite/vendor/a/b/c.php", "Cite",
		  VMSPAN_PLUGIN, true },
		{ "php", "/usr/share/mediawiki/skins/Vector/includes/a.php", "Vector", VMSPAN_ADDON,
		  true },
		{ "php", "/usr/share/mediawiki/includes/parser/Parser.php", "mediawiki",
		  VMSPAN_PACKAGE, false },
		{ "php", "/usr/share/mediawiki/vendor/wikimedia/shellbox/src/Client.php",
		  "wikimedia/shellbox", VMSPAN_PACKAGE, true },
		{ "php", "/var/www/drupal/modules/contrib/views/a.php", "views", VMSPAN_PLUGIN,
		  true },
		{ "php", "/var/www/drupal/core/lib/Drupal.php", "drupal", VMSPAN_PACKAGE, false },
		{ "php", "/var/www/nextcloud/apps/files/lib/App.php", "files", VMSPAN_PLUGIN,
		  true },
		{ "php", "/w/vendor/smarty/smarty/libs/plugins/modifier.capitalize.php",
		  "smarty/smarty", VMSPAN_PACKAGE, true },
		{ "php", "/w/plugins/foo.bar/a.php", "foo.bar", VMSPAN_PLUGIN, true },
		{ "php", "/w/plugins/foo.bar/vendor/a/b.php", "foo.bar", VMSPAN_PLUGIN, true },
		{ "php", "/w/plugins/one.php", "one", VMSPAN_PLUGIN, true },
		{ "php", "/usr/share/php/Symfony/Component/a.php", "Symfony", VMSPAN_PACKAGE,
		  false },
		{ "php", "/srv/www/shop/index.php", "shop", VMSPAN_PACKAGE, false },
		{ "php", "/var/www/vhosts/a.example/httpdocs/index.php", "a.example",
		  VMSPAN_PACKAGE, false },
		{ "php", "/var/www/html/core/lib/a.php", "html/core", VMSPAN_PACKAGE, false },
		{ "php", "/w/apps/shop/public/index.php", "shop/public", VMSPAN_PACKAGE, false },
		{ "php", "/w/shop/src/a.php", "shop/src", VMSPAN_PACKAGE, false },
		{ "php", "/w/shop/cart.php", "shop", VMSPAN_PACKAGE, false },
		{ "jvm", "com/example/shop/Cart", "com/example/shop", VMSPAN_PACKAGE, true },
		{ "jvm", "java/util/HashMap", "(stdlib)", VMSPAN_PACKAGE, false },
		{ "jvm", "heavy/Plugin$1", "heavy", VMSPAN_PACKAGE, true },
		{ "jvm", "Main", "(main)", VMSPAN_PACKAGE, false },
		{ "jvm", "thread:C2 CompilerThre", "(jit)", VMSPAN_PACKAGE, false },
		{ "jvm", "thread:GC Thread#1", "(gc)", VMSPAN_PACKAGE, false },
		{ "jvm", "thread:VM Periodic Tas", "(vm)", VMSPAN_PACKAGE, false },
		{ "jvm", "thread:worker", "(native)", VMSPAN_PACKAGE, false },
		{ "php", "/w/vendor/symfony/http/a.php", "symfony/http", VMSPAN_PACKAGE, true },
	};
	char name[VM_NAME_MAX];
	bool named;
	size_t i;
	u8 kind;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_true(vm_group(find(cases[i].profile), cases[i].file, &kind, &named, name,
				     sizeof(name)));
		assert_string_equal(name, cases[i].name);
		assert_int_equal(kind, cases[i].kind);
		assert_int_equal(named, cases[i].named);
	}
	/* A name that is too long is cut, not dropped. */
	assert_true(vm_group(find("cpython"), "/x/site-packages/abcdefgh/a.py", &kind, &named, name,
			     5));
	assert_string_equal(name, "abcd");
}

static void test_probe(void **state)
{
	char provider[VM_NAME_MAX];

	(void)state;
	assert_string_equal(vm_probe(find("jvm"), VM_GC_BEGIN, provider), "gc__begin");
	assert_string_equal(provider, "hotspot");
	assert_string_equal(vm_probe(find("jvm"), VM_STALL_BEGIN, provider), "safepoint__begin");
	assert_string_equal(provider, "hs_private");
	assert_null(vm_probe(find("jvm"), VM_STATUS, provider));
}

/* Rule: every role whose silence is noticed says why it may be, and what to do. */
static void test_silent(void **state)
{
	static const char text[] = "[profile]\nname = x\nvm = php\nfile = ^x$\n[silent]\n"
				   "request_begin = it waits\nrequest_begin_do = Wait too.\n"
				   "gc_begin_do = Nothing.\n";
	const struct vm_profile *const *list;
	struct err e = { 0 };
	struct vm_profile p;
	int count, i, role;

	(void)state;
	assert_int_equal(vm_profile_parse(text, "x", &p, &e), 0);
	assert_string_equal(p.silent[VM_REQUEST_BEGIN], "it waits");
	assert_string_equal(p.silent_do[VM_REQUEST_BEGIN], "Wait too.");
	assert_string_equal(p.silent[VM_GC_BEGIN], "");
	assert_string_equal(p.silent_do[VM_GC_BEGIN], "Nothing.");
	vm_profile_free(&p);
	count = vm_profiles(&list, &e);
	for (i = 0; i < count; i++)
		for (role = 0; role < VM_ROLES; role++) {
			bool watched = role == VM_GC_BEGIN || role == VM_REQUEST_BEGIN ||
				       role == VM_STATUS || role == VM_STALL_BEGIN ||
				       role == VM_CALL_BEGIN;

			watched &= list[i]->probes[role][0] != 0;
			assert_int_equal(list[i]->silent[role][0] != 0, watched);
			assert_int_equal(list[i]->silent_do[role][0] != 0, watched);
		}
}

#define HEAD "[profile]\nname = x\nvm = php\nfile = ^x$\n"

#define TEN "0123456789"
#define FIFTY TEN TEN TEN TEN TEN
/* VM_WORDS_MAX characters: one more than there is room for. */
#define LONG FIFTY FIFTY FIFTY TEN
_Static_assert(sizeof(LONG) - 1 == VM_WORDS_MAX, "the shortest that is too long");

/* Rule: what a frame says of waits, its function and its file say together. */
static void test_frames(void **state)
{
	static const struct {
		const char *vm, *file, *function;
		u32 is;
	} cases[] = {
#define PY "/usr/lib/python3.11/"
#define POOL "java/util/concurrent/ThreadPoolExecutor"
#define PUMA "/var/lib/gems/3.1.0/gems/puma-5.6.5/lib/puma/thread_pool.rb"
		{ "cpython", PY "concurrent/futures/thread.py", "_worker", VM_FRAME_IDLE_AT },
		{ "cpython", PY "concurrent/futures/thread.py", "_WorkItem.run", 0 },
		{ "cpython", "/app/thread.py", "_worker", 0 },
		{ "cpython", PY "threading.py", "Condition.wait", VM_FRAME_THROUGH },
		{ "cpython", PY "threading.py", "Thread.join", 0 },
		{ "cpython", "/usr/lib/python3/dist-packages/waitress/task.py",
		  "ThreadedTaskDispatcher.handler_thread", VM_FRAME_IDLE_AT },
		{ "ruby", PUMA, "block (2 levels) in spawn_thread", VM_FRAME_IDLE_AT },
		{ "ruby", PUMA, "block in spawn_thread", VM_FRAME_POOL },
		{ "ruby", "<internal:thread_sync>", "pop", VM_FRAME_THROUGH },
		{ "jvm", POOL, "getTask", VM_FRAME_IDLE_IN },
		{ "jvm", POOL, "runWorker", VM_FRAME_POOL },
		{ "jvm", POOL "$Worker", "getTask", 0 },
		{ "jvm", "org/apache/tomcat/util/threads/ThreadPoolExecutor", "getTask",
		  VM_FRAME_IDLE_IN },
		{ "jvm", "org/eclipse/jetty/util/thread/QueuedThreadPool$Runner", "idleJobPoll",
		  VM_FRAME_IDLE_IN },
		{ "jvm", "org/eclipse/jetty/util/thread/QueuedThreadPool", "idleJobPoll",
		  VM_FRAME_IDLE_IN },
		{ "php", "/srv/queue.php", "take", 0 },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(vm_frame_is(find(cases[i].vm), cases[i].file, cases[i].function),
				 cases[i].is);
}

/* Rule: an error shows the line, and a caret below the word that is wrong. */
static void test_errors(void **state)
{
	static const struct {
		const char *text, *words;
	} cases[] = {
		{ "[profile]\nvm = cobol\n", "x:2: not a known VM: " },
		{ "[profile]\nvm = php\n", "needs name, vm and file" },
		{ "[profile]\nvm = php\nfile = (\n", "x:3: " },
		{ HEAD "[groups]\nboss = a b\n", "x:6: no such kind" },
		{ HEAD "[groups]\npackage = a\n", "a name and a regular expression" },
		{ HEAD "[groups]\npackage = a [b\n", "x:6: " },
		{ HEAD "[probes]\nenter = a\n", "no such role" },
		{ HEAD "[silent]\nenter = a\n", "x:6: no such role in [silent]" },
		{ HEAD "[silent]\n_do = a\n", "x:6: no such role in [silent]" },
		{ HEAD "[silent]\nstatus = " LONG "\n", "x:6: " },
		{ HEAD "[silent]\nstatus_do = " LONG "\n", "x:6: " },
		{ HEAD "[idle]\nnear = ^a$ b\n",
		  "x:6: no such key in [idle]: in, at, through, pool" },
		{ HEAD "[idle]\nat = ^a$\n",
		  "x:6: a regular expression and a function are wanted" },
		{ HEAD "[idle]\nat = ^a[$ b\n", "x:6: " },
		{ HEAD "[idle]\nat = ^a$ " LONG "\n", "x:6: " },
		{ HEAD "[idle]\nat = " LONG " b\n", "x:6: the regular expression is too long" },
		{ HEAD "[layout 1]\nnothing = 1\n", "no such offset" },
		{ HEAD "[layout 1]\nfunc_type = 70000\n", "below 65536" },
		{ HEAD "[layout 1]\nfunc_type = 1\n", "[layout 1] lacks" },
		{ HEAD "[colours]\na = b\n", "no such section" },
	};
	struct vm_profile p;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct err e = { 0 };

		assert_int_equal(vm_profile_parse(cases[i].text, "x", &p, &e), -EINVAL);
		if (!strstr(e.what, cases[i].words))
			fail_msg("'%s' is not in: %s", cases[i].words, e.what);
		if (!strncmp(cases[i].words, "x:", 2))
			assert_non_null(strstr(e.what, "^"));
		vm_profile_free(&p);
	}
}

/* Rule: of a table that is full no more is taken. */
static void test_full(void **state)
{
	char text[4096];
	struct vm_profile p;
	struct err e = { 0 };
	size_t n;
	u32 i;

	(void)state;
	n = (size_t)snprintf(text, sizeof(text), HEAD "[idle]\n");
	for (i = 0; i < VM_IDLE_MAX; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "at = ^a$ f%u\n", i);
	assert_int_equal(vm_profile_parse(text, "x", &p, &e), 0);
	assert_int_equal(p.idle_count, VM_IDLE_MAX);
	vm_profile_free(&p);
	snprintf(text + n, sizeof(text) - n, "at = ^a$ f\n");
	assert_int_equal(vm_profile_parse(text, "x", &p, &e), -EINVAL);
	assert_non_null(strstr(e.what, "more of them than a profile may have"));
	vm_profile_free(&p);
}

/* Rule: a process that runs no VM is none. */
static void test_none(void **state)
{
	struct vm_target t;

	(void)state;
	assert_int_equal(vm_find((u32)getpid(), NULL, &t, NULL), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_built_in), cmocka_unit_test(test_published),
		cmocka_unit_test(test_groups),   cmocka_unit_test(test_probe),
		cmocka_unit_test(test_frames),   cmocka_unit_test(test_full),
		cmocka_unit_test(test_errors),   cmocka_unit_test(test_none),
		cmocka_unit_test(test_silent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
