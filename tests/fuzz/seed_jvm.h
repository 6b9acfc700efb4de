/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A JVM's tables and a piece of compiled code as jvm_fuzz takes them: choices, then memory,
 * in which JVM_PLACE + n is the address of its byte n, and JVM_SELF the process's number.
 */
#ifndef FUZZ_SEED_JVM_H
#define FUZZ_SEED_JVM_H

#include "base/types.h"

#include <stdlib.h>
#include <string.h>

#define JVM_PLACE (0x7fffull << 48)
#define JVM_SELF (0x7ffeull << 48)
#define JVM_WORDS 1024 /* a power of two */

struct seed_jvm {
	u16 code; /* where compiled code is, in words */
	u8 leaf, pc, pad[4]; /* the place in it that is asked for */
	u64 memory[JVM_WORDS];
};

/* Where things are, in words: the fuzzer's first two words point to the tables. */
enum {
	SJ_STRUCTS = 2,
	SJ_TYPES = SJ_STRUCTS + 6 * 46,
	SJ_OBJECTS = SJ_TYPES + 5 * 4,
	SJ_TEXTS = SJ_OBJECTS + 100,
};

struct sj_entry {
	const char *type, *field;
	u32 offset, place; /* of a member; or where in memory a static one is, in words */
};

/* Objects, each of few words; members are at offsets that suit all. */
enum {
	SJ_VERSION = SJ_OBJECTS,
	SJ_LIST_AT,
	SJ_HEAPS_AT,
	SJ_QUEUE_AT,
	SJ_CALL_RETURN,
	SJ_LIST, /* length, threads */
	SJ_THREADS = SJ_LIST + 2,
	SJ_THREAD, /* os, anchor */
	SJ_OS = SJ_THREAD + 5,
	SJ_HEAPS, /* length, data */
	SJ_HEAPS_DATA = SJ_HEAPS + 2,
	SJ_HEAP, /* memory: low, high; map: its low; shift */
	SJ_QUEUE = SJ_HEAP + 8, /* buffer, limit */
	SJ_METHODS = SJ_QUEUE + 2, /* two: const method */
	SJ_CONST = SJ_METHODS + 2, /* two: constants, name */
	SJ_POOL = SJ_CONST + 4, /* two: holder, slots */
	SJ_KLASS = SJ_POOL + 8, /* two: name */
	SJ_NAMES = SJ_KLASS + 2, /* four: length, text */
	SJ_COMPILED = SJ_NAMES + 16, /* begin, scopes, numbers, metadata, places */
};

static inline u64 sj_at(u32 word)
{
	return JVM_PLACE + word * 8ull;
}

static inline u64 sj_text(struct seed_jvm *s, u32 *end, const char *text)
{
	size_t len = strlen(text) + 1;
	char *base = (char *)(s->memory + SJ_TEXTS);
	u32 at;

	for (at = 0; at < *end; at += (u32)strlen(base + at) + 1)
		if (!strcmp(base + at, text))
			return sj_at(SJ_TEXTS) + at;
	if (SJ_TEXTS * 8 + *end + len > sizeof(s->memory))
		abort();
	memcpy(base + *end, text, len);
	*end += (u32)len;
	return sj_at(SJ_TEXTS) + at;
}

static inline void sj_tables(struct seed_jvm *s)
{
	static const struct sj_entry entries[] = {
		{ "ThreadsList", "_length", 0, 0 },
		{ "ThreadsList", "_threads", 8, 0 },
		{ "JavaThread", "_osthread", 0, 0 },
		{ "OSThread", "_thread_id", 0, 0 },
		{ "JavaThread", "_anchor", 16, 0 },
		{ "JavaFrameAnchor", "_last_Java_sp", 0, 0 },
		{ "JavaFrameAnchor", "_last_Java_pc", 8, 0 },
		{ "JavaFrameAnchor", "_last_Java_fp", 16, 0 },
		{ "JavaCallWrapper", "_anchor", 32, 0 },
		{ "Method", "_constMethod", 0, 0 },
		{ "ConstMethod", "_constants", 0, 0 },
		{ "ConstMethod", "_constMethod_size", 12, 0 },
		{ "ConstMethod", "_name_index", 8, 0 },
		{ "ConstantPool", "_pool_holder", 0, 0 },
		{ "Klass", "_name", 0, 0 },
		{ "Symbol", "_length", 0, 0 },
		{ "Symbol", "_body", 2, 0 },
		{ "HeapBlock::Header", "_used", 8, 0 },
		{ "CodeBlob", "_name", 0, 0 },
		{ "CodeBlob", "_code_begin", 0, 0 },
		{ "CodeBlob", "_frame_complete_offset", 16, 0 },
		{ "CodeBlob", "_frame_size", 20, 0 },
		{ "CompiledMethod", "_method", 24, 0 },
		{ "CompiledMethod", "_scopes_data_begin", 8, 0 },
		{ "nmethod", "_compile_id", 16, 0 },
		{ "nmethod", "_metadata_offset", 20, 0 },
		{ "nmethod", "_scopes_pcs_offset", 24, 0 },
		{ "nmethod", "_dependencies_offset", 28, 0 },
		{ "PcDesc", "_pc_offset", 4, 0 },
		{ "PcDesc", "_scope_decode_offset", 0, 0 },
		{ "Abstract_VM_Version", "_vm_major_version", 0, SJ_VERSION },
		{ "ThreadsSMRSupport", "_java_thread_list", 0, SJ_LIST_AT },
		{ "CodeCache", "_heaps", 0, SJ_HEAPS_AT },
		{ "AbstractInterpreter", "_code", 0, SJ_QUEUE_AT },
		{ "StubRoutines", "_call_stub_return_address", 0, SJ_CALL_RETURN },
		{ "GrowableArrayBase", "_len", 0, 0 },
		{ "GrowableArray<int>", "_data", 8, 0 },
		{ "CodeHeap", "_memory", 0, 0 },
		{ "CodeHeap", "_segmap", 32, 0 },
		{ "CodeHeap", "_log2_segment_size", 56, 0 },
		{ "VirtualSpace", "_low_boundary", 0, 0 },
		{ "VirtualSpace", "_high_boundary", 8, 0 },
		{ "VirtualSpace", "_low", 16, 0 },
		{ "StubQueue", "_stub_buffer", 0, 0 },
		{ "StubQueue", "_buffer_limit", 8, 0 },
	};
	static const struct sj_entry types[] = {
		{ "ConstantPool", NULL, 8, 0 },
		{ "HeapBlock", NULL, 16, 0 },
		{ "PcDesc", NULL, 8, 0 },
	};
	u64 *e = s->memory + SJ_STRUCTS;
	u32 end = 0, i;

	/* Behind each table an entry of zeros. */
	_Static_assert(ARRAY_SIZE(entries) < (SJ_TYPES - SJ_STRUCTS) / 6, "the table's room");
	for (i = 0; i < ARRAY_SIZE(entries); i++, e += 6) {
		e[0] = sj_text(s, &end, entries[i].type);
		e[1] = sj_text(s, &end, entries[i].field);
		e[3] = entries[i].place != 0;
		e[4] = entries[i].offset;
		e[5] = entries[i].place ? sj_at(entries[i].place) : 0;
	}
	e = s->memory + SJ_TYPES;
	for (i = 0; i < ARRAY_SIZE(types); i++, e += 5) {
		e[0] = sj_text(s, &end, types[i].type);
		e[4] = types[i].offset;
	}
	s->memory[0] = sj_at(SJ_STRUCTS);
	s->memory[1] = sj_at(SJ_TYPES);
}

static inline void sj_name(struct seed_jvm *s, u32 i, const char *text)
{
	char *p = (char *)(s->memory + SJ_NAMES + 4 * i);

	p[0] = (char)strlen(text);
	memcpy(p + 2, text, strlen(text));
}

static inline void sj_methods(struct seed_jvm *s)
{
	u64 *m = s->memory;
	u32 i;

	sj_name(s, 0, "com/example/shop/Cart");
	sj_name(s, 1, "total");
	sj_name(s, 2, "org/tax/Rate");
	sj_name(s, 3, "of");
	for (i = 0; i < 2; i++) {
		m[SJ_METHODS + i] = sj_at(SJ_CONST + 2 * i);
		m[SJ_CONST + 2 * i] = sj_at(SJ_POOL + 4 * i);
		m[SJ_CONST + 2 * i + 1] = 2;
		m[SJ_POOL + 4 * i] = sj_at(SJ_KLASS + i);
		m[SJ_POOL + 4 * i + 3] = sj_at(SJ_NAMES + 8 * i + 4);
		m[SJ_KLASS + i] = sj_at(SJ_NAMES + 8 * i);
	}
}

/* Of two methods, the second inlined in the first from 16 to 32 in the code. */
static inline void sj_compiled(struct seed_jvm *s)
{
	static const int32_t places[] = { 1, -1, 1, 16, 4, 32, 1, 48, 1, INT32_MAX };
	static const u8 stream[] = { 0, 0, 1, 5, 1, 2, 5 };
	const u32 where = 4, pcs = where * 8, meta = where + sizeof(places) / 8;
	u64 *m = s->memory + SJ_COMPILED;
	int32_t *numbers = (int32_t *)(m + 2);

	/* begin; stream; id, metadata; places, their end; places; metadata; stream. */
	m[0] = 0x7000;
	memcpy(m + where, places, sizeof(places));
	m[1] = sj_at(SJ_COMPILED + meta + 2);
	numbers[0] = 77;
	numbers[1] = (int32_t)meta * 8;
	numbers[2] = (int32_t)pcs;
	numbers[3] = (int32_t)(pcs + sizeof(places));
	m[meta] = sj_at(SJ_METHODS);
	m[meta + 1] = sj_at(SJ_METHODS + 1);
	memcpy(m + meta + 2, stream, sizeof(stream));
	_Static_assert(SJ_COMPILED + 4 + sizeof(places) / 8 + 2 + 3 < SJ_TEXTS, "the code's room");
}

static inline const struct seed_jvm *seed_jvm(void)
{
	static struct seed_jvm s;
	u64 *m = s.memory;

	sj_tables(&s);
	sj_methods(&s);
	sj_compiled(&s);
	m[SJ_VERSION] = 17;
	m[SJ_LIST_AT] = sj_at(SJ_LIST);
	m[SJ_HEAPS_AT] = sj_at(SJ_HEAPS);
	m[SJ_QUEUE_AT] = sj_at(SJ_QUEUE);
	m[SJ_CALL_RETURN] = 0x3000;
	m[SJ_LIST] = 1;
	m[SJ_LIST + 1] = sj_at(SJ_THREADS);
	m[SJ_THREADS] = sj_at(SJ_THREAD);
	m[SJ_THREAD] = sj_at(SJ_OS);
	m[SJ_OS] = JVM_SELF;
	m[SJ_HEAPS] = 1;
	m[SJ_HEAPS + 1] = sj_at(SJ_HEAPS_DATA);
	m[SJ_HEAPS_DATA] = sj_at(SJ_HEAP);
	m[SJ_HEAP] = 0x1000;
	m[SJ_HEAP + 1] = 0x9000;
	m[SJ_HEAP + 6] = 0xa000;
	m[SJ_HEAP + 7] = 7;
	m[SJ_QUEUE] = 0x2000;
	m[SJ_QUEUE + 1] = 0x500;
	s.code = SJ_COMPILED;
	s.pc = 32;
	return &s;
}

#endif
