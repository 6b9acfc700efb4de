/* SPDX-License-Identifier: BSD-2-Clause */
/* Histograms in the form of Protocol Buffers, read as Prometheus does. */
#include "base/varint.h"
#include "sink/metrics_form.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* What Prometheus takes an index for: edges of 2^(i/8) seconds, inclusive above. */
static void a_native_bucket_holds_its_time(void **state)
{
	u64 ns;

	(void)state;
	for (ns = 1; ns < 1ull << 50; ns += 1 + ns / 7) {
		int i = metrics_native_bucket(ns);

		assert_true((double)ns / 1e9 <= exp2(i / 8.0) * (1 + 1e-12));
		assert_true((double)ns / 1e9 > exp2((i - 1) / 8.0) * (1 - 1e-12));
	}
	assert_int_equal(metrics_native_bucket(1000000000), 0);
	assert_int_equal(metrics_native_bucket(1000000001), 1);
	assert_int_equal(metrics_native_bucket(500000000), -8);
}

/* The varint at *at. */
static u64 number(const u8 **at)
{
	u64 v = 0;

	assert_int_equal(varint_get(at, *at + VARINT_MAX, &v), 0);
	return v;
}

/* A double of 8 bytes. */
static double real(const u8 **at)
{
	double v;

	memcpy(&v, *at, sizeof(v));
	*at += sizeof(v);
	return v;
}

/* What a histogram says in the end. */
struct said {
	u64 count, zero, in_buckets, spans, buckets;
	double sum;
	int at[16]; /* the native buckets' numbers */
	struct {
		u64 count;
		double le;
	} classic[JANK_BUCKETS + 1];
	u32 classic_count;
};

static void read_classic(struct said *to, const u8 *at)
{
	assert_true(to->classic_count < ARRAY_SIZE(to->classic));
	assert_int_equal(*at++, 1 << 3);
	to->classic[to->classic_count].count = number(&at);
	assert_int_equal(*at++, 2 << 3 | 1);
	to->classic[to->classic_count++].le = real(&at);
}

/* A span of native buckets: how many are left out behind the one before, and how many there are. */
static void read_span(struct said *to, const u8 *at, s64 *next)
{
	u64 length;

	to->spans++;
	assert_int_equal(*at++, 1 << 3);
	*next += unzigzag(number(&at));
	assert_int_equal(*at++, 2 << 3);
	for (length = number(&at); length; length--) {
		assert_true(to->buckets < ARRAY_SIZE(to->at));
		to->at[to->buckets++] = (int)(*next)++;
	}
}

static void read_histogram(struct said *to, const u8 *at, const u8 *end)
{
	u64 field, n, deltas = 0;
	s64 bucket = 0, next = 0;

	while (at < end) {
		field = number(&at);
		switch (field >> 3) {
		case 1:
			to->count = number(&at);
			break;
		case 2:
			to->sum = real(&at);
			break;
		case 3:
			n = number(&at);
			read_classic(to, at);
			at += n;
			break;
		case 7:
			to->zero = number(&at);
			break;
		case 12:
			n = number(&at);
			read_span(to, at, &next);
			at += n;
			break;
		case 13:
			bucket += unzigzag(number(&at));
			to->in_buckets += (u64)bucket;
			deltas++;
			break;
		default:
			if ((field & 7) == 1)
				real(&at);
			else
				number(&at);
		}
	}
	assert_ptr_equal(at, end);
	assert_int_equal(deltas, to->buckets);
}

/* The family "h" that has this histogram alone. */
static struct said said_of(const struct group_stats *s)
{
	struct metrics_out m = { .form = &metrics_proto };
	struct said said = { .count = 0 };
	const u8 *at, *end;
	struct out o;

	out_open_memory(&o);
	m.o = &o;
	metrics_proto.begin(&m, &(struct metric_family){ "h", METRIC_HISTOGRAM, true, "" });
	metrics_proto.histogram(&m, NULL, 0, s);
	metrics_proto.end(&m);
	at = o.buf.data;
	assert_int_equal(number(&at), o.buf.len - 1u - (o.buf.len > 128));
	/* name, help, type; metric, histogram */
	at += 2 + 8 + 2 + 2;
	assert_int_equal(*at++, 4 << 3 | 2);
	number(&at);
	assert_int_equal(*at++, 7 << 3 | 2);
	end = at;
	end += number(&end);
	number(&at);
	read_histogram(&said, at, end);
	buf_free(&m.family);
	out_close(&o);
	return said;
}

/* Buckets, the zero one too, add up to the count, and gaps between them are spans. */
static void native_buckets_add_up(void **state)
{
	static const u64 times[] = { 1000000, 1100000, 1000000000, 2000000000 };
	struct group_stats s = { .events = 8, .wall_ns = 5250 * NSEC_PER_MSEC };
	struct said said;
	u32 i;

	(void)state;
	/* Seven are known: two at 1 ms, one each at 1.03 ms (another bucket of ours, the same
	 * native one), 1.1 ms, 1 s, 2 s; one took no time. */
	assert_int_equal(hist_add_many(&s.hist, 1030000, 1), 0);
	assert_int_equal(hist_add_many(&s.hist, 1000000, 2), 0);
	assert_int_equal(hist_add_many(&s.hist, 1100000, 1), 0);
	assert_int_equal(hist_add_many(&s.hist, 1000000000, 1), 0);
	assert_int_equal(hist_add_many(&s.hist, 2000000000, 1), 0);
	assert_int_equal(hist_add_many(&s.hist, 0, 1), 0);
	said = said_of(&s);
	assert_int_equal(said.count, 8);
	assert_true(said.sum == 5.25);
	assert_int_equal(said.in_buckets, 6);
	assert_int_equal(said.zero, 2);
	assert_int_equal(said.buckets, 4);
	assert_int_equal(said.spans, 3);
	/* Each where its time is, or one higher. */
	for (i = 0; i < 4; i++)
		assert_in_range(said.at[i] + 1000, metrics_native_bucket(times[i]) + 1000,
				metrics_native_bucket(times[i]) + 1001);
	hist_free(&s.hist);
}

/* The same as in the text: up to 1, 2, 4, ... ms, and all. */
static void classic_buckets_are_those_of_the_text(void **state)
{
	struct group_stats s = { .events = 100 };
	struct said said;
	u32 i;

	(void)state;
	for (i = 0; i < JANK_BUCKETS; i++)
		s.durations[i] = 90 - i;
	said = said_of(&s);
	assert_int_equal(said.classic_count, JANK_BUCKETS + 1);
	for (i = 0; i < JANK_BUCKETS; i++) {
		assert_int_equal(said.classic[i].count, 10 + i);
		assert_true(said.classic[i].le == (double)(1u << i) / 1000);
	}
	assert_int_equal(said.classic[i].count, 100);
	assert_true(isinf(said.classic[i].le));
	/* One span of nothing: it has native buckets, and none is used. */
	assert_int_equal(said.spans, 1);
	assert_int_equal(said.buckets, 0);
	assert_int_equal(said.zero, 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_native_bucket_holds_its_time),
		cmocka_unit_test(native_buckets_add_up),
		cmocka_unit_test(classic_buckets_are_those_of_the_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
