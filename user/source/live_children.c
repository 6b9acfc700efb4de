/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The descendants that targets had before the trace. Their parents are in
 * `traced` already, so whatever is born meanwhile tells of itself: what it is
 * and has, it has of its parent, also when it has ended by then. Where nobody
 * wants them they are counted.
 */
#include "source/live_int.h"

#include "base/task_stat.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* So far down a descendant is looked for. */
#define GENERATIONS 64

struct kin {
	u32 pid, ppid;
	bool ended; /* all of its threads; only its parent has not asked for it yet */
};

static int read_all(struct kin **list, size_t *count)
{
	struct kin *grown;
	struct dirent *e;
	size_t cap = 0;
	DIR *d = opendir("/proc");

	*list = NULL;
	*count = 0;
	if (!d)
		return -errno;
	while ((e = readdir(d))) {
		u32 pid = (u32)strtoul(e->d_name, NULL, 10);

		if (!pid)
			continue;
		if (*count == cap) {
			cap = cap ? 2 * cap : 256;
			grown = realloc(*list, cap * sizeof(*grown));
			if (!grown)
				break;
			*list = grown;
		}
		(*list)[(*count)++] = (struct kin){ .pid = pid,
						    .ppid = task_parent(pid),
						    .ended = task_is_over(pid) };
	}
	closedir(d);
	return 0;
}

/* One without probes is followed too: its children may have some. */
static int adopt(struct live *l, const struct kin *k, struct err *err)
{
	struct process *p = process_new(l, k->pid, k->ppid);
	struct err e = { 0 };

	if (!p)
		return err_set(err, -ENOMEM, "no memory");
	p->adopted = true;
	if (tracer_trace(l->t, k->pid, &e))
		live_refused(p, &e);
	else
		process_look_present(l, p, &e);
	return 0;
}

int children_open(struct live *l, struct err *err)
{
	struct kin *list;
	size_t count, i;
	bool more = true;
	int r = read_all(&list, &count);

	/* Each round finds a generation. */
	while (!r && more) {
		more = false;
		for (i = 0; i < count && !r; i++) {
			if (!process_find(l, list[i].ppid) || process_find(l, list[i].pid) ||
			    tracer_traces_since_birth(l->t, list[i].pid))
				continue;
			more = true;
			r = adopt(l, &list[i], err);
		}
	}
	free(list);
	/* Without a full /proc, children that were there are left out. */
	return r == -ENOMEM ? r : 0;
}

/* The nearest one above it that is a target. */
static struct process *target_above(const struct live *l, const struct map *parents, u32 pid)
{
	struct process *p = NULL;
	const u64 *up;
	u32 i;

	/* Numbers are given again while this is read: the way up may be a circle. */
	for (i = 0; i < GENERATIONS && !p && (up = map_get(parents, pid)); i++) {
		pid = (u32)*up;
		p = process_find(l, pid);
	}
	return p;
}

int children_left_out(struct live *l, struct err *err)
{
	struct map parents = { 0 };
	struct process *p;
	struct kin *list;
	size_t count, i;
	int r = read_all(&list, &count);

	for (i = 0; !r && i < count; i++)
		r = map_put(&parents, list[i].pid, list[i].ppid);
	for (i = 0; !r && i < count; i++) {
		if (list[i].pid == (u32)getpid() || list[i].ended || process_find(l, list[i].pid))
			continue;
		p = target_above(l, &parents, list[i].pid);
		if (p && !p->candidate)
			p->left_out++;
	}
	map_free(&parents);
	free(list);
	return r == -ENOMEM ? err_set(err, r, "no memory") : 0;
}
