/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/file.h"

#include <errno.h>
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
