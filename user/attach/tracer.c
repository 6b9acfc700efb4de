/* SPDX-License-Identifier: BSD-2-Clause */
#include "attach/tracer.h"

#include "attach/clock.h"
#include "attach/exact.h"
#include "attach/kernel.h"
#include "attach/kernel_types.h"
#include "attach/tracer_int.h"
#include "attach/tsc.h"
#include "attach/vm.h"
#include "attach/vm_sites.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* A batch of the largest size needs this. */
#define RING_MIN 8192u

/* The inode of the initial PID namespace is a constant of the kernel's ABI. */
#define INITIAL_PID_NS 0xeffffffcu

static u32 pid_namespace(void)
{
	struct stat st;

	if (stat("/proc/self/ns/pid", &st) || st.st_ino == INITIAL_PID_NS)
		return 0;
	return (u32)st.st_ino;
}

static u64 ring_size(u64 wanted)
{
	u64 size = max_u64(RING_MIN, (u64)sysconf(_SC_PAGESIZE));

	while (size < wanted && size < 1ull << 30)
		size <<= 1;
	return size;
}

/* Kernels before 5.11 charge maps to this limit. Where it may not be raised
 * the load may still succeed, so its failure says nothing. */
static void raise_memlock(void)
{
	struct rlimit all = { RLIM_INFINITY, RLIM_INFINITY };

	setrlimit(RLIMIT_MEMLOCK, &all);
}

static const struct bpf_program *const *direct_programs(const struct vmspan_bpf *s, size_t *n)
{
	static const struct bpf_program *list[12];

	list[0] = s->progs.watch_enter;
	list[1] = s->progs.watch_leave;
	list[2] = s->progs.watch_ev_begin;
	list[3] = s->progs.watch_ev_end;
	list[4] = s->progs.watch_gc_begin;
	list[5] = s->progs.watch_gc_end;
	list[6] = s->progs.watch_bl_begin;
	list[7] = s->progs.watch_bl_end;
	list[8] = s->progs.watch_mark;
	list[9] = s->progs.watch_exit;
	list[10] = s->progs.watch_exec;
	list[11] = s->progs.watch_tail;
	*n = ARRAY_SIZE(list);
	return list;
}

static int configure_clock(struct tracer *t)
{
	int r = tsc_open(&t->tsc), cpus = libbpf_num_possible_cpus();
	u64 hz;

	if (r == -ENOMEM)
		return r;
	t->has_tsc = !r;
	t->skel->rodata->use_tsc = t->has_tsc;
	hz = clock_hz(t->has_tsc ? CLOCK_TSC : CLOCK_MONO);
	t->skel->rodata->flush_cycles = hz / 20;
	t->skel->rodata->cycles_hz = hz;
	if (cpus > 0 && (bpf_map__set_max_entries(t->skel->maps.tsc_events, (u32)cpus) ||
			 bpf_map__set_max_entries(t->skel->maps.tsc_offsets, (u32)cpus)))
		return -EINVAL;
	return 0;
}

static void configure_direct(struct tracer *t)
{
	const struct bpf_program *const *list;
	size_t i, n;

	list = direct_programs(t->skel, &n);
	for (i = 0; i < n; i++)
		bpf_program__set_autoload((struct bpf_program *)list[i], true);
}

/* Of the scheduler's record, in the order in which they are attached: before
 * sched_waking what tells it of interrupts. */
#define PEER_PROGRAMS(X)        \
	X(irq_handler_entry)    \
	X(irq_handler_exit)     \
	X(softirq_entry)        \
	X(softirq_exit)         \
	X(hrtimer_expire_entry) \
	X(hrtimer_expire_exit)  \
	X(sched_waking)

/* Whose packets are delivered. */
#define NET_PROGRAMS(X)  \
	X(net_dev_queue) \
	X(netif_receive_skb)

#define SCHED_PROGRAMS(X) \
	X(sched_switch)   \
	X(sched_born)     \
	X(sched_exec)

static void configure_exact(struct tracer *t)
{
	struct vmspan_bpf *s = t->skel;

	s->rodata->exact = true;
#define LOAD(name) bpf_program__set_autoload(s->progs.name, true);
	SCHED_PROGRAMS(LOAD)
	if (exact_has_peers()) {
		PEER_PROGRAMS(LOAD)
	}
	if (exact_has_senders()) {
		NET_PROGRAMS(LOAD)
	}
#undef LOAD
	bpf_program__set_autoload(s->progs.sched_present, true);
	bpf_program__set_autoload(s->progs.sched_leave, true);
	bpf_program__set_autoload(s->progs.sched_rest, true);
}

static int fill_clock(struct tracer *t)
{
	int cpu, r = 0;

	for (cpu = 0; cpu < t->tsc.cpus && !r; cpu++) {
		u32 key = (u32)cpu;

		if (t->tsc.fds[cpu] < 0)
			continue;
		r = bpf_map_update_elem(bpf_map__fd(t->skel->maps.tsc_events), &key,
					&t->tsc.fds[cpu], BPF_ANY);
		if (!r)
			r = bpf_map_update_elem(bpf_map__fd(t->skel->maps.tsc_offsets), &key,
						&t->tsc.offsets[cpu], BPF_ANY);
	}
	return r;
}

static int open_and_load(struct tracer *t, const struct tracer_config *config, bool life,
			 bool tails)
{
	int r;

	t->skel = vmspan_bpf__open();
	if (!t->skel)
		return -errno;
	t->ring_bytes = ring_size(config->ring_bytes);
	t->skel->rodata->wake_bytes = t->ring_bytes / 4;
	t->skel->rodata->ns_inum = pid_namespace();
	t->skel->rodata->alert_ns = config->alert_ns;
	t->skel->rodata->alert_cycles =
		(u64)((double)config->alert_ns / 1e9 * (double)clock_hz(CLOCK_TSC));
	r = bpf_map__set_max_entries(t->skel->maps.ring, (u32)t->ring_bytes);
	if (r)
		return r;
	t->has_multi = kernel_has_uprobe_multi();
	t->multi = t->has_multi && !kernel_has_cap(CAP_SYS_ADMIN);
	bpf_program__set_autoload(t->skel->progs.armed_multi, t->has_multi);
	bpf_program__set_expected_attach_type(t->skel->progs.armed_multi,
					      (enum bpf_attach_type)KERNEL_UPROBE_MULTI);
	if (t->multi)
		bpf_program__set_expected_attach_type(t->skel->progs.flush,
						      (enum bpf_attach_type)KERNEL_UPROBE_MULTI);
	bpf_program__set_autoload(t->skel->progs.life_fork, life && config->children);
	bpf_program__set_autoload(t->skel->progs.life_exec, life);
	t->ends = life && tails && kernel_types()->exit_has_memory;
	bpf_program__set_autoload(t->skel->progs.life_exit, t->ends);
	bpf_program__set_autoload(t->skel->progs.life_exit_bare, life && !t->ends);
	bpf_program__set_autoload(t->skel->progs.life_loaded, life);
	t->exec = life && tails && kernel_has_tracepoint(KERNEL_TP_PREPARE_EXEC);
	bpf_program__set_autoload(t->skel->progs.tail_exec, t->exec);
	t->names = life && config->names;
	t->groups = life && config->groups;
	bpf_program__set_autoload(t->skel->progs.life_renamed, t->names);
	bpf_program__set_autoload(t->skel->progs.life_moved, t->groups);
	if (config->sweep)
		t->skel->rodata->sweep_flags =
			TRACED_PROCESS | (config->children ? TRACED_CHILDREN : 0);
	/* Maps of programs that stay unloaded need no memory; and before 5.11 none can be in task
	 * storage. */
	if (!t->ends)
		r = bpf_map__set_autocreate(t->skel->maps.leavings, false);
	if (config->direct)
		configure_direct(t);
	else if (!r && !config->calls)
		r = bpf_map__set_autocreate(t->skel->maps.watches, false) ||
		    bpf_map__set_autocreate(t->skel->maps.watch_stacks, false);
	if (config->exact)
		configure_exact(t);
	else if (!r)
		r = bpf_map__set_autocreate(t->skel->maps.scheds, false) ||
		    bpf_map__set_autocreate(t->skel->maps.interrupts, false) ||
		    bpf_map__set_autocreate(t->skel->maps.flights, false);
	if (!r && (config->direct || config->exact))
		r = configure_clock(t);
	if (!r && !config->vm_hz)
		r = vm_leave_out(t);
	else if (!r)
		r = vm_configure(t, config->vm_hz, config->calls);
	if (config->trial)
		bpf_program__set_autoload(t->skel->progs.vm_work, true);
	if (!r)
		r = vmspan_bpf__load(t->skel);
	if (!r && config->vm_hz)
		t->vm_args.fd = bpf_map__fd(t->skel->maps.vm_args);
	if (!r && (config->direct || config->exact))
		r = fill_clock(t);
	t->exact = config->exact;
	t->has_life = !r && life;
	t->direct = config->direct;
	t->calls = config->calls;
	t->children = config->children;
	return r;
}

/* Loads, leaving out by and by what may not load here. */
static int open_what_loads(struct tracer *t, struct tracer_config *c)
{
	bool life = true, tails = true;
	int r;

	while ((r = open_and_load(t, c, life, tails)) && r != -EPERM && r != -EACCES &&
	       r != -ENOMEM) {
		if (c->exact) {
			err_set(&t->no_exact, r, "the kernel does not load its programs: %s",
				strerror(-r));
			c->exact = false;
		} else if (tails) {
			tails = false;
		} else if (life) {
			life = false;
		} else {
			break;
		}
		vmspan_bpf__destroy(t->skel);
		tsc_close(&t->tsc);
		t->skel = NULL;
	}
	return r;
}

/* What the kernel lacks for what was asked for, in words the loader has not. */
static void say_missing(const struct tracer_config *config, int r, struct err *err)
{
	const char *what = config->direct  ? "the direct method"
			   : config->vm_hz ? "tracing a stock VM"
					   : NULL;

	if (!what || libbpf_probe_bpf_map_type(BPF_MAP_TYPE_TASK_STORAGE, NULL) != 0)
		return;
	err_set_status(err, r, EXIT_FAILED,
		       "%s needs BPF task storage, which this kernel does not have", what);
	err_hint(err,
		 "Run Linux 5.15 or newer. What this kernel can do is tracing programs with the "
		 "SDK, without --exact and --method direct.");
}

struct tracer *tracer_open(const struct tracer_config *config, struct err *err)
{
	struct tracer *t = calloc(1, sizeof(*t));
	struct tracer_config c = *config;
	int r;

	if (!t) {
		err_set(err, -ENOMEM, "no memory");
		return NULL;
	}
	kernel_catch_log();
	raise_memlock();
	c.exact = c.exact && exact_possible(&t->no_exact);
	r = open_what_loads(t, &c);
	if (!r)
		return t;
	if (r != -EPERM && r != -EACCES)
		say_missing(config, r, err);
	kernel_error(err, r,
		     config->direct ? "loading the BPF programs (direct method)"
				    : "loading the BPF programs");
	tracer_free(t);
	return NULL;
}

bool tracer_has_sched(const struct tracer *t)
{
	return t->exact;
}

const struct err *tracer_no_exact(const struct tracer *t)
{
	return t->no_exact.code ? &t->no_exact : NULL;
}

void tracer_free(struct tracer *t)
{
	if (!t)
		return;
	vm_stop(t);
	vmspan_bpf__destroy(t->skel);
	tsc_close(&t->tsc);
	vm_args_free(&t->vm_args);
	free(t);
}

bool tracer_has_life(const struct tracer *t)
{
	return t->has_life;
}

bool tracer_has_tails(const struct tracer *t)
{
	return t->has_life && t->ends;
}

bool tracer_has_tsc(const struct tracer *t)
{
	return t->has_tsc;
}

int tracer_ring_fd(const struct tracer *t)
{
	return bpf_map__fd(t->skel->maps.ring);
}

u64 tracer_ring_bytes(const struct tracer *t)
{
	return t->ring_bytes;
}

static int attach(struct bpf_program *p, struct bpf_link **to, const char *what, struct err *err)
{
	if (*to)
		return 0;
	*to = bpf_program__attach(p);
	return *to ? 0 : kernel_error(err, -errno, what);
}

/* Read of an iterator at one time: bytes. */
#define ITERATED_ONCE (16u << 10)

/* From Linux 6.1 on the threads of one process can be had alone. */
static struct bpf_link *iterate(struct bpf_program *p, u32 pid)
{
	union bpf_iter_link_info of = { .task.pid = pid };
	DECLARE_LIBBPF_OPTS(bpf_iter_attach_opts, opts, .link_info = &of,
			    .link_info_len = sizeof(of));
	struct bpf_link *link = pid ? bpf_program__attach_iter(p, &opts) : NULL;

	return link ? link : bpf_program__attach_iter(p, NULL);
}

/* Reading to the end runs the program. */
static int read_all(int fd, struct buf *to, size_t most)
{
	u8 nothing[64], *at = nothing;
	size_t room = sizeof(nothing);
	ssize_t n;

	do {
		if (to) {
			room = ITERATED_ONCE;
			at = buf_space(to, room);
		}
		if (!at)
			return -ENOMEM;
		n = read(fd, at, room);
		if (to && n > 0)
			to->len += (size_t)n;
	} while (n > 0 ? !to || to->len < most : n < 0 && errno == EAGAIN);
	return n < 0 ? -errno : 0;
}

static int run_iterator(struct bpf_program *p, u32 pid, struct buf *to, size_t most)
{
	struct bpf_link *link = iterate(p, pid);
	int fd, r;

	if (!link)
		return -errno;
	fd = bpf_iter_create(bpf_link__fd(link));
	r = fd < 0 ? -errno : read_all(fd, to, most);
	if (fd >= 0)
		close(fd);
	bpf_link__destroy(link);
	return r;
}

int tracer_each_task(struct bpf_program *p, u32 pid)
{
	return run_iterator(p, pid, NULL, 0);
}

int tracer_read_tasks(struct bpf_program *p, struct buf *to, size_t most)
{
	return run_iterator(p, 0, to, most);
}

#define DETACH(name)                            \
	bpf_link__destroy(t->skel->links.name); \
	t->skel->links.name = NULL;

bool tracer_leave_sched(struct tracer *t)
{
	bool had = t->sched_on;

	/* First: what goes unseen from here on is no loss. */
	t->skel->bss->sched_watch = 0;
	SCHED_PROGRAMS(DETACH)
	PEER_PROGRAMS(DETACH)
	NET_PROGRAMS(DETACH)
	t->sched_on = false;
	return had;
}

/* Threads born meanwhile have their storage from sched_born: so that first. */
void tracer_watch_sched(struct tracer *t)
{
	static const char what[] = "watching the scheduler";
	struct vmspan_bpf *s = t->skel;
	int r = 0;

	if (!t->exact)
		return;
	t->sched_on = true;
#define ATTACH(name) \
	if (!r)      \
		r = attach(s->progs.name, &s->links.name, what, &t->no_exact);
	SCHED_PROGRAMS(ATTACH)
	if (exact_has_peers()) {
		PEER_PROGRAMS(ATTACH)
	}
	if (exact_has_senders()) {
		NET_PROGRAMS(ATTACH)
	}
#undef ATTACH
	if (!r) {
		r = tracer_each_task(s->progs.sched_present, 0);
		if (r)
			kernel_error(&t->no_exact, r, what);
	}
	if (!r && !t->skel->bss->sched_watch)
		t->skel->bss->sched_watch = ++t->sched_times;
	if (!r)
		return;
	tracer_leave_sched(t);
	t->exact = false;
}

/* Order: a thread's last batch before the news of its end, see stopwatch.bpf.c. */
int tracer_watch_life(struct tracer *t, struct err *err)
{
	static const char what[] = "watching processes start and end";
	struct vmspan_bpf *s = t->skel;
	int r = 0;

	if (!t->has_life)
		return 0;
	if (t->direct)
		r = attach(s->progs.watch_exit, &s->links.watch_exit, what, err);
	if (!r && t->direct)
		r = attach(s->progs.watch_exec, &s->links.watch_exec, what, err);
	if (!r && t->exec)
		r = attach(s->progs.tail_exec, &s->links.tail_exec, what, err);
	if (!r)
		r = t->ends ? attach(s->progs.life_exit, &s->links.life_exit, what, err)
			    : attach(s->progs.life_exit_bare, &s->links.life_exit_bare, what, err);
	if (!r)
		r = attach(s->progs.life_exec, &s->links.life_exec, what, err);
	if (!r)
		r = attach(s->progs.life_loaded, &s->links.life_loaded, what, err);
	if (!r && t->names)
		r = attach(s->progs.life_renamed, &s->links.life_renamed, what, err);
	if (!r && t->groups)
		r = attach(s->progs.life_moved, &s->links.life_moved, what, err);
	if (!r && t->children)
		r = attach(s->progs.life_fork, &s->links.life_fork, what, err);
	return r;
}

int tracer_trace(struct tracer *t, u32 pid, struct err *err)
{
	struct traced_process p = {
		.flags = TRACED_PROCESS | (t->children ? TRACED_CHILDREN : 0),
	};

	/* The kernel side may have it already, and know where its marks are: of a child that a target
	 * has forked meanwhile. */
	if (bpf_map_update_elem(bpf_map__fd(t->skel->maps.traced), &pid, &p, BPF_NOEXIST) &&
	    errno != EEXIST)
		return err_set(err, -errno, "process %u: %s", pid,
			       errno == E2BIG ? "too many processes are traced already"
					      : strerror(errno));
	/* Its threads were born as nobody's. Those that cannot be watched lack data, and say so. */
	if (t->sched_on)
		tracer_each_task(t->skel->progs.sched_present, pid);
	return 0;
}

/* False: it is so already, or it has ended. */
static bool set_stock(struct tracer *t, u32 pid, bool stock)
{
	int fd = bpf_map__fd(t->skel->maps.traced);
	struct traced_process p;

	if (bpf_map_lookup_elem(fd, &pid, &p) || !(p.flags & TRACED_STOCK) == !stock)
		return false;
	p.flags ^= TRACED_STOCK;
	return !bpf_map_update_elem(fd, &pid, &p, BPF_EXIST);
}

void tracer_leave_process(struct tracer *t, u32 pid)
{
	/* First: whoever is born behind this is left from the start. A child has it of its parent, and is recorded
	 * all the same, since it may execute something else. */
	set_stock(t, pid, true);
	if (t->exact)
		tracer_each_task(t->skel->progs.sched_leave, pid);
}

void tracer_join_process(struct tracer *t, u32 pid)
{
	if (set_stock(t, pid, false) && t->sched_on)
		tracer_each_task(t->skel->progs.sched_present, pid);
}

void tracer_arming(struct tracer *t, u32 pid, u32 arming)
{
	int fd = bpf_map__fd(t->skel->maps.traced);
	struct traced_process p;

	if (bpf_map_lookup_elem(fd, &pid, &p) || p.arming == arming)
		return;
	p.arming = arming;
	if (arming == ARMING_FIRST)
		p.flags |= TRACED_THERE;
	bpf_map_update_elem(fd, &pid, &p, BPF_EXIST);
}

bool tracer_traces_since_birth(struct tracer *t, u32 pid)
{
	struct traced_process p;

	return !bpf_map_lookup_elem(bpf_map__fd(t->skel->maps.traced), &pid, &p) &&
	       p.flags & TRACED_BORN;
}

void tracer_registries(struct tracer *t, u32 pid, const u64 *addresses, u32 count)
{
	int fd = bpf_map__fd(t->skel->maps.traced);
	struct traced_process p;
	bool changed = false;
	u64 inherited;
	u32 i, k;

	if (bpf_map_lookup_elem(fd, &pid, &p))
		return;
	/* Of what is traced since its birth the kernel side knows each block that it has made marks in. */
	inherited = p.flags & TRACED_BORN ? TRACED_INHERITED : 0;
	for (i = 0; i < count; i++) {
		for (k = 0; k < TRACED_REGISTRIES; k++)
			if ((p.registries[k] & ~TRACED_INHERITED) == addresses[i])
				break;
		if (k < TRACED_REGISTRIES)
			continue;
		memmove(p.registries + 1, p.registries, (TRACED_REGISTRIES - 1) * sizeof(u64));
		p.registries[0] = addresses[i] | (addresses[i] & TRACED_MARKS ? inherited : 0);
		changed = true;
	}
	/* Not one that has ended meanwhile. What the target has announced since the look is lost to
	 * this: so only where there is something that it has not. */
	if (changed)
		bpf_map_update_elem(fd, &pid, &p, BPF_EXIST);
}

void tracer_armed(struct tracer *t, u32 pid, u64 address)
{
	int fd = bpf_map__fd(t->skel->maps.marks_armed);
	struct traced_armed a = { 0 };
	u32 i;

	bpf_map_lookup_elem(fd, &pid, &a);
	for (i = 0; i < TRACED_REGISTRIES; i++)
		if (a.at[i] == address)
			return;
	memmove(a.at + 1, a.at, (TRACED_REGISTRIES - 1) * sizeof(a.at[0]));
	a.at[0] = address;
	bpf_map_update_elem(fd, &pid, &a, BPF_ANY);
}

void tracer_disarmed(struct tracer *t, u32 pid)
{
	bpf_map_delete_elem(bpf_map__fd(t->skel->maps.marks_armed), &pid);
}

void tracer_marks_off(struct tracer *t, bool off)
{
	t->skel->bss->marks_off = off;
}

void tracer_untrace(struct tracer *t, u32 pid)
{
	bpf_map_delete_elem(bpf_map__fd(t->skel->maps.traced), &pid);
	tracer_disarmed(t, pid);
}

int tracer_counters(const struct tracer *t, u64 out[COUNT_MAX])
{
	int cpus = libbpf_num_possible_cpus(), cpu;
	u64 *each;
	u32 i;

	if (cpus <= 0)
		return cpus;
	each = calloc((size_t)cpus, sizeof(*each));
	if (!each)
		return -ENOMEM;
	memset(out, 0, COUNT_MAX * sizeof(*out));
	for (i = 0; i < COUNT_MAX; i++) {
		if (bpf_map_lookup_elem(bpf_map__fd(t->skel->maps.counters), &i, each))
			continue;
		for (cpu = 0; cpu < cpus; cpu++)
			out[i] += each[cpu];
	}
	free(each);
	return 0;
}

int tracer_rest(struct tracer *t)
{
	return t->exact ? tracer_each_task(t->skel->progs.sched_rest, 0) : 0;
}

int tracer_tail(struct tracer *t)
{
	return t->direct ? tracer_each_task(t->skel->progs.watch_tail, 0) : 0;
}
