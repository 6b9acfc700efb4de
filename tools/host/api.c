/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/host/api.h"

#include <string.h>

#include "tools/host/helper.h"
#include "tools/host/membrane.h"
#include "tools/host/util.h"
#include "tools/host/worker.h"

/* host.random(n): a whole number, 0 <= it < n. */
static duk_ret_t api_random(duk_context *ctx)
{
	duk_push_uint(ctx, random_below(&vm_of(ctx)->random, duk_get_uint(ctx, 0)));
	return 1;
}

/* host.clock(): milliseconds; virtual ones stand still during a turn. */
static duk_ret_t api_clock(duk_context *ctx)
{
	duk_push_number(ctx, loop_clock(vm_of(ctx)->world));
	return 1;
}

/* host.worked(): milliseconds that the thread has had the CPU for. */
static duk_ret_t api_worked(duk_context *ctx)
{
	duk_push_number(ctx, (double)thread_cpu_ns() / 1e6);
	return 1;
}

/* host.collect(why): a collection, because of "allocation" or on "request". */
static duk_ret_t api_collect(duk_context *ctx)
{
	const char *why = duk_get_string_default(ctx, 0, "request");

	vm_collect(vm_of(ctx), strcmp(why, "request") ? LABEL_GC_ALLOCATION : LABEL_GC_REQUEST);
	return 0;
}

/* host.addons(): how many this thread has. */
static duk_ret_t api_addons(duk_context *ctx)
{
	duk_push_uint(ctx, vm_of(ctx)->service_count);
	return 1;
}

/* host.addon(i): its exports. */
static duk_ret_t api_addon(duk_context *ctx)
{
	struct vm *vm = vm_of(ctx);
	duk_uint_t i = duk_get_uint(ctx, 0);

	if (i >= vm->service_count)
		return duk_error(ctx, DUK_ERR_RANGE_ERROR, "no add-on %u", (unsigned int)i);
	membrane_exports(ctx, vm->services[i]);
	return 1;
}

static struct page *page_of(duk_context *ctx)
{
	struct compartment *c = vm_of(ctx)->current;

	if (!c || !c->page)
		duk_error(ctx, DUK_ERR_ERROR, "only pages may do this");
	return c->page;
}

/* host.frames(): how many the page has. */
static duk_ret_t api_frames(duk_context *ctx)
{
	duk_push_uint(ctx, page_of(ctx)->frame_count);
	return 1;
}

/* host.frame(i): exports of a frame of the page. */
static duk_ret_t api_frame(duk_context *ctx)
{
	struct page *p = page_of(ctx);
	duk_uint_t i = duk_get_uint(ctx, 0);

	if (i >= p->frame_count)
		return duk_error(ctx, DUK_ERR_RANGE_ERROR, "no frame %u", (unsigned int)i);
	membrane_exports(ctx, p->frames[i]);
	return 1;
}

/* host.content(): exports of the add-on's script in the page, or null. */
static duk_ret_t api_content(duk_context *ctx)
{
	struct page *p = page_of(ctx);

	if (p->content)
		membrane_exports(ctx, p->content);
	else
		duk_push_null(ctx);
	return 1;
}

/* host.open(): a new frame for the page; false if it has enough. */
static duk_ret_t api_open(duk_context *ctx)
{
	duk_push_boolean(ctx, world_open_frame(vm_of(ctx)->world, page_of(ctx)));
	return 1;
}

/* host.loaded(): the page has its title from now on. */
static duk_ret_t api_loaded(duk_context *ctx)
{
	struct page *p = page_of(ctx);

	marks_rename(&vm_of(ctx)->world->marks, p->group, p->title);
	return 0;
}

/* host.setTimeout(function, ms). */
static duk_ret_t api_set_timeout(duk_context *ctx)
{
	struct vm *vm = vm_of(ctx);
	struct loop *l = &vm->world->loop;

	duk_require_function(ctx, 0);
	vm_keep(ctx, 0, l->timers);
	loop_post(vm->world,
		  (struct task){ .kind = TASK_TIMER, .to = vm->current, .number = l->timers++ },
		  duk_get_number(ctx, 1));
	return 0;
}

/* host.dialog(): stays in a nested loop until the user has answered. */
static duk_ret_t api_dialog(duk_context *ctx)
{
	struct world *w = vm_of(ctx)->world;

	loop_dialog(w);
	duk_push_boolean(ctx, random_below(&w->vm.random, 2));
	return 1;
}

/* host.disk(text): the text, from the helper. */
static duk_ret_t api_disk(duk_context *ctx)
{
	char data[HELPER_MAX];
	duk_size_t n;
	const char *text = duk_require_lstring(ctx, 0, &n);

	if (n > sizeof(data))
		n = sizeof(data);
	memcpy(data, text, n);
	helper_echo(vm_of(ctx)->world, data, n);
	duk_push_lstring(ctx, data, n);
	return 1;
}

/* host.post(n): a job for the page's worker; the answer comes to exports.message. */
static duk_ret_t api_post(duk_context *ctx)
{
	struct vm *vm = vm_of(ctx);
	struct page *p = page_of(ctx);
	struct job *job;

	if (!vm->world->options->workers)
		return 0;
	job = worker_post(vm->world, p->worker, duk_get_number(ctx, 0));
	loop_post(vm->world, (struct task){ .kind = TASK_MESSAGE, .to = vm->current, .job = job },
		  5 + random_below(&vm->random, 20));
	return 0;
}

static const duk_function_list_entry everywhere[] = {
	{ "random", api_random, 1 }, { "clock", api_clock, 0 },
	{ "worked", api_worked, 0 }, { "collect", api_collect, 1 },
	{ "addons", api_addons, 0 }, { "addon", api_addon, 1 },
	{ NULL, NULL, 0 },
};

static const duk_function_list_entry main_only[] = {
	{ "frames", api_frames, 0 },   { "frame", api_frame, 1 },
	{ "content", api_content, 0 }, { "open", api_open, 0 },
	{ "loaded", api_loaded, 0 },   { "setTimeout", api_set_timeout, 2 },
	{ "dialog", api_dialog, 0 },   { "disk", api_disk, 1 },
	{ "post", api_post, 1 },       { NULL, NULL, 0 },
};

void api_worker(duk_context *ctx)
{
	duk_put_function_list(ctx, -1, everywhere);
	duk_push_boolean(ctx, vm_of(ctx)->world->options->mode == MODE_DEMO);
	duk_put_prop_literal(ctx, -2, "real");
}

void api_main(duk_context *ctx)
{
	api_worker(ctx);
	duk_put_function_list(ctx, -1, main_only);
}
