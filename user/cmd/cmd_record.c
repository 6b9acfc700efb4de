/* SPDX-License-Identifier: BSD-2-Clause */
#include "attach/clock.h"
#include "base/array.h"
#include "base/text.h"
#include "cmd/output.h"
#include "cmd/session.h"
#include "rec/rec.h"
#include "sink/complete.h"
#include "sink/notes.h"
#include "sink/summary.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
	TIMER_END,
	TIMER_SYNC
};

struct record {
	struct session session;
	const struct options *options;
	const char *path;
	char default_path[OUTPUT_PATH_MAX];
	struct file_made made; /* the file */
	struct rec_writer *writer;
	int write_error; /* sticks; the trace ends with it */
	bool unsynced; /* items since the last rec_sync() */
	u32 dumps;
	struct item_unfinished *open; /* owned: what goes on, for a dump */
	u32 open_count, open_cap;
};

/* Every item goes to the recording and to the model of the summary. */
static int record_item(void *ctx, const struct item *it)
{
	struct record *r = ctx;

	r->write_error = rec_item(r->writer, it);
	if (r->write_error)
		return r->write_error;
	/* A timer only while there is something to write out: a target that
	 * sleeps lets the recorder sleep. */
	if (!r->unsynced)
		wake_arm(&r->session.wake, TIMER_SYNC, NSEC_PER_SEC, 0);
	r->unsynced = true;
	return model_item(r->session.model, it);
}

static int read_comm(u32 pid, char name[64])
{
	char path[40];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/comm", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, name, 63);
	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return -ESRCH;
	name[n] = 0;
	name[strcspn(name, "\n")] = 0;
	return 0;
}

static void choose_path(struct record *r)
{
	const struct options *o = r->options;
	const char *slash;
	char name[64];

	r->path = o->output.file;
	if (r->path)
		return;
	if (o->target.count) {
		if (read_comm(o->target.pids[0], name))
			snprintf(name, sizeof(name), "process");
		output_default(r->default_path, name, o->target.pids[0]);
	} else if (options_sweep(o)) {
		output_default(r->default_path,
			       o->target.sweep.comm_count     ? o->target.sweep.comms[0]
			       : o->target.sweep.cgroup_count ? "cgroup"
							      : "all",
			       0);
	} else {
		slash = strrchr(o->rest[0], '/');
		output_default(r->default_path, slash ? slash + 1 : o->rest[0], 0);
	}
	r->path = r->default_path;
}

static void announce(const struct record *r)
{
	const struct options *o = r->options;
	char clean[256], file[512], until[SESSION_UNTIL_MAX];
	u32 i;

	if (o->output.quiet)
		return;
	session_until(o, until);
	text_clean(file, sizeof(file), r->path, strlen(r->path));
	if (o->rest_count) {
		fprintf(stderr, "recording %s to %s, until it ends, %s\n",
			text_clean(clean, sizeof(clean), o->rest[0], strlen(o->rest[0])), file,
			until);
		return;
	}
	if (options_sweep(o)) {
		fprintf(stderr, "recording %u process%s and those to come to %s, until %s\n",
			live_attached(r->session.source),
			live_attached(r->session.source) == 1 ? "" : "es", file, until);
		return;
	}
	fprintf(stderr, "recording %u", o->target.pids[0]);
	for (i = 1; i < o->target.count && i < 8; i++)
		fprintf(stderr, ",%u", o->target.pids[i]);
	if (i < o->target.count)
		fprintf(stderr, " and %u more", o->target.count - i);
	fprintf(stderr, " to %s, until %s\n", file, until);
}

static int sync_recording(struct record *r, struct err *e)
{
	int rc = rec_sync(r->writer, e);

	r->unsynced = false;
	r->write_error = rc;
	return rc;
}

/* "DIR/NAME-20260131T235959Z-1.vmspan", beside the recording. */
static void dump_path(struct record *r, char path[OUTPUT_PATH_MAX])
{
	static const char end[] = ".vmspan";
	size_t len = strlen(r->path), cut = sizeof(end) - 1;
	time_t now = time(NULL);
	char when[32];
	struct tm tm;

	if (len > cut && !strcmp(r->path + len - cut, end))
		len -= cut;
	gmtime_r(&now, &tm);
	strftime(when, sizeof(when), "%Y%m%dT%H%M%SZ", &tm);
	snprintf(path, OUTPUT_PATH_MAX, "%.*s-%s-%u%s", (int)min_u64(len, OUTPUT_PATH_MAX - 64),
		 r->path, when, ++r->dumps, end);
}

/* What goes on is told of in the dump alone: of the recording it is not over. */
static int take_open(void *ctx, const struct item *it)
{
	struct record *r = ctx;
	u32 i;

	if (it->type != ITEM_OPEN)
		return record_item(r, it);
	if (!it->open.what.pid)
		return 0;
	for (i = 0; i < r->open_count; i++)
		if (r->open[i].pid == it->open.what.pid && r->open[i].tid == it->open.what.tid &&
		    r->open[i].registry == it->open.what.registry)
			return 0;
	if (array_room(r->open, r->open_cap, r->open_count + 1))
		return -ENOMEM;
	r->open[r->open_count] = it->open.what;
	r->open[r->open_count++].why = UNFINISHED_TRACE;
	return 0;
}

/*
 * Somebody has seen what the ring was kept for: what is in it goes to a file of its own, and the
 * recording goes on, whether there is room for that or not. What cannot be written of the recording
 * itself ends the trace, as ever.
 */
static int write_dump(struct record *r, struct err *err)
{
	char path[OUTPUT_PATH_MAX], file[512], bytes[TEXT_BYTES_MAX];
	struct err e = { 0 };
	struct stat st;
	int rc;

	r->open_count = 0;
	rc = live_take_all(r->session.source, record_item, r, err);
	if (!rc)
		rc = live_tell_all_open(r->session.source, take_open, r);
	if (rc)
		return r->write_error = rc;
	if (sync_recording(r, err))
		return r->write_error;
	dump_path(r, path);
	if (output_cut(r->path, path, 0, UINT64_MAX, r->open, r->open_count, &e)) {
		err_hint(&e, "the recording goes on");
		say_error(&e);
	} else if (!r->options->output.quiet && !stat(path, &st)) {
		fprintf(stderr, "wrote %s, %s; the recording goes on\n",
			text_clean(file, sizeof(file), path, strlen(path)),
			text_bytes(bytes, (u64)st.st_size));
	}
	return 0;
}

static int on_dump(struct record *r, struct err *err)
{
	char file[512];

	if (r->options->output.ring_bytes)
		return write_dump(r, err);
	fprintf(stderr,
		"vmspan: SIGUSR2 writes what --ring holds; without it %s has all, and can be read "
		"while it grows\n",
		text_clean(file, sizeof(file), r->path, strlen(r->path)));
	return 0;
}

/* Until a signal, the duration or the end of the targets. */
static int capture(struct record *r, struct err *e)
{
	struct session *s = &r->session;
	int rc = 1;

	if (r->options->pace.duration_ns)
		wake_arm(&s->wake, TIMER_END, r->options->pace.duration_ns, 0);
	while (rc > 0) {
		unsigned int bits;

		session_say_not_exact(s);
		rc = source_poll(s->source, -1, s->wake.epoll, record_item, r, e);
		bits = wake_take(&s->wake);
		if (rc > 0 && bits & (WAKE_STOP | WAKE_TIMER << TIMER_END))
			break;
		if (rc > 0 && bits & WAKE_TIMER << TIMER_SYNC && sync_recording(r, e))
			rc = r->write_error;
		if (rc > 0 && bits & WAKE_DUMP && on_dump(r, e))
			rc = r->write_error;
	}
	if (rc < 0)
		return rc;
	rc = source_stop(s->source, record_item, r, e);
	session_say_not_exact(s);
	return rc ? rc : model_finish(s->model);
}

/* What the file takes, now that it is complete. */
static u64 file_bytes(const struct record *r, const struct rec_totals *t)
{
	struct stat st;

	return !stat(r->path, &st) && S_ISREG(st.st_mode) ? (u64)st.st_size : t->bytes;
}

static void put_summary(struct out *o, const struct record *r, const struct snapshot *s,
			const struct rec_totals *t, bool whole)
{
	char file[512], duration[TEXT_NS_MAX], bytes[TEXT_BYTES_MAX];
	bool quiet = r->options->output.quiet;
	u64 size = file_bytes(r, t);

	text_clean(file, sizeof(file), r->path, strlen(r->path));
	if (!quiet) {
		out_printf(o, "%s: %s, %" PRIu64 " events, %" PRIu64 " spans, %s", file,
			   text_ns(duration, s->end_ns - min_u64(s->begin_ns, s->end_ns)),
			   t->events, t->spans, text_bytes(bytes, size));
		if (t->spans)
			out_printf(o, " (%.2f bytes a span)", (double)size / (double)t->spans);
		out_puts(o, "\n");
	}
	/* Of a file that ends early nothing of the kind can be said. */
	if (!quiet && whole) {
		summary_complete(o, s);
		if (!lost_any(&s->losses))
			out_puts(o, ", nothing lost");
		summary_unfinished(o, s);
		out_puts(o, "\n");
		if (summary_cost(o, s))
			out_puts(o, "\n");
	}
	if (lost_any(&s->losses)) {
		summary_losses(o, &s->losses);
		out_puts(o, "\n");
	}
	notes_at_end(o, s);
}

/* Completes the file; the summary is printed whatever happened. */
static int complete(struct record *r, struct err *e)
{
	struct snapshot *s = snapshot_take(r->session.model);
	struct rec_totals totals;
	struct err close_error = { 0 };
	struct out o;
	int rc;

	rec_totals(r->writer, &totals);
	rc = rec_close(r->writer, &close_error);
	r->writer = NULL;
	/* A failed write ends the trace, but not what is in the file already.
	 * The writer has the words for it. */
	if (close_error.code && !e->code)
		*e = close_error;
	if (!rc)
		rc = r->write_error;
	if (rc && !e->code) {
		err_set(e, rc, "cannot write %s: %s", r->path, strerror(-rc));
		err_hint(e, "what was written before stays readable: vmspan report %s", r->path);
	}
	if (r->write_error)
		e->status = EXIT_FAILED;
	out_open_fd(&o, STDERR_FILENO);
	if (s)
		put_summary(&o, r, s, &totals, !e->code);
	out_close(&o);
	snapshot_free(s);
	return rc;
}

static int run(struct record *r, struct err *e)
{
	struct rec_options options = { .ring_bytes = r->options->output.ring_bytes,
				       .clock = clock_read };
	int rc;

	choose_path(r);
	rc = output_recording(r->path, &r->made, e);
	if (rc)
		return rc;
	rc = session_live(&r->session, r->options, true, e);
	if (rc)
		return rc;
	options.made = r->made;
	r->writer = rec_create(r->path, &r->session.source->info, &options, e);
	if (!r->writer)
		return e->code ? e->code : err_set(e, -EIO, "cannot write %s", r->path);
	r->made.inode = 0;
	wake_on_dump();
	announce(r);
	rc = capture(r, e);
	if (rc && !r->write_error && !e->code)
		err_set(e, rc, "the trace has ended early: %s", strerror(-rc));
	return complete(r, e);
}

static int check(const struct options *o, const struct command *c, struct err *e)
{
	if (o->rest_count && !o->after_dashes)
		return usage_error(e, c, "unexpected argument '%s'; a command comes after --",
				   o->rest[0]);
	if (o->rest_count && o->target.count)
		return usage_error(e, c, "either -p PID or a command, not both");
	if (o->rest_count && options_sweep(o))
		return usage_error(e, c, "either --all, --comm, --cgroup or a command, not both");
	if (!o->rest_count && !o->target.count && !options_sweep(o))
		return usage_error(e, c, "nothing to record: -p PID, --comm NAME, --all or -- CMD");
	return 0;
}

int cmd_record(int argc, char **argv)
{
	const struct command *c = command_find("record");
	struct record r = { 0 };
	struct options o;
	struct err e = { 0 };
	int status = options_parse(c, argc, argv, &o);

	if (status != OPTIONS_RUN)
		return status;
	r.options = &o;
	if (!check(&o, c, &e))
		run(&r, &e);
	if (r.made.inode)
		unlink(r.path);
	session_close(&r.session);
	free(r.open);
	return e.code ? say_error(&e) : EXIT_DONE;
}
