/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Collapsed stacks: a line a stack, `process;thread;event;group;group NS`.
 * Stacks are of groups; a group that calls itself is one frame. All lines add
 * up to the wall time of the events, but for rounding: a span's time comes from
 * the map of the clocks, an event's from its own readings.
 *
 * Of sampled events there are the stacks of functions that were seen, each for
 * the time between two looks, or that the thread then waited.
 */
#ifndef SINK_COLLAPSED_H
#define SINK_COLLAPSED_H

#include "sink/slices.h"

extern const struct exporter collapsed_exporter;

#endif
