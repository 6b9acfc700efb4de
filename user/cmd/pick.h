/* SPDX-License-Identifier: BSD-2-Clause */
/* `vmspan` alone, on a terminal: offers what could be traced. */
#ifndef CMD_PICK_H
#define CMD_PICK_H

/* Lists the processes, asks for one, and runs top on it. The exit status. */
int pick_and_run(void);

#endif
