/* SPDX-License-Identifier: BSD-2-Clause */
/* A profile of the user's, of either kind: of a stock VM, or of a program with probes of its own. */
#ifndef PROBE_PROFILE_FILE_H
#define PROBE_PROFILE_FILE_H

#include "base/err.h"

/* Adds it to those that are tried first. To be called before anything is looked at. 0 or negative errno. */
int profile_file_add(const char *path, struct err *err);

#endif
