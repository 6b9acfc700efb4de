/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Takes the program of sched_switch away from a vmspan that records, and gives it back, so that
 * switches go unseen, as the kernel lets some. A line on stdin does it: "blind" or "see".
 * The same word is printed when it is done. Nothing else of vmspan knows.
 *
 * tracer_watch_sched() is replaced by the linker's --wrap; all else is what is shipped.
 */
#include "attach/tracer_int.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static struct tracer *tracer;

static void *obey(void *unused)
{
	struct bpf_program *program = tracer->skel->progs.sched_switch;
	struct bpf_link **link = &tracer->skel->links.sched_switch;
	char word[16];

	(void)unused;
	while (fgets(word, sizeof(word), stdin)) {
		if (!strcmp(word, "blind\n")) {
			bpf_link__destroy(*link);
			*link = NULL;
		} else if (!*link) {
			*link = bpf_program__attach(program);
		}
		fputs(!strcmp(word, "blind\n") == !*link ? word : "failed\n", stdout);
		fflush(stdout);
	}
	return NULL;
}

void __real_tracer_watch_sched(struct tracer *t);
void __wrap_tracer_watch_sched(struct tracer *t);
void __wrap_tracer_watch_sched(struct tracer *t)
{
	pthread_t thread;

	__real_tracer_watch_sched(t);
	if (tracer)
		return;
	tracer = t;
	if (!pthread_create(&thread, NULL, obey, NULL))
		pthread_detach(thread);
}
