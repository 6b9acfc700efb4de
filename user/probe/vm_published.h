/* SPDX-License-Identifier: BSD-2-Clause */
/* Offsets that a VM tells of itself: CPython 3.13's _Py_DebugOffsets. */
#ifndef PROBE_VM_PUBLISHED_H
#define PROBE_VM_PUBLISHED_H

#include "base/types.h"
#include "bpf/vm.h"

/*
 * Reads them from the target's memory at its root, `_PyRuntime`. 0; -ENOENT:
 * this version publishes none that we can read; -ENOTSUP: it runs without a
 * GIL, and its frames are not walked. `off` is filled on 0 alone.
 */
int cpython_published(u32 pid, u64 root, u16 off[OFF_COUNT]);

#endif
