/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Probes and marks that are there, armed, and never hit or made although the process used the
 * CPU: said, with the reason that is known, and taken back when one is. What a probe of a stock VM
 * should have told is then had from the stacks, where there are any.
 */
#include "source/live_vm_int.h"

#include "attach/vm.h"
#include "base/task_stat.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Between checks: while it works, what is left of the patience; else twice as long
 * each time, since a process that sleeps is to wake nobody. */
#define CHECK_LEAST_NS (500 * NSEC_PER_MSEC)
#define CHECK_MOST_NS (64 * NSEC_PER_SEC)

/* How much CPU time without a hit is worth a word. Collections are rare in a
 * program that makes little; work is what the other probes are there for. */
static const u64 patience[VM_ROLES] = {
	[VM_GC_BEGIN] = 5 * NSEC_PER_SEC,   [VM_REQUEST_BEGIN] = 2 * NSEC_PER_SEC,
	[VM_STATUS] = 2 * NSEC_PER_SEC,     [VM_STALL_BEGIN] = 10 * NSEC_PER_SEC,
	[VM_CALL_BEGIN] = 2 * NSEC_PER_SEC,
};

static int define(struct live *l, const struct process *p, u32 id, u8 flags, const char *text)
{
	return vm_define(l, p, VMSPAN_DEF_NOTE, id, 0, flags, 0, text);
}

int live_note(struct live *l, struct process *p, u32 key, const char *text, const char *advice)
{
	u8 flags = key == NOTE_REFUSED     ? VMSPAN_NOTE_LEFT_OUT
		   : key == NOTE_NOT_EXACT ? VMSPAN_NOTE_REMARK
					   : 0;

	if (process_tell(l, p) || define(l, p, 2 * key + 2, flags, advice))
		return l->failed;
	return define(l, p, 2 * key + 1, flags, text);
}

static bool cpu_of(u32 pid, u64 *ns)
{
	char line[TASK_STAT_MAX];
	const char *stat = task_stat(pid, 0, line);
	u64 user = 0, kernel = 0;
	/* Fields 14 and 15. */
	bool known =
		stat &&
		sscanf(stat, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64,
		       &user, &kernel) == 2;

	*ns = (user + kernel) * (NSEC_PER_SEC / (u64)sysconf(_SC_CLK_TCK));
	return known;
}

u64 live_cpu_ns(u32 pid)
{
	u64 ns;

	return cpu_of(pid, &ns) ? ns : 0;
}

u64 live_vm_used_ns(const struct source *s)
{
	const struct live *l = (const struct live *)s;
	u64 pid, value, used = 0, now;
	size_t at = 0;

	while (map_next(&l->processes, &at, &pid, &value)) {
		const struct process *p = (const void *)(uintptr_t)value;

		now = p->vm_profile ? live_cpu_ns(p->pid) : 0;
		used += now - min_u64(now, p->watch.cpu_ns);
	}
	return used;
}

static u32 hits_of(const struct live *l, const struct vm_profile *profile, int role)
{
	u64 pid, value;
	size_t at = 0;
	u32 n = 0;

	while (map_next(&l->processes, &at, &pid, &value)) {
		const struct process *p = (const void *)(uintptr_t)value;

		n += p->vm_profile == profile ? p->watch.hits[role] : 0;
	}
	return n;
}

u32 live_vm_hits(const struct source *s, u32 pid, struct live_hits to[LIVE_HITS_MAX])
{
	const struct live *l = (const struct live *)s;
	const struct process *p = process_find(l, pid);
	char provider[VM_NAME_MAX];
	const char *name;
	u32 n = 0;
	int i;

	for (i = 0; p && p->vm_profile && i < VM_ROLES && n < LIVE_HITS_MAX; i++) {
		name = vm_probe(p->vm_profile, (enum vm_role)i, provider);
		if (!(p->watch.armed & 1u << i) || !name)
			continue;
		to[n] = (struct live_hits){ .hits = hits_of(l, p->vm_profile, i),
					    .why = p->vm_profile->silent[i],
					    .advice = p->vm_profile->silent_do[i] };
		snprintf(to[n++].probe, sizeof(to->probe), "%s:%s", provider, name);
	}
	return n;
}

void live_watch_start(struct process *p, const struct vm_target *v, u32 armed)
{
	struct vm_watch *w = &p->watch;
	int i;

	if (w->next_ns || w->armed)
		return;
	for (i = 0; i < VM_ROLES; i++)
		if (armed & 1u << i && v->probes[i] && patience[i])
			w->armed |= 1u << i;
	for (i = 0; i < VM_ROLES; i++)
		/* Without probes at calls those are not traced at all. */
		if (v->profile->probes[i][0] && !v->probes[i] && patience[i] && i != VM_CALL_BEGIN)
			w->absent |= 1u << i;
	snprintf(w->version, sizeof(w->version), "%.15s", v->version);
	w->cpu_ns = live_cpu_ns(p->pid);
	w->every_ns = CHECK_LEAST_NS;
	w->next_ns = w->absent || w->armed & ~w->hit ? clock_mono_ns() + w->every_ns : 0;
}

int live_watch_hit(struct live *l, struct process *p, enum vm_role role)
{
	struct vm_watch *w = &p->watch;
	u32 bit = 1u << role;

	if (role == VM_ROLES)
		return 0;
	w->hits[role]++;
	if (w->hit & bit)
		return 0;
	w->hit |= bit;
	if (!(w->armed & ~w->hit))
		w->next_ns = 0;
	if (!(w->noted & bit))
		return 0;
	w->noted &= ~bit;
	return live_note(l, p, role, "", "");
}

static int say(struct live *l, struct process *p, enum vm_role role, u64 used)
{
	const struct vm_profile *v = p->vm_profile;
	char provider[VM_NAME_MAX], text[VMSPAN_NAME_MAX + 1];
	const char *name = vm_probe(v, role, provider);
	u64 seconds = used / NSEC_PER_SEC;

	snprintf(text, sizeof(text),
		 "%s %s: probe %s:%s is armed, and not hit once in %" PRIu64
		 " s of its CPU time: %s",
		 v->name, p->watch.version, provider, name ? name : "", seconds,
		 v->silent[role][0] ? v->silent[role] : "nobody knows why");
	return live_note(l, p, role, text, v->silent_do[role]);
}

static int say_absent(struct live *l, struct process *p, enum vm_role role)
{
	char provider[VM_NAME_MAX], text[VMSPAN_NAME_MAX + 1];
	const char *name = vm_probe(p->vm_profile, role, provider);

	p->watch.absent &= ~(1u << role);
	snprintf(text, sizeof(text),
		 "%s %s: its build has no probe %s:%s: what it tells is left out",
		 p->vm_profile->name, p->watch.version, provider, name ? name : "");
	return live_note(l, p, role, text,
			 "The distribution's own build has it; others are configured with "
			 "--with-dtrace or --enable-dtrace.");
}

int live_watch_check(struct live *l, struct process *p, u64 now)
{
	u64 used, left = CHECK_MOST_NS;
	struct vm_watch *w = &p->watch;
	int i;

	if (!w->next_ns || now < w->next_ns || !p->vm_profile)
		return 0;
	used = live_cpu_ns(p->pid);
	used -= min_u64(used, w->cpu_ns);
	for (i = 0; i < VM_ROLES; i++) {
		u32 bit = 1u << i;

		if (w->absent & bit && say_absent(l, p, (enum vm_role)i))
			return l->failed;
		if (!(w->armed & bit) || (w->hit | w->noted) & bit)
			continue;
		if (used < patience[i]) {
			left = min_u64(left, patience[i] - used);
			continue;
		}
		w->noted |= bit;
		if (say(l, p, (enum vm_role)i, used))
			return l->failed;
		if (i == VM_REQUEST_BEGIN)
			live_vm_fall_back(l, p);
	}
	w->every_ns = used > w->used_ns ? max_u64(left, CHECK_LEAST_NS)
					: min_u64(2 * w->every_ns, CHECK_MOST_NS);
	w->used_ns = used;
	w->next_ns = w->armed & ~w->hit & ~w->noted ? now + w->every_ns : 0;
	return 0;
}

/* ---- Marks ---- */

/* What a program does before its first event takes a while; but who waits for its figures is to know. */
#define SILENT_NS NSEC_PER_SEC

static int say_silent(struct live *l, struct process *p)
{
	p->silence.noted = true;
	p->silence.wakes = false;
	return live_note(
		l, p, NOTE_SILENT,
		"its marks are armed, and it has used the CPU for a second and more without making "
		"one",
		"It is in code without marks, or in an event that began before they were turned "
		"on, which "
		"nothing tells of until it ends. A debugger or profiler shows where.");
}

/* Who waits, sleeps or stands still uses no CPU: of one that was named it is said at the end. */
static int say_idle(struct live *l, struct process *p)
{
	p->silence.noted = true;
	return live_note(
		l, p, NOTE_SILENT, "its marks are armed, and it has made none",
		"It has slept or waited, or is in an event that began before they were "
		"turned on, which nothing tells of until it ends. A debugger shows where.");
}

/* Not of children: many do a small thing and end. */
void live_silence_begin(struct process *p)
{
	struct silence *s = &p->silence;

	if (s->next_ns || s->child || p->marked || p->vm_profile || !cpu_of(p->pid, &s->cpu_ns))
		return;
	s->wakes = true;
	s->next_ns = clock_mono_ns() + SILENT_NS;
}

int live_silence_check(struct live *l, struct process *p, u64 now)
{
	struct silence *s = &p->silence;
	u64 used;

	if (!s->next_ns || s->noted || now < s->next_ns)
		return 0;
	/* What it was expected of may be gone, or off: with that it begins anew. */
	if (p->command || p->ended || !attachments_armed(p) || !l->parts[TRACE_TURNS].on ||
	    !cpu_of(p->pid, &used)) {
		s->next_ns = 0;
		s->wakes = false;
		return 0;
	}
	used -= min_u64(used, s->cpu_ns);
	/* Who sleeps is to wake nobody: then it is looked at when somebody is awake anyway. */
	s->wakes = used > s->used_ns;
	s->used_ns = used;
	s->next_ns = now + max_u64(SILENT_NS - min_u64(used, SILENT_NS), CHECK_LEAST_NS);
	return used >= SILENT_NS ? say_silent(l, p) : 0;
}

int live_silence_last(struct live *l)
{
	u64 key, value, now = clock_mono_ns();
	size_t at = 0;

	while (map_next(&l->processes, &at, &key, &value)) {
		struct process *p = (struct process *)(uintptr_t)value;

		p->silence.next_ns = min_u64(p->silence.next_ns, 1);
		if (live_silence_check(l, p, now))
			return l->failed;
		if (p->silence.next_ns && !p->silence.noted && !sweep_wanted(&l->sweep) &&
		    p->on.mono_ns && now >= p->on.mono_ns + SILENT_NS && say_idle(l, p))
			return l->failed;
	}
	return 0;
}

int live_silence_end(struct live *l, struct process *p)
{
	bool noted = p->silence.noted;

	p->silence = (struct silence){ 0 };
	return noted ? live_note(l, p, NOTE_SILENT, "", "") : 0;
}

int live_marked(struct live *l, struct process *p)
{
	if (p->marked)
		return 0;
	p->marked = true;
	return live_silence_end(l, p);
}
