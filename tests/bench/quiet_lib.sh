# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# How quiet the machine is while a script measures (quiet.h), for those that source this.

quiet() { # [READING]: a reading, or what has been since that one, as JSON
	"$B/bench/quiet" /proc $$ "$@"
}
