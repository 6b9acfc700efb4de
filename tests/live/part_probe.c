/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A trace of libvmspan that does what it is told, a line a task:
 *
 *   on PART, off PART   asks for a part of the trace, lets go of it
 *   listen, unlisten N  comes to hear of alerts, goes; N counts them from 1
 *   poll                takes in what there is
 *   json                the report so far, in a line
 *   stop                ends the trace
 *
 * After each it prints "ok", or the error's number. PART is a mask of LIBVMSPAN_TURNS
 * and so on. Arguments: PID, then exact, direct, hz=N, without=MASK.
 */
#include "bpf/wire.h"
#include "lib/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int report(struct libvmspan *t)
{
	struct libvmspan_snapshot *s = libvmspan_snapshot(t);
	char *text = s ? libvmspan_json(s) : NULL;

	if (text)
		printf("%s\n", text);
	free(text);
	libvmspan_snapshot_free(s);
	return text ? 0 : -1;
}

static int hear(void *ctx, const struct libvmspan_alert *a)
{
	(void)ctx;
	(void)a;
	return 0;
}

static int task(struct libvmspan *t, const char *line)
{
	char what[16] = "";
	unsigned int part = 0;
	int i, rc = 0;

	sscanf(line, "%15s %u", what, &part);
	if (!strcmp(what, "on") || !strcmp(what, "off"))
		return libvmspan_part(t, part, what[1] == 'n');
	if (!strcmp(what, "listen"))
		return libvmspan_listen(t, NULL, hear, NULL) > 0 ? 0 : -1;
	if (!strcmp(what, "unlisten"))
		return libvmspan_unlisten(t, part);
	if (!strcmp(what, "json"))
		return report(t);
	if (!strcmp(what, "stop"))
		return libvmspan_stop(t);
	/* What has gathered, each poll takes a part of: of a full ring so many. Then what comes late. */
	for (i = 0; i < LIVE_RING_BYTES / sizeof(struct wire_head) / 1024 && rc >= 0; i++)
		rc = libvmspan_poll(t, 0);
	for (i = 0; i < 4 && rc >= 0; i++)
		rc = libvmspan_poll(t, 60);
	return rc < 0 ? rc : 0;
}

int main(int argc, char **argv)
{
	u32 pid = argc > 1 ? (u32)atoi(argv[1]) : 0;
	struct trace_config c = { .live = { .pids = &pid, .pid_count = 1 }, .alerts = true };
	struct err e = { 0 };
	struct libvmspan *t;
	char line[80];
	int i;

	for (i = 2; i < argc; i++) {
		if (!strcmp(argv[i], "exact"))
			c.live.exact = true;
		else if (!strcmp(argv[i], "direct"))
			c.live.method = METHOD_DIRECT;
		else if (!strncmp(argv[i], "hz=", 3))
			c.live.hz = (u32)atoi(argv[i] + 3);
		else
			c.live.without = (u32)atoi(argv[i] + strcspn(argv[i], "=") + 1);
	}
	t = trace_open(&c, &e);
	if (!t) {
		fprintf(stderr, "%s\n", e.what);
		return 1;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("ready\n");
	while (fgets(line, sizeof(line), stdin)) {
		int rc = task(t, line);

		if (rc)
			printf("%d %s\n", rc, libvmspan_error(t));
		else
			printf("ok\n");
	}
	libvmspan_free(t);
	return 0;
}
