/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The cost of a mark, beside that of the peers, on the same loop in one run.
 *
 *   bench [--quick] [--rounds N] [--only pairs|series|tracer] DIR VMSPAN
 *
 * DIR holds the targets; bench.json is written there, tables are printed.
 * Tracers come and go in turn (alternations), so that what changes on the
 * machine in the meantime changes for all. Needs root.
 */
#include "bench.h"
#include "quiet.h"

#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

static void version(const struct bench *b, const char *key, const char *command)
{
	char line[200];

	first_line(line, sizeof(line), command);
	if (!*line)
		return;
	fprintf(b->text, "  %-9s %s\n", key, line);
	json_key_string(b->json, key, line);
}

static void machine(const struct bench *b)
{
	char cpus[16], command[300];
	struct utsname u;

	uname(&u);
	snprintf(cpus, sizeof(cpus), "%ld", sysconf(_SC_NPROCESSORS_ONLN));
	fprintf(b->text, "  %-9s %s\n  %-9s %s\n", "kernel", u.release, "cpus", cpus);
	json_key_object(b->json, "machine");
	json_key_string(b->json, "kernel", u.release);
	json_key_string(b->json, "cpus", cpus);
	version(b, "cpu", "sed -n 's/^model name[^:]*: //p' /proc/cpuinfo");
	version(b, "date", "date -u +%F");
	snprintf(command, sizeof(command), "%s --version", b->vmspan);
	version(b, "vmspan", command);
	version(b, "compiler", "${CC:-gcc} --version 2>/dev/null");
	version(b, "lttng", "lttng --version 2>/dev/null");
	version(b, "bpftrace", "bpftrace --version 2>/dev/null");
	json_end_object(b->json);
}

static int usage(void)
{
	fprintf(stderr,
		"usage: bench [--quick] [--rounds N] [--only pairs|series|tracer] DIR VMSPAN\n");
	return 2;
}

static bool wanted(const char *only, const char *part)
{
	return !only || !strcmp(only, part);
}

struct part {
	const char *name;
	void (*run)(const struct bench *b);
	bool done;
	struct quiet quiet;
};

static struct quiet_reading reading(void)
{
	struct quiet_reading r;
	int error = quiet_read("/proc", getpid(), &r);

	if (error) {
		fprintf(stderr, "bench: cannot read /proc: %s\n", strerror(-error));
		exit(1);
	}
	return r;
}

static struct quiet since(const struct quiet_reading *from)
{
	struct quiet_reading now = reading();

	return quiet_between(from, &now, NSEC_PER_SEC / (u64)sysconf(_SC_CLK_TCK));
}

static void say(const struct bench *b, const char *name, const struct quiet *q)
{
	if (q->known)
		fprintf(b->text, "  %-7s %8.1f %% stolen, %5.1f %% of the CPUs used by others%s\n",
			name, q->stolen_ppm / 1e4, q->others_ppm / 1e4, q->is ? "" : ": not quiet");
	else
		fprintf(b->text, "  %-7s not known: not quiet\n", name);
	quiet_json(b->json, name, q);
}

/* How quiet it was, by part and in all. */
static void say_all(const struct bench *b, const struct part *parts, size_t n,
		    const struct quiet *whole)
{
	bool quiet = whole->is;
	size_t i;

	fprintf(b->text, "\nthe machine meanwhile\n");
	json_key_object(b->json, "quiet");
	say(b, "whole", whole);
	for (i = 0; i < n; i++) {
		if (!parts[i].done)
			continue;
		say(b, parts[i].name, &parts[i].quiet);
		quiet &= parts[i].quiet.is;
	}
	json_end_object(b->json);
	if (!quiet)
		fprintf(b->text,
			"This run was not quiet: less than %d %% stolen and %d %% used by others "
			"is.\n",
			QUIET_STOLEN_PPM / 10000, QUIET_OTHERS_PPM / 10000);
}

int main(int argc, char **argv)
{
	struct part parts[] = {
		{ .name = "pairs", .run = bench_pairs },
		{ .name = "series", .run = bench_series },
		{ .name = "tracer", .run = bench_tracer },
	};
	struct bench b = { .rounds = 9, .text = stdout };
	struct quiet_reading begin, from;
	char path[256], *only = NULL;
	struct quiet whole;
	struct json json;
	struct out out;
	size_t k;
	FILE *f;
	int i;

	for (i = 1; i < argc && *argv[i] == '-'; i++) {
		if (!strcmp(argv[i], "--quick"))
			b.quick = true;
		else if (!strcmp(argv[i], "--rounds") && i + 1 < argc)
			b.rounds = (unsigned int)atoi(argv[++i]);
		else if (!strcmp(argv[i], "--only") && i + 1 < argc)
			only = argv[++i];
		else
			return usage();
	}
	if (argc - i != 2 || !b.rounds || b.rounds > ROUNDS_MAX)
		return usage();
	if (b.quick)
		b.rounds = 2;
	b.dir = argv[i];
	b.vmspan = argv[i + 1];
	if (geteuid()) {
		fprintf(stderr, "bench: needs root: it attaches tracers\n");
		return 3;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	/* LTTng's daemons leave their parent; what they use is ours all the same. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	begin = reading();
	path_in(&b, path, "lttng");
	mkdir(path, 0700);
	setenv("LTTNG_HOME", path, 1);
	path_in(&b, path, "bench.json");
	f = fopen(path, "w");
	if (!f) {
		perror(path);
		return 1;
	}
	out_open_fd(&out, fileno(f));
	json_open(&json, &out);
	b.json = &json;
	json_object(&json);
	json_key_u64(&json, "schema", 1);
	json_key_u64(&json, "alternations", b.rounds);
	machine(&b);
	for (k = 0; k < ARRAY_SIZE(parts); k++) {
		if (!wanted(only, parts[k].name))
			continue;
		from = reading();
		parts[k].run(&b);
		parts[k].quiet = since(&from);
		parts[k].done = true;
	}
	whole = since(&begin);
	bench_budgets(&b);
	say_all(&b, parts, ARRAY_SIZE(parts), &whole);
	json_end_object(&json);
	json_line(&json);
	i = out_close(&out);
	fclose(f);
	return i ? 1 : 0;
}
