/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/gzip.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

/* Traces repeat themselves: higher levels cost several times as much for a
 * few percent. */
#define GZIP_LEVEL 4
#define GZIP_WINDOW (15 + 16) /* zlib's largest; 16: a gzip head */

struct gzip {
	z_stream z;
	int fd;
	u8 space[64 << 10];
};

struct gzip *gzip_open(int fd)
{
	struct gzip *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	g->fd = fd;
	if (deflateInit2(&g->z, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW, 9, Z_DEFAULT_STRATEGY) !=
	    Z_OK) {
		free(g);
		return NULL;
	}
	return g;
}

static int put(int fd, const u8 *p, size_t n)
{
	while (n) {
		ssize_t done = write(fd, p, n);

		if (done < 0 && errno != EINTR)
			return -errno;
		if (done > 0) {
			p += done;
			n -= (size_t)done;
		}
	}
	return 0;
}

/* Runs deflate until it has taken all input and given all it wants to. */
static int run(struct gzip *g, int mode)
{
	int rc;

	do {
		g->z.next_out = g->space;
		g->z.avail_out = sizeof(g->space);
		if (deflate(&g->z, mode) == Z_STREAM_ERROR)
			return -EIO;
		rc = put(g->fd, g->space, sizeof(g->space) - g->z.avail_out);
	} while (!rc && !g->z.avail_out);
	return rc;
}

int gzip_write(void *gzip, const void *p, size_t n)
{
	struct gzip *g = gzip;
	const u8 *at = p;
	int rc = 0;

	while (!rc && n) {
		size_t part = min_u64(n, 1u << 30); /* avail_in has 32 bits */

		g->z.next_in = (u8 *)at;
		g->z.avail_in = (uInt)part;
		rc = run(g, Z_NO_FLUSH);
		at += part;
		n -= part;
	}
	return rc;
}

int gzip_finish(struct gzip *g)
{
	return run(g, Z_FINISH);
}

void gzip_free(struct gzip *g)
{
	if (!g)
		return;
	deflateEnd(&g->z);
	free(g);
}
