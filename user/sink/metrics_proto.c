/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The Protocol Buffers form of Prometheus (io.prometheus.client.MetricFamily, each
 * behind its length). Histograms have native buckets beside the classic ones.
 *
 * Our histograms have 16 equal buckets a power of two of nanoseconds, native ones
 * 2^METRICS_SCHEMA of equal ratio a power of two of seconds. A bucket of ours goes
 * whole to the native one that its upper edge lies in. So a time is where it belongs or,
 * if its bucket of ours crosses an edge, one higher: a quantile is never too low for
 * it, and too high by 1/16 at most. Counts and sums are exact.
 */
#include "sink/metrics_form.h"

#include "base/proto.h"
#include "base/varint.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Field numbers of io.prometheus.client. */
enum {
	FAMILY_NAME = 1,
	FAMILY_HELP = 2,
	FAMILY_TYPE = 3,
	FAMILY_METRIC = 4,

	METRIC_LABEL = 1,
	METRIC_IS_GAUGE = 2,
	METRIC_IS_COUNTER = 3,
	METRIC_IS_HISTOGRAM = 7,

	LABEL_NAME = 1,
	LABEL_VALUE = 2,

	NUMBER_VALUE = 1, /* of a counter, of a gauge */

	HISTOGRAM_COUNT = 1,
	HISTOGRAM_SUM = 2,
	HISTOGRAM_BUCKET = 3,
	HISTOGRAM_SCHEMA = 5,
	HISTOGRAM_ZERO_THRESHOLD = 6,
	HISTOGRAM_ZERO_COUNT = 7,
	HISTOGRAM_SPAN = 12,
	HISTOGRAM_DELTA = 13,

	BUCKET_COUNT = 1,
	BUCKET_LE = 2,

	SPAN_OFFSET = 1,
	SPAN_LENGTH = 2,
};

/* enum MetricType there. */
static const u8 type_numbers[] = {
	[METRIC_COUNTER] = 0,
	[METRIC_GAUGE] = 1,
	[METRIC_HISTOGRAM] = 4,
};

static void put_double(struct buf *b, unsigned int field, double v)
{
	u64 bits;

	memcpy(&bits, &v, sizeof(bits));
	proto_fixed64(b, field, bits);
}

static void put_text(struct buf *b, unsigned int field, const char *text)
{
	proto_bytes(b, field, text, strlen(text));
}

static void begin(struct metrics_out *m, const struct metric_family *f)
{
	char name[96];

	snprintf(name, sizeof(name), "vmspan_%s%s", f->name,
		 f->type == METRIC_COUNTER ? "_total" : "");
	buf_clear(&m->family);
	put_text(&m->family, FAMILY_NAME, name);
	put_text(&m->family, FAMILY_HELP, f->help);
	proto_u64(&m->family, FAMILY_TYPE, type_numbers[f->type]);
}

static void put_labels(struct buf *b, const struct metric_label *labels, u32 count)
{
	size_t at, text, from, to;
	u32 i;

	for (i = 0; i < count; i++) {
		const char *v = labels[i].value, *c;
		size_t len = strlen(v);

		at = proto_begin(b, METRIC_LABEL);
		put_text(b, LABEL_NAME, labels[i].name);
		text = proto_begin(b, LABEL_VALUE);
		for (; len; v += from, len -= from) {
			c = metrics_char(v, len, &from, &to);
			buf_put(b, c, to);
		}
		proto_end(b, text);
		proto_end(b, at);
	}
}

static void value(struct metrics_out *m, const struct metric_label *labels, u32 count, u64 v)
{
	struct buf *b = &m->family;
	size_t metric = proto_begin(b, FAMILY_METRIC), number;

	put_labels(b, labels, count);
	number = proto_begin(b, m->type == METRIC_GAUGE ? METRIC_IS_GAUGE : METRIC_IS_COUNTER);
	put_double(b, NUMBER_VALUE, m->seconds ? (double)v / 1e9 : (double)v);
	proto_end(b, number);
	proto_end(b, metric);
}

/* ---- Native buckets ---- */

#define SUB (1 << METRICS_SCHEMA)

int metrics_native_bucket(u64 ns)
{
	/* 2^(i / SUB - 1): the lower edges of a mantissa's buckets. */
	static const double edges[SUB] = { 0.5,
					   0.5452538663326288,
					   0.5946035575013605,
					   0.6484197773255048,
					   0.7071067811865476,
					   0.7711054127039704,
					   0.8408964152537145,
					   0.9170040432046712 };
	int exponent, i;
	double mantissa = frexp((double)ns / 1e9, &exponent);

	for (i = 0; i < SUB && edges[i] < mantissa; i++)
		;
	return (exponent - 1) * SUB + i;
}

struct native {
	struct buf *b;
	int last; /* bucket that was put last */
	u64 last_count;
	int begin; /* of the span under way */
	u32 length;
	int end; /* of the span before; 0 at first: offsets count from there */
	struct buf deltas;
};

static void end_span(struct native *n)
{
	size_t at;

	if (!n->length)
		return;
	at = proto_begin(n->b, HISTOGRAM_SPAN);
	proto_u64(n->b, SPAN_OFFSET, zigzag(n->begin - n->end));
	proto_u64(n->b, SPAN_LENGTH, n->length);
	proto_end(n->b, at);
	n->end = n->begin + (int)n->length;
	n->length = 0;
}

static void put_bucket(struct native *n, int bucket, u64 count)
{
	if (n->length && bucket != n->last + 1)
		end_span(n);
	if (!n->length)
		n->begin = bucket;
	n->length++;
	n->last = bucket;
	proto_u64(&n->deltas, HISTOGRAM_DELTA, zigzag((s64)(count - n->last_count)));
	n->last_count = count;
}

/* Events whose own length is not known, of sampled VMs, are in the zero bucket, as
 * they are in the shortest of the classic ones. */
static void put_native(struct buf *b, const struct group_stats *s)
{
	struct native n = { .b = b };
	u64 low, high, count = 0, known = 0;
	int bucket = 0, at;
	u32 i, c;

	for (i = 0; i < s->hist.len; i++) {
		c = hist_bucket(&s->hist, i, &low, &high);
		if (!c || !high)
			continue;
		at = metrics_native_bucket(high);
		if (count && at != bucket) {
			put_bucket(&n, bucket, count);
			count = 0;
		}
		bucket = at;
		count += c;
		known += c;
	}
	if (count)
		put_bucket(&n, bucket, count);
	end_span(&n);
	/* One of nothing tells this from a classic histogram. */
	if (!known) {
		size_t span = proto_begin(b, HISTOGRAM_SPAN);

		proto_u64(b, SPAN_OFFSET, 0);
		proto_u64(b, SPAN_LENGTH, 0);
		proto_end(b, span);
	}
	buf_put(b, n.deltas.data, n.deltas.len);
	buf_free(&n.deltas);
	proto_u64(b, HISTOGRAM_SCHEMA, zigzag(METRICS_SCHEMA));
	put_double(b, HISTOGRAM_ZERO_THRESHOLD, 1e-10);
	proto_u64(b, HISTOGRAM_ZERO_COUNT, s->events - min_u64(known, s->events));
}

static void put_classic(struct buf *b, double le, u64 count)
{
	size_t at = proto_begin(b, HISTOGRAM_BUCKET);

	proto_u64(b, BUCKET_COUNT, count);
	put_double(b, BUCKET_LE, le);
	proto_end(b, at);
}

static void histogram(struct metrics_out *m, const struct metric_label *labels, u32 count,
		      const struct group_stats *s)
{
	struct buf *b = &m->family;
	size_t metric = proto_begin(b, FAMILY_METRIC), at;
	u32 i;

	put_labels(b, labels, count);
	at = proto_begin(b, METRIC_IS_HISTOGRAM);
	proto_u64(b, HISTOGRAM_COUNT, s->events);
	put_double(b, HISTOGRAM_SUM, (double)s->wall_ns / 1e9);
	for (i = 0; i < JANK_BUCKETS; i++)
		put_classic(b, (double)(1u << i) / 1000, s->events - s->durations[i]);
	put_classic(b, INFINITY, s->events);
	put_native(b, s);
	proto_end(b, at);
	proto_end(b, metric);
}

static void end(struct metrics_out *m)
{
	u8 size[VARINT_MAX];

	if (m->family.failed)
		m->o->error = -ENOMEM;
	out_write(m->o, size, varint_put(size, m->family.len));
	out_write(m->o, m->family.data, m->family.len);
}

static void finish(struct metrics_out *m)
{
	(void)m;
}

const struct metrics_form metrics_proto = {
	.content_type = "application/vnd.google.protobuf; "
			"proto=io.prometheus.client.MetricFamily; encoding=delimited",
	.begin = begin,
	.value = value,
	.histogram = histogram,
	.end = end,
	.finish = finish,
};
