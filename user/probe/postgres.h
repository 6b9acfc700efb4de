/* SPDX-License-Identifier: BSD-2-Clause */
/* What a backend of PostgreSQL holds of its client. The target may be hostile. */
#ifndef PROBE_POSTGRES_H
#define PROBE_POSTGRES_H

#include "base/err.h"
#include "base/wire.h"

/*
 * The database of a backend's client. `root` is the address of its MyProcPort, a pointer to what it holds of the
 * client; `names` are the `n` bytes of its title in front of the client's address, without the blank between them:
 * they end in "USER DATABASE". `to` gets the name, terminated, or is left alone. 0; -ENOENT: the backend holds no
 * two names that the title ends in, or one is too long for `cap`; or what target_read() said.
 */
int postgres_database(u32 pid, u64 root, const char *names, size_t n, char *to, size_t cap);

#endif
