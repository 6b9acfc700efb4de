/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/host/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/host/helper.h"
#include "tools/host/stop.h"
#include "tools/host/util.h"
#include "tools/host/worker.h"

struct content {
	pid_t pid; /* 0: not forked */
	int fd; /* the main process's end */
	u64 fork_at; /* --fork-in-run: before this turn */
	struct world *world; /* --fork-in-run: what it will run */
};

/* [0] is content process 1. */
static struct content contents[64];
static u32 content_count;

/* Runs until told to end. go: what the main process would say has been said. */
static int content_run(struct world *w, int fd, bool go)
{
	struct expect e;
	struct buf b = { 0 };
	u32 size;
	char c = 'R';

	world_start(w);
	if (!go) {
		if (write_full(fd, &c, 1))
			return 1;
		go = stop_wait_fd(fd) && !read_full(fd, &c, 1) && c == 'G';
	}
	if (go)
		world_run(w);
	expect_take(&e, w);
	expect_pack(&e, &b);
	size = (u32)b.len;
	if (b.failed || write_full(fd, &size, sizeof(size)) || write_full(fd, b.data, b.len))
		return 1;
	expect_free(&e);
	buf_free(&b);
	while (stop_wait_fd(fd) && !read_full(fd, &c, 1))
		;
	world_stop(w);
	world_free(w);
	return 0;
}

int process_main(const struct options *o)
{
	int status = content_run(world_new(o, o->child), o->control, false);

	close(o->control);
	return status;
}

/* In the child: what belongs to the main process alone is closed. */
static void forget_others(void)
{
	u32 i;

	for (i = 0; i < content_count; i++)
		if (contents[i].pid && contents[i].fd >= 0)
			close(contents[i].fd);
}

static void exec_self(char **argv, u32 number, int fd)
{
	char child[32], control[32];
	size_t n;
	char **args;

	for (n = 0; argv[n]; n++)
		;
	args = xcalloc(n + 3, sizeof(*args));
	memcpy(args, argv, n * sizeof(*args));
	snprintf(child, sizeof(child), "--child=%u", number);
	snprintf(control, sizeof(control), "--control=%d", fd);
	args[n] = child;
	args[n + 1] = control;
	fcntl(fd, F_SETFD, 0);
	execv("/proc/self/exe", args);
	die("cannot execute itself: %s", strerror(errno));
}

/* True in the child, with its end of the socket in *fd. */
static bool fork_content(struct content *c, int *fd)
{
	pid_t self = getpid();
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		die("cannot make a socket pair: %s", strerror(errno));
	c->pid = fork();
	if (c->pid < 0)
		die("cannot fork a content process: %s", strerror(errno));
	if (!c->pid) {
		die_with(self);
		close(ends[0]);
		forget_others();
		stop_init();
		*fd = ends[1];
		return true;
	}
	close(ends[1]);
	c->fd = ends[0];
	return false;
}

u64 processes_start(const struct options *o, char **argv)
{
	u64 definitions = 0;
	u32 i;
	int fd;

	content_count = o->processes - 1;
	for (i = 0; i < content_count; i++) {
		struct content *c = &contents[i];

		c->fd = -1;
		if (o->fork_in_run) {
			c->world = world_new(o, i + 1);
			definitions += c->world->marks.before;
			c->world->marks.before = 0;
			c->fork_at = o->turns == UINT64_MAX ? 10ull * (i + 1)
							    : o->turns * (i + 1) / o->processes;
			continue;
		}
		if (!fork_content(c, &fd))
			continue;
		if (o->exec_children)
			exec_self(argv, i + 1, fd);
		/* The main process shares its buffers and exit handlers: leave them alone. */
		_exit(content_run(world_new(o, i + 1), fd, false));
	}
	return definitions;
}

void processes_fork_due(const struct world *w, u64 turn)
{
	u32 i;
	int fd;

	if (w->process)
		return;
	for (i = 0; i < content_count; i++) {
		struct content *c = &contents[i];

		if (!c->world || c->pid || turn < c->fork_at)
			continue;
		/* The child has only this thread: no other may hold a lock now. */
		workers_drain((struct world *)(uintptr_t)w);
		if (!fork_content(c, &fd))
			continue;
		close(w->helper.to);
		close(w->helper.from);
		_exit(content_run(c->world, fd, true));
	}
}

void processes_ready(void)
{
	u32 i;
	char c;

	for (i = 0; i < content_count; i++)
		if (contents[i].pid && (read_full(contents[i].fd, &c, 1) || c != 'R'))
			die("content process %u ended before it was ready", i + 1);
}

void processes_go(void)
{
	u32 i;

	for (i = 0; i < content_count; i++)
		if (contents[i].pid && write_full(contents[i].fd, "G", 1))
			die("content process %u has ended", i + 1);
}

void processes_stop(void)
{
	u32 i;

	for (i = 0; i < content_count; i++)
		if (contents[i].pid)
			kill(contents[i].pid, SIGTERM);
}

static int collect_one(const struct content *c, struct expect *e)
{
	u32 size;
	u8 *data;
	int err = read_full(c->fd, &size, sizeof(size));

	if (err)
		return err;
	data = xcalloc(size, 1);
	err = read_full(c->fd, data, size);
	if (!err)
		err = expect_unpack(e, data, size);
	free(data);
	return err;
}

size_t processes_collect(struct expect *all)
{
	size_t n = 0;
	u32 i;

	for (i = 0; i < content_count; i++) {
		if (!contents[i].pid)
			continue;
		if (collect_one(&contents[i], &all[n++]))
			die("content process %u ended without its report", i + 1);
	}
	return n;
}

int processes_quit(void)
{
	int failed = 0;
	u32 i;

	for (i = 0; i < content_count; i++) {
		struct content *c = &contents[i];

		if (c->pid) {
			int status;

			close(c->fd);
			status = reap(c->pid);
			/* One that was asked to stop as it ended anyway has ended well. */
			failed |= status && !(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
		}
		world_free(c->world);
	}
	return failed;
}
