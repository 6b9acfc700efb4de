/* SPDX-License-Identifier: BSD-2-Clause */
/* A second under trace: does it work, and what would it cost? */
#ifndef CMD_DOCTOR_TRIAL_H
#define CMD_DOCTOR_TRIAL_H

#include "attach/checks.h"

/* Traces the process for one second. */
void doctor_trial(u32 pid, struct check *c);

#endif
