/* SPDX-License-Identifier: BSD-2-Clause */
/* Attaches with the library and says what goes on and what has ended, a line each, until there is
 * something on its input. */
#include "user/lib/libvmspan.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int say(void *ctx, const struct libvmspan_alert *a)
{
	(void)ctx;
	if (a->pid)
		printf("%s %s %s\n", a->open ? "open" : "ended", a->group,
		       a->total_ns >= a->threshold_ns ? "long" : "short");
	return 0;
}

int main(int argc, char **argv)
{
	struct libvmspan_options o = LIBVMSPAN_OPTIONS_INIT;
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };
	uint32_t pid = argc == 2 ? (uint32_t)atoi(argv[1]) : 0;
	struct libvmspan *t;
	char why[256];
	int rc = 1;

	setlinebuf(stdout);
	o.pids = &pid;
	o.pid_count = 1;
	t = libvmspan_attach(&o, why, sizeof(why));
	if (!t) {
		fprintf(stderr, "%s\n", why);
		return 1;
	}
	libvmspan_listen(t, NULL, say, NULL);
	puts("attached");
	while (rc > 0 && !poll(&in, 1, 0)) {
		rc = libvmspan_poll_until(t, 50, STDIN_FILENO);
		if (rc > 0 && libvmspan_look(t))
			return 1;
	}
	rc = libvmspan_stop(t);
	libvmspan_free(t);
	return rc != 0;
}
