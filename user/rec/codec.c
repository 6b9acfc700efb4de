/* SPDX-License-Identifier: BSD-2-Clause */
#include "rec/codec.h"
#include "base/varint.h"
#include "rec/records.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static_assert((int)CODEC_PAD >= (int)BITS_PAD, "a batch may be the last item");
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "records are little-endian");

/* Tags of items. Below TAG_BATCH_SHORT a length follows, so that a reader can
 * skip what it does not know. From there on it is a batch that is as expected,
 * and the low bits of the tag are the thread. */
enum tag {
	TAG_CLOCK = 1,
	TAG_PROCESS = 2,
	TAG_THREAD = 3,
	TAG_DEFS = 4,
	TAG_BATCH = 5,
	TAG_LOSS = 6,
	TAG_UNFINISHED = 7,
	TAG_COST = 8,
	TAG_BATCH_SHORT = 0x80, /* the count of records follows */
	TAG_BATCH_TURN = 0xc0, /* its first event is its last record */
	TAG_THREADS = 0x40,
};

/* The numbers in the file; the enum's order is nobody's business. */
static const u8 loss_codes[LOSS_CAUSES] = {
	[LOSS_RING_FULL] = 0, [LOSS_READ_FAULT] = 1, [LOSS_SEQUENCE_GAP] = 2, [LOSS_UNMATCHED] = 3,
	[LOSS_TRUNCATED] = 4, [LOSS_SCHED] = 5,      [LOSS_NO_SCHED] = 7,     [LOSS_TOO_DEEP] = 8,
	[LOSS_NOT_MADE] = 9,  [LOSS_MALFORMED] = 10, [LOSS_LIMIT] = 11,       [LOSS_MARKS_OFF] = 12,
	[LOSS_NAMES] = 13,    [LOSS_OTHER] = 14,
};

#define LOSS_ALL_CODE 6 /* LOSS_TRUNCATED of everything that came there */

struct codec {
	struct item_clock clock; /* latest in this chunk, or the anchor */
	struct buf body; /* writing: an item whose length comes first */
	u64 *data; /* reading: CODEC_ITEM_MAX bytes */
	char name[CODEC_STRING_MAX + 1], vm[CODEC_STRING_MAX + 1];
	struct records records;
};

struct codec *codec_new(void)
{
	struct codec *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->data = malloc(CODEC_ITEM_MAX);
	if (!c->data) {
		free(c);
		return NULL;
	}
	return c;
}

void codec_free(struct codec *c)
{
	if (!c)
		return;
	buf_free(&c->body);
	free(c->data);
	free(c);
}

/* ------------------------------------------------------------- Writing -- */

int codec_begin(struct codec *c, struct buf *out, const struct item_clock *anchor, u64 ns_per_cycle,
		u32 step)
{
	if (!step || step > STEPS_MAX)
		step = 1;
	c->clock = *anchor;
	records_reset(&c->records, ns_per_cycle, step);
	buf_put_uleb(out, anchor->cycles);
	buf_put_uleb(out, anchor->mono_ns);
	buf_put_uleb(out, anchor->real_ns);
	buf_put_uleb(out, ns_per_cycle);
	return buf_put_uleb(out, step);
}

static size_t string_bound(const char *s)
{
	return s ? strnlen(s, CODEC_STRING_MAX) : 0;
}

size_t codec_bound(const struct item *it)
{
	const size_t numbers =
		(16 + 2 * UNFINISHED_STAYS) * VARINT_MAX; /* more than any kind has */

	switch (it->type) {
	case ITEM_BATCH:
		if (it->batch.bytes > CODEC_ITEM_MAX)
			return SIZE_MAX;
		return numbers + records_bound(it->batch.bytes / VMSPAN_SLOT, it->batch.bytes);
	case ITEM_DEFS:
		return it->defs.bytes > CODEC_ITEM_MAX ? SIZE_MAX : numbers + it->defs.bytes;
	case ITEM_PROCESS:
		return numbers + string_bound(it->process.name) + string_bound(it->process.vm);
	case ITEM_THREAD:
		return numbers + string_bound(it->thread.name);
	default:
		return numbers;
	}
}

static void put_string(struct buf *b, const char *s)
{
	size_t n = string_bound(s);

	buf_put_uleb(b, n);
	buf_put(b, s, n);
}

static void put_since(struct buf *b, u64 v, u64 before)
{
	buf_put_sleb(b, (s64)(v - before));
}

static void put_clock(struct codec *c, const struct item_clock *k)
{
	put_since(&c->body, k->cycles, c->clock.cycles);
	put_since(&c->body, k->mono_ns, c->clock.mono_ns);
	put_since(&c->body, k->real_ns, c->clock.real_ns);
	c->clock = *k;
}

static void put_process(struct codec *c, const struct item_process *p)
{
	buf_put_uleb(&c->body, p->change);
	buf_put_uleb(&c->body, p->pid);
	buf_put_uleb(&c->body, p->ppid);
	put_since(&c->body, p->mono_ns, c->clock.mono_ns);
	put_string(&c->body, p->name);
	put_string(&c->body, p->vm);
}

static void put_thread(struct codec *c, const struct item_thread *t)
{
	buf_put_uleb(&c->body, t->pid);
	buf_put_uleb(&c->body, t->tid);
	buf_put_uleb(&c->body, t->ended);
	put_since(&c->body, t->mono_ns, c->clock.mono_ns);
	put_string(&c->body, t->name);
}

static void put_defs(struct codec *c, const struct item_defs *d)
{
	buf_put_uleb(&c->body, d->pid);
	buf_put_uleb(&c->body, d->registry);
	buf_put(&c->body, d->data, d->bytes);
}

static void put_loss(struct codec *c, const struct item_loss *l)
{
	bool known = (unsigned int)l->cause < LOSS_CAUSES;

	buf_put_uleb(&c->body, l->all ? LOSS_ALL_CODE : loss_codes[known ? l->cause : LOSS_OTHER]);
	buf_put_uleb(&c->body, l->records);
	buf_put_uleb(&c->body, l->batches);
}

static void put_unfinished(struct codec *c, const struct item_unfinished *u)
{
	u32 i;

	buf_put_uleb(&c->body, u->pid);
	buf_put_uleb(&c->body, u->tid);
	buf_put_uleb(&c->body, u->registry);
	buf_put_uleb(&c->body, u->why);
	buf_put_uleb(&c->body, u->event);
	buf_put_uleb(&c->body, u->label);
	put_since(&c->body, u->until_ns, c->clock.mono_ns);
	buf_put_uleb(&c->body, u->until_ns - u->begin_ns);
	buf_put_uleb(&c->body, u->depth);
	buf_put_uleb(&c->body, u->stay_count);
	for (i = 0; i < u->stay_count; i++) {
		buf_put_uleb(&c->body, u->stay[i]);
		buf_put_uleb(&c->body, u->until_ns - u->stay_ns[i]);
	}
}

static void put_cost(struct codec *c, const struct item_cost *k)
{
	buf_put_uleb(&c->body, k->marks);
	buf_put_uleb(&c->body, k->traps);
	buf_put_uleb(&c->body, k->cpu_ns);
}

static void put_counter(struct buf *b, u32 v, u32 *before)
{
	buf_put_sleb(b, (int32_t)(v - *before));
	*before = v;
}

/* What comes before the bits of a batch that is not as expected. */
static void put_batch_head(struct codec *c, const struct item_batch *b, struct records_thread *t,
			   bool known)
{
	u32 at = (u32)(t - c->records.threads);

	buf_put_uleb(&c->body, at);
	if (!known) {
		buf_put_uleb(&c->body, b->pid);
		buf_put_uleb(&c->body, b->tid);
		buf_put_uleb(&c->body, b->registry);
		buf_put_uleb(&c->body, b->thread);
	}
	put_since(&c->body, b->seq, t->seq);
	put_counter(&c->body, b->too_deep, &t->too_deep);
	put_counter(&c->body, b->unmatched, &t->unmatched);
	put_counter(&c->body, b->repaired, &t->repaired);
	put_counter(&c->body, b->in_mark, &t->in_mark);
	buf_put_uleb(&c->body, b->records);
}

static int put_records(struct codec *c, struct buf *out, struct records_thread *t,
		       const struct item_batch *b)
{
	u8 *at = buf_space(out, records_bound(b->records, b->bytes));

	if (!at)
		return -ENOMEM;
	t->seq = b->seq + b->records;
	out->len += (size_t)(records_write(&c->records, t, at, b->data, b->records) - at);
	return 0;
}

static int put_body(struct buf *out, enum tag tag, const struct buf *body)
{
	if (body->failed)
		return -ENOMEM;
	buf_put_u8(out, (u8)tag);
	buf_put_uleb(out, body->len);
	return buf_put(out, body->data, body->len);
}

int codec_put_batch(struct codec *c, struct buf *out, const struct item_batch *b, bool turn)
{
	struct records_thread *t =
		records_find(&c->records, b->pid, b->tid, b->registry, b->thread);
	bool known = t != NULL;

	buf_clear(&c->body);
	if (b->bytes > CODEC_ITEM_MAX)
		return -EMSGSIZE;
	if (known && t - c->records.threads < TAG_THREADS && t->seq == b->seq &&
	    t->too_deep == b->too_deep && t->unmatched == b->unmatched &&
	    t->repaired == b->repaired && t->in_mark == b->in_mark) {
		/* Batches mostly end with a turn: then the count need not be said. */
		buf_put_u8(out, (u8)((turn ? TAG_BATCH_TURN : TAG_BATCH_SHORT) |
				     (t - c->records.threads)));
		if (!turn)
			buf_put_uleb(out, b->records);
		return put_records(c, out, t, b);
	}
	if (!known)
		t = records_add(&c->records, b->pid, b->tid, b->registry, b->thread);
	if (!t)
		return -ENOSPC;
	put_batch_head(c, b, t, known);
	return put_records(c, &c->body, t, b) ?: put_body(out, TAG_BATCH, &c->body);
}

int codec_put(struct codec *c, struct buf *out, const struct item *it)
{
	struct batch_sum sum;

	buf_clear(&c->body);
	switch (it->type) {
	case ITEM_CLOCK:
		put_clock(c, &it->clock);
		return put_body(out, TAG_CLOCK, &c->body);
	case ITEM_PROCESS:
		if (it->process.change < PROCESS_SEEN || it->process.change > PROCESS_EXIT)
			return -EINVAL;
		put_process(c, &it->process);
		return put_body(out, TAG_PROCESS, &c->body);
	case ITEM_THREAD:
		put_thread(c, &it->thread);
		return put_body(out, TAG_THREAD, &c->body);
	case ITEM_DEFS:
		if (it->defs.bytes > CODEC_ITEM_MAX)
			return -EMSGSIZE;
		put_defs(c, &it->defs);
		return put_body(out, TAG_DEFS, &c->body);
	case ITEM_LOSS:
		put_loss(c, &it->loss);
		return put_body(out, TAG_LOSS, &c->body);
	case ITEM_UNFINISHED:
		if (!unfinished_is_sound(&it->unfinished))
			return -EINVAL;
		put_unfinished(c, &it->unfinished);
		return put_body(out, TAG_UNFINISHED, &c->body);
	case ITEM_COST:
		put_cost(c, &it->cost);
		return put_body(out, TAG_COST, &c->body);
	case ITEM_BATCH:
		if (batch_sum(it->batch.data, it->batch.bytes, it->batch.records, &sum))
			return -EINVAL;
		return codec_put_batch(c, out, &it->batch, sum.turn);
	case ITEM_OPEN: /* no recording has it */
		break;
	}
	return -EINVAL;
}

/* ------------------------------------------------------------- Reading -- */

/* Bounded: behind the end, or after nonsense, everything is 0 and `bad`. */
struct cursor {
	const u8 *at, *end;
	bool bad;
};

static u64 get_uleb(struct cursor *k)
{
	u64 v = 0;

	if (!k->bad && varint_get(&k->at, k->end, &v))
		k->bad = true;
	return k->bad ? 0 : v;
}

static u32 get_u32(struct cursor *k)
{
	u64 v = get_uleb(k);

	if (v > UINT32_MAX)
		k->bad = true;
	return (u32)v;
}

static u64 get_since(struct cursor *k, u64 before)
{
	return before + (u64)unzigzag(get_uleb(k));
}

static u32 get_counter(struct cursor *k, u32 before)
{
	s64 d = unzigzag(get_uleb(k));

	if (d != (int32_t)d)
		k->bad = true;
	return before + (u32)d;
}

static const char *get_string(struct cursor *k, char *dst)
{
	u64 n = get_uleb(k);

	if (n > CODEC_STRING_MAX || n > (u64)(k->end - k->at) || memchr(k->at, 0, n))
		k->bad = true;
	if (k->bad)
		n = 0;
	memcpy(dst, k->at, n);
	dst[n] = 0;
	k->at += n;
	return dst;
}

static void get_clock(struct codec *c, struct cursor *k, struct item_clock *v)
{
	v->cycles = get_since(k, c->clock.cycles);
	v->mono_ns = get_since(k, c->clock.mono_ns);
	v->real_ns = get_since(k, c->clock.real_ns);
	c->clock = *v;
}

static void get_process(struct codec *c, struct cursor *k, struct item_process *p)
{
	u32 change = get_u32(k);

	if (change < PROCESS_SEEN || change > PROCESS_EXIT)
		k->bad = true;
	p->change = (enum process_change)change;
	p->pid = get_u32(k);
	p->ppid = get_u32(k);
	p->mono_ns = get_since(k, c->clock.mono_ns);
	p->name = get_string(k, c->name);
	p->vm = get_string(k, c->vm);
}

static void get_thread(struct codec *c, struct cursor *k, struct item_thread *t)
{
	u32 ended;

	t->pid = get_u32(k);
	t->tid = get_u32(k);
	ended = get_u32(k);
	if (ended > 1)
		k->bad = true;
	t->ended = ended;
	t->mono_ns = get_since(k, c->clock.mono_ns);
	t->name = get_string(k, c->name);
}

static void get_defs(struct codec *c, struct cursor *k, struct item_defs *d)
{
	d->pid = get_u32(k);
	d->registry = get_uleb(k);
	if (k->end - k->at > CODEC_ITEM_MAX)
		k->bad = true;
	if (k->bad)
		return;
	d->bytes = (u32)(k->end - k->at);
	memcpy(c->data, k->at, d->bytes);
	d->data = c->data;
	k->at = k->end;
	if (batch_check(d->data, d->bytes, UINT32_MAX))
		k->bad = true;
}

static void get_loss(struct cursor *k, struct item_loss *l)
{
	u32 code = get_u32(k), i;

	/* A cause that a later version knows is still a loss. */
	l->all = code == LOSS_ALL_CODE;
	l->cause = l->all ? LOSS_TRUNCATED : LOSS_OTHER;
	for (i = 0; i < LOSS_CAUSES; i++)
		if (loss_codes[i] == code)
			l->cause = (enum loss_cause)i;
	l->records = get_uleb(k);
	l->batches = get_uleb(k);
}

static void get_unfinished(struct codec *c, struct cursor *k, struct item_unfinished *u)
{
	u32 why, event, i;

	u->pid = get_u32(k);
	u->tid = get_u32(k);
	u->registry = get_uleb(k);
	why = get_u32(k);
	event = get_u32(k);
	if (event > 1)
		k->bad = true;
	u->why = (enum unfinished_why)why;
	u->event = event;
	u->label = get_u32(k);
	u->until_ns = get_since(k, c->clock.mono_ns);
	u->begin_ns = u->until_ns - get_uleb(k);
	u->depth = get_u32(k);
	u->stay_count = get_u32(k);
	if (u->stay_count > UNFINISHED_STAYS)
		k->bad = true;
	for (i = 0; !k->bad && i < u->stay_count; i++) {
		u->stay[i] = get_u32(k);
		u->stay_ns[i] = u->until_ns - get_uleb(k);
	}
	if (!k->bad && !unfinished_is_sound(u))
		k->bad = true;
}

static void get_cost(struct cursor *k, struct item_cost *c)
{
	c->marks = get_uleb(k);
	c->traps = get_uleb(k);
	c->cpu_ns = get_uleb(k);
}

static void get_records(struct codec *c, struct cursor *k, struct records_thread *t, u32 records,
			struct item_batch *b)
{
	size_t used = 0;

	b->pid = t->pid;
	b->tid = t->tid;
	b->registry = t->registry;
	b->thread = t->thread;
	b->too_deep = t->too_deep;
	b->unmatched = t->unmatched;
	b->repaired = t->repaired;
	b->in_mark = t->in_mark;
	b->seq = t->seq;
	b->records = records;
	if (k->bad ||
	    records_read(&c->records, t, k->at, (size_t)(k->end - k->at), c->data, CODEC_ITEM_MAX,
			 &b->records, &b->bytes, &used) ||
	    batch_check(c->data, b->bytes, b->records)) {
		k->bad = true;
		return;
	}
	k->at += used;
	b->data = c->data;
	t->seq += b->records;
}

static void get_batch(struct codec *c, struct cursor *k, struct item_batch *b)
{
	struct records_thread *t = NULL;
	u32 at = get_u32(k), pid, tid, thread;
	u64 registry;

	if (at < c->records.thread_len) {
		t = &c->records.threads[at];
	} else if (at == c->records.thread_len) {
		pid = get_u32(k);
		tid = get_u32(k);
		registry = get_uleb(k);
		thread = get_u32(k);
		if (!k->bad && !records_find(&c->records, pid, tid, registry, thread))
			t = records_add(&c->records, pid, tid, registry, thread);
	}
	if (!t) {
		k->bad = true;
		return;
	}
	t->seq = get_since(k, t->seq);
	t->too_deep = get_counter(k, t->too_deep);
	t->unmatched = get_counter(k, t->unmatched);
	t->repaired = get_counter(k, t->repaired);
	t->in_mark = get_counter(k, t->in_mark);
	get_records(c, k, t, get_u32(k), b);
}

static void get_body(struct codec *c, struct cursor *k, u8 tag, struct item *it)
{
	switch (tag) {
	case TAG_CLOCK:
		it->type = ITEM_CLOCK;
		get_clock(c, k, &it->clock);
		break;
	case TAG_PROCESS:
		it->type = ITEM_PROCESS;
		get_process(c, k, &it->process);
		break;
	case TAG_THREAD:
		it->type = ITEM_THREAD;
		get_thread(c, k, &it->thread);
		break;
	case TAG_DEFS:
		it->type = ITEM_DEFS;
		get_defs(c, k, &it->defs);
		break;
	case TAG_BATCH:
		it->type = ITEM_BATCH;
		get_batch(c, k, &it->batch);
		break;
	case TAG_LOSS:
		it->type = ITEM_LOSS;
		get_loss(k, &it->loss);
		break;
	case TAG_UNFINISHED:
		it->type = ITEM_UNFINISHED;
		get_unfinished(c, k, &it->unfinished);
		break;
	case TAG_COST:
		it->type = ITEM_COST;
		get_cost(k, &it->cost);
		break;
	}
}

/* The next item. `type` stays 0 for one that is not known. */
static void get_item(struct codec *c, struct cursor *k, struct item *it)
{
	struct cursor body;
	u8 tag = *k->at++;
	u64 len;

	if (tag & TAG_BATCH_SHORT) {
		u32 at = tag & (TAG_THREADS - 1);

		it->type = ITEM_BATCH;
		if (at >= c->records.thread_len)
			k->bad = true;
		else
			get_records(c, k, &c->records.threads[at],
				    tag >= TAG_BATCH_TURN ? RECORDS_TURN : get_u32(k), &it->batch);
		return;
	}
	len = get_uleb(k);
	if (len > (u64)(k->end - k->at))
		k->bad = true;
	if (k->bad)
		return;
	body = (struct cursor){ k->at, k->at + len, false };
	k->at += len;
	/* Bytes left over are what a later version has added to this kind. */
	get_body(c, &body, tag, it);
	k->bad |= body.bad;
}

int codec_read(struct codec *c, const u8 *data, size_t len, bool with_anchor, item_fn fn, void *ctx,
	       struct codec_result *result)
{
	struct cursor k = { data, data + len, false };
	struct item it = { .type = ITEM_CLOCK };
	u64 rate, step;
	int rc = 0;

	*result = (struct codec_result){ 0 };
	it.clock.cycles = get_uleb(&k);
	it.clock.mono_ns = get_uleb(&k);
	it.clock.real_ns = get_uleb(&k);
	c->clock = it.clock;
	rate = get_uleb(&k);
	step = get_uleb(&k);
	if (!step || step > STEPS_MAX)
		k.bad = true;
	records_reset(&c->records, rate, k.bad ? 1 : step);
	if (with_anchor && !k.bad && it.clock.mono_ns)
		rc = fn(ctx, &it);
	while (!rc && !k.bad && k.at < k.end) {
		memset(&it, 0, sizeof(it));
		get_item(c, &k, &it);
		if (k.bad)
			break;
		if (!it.type) {
			result->unknown++;
			continue;
		}
		if (it.type == ITEM_BATCH)
			result->records += it.batch.records;
		rc = fn(ctx, &it);
	}
	result->bad = k.bad;
	return rc;
}
