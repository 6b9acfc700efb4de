/* SPDX-License-Identifier: BSD-2-Clause */
/* The expected report: what a tracer that lost nothing must have counted. */
#ifndef HOST_EXPECT_H
#define HOST_EXPECT_H

#include "base/buf.h"
#include "base/json.h"
#include "tools/host/world.h"

struct expect_group {
	u32 kind;
	char *name; /* owned */
	size_t name_len;
	struct ledger_group sum;
	u32 *pids; /* owned, of the processes it worked in, ascending */
	u32 pid_count;
};

struct expect {
	u32 pid;
	char name[32]; /* of the process */
	u64 before; /* definitions made before the run */
	struct ledger_counts counts;
	struct expect_group *groups; /* by kind and name; those without a span are absent */
	size_t group_count;
};

/* What the threads of this process did. They must be at rest. */
void expect_take(struct expect *e, const struct world *w);
/* As bytes for another process of the same program. 0 or -EBADMSG. */
void expect_pack(const struct expect *e, struct buf *b);
int expect_unpack(struct expect *e, const u8 *data, size_t len);
/* One object on one line. */
void expect_json(struct json *j, u64 seed, const struct expect *all, size_t count);
void expect_free(struct expect *e);

#endif
