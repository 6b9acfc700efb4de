/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Numbers of the fields of Perfetto's messages that we write. Source:
 * protos/perfetto/trace in Perfetto's repository, there trace_packet.proto,
 * track_event/, clock_snapshot.proto, interned_data/.
 * Behind them, what we name by number ourselves. Included by perfetto.c alone.
 */
#ifndef SINK_PERFETTO_FIELDS_H
#define SINK_PERFETTO_FIELDS_H

enum {
	TRACE_PACKET = 1,

	PACKET_CLOCK_SNAPSHOT = 6,
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE = 10,
	PACKET_TRACK_EVENT = 11,
	PACKET_INTERNED = 12,
	PACKET_SEQUENCE_FLAGS = 13,
	PACKET_DEFAULTS = 59,
	PACKET_CLOCK_ID = 58,
	PACKET_TRACK = 60,

	SEQUENCE_CLEARED = 1,
	SEQUENCE_NEEDS = 2,

	SNAPSHOT_CLOCKS = 1,
	SNAPSHOT_PRIMARY = 2,
	CLOCK_ID = 1,
	CLOCK_TIMESTAMP = 2,
	CLOCK_REALTIME_ID = 1,
	CLOCK_MONOTONIC_ID = 3,

	INTERNED_CATEGORIES = 1,
	INTERNED_NAMES = 2,
	INTERNED_ARGUMENTS = 3,
	INTERNED_STRINGS = 29,
	ENTRY_IID = 1,
	ENTRY_TEXT = 2,

	TRACK_UUID = 1,
	TRACK_NAME = 2,
	TRACK_PROCESS = 3,
	TRACK_THREAD = 4,
	TRACK_PARENT = 5,
	TRACK_COUNTER = 8,
	PROCESS_PID = 1,
	PROCESS_NAME = 6,
	THREAD_PID = 1,
	THREAD_TID = 2,
	THREAD_NAME = 5,
	COUNTER_UNIT = 3,
	UNIT_COUNT = 2,
	UNIT_BYTES = 3,

	EVENT_CATEGORY = 3,
	EVENT_ARGUMENT = 4,
	EVENT_TYPE = 9,
	EVENT_NAME = 10,
	EVENT_TRACK = 11,
	EVENT_VALUE = 30,
	EVENT_FLOW = 47,
	TYPE_BEGIN = 1,
	TYPE_END = 2,
	TYPE_INSTANT = 3,
	TYPE_COUNTER = 4,

	ARGUMENT_NAME = 1,
	ARGUMENT_BOOL = 2,
	ARGUMENT_U64 = 3,
	ARGUMENT_TEXT = 6,
	ARGUMENT_STRING = 17, /* by number */
};

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
};

/* Category of a slice; its place here + 1 is what the file calls it. */
static const char *const categories[] = {
	"span", "addon", "page",    "package", "plugin", "tenant", "compartment",
	"top",  "gc",    "blocked", "event",   "input",  "frame",
};

#endif
