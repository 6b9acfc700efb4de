/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * demohost: a small multi-tenant JavaScript host that knows exactly how much
 * work it did. README.md says what it is for.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/json.h"
#include "tools/host/expect.h"
#include "tools/host/options.h"
#include "tools/host/process.h"
#include "tools/host/stop.h"
#include "tools/host/util.h"
#include "tools/host/world.h"

static void say(const char *text)
{
	int err = write_full(STDOUT_FILENO, text, strlen(text));

	if (err)
		die("cannot write to stdout: %s", strerror(-err));
}

static void say_ready(void)
{
	char line[32];

	snprintf(line, sizeof(line), "ready %d\n", (int)getpid());
	say(line);
}

static void write_expectation(const struct options *o, const struct expect *all, size_t count)
{
	int fd = STDOUT_FILENO, err;
	struct json j;
	struct out out;

	if (!o->expect)
		return;
	if (strcmp(o->expect, "-"))
		fd = open(o->expect, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0)
		die("cannot create '%s': %s", o->expect, strerror(errno));
	out_open_fd(&out, fd);
	json_open(&j, &out);
	expect_json(&j, o->seed, all, count);
	err = out_close(&out);
	if (fd != STDOUT_FILENO && close(fd) && !err)
		err = -errno;
	if (err)
		die("cannot write '%s': %s", o->expect, strerror(-err));
}

/* True when the run may begin; false when a stop came first. */
static bool await_go(void)
{
	char line[16];

	if (stop_read_line(STDIN_FILENO, line, sizeof(line))) {
		if (strcmp(line, "go"))
			die("expected `go` on stdin, not '%s'", line);
		return true;
	}
	if (!stop_requested())
		die("stdin ended before `go`");
	return false;
}

static void await_quit(void)
{
	char line[16];

	while (stop_read_line(STDIN_FILENO, line, sizeof(line)))
		if (!strcmp(line, "quit"))
			return;
}

int main(int argc, char **argv)
{
	struct expect *all;
	struct options o;
	struct world *w;
	size_t count, i;
	u64 definitions;
	int status;

	options_parse(&o, argc, argv);
	/* A tracer names a process after its main thread: the same under any file name. */
	prctl(PR_SET_NAME, "demohost");
	stop_init();
	if (o.child)
		return process_main(&o);
	definitions = processes_start(&o, argv);
	w = world_new(&o, 0);
	w->marks.before += definitions;
	world_start(w);
	processes_ready();
	if (o.wait || o.mode != MODE_RUN)
		say_ready();
	if (!o.wait || await_go()) {
		processes_go();
		world_run(w);
	}
	if (stop_requested())
		processes_stop();
	all = xcalloc(o.processes, sizeof(*all));
	expect_take(&all[0], w);
	count = 1 + processes_collect(&all[1]);
	write_expectation(&o, all, count);
	if (o.wait) {
		say("done\n");
		await_quit();
	}
	for (i = 0; i < count; i++)
		expect_free(&all[i]);
	free(all);
	status = processes_quit();
	world_stop(w);
	world_free(w);
	return status;
}
