/* SPDX-License-Identifier: BSD-2-Clause */
/* What the parts of the Perfetto exporter share. For perfetto*.c only. */
#ifndef SINK_PERFETTO_PRIV_H
#define SINK_PERFETTO_PRIV_H

#include "base/proto.h"
#include "sink/flows.h"
#include "sink/perfetto.h"
#include "sink/perfetto_fields.h"
#include "sink/samples.h"

#define NAME_BYTES 1024

struct flow {
	u32 thread; /* index */
	u8 kind;
	u64 begin; /* of the slice, ns since the start */
	u64 id;
};

struct perfetto {
	struct slices slices;
	struct export_config config;
	struct flows finder;
	struct flow *flows; /* both ends of each */
	u32 flow_count, flow_cap;
	u64 flows_over; /* arrows left out */
	struct out *out;
	struct buf packet;
	u32 words[SLICE_KINDS]; /* names of slices that have none */
	u64 astray; /* tracks made for them */
	/* of the thread under way */
	u32 thread;
	u64 track;
};

/* A packet in p->packet; perfetto_packet_end() writes it. */
size_t perfetto_packet(struct perfetto *p);
int perfetto_packet_end(struct perfetto *p, size_t at);
/* A name as its reader may show it. */
void perfetto_text(struct buf *b, unsigned int field, const char *text);

/* Sampled stacks (perfetto_samples.c), once everything has come. */
int perfetto_samples(struct perfetto *p);

#endif
