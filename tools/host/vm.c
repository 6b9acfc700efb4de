/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/host/vm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/host/util.h"
#include "host_js.inc"

/* In front of each allocation: its size. 16 bytes keep what follows aligned. */
union block {
	size_t size;
	max_align_t align;
};

static void *vm_realloc(void *udata, void *p, size_t size)
{
	struct vm *vm = udata;
	union block *b = p ? (union block *)p - 1 : NULL;
	size_t old = b ? b->size : 0;

	if (!size) {
		vm->bytes -= old;
		free(b);
		return NULL;
	}
	if (size > SIZE_MAX - sizeof(*b))
		return NULL;
	b = realloc(b, sizeof(*b) + size);
	if (!b)
		return NULL;
	vm->bytes += size - old;
	b->size = size;
	return b + 1;
}

static void *vm_alloc(void *udata, size_t size)
{
	return vm_realloc(udata, NULL, size);
}

static void vm_release_bytes(void *udata, void *p)
{
	vm_realloc(udata, p, 0);
}

static void vm_fatal(void *udata, const char *msg)
{
	(void)udata;
	bug("Duktape: %s", msg ? msg : "fatal error");
}

const char *vm_script(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(embedded); i++)
		if (!strcmp(embedded[i].name, name))
			return embedded[i].text;
	bug("no script '%s'", name);
}

void vm_init(struct vm *vm, struct world *w, const struct marks *m, struct ledger *l, u64 random)
{
	*vm = (struct vm){ .world = w, .marks = m, .ledger = l, .random = random };
	vm->root = duk_create_heap(vm_alloc, vm_realloc, vm_release_bytes, vm, vm_fatal);
	if (!vm->root)
		die("cannot create a Duktape heap: no memory");
}

void vm_free(struct vm *vm)
{
	u32 i;

	if (!vm->root)
		return;
	duk_destroy_heap(vm->root);
	vm->root = NULL;
	if (vm->bytes)
		bug("%" PRIu64 " bytes of a heap were never freed", vm->bytes);
	for (i = 0; i < vm->realm_count; i++) {
		free(vm->realms[i]->ctx);
		free(vm->realms[i]);
	}
	free(vm->realms);
	free(vm->services);
}

struct vm *vm_of(duk_context *ctx)
{
	duk_memory_functions f;

	duk_get_memory_functions(ctx, &f);
	return f.udata;
}

/* Adds the thread on top of `from` to the realm; the heap's stash keeps it alive. */
static void add_context(struct realm *r, duk_context *from)
{
	duk_context *ctx = duk_require_context(from, -1);

	duk_push_heap_stash(from);
	duk_insert(from, -2);
	duk_put_prop_index(from, -2, r->vm->contexts++);
	duk_pop(from);
	r->ctx = xgrow(r->ctx, r->contexts + 1, sizeof(*r->ctx));
	r->ctx[r->contexts++] = ctx;
}

struct realm *vm_realm(struct vm *vm)
{
	struct realm *r = xcalloc(1, sizeof(*r));

	r->vm = vm;
	duk_push_thread_new_globalenv(vm->root);
	add_context(r, vm->root);
	vm->realms = xgrow(vm->realms, vm->realm_count + 1, sizeof(struct realm *));
	vm->realms[vm->realm_count++] = r;
	return r;
}

duk_context *vm_acquire(struct realm *r)
{
	duk_context *ctx;

	if (r->active == r->contexts) {
		duk_require_stack(r->ctx[0], 4);
		duk_push_thread(r->ctx[0]);
		add_context(r, r->ctx[0]);
	}
	ctx = r->ctx[r->active++];
	duk_set_top(ctx, 0);
	return ctx;
}

void vm_release(struct realm *r, duk_context *ctx)
{
	do {
		if (!r->active)
			bug("a context released twice");
		duk_set_top(r->ctx[--r->active], 0);
	} while (r->ctx[r->active] != ctx);
}

void vm_load(struct compartment *c, const char *script, void (*api)(duk_context *ctx))
{
	struct vm *vm = c->realm->vm;
	struct compartment *outer = vm->current;
	duk_context *ctx = vm_acquire(c->realm);

	vm->current = c;
	duk_push_global_stash(ctx);
	duk_push_object(ctx);
	duk_put_prop_literal(ctx, -2, "kept");
	duk_push_string(ctx, script);
	if (duk_pcompile_string_filename(ctx, DUK_COMPILE_FUNCTION, vm_script(script)))
		bug("%s.js: %s", script, duk_safe_to_string(ctx, -1));
	duk_push_object(ctx);
	api(ctx);
	if (duk_pcall(ctx, 1))
		bug("%s.js: %s", script, duk_safe_to_string(ctx, -1));
	duk_put_prop_literal(ctx, -2, "exports");
	vm_release(c->realm, ctx);
	vm->current = outer;
}

void vm_serve(struct vm *vm, struct compartment *c)
{
	vm->services = xgrow(vm->services, vm->service_count + 1, sizeof(*vm->services));
	vm->services[vm->service_count++] = c;
}

int vm_enter(struct compartment *c, duk_context *ctx, duk_safe_call_function body, void *arg,
	     duk_idx_t args, char *error, size_t size)
{
	struct vm *vm = c->realm->vm;
	struct compartment *outer = vm->current;
	int failed;

	vm->current = c;
	mark_enter(vm->ledger, c);
	failed = duk_safe_call(ctx, body, arg, args, 1);
	if (!failed || !vm->unbalanced)
		mark_leave(vm->ledger, c);
	vm->current = outer;
	if (failed) {
		/* The message alone: each crossing makes an error of its own. */
		if (duk_is_error(ctx, -1) && duk_get_prop_literal(ctx, -1, "message"))
			duk_replace(ctx, -2);
		snprintf(error, size, "%s", duk_safe_to_string(ctx, -1));
	}
	return failed ? -1 : 0;
}

struct host_call {
	const char *method; /* NULL: the kept function `number` */
	u32 number;
	double argument, result;
};

static duk_ret_t host_call_body(duk_context *ctx, void *p)
{
	struct host_call *h = p;

	duk_push_global_stash(ctx);
	if (h->method) {
		duk_get_prop_literal(ctx, -1, "exports");
		duk_push_string(ctx, h->method);
		duk_push_number(ctx, h->argument);
		duk_call_prop(ctx, -3, 1);
	} else {
		duk_get_prop_literal(ctx, -1, "kept");
		duk_get_prop_index(ctx, -1, h->number);
		duk_del_prop_index(ctx, -2, h->number);
		duk_call(ctx, 0);
	}
	h->result = duk_is_number(ctx, -1) ? duk_get_number(ctx, -1) : 0;
	duk_push_undefined(ctx);
	return 1;
}

static double host_call(struct compartment *c, struct host_call *h)
{
	duk_context *ctx = vm_acquire(c->realm);
	char error[256];

	if (vm_enter(c, ctx, host_call_body, h, 0, error, sizeof(error)))
		bug("%s: %s", h->method ? h->method : "timer", error);
	vm_release(c->realm, ctx);
	return h->result;
}

double vm_call(struct compartment *c, const char *method, double n)
{
	struct host_call h = { .method = method, .argument = n };

	return host_call(c, &h);
}

void vm_call_kept(struct compartment *c, u32 number)
{
	struct host_call h = { .number = number };

	host_call(c, &h);
}

void vm_keep(duk_context *ctx, duk_idx_t idx, u32 number)
{
	idx = duk_require_normalize_index(ctx, idx);
	duk_push_global_stash(ctx);
	duk_get_prop_literal(ctx, -1, "kept");
	duk_dup(ctx, idx);
	duk_put_prop_index(ctx, -2, number);
	duk_pop_2(ctx);
}

void vm_chain(struct compartment *const *c, u32 count, u32 depth, const char *method)
{
	struct ledger *l = c[0]->realm->vm->ledger;
	u32 i;

	for (i = 0; i + 1 < depth; i++)
		mark_enter(l, c[i % count]);
	vm_call(c[i % count], method, depth);
	while (i-- > 0)
		mark_leave(l, c[i % count]);
}

void vm_collect(struct vm *vm, enum label why)
{
	u64 before = vm->bytes;

	mark_gc_begin(vm->marks, vm->ledger, why, before);
	duk_gc(vm->root, 0);
	mark_gc_end(vm->ledger, before, vm->bytes);
	mark_value(vm->marks, vm->ledger, LABEL_HEAP, (s64)vm->bytes);
}
