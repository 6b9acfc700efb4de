/* SPDX-License-Identifier: BSD-2-Clause */
/* The tracepoints that LTTng-UST measures the bench's pairs with. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER bench
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./lttng_tp.h"

#if !defined(BENCH_LTTNG_TP_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define BENCH_LTTNG_TP_H
#include <lttng/tracepoint.h>

/* clang-format off */
LTTNG_UST_TRACEPOINT_EVENT(bench, enter, LTTNG_UST_TP_ARGS(unsigned int, id),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(unsigned int, id, id)))
LTTNG_UST_TRACEPOINT_EVENT(bench, leave, LTTNG_UST_TP_ARGS(unsigned int, id),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(unsigned int, id, id)))
/* clang-format on */

#endif
#include <lttng/tracepoint-event.h>
