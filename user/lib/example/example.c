/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What an add-on costs, from a program of one's own:
 *
 *   cc example.c -o example $(pkg-config --cflags --libs --static libvmspan)
 *   ./example FILE | PID
 */
#include <ctype.h>
#include <libvmspan.h>
#include <stdio.h>
#include <stdlib.h>

static int on_alert(void *ctx, const struct libvmspan_alert *a)
{
	(void)ctx;
	printf("alert: %s\n", a->sentence);
	return 0;
}

int main(int argc, char **argv)
{
	struct libvmspan_options options = LIBVMSPAN_OPTIONS_INIT;
	struct libvmspan_snapshot *snapshot;
	struct libvmspan_totals totals;
	struct libvmspan_group group;
	struct libvmspan *trace;
	char error[512];
	uint32_t pid, i;
	int rc;

	if (argc != 2)
		return 2;
	pid = isdigit((unsigned char)argv[1][0]) ? (uint32_t)atoi(argv[1]) : 0;
	options.pids = &pid;
	options.pid_count = pid != 0;
	trace = pid ? libvmspan_attach(&options, error, sizeof(error))
		    : libvmspan_replay(argv[1], &options, error, sizeof(error));
	if (!trace) {
		fprintf(stderr, "%s\n", error);
		return 1;
	}
	libvmspan_listen(trace, "addon:*", on_alert, NULL);
	/* A recording to its end; a process until it ends. */
	while ((rc = libvmspan_poll(trace, -1)) > 0)
		;
	if (rc < 0)
		fprintf(stderr, "%s\n", libvmspan_error(trace));
	snapshot = libvmspan_snapshot(trace);
	libvmspan_free(trace);
	if (!snapshot)
		return 1;
	libvmspan_totals(snapshot, &totals, sizeof(totals));
	printf("%llu events, %llu lost\n", (unsigned long long)totals.events,
	       (unsigned long long)totals.lost_records);
	for (i = 0; i < totals.groups; i++) {
		libvmspan_group(snapshot, i, &group, sizeof(group));
		printf("%s %llu %llu\n", group.name, (unsigned long long)group.ticks,
		       (unsigned long long)group.wall_ns);
	}
	libvmspan_snapshot_free(snapshot);
	return rc < 0;
}
