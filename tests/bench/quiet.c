/* SPDX-License-Identifier: BSD-2-Clause */
#include "quiet.h"

#include "attach/steal.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct one {
	pid_t pid, parent;
	u64 ticks; /* its own, and those of children it has waited for */
	bool ours;
};

struct all {
	struct one *list;
	size_t n, room;
};

static int add(struct all *a, const struct one *o)
{
	if (a->n == a->room) {
		size_t room = a->room ? a->room * 2 : 256;
		struct one *list = realloc(a->list, room * sizeof(*list));

		if (!list)
			return -ENOMEM;
		a->list = list;
		a->room = room;
	}
	a->list[a->n++] = *o;
	return 0;
}

static bool read_one(const char *proc, const char *name, struct one *o)
{
	unsigned long long user, system;
	long long waited_user, waited_system;
	char path[512], line[1024], *p;
	FILE *f;
	bool got;

	snprintf(path, sizeof(path), "%s/%s/stat", proc, name);
	f = fopen(path, "re");
	if (!f)
		return false;
	got = fgets(line, sizeof(line), f);
	fclose(f);
	/* The name may hold anything, a bracket included. */
	p = got ? strrchr(line, ')') : NULL;
	if (!p || sscanf(p + 1, " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %lld %lld",
			 &o->parent, &user, &system, &waited_user, &waited_system) != 5)
		return false;
	o->pid = (pid_t)atoi(name);
	o->ticks = user + system + (u64)waited_user + (u64)waited_system;
	o->ours = false;
	return true;
}

static int read_all(const char *proc, struct all *a)
{
	DIR *dir = opendir(proc);
	struct dirent *d;
	struct one o;
	int r = dir ? 0 : -errno;

	while (!r && (d = readdir(dir)))
		if (*d->d_name >= '1' && *d->d_name <= '9' && read_one(proc, d->d_name, &o))
			r = add(a, &o);
	if (dir)
		closedir(dir);
	return r;
}

/* A child may have a smaller number than its parent: until nothing changes. */
static u64 sum_ours(struct all *a, pid_t root)
{
	bool more = true;
	u64 sum = 0;
	size_t i, k;

	while (more) {
		more = false;
		for (i = 0; i < a->n; i++) {
			struct one *o = &a->list[i];

			if (o->ours)
				continue;
			for (k = 0; k < a->n && !(a->list[k].ours && a->list[k].pid == o->parent);
			     k++)
				;
			if (o->pid != root && k == a->n)
				continue;
			o->ours = more = true;
			sum += o->ticks;
		}
	}
	return sum;
}

int quiet_read(const char *proc, pid_t root, struct quiet_reading *r)
{
	struct steal_count *c = malloc(sizeof(*c));
	struct all a = { 0 };
	char path[512];
	double uptime = 0;
	int result;
	FILE *f;

	*r = (struct quiet_reading){ 0 };
	if (!c)
		return -ENOMEM;
	snprintf(path, sizeof(path), "%s/uptime", proc);
	f = fopen(path, "re");
	result = f ? 0 : -errno;
	if (f && (fscanf(f, "%lf", &uptime) != 1 || !(uptime >= 0 && uptime < 1e10)))
		result = -EINVAL;
	if (f)
		fclose(f);
	snprintf(path, sizeof(path), "%s/stat", proc);
	if (!result)
		result = steal_read(path, c);
	if (!result)
		result = read_all(proc, &a);
	if (!result) {
		r->uptime_ns = (u64)(uptime * 100 + 0.5) * (NSEC_PER_SEC / 100);
		r->used = c->used;
		r->stolen = c->stolen;
		r->cpus = c->cpu_count;
		r->ours = sum_ours(&a, root);
	}
	free(a.list);
	free(c);
	return result;
}

static u32 ppm(u64 part, u64 whole)
{
	double v = whole ? (double)part * 1e6 / (double)whole : 0;

	return v < 1e6 ? (u32)(v + 0.5) : 1000000;
}

struct quiet quiet_between(const struct quiet_reading *from, const struct quiet_reading *to,
			   u64 tick_ns)
{
	struct quiet q = { .known = false };
	u64 used, stolen, ours, others;

	if (to->uptime_ns <= from->uptime_ns || to->used < from->used ||
	    to->stolen < from->stolen || to->ours < from->ours || !to->cpus)
		return q;
	q.known = true;
	q.ns = to->uptime_ns - from->uptime_ns;
	used = to->used - from->used;
	stolen = to->stolen - from->stolen;
	ours = to->ours - from->ours;
	others = less_u64(used, ours);
	q.stolen_ppm = ppm(stolen, used + stolen);
	q.others_ppm = ppm(others * tick_ns, q.ns * to->cpus);
	q.is = q.others_ppm < QUIET_OTHERS_PPM &&
	       (q.stolen_ppm < QUIET_STOLEN_PPM || !steal_matters(used, stolen));
	return q;
}

void quiet_json(struct json *j, const char *key, const struct quiet *q)
{
	if (key)
		json_key(j, key);
	if (!q->known) {
		json_null(j);
		return;
	}
	json_object(j);
	json_key_u64(j, "ns", q->ns);
	json_key_u64(j, "stolen_ppm", q->stolen_ppm);
	json_key_u64(j, "others_ppm", q->others_ppm);
	json_key_bool(j, "quiet", q->is);
	json_end_object(j);
}
