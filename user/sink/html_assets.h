/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of the page that are files (user/sink/assets), embedded. */
#ifndef SINK_HTML_ASSETS_H
#define SINK_HTML_ASSETS_H

#include "base/types.h"

#define HTML_ASSETS(X)                    \
	X(page_html, "page.html")         \
	X(page_css, "page.css")           \
	X(base_js, "base.js")             \
	X(summary_js, "summary.js")       \
	X(timeline_js, "timeline.js")     \
	X(detail_js, "detail.js")         \
	X(charts_js, "charts.js")         \
	X(graph_js, "graph.js")           \
	X(table_js, "table.js")           \
	X(page_js, "page.js")             \
	X(uplot_js, "uPlot.iife.min.js")  \
	X(uplot_css, "uPlot.min.css")     \
	X(d3_js, "d3.min.js")             \
	X(uplot_licence, "LICENSE.uPlot") \
	X(d3_licence, "LICENSE.d3")

#define HTML_ASSET_DECLARE(name, file) \
	extern const char html_asset_##name[], html_asset_##name##_end[];
HTML_ASSETS(HTML_ASSET_DECLARE)

#define HTML_ASSET_BYTES(name) ((size_t)(html_asset_##name##_end - html_asset_##name))

#endif
