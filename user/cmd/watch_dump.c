/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ring lives in a memfd: what a full disk costs is dumps, never the
 * recording under way, and the next dump may find room again.
 */
#include "cmd/watch_dump.h"
#include "cmd/cmd.h"
#include "cmd/output.h"
#include "rec/rec.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Files of ours, the only ones that are ever removed. In order of time. OUTPUT_PART is behind one
 * that is being written, or was when its watch was killed. */
#define DUMP_GLOB "alert-[0-9]*T[0-9]*Z-*.vmspan"

struct dump {
	struct dump_config config;
	struct rec_writer *ring; /* NULL: it has failed */
	int memory; /* the ring's file */
	char ring_path[64];
	char path[OUTPUT_PATH_MAX]; /* of the dump that is planned */
	u64 begin_ns, due_ns; /* due_ns 0: none is planned */
	u64 last_ns; /* of the last alert with a dump; 0: none */
	u64 number;
	bool complained; /* about a failed dump; until one succeeds */
	struct dump_counts counts;
};

static int open_ring(struct dump *d, const struct source_info *info, struct err *err)
{
	struct rec_options o = { .ring_bytes = d->config.ring_bytes, .clock = d->config.clock };

	d->memory = memfd_create("vmspan-ring", MFD_CLOEXEC);
	if (d->memory < 0)
		return err_set(err, -errno, "no memory for the flight recorder: %s",
			       strerror(errno));
	snprintf(d->ring_path, sizeof(d->ring_path), "/proc/self/fd/%d", d->memory);
	d->ring = rec_create(d->ring_path, info, &o, err);
	return d->ring ? 0 : err->code;
}

/* Who else may put something there; NULL: nobody. */
static const char *others_write(const struct stat *st)
{
	if (st->st_uid && st->st_uid != geteuid())
		return "it is not ours: who owns it";
	if (st->st_mode & S_IWOTH ||
	    (st->st_mode & S_IWGRP && st->st_gid && st->st_gid != getegid()))
		return "others may write there, and";
	return NULL;
}

static int open_dir(const char *dir, struct err *err)
{
	const char *others = NULL;
	struct stat st;
	int rc = 0;

	if (mkdir(dir, 0700) && errno != EEXIST)
		rc = -errno;
	else if (stat(dir, &st))
		rc = -errno;
	else if (!S_ISDIR(st.st_mode))
		rc = -ENOTDIR;
	else if (access(dir, W_OK | X_OK))
		rc = -errno;
	else
		others = others_write(&st);
	if (others) {
		err_set_status(err, -EPERM, EXIT_FAILED,
			       "cannot write dumps to %s: %s could put what they like in the place "
			       "of a dump",
			       dir, others);
		err_hint(err, "choose a directory of your own that nobody else may write to (chmod "
			      "go-w) with --dump DIR");
		return -EPERM;
	}
	if (!rc)
		return 0;
	err_set_status(err, rc, EXIT_FAILED, "cannot write dumps to %s: %s", dir, strerror(-rc));
	err_hint(err, "choose another directory with --dump DIR");
	return rc;
}

struct dump *dump_open(const struct dump_config *config, const struct source_info *info,
		       struct err *err)
{
	struct dump *d = calloc(1, sizeof(*d));
	struct dump_config *c;

	if (!d) {
		err_set(err, -ENOMEM, "out of memory");
		return NULL;
	}
	d->memory = -1;
	c = &d->config;
	*c = *config;
	c->ring_bytes = c->ring_bytes ? c->ring_bytes : DUMP_RING_BYTES;
	c->before_ns = c->before_ns ? c->before_ns : DUMP_BEFORE_NS;
	c->after_ns = c->after_ns ? c->after_ns : DUMP_AFTER_NS;
	c->every_ns = c->every_ns ? c->every_ns : DUMP_EVERY_NS;
	c->max = c->max ? c->max : DUMP_MAX;
	if (!open_dir(c->dir, err) && !open_ring(d, info, err))
		return d;
	dump_free(d);
	return NULL;
}

void dump_free(struct dump *d)
{
	struct err ignored = { 0 };

	if (!d)
		return;
	if (d->ring)
		rec_close(d->ring, &ignored);
	if (d->memory >= 0)
		close(d->memory);
	free(d);
}

int dump_item(void *ctx, const struct item *it)
{
	struct dump *d = ctx;
	struct err e = { 0 };

	if (!d->ring || !rec_item(d->ring, it))
		return 0;
	/* Only memory can lack here; the alerts do not need the ring. */
	rec_close(d->ring, &e);
	d->ring = NULL;
	d->counts.failed++;
	err_hint(&e, "there will be no more dumps; the alerts go on");
	say_error(&e);
	return 0;
}

/* ---- The directory ---- */

static int is_dump(const struct dirent *e)
{
	return !fnmatch(DUMP_GLOB, e->d_name, 0) || !fnmatch(DUMP_GLOB OUTPUT_PART, e->d_name, 0);
}

static void remove_old(struct dump *d)
{
	struct dirent **list;
	char path[OUTPUT_PATH_MAX];
	int n = scandir(d->config.dir, &list, is_dump, alphasort), i;

	for (i = 0; i < n; i++) {
		if (n - i >= (int)d->config.max) {
			snprintf(path, sizeof(path), "%s/%s", d->config.dir, list[i]->d_name);
			d->counts.removed += !unlink(path);
		}
		free(list[i]);
	}
	if (n >= 0)
		free(list);
}

/* The group's name comes from the target: letters and digits of it remain. */
static void make_path(struct dump *d, const char *group, u64 real_ns)
{
	time_t seconds = (time_t)(real_ns / NSEC_PER_SEC);
	char when[32], safe[49];
	struct tm tm;
	size_t i;

	gmtime_r(&seconds, &tm);
	strftime(when, sizeof(when), "%Y%m%dT%H%M%SZ", &tm);
	for (i = 0; group[i] && i + 1 < sizeof(safe); i++)
		safe[i] = isalnum((u8)group[i]) && (u8)group[i] < 128 ? group[i] : '_';
	safe[i] = 0;
	snprintf(d->path, sizeof(d->path), "%s/alert-%s-%u-%06" PRIu64 "-%s.vmspan", d->config.dir,
		 when, (unsigned int)getpid(), ++d->number, safe);
}

/* ---- Dumps ---- */

const char *dump_alert(struct dump *d, const char *group, u64 begin_ns, u64 end_ns, u64 real_ns)
{
	if (!d->ring)
		return NULL;
	/* One that is planned takes this one in too. */
	if (d->due_ns)
		return d->path;
	if (d->last_ns && end_ns < d->last_ns + d->config.every_ns) {
		d->counts.skipped++;
		return NULL;
	}
	make_path(d, group, real_ns);
	d->last_ns = end_ns;
	d->begin_ns = begin_ns - min_u64(begin_ns, d->config.before_ns);
	d->due_ns = end_ns + d->config.after_ns;
	return d->path;
}

static void write_dump(struct dump *d)
{
	struct err e = { 0 };
	int rc;

	remove_old(d);
	rc = rec_sync(d->ring, &e);
	if (!rc)
		rc = output_cut(d->ring_path, d->path, d->begin_ns, d->due_ns, NULL, 0, &e);
	d->due_ns = 0;
	if (!rc) {
		d->counts.written++;
		d->complained = false;
		return;
	}
	d->counts.failed++;
	if (d->complained)
		return;
	d->complained = true;
	/* Its hint is for recordings. */
	snprintf(e.hint, sizeof(e.hint),
		 "the alerts go on, and the next dump is tried again; make room in %s",
		 d->config.dir);
	say_error(&e);
}

u64 dump_due(const struct dump *d)
{
	return d->due_ns;
}

void dump_advance(struct dump *d, u64 ns)
{
	if (d->due_ns && ns >= d->due_ns)
		dump_flush(d);
}

void dump_flush(struct dump *d)
{
	if (d->due_ns && d->ring)
		write_dump(d);
}

void dump_counts(const struct dump *d, struct dump_counts *c)
{
	*c = d->counts;
}
