/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Manual pages and completion, written by the program itself from the tables
 * that it parses with. `vmspan --generate man [COMMAND]`, `... completion`, and
 * `... commands`, their names for scripts: for the build alone, and in no help.
 */
#ifndef CMD_GENERATE_H
#define CMD_GENERATE_H

/* argv: what follows --generate. The exit status. */
int generate(int argc, char **argv);

#endif
