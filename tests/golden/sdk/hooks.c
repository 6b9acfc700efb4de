/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Marks by what compilers call at each function's begin and end (-finstrument-functions): the header's own
 * functions must call none. With HOOKS or WORK it is that part of a program alone.
 */
#include "vmspan.h"

#ifndef WORK
void __cyg_profile_func_enter(void *function, void *site)
	__attribute__((__no_instrument_function__));
void __cyg_profile_func_exit(void *function, void *site)
	__attribute__((__no_instrument_function__));

void __cyg_profile_func_enter(void *function, void *site)
{
	(void)function;
	(void)site;
	vmspan_enter(1);
}

void __cyg_profile_func_exit(void *function, void *site)
{
	(void)function;
	(void)site;
	vmspan_leave(1);
}
#endif

#ifndef HOOKS
static __attribute__((noinline)) int work(int n)
{
	return 3 * n + 1;
}

int main(void)
{
	int i, sum = 0;

	/* Untraced, and traced. */
	for (i = 0; i < 100; i++) {
		if (i == 50)
			vmspan_registry_2.semaphore = 1;
		sum += work(i);
	}
	vmspan_registry_2.semaphore = 0;
	return sum != 3 * 4950 + 100;
}
#endif
