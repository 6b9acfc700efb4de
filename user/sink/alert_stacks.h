/* SPDX-License-Identifier: BSD-2-Clause */
/* The stacks that were looked at in one event, equal ones as one. */
#ifndef SINK_ALERT_STACKS_H
#define SINK_ALERT_STACKS_H

#include "base/json.h"
#include "model/model.h"

#define STACKS_MAX 32 /* of one event; more are counted */
#define STACK_FRAMES 16 /* outer ones beyond are left out */

struct stack {
	const char *frames[STACK_FRAMES], *groups[STACK_FRAMES]; /* innermost first, the model's */
	u32 depth, count;
	bool cut; /* outer frames are left out */
	u64 ran_ns, waited_ns; /* that the looks stand for */
};

struct stacks {
	struct stack *list; /* owned */
	u32 len;
	u32 looks, omitted; /* omitted: of looks, those without room */
};

/* 0 or -ENOMEM. */
int stacks_add(struct stacks *s, const struct model_sample *m);
/* Into an empty one. 0 or -ENOMEM. */
int stacks_copy(struct stacks *to, const struct stacks *from);
/* The heaviest first. */
void stacks_sort(struct stacks *s);
void stacks_free(struct stacks *s);
/* The keys "stacks" and "stacks_omitted". */
void stacks_json(struct json *j, const struct stacks *s);
/* At most `lines` lines for people. */
void stacks_text(struct out *o, const struct stacks *s, unsigned int lines);

#endif
