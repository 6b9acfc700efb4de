/* SPDX-License-Identifier: BSD-2-Clause */
/* The loop of the live views: drain, and at every interval show. */
#include "cmd/session.h"

#include <errno.h>
#include <string.h>

struct live_view {
	struct session *session;
	const struct live_ops *ops;
	void *ctx;
	struct snapshot *before; /* at the last frame */
	u64 start_ns, last_ns, frames, count;
	bool ended;
};

static int show_frame(struct live_view *v, struct err *e)
{
	struct snapshot *total = session_snapshot(v->session, e), *delta;
	struct live_frame f = { .total = total, .ended = v->ended };
	u64 now = now_ns();
	int rc;

	if (!total)
		return -ENOMEM;
	delta = snapshot_delta(total, v->before);
	if (!delta) {
		snapshot_free(total);
		return err_set(e, -ENOMEM, "out of memory");
	}
	f.delta = delta;
	f.elapsed_ns = now - v->start_ns;
	f.interval_ns = now - v->last_ns;
	v->last_ns = now;
	rc = v->ops->frame(v->ctx, &f, e);
	snapshot_free(delta);
	snapshot_free(v->before);
	v->before = total;
	v->frames++;
	return rc ? rc : v->ended || v->frames == v->count;
}

/* The targets are gone: what waited is settled, then the last frame. */
static int finish(struct live_view *v, struct err *e)
{
	struct session *s = v->session;
	int rc = source_stop(s->source, model_item, s->model, e);

	if (!rc)
		rc = model_finish(s->model);
	v->ended = true;
	return rc ? rc : show_frame(v, e);
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
		int more = source_poll(s->source, -1, s->wake.epoll, model_item, s->model, e);
		unsigned int bits = wake_take(&s->wake);

		if (more < 0)
			rc = more;
		else if (bits & WAKE_STOP)
			break;
		else if (!more)
			rc = finish(&v, e);
		else if (bits & WAKE_TIMER)
			rc = show_frame(&v, e);
		if (!rc && ops->input && bits & (WAKE_KEY | WAKE_RESIZE | WAKE_WEB))
			rc = ops->input(ctx, bits, e);
	}
	snapshot_free(v.before);
	if (rc < 0 && !e->code)
		err_set(e, rc, "the trace has ended early: %s", strerror(-rc));
	return rc < 0 ? rc : 0;
}
