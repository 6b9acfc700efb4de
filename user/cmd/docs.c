/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/page.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static int read_all(int fd, struct buf *b)
{
	ssize_t n;

	do {
		u8 *space = buf_space(b, 65536);

		if (!space)
			return -ENOMEM;
		n = read(fd, space, 65536);
		if (n > 0)
			b->len += (size_t)n;
	} while ((n > 0 || (n < 0 && errno == EINTR)) && b->len <= HTML_DOCS_BYTES_MAX);
	if (n < 0)
		return -errno;
	return b->len > HTML_DOCS_BYTES_MAX ? -EFBIG : 0;
}

int docs_load(struct html_docs **docs, const char *path, struct err *e)
{
	struct buf b = { 0 };
	int fd, rc;

	*docs = NULL;
	if (!path)
		return 0;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	rc = fd < 0 ? -errno : read_all(fd, &b);
	if (fd >= 0)
		close(fd);
	if (rc) {
		err_set_status(e, rc, EXIT_FAILED, "cannot read %s: %s", path, strerror(-rc));
		err_hint(e, "--docs takes a text file of at most 1 MB, lines of GROUP = URL");
	} else {
		*docs = html_docs_parse((const char *)b.data, b.len, path, e);
		rc = *docs ? 0 : e->code;
	}
	buf_free(&b);
	return rc;
}
