/* SPDX-License-Identifier: BSD-2-Clause */
/* What `watch` prints: alerts for people or as JSON lines, and its last words. */
#ifndef CMD_WATCH_PRINT_H
#define CMD_WATCH_PRINT_H

#include "cmd/options.h"
#include "cmd/watch_dump.h"
#include "cmd/watch_exec.h"
#include "sink/verdict.h"

struct watch_print {
	struct out out;
	bool json, quiet;
};

struct watch_totals {
	u64 shown;
	u64 inner, system, others; /* alerts not shown: by their cause; --group's */
	struct alert_counts alerts;
	struct dump_counts dumps;
	struct exec_counts runs;
	struct snapshot *snapshot; /* or NULL; the caller's */
	const u64 *woken; /* by the kernel side; or NULL */
	bool live, exact; /* exact: with the scheduler's record */
};

void watch_print_open(struct watch_print *p, const struct options *o);
/* json: the alert's object and a line end. v may be NULL. */
void watch_print_alert(struct watch_print *p, const struct alert *a, const struct alert_extra *x,
		       const struct verdict *v, const struct out *json);
int watch_print_flush(struct watch_print *p);
/* Ends the output. Returns the exit status. */
int watch_print_close(struct watch_print *p, int status);
/* On stderr. quiet: losses and failures only. */
void watch_print_totals(const struct watch_totals *t, bool quiet);

#endif
