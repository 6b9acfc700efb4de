/* SPDX-License-Identifier: BSD-2-Clause */
/* The inputs and frames of each process that alerts ask about. */
#ifndef SINK_ALERT_PROC_H
#define SINK_ALERT_PROC_H

#include "model/model.h"

struct marks_seen;

struct marks_seen *marks_seen_new(void);
void marks_seen_free(struct marks_seen *m);
/* 0 or -ENOMEM. */
int marks_seen_add(struct marks_seen *m, const struct model_mark *mk);
/* The process has ended. Its marks stay until others need the room. */
void marks_seen_end(struct marks_seen *m, u32 pid);
/* enum alert_reason of an event of the process, begin_ns ... end_ns, whose
 * alert waits until until_ns. */
unsigned int marks_seen_reasons(const struct marks_seen *m, u32 pid, u64 begin_ns, u64 end_ns,
				u64 until_ns);
/* The last input of the process at or before ns; 0: none. */
u64 marks_seen_input(const struct marks_seen *m, u32 pid, u64 ns);

#endif
