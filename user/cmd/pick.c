/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/pick.h"
#include "base/buf.h"
#include "base/text.h"
#include "cmd/cmd.h"
#include "cmd/scan.h"
#include "sink/containers.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void offer(void *ctx, const struct scan_process *p)
{
	struct buf *pids = ctx;
	char name[100], path[512], container[CONTAINER_LABEL_MAX];

	if (buf_put(pids, &p->pid, sizeof(p->pid)))
		return;
	printf("%4zu  %7u  %-16s %-8s %s", pids->len / sizeof(p->pid), p->pid,
	       text_clean(name, sizeof(name), p->name, strlen(p->name)), p->profile,
	       text_clean(path, sizeof(path), p->path, strlen(p->path)));
	container_label(&p->container, container);
	printf(*container ? "  in %s\n" : "%s\n", container);
}

/* The process that is meant: a place in the list, a process id, Enter. */
static u32 meant(const char *answer, const u32 *pids, size_t n)
{
	size_t i;
	u64 v;

	if (!*answer)
		return pids[0];
	if (text_parse_u64(answer, INT32_MAX, &v) || !v)
		return 0;
	for (i = 0; i < n; i++)
		if (pids[i] == v)
			return pids[i];
	return v <= n ? pids[v - 1] : 0;
}

static u32 ask(const u32 *pids, size_t n)
{
	char line[64];
	u32 pid;

	for (;;) {
		printf("\nWhich one? Its number or process id; Enter: 1; q: none. ");
		fflush(stdout);
		if (!fgets(line, sizeof(line), stdin))
			return 0;
		line[strcspn(line, "\n")] = 0;
		if (!strcmp(line, "q"))
			return 0;
		pid = meant(line, pids, n);
		if (pid)
			return pid;
		printf("That is none of them.");
	}
}

int pick_and_run(void)
{
	struct buf pids = { 0 };
	struct err e = { 0 };
	char text[16];
	char *argv[] = { "top", "-p", text, NULL };
	u32 pid = 0;

	printf("Processes that can be traced ('vmspan --help' lists the commands):\n\n");
	fflush(stdout);
	if (scan_processes(offer, &pids, &e) < 0) {
		buf_free(&pids);
		return say_error(&e);
	}
	if (pids.len)
		pid = ask((const u32 *)(const void *)pids.data, pids.len / sizeof(u32));
	buf_free(&pids);
	if (!pid)
		return EXIT_DONE;
	snprintf(text, sizeof(text), "%u", pid);
	return command_find("top")->run(3, argv);
}
