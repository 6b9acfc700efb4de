/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is read from a target's memory: the definitions of a registry, and the
 * batches its threads have begun but not handed over.
 */
#include "source/live_int.h"

#include "source/defs.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define THREADS_MAX 65536
/* Ids above this are taken for known: no growth, no reading for their sake. */
#define KNOWN_ID_MAX (4u << 20)

/*
 * Threads compare the session with the one their stack belongs to. While a
 * tracer is attached it must stay. Failure is harmless: a stack that was open
 * when an earlier trace ended is then repaired mark by mark.
 */
void registry_new_session(u32 pid, u64 address)
{
	struct abi1_registry head;
	u64 session = 0;

	if (target_abi1(pid, address, &head) || head.semaphore)
		return;
	if (getrandom(&session, sizeof(session), 0) != sizeof(session))
		session = clock_mono_ns();
	session |= 1;
	target_write(pid, address + offsetof(struct abi1_registry, session), &session,
		     sizeof(session));
}

/* ---- Known ids ---- */

static int known_kind(u8 type)
{
	switch (type) {
	case VMSPAN_DEF_GROUP:
		return KNOWN_GROUP;
	case VMSPAN_DEF_COMPARTMENT:
		return KNOWN_COMPARTMENT;
	case VMSPAN_DEF_LABEL:
		return KNOWN_LABEL;
	default:
		return -1;
	}
}

static bool is_known(const struct known *k, u32 id)
{
	if (!id || id >= KNOWN_ID_MAX)
		return true;
	return id / 64 < k->words && k->bits[id / 64] >> (id % 64) & 1;
}

static void learn(struct known *k, u32 id)
{
	u32 words = k->words ? k->words : 4;
	u64 *grown;

	if (id >= KNOWN_ID_MAX)
		return;
	while (words <= id / 64)
		words *= 2;
	if (words != k->words) {
		grown = realloc(k->bits, words * sizeof(*grown));
		/* Without memory the id stays unknown: read once more, at worst. */
		if (!grown)
			return;
		memset(grown + k->words, 0, (words - k->words) * sizeof(*grown));
		k->bits = grown;
		k->words = words;
	}
	k->bits[id / 64] |= 1ull << (id % 64);
	while (k->all + 1 < KNOWN_ID_MAX && is_known(k, k->all + 1))
		k->all++;
}

/* What kind of id a record has that wants a definition; -1: none. */
static int needed(const struct vmspan_head *h, u32 *id)
{
	*id = h->id;
	switch (h->type) {
	case VMSPAN_SPAN:
		return KNOWN_COMPARTMENT;
	case VMSPAN_EVENT:
		*id = ((const struct vmspan_event *)h)->label;
		return KNOWN_LABEL;
	case VMSPAN_GC:
	case VMSPAN_BLOCK:
	case VMSPAN_INPUT:
	case VMSPAN_FRAME:
	case VMSPAN_VALUE:
		return KNOWN_LABEL;
	default:
		return -1;
	}
}

bool registry_knows(struct registry *r, const void *data, u32 bytes, const struct batch_sum *sum)
{
	const struct known *k = r->known;
	bool all = true;
	u32 at = 0, id, i;

	/* Nearly always: ids are given out from 1 on, and all are known. */
	if (!sum->defs && sum->compartment_last <= k[KNOWN_COMPARTMENT].all &&
	    sum->label_last <= k[KNOWN_LABEL].all)
		return true;
	while (at < bytes) {
		const struct vmspan_head *h = (const void *)((const u8 *)data + at);
		const struct vmspan_def *d = (const void *)h;
		int kind = needed(h, &id);

		if (kind >= 0) {
			all &= is_known(&k[kind], id);
		} else if ((kind = known_kind(h->type)) >= 0) {
			learn(&r->known[kind], h->id);
			for (i = 0; i < d->count; i++)
				all &= is_known(&k[KNOWN_GROUP], d->groups[i]);
		}
		at += h->slots * (u32)VMSPAN_SLOT;
	}
	return all;
}

/* Those that have been defined since make room. */
static void want(struct registry *r, int kind, u32 id)
{
	u32 i, n = 0;

	if (is_known(&r->known[kind], id))
		return;
	for (i = 0; i < r->wanted_count; i++) {
		struct wanted w = r->wanted[i];

		if (w.kind == kind && w.id == id)
			return;
		if (!is_known(&r->known[w.kind], w.id))
			r->wanted[n++] = w;
	}
	if (n < WANTED_MAX)
		r->wanted[n++] = (struct wanted){ kind, id };
	else
		r->wanted_more = true;
	r->wanted_count = n;
}

void registry_want(struct registry *r, const void *data, u32 bytes)
{
	u32 at = 0, id, i;

	while (at < bytes) {
		const struct vmspan_head *h = (const void *)((const u8 *)data + at);
		const struct vmspan_def *d = (const void *)h;
		int kind = needed(h, &id);

		if (kind >= 0)
			want(r, kind, id);
		for (i = 0; known_kind(h->type) >= 0 && i < d->count; i++)
			want(r, KNOWN_GROUP, d->groups[i]);
		at += h->slots * (u32)VMSPAN_SLOT;
	}
}

static void forget_wanted(struct registry *r)
{
	r->wanted_count = 0;
	r->wanted_more = false;
}

static bool lacks_names(const struct registry *r)
{
	u32 i;

	for (i = 0; i < r->wanted_count; i++)
		if (!is_known(&r->known[r->wanted[i].kind], r->wanted[i].id))
			return true;
	return r->wanted_more;
}

/* ---- The log ---- */

struct reading {
	struct live *l;
	struct process *p;
	struct registry *r;
};

static int hand_out(void *ctx, const void *data, u32 bytes)
{
	struct reading *g = ctx;
	struct batch_sum sum;
	struct item it = { .type = ITEM_DEFS,
			   .defs = { .pid = g->p->pid,
				     .registry = g->r->address,
				     .data = data,
				     .bytes = bytes } };

	if (batch_sum(data, bytes, UINT32_MAX, &sum)) {
		g->r->log.broken = true;
		return -EBADMSG;
	}
	registry_knows(g->r, data, bytes, &sum);
	return process_emit(g->l, g->p, &it);
}

int registry_read(struct live *l, struct process *p, struct registry *r)
{
	const struct item broken = {
		.type = ITEM_LOSS, .loss = { .cause = LOSS_MALFORMED, .records = 1, .batches = 1 }
	};
	struct reading g = { l, p, r };
	int e;

	if (p->held_full && !p->told)
		return 0;
	r->due = false;
	r->read_ns = clock_mono_ns();
	e = target_log_read(p->pid, r->address, r->abi1, &r->log, hand_out, &g);
	/* Of a log that makes no sense that is said. */
	if (e == -EBADMSG || (!e && !r->log.unread))
		forget_wanted(r);
	if (e == -EBADMSG && !l->failed) {
		process_emit(l, p, &broken);
	} else if (e == -ENOSPC) {
		memset(&r->log, 0, sizeof(r->log));
		r->read_ns = 0;
		p->held_full = true;
	}
	return l->failed;
}

int registries_end(struct live *l, struct process *p)
{
	bool nameless = false, numbered = false;
	u32 i;

	for (i = 0; i < p->registry_count; i++) {
		struct registry *r = &p->registries[i];

		nameless |= lacks_names(r);
		/* It was over before anybody saw where what defines them lies. */
		numbered |= !r->address && r->numbers;
		forget_wanted(r);
	}
	if ((!nameless && !numbered) || live_emit_loss(l, LOSS_NAMES, 1, 0))
		return l->failed;
	return live_note(l, p, NOTE_NAMELESS,
			 numbered ? "names of its groups could not be read from its memory: they "
				    "are called by their numbers"
				  : "names of its groups could not be read from its memory: the "
				    "time of groups without a name is in the process's own group "
				    "(top:) alone",
			 "");
}

/* ---- Numbers that nothing defines ---- */

/* So many are told apart in a process: its probes may hand over anything. */
#define NUMBERS_MAX 16384

/* Gives a number the name that the profile has for it; else the number is the name. */
static int name_number(struct reading *g, const struct profile_ids *ids, int kind, u32 id)
{
	const struct profile_id *named = ids ? profile_id(ids, id) : NULL;
	_Alignas(8) u8 room[2 * DEF_ROOM];
	char number[16];
	struct def_of d = { .type = VMSPAN_DEF_LABEL,
			    .id = id,
			    .name = named ? named->name : number,
			    .len = named ? named->len : 0 };
	u32 bytes;

	if (is_known(&g->r->known[kind], id) || id >= PROFILE_ID_END ||
	    g->r->numbers == NUMBERS_MAX)
		return 0;
	g->r->numbers++;
	if (!named)
		d.len = (size_t)snprintf(number, sizeof(number), "%u", id);
	if (kind == KNOWN_LABEL)
		return hand_out(g, room, def_write(room, &d));
	d.type = VMSPAN_DEF_GROUP;
	d.kind = named ? named->kind : VMSPAN_COMPARTMENT;
	bytes = def_write(room, &d);
	d.type = VMSPAN_DEF_COMPARTMENT;
	d.kind = 0;
	d.group = id;
	return hand_out(g, room, bytes + def_write(room + bytes, &d));
}

int registry_numbers(struct live *l, struct process *p, struct registry *r, const void *data,
		     u32 bytes)
{
	struct reading g = { l, p, r };
	const struct profile *by = r->address ? profile_at((u32)r->address - NUMBERS_FIRST) : NULL;
	const struct profile_ids *groups = by ? &by->groups : NULL;
	const struct profile_ids *labels = by ? &by->labels : NULL;
	u32 at = 0, id;
	int e = 0;

	while (at < bytes && !e) {
		const struct vmspan_head *h = (const void *)((const u8 *)data + at);
		int kind = needed(h, &id);

		if (kind >= 0)
			e = name_number(&g, kind == KNOWN_LABEL ? labels : groups, kind, id);
		at += h->slots * (u32)VMSPAN_SLOT;
	}
	return l->failed;
}

/* ---- Unfinished batches ---- */

static int tail_item(struct live *l, struct process *p, struct registry *r,
		     const struct abi1_thread *t, bool others)
{
	u32 slots = t->slots - t->room;
	struct batch_sum sum;
	struct item it = { .type = ITEM_BATCH };
	u64 *next = map_get(&r->seq, t->batch.thread);
	bool knows;

	/* Where another tracer keeps the marks on, batches may have gone by
	 * since this one was detached: what they began is not ours. Else a gap
	 * is a loss, and counted already. */
	if (t->extra >= slots || (next && t->batch.seq < *next) ||
	    (next && others && t->batch.seq != *next))
		return 0;
	it.batch = (struct item_batch){
		.pid = p->pid,
		.tid = t->tid,
		.registry = r->address,
		.thread = t->batch.thread,
		.seq = t->batch.seq,
		.records = slots - t->extra,
		.bytes = slots * VMSPAN_SLOT,
		.data = t->records,
		.too_deep = t->batch.too_deep,
		.unmatched = t->batch.unmatched,
		.repaired = t->batch.repaired,
		.in_mark = t->batch.in_mark,
	};
	if (batch_sum(it.batch.data, it.batch.bytes, it.batch.records, &sum))
		return live_emit_loss(l, LOSS_MALFORMED, it.batch.records, 1);
	if (process_tell(l, p) || live_marked(l, p))
		return l->failed;
	knows = registry_knows(r, it.batch.data, it.batch.bytes, &sum);
	if (!knows)
		registry_want(r, it.batch.data, it.batch.bytes);
	if ((!knows || !r->read_ns) && registry_read(l, p, r))
		return l->failed;
	if (process_thread(l, p, it.batch.tid))
		return l->failed;
	return live_emit(l, &it);
}

/* A thread in the middle of a mark has room 0. The mark takes nanoseconds
 * unless the thread is off its CPU. */
#define TAIL_TRIES 64

/*
 * Records are only ever added while `seq` stays, so a copy is good when room
 * and seq are the same before and after.
 */
static bool read_thread(u32 pid, u64 address, struct abi1_thread *t)
{
	struct abi1_thread again;
	int i;

	for (i = 0; i < TAIL_TRIES; i++) {
		if (target_read(pid, address, t, sizeof(*t)) || t->magic != VMSPAN_MAGIC ||
		    target_read(pid, address, &again, offsetof(struct abi1_thread, records)))
			return false;
		if (t->room && t->room == again.room && t->batch.seq == again.batch.seq)
			return t->room < t->slots && t->slots <= VMSPAN_BATCH_SLOTS;
		sched_yield();
	}
	return false;
}

int registry_tails(struct live *l, struct process *p, struct registry *r)
{
	struct abi1_thread *t;
	struct abi1_registry head;
	u32 count = 0;
	u64 at;
	int e = 0;

	if (target_abi1(p->pid, r->address, &head))
		return 0;
	t = malloc(sizeof(*t));
	if (!t)
		return -ENOMEM;
	for (at = head.threads; at && !e && count < THREADS_MAX; count++) {
		u64 next;

		/* What belongs to an older session was measured before this
		 * trace, and thrown away by the thread's next mark. */
		if (read_thread(p->pid, at, t) && t->tid && t->session == head.session)
			e = tail_item(l, p, r, t, head.semaphore || head.probes_semaphore);
		if (target_read(p->pid, at + offsetof(struct abi1_thread, next), &next,
				sizeof(next)))
			break;
		at = next;
	}
	free(t);
	return e;
}

/* ---- Life ---- */

/* Streams of the tracer's own are called so. */
static bool is_tracers(u64 address)
{
	return address == ITEM_SCHED_REGISTRY || address == ITEM_TRACER_REGISTRY;
}

struct registry *live_registry_at(struct process *p, u64 address, bool abi1)
{
	struct registry *grown;
	u32 i;

	if (is_tracers(address))
		return NULL;
	for (i = 0; i < p->registry_count; i++)
		if (p->registries[i].address == address)
			return &p->registries[i];
	if (p->registry_count == ITEM_REGISTRIES)
		return NULL;
	grown = realloc(p->registries, (p->registry_count + 1) * sizeof(*grown));
	if (!grown)
		return NULL;
	p->registries = grown;
	memset(&grown[p->registry_count], 0, sizeof(*grown));
	grown[p->registry_count].address = address;
	grown[p->registry_count].abi1 = abi1;
	return &grown[p->registry_count++];
}

struct registry *live_registry_of(struct process *p, u64 copy)
{
	u64 address;
	bool abi1;

	/* A command's probes were attached to before it was there: they may say no more. */
	copy = copy ? copy : p->own_copy;
	if (registry_is_numbers(copy))
		return live_registry_at(p, copy, true);
	if (is_tracers(copy) || copy == TRACED_MARKS)
		return NULL;
	if (copy & TRACED_MARKS)
		return live_registry_at(p, copy - TRACED_MARKS, false);
	/* Another may lie there than did. */
	if (target_definer(p->pid, copy, &address, &abi1))
		return live_registry_at(p, copy, true);
	if (p->copies.len < ITEM_REGISTRIES)
		map_put(&p->copies, copy, address);
	return live_registry_at(p, address, abi1);
}

/* A forked child knows what its parent knew, and its log lies where the
 * parent's does. Its threads are its own. */
void registry_copy(struct registry *to, const struct registry *from)
{
	int i;

	*to = *from;
	forget_wanted(to);
	memset(&to->seq, 0, sizeof(to->seq));
	memset(&to->rings, 0, sizeof(to->rings));
	memset(&to->tids, 0, sizeof(to->tids));
	memset(&to->places, 0, sizeof(to->places));
	memset(&to->ended, 0, sizeof(to->ended));
	memset(&to->ended_before, 0, sizeof(to->ended_before));
	for (i = 0; i < KNOWN_KINDS; i++) {
		/* Numbers are given their names anew: nobody keeps those of a parent that has ended long ago. */
		size_t size = !registry_is_numbers(from->address)
				      ? from->known[i].words * sizeof(u64)
				      : 0;

		to->known[i].bits = size ? malloc(size) : NULL;
		if (to->known[i].bits)
			memcpy(to->known[i].bits, from->known[i].bits, size);
		else
			to->known[i].words = to->known[i].all = 0;
	}
	/* It has no rings, and none that it could not have. */
	to->lost = to->numbers = 0;
	to->read_out = false;
	/* Read from the start: cheap, and right whatever the parent did since. */
	memset(&to->log, 0, sizeof(to->log));
	to->read_ns = 0;
}

void live_registry_free(struct registry *r)
{
	int i;

	for (i = 0; i < KNOWN_KINDS; i++)
		free(r->known[i].bits);
	map_free(&r->seq);
	live_rings_free(r);
}
