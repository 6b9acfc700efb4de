/* SPDX-License-Identifier: BSD-2-Clause */
/* What a JVM publishes of itself, and its compiled code's debug information: from
 * memory that is made here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "probe/jvm.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* ---- Structures as no JVM has them ---- */

struct symbol {
	u64 hash;
	u16 length;
	char text[300];
};
struct klass {
	u64 super, name;
};
struct pool {
	u64 cache, holder;
	u64 slots[4];
};
struct const_method {
	u64 constants;
	u32 size;
	u16 name;
};
struct method {
	u64 table, code;
};
struct place {
	int32_t scope, other, offset;
};
struct nmethod {
	u64 name, begin, method, scopes;
	int32_t complete, frame, id, metadata_at, places_at, end_at;
	u64 metadata[4];
	u8 stream[400];
	struct place places[6];
};
struct block {
	u64 length;
	u8 used;
};
struct space {
	u64 pad, begin, end, low;
};
struct heap {
	struct space memory, map;
	u32 shift;
};
struct os_thread {
	u64 pad;
	u32 tid;
};
struct thread {
	u64 pad, os, anchor[3];
};
struct list {
	u32 pad, length;
	u64 threads;
};
struct array {
	u32 length, pad;
	u64 data;
};
struct queue {
	u64 buffer;
	u32 limit;
};

struct flag {
	u64 address, name;
	u32 origin;
};

static struct world {
	struct symbol names[4]; /* class and method: outer, inner */
	struct klass klasses[2];
	struct pool pools[2];
	struct const_method codes[2];
	struct method methods[2];
	struct nmethod compiled;
	struct heap heap;
	u64 heaps_data[1];
	struct array heaps;
	struct os_thread os;
	struct thread thread;
	u64 threads[2];
	struct list list;
	struct queue queue;
	struct flag flags[3];
	char flag_names[3][24];
	u8 flag_values[3];
	/* Static ones. */
	u64 flags_at, flag_count;
	u64 list_at, heaps_at, queue_at, call_return;
	u32 version;
} world;

struct struct_entry {
	const char *type, *field, *kind;
	u64 is_static, offset;
	const void *address;
};
struct type_entry {
	const char *name, *super;
	int32_t flags[4];
	u64 size;
};

#define FIELD(t, f, s, member)                                              \
	{                                                                   \
		.type = t, .field = f, .offset = offsetof(struct s, member) \
	}
#define PLACE(t, f, member)                                                     \
	{                                                                       \
		.type = t, .field = f, .is_static = 1, .address = &world.member \
	}

static const struct struct_entry all_structs[] = {
	{ "Nothing", "_of_ours", "", 0, 8, NULL },
	FIELD("ThreadsList", "_length", list, length),
	FIELD("ThreadsList", "_threads", list, threads),
	FIELD("JavaThread", "_osthread", thread, os),
	FIELD("OSThread", "_thread_id", os_thread, tid),
	FIELD("JavaThread", "_anchor", thread, anchor),
	{ "JavaFrameAnchor", "_last_Java_sp", "", 0, 0, NULL },
	{ "JavaFrameAnchor", "_last_Java_pc", "", 0, 8, NULL },
	{ "JavaFrameAnchor", "_last_Java_fp", "", 0, 16, NULL },
	{ "JavaCallWrapper", "_anchor", "", 0, 32, NULL },
	FIELD("Method", "_constMethod", method, code),
	FIELD("ConstMethod", "_constants", const_method, constants),
	FIELD("ConstMethod", "_constMethod_size", const_method, size),
	FIELD("ConstMethod", "_name_index", const_method, name),
	FIELD("ConstantPool", "_pool_holder", pool, holder),
	FIELD("Klass", "_name", klass, name),
	FIELD("Symbol", "_length", symbol, length),
	FIELD("Symbol", "_body", symbol, text),
	FIELD("HeapBlock::Header", "_used", block, used),
	FIELD("CodeBlob", "_name", nmethod, name),
	FIELD("CodeBlob", "_code_begin", nmethod, begin),
	FIELD("CodeBlob", "_frame_complete_offset", nmethod, complete),
	FIELD("CodeBlob", "_frame_size", nmethod, frame),
	FIELD("CompiledMethod", "_method", nmethod, method),
	FIELD("CompiledMethod", "_scopes_data_begin", nmethod, scopes),
	FIELD("nmethod", "_compile_id", nmethod, id),
	FIELD("nmethod", "_metadata_offset", nmethod, metadata_at),
	FIELD("nmethod", "_scopes_pcs_offset", nmethod, places_at),
	FIELD("nmethod", "_dependencies_offset", nmethod, end_at),
	FIELD("PcDesc", "_pc_offset", place, offset),
	FIELD("PcDesc", "_scope_decode_offset", place, scope),
	PLACE("Abstract_VM_Version", "_vm_major_version", version),
	PLACE("ThreadsSMRSupport", "_java_thread_list", list_at),
	PLACE("CodeCache", "_heaps", heaps_at),
	PLACE("AbstractInterpreter", "_code", queue_at),
	PLACE("StubRoutines", "_call_stub_return_address", call_return),
	FIELD("GrowableArrayBase", "_len", array, length),
	FIELD("GrowableArray<int>", "_data", array, data),
	FIELD("CodeHeap", "_memory", heap, memory),
	FIELD("CodeHeap", "_segmap", heap, map),
	FIELD("CodeHeap", "_log2_segment_size", heap, shift),
	FIELD("VirtualSpace", "_low_boundary", space, begin),
	FIELD("VirtualSpace", "_high_boundary", space, end),
	FIELD("VirtualSpace", "_low", space, low),
	FIELD("StubQueue", "_stub_buffer", queue, buffer),
	FIELD("StubQueue", "_buffer_limit", queue, limit),
	FIELD("JVMFlag", "_name", flag, name),
	FIELD("JVMFlag", "_addr", flag, address),
	PLACE("JVMFlag", "flags", flags_at),
	PLACE("JVMFlag", "numFlags", flag_count),
};
#define STRUCTS ARRAY_SIZE(all_structs)
/* The last ones: without them nothing is refused. */
#define FLAG_STRUCTS 4

/* Both end with an entry of zeros. */
static struct struct_entry structs[STRUCTS + 1];
static struct type_entry types[] = {
	{ "ConstantPool", NULL, { 0 }, offsetof(struct pool, slots) },
	{ "HeapBlock", NULL, { 0 }, sizeof(struct block) },
	{ "PcDesc", NULL, { 0 }, sizeof(struct place) },
	{ "JVMFlag", NULL, { 0 }, sizeof(struct flag) },
	{ 0 },
};
static const void *structs_at, *types_at;

static u64 at(const void *p)
{
	return (u64)(uintptr_t)p;
}

static void set_name(struct symbol *s, const char *text)
{
	s->length = (u16)strlen(text);
	memcpy(s->text, text, s->length);
}

/* A number of the stream; where the next one goes. */
static u8 *put_number(u8 *to, u32 v)
{
	int i;

	for (i = 0; v >= 192 && i < 4; i++) {
		v -= 192;
		*to++ = (u8)(192 + (v & 63));
		v >>= 6;
	}
	*to++ = (u8)v;
	return to;
}

static void put_scope(u32 offset, u32 sender, u32 method)
{
	put_number(put_number(put_number(world.compiled.stream + offset, sender), method), 5);
}

#define CODE 0x7000

static int setup(void **state)
{
	struct nmethod *n = &world.compiled;
	u32 i;

	(void)state;
	memset(&world, 0, sizeof(world));
	memcpy(structs, all_structs, sizeof(all_structs));
	memset(&structs[STRUCTS], 0, sizeof(structs[0]));
	structs_at = structs;
	types_at = types;
	set_name(&world.names[0], "com/example/shop/Cart");
	set_name(&world.names[1], "total");
	set_name(&world.names[2], "org/tax/Rate");
	set_name(&world.names[3], "of");
	for (i = 0; i < 2; i++) {
		world.klasses[i].name = at(&world.names[2 * i]);
		world.pools[i].holder = at(&world.klasses[i]);
		world.pools[i].slots[2] = at(&world.names[2 * i + 1]);
		world.codes[i].constants = at(&world.pools[i]);
		world.codes[i].name = 2;
		world.methods[i].code = at(&world.codes[i]);
		n->metadata[i] = at(&world.methods[i]);
	}
	n->begin = CODE;
	n->id = 77;
	n->scopes = at(n->stream);
	n->metadata_at = offsetof(struct nmethod, metadata);
	n->places_at = offsetof(struct nmethod, places);
	n->end_at = sizeof(*n);
	/* At 16 the outer one calls, at 32 the inner one does, at 48 the outer one. */
	put_scope(1, 0, 1);
	put_scope(300, 1, 2);
	n->places[0] = (struct place){ 1, 0, -1 };
	n->places[1] = (struct place){ 1, 0, 16 };
	n->places[2] = (struct place){ 300, 0, 32 };
	n->places[3] = (struct place){ 1, 0, 48 };
	n->places[4] = (struct place){ 1, 0, 64 };
	n->places[5] = (struct place){ 1, 0, INT32_MAX };

	world.heap.memory = (struct space){ 0, 0x1000, 0x9000, 0 };
	world.heap.map = (struct space){ 0, 0, 0, 0xa000 };
	world.heap.shift = 7;
	world.heaps_data[0] = at(&world.heap);
	world.heaps = (struct array){ 1, 0, at(world.heaps_data) };
	world.heaps_at = at(&world.heaps);
	world.queue = (struct queue){ 0x2000, 0x500 };
	world.queue_at = at(&world.queue);
	world.call_return = 0x3000;
	world.version = 17;
	world.os.tid = (u32)getpid();
	world.thread.os = at(&world.os);
	world.threads[1] = at(&world.thread);
	world.list = (struct list){ 0, 2, at(world.threads) };
	world.list_at = at(&world.list);
	for (i = 0; i < 3; i++) {
		world.flags[i].name = at(world.flag_names[i]);
		world.flags[i].address = at(&world.flag_values[i]);
	}
	strcpy(world.flag_names[0], "UseSerialGC");
	strcpy(world.flag_names[1], "DebugNonSafepoints");
	strcpy(world.flag_names[2], "DebugNonSafepointsNot");
	world.flags_at = at(world.flags);
	world.flag_count = 3;
	return 0;
}

static const char *published(struct vm_proc *to)
{
	memset(to, 0, sizeof(*to));
	return jvm_published((u32)getpid(), at(&structs_at), at(&types_at), to);
}

/* Rule: offsets and places are what the VM says, whatever order it says them in. */
static void test_published(void **state)
{
	struct vm_proc p;

	(void)state;
	assert_null(published(&p));
	assert_int_equal(p.off[OFF_thread_anchor], offsetof(struct thread, anchor));
	assert_int_equal(p.off[OFF_anchor_fp], 16);
	assert_int_equal(p.off[OFF_pool_slots], offsetof(struct pool, slots));
	assert_int_equal(p.off[OFF_block_used], offsetof(struct block, used));
	assert_int_equal(p.off[OFF_pc_size], sizeof(struct place));
	assert_int_equal(p.jvm.heaps[0].low, 0x1000);
	assert_int_equal(p.jvm.heaps[0].high, 0x9000);
	assert_int_equal(p.jvm.heaps[0].map, 0xa000);
	assert_int_equal(p.jvm.heaps[0].shift, 7);
	assert_int_equal(p.jvm.heaps[1].high, 0);
	assert_int_equal(p.jvm.interpreter, 0x2000);
	assert_int_equal(p.jvm.interpreter_end, 0x2500);
	assert_int_equal(p.jvm.call_return, 0x3000);
	assert_int_equal(p.jvm.threads, at(&world.list_at));
	assert_int_equal(jvm_version((u32)getpid(), at(&structs_at)), 17);
}

/* Rule: what is not all there, or makes no sense, is refused with a reason. */
static void test_refused(void **state)
{
	struct vm_proc p;
	size_t i;

	for (i = 1; i < STRUCTS - FLAG_STRUCTS; i++) {
		setup(state);
		structs[i].field = "_renamed";
		assert_non_null(published(&p));
	}
	for (i = 0; i < 3; i++) {
		setup(state);
		types[i].size += UINT16_MAX;
		assert_non_null(published(&p));
		types[i].size -= UINT16_MAX;
	}
	setup(state);
	world.version = 21;
	assert_string_equal(published(&p), "how frames of this version lie is not known");
	assert_int_equal(jvm_version((u32)getpid(), at(&structs_at)), 21);
	setup(state);
	structs[5].offset = 1 << 20;
	assert_non_null(published(&p));
	setup(state);
	world.heaps.length = JVM_HEAPS + 1;
	assert_non_null(published(&p));
	setup(state);
	world.heap.memory.end = 0x1000;
	assert_non_null(published(&p));
	setup(state);
	world.heap.shift = 40;
	assert_non_null(published(&p));
	setup(state);
	world.queue_at = 0;
	assert_non_null(published(&p));
	/* A table without an end, and none. */
	setup(state);
	structs_at = (const void *)(uintptr_t)8;
	assert_non_null(published(&p));
	assert_non_null(jvm_published((u32)getpid(), 0, 0, &p));
	assert_int_equal(jvm_version((u32)getpid(), 0), 0);
}

static int flag(const char *name)
{
	return jvm_flag((u32)getpid(), at(&structs_at), at(&types_at), name);
}

/* Rule: a flag is found by its whole name; where it is not all told of, nobody knows. */
static void test_flags(void **state)
{
	size_t i;

	assert_int_equal(flag("DebugNonSafepoints"), 0);
	world.flag_values[1] = 1;
	assert_int_equal(flag("DebugNonSafepoints"), 1);
	assert_int_equal(flag("UseSerialGC"), 0);
	assert_int_equal(flag("Debug"), -ENOENT);
	world.flag_count = 1;
	assert_int_equal(flag("DebugNonSafepoints"), -ENOENT);
	assert_int_equal(flag("UseSerialGC"), 0);
	setup(state);
	world.flags[1].address = 8;
	assert_int_equal(flag("DebugNonSafepoints"), -ENOENT);
	/* Before the flag comes what cannot be read. */
	setup(state);
	world.flags[0].name = 8;
	world.flag_values[1] = 1;
	assert_int_equal(flag("DebugNonSafepoints"), 1);
	world.flags_at = 8;
	assert_int_equal(flag("DebugNonSafepoints"), -ENOENT);
	for (i = STRUCTS - FLAG_STRUCTS; i < STRUCTS; i++) {
		setup(state);
		structs[i].field = "_renamed";
		assert_int_equal(flag("DebugNonSafepoints"), -ENOENT);
	}
	setup(state);
	types[3].size = 8;
	assert_int_equal(flag("DebugNonSafepoints"), -ENOENT);
	types[3].size = sizeof(struct flag);
	structs_at = (const void *)(uintptr_t)8;
	assert_int_equal(flag("DebugNonSafepoints"), -ENOENT);
	setup(state);
	/* A count that makes no sense ends somewhere. */
	world.flag_count = UINT64_MAX;
	assert_int_equal(flag("none"), -ENOENT);
}

/* Rule: one of its threads must be a thread of the process. */
static void test_check(void **state)
{
	struct vm_proc p;

	(void)state;
	published(&p);
	assert_null(jvm_check((u32)getpid(), &p));
	world.os.tid = 1u << 30;
	assert_non_null(jvm_check((u32)getpid(), &p));
	world.os.tid = (u32)getpid();
	world.list.length = 0;
	assert_non_null(jvm_check((u32)getpid(), &p));
	world.list_at = 0;
	assert_non_null(jvm_check((u32)getpid(), &p));
}

static bool unsure;

static u32 inlined(u64 offset, bool leaf, struct jvm_method to[JVM_INLINED])
{
	struct wire_frame w = {
		.code = at(&world.compiled), .pc = CODE + offset, .compiled = 77, .leaf = leaf
	};
	struct vm_proc p;

	published(&p);
	return jvm_inlined((u32)getpid(), &p, &w, to, &unsure);
}

/* Rule: a return address is looked up as it is; what runs belongs to the next place. */
static void test_inlined(void **state)
{
	struct jvm_method m[JVM_INLINED];

	(void)state;
	assert_int_equal(inlined(32, false, m), 2);
	assert_string_equal(m[0].klass, "org/tax/Rate");
	assert_string_equal(m[0].name, "of");
	assert_string_equal(m[1].klass, "com/example/shop/Cart");
	assert_string_equal(m[1].name, "total");
	assert_int_equal(inlined(32, true, m), 1);
	assert_string_equal(m[0].name, "total");
	assert_int_equal(inlined(16, true, m), 2);
	assert_int_equal(inlined(16, false, m), 1);
	assert_int_equal(inlined(0, true, m), 1);
	assert_int_equal(inlined(17, false, m), 2);
	assert_int_equal(inlined(63, true, m), 1);
	/* Behind the last place there are stubs. */
	assert_int_equal(inlined(64, true, m), 0);
	assert_int_equal(inlined(1 << 20, true, m), 0);
}

/* Rule: what runs between places of two methods may be either's. A call is at its own. */
static void test_unsure(void **state)
{
	static const struct {
		u64 offset;
		bool leaf, unsure;
	} cases[] = {
		{ 0, true, false },   { 15, true, false }, { 16, true, true },
		{ 31, true, true },   { 32, true, true },  { 47, true, true },
		{ 48, true, false },  { 63, true, false }, { 16, false, false },
		{ 32, false, false }, { 64, true, false },
	};
	struct jvm_method m[JVM_INLINED];
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		inlined(cases[i].offset, cases[i].leaf, m);
		assert_int_equal(unsure, cases[i].unsure);
	}
	/* Two places of one method are of that. */
	world.compiled.places[2].scope = 1;
	inlined(31, true, m);
	assert_false(unsure);
}

/* Rule: code that is another's by now, or that makes no sense, says nothing. */
static void test_wrong(void **state)
{
	struct jvm_method m[JVM_INLINED];
	u32 i;

	world.compiled.id = 78;
	assert_int_equal(inlined(32, false, m), 0);
	setup(state);
	world.compiled.begin = CODE + 64;
	assert_int_equal(inlined(32, false, m), 0);
	setup(state);
	put_scope(300, 1, 0);
	assert_int_equal(inlined(32, false, m), 0);
	setup(state);
	/* More methods than there are: the stream itself is none. */
	put_scope(300, 1, 5);
	assert_int_equal(inlined(32, false, m), 0);
	/* A circle. */
	setup(state);
	put_scope(300, 300, 2);
	assert_int_equal(inlined(32, false, m), 0);
	setup(state);
	world.compiled.end_at = world.compiled.places_at;
	assert_int_equal(inlined(32, false, m), 0);
	setup(state);
	world.codes[1].constants = 8;
	assert_int_equal(inlined(32, false, m), 0);
	setup(state);
	world.names[3].length = 0;
	assert_int_equal(inlined(32, false, m), 0);
	/* Deeper than anything is looked at. */
	setup(state);
	for (i = 1; i <= JVM_INLINED; i++)
		put_scope(1 + 4 * i, i == 1 ? 1 : 1 + 4 * (i - 1), 2);
	world.compiled.places[2].scope = 1 + 4 * JVM_INLINED;
	assert_int_equal(inlined(32, false, m), 0);
	world.compiled.places[2].scope = 1 + 4 * (JVM_INLINED - 1);
	assert_int_equal(inlined(32, false, m), JVM_INLINED);
}

/* Rule: of a long name the begin is kept: there the package is. */
static void test_long(void **state)
{
	struct jvm_method m[JVM_INLINED];
	struct symbol *s = &world.names[2];

	(void)state;
	memset(s->text, 'x', sizeof(s->text));
	memcpy(s->text, "org/tax/", 8);
	s->length = sizeof(s->text);
	assert_int_equal(inlined(32, false, m), 2);
	assert_int_equal(strlen(m[0].klass), JVM_CLASS);
	assert_memory_equal(m[0].klass, "org/tax/xx", 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_published, setup),
		cmocka_unit_test_setup(test_refused, setup),
		cmocka_unit_test_setup(test_flags, setup),
		cmocka_unit_test_setup(test_check, setup),
		cmocka_unit_test_setup(test_inlined, setup),
		cmocka_unit_test_setup(test_unsure, setup),
		cmocka_unit_test_setup(test_wrong, setup),
		cmocka_unit_test_setup(test_long, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
