/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parts of the trace by need: counted users, and links that are there only while
 * somebody is one. Users come and go between polls; a poll first brings the links
 * in line and tells the model what is not measured from when to when.
 */
#include "source/live_int.h"

#include "attach/vm.h"

#include <errno.h>
#include <string.h>

enum model_part part_of_role(bool vm, int role)
{
	if (vm)
		return role <= VM_SWEEP_END ? TRACE_GC : TRACE_TURNS;
	switch (role) {
	case ROLE_GC_BEGIN:
	case ROLE_GC_END:
		return TRACE_GC;
	case ROLE_BLOCK_BEGIN:
	case ROLE_BLOCK_END:
		return TRACE_BLOCKING;
	default:
		return TRACE_TURNS;
	}
}

bool links_drop_roles(struct probe_links *links, u32 roles)
{
	bool had = false;
	int role;

	/* Begins before their ends, so that few are left open. */
	for (role = 0; role < PROBE_LINKS_MAX; role++) {
		if (!links->of[role] || !(roles & 1u << role))
			continue;
		site_release(links->of[role]);
		links->of[role] = NULL;
		had = true;
	}
	return had;
}

bool links_drop(struct probe_links *links, bool vm, enum model_part part)
{
	u32 roles = 0;
	int role;

	for (role = 0; role < PROBE_LINKS_MAX; role++)
		if (part == TRACE_PARTS || part_of_role(vm, role) == part)
			roles |= 1u << role;
	return links_drop_roles(links, roles);
}

/* Without turns nothing else is of use. Calls of stock VMs have probes that pair
 * with each other: there nothing can be left out for a while. */
static bool has_users(const struct live *l, enum model_part part)
{
	if (l->calls)
		return true;
	return l->parts[part].users && l->parts[TRACE_TURNS].users;
}

void parts_open(struct live *l, u32 without)
{
	int i;

	for (i = 0; i < TRACE_PARTS; i++)
		l->parts[i].users = !(without & 1u << i);
	for (i = 0; i < TRACE_PARTS; i++)
		l->parts[i].on = has_users(l, (enum model_part)i);
}

bool part_wanted(struct live *l, enum model_part part)
{
	l->parts[part].exists = true;
	/* News that come at the end of the trace attach to nothing any more. */
	return l->parts[part].on && !l->detached;
}

static u64 cycles_now(const struct live *l)
{
	struct item_clock c;

	clock_read(l->s.info.clock, &c);
	return c.cycles;
}

/* ---- Telling ---- */

/* By every process: a recording forgets what is known of those that have ended. */
static int tell(struct live *l, enum model_part part, u64 off, u64 on)
{
	u64 room[PART_DEF_SLOTS * VMSPAN_SLOT / sizeof(u64)], key, value;
	struct item it = { .type = ITEM_DEFS };
	size_t at = 0;

	part_define((void *)room, part, off, on);
	while (!l->failed && map_next(&l->processes, &at, &key, &value)) {
		const struct process *p = (struct process *)(uintptr_t)value;

		if (!p->told)
			continue;
		it.defs = (struct item_defs){ .pid = p->pid,
					      .registry = ITEM_TRACER_REGISTRY,
					      .data = room,
					      .bytes = sizeof(room) };
		live_emit(l, &it);
	}
	return l->failed;
}

int parts_tell(struct live *l)
{
	int i;

	for (i = 0; i < TRACE_PARTS && !l->failed; i++) {
		struct live_part *p = &l->parts[i];

		if (p->on || p->told || !p->exists)
			continue;
		p->told = true;
		p->off = p->off ? p->off : l->first.cycles;
		tell(l, (enum model_part)i, p->off, UINT64_MAX);
	}
	return l->failed;
}

/* ---- On and off ---- */

static void drop(struct live *l, enum model_part part)
{
	struct live_part *p = &l->parts[part];

	p->off = cycles_now(l);
	p->on = p->told = false;
	if (part == TRACE_BLOCKING)
		tracer_leave_sched(l->t);
	else if (part == TRACE_SAMPLES)
		vm_stop_walks(l->t);
	process_drop_part(l, part);
	live_vm_drop_part(l, part);
	if (part == TRACE_GC && l->vm_hz)
		vm_forget_gc(l->t);
}

/* As at the end of a trace: what was measured until now is taken in. */
static int drop_turns(struct live *l, struct err *err)
{
	struct live_part *p = &l->parts[TRACE_TURNS];
	u64 key, value;
	size_t at = 0;
	int r;

	live_vm_drop_part(l, TRACE_PARTS);
	if (l->vm_hz)
		vm_pause(l->t);
	process_disarm_all(l);
	p->on = p->told = false;
	p->off = l->marks_off_at.cycles;
	tracer_tail(l->t);
	r = live_drain(l, err);
	process_detach_all(l);
	tracer_rest(l->t);
	if (!r)
		r = live_drain(l, err);
	if (!r)
		r = live_tails(l);
	while (map_next(&l->processes, &at, &key, &value)) {
		struct process *of = (struct process *)(uintptr_t)value;

		if (!r)
			r = live_rings_doubt(l, of);
		if (!r)
			r = live_vm_rest(l, of);
	}
	return r;
}

static int switch_off(struct live *l, struct err *err)
{
	int i, r = 0;

	for (i = 0; i < TRACE_PARTS; i++)
		if (i != TRACE_TURNS && l->parts[i].on && !has_users(l, (enum model_part)i))
			drop(l, (enum model_part)i);
	/* Before what ended meanwhile is taken in. */
	if (parts_tell(l))
		return l->failed;
	if (l->parts[TRACE_TURNS].on && !l->parts[TRACE_TURNS].users)
		r = drop_turns(l, err);
	return r ? r : parts_tell(l);
}

/* Attaches what came back; what cannot stays away, and says why. */
static int switch_on(struct live *l, const bool back[TRACE_PARTS])
{
	struct err e = { 0 };
	u64 before = cycles_now(l), after;
	int i, r;

	for (i = 0; i < TRACE_PARTS; i++)
		l->parts[i].on |= back[i];
	if (back[TRACE_BLOCKING] && tracer_has_sched(l->t)) {
		tracer_watch_sched(l->t);
		if (!tracer_has_sched(l->t))
			e = *tracer_no_exact(l->t);
	}
	r = e.code ? e.code : process_attach_missing(l, &e);
	after = cycles_now(l);
	for (i = 0; i < TRACE_PARTS && !l->failed; i++) {
		struct live_part *p = &l->parts[i];

		if (!back[i])
			continue;
		p->failed = e;
		if (r) {
			/* Nobody has it, so nobody asks for it at every poll. */
			p->users = 0;
		} else if (p->told) {
			/* Spans that began before turns came back are not of the trace. */
			tell(l, (enum model_part)i, p->off, i == TRACE_TURNS ? before : after);
			p->told = false;
		}
	}
	return l->failed;
}

int parts_settle(struct live *l, struct err *err)
{
	bool back[TRACE_PARTS], any = false, gone = false, away = false;
	int i, r = 0;

	for (i = 0; i < TRACE_PARTS; i++) {
		back[i] = !l->parts[i].on && has_users(l, (enum model_part)i);
		any |= back[i];
		gone |= l->parts[i].on && !has_users(l, (enum model_part)i);
		gone |= !l->parts[i].on && l->parts[i].exists && !l->parts[i].told;
	}
	if (gone)
		r = switch_off(l, err);
	if (!r && any)
		r = switch_on(l, back);
	for (i = 0; i < TRACE_PARTS; i++)
		away |= l->parts[i].told;
	/* How long it has been so, though there may be no data. */
	if (!r && away && clock_mono_ns() - l->clock_ns >= LIVE_CLOCK_NS)
		r = live_emit_clock(l);
	return r;
}

/* ---- Users ---- */

void live_part_get(struct source *s, enum model_part part)
{
	struct live_part *p = &((struct live *)s)->parts[part];

	p->users++;
	p->failed = (struct err){ 0 };
}

int live_part_put(struct source *s, enum model_part part)
{
	struct live_part *p = &((struct live *)s)->parts[part];

	if (!p->users)
		return -ENOENT;
	p->users--;
	return 0;
}

bool live_part_on(const struct source *s, enum model_part part)
{
	const struct live_part *p = &((const struct live *)s)->parts[part];

	return p->exists && p->on;
}

bool live_part_has(const struct source *s, enum model_part part)
{
	return ((const struct live *)s)->parts[part].exists;
}

const struct err *live_part_failed(const struct source *s, enum model_part part)
{
	const struct live_part *p = &((const struct live *)s)->parts[part];

	return p->failed.code ? &p->failed : NULL;
}
