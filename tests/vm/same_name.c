/* SPDX-License-Identifier: BSD-2-Clause */
/* A program without marks, of which a thread gives itself the name that it has, as those of a pool do. */
#include <pthread.h>
#include <sys/prctl.h>

static void *take(void *arg)
{
	char name[16];

	(void)arg;
	if (!prctl(PR_GET_NAME, name))
		prctl(PR_SET_NAME, name);
	return NULL;
}

int main(void)
{
	pthread_t thread;

	return pthread_create(&thread, NULL, take, NULL) || pthread_join(thread, NULL);
}
