/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Drives the live source alone and counts what it hands out.
 *
 *   live_probe [-p PID]... [-a] [-c NAME]... [-g CGROUP]... [-m flush|direct] [-r RING-BYTES] [-n] [-s] [-e] [-w STAGE] [-- CMD]
 *
 * -n: children are not followed. -s: does not read the ring until stdin ends.
 * -w: waits for a line at this stage of attaching, see live_stage.c.
 * -e: exact mode. -i PID: only prints "SEMAPHORE ARMED-BYTE FLUSH-BYTE", a line a file with probes;
 * the last is cc too when the nop behind the first byte is what is probed.
 * -b PID: only prints the first bytes of the carrier, a line a file.
 * Prints "attached" once everything is in place, "end" when the targets are
 * gone. When stdin ends it stops and prints one JSON object.
 */
#include "base/json.h"
#include "base/map.h"
#include "base/wire.h"
#include "probe/plan.h"
#include "source/live.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern const char *stage_wanted;

struct counts {
	u64 types[256];
	u64 records, batches, gaps, repaired, too_deep, unmatched, in_mark;
	u64 lost[LOSS_CAUSES], lost_batches[LOSS_CAUSES];
	u64 changes[5], threads, thread_ends, clocks, defs;
	u64 undefined, before_start, backwards;
	u64 off_starts; /* exact mode: threads from whose record on nothing is missing */
	struct map next; /* stream -> seq */
	struct map defined; /* compartment of (pid, registry) */
	struct map per_pid; /* pid -> spans */
	struct map parent; /* of forked processes, which have its definitions */
	u64 first_cycles;
	struct item_cost cost;
	char names[1 << 16]; /* of the processes, in order of arrival */
};

static u64 mix(u64 a, u64 b, u64 c)
{
	return (a * 0x9e3779b97f4a7c15ull ^ b) * 0xff51afd7ed558ccdull ^ c;
}

static void bump(struct map *m, u64 key, u64 by)
{
	u64 *at = map_get(m, key);

	map_put(m, key, (at ? *at : 0) + by);
}

static bool is_defined(const struct counts *c, u64 pid, u64 registry, u32 id)
{
	const u64 *parent = map_get(&c->parent, pid);

	return map_get(&c->defined, mix(pid, registry, id)) ||
	       (parent && is_defined(c, *parent, registry, id));
}

static void records(struct counts *c, u32 pid, u64 registry, const u8 *data, u32 bytes, bool defs)
{
	u32 at = 0;

	while (at < bytes) {
		const struct vmspan_head *h = (const void *)(data + at);
		const struct vmspan_span *s = (const void *)h;

		if (h->type == VMSPAN_DEF_COMPARTMENT)
			map_put(&c->defined, mix(pid, registry, h->id), 1);
		if (!defs && h->type == VMSPAN_SPAN && s->begin < c->first_cycles) {
			c->before_start++;
		} else if (!defs) {
			c->types[h->type]++;
		}
		if (!defs && h->type == VMSPAN_SPAN && s->begin >= c->first_cycles) {
			bump(&c->per_pid, pid, 1);
			c->undefined += !is_defined(c, pid, registry, h->id);
			c->backwards += s->end < s->begin;
		}
		c->off_starts +=
			h->type == VMSPAN_OFF && (h->depth & VMSPAN_DEPTH_MASK) == VMSPAN_OFF_START;
		at += h->slots * 32u;
	}
}

static void batch(struct counts *c, const struct item_batch *b)
{
	u64 key = mix(b->pid, b->registry, b->thread);
	u64 *next = map_get(&c->next, key);

	if (next && *next != b->seq)
		c->gaps += b->seq - *next;
	map_put(&c->next, key, b->seq + b->records);
	c->batches++;
	c->records += b->records;
	c->repaired += b->repaired;
	c->too_deep += b->too_deep;
	c->unmatched += b->unmatched;
	c->in_mark += b->in_mark;
	records(c, b->pid, b->registry, b->data, b->bytes, false);
}

static int take(void *ctx, const struct item *it)
{
	struct counts *c = ctx;
	size_t n = strlen(c->names);

	switch (it->type) {
	case ITEM_CLOCK:
		if (!c->clocks++)
			c->first_cycles = it->clock.cycles;
		break;
	case ITEM_PROCESS:
		c->changes[it->process.change]++;
		if (it->process.change == PROCESS_FORK)
			map_put(&c->parent, it->process.pid, it->process.ppid);
		else if (it->process.change == PROCESS_EXEC)
			map_del(&c->parent, it->process.pid);
		snprintf(c->names + n, sizeof(c->names) - n, "%s%s:%s", n ? "," : "",
			 it->process.name, it->process.vm);
		break;
	case ITEM_THREAD:
		c->threads += !it->thread.ended;
		c->thread_ends += it->thread.ended;
		break;
	case ITEM_DEFS:
		c->defs++;
		records(c, it->defs.pid, it->defs.registry, it->defs.data, it->defs.bytes, true);
		break;
	case ITEM_BATCH:
		batch(c, &it->batch);
		break;
	case ITEM_UNFINISHED:
	case ITEM_OPEN:
		break;
	case ITEM_COST:
		c->cost = it->cost;
		break;
	case ITEM_LOSS:
		c->lost[it->loss.cause] += it->loss.records;
		c->lost_batches[it->loss.cause] += it->loss.batches;
		break;
	}
	return 0;
}

static void print(const struct counts *c, int status, u64 wakeups)
{
	struct out o;
	struct json j;
	u64 key, value, lost = 0;
	size_t at = 0;
	char pid[16];
	int i;

	out_open_fd(&o, 1);
	json_open(&j, &o);
	json_object(&j);
	json_key_u64(&j, "spans", c->types[VMSPAN_SPAN]);
	json_key_u64(&j, "events", c->types[VMSPAN_EVENT]);
	json_key_u64(&j, "gc", c->types[VMSPAN_GC]);
	json_key_u64(&j, "block", c->types[VMSPAN_BLOCK]);
	json_key_u64(&j, "input", c->types[VMSPAN_INPUT]);
	json_key_u64(&j, "value", c->types[VMSPAN_VALUE]);
	json_key_u64(&j, "records", c->records);
	json_key_u64(&j, "batches", c->batches);
	json_key_u64(&j, "gaps", c->gaps);
	json_key_u64(&j, "wakeups", wakeups);
	for (i = 0; i < LOSS_CAUSES; i++) {
		json_key_u64(&j, loss_name((enum loss_cause)i), c->lost[i]);
		lost += c->lost[i];
	}
	json_key_u64(&j, "lost", lost);
	json_key_u64(&j, "malformed_batches", c->lost_batches[LOSS_MALFORMED]);
	json_key_u64(&j, "repaired", c->repaired);
	json_key_u64(&j, "too_deep_said", c->too_deep);
	json_key_u64(&j, "unmatched_said", c->unmatched);
	json_key_u64(&j, "seen", c->changes[PROCESS_SEEN]);
	json_key_u64(&j, "forks", c->changes[PROCESS_FORK]);
	json_key_u64(&j, "execs", c->changes[PROCESS_EXEC]);
	json_key_u64(&j, "exits", c->changes[PROCESS_EXIT]);
	json_key_u64(&j, "threads", c->threads);
	json_key_u64(&j, "thread_ends", c->thread_ends);
	json_key_u64(&j, "clocks", c->clocks);
	json_key_u64(&j, "undefined", c->undefined);
	json_key_u64(&j, "before_start", c->before_start);
	json_key_u64(&j, "backwards", c->backwards);
	json_key_u64(&j, "off_starts", c->off_starts);
	json_key_string(&j, "names", c->names);
	json_key_i64(&j, "status",
		     status < 0          ? -1
		     : WIFEXITED(status) ? WEXITSTATUS(status)
					 : 128 + WTERMSIG(status));
	json_key_object(&j, "pids");
	while (map_next(&c->per_pid, &at, &key, &value)) {
		snprintf(pid, sizeof(pid), "%" PRIu64, key);
		json_key_u64(&j, pid, value);
	}
	json_end_object(&j);
	json_end_object(&j);
	json_line(&j);
	out_close(&o);
}

static int fail(const struct err *e)
{
	fprintf(stderr, "error %d: %s\n%s\n", err_status(e), e->what, e->hint);
	return err_status(e);
}

/* What a tracer changes in its target. */
static int inspect(u32 pid, bool bytes)
{
	struct err e = { 0 };
	struct plan plan;
	char path[32];
	u32 i;
	int fd;

	if (plan_process(pid, NULL, &plan, &e))
		return fail(&e);
	snprintf(path, sizeof(path), "/proc/%u/mem", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	for (i = 0; i < plan.count; i++) {
		const struct plan_dso *d = &plan.dsos[i];
		u8 armed = 0, flush[7] = { 0 };
		u16 semaphore = 0;

		if (pread(fd, &semaphore, 2, (off_t)d->registry) != 2 ||
		    pread(fd, &armed, 1, (off_t)(d->bias + d->probes.sites[ROLE_ARMED].address)) !=
			    1 ||
		    pread(fd, flush, sizeof(flush),
			  (off_t)(d->bias + d->probes.sites[ROLE_FLUSH].address)) != sizeof(flush))
			return EXIT_FAILED;
		if (bytes)
			printf("%02x %02x %02x %02x %02x %02x %02x\n", flush[0], flush[1], flush[2],
			       flush[3], flush[4], flush[5], flush[6]);
		else
			printf("%u %02x %02x\n", semaphore, armed,
			       flush[0] == 0x90 && flush[1] != 0x66 ? 0xcc : flush[0]);
	}
	close(fd);
	plan_free(&plan);
	return 0;
}

int main(int argc, char **argv)
{
	struct live_config config = { 0 };
	struct counts c = { 0 };
	struct err e = { 0 };
	struct source *s;
	bool sleepy = false;
	u64 wakeups;
	u32 pids[64];
	int o, r = 1;

	config.pids = pids;
	while ((o = getopt(argc, argv, "+ep:c:g:am:r:nsi:b:w:")) != -1) {
		if (o == 'i' || o == 'b')
			return inspect((u32)atoi(optarg), o == 'b');
		if (o == 'p' && config.pid_count < 64)
			pids[config.pid_count++] = (u32)atoi(optarg);
		else if (o == 'a')
			config.sweep.all = true;
		else if (o == 'c' && config.sweep.comm_count < LIVE_NAMES_MAX)
			config.sweep.comms[config.sweep.comm_count++] = optarg;
		else if (o == 'g' && config.sweep.cgroup_count < LIVE_NAMES_MAX)
			config.sweep.cgroups[config.sweep.cgroup_count++] = optarg;
		else if (o == 'm')
			config.method = *optarg == 'd' ? METHOD_DIRECT : METHOD_FLUSH;
		else if (o == 'r')
			config.ring_bytes = strtoull(optarg, NULL, 10);
		else if (o == 'n')
			config.no_children = true;
		else if (o == 's')
			sleepy = true;
		else if (o == 'e')
			config.exact = true;
		else if (o == 'w')
			stage_wanted = optarg;
		else
			return EXIT_USAGE;
	}
	if (optind < argc)
		config.command = argv + optind;
	s = live_open(&config, &e);
	if (!s)
		return fail(&e);
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("attached\n");
	if (sleepy) {
		struct pollfd p = { .fd = 0, .events = POLLIN };

		poll(&p, 1, -1);
	}
	while (!sleepy) {
		struct pollfd p = { .fd = 0, .events = POLLIN };

		r = source_poll(s, -1, config.command ? -1 : 0, take, &c, &e);
		if (r <= 0 || (!config.command && poll(&p, 1, 0) > 0))
			break;
	}
	if (!r)
		printf("end\n");
	if (r >= 0)
		r = source_stop(s, take, &c, &e);
	if (live_wakeups(s, &wakeups))
		wakeups = UINT64_MAX;
	print(&c, live_command_status(s), wakeups);
	source_free(s);
	map_free(&c.next);
	map_free(&c.defined);
	map_free(&c.per_pid);
	map_free(&c.parent);
	return r < 0 ? fail(&e) : 0;
}
