/* SPDX-License-Identifier: BSD-2-Clause */
/* What this kernel and this user can do. Nothing here attaches anything. */
#ifndef ATTACH_KERNEL_H
#define ATTACH_KERNEL_H

#include "base/err.h"

/* What the kernel does with multi-byte nops that are probed. */
enum nop_state {
	NOPS_PLAIN, /* nothing special: up to 6.17, and not x86-64 */
	NOPS_UNSAFE, /* 6.18 to 7.1: a 5-byte nop becomes a call that breaks programs */
	NOPS_SAFE, /* from 7.2: a 10-byte nop is optimized, safely */
};
enum nop_state kernel_nops(void);

/* Effective capabilities of this process, a bit each; 0 if unknown. */
u64 kernel_capabilities(void);
bool kernel_has_cap(unsigned int cap);
/* The first line of a small file, without its end. -errno. */
int kernel_read_line(const char *path, char *to, size_t cap);
/* A number in a small file, or `otherwise`. */
s64 kernel_read_number(const char *path, s64 otherwise);

/*
 * Fills *err for a failure of the kernel to do `what`: -EPERM and -EACCES name
 * what is missing and how to give it; other codes get their strerror and the
 * last lines of libbpf's log as a hint. Returns code.
 */
int kernel_error(struct err *err, int code, const char *what);

/* Keeps the last lines of libbpf's log instead of printing them. */
void kernel_catch_log(void);

#endif
