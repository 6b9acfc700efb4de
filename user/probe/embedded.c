/* SPDX-License-Identifier: BSD-2-Clause */
#include "probe/embedded.h"

/* tools/embed declares the struct in place, for users without a header. */
#define embedded profile_text
#include "profiles.inc"
#undef embedded

size_t profiles_embedded(const struct embedded **list)
{
	static struct embedded texts[ARRAY_SIZE(profile_text)];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(texts); i++)
		texts[i] = (struct embedded){ profile_text[i].name, profile_text[i].text };
	*list = texts;
	return ARRAY_SIZE(texts);
}
