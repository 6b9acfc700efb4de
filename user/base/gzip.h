/* SPDX-License-Identifier: BSD-2-Clause */
/* A gzip file written as it goes. No time and no name in its head, so the
 * same contents give the same file. */
#ifndef BASE_GZIP_H
#define BASE_GZIP_H

#include "base/types.h"

struct gzip;

/* The descriptor is borrowed. NULL without memory. */
struct gzip *gzip_open(int fd);
/* An out_fn: ctx is the struct gzip. */
int gzip_write(void *gzip, const void *p, size_t n);
/* Completes the file. 0 or negative errno. */
int gzip_finish(struct gzip *g);
void gzip_free(struct gzip *g); /* NULL is allowed */

#endif
