/* SPDX-License-Identifier: BSD-2-Clause */
/* A recording as a source: a chunk of it each poll. */
#include "source/replay.h"
#include "rec/rec.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>

struct replay {
	struct source source;
	struct rec_reader *reader;
};

static bool stop_asked(int stop_fd)
{
	struct pollfd p = { .fd = stop_fd, .events = POLLIN };

	return stop_fd >= 0 && poll(&p, 1, 0) > 0;
}

static int replay_poll(struct source *s, int timeout_ms, int stop_fd, item_fn fn, void *ctx,
		       struct err *err)
{
	struct replay *r = (struct replay *)s;

	(void)timeout_ms; /* a file never makes anyone wait */
	if (stop_asked(stop_fd))
		return 1;
	return rec_read(r->reader, fn, ctx, err);
}

static int replay_stop(struct source *s, item_fn fn, void *ctx, struct err *err)
{
	(void)s;
	(void)fn;
	(void)ctx;
	(void)err;
	return 0;
}

static void replay_free(struct source *s)
{
	struct replay *r = (struct replay *)s;

	rec_reader_free(r->reader);
	free(r);
}

static const struct source_ops replay_ops = {
	.poll = replay_poll,
	.stop = replay_stop,
	.free = replay_free,
};

struct source *replay_open(const char *path, struct err *err)
{
	struct replay *r = calloc(1, sizeof(*r));

	if (!r) {
		err_set(err, -ENOMEM, "cannot open the recording %s: out of memory", path);
		return NULL;
	}
	r->source.ops = &replay_ops;
	r->reader = rec_open(path, &r->source.info, err);
	if (!r->reader) {
		free(r);
		return NULL;
	}
	return &r->source;
}

const char *replay_note(const struct source *s)
{
	return rec_note(((const struct replay *)s)->reader);
}
