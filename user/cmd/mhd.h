/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libmicrohttpd, loaded when a page is served and not before: it brings GnuTLS
 * and seven libraries more, 3 MB of memory that `top` and `record` would hold
 * for nothing, and the other commands work where it is not installed.
 */
#ifndef CMD_MHD_H
#define CMD_MHD_H

#include "base/err.h"

#include <microhttpd.h>

#define MHD_CALLS(X)                     \
	X(add_response_header)           \
	X(create_response_from_buffer)   \
	X(create_response_from_callback) \
	X(destroy_response)              \
	X(get_daemon_info)               \
	X(get_timeout)                   \
	X(lookup_connection_value)       \
	X(queue_response)                \
	X(resume_connection)             \
	X(run)                           \
	X(start_daemon)                  \
	X(stop_daemon)                   \
	X(suspend_connection)

/* mhd.run() is MHD_run(), and so on; NULL before mhd_load(). */
struct mhd {
#define MEMBER(name) __typeof__(&MHD_##name) name;
	MHD_CALLS(MEMBER)
#undef MEMBER
};
extern struct mhd mhd;

/* 0, also when it is loaded already; or -ENOENT with *err filled. Not for
 * several threads at once. */
int mhd_load(struct err *err);

#endif
