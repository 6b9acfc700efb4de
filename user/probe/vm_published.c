/* SPDX-License-Identifier: BSD-2-Clause */
#include "probe/vm_published.h"

#include "probe/target.h"

#include <errno.h>
#include <string.h>

/*
 * What begins _PyRuntime in 3.13, as its header pycore_runtime.h lays it out:
 * a cookie, the version, and numbers of 64 bits. Later versions put others in
 * between, so their tables are not read by this one.
 */
struct published {
	char cookie[8];
	u64 version, free_threaded;
	struct {
		u64 size, finalizing, interpreters_head;
	} runtime;
	struct {
		u64 size, id, next, threads_head, others[9];
	} interpreter;
	struct {
		u64 size, prev, next, interp, current_frame, thread_id, native_thread_id, others[2];
	} thread;
	struct {
		u64 size, previous, executable, instr_ptr, localsplus, owner;
	} frame;
	struct {
		u64 size, filename, name, qualname, others[6];
	} code;
	u64 object[2], type[4], tuple[3], list[3], dict[3], floating[2], integer[3], bytes[3];
	struct {
		u64 size, state, length, ascii_size;
	} text;
};

#define COOKIE "xdebugpy"
/* A compact string that is not ASCII has two more words: its UTF-8 form. */
#define COMPACT_MORE 16

int cpython_published(u32 pid, u64 root, u16 off[OFF_COUNT])
{
	struct published p;
	u32 i;

	if (!root || target_read(pid, root, &p, sizeof(p)) ||
	    memcmp(p.cookie, COOKIE, sizeof(p.cookie)) || p.version >> 16 != 0x030d)
		return -ENOENT;
	if (p.free_threaded)
		return -ENOTSUP;
	const struct {
		enum vm_offset to;
		u64 value;
	} table[] = {
		{ OFF_runtime_interpreters, p.runtime.interpreters_head },
		{ OFF_interp_threads, p.interpreter.threads_head },
		{ OFF_thread_next, p.thread.next },
		{ OFF_thread_native_id, p.thread.native_thread_id },
		{ OFF_thread_cframe, 0 },
		{ OFF_thread_frame, p.thread.current_frame },
		{ OFF_frame_code, p.frame.executable },
		{ OFF_frame_previous, p.frame.previous },
		{ OFF_frame_owner, p.frame.owner },
		{ OFF_code_filename, p.code.filename },
		{ OFF_code_qualname, p.code.qualname },
		{ OFF_text_length, p.text.length },
		{ OFF_text_state, p.text.state },
		{ OFF_text_ascii, p.text.ascii_size },
		{ OFF_text_compact, p.text.ascii_size + COMPACT_MORE },
	};

	for (i = 0; i < ARRAY_SIZE(table); i++)
		if (table[i].value >= UINT16_MAX - COMPACT_MORE)
			return -ENOENT;
	for (i = 0; i < ARRAY_SIZE(table); i++)
		off[table[i].to] = (u16)table[i].value;
	return 0;
}
