/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Strings kept once, known by a number from 0 in order of arrival. Bytes may
 * be anything, zero included.
 */
#ifndef BASE_INTERN_H
#define BASE_INTERN_H

#include "base/types.h"

struct intern;

struct intern *intern_new(void);
void intern_free(struct intern *t);
/* The string's number; -ENOMEM, or -ENOSPC beyond 2^31 - 1 strings. */
s64 intern_put(struct intern *t, const char *s, size_t len);
/* Its number if it is known, else -ENOENT. */
s64 intern_find(const struct intern *t, const char *s, size_t len);
/* Zero-terminated, owned by the table, never moves. len may be NULL. */
const char *intern_get(const struct intern *t, u32 id, size_t *len);
u32 intern_count(const struct intern *t);

#endif
