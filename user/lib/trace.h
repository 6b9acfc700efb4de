/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The inside of a trace: a source, the model it feeds, and alerts. libvmspan.h
 * is what others see of it; the commands add what they alone need from here.
 * Not installed, and free to change.
 */
#ifndef LIB_TRACE_H
#define LIB_TRACE_H

#include "lib/libvmspan.h"
#include "model/snapshot.h"
#include "sink/alert.h"
#include "sink/sink.h"
#include "source/live.h"

struct trace_config {
	const char *path; /* a recording; NULL: live */
	struct live_config live;
	struct model_config model; /* cycles_hz and exact are the source's */
	bool alerts; /* wanted; live.alert_ns is then set from these */
	struct alert_config alert;
};

/* What a command does beside the figures. Any may be NULL. */
struct trace_tap {
	/* Each item, before the model has it. */
	int (*item)(void *ctx, const struct item *it);
	/* Everything that ended before ns has been seen, its alerts are told. */
	void (*advanced)(void *ctx, u64 ns);
	void *ctx;
};

/* NULL with *err filled. */
struct libvmspan *trace_open(const struct trace_config *c, struct err *err);
/* Borrowed, until the trace is freed. */
struct source *trace_source(const struct libvmspan *t);
struct model *trace_model(const struct libvmspan *t);
struct alerts *trace_alerts(const struct libvmspan *t); /* NULL: not wanted */
void trace_tap(struct libvmspan *t, const struct trace_tap *tap);
/*
 * As libvmspan_poll_until(), but the clock of the machine moves nothing: what
 * is due by time is told by trace_advance(). *err is filled where words are known.
 */
int trace_poll(struct libvmspan *t, int timeout_ms, int stop_fd, struct err *err);
int trace_stop(struct libvmspan *t, struct err *err);
/* Live: the figures are to be shown, and what goes on is to be in them (model/open.c). 0, or a
 * negative errno. */
int trace_tell_open(struct libvmspan *t);
/* Live: tells what is due now. */
int trace_advance(struct libvmspan *t);
/* When trace_advance() is wanted next, CLOCK_MONOTONIC; 0: not. */
u64 trace_due(const struct libvmspan *t);
/* CLOCK_REALTIME - CLOCK_MONOTONIC of the stream. */
s64 trace_real_offset(const struct libvmspan *t);
/* What the snapshot of libvmspan_snapshot() holds, and what it is of. */
const struct snapshot *trace_figures(const struct libvmspan_snapshot *s);
const struct report_source *trace_head(const struct libvmspan *t);

#endif
