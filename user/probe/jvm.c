/* SPDX-License-Identifier: BSD-2-Clause */
#include "probe/jvm.h"

#include "probe/target.h"
#include "probe/threads.h"
#include "probe/vm.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

/* As vmStructs.hpp has them, since JDK 6. */
struct struct_entry {
	u64 type, field, kind; /* addresses of texts */
	u32 is_static, pad;
	u64 offset;
	u64 address; /* of a static one */
};
struct type_entry {
	u64 name, super; /* addresses of texts */
	int32_t flags[4];
	u64 size;
};

/* Bytes of libjvm in memory; that of JDK 17 takes 20 million. */
#define LIBRARY_MAX (1ull << 30)
/* Entries of a table; JDK 17 has 800. */
#define ENTRIES_MAX 8192
#define TEXT_MAX 48

enum place {
	PLACE_VERSION,
	PLACE_THREADS,
	PLACE_HEAPS,
	PLACE_INTERPRETER,
	PLACE_CALL_RETURN,
	PLACES,
};

/* What else is wanted for a moment. */
enum extra {
	ARRAY_LENGTH,
	ARRAY_DATA,
	HEAP_MEMORY,
	HEAP_MAP,
	HEAP_SHIFT,
	SPACE_BEGIN,
	SPACE_END,
	SPACE_LOW,
	QUEUE_BUFFER,
	QUEUE_LIMIT,
	EXTRAS,
};

struct table {
	u16 *off; /* of vm_proc */
	bool has[OFF_COUNT], has_place[PLACES], has_extra[EXTRAS];
	u64 places[PLACES], extras[EXTRAS];
};

static const struct {
	const char *type, *field;
	enum vm_offset to;
} fields[] = {
	{ "ThreadsList", "_length", OFF_list_length },
	{ "ThreadsList", "_threads", OFF_list_threads },
	{ "JavaThread", "_osthread", OFF_thread_os },
	{ "OSThread", "_thread_id", OFF_os_tid },
	{ "JavaThread", "_anchor", OFF_thread_anchor },
	{ "JavaFrameAnchor", "_last_Java_sp", OFF_anchor_sp },
	{ "JavaFrameAnchor", "_last_Java_fp", OFF_anchor_fp },
	{ "JavaFrameAnchor", "_last_Java_pc", OFF_anchor_pc },
	{ "JavaCallWrapper", "_anchor", OFF_wrapper_anchor },
	{ "Method", "_constMethod", OFF_method_const },
	{ "ConstMethod", "_constants", OFF_const_constants },
	{ "ConstMethod", "_constMethod_size", OFF_const_size },
	{ "ConstMethod", "_name_index", OFF_const_name },
	{ "ConstantPool", "_pool_holder", OFF_pool_holder },
	{ "Klass", "_name", OFF_klass_name },
	{ "Symbol", "_length", OFF_symbol_length },
	{ "Symbol", "_body", OFF_symbol_text },
	{ "HeapBlock::Header", "_used", OFF_block_used },
	{ "CodeBlob", "_name", OFF_blob_name },
	{ "CodeBlob", "_code_begin", OFF_blob_code },
	{ "CodeBlob", "_frame_complete_offset", OFF_blob_complete },
	{ "CodeBlob", "_frame_size", OFF_blob_frame },
	{ "CompiledMethod", "_method", OFF_nmethod_method },
	{ "CompiledMethod", "_scopes_data_begin", OFF_nmethod_scopes },
	{ "nmethod", "_compile_id", OFF_nmethod_id },
	{ "nmethod", "_metadata_offset", OFF_nmethod_metadata },
	{ "nmethod", "_scopes_pcs_offset", OFF_nmethod_pcs },
	{ "nmethod", "_dependencies_offset", OFF_nmethod_pcs_end },
	{ "PcDesc", "_pc_offset", OFF_pc_offset },
	{ "PcDesc", "_scope_decode_offset", OFF_pc_scope },
};

static const struct {
	const char *type;
	enum vm_offset to;
} sizes[] = {
	{ "ConstantPool", OFF_pool_slots },
	{ "HeapBlock", OFF_block_size },
	{ "PcDesc", OFF_pc_size },
};

static const struct {
	const char *type, *field;
} places[PLACES] = {
	[PLACE_VERSION] = { "Abstract_VM_Version", "_vm_major_version" },
	[PLACE_THREADS] = { "ThreadsSMRSupport", "_java_thread_list" },
	[PLACE_HEAPS] = { "CodeCache", "_heaps" },
	[PLACE_INTERPRETER] = { "AbstractInterpreter", "_code" },
	[PLACE_CALL_RETURN] = { "StubRoutines", "_call_stub_return_address" },
};

static const struct {
	const char *type, *field;
} extras[EXTRAS] = {
	[ARRAY_LENGTH] = { "GrowableArrayBase", "_len" },
	[ARRAY_DATA] = { "GrowableArray<int>", "_data" },
	[HEAP_MEMORY] = { "CodeHeap", "_memory" },
	[HEAP_MAP] = { "CodeHeap", "_segmap" },
	[HEAP_SHIFT] = { "CodeHeap", "_log2_segment_size" },
	[SPACE_BEGIN] = { "VirtualSpace", "_low_boundary" },
	[SPACE_END] = { "VirtualSpace", "_high_boundary" },
	[SPACE_LOW] = { "VirtualSpace", "_low" },
	[QUEUE_BUFFER] = { "StubQueue", "_stub_buffer" },
	[QUEUE_LIMIT] = { "StubQueue", "_buffer_limit" },
};

/* ---- Reading ---- */

static u64 read_u64(u32 pid, u64 at)
{
	u64 v = 0;

	return at && !target_read(pid, at, &v, sizeof(v)) ? v : 0;
}

static u32 read_u32(u32 pid, u64 at)
{
	u32 v = 0;

	return at && !target_read(pid, at, &v, sizeof(v)) ? v : 0;
}

/* Of a long text the begin. It may lie at the end of what is mapped. */
static void read_text(u32 pid, u64 at, char to[TEXT_MAX])
{
	u64 page = (u64)sysconf(_SC_PAGESIZE), left = page - at % page;

	memset(to, 0, TEXT_MAX);
	if (at && target_read(pid, at, to, TEXT_MAX - 1) && left < TEXT_MAX - 1 &&
	    target_read(pid, at, to, left))
		to[0] = 0;
}

static bool fits(u64 v)
{
	return v < UINT16_MAX;
}

static void take_field(void *ctx, const char *type, const char *field, const struct struct_entry *e)
{
	struct table *t = ctx;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(fields); i++)
		if (!strcmp(type, fields[i].type) && !strcmp(field, fields[i].field) &&
		    !e->is_static && fits(e->offset)) {
			t->off[fields[i].to] = (u16)e->offset;
			t->has[fields[i].to] = true;
		}
	for (i = 0; i < PLACES; i++)
		if (!strcmp(type, places[i].type) && !strcmp(field, places[i].field) &&
		    e->is_static) {
			t->places[i] = e->address;
			t->has_place[i] = true;
		}
	for (i = 0; i < EXTRAS; i++)
		if (!strcmp(type, extras[i].type) && !strcmp(field, extras[i].field) &&
		    !e->is_static && fits(e->offset)) {
			t->extras[i] = e->offset;
			t->has_extra[i] = true;
		}
}

typedef void (*field_fn)(void *ctx, const char *type, const char *field,
			 const struct struct_entry *e);

/* False: it cannot be read to its end. */
static bool read_structs(u32 pid, u64 at, field_fn take, void *ctx)
{
	char type[TEXT_MAX], field[TEXT_MAX];
	struct struct_entry e;
	u32 i;

	for (i = 0; i < ENTRIES_MAX; i++) {
		if (target_read(pid, at + i * sizeof(e), &e, sizeof(e)))
			return false;
		if (!e.type)
			return true;
		read_text(pid, e.type, type);
		read_text(pid, e.field, field);
		take(ctx, type, field, &e);
	}
	return false;
}

static void take_size(void *ctx, const char *type, u64 size)
{
	struct table *t = ctx;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		if (!strcmp(type, sizes[i].type) && fits(size)) {
			t->off[sizes[i].to] = (u16)size;
			t->has[sizes[i].to] = true;
		}
}

static bool read_types(u32 pid, u64 at, void (*take)(void *ctx, const char *type, u64 size),
		       void *ctx)
{
	struct type_entry e;
	char name[TEXT_MAX];
	u32 i;

	for (i = 0; i < ENTRIES_MAX; i++) {
		if (target_read(pid, at + i * sizeof(e), &e, sizeof(e)))
			return false;
		if (!e.name)
			return true;
		read_text(pid, e.name, name);
		take(ctx, name, e.size);
	}
	return false;
}

/* ---- What was published ---- */

static const char *missing(const struct table *t)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(fields); i++)
		if (!t->has[fields[i].to])
			return fields[i].field;
	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		if (!t->has[sizes[i].to])
			return sizes[i].type;
	for (i = 0; i < PLACES; i++)
		if (!t->has_place[i])
			return places[i].field;
	for (i = 0; i < EXTRAS; i++)
		if (!t->has_extra[i])
			return extras[i].field;
	return NULL;
}

/* The heaps are made at the start, as large as they may become. */
static const char *find_code(u32 pid, const struct table *t, struct vm_jvm *to)
{
	u64 heaps = read_u64(pid, t->places[PLACE_HEAPS]), data, heap, queue;
	u32 count = heaps ? read_u32(pid, heaps + t->extras[ARRAY_LENGTH]) : 0, i;

	if (!heaps || !count)
		return vm_not_begun;
	if (count > JVM_HEAPS)
		return "its heaps of code are not where they should be";
	data = read_u64(pid, heaps + t->extras[ARRAY_DATA]);
	for (i = 0; i < count; i++) {
		heap = read_u64(pid, data + i * sizeof(u64));
		if (!heap)
			return "a heap of code is not where it should be";
		to->heaps[i].low =
			read_u64(pid, heap + t->extras[HEAP_MEMORY] + t->extras[SPACE_BEGIN]);
		to->heaps[i].high =
			read_u64(pid, heap + t->extras[HEAP_MEMORY] + t->extras[SPACE_END]);
		to->heaps[i].map = read_u64(pid, heap + t->extras[HEAP_MAP] + t->extras[SPACE_LOW]);
		to->heaps[i].shift = read_u32(pid, heap + t->extras[HEAP_SHIFT]);
		if (!to->heaps[i].low || to->heaps[i].high <= to->heaps[i].low ||
		    !to->heaps[i].map || to->heaps[i].shift < 4 || to->heaps[i].shift > 16)
			return "a heap of code makes no sense";
	}
	queue = read_u64(pid, t->places[PLACE_INTERPRETER]);
	to->interpreter = queue ? read_u64(pid, queue + t->extras[QUEUE_BUFFER]) : 0;
	to->interpreter_end =
		to->interpreter + (queue ? read_u32(pid, queue + t->extras[QUEUE_LIMIT]) : 0);
	to->call_return = read_u64(pid, t->places[PLACE_CALL_RETURN]);
	to->threads = t->places[PLACE_THREADS];
	if (!to->interpreter || !to->call_return)
		return vm_not_begun;
	return NULL;
}

u32 jvm_version(u32 pid, u64 structs)
{
	u16 off[OFF_COUNT];
	struct table t = { .off = off };

	/* Whatever else is wrong with the table. */
	read_structs(pid, read_u64(pid, structs), take_field, &t);
	return t.has_place[PLACE_VERSION] ? read_u32(pid, t.places[PLACE_VERSION]) : 0;
}

const char *jvm_published(u32 pid, u64 structs, u64 types, struct vm_proc *to)
{
	struct table t = { .off = to->off };
	u32 version;
	u64 at;

	if (target_read(pid, structs, &at, sizeof(at)))
		return "its memory cannot be read";
	/* It points into its library, once that is relocated. */
	if (at - structs + LIBRARY_MAX > 2 * LIBRARY_MAX)
		return vm_not_begun;
	if (!read_structs(pid, at, take_field, &t) ||
	    !read_types(pid, read_u64(pid, types), take_size, &t))
		return "what it publishes of its structures cannot be read";
	version = t.has_place[PLACE_VERSION] ? read_u32(pid, t.places[PLACE_VERSION]) : 0;
	if (t.has_place[PLACE_VERSION] && !version)
		return vm_not_begun;
	if (version != JVM_MAJOR)
		return "how frames of this version lie is not known";
	if (missing(&t))
		return "it does not publish all that is needed";
	return find_code(pid, &t, &to->jvm);
}

/* ---- Flags ---- */

/* Flags of it; JDK 17 has 1,400. */
#define FLAGS_MAX 8192

struct flags {
	u64 list, count; /* addresses of where they are; 0: not told */
	u64 name, value, size; /* of one: offsets of two addresses, and its bytes */
	bool has_name, has_value;
};

static void take_flag_field(void *ctx, const char *type, const char *field,
			    const struct struct_entry *e)
{
	struct flags *f = ctx;

	if (strcmp(type, "JVMFlag"))
		return;
	if (e->is_static && !strcmp(field, "flags"))
		f->list = e->address;
	else if (e->is_static && !strcmp(field, "numFlags"))
		f->count = e->address;
	else if (!e->is_static && !strcmp(field, "_name"))
		f->name = e->offset, f->has_name = true;
	else if (!e->is_static && !strcmp(field, "_addr"))
		f->value = e->offset, f->has_value = true;
}

static void take_flag_size(void *ctx, const char *type, u64 size)
{
	if (!strcmp(type, "JVMFlag"))
		((struct flags *)ctx)->size = size;
}

int jvm_flag(u32 pid, u64 structs, u64 types, const char *name)
{
	struct flags f = { 0 };
	char text[TEXT_MAX];
	u64 list, count, i;
	u8 on;

	if (!read_structs(pid, read_u64(pid, structs), take_flag_field, &f) ||
	    !read_types(pid, read_u64(pid, types), take_flag_size, &f) || !f.has_name ||
	    !f.has_value || !fits(f.size) || f.name + 8 > f.size || f.value + 8 > f.size)
		return -ENOENT;
	list = read_u64(pid, f.list);
	count = min_u64(read_u64(pid, f.count), FLAGS_MAX);
	for (i = 0; list && i < count; i++) {
		u64 at = list + i * f.size;

		read_text(pid, read_u64(pid, at + f.name), text);
		if (!strcmp(text, name))
			return target_read(pid, read_u64(pid, at + f.value), &on, sizeof(on))
				       ? -ENOENT
				       : on != 0;
	}
	return -ENOENT;
}

/* Some of its threads must be one of the process. */
const char *jvm_check(u32 pid, const struct vm_proc *p)
{
	u64 list = read_u64(pid, p->jvm.threads), at, thread, os;
	u32 count = list ? read_u32(pid, list + p->off[OFF_list_length]) : 0, i;
	struct map own = { 0 };
	bool found = false, listed;

	at = count ? read_u64(pid, list + p->off[OFF_list_threads]) : 0;
	listed = !threads_numbers(pid, &own);
	for (i = 0; at && i < count && i < 4096 && !found; i++) {
		thread = read_u64(pid, at + i * sizeof(u64));
		os = thread ? read_u64(pid, thread + p->off[OFF_thread_os]) : 0;
		found = os && map_get(&own, read_u32(pid, os + p->off[OFF_os_tid]));
	}
	map_free(&own);
	if (!count)
		return vm_not_begun;
	return found    ? NULL
	       : listed ? "none of its threads is a thread of the process"
			: "the process's threads cannot be listed";
}
