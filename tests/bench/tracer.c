/* SPDX-License-Identifier: BSD-2-Clause */
/* What the tracer itself costs, and how fast recordings are read. */
#include "bench.h"

#include "rec/chunk.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void figure(const struct bench *b, const char *key, const char *text, double value,
		   const char *unit)
{
	fprintf(b->text, "  %-48s %12.2f %s\n", text, value, unit);
	json_object(b->json);
	json_key_string(b->json, "key", key);
	json_key_string(b->json, "text", text);
	json_key_string(b->json, "unit", unit);
	json_key(b->json, "value");
	json_decimal(b->json, (u64)(value * 1000 + 0.5), 3);
	json_end_object(b->json);
	bench_note(key, value);
}

/* A number, with separators, in front of `words` on the line of a log. */
static double number_before(const struct bench *b, const char *log, const char *words)
{
	char path[256], line[4096];
	double value = 0;
	FILE *f;

	path_in(b, path, log);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f)) {
		char *p = strstr(line, words);

		while (p && p > line && !isdigit((unsigned char)p[-1]))
			p--;
		while (p && p > line && (isdigit((unsigned char)p[-1]) || strchr(",.", p[-1])))
			p--;
		if (!p)
			continue;
		for (value = 0; (isdigit((unsigned char)*p) || *p == ','); p++)
			if (*p != ',')
				value = value * 10 + (*p - '0');
		if (*p == '.')
			value += strtod(p, NULL);
	}
	if (f)
		fclose(f);
	return value;
}

/* CPU time of the tracer a span, while the target makes 2 M of them a second. */
static double live_cost(const struct bench *b, const char *peer, u64 *spans, u64 *lost)
{
	const struct peer *p = peer_find(peer);
	struct proc target = start_target(b, "sdk", 2);
	struct proc tracer = peer_attach(b, p, &target);
	char file[256];
	u64 from, used, made;

	nap_ms(300); /* attaching is over */
	from = cpu_ns_of(tracer.pid);
	made = ask(&target, "pace 2000000 %u", b->quick ? 300 : 5000);
	nap_ms(700); /* what it has got is read, and shown */
	used = cpu_ns_of(tracer.pid) - from;
	peer_detach(b, p, &target, &tracer);
	stop(&target);
	path_in(b, file, "bench.vmspan");
	*spans = made;
	*lost = !strcmp(p->args[0], "record") ? losses_of(b, file)
					      : (u64)number_before(b, "top.log", " lost because");
	return (double)used / (double)made;
}

static void replay(const struct bench *b, u64 spans)
{
	char file[256], out[256];
	char *report[] = { (char *)b->vmspan, "report", file, NULL };
	char *export[] = {
		(char *)b->vmspan, "export", "-q", "-f", "chrome", "-o", out, file, NULL
	};
	struct usage u;
	struct stat st;

	path_in(b, file, "bench.vmspan");
	path_in(b, out, "bench.json.out");
	if (!stat(file, &st))
		figure(b, "bytes", "size of the recording of this loop, a span",
		       (double)st.st_size / (double)spans, "bytes");
	u = run_to_end(report, NULL);
	figure(b, "replay", "replay into a report", (double)spans * 1e3 / (double)u.cpu_ns,
	       "M spans/s");
	figure(b, "replay_rss", "memory of report", (double)u.rss_bytes / 1e6, "MB");
	u = run_to_end(export, NULL);
	if (!u.status && !stat(out, &st))
		figure(b, "chrome", "export -f chrome", (double)st.st_size * 1e3 / (double)u.cpu_ns,
		       "MB/s");
	figure(b, "chrome_rss", "memory of export -f chrome", (double)u.rss_bytes / 1e6, "MB");
	unlink(out);
}

/* Bytes of a recording as it is, and before what is deflated in it was. */
static u64 file_bytes(const char *path, u64 *before)
{
	u8 head[CHUNK_HEAD];
	struct chunk_head h;
	struct file_head fh;
	u8 first[FILE_HEAD];
	FILE *f = fopen(path, "r");
	u64 bytes = 0;

	*before = 0;
	if (!f)
		return 0;
	if (fread(first, sizeof(first), 1, f) == 1 &&
	    file_head_get(first, sizeof(first), &fh) == FILE_HEAD_GOOD)
		while (fread(head, sizeof(head), 1, f) == 1 && chunk_head_get(head, fh.id, &h)) {
			*before += h.raw - h.stored;
			fseek(f, h.stored, SEEK_CUR);
		}
	if (!fseek(f, 0, SEEK_END))
		bytes = (u64)ftell(f);
	fclose(f);
	*before += bytes;
	return bytes;
}

/* The demo host: a few spans an event, whose times nobody can predict. */
static void demo_figures(const struct bench *b, const char *file)
{
	double spans = number_before(b, "demo.log", " spans");
	u64 before, after = file_bytes(file, &before);

	figure(b, "demo_bytes", "recording of the demo host, a span, before deflate",
	       (double)before / spans, "bytes");
	figure(b, "demo_after", "the same as it is in the file", (double)after / spans, "bytes");
}

static void demo_bytes(const struct bench *b)
{
	char file[256], log[256], host[300];
	char *argv[] = { (char *)b->vmspan, "record", "-o",       file,        "--", host,
			 "--turns",         "3000",   "--expect", "/dev/null", NULL };

	path_in(b, file, "demo.vmspan");
	snprintf(host, sizeof(host), "%s/../demohost", b->dir);
	if (b->quick)
		argv[7] = "200";
	path_in(b, log, "demo.log");
	if (run_to_end(argv, log).status)
		fprintf(stderr, "bench: the demo host could not be recorded\n");
	else
		demo_figures(b, file);
	unlink(file);
}

static double attach_ms(const struct bench *b)
{
	struct proc target = start_target(b, "sdk", 2), tracer;
	char pid[16], file[256],
		*argv[] = { (char *)b->vmspan, "record", "-o", file, "-p", pid, NULL };
	u64 from, at;

	path_in(b, file, "bench.vmspan");
	snprintf(pid, sizeof(pid), "%d", (int)target.pid);
	from = now_ns();
	tracer = start_tracer(b, argv, "attach.log");
	at = ask(&target, "first");
	stop(&tracer);
	stop(&target);
	return (double)(at - from) / 1e6;
}

/* A target that does nothing: it waits for a line. */
static void idle(const struct bench *b)
{
	const struct peer *p = peer_find("record");
	struct proc target = start_target(b, "sdk", 2);
	struct proc tracer = peer_attach(b, p, &target);
	unsigned int ms = b->quick ? 500 : 5000;
	u64 cpu, switches, own, runs;
	bool counted = bpf_stats(true);

	nap_ms(1500);
	runs = probe_runs_of(tracer.pid);
	cpu = cpu_ns_of(tracer.pid);
	switches = switches_of(tracer.pid);
	own = cpu_ns_of(target.pid);
	nap_ms(ms);
	cpu = cpu_ns_of(tracer.pid) - cpu;
	switches = switches_of(tracer.pid) - switches;
	own = cpu_ns_of(target.pid) - own;
	runs = probe_runs_of(tracer.pid) - runs;
	bpf_stats(counted);
	figure(b, "idle_wakeups", "idle target: wake-ups of the tracer",
	       (double)switches * 1000 / ms, "/s");
	figure(b, "idle_cpu", "idle target: CPU time of the tracer", (double)cpu / 1000 / ms * 1000,
	       "us/s");
	figure(b, "idle_runs", "idle target: BPF programs run at its probes",
	       (double)runs * 1000 / ms, "/s");
	figure(b, "idle_target", "idle target: its own CPU time", (double)own / 1000 / ms * 1000,
	       "us/s");
	peer_detach(b, p, &target, &tracer);
	stop(&target);
}

void bench_tracer(const struct bench *b)
{
	u64 spans, lost, value[9], i, n = b->quick ? 1 : 9;
	double ns;

	fprintf(stderr, "bench: the tracer\n");
	fprintf(b->text, "\nthe tracer, at 2 M spans a second\n");
	json_key_array(b->json, "tracer");
	ns = live_cost(b, "top", &spans, &lost);
	figure(b, "live", "CPU time of top, a span", ns, "ns");
	figure(b, "top_lost", "records lost by top", (double)lost, "records");
	ns = live_cost(b, "record", &spans, &lost);
	figure(b, "recording", "CPU time of record, a span", ns, "ns");
	figure(b, "lost", "records lost by record", (double)lost, "records");
	replay(b, spans);
	for (i = 0; i < n; i++)
		value[i] = (u64)(attach_ms(b) * 1000);
	figure(b, "attach", "from the start of record to the first event measured",
	       (double)spread_of(value, n).median / 1000, "ms");
	idle(b);
	demo_bytes(b);
	json_end_array(b->json);
}
