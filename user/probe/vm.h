/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stock VMs: which one a process runs, where its roots are, how its frames
 * are laid out, and which group a file of code belongs to. Profiles are data:
 * user/profiles.
 */
#ifndef PROBE_VM_H
#define PROBE_VM_H

#include "base/err.h"
#include "base/map.h"
#include "base/wire.h"
#include "bpf/vm.h"

#include <regex.h>

enum vm_role {
	VM_GC_BEGIN,
	VM_GC_END,
	VM_SWEEP_BEGIN,
	VM_SWEEP_END,
	VM_REQUEST_BEGIN,
	VM_REQUEST_END,
	VM_STATUS,
	VM_COMMIT,
	VM_ROLLBACK,
	VM_STALL_BEGIN,
	VM_STALL_END,
	/* Of every call: for exact calls alone. */
	VM_CALL_BEGIN,
	VM_CALL_END,
	VM_CALL_SWITCH, /* its semaphore alone makes the others fire */
	VM_ROLES,
};

#define VM_NAME_MAX 64
#define VM_WORDS_MAX 160
#define VM_RULES_MAX 32
#define VM_IDLE_MAX 32
#define VM_LAYOUTS_MAX 16

struct vm_rule {
	u8 kind; /* enum vmspan_kind */
	bool named; /* [groups]; else [fallback] */
	char name[VM_NAME_MAX]; /* with \1 ... \9 */
	regex_t regex;
};

/* What a frame says of waits in a thread that has it on its stack. Bits. */
enum vm_frame_is {
	VM_FRAME_IDLE_IN = 1, /* whatever waits in it waits for work */
	VM_FRAME_IDLE_AT = 2, /* so does what waits in it with none further in, but for those: */
	VM_FRAME_THROUGH = 4,
	VM_FRAME_POOL = 8, /* the thread is of a pool; so is one with VM_FRAME_IDLE_AT */
};

/* Of [idle]: one that says something of a wait. */
struct vm_idle {
	u32 is; /* enum vm_frame_is */
	char function[VM_NAME_MAX];
	regex_t file;
};

struct vm_layout {
	char version[VM_NAME_MAX];
	char build_id[65]; /* "": any of the version */
	bool set[OFF_COUNT];
	u16 off[OFF_COUNT];
};

struct vm_profile {
	char name[VM_NAME_MAX], provider[VM_NAME_MAX], symbol[VM_NAME_MAX], version[VM_NAME_MAX],
		sizes[VM_NAME_MAX];
	enum vm_kind kind;
	bool has_file, loop, bursts, scope_file;
	regex_t file;
	char probes[VM_ROLES][VM_NAME_MAX]; /* "": none */
	/* Where a probe is armed and never hit: why, and what to do. */
	char silent[VM_ROLES][VM_WORDS_MAX], silent_do[VM_ROLES][VM_WORDS_MAX];
	struct vm_rule rules[VM_RULES_MAX];
	u32 rule_count;
	struct vm_idle idle[VM_IDLE_MAX];
	u32 idle_count;
	struct vm_layout layouts[VM_LAYOUTS_MAX];
	u32 layout_count;
	/* Of probes at calls. env: a variable that switches them on, flag: an
	 * argument that does; only: what they tell of; none: why there are none. */
	struct {
		char env[VM_NAME_MAX], only[VM_NAME_MAX], none[160];
		bool has_flag;
		regex_t flag;
		char flag_name[VM_NAME_MAX];
	} calls;
};

/* Reads a profile; `where` names it in errors. 0, -EINVAL, -ENOMEM. What was
 * read is freed by vm_profile_free() in any case. */
int vm_profile_parse(const char *text, const char *where, struct vm_profile *p, struct err *err);
void vm_profile_free(struct vm_profile *p);
/* Is this the text of such a profile, and not of one of profile.h? */
bool vm_profile_is(const char *text);
/* One more, tried before those that are built in if it comes before these are asked for. */
int vm_profile_add(const char *text, const char *where, struct err *err);
/* Those there are: *list is owned by the module. The count or negative errno. */
int vm_profiles(const struct vm_profile *const **list, struct err *err);
const char *vm_role_name(enum vm_role role);
/* Provider and name of a role's probe: `provider` is a buffer of VM_NAME_MAX.
 * NULL: it has none. */
const char *vm_probe(const struct vm_profile *p, enum vm_role role, char *provider);

/* Are stacks of this VM looked at? */
static inline bool vm_walks(const struct vm_profile *p)
{
	return p->kind != VM_POSTGRES;
}

/* The VM a process runs. */
struct vm_target {
	const struct vm_profile *profile;
	const struct vm_layout *layout; /* NULL: none is known for it */
	int fd; /* owned: the file */
	u64 dev, inode; /* by fstat */
	char *path; /* owned; as the target sees it */
	u64 root, sizes; /* run-time addresses of the symbols, or 0 */
	char version[VM_NAME_MAX], build_id[65];
	bool probes[VM_ROLES]; /* that the file has */
	bool nop5[VM_ROLES]; /* of those: at a 5-byte nop */
};

/* Remembers binaries by device and inode, so that each is read once. */
struct vm_cache {
	struct map known; /* hash of identity -> index + 1 */
	struct vm_cache_entry *entries;
	u32 count;
};
void vm_cache_free(struct vm_cache *c);

/* 0; -ENOENT (it runs no VM we know; no words); -ENOTSUP with words (it is one by
 * its name, but is not built so that it can be looked into); other negative errno.
 * `c` may be NULL. */
int vm_find(u32 pid, struct vm_cache *c, struct vm_target *t, struct err *err);
/* The profile of the VM that a command would start, by the name of its file;
 * NULL: none. */
const struct vm_profile *vm_of_command(const char *command);
/* 0, or -ENOTSUP with words: without its probes nothing can be seen of it. */
int vm_usable(u32 pid, const struct vm_target *t, struct err *err);
/* What the walker needs. 0, or with words: -ENOTSUP, the frames of this build cannot be walked; -EAGAIN, there are
 * none yet: it is starting, or is only linked to by a program that may never start it. A VM without frames is
 * fine. */
int vm_layout(u32 pid, const struct vm_target *t, struct vm_proc *to, struct err *err);
/* Why its frames cannot be walked, where that passes: told by its address. */
extern const char vm_not_begun[];
void vm_target_free(struct vm_target *t);

/*
 * The group of a file of code: kind and name by the profile's rules. The name
 * is cut to `cap`, terminator included. False: no rule matches.
 */
bool vm_group(const struct vm_profile *p, const char *file, u8 *kind, bool *named, char *name,
	      size_t cap);
/* What a function of a file says of waits: enum vm_frame_is. */
u32 vm_frame_is(const struct vm_profile *p, const char *file, const char *function);

#endif
