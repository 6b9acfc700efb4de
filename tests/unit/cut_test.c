/* SPDX-License-Identifier: BSD-2-Clause */
/* A part of a recording: what is in it, in words, and what it needs of what was before. */
#include "rec_file.h"

#include "rec/cut.h"

#include <signal.h>
#include <sys/resource.h>

#define PID 7
#define SECOND NSEC_PER_SEC
#define SDK_REGISTRY 0x1000

struct maker {
	struct rec_writer *w;
	struct buf batch;
	u32 records;
	u64 seq, sched_seq;
};

static void put(struct maker *m, const struct item *it)
{
	assert_int_equal(rec_item(m->w, it), 0);
}

/* Cycles are ns. */
static void put_clock(struct maker *m, u64 tenths)
{
	u64 ns = tenths * SECOND / 10;
	struct item it = { .type = ITEM_CLOCK, .clock = { ns, ns, ns } };

	put(m, &it);
}

static void put_loss(struct maker *m, u64 records)
{
	struct item it = { .type = ITEM_LOSS, .loss = { LOSS_RING_FULL, records, 1, false } };

	put(m, &it);
}

static void put_cost(struct maker *m, u64 marks)
{
	struct item it = { .type = ITEM_COST, .cost = { marks, 0, marks } };

	put(m, &it);
}

static void add(struct maker *m, const void *record, u32 bytes)
{
	buf_put(&m->batch, record, bytes);
	m->records++;
}

static void add_span(struct maker *m, u64 tenths)
{
	u64 ns = tenths * SECOND / 10;
	struct vmspan_span s = { .h = { VMSPAN_SPAN, 1, 0, 1 }, .begin = ns, .end = ns + 1 };

	add(m, &s, sizeof(s));
}

static void add_def(struct maker *m, u8 type, u32 id)
{
	struct vmspan_def d = { .h = { type, 1, 0, id }, .kind = VMSPAN_ADDON, .name_len = 1 };
	u8 slot[VMSPAN_SLOT] = { 0 };

	memcpy(slot, &d, sizeof(d));
	slot[sizeof(d)] = 'a';
	add(m, slot, sizeof(slot));
}

static void add_off(struct maker *m, u64 begin, u64 end, u16 reason)
{
	struct vmspan_span s = {
		.h = { VMSPAN_OFF, 1, reason, 0 },
		.begin = begin * SECOND / 10,
		.end = end * SECOND / 10,
	};

	add(m, &s, sizeof(s));
}

static void add_wake(struct maker *m)
{
	struct vmspan_wake w = { .h = { VMSPAN_WAKE, 1, 0, 0 } };

	add(m, &w, sizeof(w));
}

static void put_batch(struct maker *m, bool sched)
{
	u64 *seq = sched ? &m->sched_seq : &m->seq;
	struct item it = { .type = ITEM_BATCH };

	it.batch = (struct item_batch){
		.pid = PID,
		.tid = PID,
		.registry = sched ? ITEM_SCHED_REGISTRY : SDK_REGISTRY,
		.thread = 1,
		.seq = *seq,
		.records = m->records,
		.bytes = (u32)m->batch.len,
		.data = m->batch.data,
	};
	put(m, &it);
	*seq += m->records;
	m->records = 0;
	buf_clear(&m->batch);
}

static void begin(struct maker *m, struct file *f)
{
	struct source_info info = *test_info();
	struct item it = process_item(PROCESS_SEEN, PID, 1, "host");

	info.exact = true;
	*m = (struct maker){ .w = rec_create(f->path, &info, NULL, &f->err) };
	assert_non_null(m->w);
	put_clock(m, 10);
	put(m, &it);
}

static void end(struct maker *m, struct file *f)
{
	assert_int_equal(rec_close(m->w, &f->err), 0);
	buf_free(&m->batch);
}

/* ---- The part, in words ---- */

static int say(void *ctx, const struct item *it)
{
	const struct item_batch *b = &it->batch;
	char *to = ctx;
	u32 at = 0;

#define SAY(...) snprintf(to + strlen(to), 2048 - strlen(to), __VA_ARGS__)
	switch (it->type) {
	case ITEM_CLOCK:
		SAY("clock %u\n", (u32)(it->clock.mono_ns * 10 / SECOND));
		break;
	case ITEM_PROCESS:
		SAY("process\n");
		break;
	case ITEM_DEFS:
		SAY("definition %u of type %u\n", ((const struct vmspan_head *)it->defs.data)->id,
		    *(const u8 *)it->defs.data);
		break;
	case ITEM_LOSS:
		SAY("lost %u\n", (u32)it->loss.records);
		break;
	case ITEM_UNFINISHED:
		SAY("unfinished\n");
		break;
	case ITEM_COST:
		SAY("cost %u\n", (u32)it->cost.marks);
		break;
	case ITEM_OPEN:
		break;
	case ITEM_BATCH:
		SAY("%s from %u:", b->registry == ITEM_SCHED_REGISTRY ? "sched" : "batch",
		    (u32)b->seq);
		while (at < b->bytes) {
			const struct vmspan_span *s = (const void *)((const u8 *)b->data + at);

			if (s->h.type == VMSPAN_OFF)
				SAY(" %s %u-%u", s->h.depth ? "off" : "start",
				    (u32)(s->begin * 10 / SECOND), (u32)(s->end * 10 / SECOND));
			else if (s->h.type == VMSPAN_SPAN)
				SAY(" span %u", (u32)(s->begin * 10 / SECOND));
			else
				SAY(" type %u", s->h.type);
			at += s->h.slots * (u32)VMSPAN_SLOT;
		}
		SAY("\n");
		break;
	default:
		break;
	}
	return 0;
}

static const char *part(struct file *f, u64 from, u64 to)
{
	static char words[2048];
	struct source_info info;
	struct rec_reader *r;
	int rc;

	words[0] = 0;
	rc = rec_cut(f->path, f->copy, from * SECOND / 10, to * SECOND / 10, NULL, 0, &f->err);
	if (rc)
		fail_msg("%s", f->err.what);
	r = rec_open(f->copy, &info, &f->err);
	assert_non_null(r);
	assert_true(info.exact);
	do {
		rc = rec_read(r, say, words, &f->err);
	} while (rc > 0);
	assert_int_equal(rc, 0);
	assert_null(rec_note(r));
	rec_reader_free(r);
	return words;
}

/* ---- Tests ---- */

static void make_five(struct maker *m, struct file *f)
{
	begin(m, f);
	add_def(m, VMSPAN_DEF_GROUP, 1);
	add_def(m, VMSPAN_DEF_COMPARTMENT, 1);
	add_def(m, VMSPAN_DEF_LABEL, 1);
	add_span(m, 11);
	put_batch(m, false);
	put_loss(m, 5);
	put_clock(m, 20);
	add_span(m, 21);
	put_batch(m, false);
	put_clock(m, 30);
	add_span(m, 31);
	put_batch(m, false);
	put_loss(m, 7);
	put_clock(m, 40);
	add_span(m, 41);
	put_batch(m, false);
	put_clock(m, 50);
	end(m, f);
}

/* Of what is still being recorded the end is missing, and nothing else. */
static void of_what_goes_on_nothing_is_missing(void **state)
{
	struct file *f = *state;
	struct maker m;

	begin(&m, f);
	add_span(&m, 11);
	put_batch(&m, false);
	put_clock(&m, 20);
	assert_int_equal(rec_sync(m.w, &f->err), 0);
	assert_string_equal(part(f, 0, 50), "clock 10\n"
					    "process\n"
					    "batch from 0: span 11\n"
					    "clock 20\n");
	end(&m, f);
}

static void a_part_has_all_between_its_clocks_and_what_names_it(void **state)
{
	struct file *f = *state;
	struct maker m;

	make_five(&m, f);
	assert_string_equal(part(f, 25, 35), "clock 20\n"
					     "process\n"
					     "definition 1 of type 16\n"
					     "definition 1 of type 17\n"
					     "definition 1 of type 18\n"
					     "batch from 4: span 21\n"
					     "clock 30\n"
					     "batch from 5: span 31\n"
					     "lost 7\n"
					     "clock 40\n");
}

static void a_part_that_begins_and_ends_with_clocks(void **state)
{
	struct file *f = *state;
	struct maker m;

	make_five(&m, f);
	assert_string_equal(part(f, 30, 40), "clock 30\n"
					     "process\n"
					     "definition 1 of type 16\n"
					     "definition 1 of type 17\n"
					     "definition 1 of type 18\n"
					     "batch from 5: span 31\n"
					     "lost 7\n"
					     "clock 40\n"
					     "batch from 6: span 41\n"
					     "clock 50\n");
}

/* Totals: what had gone before the part has to be known to tell them apart. */
static void a_part_has_what_its_cost_began_with(void **state)
{
	struct file *f = *state;
	struct maker m;

	begin(&m, f);
	put_cost(&m, 0);
	put_cost(&m, 10);
	put_clock(&m, 20);
	put_cost(&m, 20);
	put_clock(&m, 30);
	put_cost(&m, 30);
	put_clock(&m, 40);
	put_cost(&m, 40);
	put_clock(&m, 50);
	end(&m, f);
	assert_string_equal(part(f, 30, 40), "clock 30\n"
					     "process\n"
					     "cost 20\n"
					     "cost 30\n"
					     "clock 40\n"
					     "cost 40\n"
					     "clock 50\n");
}

static void a_part_of_all_is_all(void **state)
{
	struct file *f = *state;
	struct maker m;

	make_five(&m, f);
	assert_string_equal(part(f, 0, 1000), "clock 10\n"
					      "process\n"
					      "batch from 0: type 16 type 17 type 18 span 11\n"
					      "lost 5\n"
					      "clock 20\n"
					      "batch from 4: span 21\n"
					      "clock 30\n"
					      "batch from 5: span 31\n"
					      "lost 7\n"
					      "clock 40\n"
					      "batch from 6: span 41\n"
					      "clock 50\n");
}

/* From its start on none of the scheduler's records is missing: the part has one in the place
 * of the last that it lacks. */
static void the_schedulers_record_begins_where_it_was_cut(void **state)
{
	struct file *f = *state;
	struct maker m;

	begin(&m, f);
	add_off(&m, 11, 11, VMSPAN_OFF_START);
	add_off(&m, 12, 13, VMSPAN_OFF_SLEEPING);
	put_batch(&m, true);
	add_off(&m, 14, 16, VMSPAN_OFF_SLEEPING);
	add_wake(&m);
	put_batch(&m, true);
	put_clock(&m, 20);
	add_off(&m, 22, 23, VMSPAN_OFF_SLEEPING);
	put_batch(&m, true);
	add_span(&m, 24);
	put_batch(&m, false);
	put_clock(&m, 30);
	end(&m, f);
	assert_string_equal(part(f, 20, 25), "clock 20\n"
					     "process\n"
					     "sched from 3: start 16-16\n"
					     "sched from 4: off 22-23\n"
					     "batch from 0: span 24\n"
					     "clock 30\n");
}

/* A ring has given up what was before: then it begins with the first that is there. */
static void the_schedulers_record_begins_with_what_is_left_of_it(void **state)
{
	struct file *f = *state;
	struct maker m;

	begin(&m, f);
	put_clock(&m, 20);
	m.sched_seq = 9;
	add_wake(&m);
	add_off(&m, 22, 23, VMSPAN_OFF_SLEEPING);
	put_batch(&m, true);
	add_off(&m, 24, 25, VMSPAN_OFF_SLEEPING);
	put_batch(&m, true);
	put_clock(&m, 30);
	end(&m, f);
	assert_string_equal(part(f, 20, 30), "clock 20\n"
					     "process\n"
					     "sched from 8: start 22-22\n"
					     "sched from 9: type 10 off 22-23\n"
					     "sched from 11: off 24-25\n"
					     "clock 30\n");
}

/* One whose start is in the part needs no other. */
static void a_thread_that_began_in_the_part(void **state)
{
	struct file *f = *state;
	struct maker m;

	begin(&m, f);
	put_clock(&m, 20);
	add_off(&m, 21, 21, VMSPAN_OFF_START);
	add_off(&m, 22, 23, VMSPAN_OFF_SLEEPING);
	put_batch(&m, true);
	put_clock(&m, 30);
	end(&m, f);
	assert_string_equal(part(f, 20, 30), "clock 20\n"
					     "process\n"
					     "sched from 0: start 21-21 off 22-23\n"
					     "clock 30\n");
}

static void what_cannot_be_cut_leaves_no_file(void **state)
{
	struct file *f = *state;
	struct rlimit was, small;
	struct err e = { 0 };
	struct maker m;
	int rc;

	assert_int_equal(rec_cut(f->path, f->copy, 0, SECOND, NULL, 0, &e), -ENOENT);
	assert_int_equal(access(f->copy, F_OK), -1);
	assert_non_null(strstr(e.what, f->path));
	make_five(&m, f);
	e = (struct err){ 0 };
	/* A disk with room for the head and no more. */
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
	signal(SIGXFSZ, SIG_IGN);
	small = (struct rlimit){ .rlim_cur = 300, .rlim_max = was.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	rc = rec_cut(f->path, f->copy, 0, 100 * SECOND, NULL, 0, &e);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
	assert_int_equal(rc, -EFBIG);
	assert_non_null(strstr(e.what, f->copy));
	assert_int_equal(access(f->copy, F_OK), -1);
	spill(f->path, "no recording", 12);
	e = (struct err){ 0 };
	assert_true(rec_cut(f->path, f->copy, 0, SECOND, NULL, 0, &e) < 0);
	assert_int_equal(access(f->copy, F_OK), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_part_has_all_between_its_clocks_and_what_names_it),
		TEST(of_what_goes_on_nothing_is_missing),
		TEST(a_part_that_begins_and_ends_with_clocks),
		TEST(a_part_has_what_its_cost_began_with),
		TEST(a_part_of_all_is_all),
		TEST(the_schedulers_record_begins_where_it_was_cut),
		TEST(the_schedulers_record_begins_with_what_is_left_of_it),
		TEST(a_thread_that_began_in_the_part),
		TEST(what_cannot_be_cut_leaves_no_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
