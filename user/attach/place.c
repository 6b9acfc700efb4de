/* SPDX-License-Identifier: BSD-2-Clause */
#include "attach/place.h"

#include <string.h>
#include <unistd.h>

/* What the kernel says to an instruction it has no way to probe; not in
 * errno.h. */
#define KERNEL_ENOTSUPP 524

#define PAGE 4096u

/*
 * The kernel writes a call over the ten bytes in one go, so they must not lie
 * on two pages; a file and its mapping have their pages in common. Such a site
 * is refused, as every ten-byte nop is by kernels up to 7.1.
 */
u32 places(enum nop_state kernel, const u8 *bytes, size_t n, u64 offset, u64 to[PLACES_MAX])
{
	static const u8 site[] = { 0x90, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0 };
	const u32 length = sizeof(site) - 1;
	u32 count = 0;

	if (kernel == NOPS_SAFE && n >= sizeof(site) && !memcmp(bytes, site, sizeof(site)) &&
	    (offset + 1) % PAGE <= PAGE - length)
		to[count++] = offset + 1;
	to[count++] = offset;
	return count;
}

u32 places_in(int fd, u64 offset, u64 to[PLACES_MAX])
{
	u8 bytes[16];
	ssize_t n = pread(fd, bytes, sizeof(bytes), (off_t)offset);

	return places(kernel_nops(), bytes, n > 0 ? (size_t)n : 0, offset, to);
}

int places_try(const u64 *offsets, u32 n, int (*attach)(void *ctx, u64 offset), void *ctx)
{
	int r = -KERNEL_ENOTSUPP;
	u32 i;

	for (i = 0; i < n && r == -KERNEL_ENOTSUPP; i++)
		r = attach(ctx, offsets[i]);
	return r;
}
