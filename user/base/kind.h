/* SPDX-License-Identifier: BSD-2-Clause */
/* Kinds of groups by their names: enum vmspan_kind. */
#ifndef BASE_KIND_H
#define BASE_KIND_H

#include <stddef.h>

/* "addon", "page", ...; "unknown" for any other. */
const char *kind_name(unsigned int kind);
/* The kind whose name the first `len` bytes are; 0: none. */
unsigned int kind_of(const char *name, size_t len);

#endif
