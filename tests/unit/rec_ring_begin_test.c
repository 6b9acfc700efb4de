/* SPDX-License-Identifier: BSD-2-Clause */
/* Where what is left of a ring begins: all from there on is there, and the scheduler's record too. */
#include "rec_file.h"

#include "rec/chunk.h"
#include "rec/cut.h"
#include "rec/sched_ends.h"

enum {
	TYPE,
	PID = 1,
	TID,
	REGISTRY,
	THREAD,
	SEQ,
	RECORDS,
	BYTES,
	TOO_DEEP
}; /* of a batch in a log */

struct seen {
	u64 v[12];
	struct vmspan_span span; /* of a batch the first record, if it is one */
};

/* The item at *at; false at the end. */
static bool next_item(const struct log *l, u64 *item, u64 *at, struct seen *s)
{
	if (*item == l->count)
		return false;
	memcpy(s->v, l->bytes.data + *at, sizeof(s->v));
	s->span = (struct vmspan_span){ 0 };
	if (s->v[TYPE] == ITEM_BATCH && s->v[BYTES] >= sizeof(s->span))
		memcpy(&s->span, l->bytes.data + *at + sizeof(s->v), sizeof(s->span));
	memcpy(at, l->ends.data + 8 * (*item)++, 8);
	return true;
}

/* The number of the program's first record behind a clock's `which`th mention. */
static u64 first_behind(const struct log *l, u64 mono_ns, u32 which)
{
	u64 item = 0, at = 0;
	struct seen s;

	while (next_item(l, &item, &at, &s)) {
		if (s.v[TYPE] == ITEM_CLOCK && s.v[2] == mono_ns && which)
			which--;
		else if (!which && s.v[TYPE] == ITEM_BATCH && s.v[REGISTRY] != ITEM_SCHED_REGISTRY)
			return s.v[SEQ];
	}
	fail();
	return 0;
}

static u64 first_clock(const struct log *l)
{
	u64 item = 0, at = 0;
	struct seen s;

	assert_true(next_item(l, &item, &at, &s));
	assert_int_equal(s.v[TYPE], ITEM_CLOCK);
	return s.v[2];
}

static u32 count_clocks(const struct log *l, u64 mono_ns)
{
	u64 item = 0, at = 0;
	struct seen s;
	u32 n = 0;

	while (next_item(l, &item, &at, &s))
		n += s.v[TYPE] == ITEM_CLOCK && s.v[2] == mono_ns;
	return n;
}

static void all_since_its_begin_is_there(void **state)
{
	struct file *f = *state;
	struct rec_options o = { .ring_bytes = 256 << 10 };
	struct stream s = { .w = create(f, &o), .log = &f->written };
	u32 i;

	stream_begin(&s, 99);
	for (i = 0; i < 20; i++) {
		u64 begin;

		stream_events(&s, 1009);
		assert_int_equal(s.rc, 0);
		assert_int_equal(rec_sync(s.w, &f->err), 0);
		assert_int_equal(read_back(f), 0);
		begin = first_clock(&f->read);
		assert_true(first_behind(&f->read, begin, 1) <=
			    first_behind(&f->written, begin, 1));
		assert_int_equal(f->read.lost, 0);
	}
	assert_true(first_behind(&f->read, first_clock(&f->read), 1) > 0);
	assert_int_equal(rec_close(s.w, &f->err), 0);
}

static int count_losses(void *ctx, const struct item *it)
{
	if (it->type == ITEM_LOSS && it->loss.cause == LOSS_TRUNCATED)
		*(u32 *)ctx += (u32)it->loss.batches;
	return 0;
}

static u32 losses_in(struct file *f, const char *path)
{
	struct source_info info;
	struct rec_reader *r = rec_open(path, &info, &f->err);
	u32 losses = 0;

	assert_non_null(r);
	rec_goes_on(r);
	while (rec_read(r, count_losses, &losses, &f->err) > 0)
		;
	rec_reader_free(r);
	return losses;
}

/* Less than an interval of clocks: what is gone of it nobody knows, and the rest is better than nothing. */
static void without_two_clocks_something_is_missing(void **state)
{
	struct file *f = *state;
	struct rec_options o = { .ring_bytes = 256 << 10 };
	struct stream s = { .w = create(f, &o) };
	struct item it;
	u32 clocks, i;

	stream_begin(&s, 99);
	for (i = 0; i < 20000; i++)
		gen_event(&s.g);
	for (clocks = 0; clocks < 3; clocks++) {
		it = clock_item(s.g.now + clocks);
		stream_item(&s, &it);
		assert_int_equal(rec_sync(s.w, &f->err), 0);
		assert_int_equal(losses_in(f, f->path), clocks < 1);
		/* And so does what is written of it. */
		assert_int_equal(rec_cut(f->path, f->copy, 0, UINT64_MAX, NULL, 0, &f->err), 0);
		assert_int_equal(losses_in(f, f->copy), clocks < 1);
	}
	assert_int_equal(s.rc, 0);
	assert_int_equal(rec_close(s.w, &f->err), 0);
}

/* What its writer is told the time is, and how far the program was when it asked. */
static struct {
	const struct gen *g;
	u64 ahead; /* of the time, cycles */
	struct {
		u64 mono_ns, seq;
	} at[64];
	u32 count;
} asked;

static void ask(enum source_clock clock, struct item_clock *now)
{
	assert_int_equal(clock, test_info()->clock);
	assert_true(asked.count < ARRAY_SIZE(asked.at));
	*now = clock_item(asked.g->now + asked.ahead).clock;
	asked.at[asked.count].mono_ns = now->mono_ns;
	asked.at[asked.count++].seq = asked.g->seq;
}

/* Not up to an interval of clocks later. */
static void it_begins_where_its_oldest_state_was_written(void **state)
{
	struct file *f = *state;
	struct rec_options o = { .ring_bytes = 256 << 10, .clock = ask };
	struct stream s = { .w = create(f, &o) };
	u32 i, k, wrapped = 0;

	stream_begin(&s, 99);
	memset(&asked, 0, sizeof(asked));
	asked.g = &s.g;
	asked.ahead = GEN_CYCLES_PER_US; /* or it might be that of the stream's clock behind it */
	for (i = 0; i < 20; i++) {
		u64 begin;

		stream_events(&s, 1009);
		assert_int_equal(s.rc, 0);
		assert_int_equal(rec_sync(s.w, &f->err), 0);
		assert_int_equal(read_back(f), 0);
		begin = first_clock(&f->read);
		if (!first_behind(&f->read, begin, 1))
			continue;
		wrapped++;
		for (k = 0; k < asked.count && asked.at[k].mono_ns != begin; k++)
			;
		assert_true(k < asked.count);
		assert_int_equal(first_behind(&f->read, begin, 1), asked.at[k].seq);
		assert_int_equal(count_clocks(&f->read, begin), 1);
		assert_int_equal(f->read.lost + f->read.cut, 1);
	}
	assert_true(wrapped > 5);
	assert_int_equal(rec_close(s.w, &f->err), 0);
}

/* As at the end of a trace: what was on its way is drained after the last clock was read. */
static void where_no_clock_comes_later_its_own_is_kept(void **state)
{
	struct file *f = *state;
	struct rec_options o = { .ring_bytes = 256 << 10, .clock = ask };
	struct stream s = { .w = create(f, &o) };
	u64 begin;

	stream_begin(&s, 99);
	memset(&asked, 0, sizeof(asked));
	asked.g = &s.g;
	asked.ahead = 1ull << 50;
	stream_events(&s, 20011);
	assert_int_equal(s.rc, 0);
	assert_int_equal(rec_close(s.w, &f->err), 0);
	assert_int_equal(read_back(f), 0);
	assert_true(asked.count > 4);
	begin = first_clock(&f->read);
	assert_true(begin && begin < asked.at[0].mono_ns);
	assert_int_equal(count_clocks(&f->read, begin), 1);
	assert_int_equal(f->read.cut, 1);
}

/* Where the oldest state lies in a file of `len` bytes. */
static u8 *oldest_state(u8 *p, size_t len)
{
	struct file_head head;
	struct chunk_head h, oldest = { 0 };
	u8 *found = NULL;
	size_t at;

	assert_int_equal(file_head_get(p, len, &head), FILE_HEAD_GOOD);
	for (at = FILE_HEAD; at + CHUNK_HEAD <= len; at++) {
		if (!chunk_head_get(p + at, head.id, &h) || h.kind != CHUNK_STATE ||
		    !(h.flags & CHUNK_STATE_BEGINS) || (found && h.number > oldest.number))
			continue;
		oldest = h;
		found = p + at;
	}
	assert_non_null(found);
	return found;
}

/* The names that what follows needs are in it. */
static void a_beginning_that_is_damaged_is_told_of(void **state)
{
	struct file *f = *state;
	struct rec_options o = { .ring_bytes = 256 << 10 };
	struct stream s = { .w = create(f, &o) };
	size_t len;
	u8 *p;

	stream_begin(&s, 99);
	stream_events(&s, 20011);
	assert_int_equal(s.rc, 0);
	assert_int_equal(rec_close(s.w, &f->err), 0);
	assert_int_equal(read_back(f), 0);
	assert_int_equal(f->read.cut, 0);
	p = slurp(f->path, &len);
	oldest_state(p, len)[CHUNK_HEAD + 7] ^= 1;
	spill(f->copy, p, len);
	free(p);
	assert_int_equal(read_copy(f), 0);
	assert_string_equal(f->note, "1 chunk is damaged or missing");
	assert_int_equal(f->read.cut, 1);
	/* Which holds for what is written of it. */
	spill(f->path, "", 0);
	assert_int_equal(rename(f->copy, f->path), 0);
	assert_int_equal(rec_cut(f->path, f->copy, 0, UINT64_MAX, NULL, 0, &f->err), 0);
	assert_int_equal(read_copy(f), 0);
	assert_int_equal(f->read.cut, 1);
}

/* ---- The scheduler's record ---- */

static struct item sched_item(u32 tid, u64 seq, u32 lost, const struct vmspan_span *span)
{
	return (struct item){ .type = ITEM_BATCH,
			      .batch = { .pid = 4242,
					 .tid = tid,
					 .registry = ITEM_SCHED_REGISTRY,
					 .thread = tid,
					 .seq = seq,
					 .records = 1,
					 .bytes = sizeof(*span),
					 .data = span,
					 .too_deep = lost } };
}

static void put_off(struct stream *s, u32 tid, u64 seq, u32 lost)
{
	struct vmspan_span off = {
		.h = { VMSPAN_OFF, 1, seq ? VMSPAN_OFF_SLEEPING : VMSPAN_OFF_START, 0 },
		.begin = s->g.now - (seq ? 100 : 0),
		.end = s->g.now,
	};
	struct item it = sched_item(tid, seq, lost, &off);

	stream_item(s, &it);
}

static void put_thread(struct stream *s, u32 tid, bool ended)
{
	struct item it = thread_item(s->pid, tid, "worker", ended);

	stream_item(s, &it);
}

/* Threads, and rounds of work. */
enum {
	STEADY = 4301,
	LOSES,
	ENDS,
	SLEEPS,
	THREADS = 4,
	ROUNDS = 200
};

static void the_schedulers_record_begins_there_too(void **state)
{
	struct file *f = *state;
	struct rec_options o = { .ring_bytes = 256 << 10 };
	struct stream s = { .w = create(f, &o), .log = &f->written };
	u64 next[THREADS] = { 0 }, item = 0, at = 0, begin;
	u32 batches[THREADS] = { 0 }, i, tid;
	struct seen seen;

	stream_begin(&s, 99);
	for (tid = STEADY; tid <= SLEEPS; tid++)
		put_thread(&s, tid, false);
	for (i = 0; i < ROUNDS; i++) {
		put_off(&s, STEADY, i, 0);
		put_off(&s, LOSES, i, i > 50);
		if (i < 20)
			put_off(&s, ENDS, i, 0);
		if (i == 20)
			put_thread(&s, ENDS, true);
		if (!i)
			put_off(&s, SLEEPS, 0, 0);
		stream_events(&s, 97);
	}
	assert_int_equal(s.rc, 0);
	assert_int_equal(rec_close(s.w, &f->err), 0);
	assert_int_equal(read_back(f), 0);
	begin = f->read.count ? first_clock(&f->read) : 0;
	while (next_item(&f->read, &item, &at, &seen)) {
		u64 t = seen.v[TID] - STEADY;
		bool start = seen.span.h.depth == VMSPAN_OFF_START;

		if (seen.v[TYPE] != ITEM_BATCH || seen.v[REGISTRY] != ITEM_SCHED_REGISTRY)
			continue;
		assert_in_range(t, 0, THREADS - 1);
		/* A second one behind that with which a count of losses is new. */
		assert_int_equal(start, batches[t] < (seen.v[TID] == LOSES ? 2 : 1));
		if (batches[t]++)
			assert_int_equal(seen.v[SEQ], next[t]);
		next[t] = seen.v[SEQ] + 1;
		assert_int_equal(seen.v[TOO_DEEP], seen.v[TID] == LOSES);
		if (start)
			assert_true(gen_mono(seen.span.end) <= begin);
	}
	assert_true(batches[STEADY - STEADY] > 10 && next[STEADY - STEADY] == ROUNDS);
	assert_true(batches[LOSES - STEADY] > 10 && next[LOSES - STEADY] == ROUNDS);
	assert_int_equal(batches[ENDS - STEADY], 0);
	assert_int_equal(batches[SLEEPS - STEADY], 1);
}

static int count_items(void *ctx, const struct item *it)
{
	*(u32 *)ctx += it->type == ITEM_BATCH;
	return 0;
}

static u32 starts_of(const struct sched_end *e)
{
	u32 n = 0;

	assert_int_equal(sched_end_start(e, count_items, &n), 0);
	return n;
}

/* As long as something is missing behind the last record, nothing begins there. */
static void behind_a_loss_nothing_begins(void **state)
{
	static const struct {
		u64 seq;
		u32 lost, starts;
	} batches[] = {
		{ 0, 0, 1 }, { 1, 0, 1 }, { 2, 1, 0 },  { 3, 1, 2 },
		{ 9, 1, 2 }, { 5, 1, 2 }, { 10, 2, 0 },
	};
	const struct vmspan_span off = { .h = { VMSPAN_OFF, 1, VMSPAN_OFF_IO, 0 } };
	struct sched_ends ends = { 0 };
	u64 most = 0;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(batches); i++) {
		struct item it = sched_item(1, batches[i].seq, batches[i].lost, &off);
		struct sched_end *e;
		int rc;

		most = max_u64(most, batches[i].seq + 1);
		e = sched_end_of(&ends, &it.batch, 1, &rc);
		assert_non_null(e);
		sched_end_note(e, &it.batch);
		assert_int_equal(e->next, most);
		assert_int_equal(starts_of(e), batches[i].starts);
	}
	sched_ends_free(&ends);
}

static void so_many_threads_are_followed(void **state)
{
	const struct vmspan_span off = { .h = { VMSPAN_OFF, 1, VMSPAN_OFF_IO, 0 } };
	struct sched_ends ends = { 0 };
	int rc;
	u32 i;

	(void)state;
	for (i = 1; i <= 4; i++) {
		struct item it = sched_item(i, 0, 0, &off);

		assert_int_equal(sched_end_of(&ends, &it.batch, 3, &rc) != NULL, i < 4);
		assert_int_equal(rc, i < 4 ? 0 : -ENOSPC);
	}
	sched_ends_forget_thread(&ends, 4242, 1);
	sched_ends_forget_thread(&ends, 4242, 1);
	assert_int_equal(ends.len, 2);
	for (i = 0; i < ends.len; i++) {
		struct item it = sched_item(ends.ends[i].tid, 0, 0, &off);

		assert_ptr_equal(sched_end_of(&ends, &it.batch, 0, &rc), &ends.ends[i]);
	}
	sched_ends_forget(&ends, 4243);
	assert_int_equal(ends.len, 2);
	sched_ends_forget(&ends, 4242);
	assert_int_equal(ends.len, 0);
	sched_ends_free(&ends);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(all_since_its_begin_is_there, setup, teardown),
		cmocka_unit_test_setup_teardown(without_two_clocks_something_is_missing, setup,
						teardown),
		cmocka_unit_test_setup_teardown(it_begins_where_its_oldest_state_was_written, setup,
						teardown),
		cmocka_unit_test_setup_teardown(where_no_clock_comes_later_its_own_is_kept, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_beginning_that_is_damaged_is_told_of, setup,
						teardown),
		cmocka_unit_test_setup_teardown(the_schedulers_record_begins_there_too, setup,
						teardown),
		cmocka_unit_test(behind_a_loss_nothing_begins),
		cmocka_unit_test(so_many_threads_are_followed),
	};

	return cmocka_run_group_tests_name("rec_ring_begin", tests, NULL, NULL);
}
