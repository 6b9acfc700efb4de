/* SPDX-License-Identifier: BSD-2-Clause */
/* What the machine says of itself, for verdicts. */
#ifndef CMD_MACHINE_H
#define CMD_MACHINE_H

#include "sink/verdict.h"

/* Fills pressure, running and cpus; what cannot be read stays unknown. */
void machine_read(struct verdict_context *c);
/* CLOCK_MONOTONIC at which the process began; 0: not known. */
u64 machine_started(u32 pid);

#endif
