/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/array.h"

#include <stdlib.h>

#define FIRST 8

void *array_grown(void *array, u32 *cap, u32 want, size_t size)
{
	u32 room = *cap < FIRST ? FIRST : *cap;
	void *moved;

	while (room < want) {
		if (room > UINT32_MAX / 2)
			return NULL;
		room *= 2;
	}
	moved = reallocarray(array, room, size);
	if (moved)
		*cap = room;
	return moved;
}
