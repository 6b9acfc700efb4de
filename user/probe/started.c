/* SPDX-License-Identifier: BSD-2-Clause */
#include "probe/started.h"

#include "base/task_stat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STRINGS_MAX (256u << 10)

char *started_strings(u32 pid, const char *name)
{
	char path[48], *text = calloc(1, STRINGS_MAX + 2);
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/%s", task_living(pid), name);
	f = text ? fopen(path, "re") : NULL;
	if (f) {
		text[fread(text, 1, STRINGS_MAX, f)] = 0;
		fclose(f);
	}
	return text;
}

long started_number(u32 pid, const char *variable)
{
	char *text = started_strings(pid, "environ"), *s;
	size_t len = strlen(variable);
	long number = 0;

	/* As getenv(3): the first one. */
	for (s = text; s && *s; s += strlen(s) + 1)
		if (!strncmp(s, variable, len) && s[len] == '=') {
			number = strtol(s + len + 1, NULL, 10);
			break;
		}
	free(text);
	return number;
}
