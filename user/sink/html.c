/* SPDX-License-Identifier: BSD-2-Clause */
/* The page as a document, and as an exporter. */
#include "sink/html.h"
#include "sink/html_assets.h"

#include <stdlib.h>

#define PUT(o, name) out_write(o, html_asset_##name, HTML_ASSET_BYTES(name))

static void put_style(struct out *o)
{
	out_puts(o, "<style>\n");
	PUT(o, uplot_css);
	out_puts(o, "\n");
	PUT(o, page_css);
	out_puts(o, "</style>\n");
}

/* The libraries keep their licences wherever the page goes. */
static void put_libraries(struct out *o)
{
	out_puts(o, "<script>\n/* uPlot\n");
	PUT(o, uplot_licence);
	out_puts(o, "\n*/\n");
	PUT(o, uplot_js);
	out_puts(o, "\n</script>\n<script>\n/* d3\n");
	PUT(o, d3_licence);
	out_puts(o, "\n*/\n");
	PUT(o, d3_js);
	out_puts(o, "\n</script>\n");
}

static void put_scripts(struct out *o)
{
	out_puts(o, "<script>\n\"use strict\";\n");
	PUT(o, base_js);
	PUT(o, summary_js);
	PUT(o, timeline_js);
	PUT(o, detail_js);
	PUT(o, charts_js);
	PUT(o, graph_js);
	PUT(o, table_js);
	PUT(o, page_js);
	out_puts(o, "</script>\n");
}

void html_write(struct html_page *p, struct out *o, const struct snapshot *s,
		const struct report_source *src, bool live)
{
	out_puts(o, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		    "script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; "
		    "base-uri 'none'; form-action 'none'");
	out_puts(o, live ? "; connect-src 'self'\">\n" : "\">\n");
	out_puts(o, "<meta name=\"referrer\" content=\"no-referrer\">\n"
		    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		    "<meta name=\"color-scheme\" content=\"light dark\">\n"
		    "<link rel=\"icon\" href=\"data:,\">\n"
		    "<title>vmspan</title>\n");
	put_style(o);
	out_puts(o, "</head>\n<body>\n");
	PUT(o, page_html);
	out_puts(o, "<script type=\"application/json\" id=\"data\">");
	html_data(p, o, s, src, live);
	out_puts(o, "</script>\n");
	put_libraries(o);
	put_scripts(o);
	out_puts(o, "</body>\n</html>\n");
}

/* ---- Exporter ---- */

struct html_export {
	struct html_page *page;
	struct out *out;
};

static void html_export_free(void *x)
{
	struct html_export *h = x;

	if (!h)
		return;
	html_free(h->page);
	free(h);
}

static void *html_begin(struct out *out, const struct export_config *config, struct model *m)
{
	struct html_config c = {
		.limits = &html_export_limits,
		.start_ns = config->start_ns,
		.glob = config->glob,
		.narrowed = config->narrowed,
		.docs = config->docs,
	};
	struct html_export *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->out = out;
	h->page = html_new(m, &c);
	if (!h->page) {
		free(h);
		return NULL;
	}
	return h;
}

static int html_end(void *x, const struct snapshot *s, const struct report_source *src)
{
	struct html_export *h = x;

	html_write(h->page, h->out, s, src, false);
	return 0;
}

const struct exporter html_exporter = {
	.name = "html",
	.suffix = ".html",
	.about = "one page for a browser, no network and no other tool needed",
	.whole_turns = true,
	.begin = html_begin,
	.end = html_end,
	.free = html_export_free,
};
