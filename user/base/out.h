/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Buffered output to a descriptor or to memory. The first error sticks: later
 * writes do nothing, and out_flush/out_close return it.
 */
#ifndef BASE_OUT_H
#define BASE_OUT_H

#include "base/buf.h"

struct out {
	struct buf buf;
	int fd; /* -1: memory; everything stays in buf */
	int error; /* negative errno */
	u64 written; /* bytes handed to the descriptor so far */
};

/* The descriptor is borrowed. */
void out_open_fd(struct out *o, int fd);
void out_open_memory(struct out *o);
void out_write(struct out *o, const void *p, size_t n);
void out_puts(struct out *o, const char *s);
void out_printf(struct out *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int out_flush(struct out *o);
/* Flushes and frees the buffer; the descriptor stays open. */
int out_close(struct out *o);

#endif
