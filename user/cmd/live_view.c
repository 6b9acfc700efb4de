/* SPDX-License-Identifier: BSD-2-Clause */
/* The loop of the live views: drain, and at every interval show. */
#include "cmd/session.h"

#include <errno.h>
#include <string.h>

struct live_view {
	struct session *session;
	const struct live_ops *ops;
	void *ctx;
	struct libvmspan_snapshot *before; /* at the last frame */
	u64 start_ns, last_ns, frames, count;
	bool ended;
};

/* Whoever makes its own difference takes the snapshot over. */
static int show_own(struct live_view *v, struct live_frame *f, struct err *e)
{
	if (v->ops->release)
		v->ops->release(v->ctx);
	f->own = session_snapshot(v->session, e);
	f->total = f->own;
	return f->own ? v->ops->frame(v->ctx, f, e) : -ENOMEM;
}

static int show_both(struct live_view *v, struct live_frame *f, struct err *e)
{
	struct libvmspan_snapshot *total, *delta = NULL;
	int rc = trace_tell_open(v->session->trace);

	if (rc)
		return rc;
	total = libvmspan_snapshot(v->session->trace);
	if (total)
		delta = libvmspan_subtract(total, v->before);
	if (!delta) {
		libvmspan_snapshot_free(total);
		return err_set(e, -ENOMEM, "out of memory");
	}
	f->total = trace_figures(total);
	f->delta = trace_figures(delta);
	rc = v->ops->frame(v->ctx, f, e);
	libvmspan_snapshot_free(delta);
	libvmspan_snapshot_free(v->before);
	v->before = total;
	return rc;
}

static int show_frame(struct live_view *v, struct err *e)
{
	u64 now = now_ns();
	struct live_frame f = { .ended = v->ended,
				.elapsed_ns = now - v->start_ns,
				.interval_ns = now - v->last_ns };
	int rc;

	v->last_ns = now;
	rc = v->ops->owns ? show_own(v, &f, e) : show_both(v, &f, e);
	v->frames++;
	return rc ? rc : v->ended || v->frames == v->count;
}

int session_run(struct session *s, const struct options *o, const struct live_ops *ops, void *ctx,
		struct err *e)
{
	u64 every = o->pace.interval_ns ? o->pace.interval_ns : NSEC_PER_SEC;
	struct live_view v = { .session = s, .ops = ops, .ctx = ctx, .count = o->pace.count };
	int rc = 0;

	v.start_ns = v.last_ns = now_ns();
	wake_arm(&s->wake, 0, every, every);
	while (!rc) {
		int more = trace_poll(s->trace, -1, s->wake.epoll, e);
		unsigned int bits = wake_take(&s->wake);

		if (more < 0)
			rc = more;
		else if (bits & WAKE_STOP)
			break;
		else if (!more || bits & WAKE_TIMER) {
			/* No more: the targets are gone, this is the last frame. */
			v.ended = !more;
			rc = show_frame(&v, e);
		}
		if (!rc && ops->input && bits & (WAKE_KEY | WAKE_RESIZE | WAKE_FD))
			rc = ops->input(ctx, bits, e);
	}
	libvmspan_snapshot_free(v.before);
	if (rc < 0 && !e->code)
		err_set(e, rc, "the trace has ended early: %s", strerror(-rc));
	return rc < 0 ? rc : 0;
}
