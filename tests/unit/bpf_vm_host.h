/* SPDX-License-Identifier: BSD-2-Clause */
/* The programs of stock VMs as functions of a test, beside a process of one. */
#ifndef TESTS_BPF_VM_HOST_H
#define TESTS_BPF_VM_HOST_H

#include "bpf_host.h"

#define LICENSE license_of_stopwatch
#include "bpf/stopwatch.bpf.c"
#undef LICENSE
#define LICENSE license_of_calls
#define leave leave_call
#include "bpf/calls.bpf.c"
#undef leave
#undef LICENSE
#define LICENSE license_of_statement
#include "bpf/statement.bpf.c"
#undef LICENSE
#define LICENSE license_of_walk
#include "bpf/walk.bpf.c"
#undef LICENSE

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct vm_proc proc;

static void *more(void *map, const void *key)
{
	return map == &vm_procs && *(const __u32 *)key == TRACED ? &proc : NULL;
}

#endif
