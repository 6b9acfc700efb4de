/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/html_int.h"

#include <errno.h>
#include <string.h>

int html_names_init(struct html_names *n)
{
	static const char *const fixed[] = {
		[NAME_OTHER] = "(other)", [NAME_LOOP] = "(event loop)", [NAME_NATIVE] = "(native)",
		[NAME_GC] = "(gc)",       [NAME_BLOCKED] = "(blocked)", [NAME_LOST] = "(not known)",
		[NAME_EMPTY] = "",        [NAME_UNNAMED] = "(unnamed)", [NAME_HEAP] = "heap",
	};
	size_t i;

	n->table = intern_new();
	if (!n->table)
		return -ENOMEM;
	for (i = 0; i < ARRAY_SIZE(fixed); i++)
		if (intern_put(n->table, fixed[i], strlen(fixed[i])) < 0)
			return -ENOMEM;
	return 0;
}

u32 html_name(struct html_names *n, const char *s)
{
	size_t len = s ? strlen(s) : 0;
	s64 id;

	if (!len)
		return NAME_EMPTY;
	id = intern_count(n->table) < HTML_STRINGS_MAX ? intern_put(n->table, s, len)
						       : intern_find(n->table, s, len);
	if (id >= 0)
		return (u32)id;
	n->refused++;
	return NAME_OTHER;
}
