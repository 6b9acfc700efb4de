/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two processes that take turns: a page in one waits for an add-on in the
 * other. For every line of input they do ROUNDS rounds and print how long they
 * took. Both run on one CPU, so a round is two switches.
 *
 *   pair HOW ROUNDS WORK_US[,ADDON_US] [apart]
 *
 * HOW they tell each other: pipe, socket (a socketpair), tcp (a connection over
 * the loopback device), udp (the same), futex (in shared memory). Each works WORK_US a turn,
 * the add-on ADDON_US if given. apart: on CPUs of the kernel's choice.
 * Prints `ready PAGE-PID ADDON-PID`, then for each line `took NS SWITCHES`.
 */
#include "user/sdk/vmspan.h"

#include <linux/futex.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* One end of the two; what is said to the other and heard from it. */
struct side {
	int in, out;
	unsigned int *hear, *tell; /* futexes: count of turns handed over */
	unsigned int heard;
};

static unsigned int work_us; /* this side's */

static unsigned long long clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (unsigned long long)ts.tv_sec * 1000000000u + (unsigned long long)ts.tv_nsec;
}

/* Always the same work, whatever comes between. */
static void work(void)
{
	static volatile unsigned int sink;
	static unsigned int per_us;
	unsigned int i;

	if (!per_us) {
		unsigned long long begin = clock_ns(CLOCK_THREAD_CPUTIME_ID);

		for (i = 0; i < 1000000; i++)
			sink = sink * 1664525u + 1013904223u;
		per_us = (unsigned int)(1000000000ull /
					(clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin + 1));
	}
	for (i = 0; i < per_us * work_us; i++)
		sink = sink * 1664525u + 1013904223u;
}

static void tell(struct side *s)
{
	if (!s->tell) {
		if (write(s->out, "x", 1) != 1)
			_exit(1);
		return;
	}
	__atomic_add_fetch(s->tell, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, s->tell, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* 0: the other side is gone. */
static int hear(struct side *s)
{
	unsigned int now;
	char c;

	if (!s->hear)
		return read(s->in, &c, 1) == 1;
	while ((now = __atomic_load_n(s->hear, __ATOMIC_SEQ_CST)) == s->heard)
		syscall(SYS_futex, s->hear, FUTEX_WAIT, now, NULL, NULL, 0);
	s->heard++;
	return 1;
}

static vmspan_u32 compartment(vmspan_u32 kind, const char *name)
{
	vmspan_u32 group = vmspan_group(kind, name);

	return vmspan_compartment(name, &group, 1);
}

static void addon(struct side *s)
{
	vmspan_u32 comp = compartment(VMSPAN_ADDON, "translate");

	while (hear(s)) {
		vmspan_event_begin(0);
		vmspan_enter(comp);
		work();
		tell(s);
		vmspan_leave(comp);
		vmspan_event_end();
	}
}

static void page_rounds(struct side *s, vmspan_u32 comp, unsigned int rounds)
{
	unsigned long long begin = clock_ns(CLOCK_MONOTONIC);
	unsigned int i;

	for (i = 0; i < rounds; i++) {
		vmspan_event_begin(0);
		vmspan_enter(comp);
		work();
		tell(s);
		if (!hear(s))
			exit(1);
		vmspan_leave(comp);
		vmspan_event_end();
	}
	printf("took %llu %u\n", clock_ns(CLOCK_MONOTONIC) - begin, rounds * 2);
	fflush(stdout);
}

/* Two ends of TCP or UDP on this machine. */
static int loopback(int type, int ends[2])
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(at);
	int server = socket(AF_INET, type, 0), one = 1;

	ends[0] = socket(AF_INET, type, 0);
	if (server < 0 || ends[0] < 0 || bind(server, (void *)&at, len) ||
	    getsockname(server, (void *)&at, &len) || (type == SOCK_STREAM && listen(server, 1)) ||
	    connect(ends[0], (void *)&at, len))
		return -1;
	if (type == SOCK_DGRAM) {
		ends[1] = server;
		return getsockname(ends[0], (void *)&at, &len) || connect(server, (void *)&at, len);
	}
	ends[1] = accept(server, NULL, NULL);
	close(server);
	setsockopt(ends[0], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(ends[1], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return ends[1] < 0 ? -1 : 0;
}

/* Neither goes on without who started it: not in a million rounds, nor for a packet that is lost. */
static void end_with(pid_t parent)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
		_exit(1);
}

static int connect_sides(const char *how, struct side *page, struct side *other)
{
	int there[2], back[2];
	unsigned int *shared;

	if (!strcmp(how, "futex")) {
		shared =
			mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		if (shared == MAP_FAILED)
			return -1;
		page->hear = other->tell = shared;
		page->tell = other->hear = shared + 64;
		return 0;
	}
	if (strcmp(how, "pipe")) {
		if (!strcmp(how, "socket") ? socketpair(AF_UNIX, SOCK_STREAM, 0, there)
		    : !strcmp(how, "tcp")  ? loopback(SOCK_STREAM, there)
					   : loopback(SOCK_DGRAM, there))
			return -1;
		page->in = page->out = there[0];
		other->in = other->out = there[1];
		return 0;
	}
	if (pipe(there) || pipe(back))
		return -1;
	page->out = there[1];
	page->in = back[0];
	other->in = there[0];
	other->out = back[1];
	return 0;
}

int main(int argc, char **argv)
{
	struct side page = { 0 }, other = { 0 };
	unsigned int rounds;
	vmspan_u32 comp;
	cpu_set_t one;
	unsigned int addon_us;
	pid_t parent = getppid();
	int child, c, n;

	end_with(parent);
	parent = getpid();
	if (argc < 4 || connect_sides(argv[1], &page, &other))
		return 2;
	rounds = (unsigned int)atoi(argv[2]);
	n = sscanf(argv[3], "%u,%u", &work_us, &addon_us);
	if (n < 1)
		return 2;
	if (n < 2)
		addon_us = work_us;
	if (argc == 4) {
		CPU_ZERO(&one);
		CPU_SET(0, &one);
		sched_setaffinity(0, sizeof(one), &one);
	}
	work();
	child = fork();
	if (child < 0)
		return 1;
	if (!child) {
		end_with(parent);
		prctl(PR_SET_NAME, "addon");
		work_us = addon_us;
		addon(&other);
		_exit(0);
	}
	comp = compartment(VMSPAN_PAGE, "shop");
	printf("ready %d %d\n", (int)getpid(), child);
	fflush(stdout);
	while ((c = getchar()) != EOF)
		if (c == '\n')
			page_rounds(&page, comp, rounds);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return 0;
}
