/* SPDX-License-Identifier: BSD-2-Clause */
/* Records <-> bits, with what no program makes: records that nothing predicts, and bits that nobody wrote. */
#include "rec/records.h"
#include "rec/bits.h"
#include "seed.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
	COUNT = 500
};

static struct records *fresh(struct records_thread **t)
{
	struct records *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	records_reset(r, 1ull << 32, 1);
	*t = records_add(r, 1, 2, 3, 4);
	assert_non_null(*t);
	return r;
}

/* At `out`, of `room` bytes that belong to it alone. How many it took. */
static size_t write(u8 *out, size_t room, const void *data, u32 records)
{
	struct records_thread *t;
	struct records *r = fresh(&t);
	size_t n = (size_t)(records_write(r, t, out, data, records) - out);

	assert_true(n + BITS_PAD <= room);
	free(r);
	return n;
}

static int read(const u8 *in, size_t len, void *to, u32 size, u32 *records, u32 *bytes)
{
	struct records_thread *t;
	struct records *r = fresh(&t);
	size_t used;
	int rc = records_read(r, t, in, len, to, size, records, bytes, &used);

	if (!rc)
		assert_true(used <= len);
	free(r);
	return rc;
}

static u64 any(void)
{
	return (u64)random() << 42 ^ (u64)random() << 21 ^ (u64)random();
}

/* Nothing of one is as in any other. */
static void strange_event(struct vmspan_event *e)
{
	u64 *words = (u64 *)(void *)e;
	u32 i;

	for (i = 0; i < sizeof(*e) / sizeof(u64); i++)
		words[i] = any();
	e->h.type = VMSPAN_EVENT;
	e->h.slots = sizeof(*e) / VMSPAN_SLOT;
	e->h.depth = (u16)any();
	e->stolen_ns = 0;
	memset(e->reserved, 0, sizeof(e->reserved));
}

static void strange_span(struct vmspan_span *s)
{
	*s = (struct vmspan_span){
		.h = { VMSPAN_SPAN, 1, (u16)any(), (u32)any() },
		.begin = any(),
		.end = any(),
		.cpu_begin = (u16)any(),
		.cpu_end = (u16)any(),
		.iteration = (u32)any(),
	};
}

static void come_back(const void *data, u32 records, u32 bytes)
{
	size_t bound = records_bound(records, bytes);
	u8 *out = malloc(bound), *back = malloc(bytes);
	u32 n = records, size;

	assert_non_null(out);
	assert_non_null(back);
	assert_int_equal(read(out, write(out, bound, data, records), back, bytes, &n, &size), 0);
	assert_int_equal(n, records);
	assert_int_equal(size, bytes);
	assert_memory_equal(back, data, bytes);
	free(back);
	free(out);
}

/* What is said to be room enough is, also for records of which no number is near another. */
static void what_nothing_predicts_has_room(void **state)
{
	struct vmspan_event *events = calloc(COUNT, sizeof(*events));
	struct vmspan_span *spans = calloc(COUNT, sizeof(*spans));
	size_t bytes = COUNT * sizeof(*spans), bound = records_bound(COUNT, (u32)bytes);
	u8 *out = malloc(bound);
	u32 i;

	(void)state;
	seed_random(1);
	for (i = 0; i < COUNT; i++) {
		strange_event(&events[i]);
		strange_span(&spans[i]);
	}
	come_back(events, COUNT, COUNT * sizeof(*events));
	come_back(spans, COUNT, (u32)bytes);
	/* This is what room is needed for: they take more than as they are. */
	assert_true(write(out, bound, spans, COUNT) > bytes + bytes / 5);
	free(out);
	free(spans);
	free(events);
}

/* Records of a stranger's that are more than the reader has room for. */
static void what_has_no_room_is_refused(void **state)
{
	enum {
		FIT = 3 * sizeof(struct vmspan_span),
		GUARD = 64
	};
	struct vmspan_span spans[8] = { 0 };
	size_t bound = records_bound(8, sizeof(spans)), len;
	u8 *out = malloc(bound), to[FIT + GUARD];
	u32 i, records, bytes, room;

	(void)state;
	seed_random(2);
	for (i = 0; i < 8; i++)
		strange_span(&spans[i]);
	/* The last one is no record that is coded: other code reads it. */
	spans[3].h.type = VMSPAN_OFF;
	len = write(out, bound, spans, 8);
	for (room = 0; room <= FIT; room++)
		for (records = 1; records <= 4; records++) {
			u32 n = records;
			int rc;

			memset(to, 0xa5, sizeof(to));
			rc = read(out, len, to, room, &n, &bytes);
			assert_int_equal(rc, n * sizeof(spans[0]) <= room ? 0 : -EBADMSG);
			for (i = room; i < sizeof(to); i++)
				assert_int_equal(to[i], 0xa5);
		}
	free(out);
}

/*
 * Bits that are other than they were written: a record is of the size that its head says, whatever it says. Of one that
 * is not coded the head is announced, and then in its words.
 */
static void heads_say_how_large_they_are(void **state)
{
	struct vmspan_event e;
	u64 back[255 * VMSPAN_SLOT / 8];
	size_t bound = records_bound(1, sizeof(e)), len, bit, refused = 0;
	const struct vmspan_head *h = (const void *)back;
	u8 *out = malloc(bound);

	(void)state;
	seed_random(3);
	strange_event(&e);
	e.stolen_ns = 1;
	len = write(out, bound, &e, 1);
	for (bit = 0; bit < len * 8; bit++) {
		u32 records = 1, bytes;

		out[bit / 8] ^= (u8)(1u << bit % 8);
		if (read(out, len, back, sizeof(back), &records, &bytes))
			refused++;
		else
			assert_int_equal(bytes, h->slots * VMSPAN_SLOT);
		out[bit / 8] ^= (u8)(1u << bit % 8);
	}
	assert_in_range(refused, 1, len * 8 - 1);
	free(out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_nothing_predicts_has_room),
		cmocka_unit_test(what_has_no_room_is_refused),
		cmocka_unit_test(heads_say_how_large_they_are),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
