/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/host/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/host/util.h"

void die_with(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* It may have died before the line above. */
	if (getppid() != parent)
		_exit(1);
}

int reap(pid_t pid)
{
	int status = -1;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

/* Standard input to standard output. Nothing else stays open: others wait for its end. */
static void helper_main(int in, int out)
{
	char data[HELPER_MAX];
	ssize_t n;

	signal(SIGINT, SIG_IGN); /* from the terminal: the host decides */
	signal(SIGTERM, SIG_DFL);
	if (dup2(in, 0) != 0 || dup2(out, 1) != 1 || close_range(3, ~0u, 0))
		_exit(1);
	while ((n = read(0, data, sizeof(data))) > 0)
		if (write_full(1, data, (size_t)n))
			_exit(1);
	_exit(0);
}

void helper_start(struct helper *h)
{
	pid_t self = getpid();
	int to[2], from[2];

	if (pipe2(to, O_CLOEXEC) || pipe2(from, O_CLOEXEC))
		die("cannot make a pipe: %s", strerror(errno));
	h->pid = fork();
	if (h->pid < 0)
		die("cannot fork a helper: %s", strerror(errno));
	if (!h->pid) {
		die_with(self);
		helper_main(to[0], from[1]);
	}
	close(to[0]);
	close(from[1]);
	h->to = to[1];
	h->from = from[0];
}

void helper_echo(struct world *w, char *p, size_t n)
{
	int err;

	mark_block_begin(&w->marks, &w->ledger, LABEL_DISK, (u32)w->helper.pid);
	err = write_full(w->helper.to, p, n);
	if (!err)
		err = read_full(w->helper.from, p, n);
	mark_block_end(&w->ledger);
	if (err)
		die("the helper (pid %d) does not answer: %s", (int)w->helper.pid, strerror(-err));
}

void helper_stop(struct helper *h)
{
	if (!h->pid)
		return;
	close(h->to);
	close(h->from);
	reap(h->pid);
	h->pid = 0;
}
