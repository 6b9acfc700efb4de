/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/export.h"
#include "sink/chrome.h"
#include "sink/collapsed.h"
#include "sink/firefox.h"
#include "sink/ndjson.h"
#include "sink/perfetto.h"
#include "sink/speedscope.h"
#include "sink/html.h"

#include <string.h>

const struct exporter *const exporters[] = {
	&firefox_exporter, /* the default */
	&chrome_exporter,
	&perfetto_exporter,
	&speedscope_exporter,
	&collapsed_exporter,
	&ndjson_exporter,
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

const char *event_top(const struct model_event *e, u64 *self_ns)
{
	const char *best = NULL;
	u32 i;

	*self_ns = 0;
	for (i = 0; i < e->share_count; i++) {
		const struct model_share *sh = &e->shares[i];

		/* The top group is in every event and says nothing. */
		if (sh->self_ns <= *self_ns || !strncmp(sh->group, "top:", 4))
			continue;
		best = sh->group;
		*self_ns = sh->self_ns;
	}
	return best;
}
