/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/host/world.h"

#include <stdio.h>
#include <stdlib.h>

#include "tools/host/api.h"
#include "tools/host/busy.h"
#include "tools/host/helper.h"
#include "tools/host/util.h"
#include "tools/host/worker.h"

static struct compartment *add_compartment(struct world *w, const char *name, const struct group *a,
					   const struct group *b)
{
	const struct group *groups[] = { a, b };

	return marks_compartment(&w->marks, name, groups, b ? 2 : 1);
}

/* `name`/`part`, dressed, cut at the length of names. */
static void part_name(const struct world *w, const char *name, const char *part, u32 i,
		      char out[NAME_SIZE])
{
	char plain[2 * NAME_SIZE];

	snprintf(plain, sizeof(plain), "%s%s", name, part);
	name_dress(w->options, plain, i, out);
}

static void load(struct world *w, struct compartment *c, const char *script)
{
	c->realm = vm_realm(&w->vm);
	vm_load(c, script, api_main);
}

static struct compartment *add_frame(struct world *w, struct page *p, const char *part)
{
	char name[NAME_SIZE];
	struct compartment *c;

	part_name(w, p->name, part, p->frame_count, name);
	c = add_compartment(w, name, p->group, NULL);
	c->page = p;
	load(w, c, p->frame_count ? "frame" : "page");
	p->frames[p->frame_count++] = c;
	return c;
}

bool world_open_frame(struct world *w, struct page *p)
{
	char part[32];

	if (p->frame_count == PAGE_FRAMES_MAX)
		return false;
	snprintf(part, sizeof(part), "/popup %u", p->frame_count);
	add_frame(w, p, part);
	return true;
}

static void add_page(struct world *w, u32 i)
{
	static const char *const parts[] = { "", "/cart", "/ads" };
	const struct options *o = w->options;
	u32 global = w->process * o->pages + i, addon = o->addons ? global % o->addons : 0;
	struct page *p = &w->pages[i];
	char url[2 * NAME_SIZE], name[NAME_SIZE], script[NAME_SIZE + 1];
	size_t k;

	name_page(global, p->name);
	name_dress(o, p->name, global, p->title);
	snprintf(url, sizeof(url), "https://%s.example/", p->name);
	p->group = marks_group(&w->marks, VMSPAN_PAGE, url);
	p->worker = o->workers ? i % o->workers : 0;
	for (k = 0; k < ARRAY_SIZE(parts); k++)
		add_frame(w, p, parts[k]);
	if (!o->addons)
		return;
	/* An add-on's script in the page: code of both. */
	name_addon(addon, name);
	snprintf(script, sizeof(script), "@%s", name);
	part_name(w, p->name, script, i, name);
	p->content = add_compartment(w, name, w->addons[addon], p->group);
	p->content->page = p;
	load(w, p->content, "content");
}

static void add_addon(struct world *w, u32 i)
{
	char plain[NAME_SIZE], name[NAME_SIZE];
	struct compartment *c;

	name_addon(i, plain);
	name_dress(w->options, plain, i, name);
	w->addons[i] = marks_group(&w->marks, VMSPAN_ADDON, name);
	c = add_compartment(w, name, w->addons[i], NULL);
	load(w, c, name_addon_script(i));
	vm_serve(&w->vm, c);
}

/* Tenants share one realm: ten thousand globals would only fill memory. */
static void add_tenants(struct world *w)
{
	struct realm *shared = NULL;
	char plain[32], name[NAME_SIZE];
	u32 i;

	for (i = 0; i < w->options->groups; i++) {
		snprintf(plain, sizeof(plain), "tenant %05u", i);
		name_dress(w->options, plain, i, name);
		w->tenants[i] =
			add_compartment(w, name, marks_group(&w->marks, VMSPAN_TENANT, name), NULL);
		if (!shared)
			load(w, w->tenants[i], "tenant");
		else
			w->tenants[i]->realm = shared;
		shared = w->tenants[i]->realm;
	}
}

struct world *world_new(const struct options *o, u32 process)
{
	struct world *w = xcalloc(1, sizeof(*w));
	u32 i;

	w->options = o;
	w->process = process;
	marks_init(&w->marks, &w->ledger);
	vm_init(&w->vm, w, &w->marks, &w->ledger, random_stream(o->seed, process, 0));
	w->vm.unbalanced = o->unbalanced;
	w->addons = xcalloc(o->addons, sizeof(*w->addons));
	for (i = 0; i < o->addons; i++)
		add_addon(w, i);
	w->pages = xcalloc(o->pages, sizeof(*w->pages));
	for (i = 0; i < o->pages; i++)
		add_page(w, i);
	w->tenants = xcalloc(o->groups, sizeof(*w->tenants));
	add_tenants(w);
	w->workers = workers_new(w);
	return w;
}

void world_start(struct world *w)
{
	helper_start(&w->helper);
	workers_start(w);
}

void world_run(struct world *w)
{
	w->marks.running = true;
	if (w->options->mode == MODE_BUSY)
		busy_run(w);
	else
		loop_run(w);
	workers_drain(w);
	w->marks.running = false;
}

void world_stop(struct world *w)
{
	workers_stop(w);
	helper_stop(&w->helper);
}

void world_free(struct world *w)
{
	if (!w)
		return;
	workers_free(w);
	loop_free(&w->loop);
	vm_free(&w->vm);
	marks_free(&w->marks);
	ledger_free(&w->ledger);
	free(w->tenants);
	free(w->pages);
	free(w->addons);
	free(w);
}
