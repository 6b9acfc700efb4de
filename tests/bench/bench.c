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

#include <stdlib.h>
#include <string.h>
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

int main(int argc, char **argv)
{
	struct bench b = { .rounds = 9, .text = stdout };
	char path[256], *only = NULL;
	struct json json;
	struct out out;
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
	if (wanted(only, "pairs"))
		bench_pairs(&b);
	if (wanted(only, "series"))
		bench_series(&b);
	if (wanted(only, "tracer"))
		bench_tracer(&b);
	bench_budgets(&b);
	json_end_object(&json);
	json_line(&json);
	i = out_close(&out);
	fclose(f);
	return i ? 1 : 0;
}
