/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A Duktape heap of one thread, its realms (one global each), and calls into
 * compartments. A heap is used by one thread at a time.
 */
#ifndef HOST_VM_H
#define HOST_VM_H

#include <duktape.h>

#include "tools/host/mark.h"

struct vm;

/*
 * A global. Duktape runs a thread of execution only once at a time, so a realm
 * that is entered again while it runs needs another one: ctx[active] is free.
 */
struct realm {
	struct vm *vm;
	duk_context **ctx;
	u32 contexts, active;
};

struct vm {
	duk_context *root;
	u64 bytes; /* allocated now, exactly */
	struct ledger *ledger;
	const struct marks *marks;
	struct world *world;
	u64 random;
	bool unbalanced; /* a failed call skips its leave, on purpose */
	struct compartment *current; /* whose code runs, NULL: the host's */
	struct compartment **services; /* the add-ons that scripts of this heap may call */
	u32 service_count;
	u32 contexts;
	struct realm **realms; /* owned */
	u32 realm_count;
};

/* The script's file name and text, from tools/host/js. Dies if there is none. */
const char *vm_script(const char *name);

void vm_init(struct vm *vm, struct world *w, const struct marks *m, struct ledger *l, u64 random);
void vm_free(struct vm *vm);
struct vm *vm_of(duk_context *ctx);

struct realm *vm_realm(struct vm *vm);
/*
 * A context of the realm that does not run, in use until vm_release, which
 * also releases what was acquired later and not released for an exception.
 */
duk_context *vm_acquire(struct realm *r);
void vm_release(struct realm *r, duk_context *ctx);

/*
 * Evaluates a script, a function of the `host` object that `api` fills in,
 * and keeps what it returns as the exports of the realm. Makes no mark.
 */
void vm_load(struct compartment *c, const char *script, void (*api)(duk_context *ctx));
/* Offers the compartment's exports to the scripts of its heap. */
void vm_serve(struct vm *vm, struct compartment *c);

/*
 * Runs `body` in compartment c: enters it, calls, leaves it whether or not the
 * script throws. `body` finds `args` values on its stack and returns like a
 * Duktape/C function of duk_safe_call. Returns 0, or -1 with the error's text
 * in `error` (of `size` bytes).
 */
int vm_enter(struct compartment *c, duk_context *ctx, duk_safe_call_function body, void *arg,
	     duk_idx_t args, char *error, size_t size);

/* exports.method(n) from the host; an exception out of it is a bug of the script. */
double vm_call(struct compartment *c, const char *method, double n);
/* A function kept by vm_keep; it is kept no longer. */
void vm_call_kept(struct compartment *c, u32 number);
/* Keeps the function at idx under a number of the current compartment's realm. */
void vm_keep(duk_context *ctx, duk_idx_t idx, u32 number);

/* Enters `depth` compartments, in turn those of c[]; calls exports.method of the last one. */
void vm_chain(struct compartment *const *c, u32 count, u32 depth, const char *method);

/* One marked collection, and the heap's size as a value. */
void vm_collect(struct vm *vm, enum label why);

#endif
