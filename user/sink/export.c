/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/export.h"
#include "sink/chrome.h"
#include "sink/html.h"

#include <string.h>

const struct exporter *const exporters[] = {
	&chrome_exporter,
	&html_exporter,
	NULL,
};

const struct exporter *exporter_find(const char *name)
{
	size_t i;

	for (i = 0; exporters[i]; i++)
		if (!strcmp(exporters[i]->name, name))
			return exporters[i];
	return NULL;
}
