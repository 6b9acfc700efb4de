/* SPDX-License-Identifier: BSD-2-Clause */
#include "bench.h"

#include <stdlib.h>

static int compare(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

struct spread spread_of(u64 *values, size_t n)
{
	if (!n)
		return (struct spread){ 0 };
	qsort(values, n, sizeof(*values), compare);
	return (struct spread){
		.median = n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2,
		.min = values[0],
		.max = values[n - 1],
	};
}
