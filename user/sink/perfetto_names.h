/* SPDX-License-Identifier: BSD-2-Clause */
/* What we name by number ourselves in Perfetto's format. For perfetto.c only. */
#ifndef SINK_PERFETTO_NAMES_H
#define SINK_PERFETTO_NAMES_H

/* Names of arguments; their place here is what the file calls them. */
enum argument {
	ARG_NONE, /* 0 is no valid name */
	ARG_GROUP,
	ARG_ITERATION,
	ARG_CPU,
	ARG_CPU_END,
	ARG_FATE,
	ARG_REPAIRED,
	ARG_SELF,
	ARG_BLOCKED,
	ARG_GC,
	ARG_BEFORE,
	ARG_AFTER,
	ARG_PEER,
	ARG_WALL,
	ARG_CPU_NS,
	ARG_NATIVE,
	ARG_MOVED,
	ARG_STALE,
	ARG_LOST,
	ARG_PREEMPTED,
	ARG_PARENT,
	ARG_INCOMPLETE,
	ARG_TOP,
	ARG_TOP_SELF,
	ARG_STOLEN,
	ARG_STOPPED,
	ARG_FROZEN,
	ARG_THROTTLED,
	ARGUMENTS
};

static const char *const argument_names[ARGUMENTS] = {
	[ARG_GROUP] = "group",
	[ARG_ITERATION] = "iteration",
	[ARG_CPU] = "cpu",
	[ARG_CPU_END] = "cpu_end",
	[ARG_FATE] = "fate",
	[ARG_REPAIRED] = "repaired",
	[ARG_SELF] = "self_ns",
	[ARG_BLOCKED] = "blocked_ns",
	[ARG_GC] = "gc_ns",
	[ARG_BEFORE] = "bytes_before",
	[ARG_AFTER] = "bytes_after",
	[ARG_PEER] = "peer",
	[ARG_WALL] = "wall_ns",
	[ARG_CPU_NS] = "cpu_ns",
	[ARG_NATIVE] = "native_ns",
	[ARG_MOVED] = "moved_ns",
	[ARG_STALE] = "stale_ns",
	[ARG_LOST] = "lost_ns",
	[ARG_PREEMPTED] = "preempted_ns",
	[ARG_PARENT] = "parent",
	[ARG_INCOMPLETE] = "incomplete",
	[ARG_TOP] = "top",
	[ARG_TOP_SELF] = "top_self_ns",
	[ARG_STOLEN] = "stolen_ns",
	[ARG_STOPPED] = "stopped_ns",
	[ARG_FROZEN] = "frozen_ns",
	[ARG_THROTTLED] = "throttled_ns",
};

/* Category of a slice; its place here + 1 is what the file calls it. */
static const char *const categories[] = {
	"span", "addon", "page",    "package", "plugin", "tenant", "compartment",
	"top",  "gc",    "blocked", "event",   "input",  "frame",
};

#endif
