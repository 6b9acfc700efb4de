/* SPDX-License-Identifier: BSD-2-Clause */
/* A trace of libvmspan and what may end a wait for it: what every command but
 * `list` and `doctor` is built on. */
#ifndef CMD_SESSION_H
#define CMD_SESSION_H

#include "base/text.h"
#include "cmd/options.h"
#include "cmd/wake.h"
#include "lib/trace.h"

struct session {
	const struct alert_config *alerts; /* set before opening by who wants them; else NULL */
	struct libvmspan *trace;
	struct source *source; /* the trace's */
	struct model *model; /* the trace's */
	struct report_source head;
	struct wake wake;
	bool waking; /* wake is open */
	bool live; /* source is no recording */
	bool said_not_exact;
};

/* Attaches to the targets of o, or starts its command. Catches signals. */
int session_live(struct session *s, const struct options *o, bool hard_stop, struct err *e);
/* Says it once that stock VMs are not traced with --exact, where there are some and it was asked for. For commands that
 * show no notes of processes while they trace. */
void session_say_not_exact(struct session *s);
/* Opens a recording. */
int session_replay(struct session *s, const struct options *o, const char *path, struct err *e);
/* Feeds the model from a recording to its end, with progress on stderr when
 * that is a terminal and quiet is not set; then head.note is set. -EINTR: a
 * signal ended it. An error that an observer returned leaves *e empty. */
int session_drain(struct session *s, bool quiet, struct err *e);
/* A snapshot, live with what goes on in it; NULL with *e filled. */
struct snapshot *session_snapshot(struct session *s, struct err *e);
void session_close(struct session *s);
/* What ends a wait besides the targets: "^C", or "^C or 5.00 s have gone by". Returns to. */
#define SESSION_UNTIL_MAX (TEXT_NS_MAX + 24)
char *session_until(const struct options *o, char to[SESSION_UNTIL_MAX]);

/* ---- Live views: something to show at every interval ---- */

struct live_frame {
	const struct snapshot *total; /* since the start */
	const struct snapshot *delta; /* of the interval; NULL with live_ops.owns */
	struct snapshot *own; /* with live_ops.owns: total, for the op to free */
	u64 elapsed_ns, interval_ns;
	bool ended; /* the targets are gone: the last frame */
};

struct live_ops {
	/* frame() takes the snapshot over and makes its own difference. */
	bool owns;
	/* Before a snapshot is taken: the last one may go. NULL: no need. */
	void (*release)(void *ctx);
	/* 0 to go on, 1 to end, negative errno with *e filled or not. */
	int (*frame)(void *ctx, const struct live_frame *f, struct err *e);
	/* Keys, resizing, connections; NULL: not wanted. Returns as frame does. */
	int (*input)(void *ctx, unsigned int bits, struct err *e);
};

/* Runs until a signal, the count, the end of the targets or an op ends it. */
int session_run(struct session *s, const struct options *o, const struct live_ops *ops, void *ctx,
		struct err *e);

#endif
