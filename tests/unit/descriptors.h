/* SPDX-License-Identifier: BSD-2-Clause */
/* How many descriptors this process has open. To be included behind cmocka.h. */
#ifndef DESCRIPTORS_H
#define DESCRIPTORS_H

#include <dirent.h>

static unsigned int open_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int n = 0;

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

#endif
