/* SPDX-License-Identifier: BSD-2-Clause */
/* Detached threads that follow each other at one place in memory, and in one ring, as if traced: nothing that
 * ThreadSanitizer has to tell of, which ends a program otherwise. */
#include "vmspan.h"
#include "marks.h"

#include <sched.h>

static int done; /* relaxed: of this the sanitizer takes no order */

static void *marks(void *arg)
{
	int i;

	vmspan_event_begin(0);
	for (i = 0; i < 3000; i++) {
		vmspan_enter(1);
		vmspan_value(1, i);
		vmspan_leave(1);
	}
	vmspan_event_end();
	__atomic_fetch_add(&done, 1, __ATOMIC_RELAXED);
	return arg;
}

int main(void)
{
	pthread_attr_t detached;
	pthread_t t;
	int i;

	traced();
	if (pthread_attr_init(&detached) ||
	    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED))
		return 1;
	for (i = 0; i < 50; i++) {
		if (pthread_create(&t, &detached, marks, NULL))
			return 1;
		while (__atomic_load_n(&done, __ATOMIC_RELAXED) <= i)
			sched_yield();
	}
	return 0;
}
