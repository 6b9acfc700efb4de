/* SPDX-License-Identifier: BSD-2-Clause */
#include "attach/vm.h"

#include "attach/clock.h"
#include "attach/kernel.h"
#include "attach/tracer_int.h"
#include "attach/vm_sites.h"
#include "base/task_stat.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define VM_PROGRAMS 22 /* the end included */

static void vm_programs(const struct vmspan_bpf *s, struct bpf_program *list[VM_PROGRAMS])
{
	size_t n = 0;

	list[n++] = s->progs.walk_tick;
	list[n++] = s->progs.walk_switch;
	list[n++] = s->progs.loop_waits;
	list[n++] = s->progs.loop_goes_on;
	list[n++] = s->progs.vm_fork;
	list[n++] = s->progs.vm_present;
	list[n++] = s->progs.vm_open;
	list[n++] = s->progs.vm_rest;
	list[n++] = s->progs.vm_exec;
	list[n++] = s->progs.vm_exit;
	list[n++] = s->progs.vm_req_begin;
	list[n++] = s->progs.vm_req_end;
	list[n++] = s->progs.vm_status;
	list[n++] = s->progs.vm_commit;
	list[n++] = s->progs.vm_rollback;
	list[n++] = s->progs.vm_stall_begin;
	list[n++] = s->progs.vm_stall_end;
	list[n++] = s->progs.vm_gc_begin;
	list[n++] = s->progs.vm_gc_end;
	list[n++] = s->progs.vm_sweep_begin;
	list[n++] = s->progs.vm_sweep_end;
	list[n] = NULL;
}

/* The calls in which event loops wait. By epoll nobody else does, for however long: an event of a loop that
 * has work left ends there too. */
static void fill_calls(volatile u8 waits[CALLS])
{
#ifdef SYS_epoll_wait
	waits[SYS_epoll_wait] = LOOP_EPOLL;
#endif
	waits[SYS_epoll_pwait] = LOOP_EPOLL;
#ifdef SYS_epoll_pwait2
	waits[SYS_epoll_pwait2] = LOOP_EPOLL;
#endif
#ifdef SYS_poll
	waits[SYS_poll] = LOOP_POLL | WAIT_MS_3;
#endif
#ifdef SYS_select
	waits[SYS_select] = LOOP_POLL | WAIT_TIME_5;
#endif
	waits[SYS_ppoll] = LOOP_POLL | WAIT_TIME_3;
	waits[SYS_pselect6] = LOOP_POLL | WAIT_TIME_5;
}

/*
 * Before 6.10 a link for one process serves the thread alone that its number is of ("bpf: Fix multi-uprobe PID
 * filtering logic", 46ba0e49b642), before 6.12 none of its threads once the first has ended ("bpf: Fix uprobe
 * multi pid filter check"), and no kernel finds a process by a first thread that has. Programs know by
 * themselves which processes are traced, so a link for all costs others no more than their traps.
 */
bool vm_links_all(const struct tracer *t, u32 pid)
{
	return t->vm_multi && (!kernel_multi_by_process() || task_has_ended(pid, pid));
}

static struct bpf_program *role_program(const struct vmspan_bpf *s, enum vm_role role)
{
	struct bpf_program *const by_role[VM_ROLES] = {
		[VM_GC_BEGIN] = s->progs.vm_gc_begin,
		[VM_GC_END] = s->progs.vm_gc_end,
		[VM_SWEEP_BEGIN] = s->progs.vm_sweep_begin,
		[VM_SWEEP_END] = s->progs.vm_sweep_end,
		[VM_REQUEST_BEGIN] = s->progs.vm_req_begin,
		[VM_REQUEST_END] = s->progs.vm_req_end,
		[VM_STATUS] = s->progs.vm_status,
		[VM_COMMIT] = s->progs.vm_commit,
		[VM_ROLLBACK] = s->progs.vm_rollback,
		[VM_STALL_BEGIN] = s->progs.vm_stall_begin,
		[VM_STALL_END] = s->progs.vm_stall_end,
		[VM_CALL_BEGIN] = s->progs.vm_call_begin,
		[VM_CALL_END] = s->progs.vm_call_end,
	};

	return by_role[role];
}

int vm_leave_out(struct tracer *t)
{
	int r = bpf_map__set_autocreate(t->skel->maps.vm_threads, false);

	if (!r)
		r = bpf_map__set_autocreate(t->skel->maps.vm_args, false);
	if (!r)
		r = bpf_map__set_autocreate(t->skel->maps.vm_procs, false);
	if (!r)
		r = bpf_map__set_autocreate(t->skel->maps.call_ids, false);
	if (!r)
		r = bpf_map__set_autocreate(t->skel->maps.vm_wanted, false);
	return r ? r : bpf_map__set_autocreate(t->skel->maps.frame_ids, false);
}

/*
 * At probes of stock VMs: whatever their number, one link a probe, and no right beyond what the rest takes. Where
 * it serves whole processes, or nothing else is permitted. What probes hand over has been looked into on x86-64
 * alone.
 */
static void choose_links(struct tracer *t)
{
	int role;

#ifdef __x86_64__
	t->vm_multi = t->has_multi && (t->multi || kernel_multi_by_process());
#endif
	t->skel->rodata->vm_multi = t->vm_multi;
	for (role = 0; t->vm_multi && role < VM_ROLES; role++) {
		struct bpf_program *p = role_program(t->skel, (enum vm_role)role);

		if (p)
			bpf_program__set_expected_attach_type(
				p, (enum bpf_attach_type)KERNEL_UPROBE_MULTI);
	}
}

int vm_configure(struct tracer *t, u32 hz, bool calls)
{
	struct bpf_program *list[VM_PROGRAMS];
	size_t i;

	choose_links(t);
	vm_programs(t->skel, list);
	for (i = 0; list[i]; i++)
		bpf_program__set_autoload(list[i], true);
	fill_calls(t->skel->rodata->call_waits);
	t->skel->rodata->period_ns = NSEC_PER_SEC / hz;
	t->skel->rodata->exact_calls = calls;
	bpf_program__set_autoload(t->skel->progs.vm_call_begin, calls);
	bpf_program__set_autoload(t->skel->progs.vm_call_end, calls);
	return calls ? 0 : bpf_map__set_autocreate(t->skel->maps.call_ids, false);
}

static int keep(struct vm_links *to, struct bpf_link *link)
{
	struct bpf_link **grown = realloc(to->links, (to->count + 1) * sizeof(*grown));

	if (!grown) {
		bpf_link__destroy(link);
		return -ENOMEM;
	}
	to->links = grown;
	to->links[to->count++] = link;
	return 0;
}

static int attach_one(struct vm_links *to, struct bpf_program *p, const char *what, struct err *err)
{
	struct bpf_link *link = bpf_program__attach(p);

	if (!link)
		return kernel_error(err, -errno, what);
	return keep(to, link);
}

int vm_watch_life(struct tracer *t, struct err *err)
{
	const struct vmspan_bpf *s = t->skel;
	int r = attach_one(&t->vm_life, s->progs.vm_exit, "watching processes end", err);

	if (!r)
		r = attach_one(&t->vm_life, s->progs.vm_exec, "watching processes start", err);
	if (!r)
		r = attach_one(&t->vm_life, s->progs.vm_fork, "watching processes start", err);
	return r;
}

int vm_start(struct tracer *t, u32 hz, bool loops, bool walk, struct err *err)
{
	const struct vmspan_bpf *s = t->skel;
	int r = 0;

	if (!t->vm_running) {
		t->skel->bss->follow_epoch++;
		r = attach_one(&t->vm_run, s->progs.walk_switch, "watching the scheduler", err);
	}
	t->vm_running |= !r;
	if (!r && loops && !t->vm_loops) {
		/* The end of a wait first: the program at its begin sets it up. */
		r = attach_one(&t->vm_run, s->progs.loop_goes_on, "watching event loops", err);
		if (!r)
			r = attach_one(&t->vm_run, s->progs.loop_waits, "watching event loops",
				       err);
		t->vm_loops = !r;
	}
	if (!r && walk && !t->vm_walks) {
		r = vm_timers_start(&t->vm_timers, s->progs.walk_tick, hz, err);
		t->vm_walks = !r;
	}
	return r;
}

static void let_go(struct vm_links *of)
{
	while (of->count)
		bpf_link__destroy(of->links[--of->count]);
	free(of->links);
	of->links = NULL;
}

bool vm_stop_walks(struct tracer *t)
{
	bool had = t->vm_walks;

	vm_timers_stop(&t->vm_timers);
	t->vm_walks = false;
	return had;
}

bool vm_pause(struct tracer *t)
{
	bool had = t->vm_running;

	vm_stop_walks(t);
	let_go(&t->vm_run);
	t->skel->bss->follow_epoch++;
	t->vm_running = t->vm_loops = false;
	return had;
}

void vm_looked(struct tracer *t, u32 cpu)
{
	vm_timers_looked(&t->vm_timers, cpu);
}

void vm_vary(struct tracer *t, u64 now_ns)
{
	vm_timers_vary(&t->vm_timers, now_ns);
}

void vm_want_waits(struct tracer *t, u32 tid, bool wanted)
{
	u32 value = wanted;

	/* Without it the thread's stays on the CPU stay its events. */
	bpf_map_update_elem(bpf_map__fd(t->skel->maps.vm_wanted), &tid, &value, BPF_ANY);
}

void vm_forget_gc(struct tracer *t)
{
	t->skel->bss->gc_epoch++;
	vm_forget_sweeps(t);
}

void vm_forget_sweeps(struct tracer *t)
{
	t->skel->bss->sweep_epoch++;
}

void vm_stop(struct tracer *t)
{
	vm_pause(t);
	let_go(&t->vm_life);
}

int vm_trace(struct tracer *t, u32 pid, const struct vm_proc *p, struct err *err)
{
	int fd = bpf_map__fd(t->skel->maps.vm_procs), r;
	struct vm_proc looked = *p;

	if (bpf_map_update_elem(fd, &pid, p, BPF_ANY))
		return err_set(err, -errno, "process %u: %s", pid,
			       errno == E2BIG ? "too many processes are traced already"
					      : strerror(errno));
	/* Those that are born from here on have their state from vm_fork. */
	r = tracer_each_task(t->skel->progs.vm_present, pid);
	looked.flags |= VM_LOOKED;
	/* It may have ended, or executed another program. */
	if (!r) {
		bpf_map_update_elem(fd, &pid, &looked, BPF_EXIST);
		return 0;
	}
	vm_untrace(t, pid);
	return kernel_error(err, r, "looking at a process's threads");
}

int vm_look_again(struct tracer *t)
{
	if (!t->skel->bss->vm_unmade)
		return 0;
	t->skel->bss->vm_unmade = 0;
	return tracer_each_task(t->skel->progs.vm_present, 0);
}

/* What threads are in, of all of them at most. */
#define OPEN_BYTES_MAX (4u << 20)

int vm_open_turns(struct tracer *t, u64 before_ns, struct buf *to)
{
	t->skel->bss->open_before = before_ns;
	return tracer_read_tasks(t->skel->progs.vm_open, to, OPEN_BYTES_MAX);
}

void vm_untrace(struct tracer *t, u32 pid)
{
	bpf_map_delete_elem(bpf_map__fd(t->skel->maps.vm_procs), &pid);
}

/* The programs of the scheduler are gone before anybody is asked what it is in. */
void vm_end(struct tracer *t)
{
	int fd = bpf_map__fd(t->skel->maps.vm_procs);
	u32 pid;

	t->skel->bss->rest_ns = clock_mono_ns();
	while (!bpf_map_get_next_key(fd, NULL, &pid))
		if (bpf_map_delete_elem(fd, &pid))
			break;
	vm_stop(t);
	tracer_each_task(t->skel->progs.vm_rest, 0);
}

/* A perf event, which libbpf makes of the file's notes. */
static struct site_link *attach_perf(struct bpf_program *prog, u32 pid, const struct vm_target *v,
				     const char *provider, const char *probe, struct err *err)
{
	struct site_link *made = NULL;
	struct bpf_link *link;
	char name[32], what[256];

	snprintf(name, sizeof(name), "/proc/self/fd/%d", v->fd);
	link = bpf_program__attach_usdt(prog, pid ? (pid_t)pid : -1, name, provider, probe, NULL);
	if (link)
		made = site_link_new(link, -1);
	if (made)
		return made;
	snprintf(what, sizeof(what), "attaching to probe %s:%s", provider, probe);
	kernel_error(err, -errno, what);
	return NULL;
}

struct site_link *vm_site(struct tracer *t, u32 pid, const struct vm_target *v, enum vm_role role,
			  struct err *err)
{
	struct bpf_program *prog = role_program(t->skel, role);
	char provider[VM_NAME_MAX];
	const char *probe = vm_probe(v->profile, role, provider);

	/* Kernels from 6.18 to 7.1 break programs there. */
	if (v->nop5[role] && kernel_nops() == NOPS_UNSAFE) {
		err_set(err, -ENOTSUP,
			"%s: probe %s:%s is a 5-byte nop, which this kernel (6.18 to 7.1) breaks "
			"programs at when it is traced",
			v->path, provider, probe);
		return NULL;
	}
	if (t->vm_multi)
		return vm_sites_attach(t, prog, pid, v, role, err);
	return attach_perf(prog, pid, v, provider, probe, err);
}

/*
 * The probe behind the switch would fire far too often; its semaphore is all
 * that is wanted. So it is raised by a breakpoint at code that runs no more.
 */
struct site_link *vm_switch(struct tracer *t, u32 pid, const struct vm_target *v,
			    const struct vm_calls *c, struct err *err)
{
	LIBBPF_OPTS(bpf_uprobe_opts, opts, .ref_ctr_offset = c->switch_offset);
	struct site_link *made = NULL;
	struct bpf_link *link = NULL;
	char name[32];
	const struct kernel_probes probes = { .path = name,
					      .offsets = &c->quiet_offset,
					      .semaphores = &c->switch_offset,
					      .count = 1,
					      .pid = pid };
	int fd = -1;

	snprintf(name, sizeof(name), "/proc/self/fd/%d", v->fd);
	if (t->multi)
		fd = kernel_uprobe_multi(bpf_program__fd(t->skel->progs.armed_multi), &probes);
	else
		link = bpf_program__attach_uprobe_opts(t->skel->progs.armed, pid ? (pid_t)pid : -1,
						       name, c->quiet_offset, &opts);
	if (link || fd >= 0)
		made = site_link_new(link, fd);
	if (!made)
		kernel_error(err, t->multi && fd < 0 ? fd : -errno, "switching probes at calls on");
	return made;
}

static int runs_of(const struct bpf_program *p, u64 *count, u64 *ns)
{
	struct bpf_prog_info info = { 0 };
	u32 size = sizeof(info);

	if (bpf_obj_get_info_by_fd(bpf_program__fd(p), &info, &size))
		return -errno;
	*count = info.run_cnt;
	*ns = info.run_time_ns;
	return 0;
}

int vm_runs(const struct tracer *t, struct vm_runs *to)
{
	int r = runs_of(t->skel->progs.vm_call_begin, &to->begins, &to->begin_ns);

	return r ? r : runs_of(t->skel->progs.vm_call_end, &to->ends, &to->end_ns);
}

int vm_count_work(struct tracer *t, struct err *err)
{
	return attach_one(&t->vm_run, t->skel->progs.vm_work, "counting system calls", err);
}

void vm_work(const struct tracer *t, u64 to[CALLS])
{
	memcpy(to, t->skel->bss->call_work, CALLS * sizeof(to[0]));
}

int vm_count_runs(void)
{
	return bpf_enable_stats(BPF_STATS_RUN_TIME);
}
