/* SPDX-License-Identifier: BSD-2-Clause */
/* What a probe's note says of its arguments, as the kernel side reads it. */
#ifndef PROBE_PROBE_ARGS_H
#define PROBE_PROBE_ARGS_H

#include "base/err.h"
#include "bpf/vm.h"

/*
 * The first PROBE_ARGS arguments of a note's description, "8@%rbp -4@16(%rsp,%rax,2) 8@$5": how many bytes,
 * negative if they are signed, and an operand of the assembler (SystemTap's
 * UserSpaceProbeImplementation, "Argument Format"). 0, or -ENOTSUP: `*bad` is the place in `text` of the first one
 * of a kind that is not known: a floating-point register, an address by a symbol; and all of them where the
 * machine is not x86-64.
 */
int probe_args_parse(const char *text, struct probe_args *to, const char **bad);

#endif
