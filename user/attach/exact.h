/* SPDX-License-Identifier: BSD-2-Clause */
/* What exact mode needs of the machine, beyond what every trace does. */
#ifndef ATTACH_EXACT_H
#define ATTACH_EXACT_H

#include "base/err.h"

#define EXACT_WITHOUT "Without --exact, spans that change CPU are discarded and counted."

/* Is it all there? Else *why says what is missing, and what can be done. */
bool exact_possible(struct err *why);
/* Do the counters of all CPUs agree, so that a span from one to another has the right time? Else
 * *why says what is known of them, and `without`, a sentence, what happens if that is not asked for.
 * Two seconds at most, mostly some milliseconds. */
bool exact_counters_agree(const char *without, struct err *why);
/* Can wake-ups be told from interrupts, so that peers can be named? */
bool exact_has_peers(void);
/* And can the senders of packets on this machine? */
bool exact_has_senders(void);

#endif
