/* SPDX-License-Identifier: BSD-2-Clause */
#include "probe/profile_file.h"

#include "probe/profile.h"
#include "probe/vm.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES_MAX (4u << 20)
/* What libinih takes for a line, its end included. */
#define LINE_MAX_BYTES 199

static int add(const char *text, const char *path, struct err *err)
{
	const char *s;
	int line = 1;

	for (s = text; *s; line++) {
		size_t n = strcspn(s, "\n");

		if (n + 1 > LINE_MAX_BYTES)
			return err_set(err, -EINVAL, "%s:%d: this line has more than %d bytes",
				       path, line, LINE_MAX_BYTES - 1);
		s += n + (s[n] == '\n');
	}
	return vm_profile_is(text) ? vm_profile_add(text, path, err) : profile_add(text, path, err);
}

int profile_file_add(const char *path, struct err *err)
{
	FILE *f = fopen(path, "re");
	char *text;
	size_t n;
	int r;

	if (!f)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	text = malloc(BYTES_MAX);
	n = text ? fread(text, 1, BYTES_MAX, f) : 0;
	if (!text || n == BYTES_MAX || ferror(f)) {
		r = err_set(err, -EFBIG, "%s: it cannot be read, or is no profile (4 MB)", path);
	} else {
		text[n] = 0;
		r = add(text, path, err);
	}
	free(text);
	fclose(f);
	return r;
}
