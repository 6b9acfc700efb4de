/* SPDX-License-Identifier: BSD-2-Clause */
/* Everything that is measured on the loop, and how each is attached. */
#include "bench.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The loop with two tracepoints, into LTTng's buffers in shared memory. Its
 * daemon is the bench's own, with a home of its own. */
static struct proc lttng_attach(const struct bench *b, struct proc *target)
{
	char home[256], output[280],
		*daemon[] = { (char *)"lttng-sessiond", (char *)"--no-kernel", (char *)"--quiet",
			      NULL };
	struct proc p;
	char *commands[][12] = {
		{ "lttng", "--no-sessiond", "create", "bench", output, NULL },
		{ "lttng", "--no-sessiond", "enable-channel", "-u", "bench", "--subbuf-size=8M",
		  "--num-subbuf=4", NULL },
		{ "lttng", "--no-sessiond", "enable-event", "-u", "-c", "bench", "bench:*", NULL },
		{ "lttng", "--no-sessiond", "start", NULL },
	};
	unsigned int i, tries;

	(void)target;
	path_in(b, home, "lttng");
	snprintf(output, sizeof(output), "--output=%s/out", home);
	p = start_tracer(b, daemon, "lttng-sessiond.log");
	for (tries = 0; tries < 200; tries++) {
		if (!run_to_end(commands[0], NULL).status)
			break;
		nap_ms(50);
	}
	for (i = 1; i < ARRAY_SIZE(commands); i++)
		if (run_to_end(commands[i], NULL).status)
			fprintf(stderr, "bench: lttng %s failed\n", commands[i][2]);
	return p;
}

static bool says(const char *path, const char *word)
{
	char text[2000] = "";
	FILE *f = fopen(path, "r");

	if (f) {
		text[fread(text, 1, sizeof(text) - 1, f)] = 0;
		fclose(f);
	}
	return strstr(text, word);
}

static void lttng_detach(const struct bench *b, struct proc *tracer)
{
	char *stop_it[] = { "lttng", "--no-sessiond", "stop", NULL };
	char *destroy[] = { "lttng", "--no-sessiond", "destroy", "bench", NULL };
	char output[256], *clean[] = { "rm", "-rf", output, NULL };

	/* It says what it had to discard: that would be cheaper than to record. */
	path_in(b, output, "lttng-stop.log");
	run_to_end(stop_it, output);
	if (says(output, "discarded"))
		fprintf(stderr,
			"bench: LTTng-UST has discarded events: its buffers are too small\n");
	run_to_end(destroy, NULL);
	stop(tracer);
	path_in(b, output, "lttng/out");
	run_to_end(clean, NULL);
}

/* What one writes to time the same pairs with bpftrace. */
static struct proc bpftrace_attach(const struct bench *b, struct proc *target)
{
	char script[1024], path[256], pid[16];
	char *argv[] = { "bpftrace", "-q", "-p", pid, "-e", script, NULL };

	snprintf(path, sizeof(path), "%s/target-probes", b->dir);
	snprintf(script, sizeof(script),
		 "usdt:%s:vmspan:enter { @begin[tid] = nsecs; } "
		 "usdt:%s:vmspan:leave /@begin[tid]/ "
		 "{ @ns[arg0] = sum(nsecs - @begin[tid]); delete(@begin[tid]); }",
		 path, path);
	snprintf(pid, sizeof(pid), "%d", (int)target->pid);
	return start_tracer(b, argv, "bpftrace.log");
}

static void plain_detach(const struct bench *b, struct proc *tracer)
{
	(void)b;
	stop(tracer);
}

/* %: the recording. A window of 100,000 pairs is 3.2 MB of records: it fits
 * the default ring however late the reader comes. */
const struct peer peers[] = {
	{ "none", "the loop alone", "sdk", "none", { NULL }, 100000, NULL, NULL, NULL },
	{ "rdtsc", "two rdtsc", "sdk", "rdtsc", { NULL }, 100000, NULL, NULL, NULL },
	{ "off", "vmspan SDK, no tracer", "sdk", "mark", { NULL }, 100000, NULL, NULL, NULL },
	{ "record",
	  "vmspan record",
	  "sdk",
	  "mark",
	  { "record", "-o", "%" },
	  100000,
	  NULL,
	  NULL,
	  NULL },
	{ "record-v1",
	  "vmspan record, version 1 of the SDK",
	  "v1",
	  "mark",
	  { "record", "-o", "%" },
	  100000,
	  NULL,
	  NULL,
	  NULL },
	{ "top",
	  "vmspan top",
	  "sdk",
	  "mark",
	  { "top", "--batch", "-d", "0.5" },
	  100000,
	  NULL,
	  NULL,
	  NULL },
	{ "exact",
	  "vmspan record --exact",
	  "sdk",
	  "mark",
	  { "record", "--exact", "-o", "%" },
	  100000,
	  NULL,
	  NULL,
	  NULL },
	{ "direct",
	  "vmspan record, a trap a mark",
	  "probes",
	  "mark",
	  { "record", "--method", "direct", "-o", "%" },
	  20000,
	  NULL,
	  NULL,
	  NULL },
	{ "lttng",
	  "LTTng-UST, two tracepoints",
	  "lttng",
	  "mark",
	  { NULL },
	  100000,
	  "lttng-sessiond",
	  lttng_attach,
	  lttng_detach },
	{ "bpftrace",
	  "bpftrace, two probes",
	  "probes",
	  "mark",
	  { NULL },
	  20000,
	  "bpftrace",
	  bpftrace_attach,
	  plain_detach },
	{ .key = NULL },
};

const struct peer *peer_find(const char *key)
{
	const struct peer *p;

	for (p = peers; p->key; p++)
		if (!strcmp(p->key, key))
			return p;
	return NULL;
}

void path_in(const struct bench *b, char dst[256], const char *name)
{
	snprintf(dst, 256, "%s/%s", b->dir, name);
}

struct proc peer_attach(const struct bench *b, const struct peer *p, struct proc *target)
{
	char *argv[16], file[256], pid[16], log[64];
	struct proc tracer = { .in = -1 };
	unsigned int n = 0, i;

	if (p->attach) {
		tracer = p->attach(b, target);
	} else if (p->args[0]) {
		snprintf(pid, sizeof(pid), "%d", (int)target->pid);
		snprintf(log, sizeof(log), "%s.log", p->key);
		path_in(b, file, "bench.vmspan");
		argv[n++] = (char *)b->vmspan;
		for (i = 0; p->args[i]; i++)
			argv[n++] = *p->args[i] == '%' ? file : (char *)p->args[i];
		argv[n++] = "-p";
		argv[n++] = pid;
		argv[n] = NULL;
		tracer = start_tracer(b, argv, log);
	} else {
		return tracer;
	}
	if (!wait_on(target, &tracer, true)) {
		fprintf(stderr, "bench: %s did not attach; its words are in %s/%s.log\n", p->name,
			b->dir, p->key);
		exit(1);
	}
	return tracer;
}

void peer_detach(const struct bench *b, const struct peer *p, struct proc *target,
		 struct proc *tracer)
{
	if (!tracer->pid)
		return;
	if (p->detach)
		p->detach(b, tracer);
	else
		stop(tracer);
	if (!wait_on(target, NULL, false)) {
		fprintf(stderr, "bench: %s is gone, but the target still pays for it\n", p->name);
		exit(1);
	}
}

/* Until the tracer has read what it has got: it no longer works. */
static void drained(const struct proc *tracer)
{
	u64 before = 0, after, until = now_ns() + 1000000000ull;

	if (!tracer || !tracer->pid)
		return;
	do {
		nap_ms(15);
		after = before;
		before = cpu_ns_of(tracer->pid);
	} while (before - after > 1000000 && now_ns() < until);
}

u64 windows(const struct bench *b, struct proc *target, const struct proc *tracer, const char *kind,
	    struct shape s)
{
	u64 value[11], ps;
	unsigned int n = b->quick ? 3 : 11, i;

	/* The first two fault pages in. */
	for (i = 0; i < n + 2; i++) {
		drained(tracer);
		ps = ask(target, "loop %s %llu %llu %u %u", kind, (unsigned long long)s.pairs,
			 (unsigned long long)s.event, s.depth, s.threads);
		if (i >= 2)
			value[i - 2] = ps;
	}
	return spread_of(value, n).median;
}

u64 losses_of(const struct bench *b, const char *file)
{
	char out[256], text[4096], *p;
	char *argv[] = { (char *)b->vmspan, "report", "--json", "--top", "1", (char *)file, NULL };
	size_t n;
	u64 sum = 0;
	FILE *f;

	path_in(b, out, "report.json");
	if (run_to_end(argv, out).status)
		return UINT64_MAX;
	f = fopen(out, "r");
	if (!f)
		return UINT64_MAX;
	if (fseek(f, -(long)sizeof(text) + 1, SEEK_END))
		rewind(f);
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = 0;
	fclose(f);
	p = strstr(text, "\"losses\":{");
	if (!p)
		return UINT64_MAX;
	for (p = strchr(p, '{'); *p && *p != '}'; p++)
		if (*p == ':')
			sum += strtoull(p + 1, NULL, 10);
	return sum;
}
