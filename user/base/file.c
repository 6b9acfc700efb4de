/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

int file_write(int fd, const void *p, size_t n, u64 offset)
{
	const u8 *at = p;

	while (n) {
		ssize_t done = pwrite(fd, at, n, (off_t)offset);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return done ? -errno : -EIO;
		at += done;
		n -= (size_t)done;
		offset += (u64)done;
	}
	return 0;
}

ssize_t file_read(int fd, void *p, size_t n, u64 offset)
{
	u8 *at = p;
	size_t got = 0;

	while (got < n) {
		ssize_t done = pread(fd, at + got, n - got, (off_t)(offset + got));

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -errno;
		if (!done)
			break;
		got += (size_t)done;
	}
	return (ssize_t)got;
}

/* Of a file that has been found (O_PATH); takes that descriptor, or negative errno. */
static int open_found(int found)
{
	char path[32];
	struct stat st;
	int fd;

	if (found < 0)
		return found;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", found);
	if (fstat(found, &st))
		fd = -errno;
	else if (!S_ISREG(st.st_mode))
		fd = -EINVAL;
	else if ((fd = open(path, O_RDONLY | O_CLOEXEC)) < 0)
		fd = -errno;
	close(found);
	return fd;
}

int file_open_regular(const char *path)
{
	int found = open(path, O_PATH | O_CLOEXEC);

	return open_found(found < 0 ? -errno : found);
}

int file_open_regular_in(const char *folder, const char *path, u64 resolve)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = resolve };
	int dir = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC), found;

	if (dir < 0)
		return -errno;
	found = (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
	found = found < 0 ? -errno : found;
	close(dir);
	return open_found(found);
}

#define LINKS_MAX 16

/* What a link that was found (O_PATH) says. 0: it is to be followed, 1: it is the kernel's, or negative errno. */
static int read_link(int found, char to[FILE_PLACE_MAX])
{
	struct statfs fs;
	struct stat st;
	ssize_t n;

	if (fstat(found, &st) || fstatfs(found, &fs))
		return -errno;
	if (fs.f_type == PROC_SUPER_MAGIC)
		return 1;
	if (st.st_uid && st.st_uid != geteuid())
		return -ELOOP;
	n = readlinkat(found, "", to, FILE_PLACE_MAX - 1);
	if (n <= 0)
		return n ? -errno : -ENOENT;
	to[n] = 0;
	return n == FILE_PLACE_MAX - 1 ? -ENAMETOOLONG : 0;
}

/* Where a link at `at` leads: from its own folder on. */
static int lead(char at[FILE_PLACE_MAX], const char *text)
{
	const char *last = strrchr(at, '/');
	size_t folder = *text == '/' || !last ? 0 : (size_t)(last - at) + 1;
	size_t n = strlen(text);

	if (folder + n >= FILE_PLACE_MAX)
		return -ENAMETOOLONG;
	memcpy(at + folder, text, n + 1);
	return 0;
}

static bool is_same(const char *a, const char *b)
{
	struct stat x, y;

	return !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* named: by what the kernel's link leads to, where that has a name. Who opens it takes the link: a name may be another
 * file's by then. */
static int find_place(const char *path, char to[FILE_PLACE_MAX], bool named)
{
	char text[FILE_PLACE_MAX];
	int i, rc = 0;

	if ((size_t)snprintf(to, FILE_PLACE_MAX, "%s", path) >= FILE_PLACE_MAX)
		return -ENAMETOOLONG;
	for (i = 0; i < LINKS_MAX && !rc; i++) {
		int found = open(to, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		struct stat st;

		if (found < 0)
			return errno == ENOENT ? 0 : -errno;
		if (!fstat(found, &st) && !S_ISLNK(st.st_mode)) {
			close(found);
			return 0;
		}
		rc = read_link(found, text);
		close(found);
		if (rc > 0) {
			/* What it leads to may have no name (any more), or not here. */
			if (named && realpath(to, text) && is_same(to, text))
				strcpy(to, text);
			return 1;
		}
		if (!rc)
			rc = lead(to, text);
	}
	return rc ? rc : -ELOOP;
}

int file_place(const char *path, char to[FILE_PLACE_MAX])
{
	return find_place(path, to, true);
}

const char *file_why(int rc)
{
	return rc == -ELOOP         ? "it is a link that somebody else has made, or too many links"
	       : rc == -FILE_OTHERS ? "it is somebody else's"
				    : strerror(-rc);
}

/* What was there already. 0: it may be written to, or negative errno. */
static int take_over(int fd, bool keep, const struct file_made *made)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return 0;
	if (made && made->inode && made->inode == st.st_ino && made->device == st.st_dev)
		return 0;
	if (st.st_uid && st.st_uid != geteuid())
		return -FILE_OTHERS;
	/* Where there are no modes, nothing is lost by it. */
	if (!keep && st.st_mode & 077)
		(void)fchmod(fd, 0600);
	return 0;
}

int file_open_place(const char *path, int flags, const struct file_made *made)
{
	char to[FILE_PLACE_MAX];
	int rc = find_place(path, to, false), fd = -1;

	if (rc < 0)
		return rc;
	if (rc) {
		fd = open(to, flags | O_CLOEXEC, 0600);
		return fd < 0 ? -errno : fd;
	}
	if (flags & O_CREAT)
		fd = open(to, flags | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd >= 0)
		return fd;
	fd = open(to, flags | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	rc = take_over(fd, !(flags & O_CREAT), made);
	if (!rc)
		return fd;
	close(fd);
	return rc;
}
