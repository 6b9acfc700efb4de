/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/kind.h"

#include "base/record.h"
#include "base/types.h"

#include <string.h>

/* Indexed by enum vmspan_kind. */
static const char *const kinds[] = {
	[VMSPAN_ADDON] = "addon",     [VMSPAN_PAGE] = "page",
	[VMSPAN_PACKAGE] = "package", [VMSPAN_PLUGIN] = "plugin",
	[VMSPAN_TENANT] = "tenant",   [VMSPAN_COMPARTMENT] = "compartment",
	[VMSPAN_TOP] = "top",
};

const char *kind_name(unsigned int kind)
{
	return kind < ARRAY_SIZE(kinds) && kinds[kind] ? kinds[kind] : "unknown";
}

unsigned int kind_of(const char *name, size_t len)
{
	unsigned int i;

	for (i = 1; i < ARRAY_SIZE(kinds); i++)
		if (strlen(kinds[i]) == len && !memcmp(kinds[i], name, len))
			return i;
	return 0;
}
