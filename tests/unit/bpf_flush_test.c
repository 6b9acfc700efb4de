/* SPDX-License-Identifier: BSD-2-Clause */
/* Batches of version 1 of the SDK on their way: what finds no room, or cannot be read, is counted. */
#include "bpf_host.h"

#include "bpf/marks.bpf.h"

/* Those that it defines, bpf_host.h has for all. */
#define wake_bytes flush_wake_bytes
#define ns_inum flush_ns_inum
#define sweep_flags flush_sweep_flags
#define use_tsc flush_use_tsc
#define cycles_hz flush_cycles_hz
#define exact flush_exact
#define alert_ns flush_alert_ns
#define alert_cycles flush_alert_cycles
#define tail_calls flush_tail_calls
#define last_wake flush_last_wake
#define sched_watch flush_sched_watch
#define marks_off flush_marks_off
#define LICENSE license_of_flush
#include "bpf/flush.bpf.c"
#undef LICENSE

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

static const struct ids ids = { TRACED, TRACED };
static union {
	struct vmspan_batch head;
	__u64 words[VMSPAN_BATCH_BYTES / 8];
} batch;

/* Of so many slots, in each of the sizes that room is made for. */
static const __u32 slots[] = { 0, 7, 40, 100, VMSPAN_BATCH_SLOTS };

static int machine(void **state)
{
	machine_make();
	host.current = &host.thread;
	batch.head = (struct vmspan_batch){ .magic = VMSPAN_BATCH_MAGIC };
	return 0;
}

static int hand_over(__u32 of)
{
	return flush_batch(ids, &batch, VMSPAN_BATCH_HEADER + of * VMSPAN_SLOT);
}

/* Its head says how many records that are. If it is forged or cannot be read, each slot may be one. */
static void a_batch_that_finds_no_room_is_a_loss(void **state)
{
	__u32 i, batches = 0, records = 0;

	host.ring_full = true;
	for (i = 0; i < sizeof(slots) / sizeof(slots[0]); i++) {
		batch.head.records = slots[i] / 2;
		assert_int_equal(hand_over(slots[i]), 0);
		records += slots[i] / 2;
		batch.head.records = slots[i] + 1;
		assert_int_equal(hand_over(slots[i]), 0);
		records += slots[i];
		host.bad = &batch;
		assert_int_equal(hand_over(slots[i]), 0);
		host.bad = NULL;
		records += slots[i];
		batches += 3;
		assert_int_equal(host.counted[COUNT_RING_FULL_BATCHES], batches);
		assert_int_equal(host.counted[COUNT_RING_FULL_RECORDS], records);
	}
	assert_int_equal(host.records, 0);
}

static void a_batch_that_cannot_be_read_is_a_loss(void **state)
{
	host.bad = &batch;
	assert_int_equal(hand_over(7), 0);
	assert_int_equal(host.counted[COUNT_READ_FAULT_BATCHES], 1);
	assert_int_equal(host.counted[COUNT_READ_FAULT_RECORDS], 7);
	assert_int_equal(host.records, 0);
}

static void a_batch_of_no_size_that_there_is_is_none(void **state)
{
	static const __u64 sizes[] = { 0, VMSPAN_BATCH_HEADER - VMSPAN_SLOT,
				       VMSPAN_BATCH_HEADER + 1, VMSPAN_BATCH_BYTES + VMSPAN_SLOT,
				       ~0ull };
	__u32 i;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		assert_int_equal(flush_batch(ids, &batch, sizes[i]), 0);
		assert_int_equal(host.counted[COUNT_MALFORMED], i + 1);
	}
	assert_int_equal(host.records, 0);
}

static void what_is_handed_over_is_told_as_it_is(void **state)
{
	const struct wire_head *h = (const void *)host.record;

	batch.head.records = 3;
	batch.words[VMSPAN_BATCH_HEADER / 8 + 1] = 12345;
	assert_int_equal(hand_over(7), 0);
	assert_int_equal(host.records, 1);
	assert_int_equal(h->kind, WIRE_BATCH);
	assert_int_equal(h->pid, TRACED);
	assert_int_equal(h->bytes, VMSPAN_BATCH_HEADER + 7 * VMSPAN_SLOT);
	assert_memory_equal(h + 1, &batch, h->bytes);
}

/* A definition too. */
static void a_definition_that_finds_no_room_is_a_loss(void **state)
{
	assert_int_equal(carry_definition(ids, &batch, VMSPAN_SLOT, 0), 0);
	assert_int_equal(host.records, 1);
	host.ring_full = true;
	assert_int_equal(carry_definition(ids, &batch, VMSPAN_SLOT, 0), 0);
	assert_int_equal(host.counted[COUNT_RING_FULL_BATCHES], 1);
	assert_int_equal(host.counted[COUNT_RING_FULL_RECORDS], 1);
}

/* What lies behind its text nobody has written, and on a new page it cannot be read: it is zeroes. */
static void a_definition_is_read_as_far_as_it_goes(void **state)
{
	const struct wire_definition *d = (const void *)host.record;
	struct vmspan_def *def = (void *)&batch;
	char zeroes[2 * VMSPAN_SLOT] = { 0 };
	__u32 used = sizeof(*def) + 4 + 15;

	memset(&batch, 'x', 2 * VMSPAN_SLOT);
	def->count = 1;
	def->name_len = 15;
	host.hole = (const char *)def + used;
	memset(host.record, 0xff, sizeof(host.record));
	assert_int_equal(carry_definition(ids, def, VMSPAN_SLOT, 0), 0);
	assert_int_equal(host.records, 1);
	assert_int_equal(d->bytes, VMSPAN_SLOT);
	assert_memory_equal(d + 1, def, used);
	assert_memory_equal((const char *)(d + 1) + used, zeroes, VMSPAN_SLOT - used);
	/* Of a head that has room for more than there is. */
	def->name_len = 255;
	host.hole = (const char *)def + VMSPAN_SLOT;
	assert_int_equal(carry_definition(ids, def, VMSPAN_SLOT, 0), 0);
	assert_int_equal(host.records, 2);
	assert_memory_equal(d + 1, def, VMSPAN_SLOT);
	assert_int_equal(host.counted[COUNT_READ_FAULT_BATCHES], 0);
	/* A text that cannot be read is a loss, and so is a head. */
	def->name_len = 15;
	host.hole = (const char *)def + used - 1;
	assert_int_equal(carry_definition(ids, def, VMSPAN_SLOT, 0), 0);
	host.hole = (const char *)def;
	assert_int_equal(carry_definition(ids, def, VMSPAN_SLOT, 0), 0);
	assert_int_equal(host.records, 2);
	assert_int_equal(host.counted[COUNT_READ_FAULT_BATCHES], 2);
	assert_int_equal(host.counted[COUNT_READ_FAULT_RECORDS], 2);
}

/* Nobody waits for what could not be read; but where the ring is full of it, nothing else wakes its reader. */
static void what_cannot_be_read_wakes_the_reader_of_a_full_ring(void **state)
{
	__u32 i;

	host.bad = &batch;
	for (i = 0; i < 2; i++) {
		host.waiting = i ? 1000 : 999; /* bpf_host.h's wake_bytes */
		hand_over(7);
		assert_int_equal(host.discarded, i ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP);
	}
	host.waiting = 0;
}

/* ---- Exact mode ---- */

static struct sched sched; /* of host.thread */
static __u32 kinds[4]; /* of what has been told */

static void *more(void *map, const void *key)
{
	(void)key;
	return map == &scheds ? &sched : NULL;
}

static void log_kind(void)
{
	const struct wire_head *h = (const void *)host.record;

	if (host.records <= sizeof(kinds) / sizeof(kinds[0]))
		kinds[host.records - 1] = h->kind;
}

/* As user space does before the programs are loaded. */
static void set_exact(bool on)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	volatile bool *at = (volatile bool *)(size_t)&flush_exact;

	assert_int_equal(mprotect((void *)((size_t)at & ~(page - 1)), page, PROT_READ | PROT_WRITE),
			 0);
	*at = on;
}

/* Its spans would else pass for whole. */
static void what_the_scheduler_did_to_a_batch_is_known_before_it(void **state)
{
	__u32 gathered;

	for (gathered = 0; gathered < 2; gathered++) {
		machine(state);
		memset(kinds, 0, sizeof(kinds));
		host.more = more;
		host.taken = log_kind;
		sched = (struct sched){ .started = 1, .batch = (__u64)&batch };
		sched.used[0] = gathered;
		set_exact(true);
		assert_int_equal(hand_over(7), 0);
		set_exact(false);
		assert_int_equal(host.records, gathered + 1);
		assert_int_equal(kinds[0], gathered ? WIRE_SCHED : WIRE_BATCH);
		assert_int_equal(kinds[gathered], WIRE_BATCH);
	}
}

#define TEST(name) cmocka_unit_test_setup(name, machine)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_batch_that_finds_no_room_is_a_loss),
		TEST(a_batch_that_cannot_be_read_is_a_loss),
		TEST(a_batch_of_no_size_that_there_is_is_none),
		TEST(what_is_handed_over_is_told_as_it_is),
		TEST(a_definition_that_finds_no_room_is_a_loss),
		TEST(a_definition_is_read_as_far_as_it_goes),
		TEST(what_cannot_be_read_wakes_the_reader_of_a_full_ring),
		TEST(what_the_scheduler_did_to_a_batch_is_known_before_it),
	};

	return cmocka_run_group_tests_name("bpf_flush", tests, NULL, NULL);
}
