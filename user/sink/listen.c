/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/listen.h"
#include "base/array.h"
#include "sink/alert.h"
#include "sink/sink.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct listener {
	u64 id; /* 0: removed while a batch was being delivered */
	char *glob; /* owned; NULL: everything */
	const struct alert_observer *ops;
	void *ctx;
	bool heard; /* an alert of this batch */
};

struct listeners {
	struct listener *list; /* in order of arrival */
	u32 len, cap;
	u64 id_last;
	u32 delivering; /* calls under way: the list may not move */
	bool holes;
};

struct listeners *listeners_new(void)
{
	return calloc(1, sizeof(struct listeners));
}

void listeners_free(struct listeners *l)
{
	u32 i;

	if (!l)
		return;
	for (i = 0; i < l->len; i++)
		free(l->list[i].glob);
	free(l->list);
	free(l);
}

int glob_check(const char *glob)
{
	const char *p = glob;

	if (!*p)
		return -EINVAL;
	for (; *p; p++) {
		if (*p == '\\') {
			if (!*++p)
				return -EINVAL;
			continue;
		}
		if (*p != '[')
			continue;
		/* "[]a]" and "[!]a]" hold a bracket. */
		p += p[1] == '!' || p[1] == '^';
		p += p[1] == ']';
		p = strchr(p + 1, ']');
		if (!p)
			return -EINVAL;
	}
	return 0;
}

static bool same(const struct listener *a, const char *glob, const struct alert_observer *o,
		 const void *ctx)
{
	if (!a->id || a->ops != o || a->ctx != ctx || !a->glob != !glob)
		return false;
	return !glob || !strcmp(a->glob, glob);
}

int listen_add(struct listeners *l, const char *glob, const struct alert_observer *o, void *ctx,
	       u64 *id)
{
	char *copy = NULL;
	u32 i;

	if (glob && glob_check(glob))
		return -EINVAL;
	for (i = 0; i < l->len; i++)
		if (same(&l->list[i], glob, o, ctx))
			return -EEXIST;
	if (glob) {
		copy = strdup(glob);
		if (!copy)
			return -ENOMEM;
	}
	if (array_room(l->list, l->cap, l->len + 1)) {
		free(copy);
		return -ENOMEM;
	}
	l->list[l->len++] =
		(struct listener){ .id = ++l->id_last, .glob = copy, .ops = o, .ctx = ctx };
	*id = l->id_last;
	return 0;
}

/* Closes the gaps that removals have left. */
static void compact(struct listeners *l)
{
	u32 i, n = 0;

	if (l->delivering || !l->holes)
		return;
	for (i = 0; i < l->len; i++) {
		if (l->list[i].id)
			l->list[n++] = l->list[i];
		else
			free(l->list[i].glob);
	}
	l->len = n;
	l->holes = false;
}

int listen_remove(struct listeners *l, u64 id)
{
	u32 i;

	for (i = 0; id && i < l->len; i++) {
		if (l->list[i].id != id)
			continue;
		l->list[i].id = 0;
		l->holes = true;
		compact(l);
		return 0;
	}
	return -ENOENT;
}

u32 listen_count(const struct listeners *l)
{
	u32 i, n = 0;

	for (i = 0; i < l->len; i++)
		n += l->list[i].id != 0;
	return n;
}

/* By index: an observer may add others, and the list then moves. */
static int tell(struct listeners *l, u32 i, const struct alert *a)
{
	const struct alert_observer *o = l->list[i].ops;

	if (a->open)
		return o->open ? o->open(l->list[i].ctx, a) : 0;
	l->list[i].heard = true;
	return o->alert ? o->alert(l->list[i].ctx, a) : 0;
}

static int tell_all(struct listeners *l, u32 count, const struct alert *a)
{
	int rc, first = 0;
	u32 pass, i;

	for (pass = 0; pass < 2; pass++)
		for (i = 0; i < count; i++) {
			const struct listener *x = &l->list[i];

			if (!x->id || (pass ? !x->glob : x->glob != NULL) ||
			    !group_matches(a->group, x->glob))
				continue;
			rc = tell(l, i, a);
			first = first ? first : rc;
		}
	return first;
}

int listen_deliver(struct listeners *l, const struct alert_batch *b)
{
	u32 i, count = l->len; /* who joins now hears the next batch */
	int rc, first = 0;

	l->delivering++;
	for (i = 0; i < count; i++)
		l->list[i].heard = false;
	for (i = 0; i < b->count; i++) {
		rc = tell_all(l, count, b->alerts[i]);
		first = first ? first : rc;
	}
	for (i = 0; i < count; i++) {
		const struct listener *x = &l->list[i];

		if (!x->id || !x->ops->batch || (x->glob && !x->heard))
			continue;
		rc = x->ops->batch(x->ctx, b);
		first = first ? first : rc;
	}
	l->delivering--;
	compact(l);
	return first;
}

int listen_open(struct listeners *l, const struct alert *a)
{
	int rc;

	l->delivering++;
	rc = tell_all(l, l->len, a);
	l->delivering--;
	compact(l);
	return rc;
}
