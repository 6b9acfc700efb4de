/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files that commands write. A recording may take the place of a recording,
 * never of anything else. An export appears under its name when it is whole.
 */
#ifndef CMD_OUTPUT_H
#define CMD_OUTPUT_H

#include "base/err.h"
#include "base/file.h"
#include "base/gzip.h"
#include "base/out.h"
#include "model/item.h"

#define OUTPUT_PATH_MAX 4096

/*
 * May a recording be written to path? Finds out before anything is attached,
 * and so creates the file when there is none; *made then says which, and the
 * caller unlinks it when no recording follows.
 */
int output_recording(const char *path, struct file_made *made, struct err *e);
/*
 * The part of a recording (rec/cut.h) as a file, which appears under its name when it is whole; until
 * then it has OUTPUT_PART behind it. What was there is replaced. `open` is what goes on at its end.
 */
#define OUTPUT_PART ".part"
int output_cut(const char *from, const char *to, u64 begin_ns, u64 end_ns,
	       const struct item_unfinished *open, u32 open_count, struct err *e);
/* "./NAME-PID.vmspan", or "./NAME.vmspan" with pid 0. name: any bytes. */
void output_default(char path[OUTPUT_PATH_MAX], const char *name, u32 pid);

/* A file under way. */
struct output {
	struct out out;
	int fd; /* -1: none */
	struct gzip *gzip; /* NULL: as it is */
	const char *name; /* for messages; borrowed */
	char path[OUTPUT_PATH_MAX], temporary[OUTPUT_PATH_MAX + 8]; /* "": none */
};

/* path "-": standard output; one that ends in ".gz" is compressed. `input`: a
 * file it must not be, or NULL. */
int output_open(struct output *o, const char *path, const char *input, struct err *e);
/* Completes it: only now it has its name. A reader that has gone away gives
 * -EPIPE and no words. */
int output_commit(struct output *o, struct err *e);
/* Removes what was written. Harmless after output_commit(). */
void output_abandon(struct output *o);

#endif
