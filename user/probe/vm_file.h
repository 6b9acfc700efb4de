/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a VM's binary says of itself, whichever process runs it: probes,
 * symbols, build. Read once a file.
 */
#ifndef PROBE_VM_FILE_H
#define PROBE_VM_FILE_H

#include "base/map.h"
#include "probe/vm.h"

/* Executable segments by which a mapping is told to lie where. */
#define VM_SEGMENTS 8

struct vm_segment {
	u64 offset, address; /* of their pages, as linked */
};

struct vm_file_facts {
	char build_id[65]; /* "": none */
	bool probes[VM_ROLES], nop5[VM_ROLES];
	/* Addresses as linked of the profile's symbols; 0: not there. */
	u64 root, version, sizes;
	struct vm_segment segments[VM_SEGMENTS];
	u32 segment_count;
};

/* `c` may be NULL. 0 or negative errno: it is no binary of this machine. */
int vm_file_read(int fd, const struct vm_profile *p, struct vm_cache *c, struct vm_file_facts *to);
/* Run-time minus linked addresses, by where a mapping begins in the file. */
bool vm_file_bias(const struct vm_file_facts *f, u64 pgoff, u64 start, u64 *bias);

#endif
