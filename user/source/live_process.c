/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processes under the trace: their coming, forks, execs and ends.
 */
#include "source/live_int.h"
#include "source/live_late.h"

#include "probe/started.h"
#include "probe/threads.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A child of this age is worth links of its own. */
#define LINK_NS (50 * NSEC_PER_MSEC)

struct process *process_find(const struct live *l, u32 pid)
{
	u64 *at = map_get(&l->processes, pid);

	return at ? (struct process *)(uintptr_t)*at : NULL;
}

void process_read_name(u32 pid, char to[16])
{
	char path[48];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/comm", pid);
	f = fopen(path, "re");
	*to = 0;
	if (!f)
		return;
	if (!fgets(to, 16, f))
		*to = 0;
	to[strcspn(to, "\n")] = 0;
	fclose(f);
}

int process_pidfd(u32 pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

bool process_is_over(int pidfd)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };

	return pidfd >= 0 && poll(&p, 1, 0) > 0;
}

struct process *process_new(struct live *l, u32 pid, u32 ppid)
{
	struct process *p = process_find(l, pid);

	if (p && process_end(l, p, clock_mono_ns()))
		return NULL;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->pid = pid;
	p->ppid = ppid;
	p->number = ++l->process_last;
	p->vm = "";
	process_read_name(pid, p->name);
	/* Where there are no pidfds (before 5.3) the exit record alone tells. */
	p->pidfd = process_pidfd(pid);
	if (map_put(&l->processes, pid, (u64)(uintptr_t)p)) {
		if (p->pidfd >= 0)
			close(p->pidfd);
		free(p);
		return NULL;
	}
	if (p->pidfd >= 0)
		ring_watch_pidfd(&l->ring, p->pidfd, pid);
	else if (errno == ESRCH)
		p->ended = true;
	return p;
}

static int emit_change(struct live *l, const struct process *p, enum process_change change,
		       u64 mono_ns)
{
	struct item it = { .type = ITEM_PROCESS,
			   .process = { .change = change,
					.pid = p->pid,
					.ppid = p->ppid,
					/* It may be born while the trace begins. */
					.mono_ns = max_u64(mono_ns, l->first.mono_ns),
					.name = p->name,
					.vm = p->vm } };

	if (live_emit(l, &it))
		return l->failed;
	return change == PROCESS_SEEN || change == PROCESS_EXEC ? live_container(l, p) : 0;
}

/* Of all processes. Beyond it, definitions are read when there is something to say. */
#define HELD_MAX (64ull << 20)

/* What an item points to, and lies behind it where it is held. NULL: nothing does. */
static const void **data_of(struct item *it, u32 *bytes)
{
	switch (it->type) {
	case ITEM_DEFS:
		*bytes = it->defs.bytes;
		return &it->defs.data;
	case ITEM_BATCH:
		*bytes = it->batch.bytes;
		return &it->batch.data;
	default:
		*bytes = 0;
		return NULL;
	}
}

int process_emit(struct live *l, struct process *p, const struct item *it)
{
	struct item held = *it;
	u32 bytes;
	const void **data = data_of(&held, &bytes);

	if (p->told)
		return live_emit(l, it);
	if (data && l->held_bytes + sizeof(held) + bytes > HELD_MAX)
		return -ENOSPC;
	l->held_bytes += sizeof(held) + bytes;
	if (buf_put(&p->held, &held, sizeof(held)) || (data && buf_put(&p->held, *data, bytes)))
		l->failed = -ENOMEM;
	return l->failed;
}

static void forget_held(struct live *l, struct process *p)
{
	l->held_bytes -= p->held.len;
	buf_free(&p->held);
}

static int emit_held(struct live *l, struct process *p)
{
	const void **data;
	struct item it;
	size_t at = 0;
	u32 bytes;

	while (at < p->held.len && !l->failed) {
		memcpy(&it, p->held.data + at, sizeof(it));
		at += sizeof(it);
		data = data_of(&it, &bytes);
		if (data)
			*data = p->held.data + at;
		at += bytes;
		live_emit(l, &it);
	}
	forget_held(l, p);
	return l->failed;
}

int process_tell(struct live *l, struct process *p)
{
	if (p->told)
		return 0;
	p->told = true;
	return emit_change(l, p, PROCESS_SEEN, clock_mono_ns()) || emit_held(l, p) ? l->failed : 0;
}

void process_not_candidate(struct live *l, struct process *p)
{
	if (p->candidate && l->candidates)
		l->candidates--;
	p->candidate = false;
}

int process_defs(struct live *l, struct process *p)
{
	u32 i;

	for (i = 0; i < p->registry_count; i++)
		if (registry_read(l, p, &p->registries[i]))
			break;
	return l->failed;
}

/* ---- Fork, exec, exit ---- */

/* The loader maps libraries after the exec; ours may be among them. The first
 * look is taken at once, then after 4 ms, 16 ms ... 1 s. */
#define RESCANS 5
#define RESCAN_FIRST_NS (4 * NSEC_PER_MSEC)

static void look_later(struct process *p)
{
	p->rescan_ns = clock_mono_ns() + (RESCAN_FIRST_NS << 2 * (RESCANS - p->rescans));
}

static void set_name(struct process *p, const struct wire_life *w)
{
	memcpy(p->name, w->comm, sizeof(p->name));
	p->name[sizeof(p->name) - 1] = 0;
}

/* Was a child born when its parent's marks were not on? So are its own, until it has links. */
static bool born_off(const struct live *l, const struct process *parent, u64 mono_ns)
{
	return l->marks_off || mono_ns < l->open_ns ||
	       (parent && (mono_ns < parent->armed_ns || (parent->unlinked && !parent->link_ns)));
}

/* Who are marked by traps are found by their own files' probes. */
static bool child_by_traps(const struct process *parent)
{
	if (!parent || parent->vm_profile)
		return false;
	return parent->attachments ? !attachments_by_batches(parent) : parent->by_traps;
}

int process_fork(struct live *l, const struct wire_life *w)
{
	struct process *parent = process_find(l, w->h.pid), *p;
	u32 i;

	/* The parent's exec was of no concern. */
	if (!parent && sweep_wanted(&l->sweep)) {
		tracer_untrace(l->t, w->other);
		return 0;
	}
	/* Found by a look at /proc after its parent was traced. */
	p = process_find(l, w->other);
	if (p && p->adopted) {
		p->adopted = false;
		return 0;
	}
	p = process_new(l, w->other, w->h.pid);
	if (!p)
		return l->failed ? l->failed : (l->failed = -ENOMEM);
	set_name(p, w);
	p->unlinked = true;
	p->by_batches = attachments_by_batches(parent);
	p->by_traps = child_by_traps(parent);
	p->forked_ns = p->exec_ns = w->mono_ns;
	p->silence.child = true;
	p->link_ns = born_off(l, parent, w->mono_ns) ? 0 : clock_mono_ns() + LINK_NS;
	if (parent && parent->candidate) {
		p->candidate = true;
		l->candidates++;
		p->rescans = parent->rescans;
		p->rescan_ns = parent->rescan_ns;
		/* Its VM may begin before its parent's, which is waited for at its own pace. */
		if (parent->pace_ns) {
			p->rescans = RESCANS;
			look_later(p);
		}
	}
	/* The child inherits definitions, and may have ended before its own log
	 * can be read: so its parent's must have been handed out, and be known to be. */
	if (parent && parent->registry_count &&
	    (process_tell(l, parent) || process_defs(l, parent)))
		return l->failed;
	if (parent) {
		u64 copy, address;
		size_t at = 0;

		p->vm = parent->vm;
		p->armed_ns = parent->armed_ns;
		p->own_copy = parent->own_copy;
		p->rings_begun = parent->rings_begun;
		p->vm_profile = parent->vm_profile;
		p->vm_root = parent->vm_root;
		p->walks = parent->walks;
		while (map_next(&parent->copies, &at, &copy, &address))
			map_put(&p->copies, copy, address);
		for (i = 0; i < parent->registry_count; i++) {
			struct registry *r = live_registry_at(p, parent->registries[i].address,
							      parent->registries[i].abi1);

			if (r)
				registry_copy(r, &parent->registries[i]);
		}
	}
	p->told = parent && parent->told;
	if (p->told && emit_change(l, p, PROCESS_FORK, w->mono_ns))
		return l->failed;
	return p->by_batches && !p->link_ns && !l->marks_off ? process_link(l, p) : 0;
}

static void forget_memory(struct live *l, struct process *p)
{
	u32 i;

	for (i = 0; i < p->registry_count; i++)
		live_registry_free(&p->registries[i]);
	free(p->registries);
	p->registries = NULL;
	p->registry_count = 0;
	map_free(&p->copies);
	free(p->unseen_copies);
	p->unseen_copies = NULL;
	p->unseen_count = p->unseen_cap = 0;
	p->own_copy = 0;
	forget_held(l, p);
	p->rings_begun = false;
	map_free(&p->threads);
	live_vm_free(l, p);
	p->vm_profile = NULL;
	p->vm_root = 0;
	p->watch = (struct vm_watch){ 0 };
	free(p->refused);
	free(p->said);
	p->refused = p->said = NULL;
	p->denied = p->denied_said = 0;
	p->on.mono_ns = 0;
	p->begun_before = 0;
	p->begun_before_ns = 0;
	p->begins = p->walks = false;
	p->not_exact = p->not_exact_said = false;
	p->pace_ns = 0;
}

/* A VM may begin as late as it likes: a JVM when it has touched all of its heap, the interpreter that an editor
 * links to when somebody wants it. After the other looks one a second, then twice as long each time. */
#define PACE_LEAST_NS NSEC_PER_SEC
#define PACE_MOST_NS (64 * NSEC_PER_SEC)

static void look_on(struct process *p)
{
	if (p->rescans || !(p->begins || live_is_doubtful(p)))
		return;
	p->pace_ns = p->pace_ns ? min_u64(2 * p->pace_ns, PACE_MOST_NS) : PACE_LEAST_NS;
	p->rescans = 1;
	p->rescan_ns = clock_mono_ns() + p->pace_ns;
}

void process_look_soon(struct process *p)
{
	p->rescans = p->rescans ? p->rescans : 1;
	p->rescan_ns = p->looked_ns + RESCAN_FIRST_NS;
}

int process_look(struct live *l, struct process *p, struct err *err)
{
	int r;

	p->rescans = RESCANS;
	r = process_attach(l, p, err);
	look_later(p);
	return r;
}

int process_look_present(struct live *l, struct process *p, struct err *err)
{
	int r = process_look(l, p, err);

	if ((!r || r == -ENOENT) && !p->begins)
		p->rescans = 0;
	return r;
}

static bool has_name(const struct process *p, const struct wire_life *w)
{
	return !strncmp(p->name, w->comm, sizeof(p->name));
}

/* Was it this that it had executed when its name was read? The kernel names a process before it tells of the exec: who
 * reads the name in between, reads it before the record is made. */
static bool is_named_by(const struct process *p, const struct wire_life *w)
{
	return w->mono_ns < p->named_ns || (p->named_ns && !p->named_came && has_name(p, w));
}

void process_renamed(struct process *p, const struct wire_life *w)
{
	p->named_came |= w->mono_ns >= p->named_ns || has_name(p, w);
}

int process_exec(struct live *l, const struct wire_life *w)
{
	struct process *p = process_find(l, w->h.pid);
	struct err ignored = { 0 }, *refused = NULL;
	bool first;

	if (!p)
		return sweep_new(l, w);
	first = p->command;
	p->command = false;
	/* It had been heard of by what this exec has made it: of what it was before nothing was asked, and what a
	 * look has found is of this. */
	if (is_named_by(p, w)) {
		refused = p->refused;
		p->refused = NULL;
		p->unseen = false;
	}
	/* Kernels that do not tell an exec from a name that a process gives itself: what it executes is called alike. */
	if (has_name(p, w))
		p->unseen = false;
	process_renamed(p, w);
	if (live_rings_process_end(l, p) || live_vm_rest(l, p) ||
	    live_unfinished(l, p, UNFINISHED_EXEC, w->mono_ns) || registries_end(l, p) ||
	    process_missed_by_its_end(l, p, w->mono_ns) || live_silence_end(l, p) ||
	    process_last_words(l, p, UNFINISHED_EXEC)) {
		free(refused);
		return l->failed;
	}
	forget_memory(l, p);
	/* The kernel knows the process of a probe by its first thread, which is gone. */
	if (w->other)
		attachments_bury(l, p);
	p->refused = refused;
	p->by_batches = p->by_traps = false; /* what it had of its parent is gone */
	/* From its first mark on the new program is traced where it has a file of the old one's. */
	p->rings_begun = attachments_armed(p);
	p->armed_ns = attachments_of_marks(p) ? w->mono_ns : 0;
	p->waits_ns = 0;
	p->exec_ns = w->mono_ns;
	p->library_waits = p->loaded = p->unseen = p->heard_late = p->marked = p->missed = false;
	p->passed_by = NOT_PASSED_BY;
	/* What was read since is newer. */
	if (w->mono_ns >= p->named_ns)
		set_name(p, w);
	if (!first)
		p->vm = "";
	/* It need not have probes: then its children may. */
	process_look(l, p, &ignored);
	/* It has none of those that it had: when its own are on, a later look says. */
	if (!attachments_of_marks(p))
		p->armed_ns = 0;
	/* The exec that makes the command what it is, is no change of it. */
	if (!first && p->told && emit_change(l, p, PROCESS_EXEC, w->mono_ns))
		return l->failed;
	return process_defs(l, p);
}

int process_young(struct live *l, struct process *p)
{
	/* Of this drain: the tracer turns marks off before it. */
	bool born_off = l->marks_off && p->forked_ns >= l->marks_off_at.mono_ns;

	if (!p->unlinked || !p->by_traps || p->young_told || born_off || !l->parts[TRACE_TURNS].on)
		return 0;
	p->young_told = true;
	return live_emit_loss(l, LOSS_MARKS_OFF, 1, 0);
}

int process_end(struct live *l, struct process *p, u64 mono_ns)
{
	attachments_ended(l, p, mono_ns);
	if (!live_rings_process_end(l, p) && !live_vm_rest(l, p) &&
	    !live_unfinished(l, p, UNFINISHED_PROCESS, mono_ns) && !registries_end(l, p) &&
	    !process_missed_by_its_end(l, p, mono_ns) &&
	    !process_last_words(l, p, UNFINISHED_PROCESS))
		process_young(l, p);
	if (p->told)
		emit_change(l, p, PROCESS_EXIT, mono_ns);
	if (!tracer_has_life(l->t) || p->candidate)
		tracer_untrace(l->t, p->pid);
	if (p->attachments)
		tracer_disarmed(l->t, p->pid);
	process_not_candidate(l, p);
	if (l->command.pid == (int)p->pid)
		command_reap(&l->command, true);
	attachments_bury(l, p);
	map_del(&l->processes, p->pid);
	process_free(l, p);
	return l->failed;
}

void process_free(struct live *l, struct process *p)
{
	attachments_free(l, p);
	forget_memory(l, p);
	if (p->pidfd >= 0)
		close(p->pidfd);
	free(p);
}

int process_thread(struct live *l, struct process *p, u32 tid)
{
	struct item it = { .type = ITEM_THREAD };
	char path[64], name[32] = "";
	FILE *f;

	if (map_get(&p->threads, tid))
		return 0;
	if (map_put(&p->threads, tid, 1))
		return 0;
	snprintf(path, sizeof(path), "/proc/%u/task/%u/comm", p->pid, tid);
	f = fopen(path, "re");
	if (f) {
		if (!fgets(name, sizeof(name), f))
			name[0] = 0;
		name[strcspn(name, "\n")] = 0;
		fclose(f);
	}
	it.thread = (struct item_thread){
		.pid = p->pid, .tid = tid, .mono_ns = clock_mono_ns(), .name = name
	};
	return live_emit(l, &it);
}

int process_thread_ended(struct live *l, struct process *p, u32 tid, u64 mono_ns, const char *name)
{
	const struct item it = { .type = ITEM_THREAD,
				 .thread = { .pid = p->pid,
					     .tid = tid,
					     .ended = true,
					     .mono_ns = mono_ns,
					     .name = name } };

	return map_del(&p->threads, tid) ? live_emit(l, &it) : 0;
}

/* ---- At quiet moments ---- */

u64 process_next_rescan(const struct live *l)
{
	u64 next = UINT64_MAX, key, value;
	size_t at = 0;

	while (map_next(&l->processes, &at, &key, &value)) {
		const struct process *p = (const struct process *)(uintptr_t)value;

		if (p->rescans)
			next = min_u64(next, p->rescan_ns);
		if (p->unlinked)
			next = min_u64(next, p->link_ns);
		if (live_has_words(p) || p->not_exact)
			next = 0;
		if (p->watch.next_ns)
			next = min_u64(next, p->watch.next_ns);
		if (p->silence.wakes)
			next = min_u64(next, p->silence.next_ns);
		next = min_u64(next, live_vm_settles(l, p));
	}
	return next;
}

static int settle_one(struct live *l, struct process *p, u64 now)
{
	struct err ignored = { 0 };
	u32 i;

	if (p->unlinked && !l->detached && now >= p->link_ns) {
		process_link(l, p);
		/* What could not be attached to now cannot be later. */
		p->unlinked = false;
	}
	if (p->rescans && !l->detached && now >= p->rescan_ns) {
		p->rescans--;
		look_later(p);
		process_attach(l, p, &ignored);
		look_on(p);
		for (i = 0; i < p->registry_count; i++)
			if (!p->registries[i].read_ns && registry_read(l, p, &p->registries[i]))
				return l->failed;
	}
	if ((live_has_words(p) && live_say_refused(l, p)) || live_say_not_exact(l, p) ||
	    live_say_late(l, p) || live_watch_check(l, p, now) || live_silence_check(l, p, now))
		return l->failed;
	/* A sweep's processes that turn out to have nothing are let go. */
	p->ended |= p->candidate && !p->rescans && !p->unlinked;
	for (i = 0; i < p->registry_count; i++)
		if (p->registries[i].due && now - p->registries[i].read_ns >= REREAD_NS &&
		    registry_read(l, p, &p->registries[i]))
			return l->failed;
	return 0;
}

static struct process *ended_one(const struct live *l)
{
	u64 key, value;
	size_t at = 0;

	while (map_next(&l->processes, &at, &key, &value)) {
		struct process *p = (struct process *)(uintptr_t)value;

		if (p->ended)
			return p;
	}
	return NULL;
}

int process_settle(struct live *l, bool idle)
{
	u64 now = clock_mono_ns(), key, value;
	struct process *p;
	size_t at = 0;

	/* The exit record of a process comes before its pidfd tells of it, so
	 * with the ring empty it was lost, or there are none here. */
	while ((p = ended_one(l)))
		if (process_end(l, p, now))
			return l->failed;
	while (map_next(&l->processes, &at, &key, &value))
		if (settle_one(l, (struct process *)(uintptr_t)value, now) ||
		    live_vm_settle(l, (struct process *)(uintptr_t)value, now))
			return l->failed;
	if (live_rings_look(l, now))
		return l->failed;
	return attachments_thin(l, idle);
}
