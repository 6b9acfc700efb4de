/* SPDX-License-Identifier: BSD-2-Clause */
/* Any bytes as a JVM's compiled code and its debug information, and as the tables it
 * publishes: what comes back is bounded and terminated. */
#include "probe/jvm.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Addresses in the input are small: they are places in the memory it makes. */
static u64 memory[512];

static void lay_out(const uint8_t *data, size_t size)
{
	size_t i;

	memset(memory, 0, sizeof(memory));
	memcpy(memory, data, size < sizeof(memory) ? size : sizeof(memory));
	for (i = 0; i < ARRAY_SIZE(memory); i++)
		if (memory[i] >> 48 == 0x7fff)
			memory[i] = (u64)(uintptr_t)memory + memory[i] % sizeof(memory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct vm_proc p = { 0 };
	struct jvm_method m[JVM_INLINED];
	struct wire_frame w = { 0 };
	u32 self = (u32)getpid(), n, i;

	lay_out(data, size);
	if (size < 8)
		return 0;
	for (i = 0; i < OFF_COUNT; i++)
		p.off[i] = (u16)(i % 32 * 8);
	p.off[OFF_pc_size] = (u16)(8 + data[3] % 16);
	w.code = (u64)(uintptr_t)memory + data[0] * 8u;
	w.leaf = data[1] & 1;
	w.compiled = (u32)memory[data[0] + p.off[OFF_nmethod_id] / 8];
	w.pc = memory[data[0] + p.off[OFF_blob_code] / 8] + data[2];
	n = jvm_inlined(self, &p, &w, m);
	if (n > JVM_INLINED)
		abort();
	for (i = 0; i < n; i++)
		if (strnlen(m[i].klass, sizeof(m[i].klass)) == sizeof(m[i].klass) ||
		    strnlen(m[i].name, sizeof(m[i].name)) == sizeof(m[i].name))
			abort();
	memset(&p, 0, sizeof(p));
	if (!jvm_published(self, (u64)(uintptr_t)memory, (u64)(uintptr_t)&memory[1], &p))
		jvm_check(self, &p);
	return 0;
}
