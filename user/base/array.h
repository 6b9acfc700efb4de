/* SPDX-License-Identifier: BSD-2-Clause */
/* Arrays on the heap that double when they are full. */
#ifndef BASE_ARRAY_H
#define BASE_ARRAY_H

#include "base/types.h"

#include <errno.h>
#include <stddef.h>

/*
 * Makes room for `want` entries in all: returns 0, or -ENOMEM, and then array
 * and capacity are as before. `array` is a pointer to entries (NULL while
 * `cap` is 0) and `cap` a u32: both are assigned to, so no place that is moved
 * is left pointing. What is new is not initialized.
 */
#define array_room(array, cap, want)                                                        \
	({                                                                                  \
		u32 want_ = (want);                                                         \
		int rc_ = 0;                                                                \
                                                                                            \
		if (want_ > (cap)) {                                                        \
			void *moved_ = array_grown(array, &(cap), want_, sizeof(*(array))); \
                                                                                            \
			if (moved_)                                                         \
				(array) = moved_;                                           \
			else                                                                \
				rc_ = -ENOMEM;                                              \
		}                                                                           \
		rc_;                                                                        \
	})

/* The array with room for `want` > `*cap` entries, or NULL. */
void *array_grown(void *array, u32 *cap, u32 want, size_t size);

#endif
