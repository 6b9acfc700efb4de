/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/host/worker.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/host/api.h"
#include "tools/host/busy.h"
#include "tools/host/util.h"

static struct compartment *add_script(struct world *w, struct worker *k, const char *owner,
				      const struct group *g, const char *script)
{
	char plain[NAME_SIZE + 32], name[NAME_SIZE];
	struct compartment *c;

	snprintf(plain, sizeof(plain), "%s/worker %u", owner, k->number);
	name_dress(w->options, plain, k->number, name);
	c = marks_compartment(&w->marks, name, &g, 1);
	c->realm = vm_realm(&k->vm);
	vm_load(c, script, api_worker);
	return c;
}

/* A page's worker, and an add-on's part of it that lives on the same thread. */
struct worker *workers_new(struct world *w)
{
	const struct options *o = w->options;
	struct worker *all = xcalloc(o->workers, sizeof(*all));
	char name[NAME_SIZE];
	u32 i, addon;

	for (i = 0; i < o->workers; i++) {
		struct worker *k = &all[i];
		struct page *p = &w->pages[i % o->pages];

		k->world = w;
		k->number = i;
		pthread_mutex_init(&k->lock, NULL);
		pthread_cond_init(&k->changed, NULL);
		vm_init(&k->vm, w, &w->marks, &k->ledger,
			random_stream(o->seed, w->process, i + 1));
		k->vm.unbalanced = o->unbalanced;
		k->script = add_script(w, k, p->name, p->group, "worker");
		if (!o->addons)
			continue;
		addon = (i + w->process) % o->addons;
		name_addon(addon, name);
		vm_serve(&k->vm,
			 add_script(w, k, name, w->addons[addon], name_addon_script(addon)));
	}
	return all;
}

static void run_job(struct worker *k, struct job *job)
{
	if (job->busy_turns) {
		busy_thread(k->world, &k->ledger, job->busy_turns);
		return;
	}
	mark_event_begin(k->vm.marks, &k->ledger, LABEL_MESSAGE);
	job->answer = vm_call(k->script, "work", job->argument);
	if (k->ledger.depth && !k->vm.unbalanced)
		bug("%u compartments entered and not left", k->ledger.depth);
	mark_event_end(&k->ledger);
}

static void *worker_main(void *arg)
{
	struct worker *k = arg;
	struct job *job;

	pthread_mutex_lock(&k->lock);
	k->started = true;
	pthread_cond_broadcast(&k->changed);
	for (;;) {
		while (!k->first && !k->quit)
			pthread_cond_wait(&k->changed, &k->lock);
		job = k->first;
		if (!job)
			break;
		k->first = job->next;
		pthread_mutex_unlock(&k->lock);
		run_job(k, job);
		pthread_mutex_lock(&k->lock);
		job->done = true;
		k->pending--;
		pthread_cond_broadcast(&k->changed);
	}
	pthread_mutex_unlock(&k->lock);
	return NULL;
}

void workers_start(struct world *w)
{
	sigset_t stop, old;
	char name[32]; /* the kernel keeps 15 bytes of it, and there are at most 64 */
	u32 i;
	int err;

	/* The main thread is to be woken by signals. */
	sigemptyset(&stop);
	sigaddset(&stop, SIGINT);
	sigaddset(&stop, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &stop, &old);
	for (i = 0; i < w->options->workers; i++) {
		struct worker *k = &w->workers[i];

		err = pthread_create(&k->thread, NULL, worker_main, k);
		if (err)
			die("cannot start worker %u: %s", i, strerror(err));
		snprintf(name, sizeof(name), "worker %u", i);
		pthread_setname_np(k->thread, name);
		pthread_mutex_lock(&k->lock);
		while (!k->started)
			pthread_cond_wait(&k->changed, &k->lock);
		pthread_mutex_unlock(&k->lock);
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static void append(struct worker *k, struct job *job)
{
	job->worker = k->number;
	pthread_mutex_lock(&k->lock);
	if (k->first)
		k->last->next = job;
	else
		k->first = job;
	k->last = job;
	k->pending++;
	pthread_cond_broadcast(&k->changed);
	pthread_mutex_unlock(&k->lock);
}

struct job *worker_post(struct world *w, u32 worker, double argument)
{
	struct job *job = xcalloc(1, sizeof(*job));

	job->argument = argument;
	append(&w->workers[worker], job);
	return job;
}

void worker_post_busy(struct world *w, u32 worker, struct job *job)
{
	append(&w->workers[worker], job);
}

double worker_await(struct world *w, struct job *job)
{
	struct worker *k = &w->workers[job->worker];

	pthread_mutex_lock(&k->lock);
	while (!job->done)
		pthread_cond_wait(&k->changed, &k->lock);
	pthread_mutex_unlock(&k->lock);
	return job->answer;
}

void workers_drain(struct world *w)
{
	u32 i;

	for (i = 0; i < w->options->workers; i++) {
		struct worker *k = &w->workers[i];

		pthread_mutex_lock(&k->lock);
		while (k->pending)
			pthread_cond_wait(&k->changed, &k->lock);
		pthread_mutex_unlock(&k->lock);
	}
}

void workers_stop(struct world *w)
{
	u32 i;

	for (i = 0; i < w->options->workers; i++) {
		struct worker *k = &w->workers[i];

		if (!k->started)
			continue;
		pthread_mutex_lock(&k->lock);
		k->quit = true;
		pthread_cond_broadcast(&k->changed);
		pthread_mutex_unlock(&k->lock);
		pthread_join(k->thread, NULL);
		k->started = false;
	}
}

void workers_free(struct world *w)
{
	u32 i;

	for (i = 0; i < w->options->workers; i++) {
		struct worker *k = &w->workers[i];

		vm_free(&k->vm);
		ledger_free(&k->ledger);
		pthread_cond_destroy(&k->changed);
		pthread_mutex_destroy(&k->lock);
	}
	free(w->workers);
}
