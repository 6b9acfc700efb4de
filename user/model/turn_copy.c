/* SPDX-License-Identifier: BSD-2-Clause */
/* The sums of an event once more, to go on with apart. */
#include "base/array.h"
#include "model/turn.h"

#include <string.h>

/* Places without a share have room of their own, or none. */
static int share_room(struct turn *t, u32 len)
{
	u32 cap = t->share_cap;

	if (array_room(t->shares, t->share_cap, len))
		return -ENOMEM;
	if (t->share_cap > cap)
		memset(t->shares + cap, 0, (t->share_cap - cap) * sizeof(*t->shares));
	return 0;
}

static int copy_share(struct share *to, const struct share *from)
{
	struct outer *outer = to->outer;
	struct lack *lack = to->lack;
	u32 cap = to->outer_cap;
	int rc = array_room(outer, cap, from->outer_len);

	*to = *from;
	to->outer = outer;
	to->outer_cap = cap;
	to->lack = lack;
	to->outer_len = rc ? 0 : from->outer_len;
	if (to->outer_len)
		memcpy(outer, from->outer, to->outer_len * sizeof(*outer));
	return rc;
}

/* What has memory of its own. */
static int copy_lists(struct turn *to, const struct turn *from)
{
	if (share_room(to, from->share_len) || array_room(to->pend, to->pend_cap, from->pend_len) ||
	    array_room(to->comps, to->comp_cap, from->comp_len) ||
	    map_copy(&to->share_of, &from->share_of) || map_copy(&to->comp_of, &from->comp_of))
		return -ENOMEM;
	for (; to->share_len < from->share_len; to->share_len++) {
		struct share *sh = &to->shares[to->share_len];
		const struct share *of = &from->shares[to->share_len];
		const struct lack *lack = share_lack(from, of);

		if (copy_share(sh, of) || (lack && lack_copy(to, sh, lack)))
			return -ENOMEM;
	}
	if (from->pend_len)
		memcpy(to->pend, from->pend, from->pend_len * sizeof(*to->pend));
	if (from->comp_len)
		memcpy(to->comps, from->comps, from->comp_len * sizeof(*to->comps));
	to->pend_len = from->pend_len;
	to->comp_len = from->comp_len;
	return 0;
}

int turn_copy(struct turn *to, const struct turn *from)
{
	struct turn own = *to;

	*to = *from;
	to->uid = own.uid;
	to->pend = own.pend;
	to->pend_cap = own.pend_cap;
	to->shares = own.shares;
	to->share_cap = own.share_cap;
	to->comps = own.comps;
	to->comp_cap = own.comp_cap;
	to->share_of = own.share_of;
	to->comp_of = own.comp_of;
	to->scratch = own.scratch;
	to->scratch_cap = own.scratch_cap;
	to->waits = own.waits;
	to->pend_len = to->share_len = to->comp_len = 0;
	return copy_lists(to, from);
}
