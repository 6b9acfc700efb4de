/* SPDX-License-Identifier: BSD-2-Clause */
/* Items <-> bytes: what is read is what was written, and it is small. */
#include "rec_util.h"
#include "seed.h"

#include "rec/codec.h"

#include <errno.h>
#include <sys/mman.h>
#include <time.h>

struct bench {
	struct codec *codec;
	u32 step; /* given to the codec */
	u32 ahead; /* of so many readings one is a cycle ahead of its step; 0: none */
	u32 readings, read_ahead; /* so far; of them ahead */
	u32 apart; /* another CPU's counter is so far off the steps: every second turn */
	struct buf out;
	struct log written, read;
};

static int setup(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));

	b->codec = codec_new();
	*state = b;
	return b->codec ? 0 : -1;
}

static int teardown(void **state)
{
	struct bench *b = *state;

	codec_free(b->codec);
	buf_free(&b->out);
	log_free(&b->written);
	log_free(&b->read);
	free(b);
	return 0;
}

static void begin(struct bench *b, u64 rate)
{
	struct item_clock none = { 0 };

	buf_clear(&b->out);
	log_free(&b->written);
	log_free(&b->read);
	assert_int_equal(codec_begin(b->codec, &b->out, &none, rate, b->step), 0);
}

static void put(struct bench *b, const struct item *it)
{
	size_t before = b->out.len, bound = codec_bound(it);

	assert_int_equal(codec_put(b->codec, &b->out, it), 0);
	assert_true(b->out.len - before <= bound);
	log_item(&b->written, it);
}

/* Reads what was put and compares. */
static void check(struct bench *b)
{
	struct codec_result result;

	memset(buf_space(&b->out, CODEC_PAD), 0xff, CODEC_PAD);
	assert_int_equal(
		codec_read(b->codec, b->out.data, b->out.len, false, log_item, &b->read, &result),
		0);
	assert_false(result.bad);
	assert_int_equal(result.records, b->written.records);
	log_assert_equal(&b->written, &b->read);
}

/* A counter that moves on by `step` where the generator's does by one. */
static u64 count_in_steps(struct bench *b, u64 time, bool other_cpu)
{
	bool ahead = b->ahead && b->readings++ % b->ahead == 0;

	b->read_ahead += ahead;
	return time * b->step + ahead + (other_cpu ? b->apart : 0);
}

static void read_counter(struct bench *b, struct gen *g)
{
	struct vmspan_span *s;
	u32 i, at;

	for (i = at = 0; i < g->records; i++, at += s->h.slots * 4u) {
		s = (void *)(g->data + at);
		s->begin = count_in_steps(b, s->begin, g->iteration & 1);
		s->end = count_in_steps(b, s->end, g->iteration & 1);
	}
}

static int gen_put(void *ctx, struct gen *g)
{
	struct bench *b = ctx;
	struct item it;

	if (b->step)
		read_counter(b, g);
	it = batch_item(42, g);
	put(ctx, &it);
	return 0;
}

enum {
	TURNS = 1009
};

static const u64 rate = (u64)(4294967296.0 / 2.1);

static void realistic_batches_come_back(void **state)
{
	struct gen g = {
		.seed = 7, .sigma = 0.5, .now = 1ull << 41, .batch = gen_put, .ctx = *state
	};
	int i;

	begin(*state, rate);
	for (i = 0; i < TURNS; i++)
		gen_event(&g);
	check(*state);
}

static size_t bytes_of_turns(struct bench *b, u32 step, u32 ahead, u32 apart)
{
	struct gen g = { .seed = 7, .sigma = 0.5, .now = 1ull << 41, .batch = gen_put, .ctx = b };
	int i;

	b->step = step;
	b->ahead = ahead;
	b->apart = apart;
	b->readings = b->read_ahead = 0;
	begin(b, rate / step);
	for (i = 0; i < TURNS; i++)
		gen_event(&g);
	check(b);
	return b->out.len;
}

/* A counter that counts by 26 costs no more than one that counts by one. */
static void steps_of_the_counter_cost_nothing(void **state)
{
	struct bench *b = *state;
	size_t one = bytes_of_turns(b, 1, 0, 0), more = bytes_of_turns(b, 26, 0, 0);

	/* But for the clocks, which are told in steps and rests. */
	assert_in_range(more, one * 98 / 100, one + TURNS * 2);
}

/* A reading that is a cycle ahead costs ten bits, and what follows nothing. */
static void readings_ahead_of_their_step_cost_ten_bits(void **state)
{
	struct bench *b = *state;
	size_t none = bytes_of_turns(b, 26, 0, 0), more;
	u32 each;

	for (each = 7; each < 100; each += 31) {
		more = bytes_of_turns(b, 26, each, 0);
		assert_in_range(more, none, none + b->read_ahead * 10 / 8);
	}
	/* Both times of many records. */
	bytes_of_turns(b, 64, 2, 0);
	bytes_of_turns(b, 64, 1, 0);
}

/* A thread that comes to a CPU whose counter stands elsewhere pays for it once. */
static void another_counter_costs_once_a_move(void **state)
{
	struct bench *b = *state;
	size_t none = bytes_of_turns(b, 26, 0, 0);
	u32 apart;

	for (apart = 1; apart < 26; apart += 4)
		assert_in_range(bytes_of_turns(b, 26, 0, apart), none, none + TURNS * 6);
	bytes_of_turns(b, 26, 9, 13);
}

/* A number of any size, small ones and edges often. */
static u64 any_number(u64 *seed)
{
	u64 v = gen_random(seed);

	switch (gen_random(seed) % 6) {
	case 0:
		return v;
	case 1:
		return 0;
	case 2:
		return UINT64_MAX - (v & 3);
	case 3:
		return 1ull << 63;
	default:
		return v >> (gen_random(seed) % 64);
	}
}

/* Fills a batch with valid records of any content. Returns how many. */
static u32 any_records(u64 *seed, struct buf *b)
{
	static const u8 types[] = { 1, 1, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 0, 10, 99, 255 };
	static const u8 size[] = {
		[1] = 1, [2] = 3, [3] = 2, [4] = 2, [5] = 1, [6] = 1, [7] = 1, [10] = 1
	};
	u32 n = (u32)(gen_random(seed) % 60), i, k;
	static u64 similar[255 * 4];

	buf_clear(b);
	for (i = 0; i < n; i++) {
		u8 type = types[gen_random(seed) % sizeof(types)];
		u8 slots = type < sizeof(size) && size[type] ? size[type]
							     : (u8)(1 + gen_random(seed) % 12);
		u64 words[12 * 4] = { 0 };
		struct vmspan_def *d = (void *)words;
		bool alike = gen_random(seed) % 2;

		for (k = 0; k < slots * 4u; k++)
			words[k] = alike ? similar[k] + gen_random(seed) % 3 : any_number(seed);
		/* Mostly as real ones are: what nobody uses is zero. */
		if (gen_random(seed) % 4) {
			if (type == VMSPAN_EVENT)
				memset(&((struct vmspan_event *)words)->stolen_ns, 0, 24);
			if (type == VMSPAN_GC)
				memset(((struct vmspan_gc *)words)->reserved, 0, 16);
			if (type == VMSPAN_BLOCK)
				memset(((struct vmspan_block *)words)->reserved, 0, 24);
			if (type >= VMSPAN_INPUT && type <= VMSPAN_VALUE)
				((struct vmspan_point *)words)->pad = 0;
		}
		memcpy(similar, words, slots * (size_t)VMSPAN_SLOT);
		d->h.type = type;
		d->h.slots = slots;
		d->h.depth = (u16)any_number(seed);
		if (alike)
			d->h.depth &= 3;
		if (type >= 16 && type <= VMSPAN_DEF_LAST) {
			d->count = (u8)(gen_random(seed) % 5);
			d->name_len = (u8)(gen_random(seed) % 4 ? 0 : (slots - 1) * VMSPAN_SLOT);
			if (12u + d->count * 4u + d->name_len > slots * 32u)
				d->name_len = 0;
		}
		buf_put(b, words, slots * (size_t)VMSPAN_SLOT);
	}
	return n;
}

static struct item_unfinished any_unfinished(u64 *seed)
{
	struct item_unfinished u = { .pid = (u32)any_number(seed),
				     .tid = (u32)any_number(seed),
				     .registry = any_number(seed),
				     .why = (enum unfinished_why)(1 + gen_random(seed) % 4),
				     .label = (u32)any_number(seed),
				     .begin_ns = any_number(seed) };
	u64 at = u.begin_ns;

	u.stay_count = (u32)(gen_random(seed) % (UNFINISHED_STAYS + 1));
	u.event = !u.stay_count || gen_random(seed) % 2;
	u.depth = u.stay_count + (u32)(gen_random(seed) % 2 ? any_number(seed) % 100 : 0);
	for (u32 i = 0; i < u.stay_count; i++) {
		at += gen_random(seed) % (1 + (UINT64_MAX - at) / 32);
		u.stay[i] = (u32)any_number(seed);
		u.stay_ns[i] = at;
	}
	u.until_ns = at + gen_random(seed) % (1 + (UINT64_MAX - at) / 2);
	return u;
}

/* Any item at all that is valid. */
static void put_any(struct bench *b, u64 *seed, struct buf *data)
{
	static const char *const names[] = { "", "a", "main", "\xff\x1b[31m", "worker thread" };
	static u64 next[5][8]; /* seq, so that batches often go on as expected */
	struct item it = { .type = ITEM_BATCH };
	u32 few = (u32)(gen_random(seed) % 5), tid = (u32)(gen_random(seed) % 8);
	enum loss_cause cause;

	switch (gen_random(seed) % 12) {
	case 0:
		it.type = ITEM_CLOCK;
		it.clock =
			(struct item_clock){ any_number(seed), any_number(seed), any_number(seed) };
		break;
	case 1:
		it.type = ITEM_PROCESS;
		it.process = (struct item_process){ (enum process_change)(1 + few % 4),
						    (u32)any_number(seed),
						    (u32)any_number(seed),
						    any_number(seed),
						    names[few],
						    names[4 - few] };
		break;
	case 2:
		it.type = ITEM_THREAD;
		it.thread = (struct item_thread){ (u32)any_number(seed), (u32)any_number(seed),
						  few & 1, any_number(seed), names[few] };
		break;
	case 3:
		cause = (enum loss_cause)(gen_random(seed) % LOSS_CAUSES);
		it.type = ITEM_LOSS;
		it.loss = (struct item_loss){ cause, any_number(seed), any_number(seed),
					      cause == LOSS_TRUNCATED && any_number(seed) % 2 };
		break;
	case 4:
		any_records(seed, data);
		it.type = ITEM_DEFS;
		it.defs = (struct item_defs){ few, any_number(seed), data->data, (u32)data->len };
		break;
	case 5:
		it.type = ITEM_UNFINISHED;
		it.unfinished = any_unfinished(seed);
		break;
	case 6:
		it.type = ITEM_COST;
		it.cost =
			(struct item_cost){ any_number(seed), any_number(seed), any_number(seed) };
		break;
	default:
		it.batch.records = any_records(seed, data);
		it.batch.bytes = (u32)data->len;
		it.batch.data = data->data;
		it.batch.pid = few;
		it.batch.tid = gen_random(seed) % 4 ? tid : (u32)any_number(seed);
		it.batch.registry = gen_random(seed) % 8 == 0;
		it.batch.seq = few ? next[few][tid] : any_number(seed);
		next[few][tid] = it.batch.seq + it.batch.records;
		it.batch.too_deep = few == 1 ? (u32)gen_random(seed) % 2 : 0;
		it.batch.unmatched = few == 2 ? (u32)any_number(seed) : 0;
		it.batch.repaired = few == 3 ? (u32)any_number(seed) : 0;
		it.batch.in_mark = few == 4 ? (u32)any_number(seed) : 0;
		break;
	}
	put(b, &it);
}

static void any_items_come_back(void **state)
{
	u64 base = seed_given() + 1, seed;
	struct buf data = { 0 };
	int round, i;

	for (round = 0; round < 400; round++) {
		seed = base * 1000 + (u64)round;
		((struct bench *)*state)->step = (u32)any_number(&seed) % (1 << 17);
		begin(*state, any_number(&seed));
		for (i = 0; i < 40; i++)
			put_any(*state, &seed, &data);
		check(*state);
	}
	buf_free(&data);
}

/* Threads beyond what a chunk holds ask for another chunk, and stay out. */
static void too_many_threads_need_another_chunk(void **state)
{
	struct bench *b = *state;
	struct item it = { .type = ITEM_BATCH };
	u32 i;

	begin(b, rate);
	for (i = 0; i < 1024; i++) {
		it.batch.tid = i;
		put(b, &it);
	}
	it.batch.tid = i;
	assert_int_equal(codec_put(b->codec, &b->out, &it), -ENOSPC);
	check(b);
}

static void an_item_of_a_later_version_is_skipped(void **state)
{
	struct bench *b = *state;
	struct item k = clock_item(12345);
	struct codec_result result;

	begin(b, rate);
	put(b, &k);
	buf_put(&b->out, "\x55\x03xyz", 5);
	put(b, &k);
	memset(buf_space(&b->out, CODEC_PAD), 0, CODEC_PAD);
	assert_int_equal(
		codec_read(b->codec, b->out.data, b->out.len, false, log_item, &b->read, &result),
		0);
	assert_int_equal(result.unknown, 1);
	assert_false(result.bad);
	log_assert_equal(&b->written, &b->read);
}

/* Nothing is written through an item's pointers, not even the same bytes: the
 * kernel's ring buffer is mapped read only. */
static int put_read_only(void *ctx, struct gen *g)
{
	struct item it = batch_item(42, g);
	size_t size = sizeof(g->data);
	void *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(page, MAP_FAILED);
	memcpy(page, g->data, size);
	assert_int_equal(mprotect(page, size, PROT_READ), 0);
	it.batch.data = page;
	put(ctx, &it);
	munmap(page, size);
	return 0;
}

static void the_batch_is_only_read(void **state)
{
	struct gen g = {
		.seed = 3, .sigma = 0.5, .now = 1000, .batch = put_read_only, .ctx = *state
	};
	u8 type;

	begin(*state, rate);
	gen_event(&g);
	for (type = VMSPAN_GC; type <= VMSPAN_VALUE; type++)
		gen_append(&g, type, type <= VMSPAN_BLOCK ? 2 : 1, 1, 5);
	gen_event(&g);
	check(*state);
}

/* ----------------------------------------------------------- batch_check -- */

static u64 slots[8 * 4];

static struct vmspan_head *slot(u32 at, u8 type, u8 n)
{
	struct vmspan_head *h = (void *)(slots + at * 4);

	*h = (struct vmspan_head){ type, n, 0, 1 };
	return h;
}

static void check_takes_what_is_whole(void **state)
{
	struct vmspan_def *d;

	(void)state;
	assert_int_equal(batch_check(slots, 0, 0), 0);
	slot(0, VMSPAN_SPAN, 1);
	slot(1, VMSPAN_EVENT, 3);
	slot(4, 77, 2);
	d = (void *)slot(6, VMSPAN_DEF_COMPARTMENT, 2);
	d->count = 8;
	d->name_len = 64 - 12 - 32;
	assert_int_equal(batch_check(slots, 8 * 32, 4), 0);
	assert_int_equal(batch_check(slots, 8 * 32, UINT32_MAX), 0);
}

static void check_refuses_a_wrong_count(void **state)
{
	(void)state;
	slot(0, VMSPAN_SPAN, 1);
	slot(1, VMSPAN_SPAN, 1);
	assert_int_equal(batch_check(slots, 64, 1), -EBADMSG);
	assert_int_equal(batch_check(slots, 64, 3), -EBADMSG);
	assert_int_equal(batch_check(slots, 64, 2), 0);
}

static void check_refuses_what_is_cut(void **state)
{
	u32 bytes;

	(void)state;
	slot(0, VMSPAN_EVENT, 3);
	for (bytes = 1; bytes < 96; bytes++)
		assert_int_equal(batch_check(slots, bytes, 1), -EBADMSG);
	assert_int_equal(batch_check(slots, 96, 1), 0);
}

static void check_refuses_wrong_slots(void **state)
{
	u8 type;

	(void)state;
	slot(0, 77, 0);
	assert_int_equal(batch_check(slots, 32, 1), -EBADMSG);
	slot(0, 77, 9);
	assert_int_equal(batch_check(slots, 8 * 32, 1), -EBADMSG);
	/* None of them takes four slots. */
	for (type = VMSPAN_SPAN; type <= VMSPAN_VALUE; type++) {
		slot(0, type, 4);
		assert_int_equal(batch_check(slots, 4 * 32, 1), -EBADMSG);
	}
}

static void check_refuses_definitions_beyond_their_slots(void **state)
{
	struct vmspan_def *d = (void *)slot(0, VMSPAN_DEF_GROUP, 2);

	(void)state;
	memset(&d->kind, 0, 8);
	d->count = 9;
	assert_int_equal(batch_check(slots, 64, 1), -EBADMSG);
	d->count = 2;
	d->name_len = 64 - 16 - 8 + 1 + 4;
	assert_int_equal(batch_check(slots, 64, 1), -EBADMSG);
	d->name_len--;
	assert_int_equal(batch_check(slots, 64, 1), 0);
}

static void every_cause_of_loss_has_a_name(void **state)
{
	int i, k;

	(void)state;
	for (i = 0; i < LOSS_CAUSES; i++) {
		assert_string_not_equal(loss_name((enum loss_cause)i), "unknown");
		for (k = 0; k < i; k++)
			assert_string_not_equal(loss_name((enum loss_cause)i),
						loss_name((enum loss_cause)k));
	}
	assert_string_equal(loss_name(LOSS_CAUSES), "unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(realistic_batches_come_back, setup, teardown),
		cmocka_unit_test_setup_teardown(steps_of_the_counter_cost_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(readings_ahead_of_their_step_cost_ten_bits, setup,
						teardown),
		cmocka_unit_test_setup_teardown(another_counter_costs_once_a_move, setup, teardown),
		cmocka_unit_test_setup_teardown(any_items_come_back, setup, teardown),
		cmocka_unit_test_setup_teardown(too_many_threads_need_another_chunk, setup,
						teardown),
		cmocka_unit_test_setup_teardown(an_item_of_a_later_version_is_skipped, setup,
						teardown),
		cmocka_unit_test_setup_teardown(the_batch_is_only_read, setup, teardown),
		cmocka_unit_test(check_takes_what_is_whole),
		cmocka_unit_test(check_refuses_a_wrong_count),
		cmocka_unit_test(check_refuses_what_is_cut),
		cmocka_unit_test(check_refuses_wrong_slots),
		cmocka_unit_test(check_refuses_definitions_beyond_their_slots),
		cmocka_unit_test(every_cause_of_loss_has_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
