/* SPDX-License-Identifier: BSD-2-Clause */
#include "attach/tsc_sync.h"

#include "attach/clock.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BUDGET_NS (50 * NSEC_PER_MSEC)
/* Of one pair. On CPUs that are free this takes half a millisecond. */
#define ROUNDS 1000
/* How often a spinning side looks at the clock. */
#define SPINS 256
#define NO_CPU UINT32_MAX

/* In program order with the loads and stores around it. */
static u64 read_counter(u32 cpu)
{
	(void)cpu;
#if defined(__x86_64__)
	u64 v;

	/* Not every CPU offers rdtscp, which would wait by itself. */
	__builtin_ia32_lfence();
	v = __builtin_ia32_rdtsc();
	__builtin_ia32_lfence();
	return v;
#else
	u64 v;

	__asm__ volatile("isb; mrs %0, cntvct_el0; isb" : "=r"(v)::"memory");
	return v;
#endif
}

/* One writer a line. Turns are numbered through, over all pairs. */
struct exchange {
	_Alignas(64) u64 ping; /* the first CPU's turn */
	u32 cpu; /* where the other is to be; NO_CPU: it ends */
	_Alignas(64) u64 pong; /* the other's */
	u64 reading;
	u32 moved; /* to which CPU it has gone */
	tsc_counter counter;
	u64 end_ns;
};

void tsc_bound_add(struct tsc_bound *b, u64 before, u64 other, u64 after)
{
	s64 least = (s64)(other - after), most = (s64)(other - before);

	if (least > b->least)
		b->least = least;
	if (most < b->most)
		b->most = most;
}

/* False when time is up. */
static bool wait_u64(const u64 *at, u64 value, u64 end_ns)
{
	u32 spins = 0;

	while (__atomic_load_n(at, __ATOMIC_ACQUIRE) != value)
		if (++spins % SPINS == 0 && clock_mono_ns() >= end_ns)
			return false;
	return true;
}

static int move_to(pthread_t thread, u32 cpu)
{
	cpu_set_t *set = CPU_ALLOC(cpu + 1);
	size_t size = CPU_ALLOC_SIZE(cpu + 1);
	int r;

	if (!set)
		return -ENOMEM;
	CPU_ZERO_S(size, set);
	CPU_SET_S(cpu, size, set);
	r = pthread_setaffinity_np(thread, size, set);
	CPU_FREE(set);
	return -r;
}

/* The other side: answers each turn with what its CPU's counter says. */
static void *answer(void *at)
{
	struct exchange *x = at;
	u32 here = NO_CPU;
	u64 turn = 0;

	while (wait_u64(&x->ping, turn + 1, x->end_ns)) {
		u32 cpu = __atomic_load_n(&x->cpu, __ATOMIC_RELAXED);

		turn++;
		if (cpu == NO_CPU)
			break;
		if (cpu != here) {
			here = cpu;
			x->moved = move_to(pthread_self(), here) ? NO_CPU : here;
		}
		x->reading = x->counter(here);
		__atomic_store_n(&x->pong, turn, __ATOMIC_RELEASE);
	}
	return NULL;
}

/* One that is given up is answered later, before the next one is. */
static bool turn(struct exchange *x, u64 end_ns)
{
	u64 n = x->ping + 1;

	__atomic_store_n(&x->ping, n, __ATOMIC_RELEASE);
	return wait_u64(&x->pong, n, end_ns);
}

/* The first CPU against one other; what it yields is kept however few rounds. */
static bool measure_pair(struct exchange *x, u32 home, u32 cpu, u64 end_ns, struct tsc_bound *b)
{
	int i;

	*b = (struct tsc_bound){ INT64_MIN, INT64_MAX };
	__atomic_store_n(&x->cpu, cpu, __ATOMIC_RELAXED);
	/* The first turn moves the other side. */
	if (!turn(x, end_ns) || x->moved != cpu)
		return false;
	for (i = 0; i < ROUNDS; i++) {
		u64 before = x->counter(home), after;

		if (!turn(x, end_ns))
			break;
		after = x->counter(home);
		tsc_bound_add(b, before, x->reading, after);
		if (i % 16 == 15 && clock_mono_ns() >= end_ns)
			break;
	}
	return b->least != INT64_MIN;
}

static u64 to_ns(s64 cycles, u64 hz)
{
	return cycles <= 0 ? 0 : (u64)((unsigned __int128)cycles * NSEC_PER_SEC / hz);
}

/* Two bounds against the same CPU bound what the two differ by. */
static void combine(struct tsc_sync *s, const struct tsc_bound *b, const u32 *cpus, u64 hz)
{
	u32 i, j;

	for (i = 0; i < s->cpus; i++)
		for (j = i + 1; j < s->cpus; j++) {
			s64 least = b[j].least - b[i].most, most = b[j].most - b[i].least;
			u64 apart = to_ns(least > 0 ? least : -most, hz);

			s->error_ns =
				max_u64(s->error_ns, to_ns(most > -least ? most : -least, hz));
			if (apart <= s->apart_ns)
				continue;
			s->apart_ns = apart;
			s->worst[0] = cpus[i];
			s->worst[1] = cpus[j];
		}
}

/* The CPUs this thread may use, in order. Their number, or negative errno. */
static int usable(const cpu_set_t *set, size_t size, u32 possible, u32 **cpus)
{
	u32 i, n = 0;

	*cpus = calloc(possible, sizeof(**cpus));
	if (!*cpus)
		return -ENOMEM;
	for (i = 0; i < possible; i++)
		if (CPU_ISSET_S(i, size, set))
			(*cpus)[n++] = i;
	return (int)n;
}

/* cpus[0] is where this thread is now; those that could be measured move up. */
static int measure_all(struct tsc_sync *s, struct exchange *x, u32 *cpus, u32 count, u64 hz)
{
	struct tsc_bound *b = calloc(count, sizeof(*b));
	pthread_t other;
	u32 i;
	int r;

	if (!b)
		return -ENOMEM;
	r = -pthread_create(&other, NULL, answer, x);
	if (r) {
		free(b);
		return r;
	}
	s->cpus = 1;
	for (i = 1; i < count; i++) {
		u64 now = clock_mono_ns(), share;

		share = now < x->end_ns ? (x->end_ns - now) / (count - i) : 0;
		if (!share || !measure_pair(x, cpus[0], cpus[i], now + share, &b[s->cpus]))
			continue;
		cpus[s->cpus++] = cpus[i];
	}
	s->unmeasured = count - s->cpus;
	/* One that has given up does not answer; then it has ended. */
	__atomic_store_n(&x->cpu, NO_CPU, __ATOMIC_RELAXED);
	__atomic_store_n(&x->ping, x->ping + 1, __ATOMIC_RELEASE);
	pthread_join(other, NULL);
	combine(s, b, cpus, hz);
	free(b);
	return count > 1 && s->cpus == 1 ? -ENODATA : 0;
}

int tsc_sync_measure(struct tsc_sync *s, tsc_counter counter, u64 hz)
{
	long possible = sysconf(_SC_NPROCESSORS_CONF);
	struct exchange *x = aligned_alloc(64, sizeof(*x));
	cpu_set_t *home = NULL;
	u32 *cpus = NULL;
	size_t size;
	int r;

	memset(s, 0, sizeof(*s));
	possible = possible < 1 ? 1 : possible;
	/* The kernel wants room for every CPU it could have. */
	size = CPU_ALLOC_SIZE(max_u64((u64)possible, 8192));
	home = malloc(size);
	r = x && home ? 0 : -ENOMEM;
	if (!r) {
		CPU_ZERO_S(size, home);
		r = sched_getaffinity(0, size, home) ? -errno : 0;
	}
	if (!r)
		r = usable(home, size, (u32)possible, &cpus);
	if (r <= 0) {
		r = r ? r : -ENODATA;
		goto out;
	}
	memset(x, 0, sizeof(*x));
	x->counter = counter ? counter : read_counter;
	x->end_ns = clock_mono_ns() + BUDGET_NS;
	if (r > 1 && !move_to(pthread_self(), cpus[0])) {
		r = measure_all(s, x, cpus, (u32)r, hz);
		sched_setaffinity(0, size, home);
	} else {
		s->cpus = 1;
		s->unmeasured = (u32)r - 1;
		r = 0;
	}
out:
	free(cpus);
	free(home);
	free(x);
	return r;
}

bool tsc_sync_refuses(const struct tsc_sync *s, const char *without, struct err *err)
{
	if (s->apart_ns <= TSC_APART_NS)
		return false;
	err_set(err, -ERANGE,
		"the time-stamp counters of the CPUs disagree: those of CPU %u and CPU %u by at "
		"least %" PRIu64 " ns, so a span that goes from one to the other has a wrong time",
		s->worst[0], s->worst[1], s->apart_ns);
	err_hint(err, "%s Or keep the target on one CPU (taskset).", without);
	return true;
}
