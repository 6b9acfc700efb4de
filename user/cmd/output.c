/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/output.h"
#include "base/file.h"
#include "rec/cut.h"
#include "rec/rec.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int cannot_write(struct err *e, int code, const char *path)
{
	err_set_status(e, code, EXIT_FAILED, "cannot write %s: %s", path, file_why(code));
	err_hint(e, "choose another file with -o");
	return code;
}

static bool is_recording(const char *path)
{
	struct source_info info;
	struct err ignored = { 0 };
	struct rec_reader *r = rec_open(path, &info, &ignored);

	rec_reader_free(r);
	return r != NULL;
}

int output_recording(const char *path, struct file_made *made, struct err *e)
{
	char place[FILE_PLACE_MAX];
	struct stat st;
	int fd, rc;

	*made = (struct file_made){ 0 };
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd >= 0) {
		rc = fstat(fd, &st) ? -errno : 0;
		if (!rc)
			*made = (struct file_made){ st.st_dev, st.st_ino };
		close(fd);
		return rc ? cannot_write(e, rc, path) : 0;
	}
	if (errno != EEXIST)
		return cannot_write(e, -errno, path);
	rc = file_place(path, place);
	if (rc >= 0)
		rc = stat(place, &st) ? -errno : 0;
	if (rc)
		return cannot_write(e, rc, path);
	if (S_ISREG(st.st_mode) && st.st_size && !is_recording(place)) {
		err_set_status(e, -EEXIST, EXIT_FAILED,
			       "%s exists and is not a recording of this version", path);
		err_hint(e, "it is left alone; choose another file with -o, or remove it");
		return -EEXIST;
	}
	/* rec_create() says why it cannot be one. */
	if (S_ISFIFO(st.st_mode))
		return 0;
	fd = file_open_place(path, O_WRONLY | O_NONBLOCK, NULL);
	if (fd < 0)
		return cannot_write(e, fd, path);
	close(fd);
	return 0;
}

int output_cut(const char *from, const char *to, u64 begin_ns, u64 end_ns,
	       const struct item_unfinished *open, u32 open_count, struct err *e)
{
	char part[OUTPUT_PATH_MAX + sizeof(OUTPUT_PART)];
	int rc;

	snprintf(part, sizeof(part), "%s" OUTPUT_PART, to);
	rc = rec_cut(from, part, begin_ns, end_ns, open, open_count, e);
	if (rc || !rename(part, to))
		return rc;
	rc = err_set(e, -errno, "cannot write %s: %s", to, strerror(errno));
	unlink(part);
	return rc;
}

void output_default(char path[OUTPUT_PATH_MAX], const char *name, u32 pid)
{
	char safe[64];
	size_t i;

	for (i = 0; name[i] && i + 1 < sizeof(safe); i++)
		safe[i] = isalnum((u8)name[i]) || strchr("._-+", name[i]) ? name[i] : '_';
	safe[i] = 0;
	/* No hidden file, and nothing that looks like an option. */
	if (safe[0] == '.' || safe[0] == '-')
		safe[0] = '_';
	if (!i)
		strcpy(safe, "process");
	if (pid)
		snprintf(path, OUTPUT_PATH_MAX, "./%s-%u.vmspan", safe, pid);
	else
		snprintf(path, OUTPUT_PATH_MAX, "./%s.vmspan", safe);
}

static bool same_file(const char *path, const char *other)
{
	struct stat a, b;

	return other && !stat(path, &a) && !stat(other, &b) && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}

static bool ends_in(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n > m && !strcmp(s + n - m, end);
}

/* A temporary file beside the real path, with the mode open(2) would give. */
static int open_temporary(struct output *o)
{
	mode_t mask = umask(0);

	umask(mask);
	snprintf(o->temporary, sizeof(o->temporary), "%s.XXXXXX", o->path);
	o->fd = mkostemp(o->temporary, O_CLOEXEC);
	if (o->fd < 0) {
		o->temporary[0] = 0;
		return -errno;
	}
	return fchmod(o->fd, 0666 & ~mask) ? -errno : 0;
}

int output_open(struct output *o, const char *path, const char *input, struct err *e)
{
	struct stat st;
	int rc;

	o->fd = -1;
	o->gzip = NULL;
	o->name = path;
	o->path[0] = o->temporary[0] = 0;
	out_open_fd(&o->out, STDOUT_FILENO);
	if (!strcmp(path, "-")) {
		o->name = "standard output";
		return 0;
	}
	if (same_file(path, input)) {
		err_set_status(e, -EINVAL, EXIT_USAGE, "%s is the recording that is read", path);
		err_hint(e, "choose another file with -o");
		return -EINVAL;
	}
	rc = file_place(path, o->path);
	if (rc >= 0 && !stat(o->path, &st) && !S_ISREG(st.st_mode)) {
		/* A device or a pipe is written to, not replaced. */
		o->fd = file_open_place(path, O_WRONLY, NULL);
		rc = o->fd < 0 ? o->fd : 0;
		o->path[0] = 0;
	} else if (rc >= 0) {
		rc = open_temporary(o);
	}
	if (!rc && ends_in(path, ".gz")) {
		o->gzip = gzip_open(o->fd);
		rc = o->gzip ? 0 : -ENOMEM;
	}
	if (rc)
		return cannot_write(e, rc, path);
	if (o->gzip)
		out_open_fn(&o->out, gzip_write, o->gzip);
	else
		out_open_fd(&o->out, o->fd);
	return 0;
}

int output_commit(struct output *o, struct err *e)
{
	int rc = out_close(&o->out);

	if (!rc && o->gzip)
		rc = gzip_finish(o->gzip);
	gzip_free(o->gzip);
	o->gzip = NULL;
	if (!rc && o->fd >= 0 && close(o->fd))
		rc = -errno;
	if (!rc)
		o->fd = -1;
	if (!rc && o->temporary[0] && rename(o->temporary, o->path))
		rc = -errno;
	if (!rc)
		o->temporary[0] = 0;
	if (rc && rc != -EPIPE)
		cannot_write(e, rc, o->name);
	return rc;
}

void output_abandon(struct output *o)
{
	buf_free(&o->out.buf);
	gzip_free(o->gzip);
	o->gzip = NULL;
	if (o->fd >= 0)
		close(o->fd);
	o->fd = -1;
	if (o->temporary[0])
		unlink(o->temporary);
	o->temporary[0] = 0;
}
