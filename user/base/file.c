/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
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
