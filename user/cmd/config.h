/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Configuration files: defaults for the options of the commands.
 *
 *   [all]                 # of every command that has the option
 *   buffer = 16M
 *   [top]
 *   columns = self,wall,max,64ms
 *   reverse = yes
 *
 * A file is not trusted: its size, its lines and its values are bounded and
 * checked as the command line is.
 */
#ifndef CMD_CONFIG_H
#define CMD_CONFIG_H

#include "cmd/options.h"

#define CONFIG_SYSTEM "/etc/vmspan.conf"
#define CONFIG_BYTES_MAX (64u << 10)

/*
 * Sets the defaults of a command: from --config, or from /etc/vmspan.conf and
 * then the user's own file, where there are such. 0, or an error whose words
 * name file and line. Strings live as long as the program.
 */
int config_read(const struct command *c, struct options *o, struct err *e);
/* Parses text; `name` is for messages. */
int config_parse(const char *text, const char *name, const struct command *c, struct options *o,
		 struct err *e);
/*
 * Writes `key = value` into section of the user's own file (or --config's),
 * where the key stands already, else at the section's end; all else stays as
 * it is. *path is set to the file. The file appears whole or not at all.
 */
int config_save(const struct options *o, const char *section, const char *key, const char *value,
		char path[4096], struct err *e);

#endif
