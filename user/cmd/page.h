/* SPDX-License-Identifier: BSD-2-Clause */
/* What the commands that make pages share. */
#ifndef CMD_PAGE_H
#define CMD_PAGE_H

#include "cmd/options.h"
#include "sink/export.h"
#include "sink/html_docs.h"
#include "sink/select.h"

/* Reads the file of --docs; path NULL: none, *docs is NULL. 0 or an error. */
int docs_load(struct html_docs **docs, const char *path, struct err *e);
/* What the selection has to know before the recording is read; only where
 * select_searches() says so. 0 or negative errno. */
int export_search(const struct options *o, const char *input, struct select *sel, struct err *e);
/* Writes the recording `input` through an exporter to o->output.file, or to a
 * name made from that of the recording. 0 or a negative errno; *e stays empty
 * only when the reader of a pipe has gone away. */
int export_run(const struct exporter *x, const struct options *o, const char *input, struct err *e);

#endif
