/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program by chance: calls of the SDK, libraries, forks, threads, jumps, signals, stacks, stops,
 * executions and ends in an order that a seed says, all that a program may do which keeps to the
 * rules. It knows itself what a tracer has to say of it:
 *
 *   chance TRUTH SEED ACTIONS MAY [LIBRARY...]
 *   chance --print TRUTH
 *
 * TRUTH is a file that holds the counts of all processes; the second form prints them as JSON. MAY
 * has a letter for each kind of action (see `kinds`) that may be taken. Where CHANCE_GATE names a FIFO, it marks
 * nothing until somebody has that open for writing. With -DCHANCE_LIBRARY it is a
 * library; each copy needs another -DCHANCE_LIBRARY=N below LIBRARIES.
 */
#include "user/sdk/vmspan.h"

/* What a library is told by its program. */
struct host {
	void (*entered)(unsigned int library);
	void (*left)(unsigned int library);
	void (*goes_on)(void);
};

#ifdef CHANCE_LIBRARY
#define NAME_OF(n) #n
#define NAME(n) NAME_OF(n)
void chance_visit(const struct host *h);
void chance_visit(const struct host *h)
{
	/* Threads that come here at once may each define it: what one has entered it leaves. */
	static vmspan_u32 known;
	vmspan_u32 comp = __atomic_load_n(&known, __ATOMIC_ACQUIRE);

	if (!comp) {
		vmspan_u32 group = vmspan_group(VMSPAN_PLUGIN, NAME(CHANCE_LIBRARY));

		comp = vmspan_compartment("library " NAME(CHANCE_LIBRARY), &group, 1);
		__atomic_store_n(&known, comp, __ATOMIC_RELEASE);
	}
	vmspan_enter(comp);
	h->entered(CHANCE_LIBRARY);
	h->goes_on();
	vmspan_leave(comp);
	h->left(CHANCE_LIBRARY);
}
#else
#include "tests/vm/chance_truth.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

static const char *truth_path, *may;
static char **libraries;
static int library_count;
static vmspan_u32 comps[COMPS];
static vmspan_u32 labels[2];

/* ---- A thread ---- */

enum {
	CATCHES = 16
};

struct catch
{
	sigjmp_buf *to;
	int events, nesting, handlers; /* those that went on there */
};

struct thread {
	struct marked marked;
	struct catch catches[CATCHES];
	int catch_count, catch_base; /* jumps do not reach below the latter */
	int nesting; /* actions around this one */
	int handlers; /* of these, the stacks of signals */
	unsigned int random;
	int actions; /* left to it */
};

static __thread struct thread *current __attribute__((tls_model("initial-exec")));
static int threads; /* of this process, besides the first */
static int stopping; /* a thread of this process has it stopped, or is about to */
static int alone = 1; /* no other thread was there as this process was forked */

/* A stack may have come to another thread since. */
static __attribute__((noinline)) struct thread *self(void)
{
	__asm__ volatile("" ::: "memory");
	return current;
}

static void entered(unsigned int what)
{
	stay_began(&self()->marked, what);
}

static void left(unsigned int what)
{
	stay_left(&self()->marked, what);
}

static unsigned int draw(unsigned int below)
{
	struct thread *t = self();

	t->random ^= t->random << 13;
	t->random ^= t->random >> 17;
	t->random ^= t->random << 5;
	return (t->random >> 3) % below;
}

/* ---- Actions ---- */

static void act(void);

/* Some actions inside of another. */
static void inside(void)
{
	struct thread *t = self();

	t->nesting++;
	act();
	self()->nesting--;
}

/* The same, and nothing inside jumps out of it. */
static void inside_only(void)
{
	struct thread *t = self();
	int before = t->catch_base;

	t->catch_base = t->catch_count;
	inside();
	self()->catch_base = before;
}

static void spins(void)
{
	unsigned int n = draw(2000);

	while (n--)
		__asm__ volatile("");
}

static void stays(void)
{
	unsigned int c = draw(COMPS);

	vmspan_enter(comps[c]);
	entered(c);
	inside();
	/* Now and then the leave is forgotten, which what is around it repairs. */
	if (self()->marked.events && !draw(20))
		return;
	vmspan_leave(comps[c]);
	left(c);
}

/* Nobody has entered it. */
static void leaves(void)
{
	unsigned int c = draw(COMPS);

	vmspan_leave(comps[c]);
	left(c);
}

static void event(void)
{
	if (self()->marked.events >= EVENTS - 2)
		return;
	vmspan_event_begin(labels[draw(2)]);
	event_began(&self()->marked);
	inside();
	vmspan_event_end();
	event_ended(&self()->marked);
}

static void collects(void)
{
	vmspan_gc_begin(labels[0], 1000);
	entered(GC);
	if (!draw(3))
		inside();
	vmspan_gc_end(10);
	left(GC);
}

static void calls(void)
{
	vmspan_block_begin(labels[1], 1);
	entered(CALL);
	if (!draw(3))
		inside();
	vmspan_block_end();
	left(CALL);
}

static void points(void)
{
	switch (draw(3)) {
	case 0:
		vmspan_input(labels[0]);
		add(&truth->inputs);
		break;
	case 1:
		vmspan_frame(0);
		add(&truth->frames);
		break;
	default:
		vmspan_value(labels[1], -5);
		break;
	}
}

static void catches(void)
{
	struct thread *t = self();
	struct catch *c = &t->catches[t->catch_count];
	sigjmp_buf here;

	if (t->catch_count == CATCHES)
		return;
	*c = (struct catch){ .to = &here,
			     .events = t->marked.events,
			     .nesting = t->nesting,
			     .handlers = t->handlers };
	t->catch_count++;
	if (!sigsetjmp(here, 1)) {
		inside();
	} else {
		/* What was caught; the one that is caught here is the last in the list. */
		t = self();
		c = &t->catches[t->catch_count - 1];
		t->nesting = c->nesting;
		t->handlers = c->handlers;
		if (t->marked.events != c->events || !draw(4)) {
			vmspan_unwind((unsigned int)c->events);
			events_left(&t->marked, c->events);
		}
	}
	self()->catch_count--;
}

static void throws(void)
{
	struct thread *t = self();

	if (t->catch_count == t->catch_base)
		return;
	t->catch_count -= (int)draw((unsigned int)(t->catch_count - t->catch_base));
	siglongjmp(*t->catches[t->catch_count - 1].to, 1);
}

/* A part of what is left to this thread. */
static int share(void)
{
	struct thread *t = self();
	int n = t->actions / 4;

	t->actions -= n;
	return n;
}

/* What marks is another thread from here on, or another process. */
static void begin_thread(struct thread *t, unsigned int random, int actions)
{
	memset(t, 0, sizeof(*t));
	t->random = random * 2654435761u | 1;
	t->actions = actions;
	current = t;
}

struct task {
	unsigned int random;
	int actions, ends;
};

static void *runs(void *arg)
{
	const struct task *task = arg;
	struct thread *t = malloc(sizeof(*t));

	if (!t) {
		add(&truth->failed);
		return NULL;
	}
	begin_thread(t, task->random, task->actions);
	while (t->actions > 0)
		act();
	if (task->ends) {
		/* In the middle of something. */
		vmspan_event_begin(labels[0]);
		event_began(&self()->marked);
		vmspan_enter(comps[1]);
		entered(1);
	}
	marked_over(&self()->marked);
	current = NULL;
	free(t);
	return NULL;
}

static void thread(void)
{
	struct task task = { draw(~0u), share(), !draw(4) };
	pthread_t id;

	if (!alone)
		return;
	__atomic_fetch_add(&threads, 1, __ATOMIC_RELAXED);
	if (pthread_create(&id, NULL, runs, &task)) {
		add(&truth->failed);
		return;
	}
	/* Side by side, but nothing is left to chance that the counts hang on. A jump would leave the
	 * thread behind. */
	if (draw(2))
		inside_only();
	pthread_join(id, NULL);
	__atomic_fetch_sub(&threads, 1, __ATOMIC_RELAXED);
}

static __attribute__((noreturn)) void ends(int how);

/* A child that executes this program again, or ends in its own way. */
static void forks(void)
{
	static struct thread own; /* of the child: it is the only thread */
	unsigned int random = draw(~0u), how = draw(8);
	int actions = share(), handlers = self()->handlers, status = 0;
	pid_t pid = fork();

	if (pid < 0) {
		add(&truth->failed);
		return;
	}
	if (pid) {
		while (waitpid(pid, &status, 0) != pid)
			;
		/* It has not ended by itself. */
		if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL)
			add(&truth->failed);
		return;
	}
	alone = alone && !threads;
	threads = 0;
	stopping = 0;
	begin_thread(&own, random, actions);
	own.handlers = handlers;
	while (own.actions > 0)
		act();
	ends((int)how);
}

static void raises(void)
{
	raise(SIGUSR1);
}

static void on_signal(int signal)
{
	struct thread *t = self();

	(void)signal;
	t->handlers++;
	inside();
	self()->handlers--;
}

/* Comes at any moment, to any thread; what it marks is whole, and an event of its own. */
static void on_timer(int signal)
{
	(void)signal;
	if (!self())
		return;
	vmspan_event_begin(labels[1]);
	vmspan_enter(comps[2]);
	vmspan_enter(comps[3]);
	vmspan_leave(comps[3]);
	vmspan_leave(comps[2]);
	vmspan_event_end();
	add(&truth->events);
	__atomic_fetch_add(&truth->spans, 2, __ATOMIC_RELAXED);
	add(&truth->of_comp[2]);
	add(&truth->of_comp[3]);
}

static void timer(int us)
{
	const struct itimerval t = { { 0, us }, { 0, us } };

	if (setitimer(ITIMER_REAL, &t, NULL))
		add(&truth->failed);
}

static void on_timers(void)
{
	timer(draw(2) ? 500 : 0);
}

static void library_entered(unsigned int n)
{
	entered(COMPS + n);
}

static void library_left(unsigned int n)
{
	left(COMPS + n);
}

static void library(void)
{
	static const struct host host = { library_entered, library_left, inside };
	void (*visit)(const struct host *);
	void *l;

	if (!library_count || !alone)
		return;
	l = dlopen(libraries[draw((unsigned int)library_count)], RTLD_NOW | RTLD_LOCAL);
	*(void **)&visit = l ? dlsym(l, "chance_visit") : NULL;
	if (!visit) {
		add(&truth->failed);
		return;
	}
	visit(&host);
	dlclose(l);
}

/* On a stack of its own, which a jump does not leave. Not in a handler: the kernel would take the stack
 * for signals for free. */
#define STACK (256 << 10)

static void stack(void)
{
	ucontext_t here, there;
	struct thread *t = self();
	char *memory;

	if (t->handlers)
		return;
	memory = malloc(STACK);
	if (!memory || getcontext(&there)) {
		add(&truth->failed);
		free(memory);
		return;
	}
	there.uc_stack = (stack_t){ .ss_sp = memory, .ss_size = STACK };
	there.uc_link = &here;
	makecontext(&there, inside_only, 0);
	swapcontext(&here, &there);
	free(memory);
}

/* Somebody stops the process, and lets it go on. One at a time: what lets it go on undoes a stop that has not come
 * to be. */
static void stops(void)
{
	pid_t parent = getpid(), pid;

	if (__atomic_exchange_n(&stopping, 1, __ATOMIC_ACQ_REL))
		return;
	pid = fork();
	if (pid < 0) {
		stopping = 0;
		add(&truth->failed);
		return;
	}
	if (!pid) {
		char path[40], text[512], *state;
		ssize_t n;
		int fd;

		snprintf(path, sizeof(path), "/proc/%d/stat", (int)parent);
		kill(parent, SIGSTOP);
		do {
			fd = open(path, O_RDONLY | O_CLOEXEC);
			n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
			close(fd);
			text[n < 0 ? 0 : n] = 0;
			state = strrchr(text, ')');
		} while (state && state[2] != 'T');
		usleep(1000);
		kill(parent, SIGCONT);
		_exit(0);
	}
	while (waitpid(pid, NULL, 0) != pid)
		;
	__atomic_store_n(&stopping, 0, __ATOMIC_RELEASE);
}

static void naps(void)
{
	usleep(100 + draw(1000));
}

static const struct {
	char letter;
	unsigned char weight;
	void (*fn)(void);
} kinds[] = {
	{ 'w', 60, spins },  { 's', 150, stays }, { 'e', 80, event },   { 'g', 20, collects },
	{ 'b', 20, calls },  { 'p', 20, points }, { 'c', 12, catches }, { 'j', 10, throws },
	{ 't', 3, thread },  { 'f', 2, forks },   { 'r', 10, raises },  { 'i', 2, on_timers },
	{ 'l', 3, library }, { 'o', 6, stack },   { 'z', 1, stops },    { 'n', 3, naps },
	{ 'u', 2, leaves },
};

enum {
	KINDS = sizeof(kinds) / sizeof(*kinds)
};

static void act(void)
{
	unsigned int n = 1 + draw(4), all = 0, at, i;

	for (i = 0; i < KINDS; i++)
		all += strchr(may, kinds[i].letter) ? kinds[i].weight : 0;
	while (n-- && self()->actions > 0 && self()->nesting < 24 &&
	       self()->marked.depth < STAYS - 40) {
		self()->actions--;
		at = draw(all);
		for (i = 0;; i++) {
			unsigned int weight = strchr(may, kinds[i].letter) ? kinds[i].weight : 0;

			if (at < weight)
				break;
			at -= weight;
		}
		add(&truth->taken[i]);
		kinds[i].fn();
	}
}

/* ---- Begin and end ---- */

static void handle_none(void)
{
	timer(0);
	signal(SIGALRM, SIG_IGN);
}

static void handle(void)
{
	static char memory[1 << 20];
	const stack_t own = { .ss_sp = memory, .ss_size = sizeof(memory) };
	struct sigaction a = { .sa_flags = SA_ONSTACK | SA_RESTART | SA_NODEFER };

	a.sa_handler = on_signal;
	sigaltstack(&own, NULL);
	sigaction(SIGUSR1, &a, NULL);
	a.sa_handler = on_timer;
	sigaction(SIGALRM, &a, NULL);
}

static void ends(int how)
{
	handle_none();
	if (how & 1) {
		vmspan_event_begin(labels[0]);
		event_began(&self()->marked);
		vmspan_enter(comps[4]);
		entered(4);
		vmspan_enter(comps[5]);
		entered(5);
	}
	marked_over(&self()->marked);
	switch (how >> 1) {
	case 0:
		/* Where another thread was in the middle of dlopen() at the fork, that has a lock which exit() takes. */
		if (alone)
			exit(0);
		_exit(0);
	case 1:
		_exit(0);
	case 2:
		kill(getpid(), SIGKILL);
		abort();
	default: {
		char random[16], actions[16], path[4096];
		ssize_t own;
		char *args[8 + LIBRARIES] = { (char *)"chance", (char *)(size_t)truth_path, random,
					      actions, (char *)(size_t)may };
		int i;

		snprintf(random, sizeof(random), "%u", draw(1u << 28) + 1);
		/* Few: so it comes to an end. */
		snprintf(actions, sizeof(actions), "%d", 40);
		for (i = 0; i < library_count; i++)
			args[5 + i] = libraries[i];
		/* By its path: so it keeps its name. */
		own = readlink("/proc/self/exe", path, sizeof(path) - 1);
		if (own > 0) {
			path[own] = 0;
			execv(path, args);
		}
		add(&truth->failed);
		_exit(1);
	}
	}
}

static void print(void)
{
	unsigned long of_group[GROUPS] = { 0 };
	size_t i;

	for (i = 0; i < COMPS; i++) {
		of_group[i % GROUPS] += truth->of_comp[i];
		if (i == 5) /* it is of two */
			of_group[(i + 1) % GROUPS] += truth->of_comp[i];
	}
	printf("{\"failed\":%lu,\"ended\":%lu,\"events\":%lu,\"implicit\":%lu,\"spans\":%lu,"
	       "\"repaired\":%lu,\"unmatched\":%lu,\"gcs\":%lu,\"inputs\":%lu,\"frames\":%lu,"
	       "\"unfinished\":%lu,\"groups\":{",
	       truth->failed, truth->ended, truth->events + truth->implicit, truth->implicit,
	       truth->spans, truth->repaired, truth->unmatched, truth->gcs, truth->inputs,
	       truth->frames, truth->unfinished);
	for (i = 0; i < GROUPS; i++)
		printf("%s\"addon:%zu\":%lu", i ? "," : "", i, of_group[i]);
	for (i = 0; i < LIBRARIES; i++)
		printf(",\"plugin:%zu\":%lu", i, truth->of_comp[COMPS + i]);
	printf("},\"taken\":{");
	for (i = 0; i < KINDS; i++)
		printf("%s\"%c\":%lu", i ? "," : "", kinds[i].letter, truth->taken[i]);
	printf("}}\n");
}

/* The program goes on when somebody has the FIFO open. */
static void wait_at_gate(void)
{
	const char *gate = getenv("CHANCE_GATE");
	int fd;

	if (!gate)
		return;
	fd = open(gate, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		add(&truth->failed);
	close(fd);
	unsetenv("CHANCE_GATE");
}

int main(int argc, char **argv)
{
	static struct thread first;
	vmspan_u32 group[GROUPS];
	char name[16];
	unsigned int i;

	if (argc == 3 && !strcmp(argv[1], "--print")) {
		if (map_truth(argv[2]))
			return 2;
		print();
		return 0;
	}
	if (argc < 5 || map_truth(argv[1]))
		return 2;
	truth_path = argv[1];
	may = argv[4];
	libraries = argv + 5;
	library_count = argc - 5;
	for (i = 0; i < GROUPS; i++) {
		snprintf(name, sizeof(name), "%u", i);
		group[i] = vmspan_group(VMSPAN_ADDON, name);
	}
	for (i = 0; i < COMPS; i++) {
		vmspan_u32 of[2] = { group[i % GROUPS], group[(i + 1) % GROUPS] };

		snprintf(name, sizeof(name), "c%u", i);
		comps[i] = vmspan_compartment(name, of, i == 5 ? 2 : 1);
	}
	labels[0] = vmspan_label("first");
	labels[1] = vmspan_label("second");
	wait_at_gate();
	handle();
	begin_thread(&first, (unsigned int)strtoul(argv[2], NULL, 10), atoi(argv[3]));
	while (first.actions > 0)
		act();
	truth->ended = 1;
	ends((int)draw(4));
}
#endif
