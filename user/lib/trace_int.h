/* SPDX-License-Identifier: BSD-2-Clause */
/* For user/lib/ alone. */
#ifndef LIB_TRACE_INT_H
#define LIB_TRACE_INT_H

#include "lib/trace.h"

struct listening {
	struct libvmspan *trace;
	libvmspan_alert_fn fn;
	void *ctx;
	u64 id;
	struct listening *next;
};

struct libvmspan {
	struct source *source;
	struct model *model;
	struct alerts *alerts; /* or NULL */
	struct trace_tap tap;
	struct listening *listening; /* owned */
	int told; /* the first that a listener has returned but 0, since the call began */
	u32 owner; /* the process that may take in: descriptors and memory are its own */
	u64 json_of; /* the alert that `json` is of; 0: none */
	char *json; /* owned; one text for all listeners */
	struct report_source head;
	struct err err;
	bool live, ended;
	s64 real_offset;
};

struct libvmspan_snapshot {
	struct snapshot *s;
	struct report_source head;
};

#endif
