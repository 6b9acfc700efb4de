/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How quiet the machine is, for scripts:
 *
 *   quiet PROC ROOT            a reading, numbers in a line
 *   quiet PROC ROOT READING    what has been since that reading, as JSON
 *
 * PROC is /proc, or made for a test. Others than ROOT and those below it are counted.
 */
#include "quiet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct quiet_reading from, now;
	struct quiet q;
	struct json j;
	struct out o;
	int r;

	if (argc != 3 && argc != 4) {
		fprintf(stderr, "usage: quiet PROC ROOT [READING]\n");
		return 2;
	}
	r = quiet_read(argv[1], (pid_t)atoi(argv[2]), &now);
	if (r) {
		fprintf(stderr, "quiet: cannot read %s: %s\n", argv[1], strerror(-r));
		return 1;
	}
	out_open_fd(&o, STDOUT_FILENO);
	if (argc == 3) {
		out_printf(&o, "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", now.uptime_ns,
			   now.used, now.stolen, now.ours);
		return out_close(&o) ? 1 : 0;
	}
	if (sscanf(argv[3], "%" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64, &from.uptime_ns,
		   &from.used, &from.stolen, &from.ours) != 4) {
		fprintf(stderr, "quiet: '%s' is no reading\n", argv[3]);
		return 2;
	}
	q = quiet_between(&from, &now, NSEC_PER_SEC / (u64)sysconf(_SC_CLK_TCK));
	json_open(&j, &o);
	quiet_json(&j, NULL, &q);
	json_line(&j);
	return out_close(&o) ? 1 : 0;
}
