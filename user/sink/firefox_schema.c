/* SPDX-License-Identifier: BSD-2-Clause */
/* What the Firefox Profiler is told about our markers. */
#include "sink/firefox.h"

#include <string.h>

/* The loader wants a grey one to exist. Colours: those it has names for. */
static const struct {
	const char *name, *color;
} categories[FIREFOX_CATEGORIES] = {
	{ "other", "grey" },      { "addon", "purple" },    { "page", "green" },
	{ "package", "brown" },   { "plugin", "magenta" },  { "tenant", "yellow" },
	{ "gc", "orange" },       { "blocked", "red" },     { "event", "blue" },
	{ "input", "lightblue" }, { "frame", "lightblue" }, { "jank", "red" },
};

struct field {
	const char *key, *label, *format;
};

#define FIELDS 20

static const struct schema {
	const char *type, *category; /* NULL: by the group's kind */
	const char *label; /* in the chart and the table */
	const char *tooltip, *description;
	struct field fields[FIELDS];
} schemas[FIREFOX_MARKERS] = {
	[FIREFOX_SPAN] = {
		.type = "Span",
		.label = "{marker.data.in}",
		.tooltip = "{marker.name}: {marker.data.in}",
		.description = "A stay of the thread in a compartment. The row is its group.",
		.fields = {
			{ "in", "Compartment", "unique-string" },
			{ "iteration", "Iteration", "integer" },
			{ "self", "Self", "duration" },
			{ "blocked", "Blocked in it", "duration" },
			{ "gc", "Collections in it", "duration" },
			{ "cpu", "CPU", "integer" },
			{ "cpuEnd", "CPU at its end", "integer" },
			{ "fate", "Discarded because", "string" },
			{ "repaired", "Repaired", "string" },
		},
	},
	[FIREFOX_GC] = {
		.type = "Collection",
		.category = "gc",
		.label = "{marker.data.reason}",
		.tooltip = "{marker.name}",
		.description = "A garbage collection, and the bytes of the heap around it.",
		.fields = {
			{ "reason", "Reason", "unique-string" },
			{ "before", "Heap before", "bytes" },
			{ "after", "Heap after", "bytes" },
			{ "freed", "Freed", "bytes" },
			{ "iteration", "Iteration", "integer" },
			{ "cpu", "CPU", "integer" },
			{ "cpuEnd", "CPU at its end", "integer" },
			{ "fate", "Discarded because", "string" },
		},
	},
	[FIREFOX_BLOCK] = {
		.type = "Blocking call",
		.category = "blocked",
		.label = "{marker.data.call} {marker.data.peerName}",
		.tooltip = "{marker.name}",
		.description = "A call that waits, and the process it waits for.",
		.fields = {
			{ "call", "Call", "unique-string" },
			{ "peer", "Waits for process", "pid" },
			{ "peerName", "Named", "unique-string" },
			{ "iteration", "Iteration", "integer" },
			{ "cpu", "CPU", "integer" },
			{ "cpuEnd", "CPU at its end", "integer" },
			{ "fate", "Discarded because", "string" },
		},
	},
	[FIREFOX_EVENT] = {
		.type = "Event",
		.category = "event",
		.label = "{marker.data.top}",
		.tooltip = "{marker.name} {marker.data.iteration}",
		.description = "A turn of the event loop, and where its time went.",
		.fields = {
			{ "iteration", "Iteration", "integer" },
			{ "top", "Most self time", "unique-string" },
			{ "topSelf", "Self time of that", "duration" },
			{ "wall", "Wall, nested events not counted", "duration" },
			{ "cpu", "On a CPU", "duration" },
			{ "stolen", "A hypervisor had the CPU", "duration" },
			{ "self", "Self, all groups", "duration" },
			{ "gc", "Collections", "duration" },
			{ "blocked", "Blocked", "duration" },
			{ "native", "Native", "duration" },
			{ "moved", "Discarded: changed CPU", "duration" },
			{ "stale", "Discarded: nested loop", "duration" },
			{ "lost", "Lost", "duration" },
			{ "preempted", "Native: kept off the CPU", "duration" },
			{ "stopped", "Of that: stopped", "duration" },
			{ "frozen", "Of that: frozen", "duration" },
			{ "throttled", "Of that: throttled", "duration" },
			{ "parent", "Nested in iteration", "integer" },
			{ "incomplete", "Incomplete", "string" },
		},
	},
	[FIREFOX_INPUT] = {
		.type = "Input",
		.category = "input",
		.label = "{marker.data.label}",
		.tooltip = "{marker.name}",
		.description = "Input of the user arrives.",
		.fields = { { "label", "Label", "unique-string" },
			    { "iteration", "Iteration", "integer" } },
	},
	[FIREFOX_FRAME] = {
		.type = "Frame",
		.category = "frame",
		.label = "{marker.data.label}",
		.tooltip = "{marker.name}",
		.description = "A frame is shown.",
		.fields = { { "label", "Label", "unique-string" },
			    { "iteration", "Iteration", "integer" } },
	},
	[FIREFOX_JANK] = {
		.type = "Jank",
		.category = "jank",
		.label = "{marker.data.top}",
		.tooltip = "Jank: {marker.data.top}",
		.description = "An event of more than 50 ms: people notice.",
		.fields = {
			{ "top", "Most self time", "unique-string" },
			{ "topSelf", "Self time of that", "duration" },
			{ "iteration", "Iteration", "integer" },
		},
	},
};

const char *firefox_type(enum firefox_marker m)
{
	return schemas[m].type;
}

unsigned int firefox_category(enum firefox_marker m, const char *group)
{
	char kind[16];
	const char *name = schemas[m].category ? schemas[m].category : group_kind(group, kind);
	unsigned int i;

	for (i = ARRAY_SIZE(categories); i--;)
		if (!strcmp(categories[i].name, name))
			return i;
	return 0;
}

void firefox_put_category(struct json *j, const char *name, const char *color)
{
	json_object(j);
	json_key_string(j, "name", name);
	json_key_string(j, "color", color);
	json_key_array(j, "subcategories");
	json_string(j, "Other");
	json_end_array(j);
	json_end_object(j);
}

void firefox_categories(struct json *j)
{
	unsigned int i;

	for (i = 0; i < FIREFOX_CATEGORIES; i++)
		firefox_put_category(j, categories[i].name, categories[i].color);
}

static void put_schema(struct json *j, const struct schema *s)
{
	static const char *const places[] = { "marker-chart", "marker-table", "timeline-overview" };
	unsigned int i;

	json_object(j);
	json_key_string(j, "name", s->type);
	json_key_string(j, "chartLabel", s->label);
	json_key_string(j, "tableLabel", s->label);
	json_key_string(j, "tooltipLabel", s->tooltip);
	json_key_string(j, "description", s->description);
	json_key_array(j, "display");
	for (i = 0; i < ARRAY_SIZE(places); i++)
		json_string(j, places[i]);
	json_end_array(j);
	json_key_array(j, "fields");
	for (i = 0; i < FIELDS && s->fields[i].key; i++) {
		json_object(j);
		json_key_string(j, "key", s->fields[i].key);
		json_key_string(j, "label", s->fields[i].label);
		json_key_string(j, "format", s->fields[i].format);
		json_end_object(j);
	}
	json_end_array(j);
	json_end_object(j);
}

void firefox_schemas(struct json *j)
{
	unsigned int i;

	json_array(j);
	for (i = 0; i < FIREFOX_MARKERS; i++)
		put_schema(j, &schemas[i]);
	json_end_array(j);
}
