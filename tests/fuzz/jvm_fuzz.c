/* SPDX-License-Identifier: BSD-2-Clause */
/* Any bytes as a JVM's compiled code and its debug information, and as the tables it
 * publishes: what comes back is bounded and terminated. */
#include "probe/jvm.h"
#include "reached.h"
#include "seed_jvm.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct reached published = { .what = "published" }, checked = { .what = "checked" },
		      inlined = { .what = "inlined" };

static struct seed_jvm in;

static void lay_out(const uint8_t *data, size_t size)
{
	u64 *m = in.memory;
	size_t i;

	memset(&in, 0, sizeof(in));
	memcpy(&in, data, size < sizeof(in) ? size : sizeof(in));
	for (i = 0; i < JVM_WORDS; i++)
		if (m[i] >> 48 == JVM_PLACE >> 48)
			m[i] = (u64)(uintptr_t)m + m[i] % sizeof(in.memory);
		else if (m[i] >> 48 == JVM_SELF >> 48)
			m[i] = (u64)getpid();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct vm_proc p = { 0 };
	struct jvm_method m[JVM_INLINED];
	struct wire_frame w = { 0 };
	u32 self = (u32)getpid(), n, i;
	bool unsure;

	lay_out(data, size);
	if (!jvm_published(self, (u64)(uintptr_t)in.memory, (u64)(uintptr_t)&in.memory[1], &p)) {
		reach(&published);
		if (!jvm_check(self, &p))
			reach(&checked);
	} else {
		/* Code is read whatever the tables came to. */
		for (i = 0; i < OFF_COUNT; i++)
			p.off[i] = (u16)(i % 32 * 8);
		p.off[OFF_pc_size] = (u16)(8 + in.pad[0] % 16);
	}
	in.code %= JVM_WORDS;
	w.code = (u64)(uintptr_t)&in.memory[in.code];
	w.leaf = in.leaf & 1;
	memcpy(&w.compiled,
	       (u8 *)in.memory + (in.code * 8u + p.off[OFF_nmethod_id]) % (sizeof(in.memory) - 8),
	       sizeof(w.compiled));
	memcpy(&w.pc,
	       (u8 *)in.memory + (in.code * 8u + p.off[OFF_blob_code]) % (sizeof(in.memory) - 8),
	       sizeof(w.pc));
	w.pc += in.pc;
	n = jvm_inlined(self, &p, &w, m, &unsure);
	if (n > JVM_INLINED)
		abort();
	if (n > 1)
		reach(&inlined);
	for (i = 0; i < n; i++)
		if (strnlen(m[i].klass, sizeof(m[i].klass)) == sizeof(m[i].klass) ||
		    strnlen(m[i].name, sizeof(m[i].name)) == sizeof(m[i].name))
			abort();
	return 0;
}
