/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * HotSpot publishes its structures' offsets in its memory (gHotSpotVMStructs, for
 * its own tools): with them its frames are walked, and the debug information of
 * its compiled code is read. Everything read belongs to the target.
 */
#ifndef PROBE_JVM_H
#define PROBE_JVM_H

#include "base/types.h"
#include "base/wire.h"
#include "bpf/vm.h"

/* The versions of it whose frames' layout is known. */
#define JVM_MAJOR 17

/* Which one it is, 17; 0: it does not say. structs: the run-time address of
 * gHotSpotVMStructs. */
u32 jvm_version(u32 pid, u64 structs);
/*
 * Offsets and places of code, into to->off and to->jvm. structs as above, sizes: of
 * gHotSpotVMTypes. NULL, or why not; vm_not_begun where it is starting.
 */
const char *jvm_published(u32 pid, u64 structs, u64 sizes, struct vm_proc *to);
/* The same: whether what was published is true here. */
const char *jvm_check(u32 pid, const struct vm_proc *p);

/* Is a flag of its command line on that can be on or off? 1 or 0; -ENOENT: it does not say. */
int jvm_flag(u32 pid, u64 structs, u64 sizes, const char *name);

enum {
	JVM_INLINED = 32, /* methods inside each other at one place */
	JVM_CLASS = 240, /* bytes of a class's name; of a longer one the begin */
	JVM_METHOD = 112,
};

struct jvm_method {
	char klass[JVM_CLASS + 1]; /* com/example/shop/Cart */
	char name[JVM_METHOD + 1];
};

/*
 * The methods that are under way at w->pc in compiled code, innermost first: the
 * last one is what was compiled, the others are inlined. Their number, at most
 * JVM_INLINED; 0: the code is not there any more, or says nothing of this place.
 * *unsure: the place before is of another method, of which it may be as well.
 */
u32 jvm_inlined(u32 pid, const struct vm_proc *p, const struct wire_frame *w,
		struct jvm_method to[JVM_INLINED], bool *unsure);

#endif
