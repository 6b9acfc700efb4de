/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/host/membrane.h"

#include "tools/host/util.h"

enum {
	COPY_DEPTH = 8,
	COPY_LENGTH = 10000
};

struct route {
	duk_context *to, *from;
	struct compartment *home_to, *home_from;
};

static duk_ret_t membrane_call(duk_context *ctx);
static void copy(const struct route *r, duk_idx_t idx, u32 depth);

/* The target and home of the wrapper at idx; false: it is none. */
static bool wrapped(duk_context *ctx, duk_idx_t idx, struct compartment **home)
{
	struct compartment *found;

	if (!duk_is_c_function(ctx, idx))
		return false;
	duk_get_prop_literal(ctx, idx, DUK_HIDDEN_SYMBOL("home"));
	found = duk_get_pointer(ctx, -1);
	duk_pop(ctx);
	if (found)
		*home = found;
	return found != NULL;
}

static void copy_function(const struct route *r, duk_idx_t idx)
{
	struct compartment *home = r->home_from;
	bool wrapper = wrapped(r->from, idx, &home);

	if (wrapper)
		duk_get_prop_literal(r->from, idx, DUK_HIDDEN_SYMBOL("target"));
	else
		duk_dup(r->from, idx);
	if (home != r->home_to)
		duk_push_c_function(r->to, membrane_call, DUK_VARARGS);
	duk_xmove_top(r->to, r->from, 1);
	if (home == r->home_to)
		return;
	duk_put_prop_literal(r->to, -2, DUK_HIDDEN_SYMBOL("target"));
	duk_push_pointer(r->to, home);
	duk_put_prop_literal(r->to, -2, DUK_HIDDEN_SYMBOL("home"));
}

static void copy_array(const struct route *r, duk_idx_t idx, u32 depth)
{
	duk_size_t i, n = duk_get_length(r->from, idx);

	if (n > COPY_LENGTH)
		n = COPY_LENGTH;
	duk_push_array(r->to);
	for (i = 0; i < n; i++) {
		duk_get_prop_index(r->from, idx, (duk_uarridx_t)i);
		copy(r, duk_get_top_index(r->from), depth + 1);
		duk_put_prop_index(r->to, -2, (duk_uarridx_t)i);
		duk_pop(r->from);
	}
}

static void copy_object(const struct route *r, duk_idx_t idx, u32 depth)
{
	duk_push_object(r->to);
	duk_enum(r->from, idx, DUK_ENUM_OWN_PROPERTIES_ONLY);
	while (duk_next(r->from, -1, 1)) {
		duk_xcopy_top(r->to, r->from, 2);
		duk_pop(r->to);
		copy(r, duk_get_top_index(r->from), depth + 1);
		duk_put_prop(r->to, -3);
		duk_pop_2(r->from);
	}
	duk_pop(r->from);
}

static void copy(const struct route *r, duk_idx_t idx, u32 depth)
{
	duk_require_stack(r->to, 8);
	duk_require_stack(r->from, 8);
	if (duk_is_function(r->from, idx)) {
		copy_function(r, idx);
	} else if (!duk_is_object(r->from, idx)) {
		duk_dup(r->from, idx);
		duk_xmove_top(r->to, r->from, 1);
	} else if (depth == COPY_DEPTH) {
		duk_push_null(r->to);
	} else if (duk_is_array(r->from, idx)) {
		copy_array(r, idx, depth);
	} else {
		copy_object(r, idx, depth);
	}
}

void membrane_copy(duk_context *to, struct compartment *home_to, duk_context *from, duk_idx_t idx,
		   struct compartment *home_from)
{
	struct route r = { .to = to, .from = from, .home_to = home_to, .home_from = home_from };

	copy(&r, duk_require_normalize_index(from, idx), 0);
}

struct crossing {
	duk_context *back;
	struct compartment *caller, *home;
	duk_idx_t args;
};

/*
 * Inside the target. The result is copied here, not after the leave: a getter
 * in it is code of the target too.
 */
static duk_ret_t inside(duk_context *ctx, void *p)
{
	struct crossing *x = p;

	duk_call(ctx, x->args);
	membrane_copy(x->back, x->caller, ctx, -1, x->home);
	duk_push_undefined(ctx);
	return 1;
}

/* The body of every wrapper. */
static duk_ret_t membrane_call(duk_context *ctx)
{
	struct vm *vm = vm_of(ctx);
	struct crossing x = { .back = ctx, .caller = vm->current, .args = duk_get_top(ctx) };
	struct realm *realm;
	char error[256];
	duk_context *to;
	duk_idx_t i;

	duk_push_current_function(ctx);
	if (!wrapped(ctx, -1, &x.home))
		bug("a wrapper without a home");
	realm = x.home->realm;
	to = vm_acquire(realm);
	duk_get_prop_literal(ctx, -1, DUK_HIDDEN_SYMBOL("target"));
	duk_xmove_top(to, ctx, 1);
	for (i = 0; i < x.args; i++)
		membrane_copy(to, x.home, ctx, i, x.caller);
	if (vm_enter(x.home, to, inside, &x, x.args + 1, error, sizeof(error))) {
		vm_release(realm, to);
		return duk_error(ctx, DUK_ERR_ERROR, "%s", error);
	}
	vm_release(realm, to);
	return 1;
}

struct exporting {
	duk_context *back;
	struct compartment *caller, *home;
};

static duk_ret_t export_body(duk_context *ctx, void *p)
{
	struct exporting *e = p;

	duk_push_global_stash(ctx);
	duk_get_prop_literal(ctx, -1, "exports");
	membrane_copy(e->back, e->caller, ctx, -1, e->home);
	duk_push_undefined(ctx);
	return 1;
}

void membrane_exports(duk_context *ctx, struct compartment *c)
{
	struct exporting e = { .back = ctx, .caller = vm_of(ctx)->current, .home = c };
	duk_context *to = vm_acquire(c->realm);

	if (duk_safe_call(to, export_body, &e, 0, 1))
		bug("exports of compartment %u: %s", c->id, duk_safe_to_string(to, -1));
	vm_release(c->realm, to);
}
