/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The debug information of HotSpot's compiled code: which methods are inlined
 * where. It lies behind the code as a table of places (PcDesc), sorted, each
 * pointing into a stream of numbers (ScopeDesc): where the stream goes on for the
 * method it is inlined in, and which method it is. There are places at calls and
 * safepoints alone; what is between belongs to the next one.
 */
#include "probe/jvm.h"

#include "probe/target.h"

#include <stddef.h>
#include <string.h>

/* Places in one method's code. */
#define PLACES_MAX 65536
/* A number takes five bytes at most; the three that are read of a method. */
#define NUMBER_BYTES 5
#define SCOPE_BYTES (3 * NUMBER_BYTES)
/* Of methods that are named in one method's code. */
#define METADATA_MAX 65536

struct code {
	u32 pid;
	const struct vm_proc *p;
	u64 at; /* the nmethod */
	u64 scopes, metadata, metadata_end, first; /* addresses; first: place */
	u32 places;
};

static bool get(const struct code *c, u64 at, void *to, size_t n)
{
	return at && !target_read(c->pid, at, to, n);
}

static u64 get_u64(const struct code *c, u64 at)
{
	u64 v = 0;

	return get(c, at, &v, sizeof(v)) ? v : 0;
}

static int32_t get_s32(const struct code *c, u64 at)
{
	int32_t v = 0;

	return get(c, at, &v, sizeof(v)) ? v : 0;
}

/* Is it still the code that was seen? */
static bool same(const struct code *c, u32 compiled)
{
	u32 number;

	return get(c, c->at + c->p->off[OFF_nmethod_id], &number, sizeof(number)) &&
	       number == compiled;
}

static bool open_code(struct code *c)
{
	const u16 *off = c->p->off;
	int32_t metadata = get_s32(c, c->at + off[OFF_nmethod_metadata]),
		pcs = get_s32(c, c->at + off[OFF_nmethod_pcs]),
		end = get_s32(c, c->at + off[OFF_nmethod_pcs_end]);

	c->scopes = get_u64(c, c->at + off[OFF_nmethod_scopes]);
	if (!c->scopes || metadata <= 0 || pcs <= 0 || end <= pcs || off[OFF_pc_size] < 8)
		return false;
	c->places = (u32)(end - pcs) / off[OFF_pc_size];
	c->first = c->at + (u64)pcs;
	c->metadata = c->at + (u64)metadata;
	/* The stream follows the methods. */
	c->metadata_end = c->scopes;
	return c->places <= PLACES_MAX && c->metadata < c->metadata_end;
}

static int32_t place_offset(const struct code *c, u32 i)
{
	return get_s32(c, c->first + (u64)i * c->p->off[OFF_pc_size] + c->p->off[OFF_pc_offset]);
}

static int32_t place_scope(const struct code *c, u32 i)
{
	return get_s32(c, c->first + (u64)i * c->p->off[OFF_pc_size] + c->p->off[OFF_pc_scope]);
}

/*
 * Of the places at `offset` in the code or behind it the first. A return address is
 * a place of its own; an instruction that runs is before one. *before: the scope of the place before it, or 0.
 */
static bool find_place(const struct code *c, u64 offset, bool leaf, int32_t *scope, int32_t *before)
{
	u32 low = 0, high = c->places;

	if (offset > INT32_MAX)
		return false;
	while (low < high) {
		u32 mid = low + (high - low) / 2;
		int64_t at = place_offset(c, mid);

		if (at < (int64_t)offset || (leaf && at == (int64_t)offset))
			low = mid + 1;
		else
			high = mid;
	}
	/* The last one is behind all code. */
	if (low + 1 >= c->places)
		return false;
	*scope = place_scope(c, low);
	*before = low ? place_scope(c, low - 1) : 0;
	return *scope > 0;
}

/* HotSpot's UNSIGNED5: bytes from 192 on are followed by one of higher digits. */
static u32 number(const u8 bytes[], u32 *at)
{
	u32 sum = 0, shift = 0, i;

	for (i = 0; i < NUMBER_BYTES; i++, shift += 6) {
		u32 b = bytes[(*at)++];

		sum += b << shift;
		if (b < 192)
			break;
	}
	return sum;
}

static bool read_name(const struct code *c, u64 symbol, char *to, u32 cap)
{
	u16 length = 0;

	if (!symbol || !get(c, symbol + c->p->off[OFF_symbol_length], &length, sizeof(length)) ||
	    !length)
		return false;
	if (length > cap)
		length = (u16)cap;
	to[length] = 0;
	return get(c, symbol + c->p->off[OFF_symbol_text], to, length);
}

static bool read_method(const struct code *c, u64 method, struct jvm_method *to)
{
	const u16 *off = c->p->off;
	u64 code = get_u64(c, method + off[OFF_method_const]), constants, holder;
	u16 index = 0;

	if (!code || !get(c, code + off[OFF_const_name], &index, sizeof(index)))
		return false;
	constants = get_u64(c, code + off[OFF_const_constants]);
	holder = constants ? get_u64(c, constants + off[OFF_pool_holder]) : 0;
	return constants && holder &&
	       read_name(c, get_u64(c, holder + off[OFF_klass_name]), to->klass, JVM_CLASS) &&
	       read_name(c, get_u64(c, constants + off[OFF_pool_slots] + index * 8ull), to->name,
			 JVM_METHOD);
}

/* What a scope is in, and which method it is of: its number, from 1. */
static bool read_scope(const struct code *c, int32_t scope, u32 *next, u32 *which)
{
	u8 bytes[SCOPE_BYTES];
	u32 at = 0;

	if (scope <= 0 || !get(c, c->scopes + (u32)scope, bytes, sizeof(bytes)))
		return false;
	*next = number(bytes, &at);
	*which = number(bytes, &at);
	return true;
}

u32 jvm_inlined(u32 pid, const struct vm_proc *p, const struct wire_frame *w,
		struct jvm_method to[JVM_INLINED], bool *unsure)
{
	struct code c = { .pid = pid, .p = p, .at = w->code };
	u64 begin = get_u64(&c, w->code + p->off[OFF_blob_code]), method;
	int32_t scope, before;
	u32 n = 0, next, which, other;

	*unsure = false;
	if (!begin || w->pc < begin || !same(&c, w->compiled) || !open_code(&c) ||
	    !find_place(&c, w->pc - begin, w->leaf, &scope, &before))
		return 0;
	*unsure = w->leaf && read_scope(&c, before, &next, &other) &&
		  read_scope(&c, scope, &next, &which) && which != other;
	do {
		if (n == JVM_INLINED || !read_scope(&c, scope, &next, &which))
			return 0;
		/* 0: none. Senders come first in the stream: no circle. */
		if (!which || which > METADATA_MAX || next >= (u32)scope ||
		    c.metadata + which * 8ull > c.metadata_end)
			return 0;
		method = get_u64(&c, c.metadata + (which - 1) * 8ull);
		if (!method || !read_method(&c, method, &to[n++]))
			return 0;
		scope = (int32_t)next;
	} while (scope);
	/* What was read is of one piece only if the code is still the same. */
	return same(&c, w->compiled) ? n : 0;
}
