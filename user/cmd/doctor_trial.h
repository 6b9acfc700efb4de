/* SPDX-License-Identifier: BSD-2-Clause */
/* A second under trace: does it work, and what would it cost? */
#ifndef CMD_DOCTOR_TRIAL_H
#define CMD_DOCTOR_TRIAL_H

#include "attach/checks.h"

/*
 * Traces the process for a second: what that took, and, of a stock VM with its
 * children, which of its probes were hit. Returns how many checks it made.
 */
#define TRIAL_CHECKS 2
u32 doctor_trial(u32 pid, bool vm, struct check list[TRIAL_CHECKS]);

#endif
