/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the tests of the recording: streams of items as bytes, to compare. */
#ifndef REC_UTIL_H
#define REC_UTIL_H

#include "rec_gen.h"

#include "base/buf.h"
#include "model/item.h"
#include "rec/rec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

/* A stream as bytes: two are the same when their bytes are. */
struct log {
	struct buf bytes;
	struct buf ends; /* u64: where each item ends in bytes */
	u64 count, spans, records, lost;
	u64 cut; /* how often something was missing of which nobody knows how much: in no bytes */
};

static inline void log_string(struct buf *b, const char *s)
{
	buf_put(b, s ? s : "", (s ? strlen(s) : 0) + 1);
}

static inline int log_item(void *ctx, const struct item *it)
{
	struct log *l = ctx;
	struct buf *b = &l->bytes;
	u64 end, v[12] = { it->type };

	switch (it->type) {
	case ITEM_CLOCK:
		v[1] = it->clock.cycles;
		v[2] = it->clock.mono_ns;
		v[3] = it->clock.real_ns;
		break;
	case ITEM_PROCESS:
		v[1] = it->process.change;
		v[2] = it->process.pid;
		v[3] = it->process.ppid;
		v[4] = it->process.mono_ns;
		break;
	case ITEM_THREAD:
		v[1] = it->thread.pid;
		v[2] = it->thread.tid;
		v[3] = it->thread.ended;
		v[4] = it->thread.mono_ns;
		break;
	case ITEM_DEFS:
		v[1] = it->defs.pid;
		v[2] = it->defs.registry;
		v[3] = it->defs.bytes;
		break;
	case ITEM_BATCH:
		v[1] = it->batch.pid;
		v[2] = it->batch.tid;
		v[3] = it->batch.registry;
		v[4] = it->batch.thread;
		v[5] = it->batch.seq;
		v[6] = it->batch.records;
		v[7] = it->batch.bytes;
		v[8] = it->batch.too_deep;
		v[9] = it->batch.unmatched;
		v[10] = it->batch.repaired;
		v[11] = it->batch.in_mark;
		l->records += it->batch.records;
		break;
	case ITEM_LOSS:
		if (it->loss.cause == LOSS_TRUNCATED && !it->loss.records) {
			l->cut += it->loss.batches;
			return 0;
		}
		v[1] = it->loss.cause;
		v[2] = it->loss.records;
		v[3] = it->loss.batches;
		l->lost += it->loss.records;
		break;
	case ITEM_UNFINISHED:
		v[1] = it->unfinished.pid;
		v[2] = it->unfinished.tid;
		v[3] = it->unfinished.registry;
		v[4] = it->unfinished.why;
		v[5] = it->unfinished.event;
		v[6] = it->unfinished.label;
		v[7] = it->unfinished.begin_ns;
		v[8] = it->unfinished.until_ns;
		v[9] = it->unfinished.depth;
		v[10] = it->unfinished.stay_count;
		break;
	case ITEM_COST:
		v[1] = it->cost.marks;
		v[2] = it->cost.traps;
		v[3] = it->cost.cpu_ns;
		break;
	case ITEM_OPEN:
		break;
	}
	buf_put(b, v, sizeof(v));
	if (it->type == ITEM_PROCESS) {
		log_string(b, it->process.name);
		log_string(b, it->process.vm);
	} else if (it->type == ITEM_THREAD) {
		log_string(b, it->thread.name);
	} else if (it->type == ITEM_DEFS) {
		buf_put(b, it->defs.data, it->defs.bytes);
	} else if (it->type == ITEM_BATCH) {
		assert_int_equal((uintptr_t)it->batch.data % 8, 0);
		buf_put(b, it->batch.data, it->batch.bytes);
	} else if (it->type == ITEM_UNFINISHED) {
		buf_put(b, it->unfinished.stay,
			it->unfinished.stay_count * sizeof(it->unfinished.stay[0]));
		buf_put(b, it->unfinished.stay_ns,
			it->unfinished.stay_count * sizeof(it->unfinished.stay_ns[0]));
	}
	end = b->len;
	buf_put(&l->ends, &end, sizeof(end));
	l->count++;
	return 0;
}

static inline void log_free(struct log *l)
{
	buf_free(&l->bytes);
	buf_free(&l->ends);
	*l = (struct log){ 0 };
}

static inline void log_assert_equal(const struct log *a, const struct log *b)
{
	assert_int_equal(a->count, b->count);
	assert_int_equal(a->bytes.len, b->bytes.len);
	if (a->bytes.len)
		assert_memory_equal(a->bytes.data, b->bytes.data, a->bytes.len);
}

/* How many items both begin with. */
static inline u64 log_common(const struct log *a, const struct log *b)
{
	u64 n = 0, at = 0, ea, eb;

	while (n < a->count && n < b->count) {
		memcpy(&ea, a->ends.data + n * 8, 8);
		memcpy(&eb, b->ends.data + n * 8, 8);
		if (ea != eb || memcmp(a->bytes.data + at, b->bytes.data + at, ea - at))
			break;
		at = ea;
		n++;
	}
	return n;
}

/* A definition record, appended. */
static inline void put_def(struct buf *b, u8 type, u32 id, u8 kind, const u32 *groups, u8 count,
			   const char *name)
{
	size_t len = strlen(name), size = sizeof(struct vmspan_def) + count * 4u + len;
	u8 slots = (u8)((size + VMSPAN_SLOT - 1) / VMSPAN_SLOT);
	struct vmspan_def *d = (void *)buf_space(b, (size_t)slots * VMSPAN_SLOT);

	assert_non_null(d);
	memset(d, 0, (size_t)slots * VMSPAN_SLOT);
	d->h = (struct vmspan_head){ type, slots, 0, id };
	d->kind = kind;
	d->count = count;
	d->name_len = (u8)len;
	if (count)
		memcpy(d->groups, groups, count * 4u);
	memcpy((char *)(d->groups + count), name, len);
	b->len += (size_t)slots * VMSPAN_SLOT;
}

static inline struct item clock_item(u64 cycles)
{
	struct item it = { .type = ITEM_CLOCK };

	it.clock.cycles = cycles;
	it.clock.mono_ns = gen_mono(cycles);
	it.clock.real_ns = it.clock.mono_ns + 1700000000ull * NSEC_PER_SEC;
	return it;
}

static inline struct item process_item(enum process_change change, u32 pid, u32 ppid,
				       const char *name)
{
	struct item it = { .type = ITEM_PROCESS };

	it.process = (struct item_process){ change, pid, ppid, 6000000000ull, name, "sdk" };
	return it;
}

static inline struct item thread_item(u32 pid, u32 tid, const char *name, bool ended)
{
	struct item it = { .type = ITEM_THREAD };

	it.thread = (struct item_thread){ pid, tid, ended, 6000001000ull, name };
	return it;
}

static inline struct item defs_item(u32 pid, const struct buf *b)
{
	struct item it = { .type = ITEM_DEFS };

	it.defs = (struct item_defs){ pid, 0x55d000001000, b->data, (u32)b->len };
	return it;
}

static inline struct item batch_item(u32 pid, const struct gen *g)
{
	struct item it = { .type = ITEM_BATCH };

	it.batch = (struct item_batch){
		.pid = pid,
		.tid = pid,
		.registry = 0x55d000001000,
		.thread = 1,
		.seq = g->seq,
		.records = g->records,
		.bytes = g->slots * (u32)VMSPAN_SLOT,
		.data = g->data,
	};
	return it;
}

static inline const struct source_info *test_info(void)
{
	static const struct source_info info = {
		.clock = CLOCK_TSC,
		.cycles_hz = GEN_CYCLES_PER_US * 1000000ull,
		.start_mono_ns = 5000000000ull,
		.start_real_ns = 1700000005000000000ull,
		.host = "testhost",
		.tool = "0.1.0",
	};

	return &info;
}

/* Reads all of it into l. What rec_open or rec_read returned; the note's text
 * (or "") to note[256]. */
static inline int read_all(const char *path, struct log *l, char *note, struct err *err)
{
	struct source_info info;
	struct rec_reader *r = rec_open(path, &info, err);
	int rc;

	note[0] = 0;
	if (!r)
		return err->code;
	do
		rc = rec_read(r, log_item, l, err);
	while (rc > 0);
	if (!rc && rec_note(r))
		snprintf(note, 256, "%s", rec_note(r));
	rec_reader_free(r);
	return rc;
}

#endif
