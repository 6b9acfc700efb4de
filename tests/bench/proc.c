/* SPDX-License-Identifier: BSD-2-Clause */
/* Children of the bench: targets that answer, tracers that run beside them. */
#include "bench.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void die(const char *what)
{
	fprintf(stderr, "bench: %s: %s\n", what, strerror(errno));
	exit(1);
}

u64 now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (u64)ts.tv_sec * 1000000000u + (u64)ts.tv_nsec;
}

void nap_ms(unsigned int ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&ts, NULL);
}

/* The last CPU is the target's, the others are the tracers'. */
static void settle_on(bool target)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);
	cpu_set_t set;
	int i;

	if (n < 2)
		return;
	CPU_ZERO(&set);
	for (i = 0; i < n; i++)
		if ((i == n - 1) == target)
			CPU_SET(i, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

struct proc start_target(const struct bench *b, const char *variant, unsigned int groups)
{
	char path[256], count[16];
	struct proc p = { 0 };
	int in[2], out[2];

	snprintf(path, sizeof(path), "%s/target-%s", b->dir, variant);
	snprintf(count, sizeof(count), "%u", groups);
	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
		die("pipe");
	p.pid = fork();
	if (p.pid < 0)
		die("fork");
	if (!p.pid) {
		settle_on(true);
		dup2(in[0], 0);
		dup2(out[1], 1);
		execl(path, path, count, (char *)NULL);
		die(path);
	}
	close(in[0]);
	close(out[1]);
	p.in = in[1];
	p.out = fdopen(out[0], "r");
	if (!p.out)
		die("fdopen");
	/* Its answer says that it is that program now, and has its groups. */
	ask(&p, "on");
	return p;
}

static void child_output(const char *path)
{
	int fd = open(path ? path : "/dev/null", O_WRONLY | O_CREAT | O_TRUNC, 0600);
	int null = open("/dev/null", O_RDONLY);

	if (fd < 0 || null < 0)
		die(path ? path : "/dev/null");
	dup2(null, 0);
	dup2(fd, 1);
	dup2(fd, 2);
}

struct proc start_tracer(const struct bench *b, char *const argv[], const char *log)
{
	struct proc p = { .in = -1 };
	char path[256];

	path_in(b, path, log);
	p.pid = fork();
	if (p.pid < 0)
		die("fork");
	if (!p.pid) {
		settle_on(false);
		child_output(path);
		execvp(argv[0], argv);
		die(argv[0]);
	}
	return p;
}

struct usage run_to_end(char *const argv[], const char *out)
{
	struct usage u = { 0 };
	struct rusage ru;
	u64 from = now_ns();
	pid_t pid = fork();

	if (pid < 0)
		die("fork");
	if (!pid) {
		child_output(out);
		execvp(argv[0], argv);
		_exit(127);
	}
	while (wait4(pid, &u.status, 0, &ru) < 0 && errno == EINTR)
		;
	u.wall_ns = now_ns() - from;
	u.cpu_ns = ((u64)ru.ru_utime.tv_sec + (u64)ru.ru_stime.tv_sec) * 1000000000u +
		   ((u64)ru.ru_utime.tv_usec + (u64)ru.ru_stime.tv_usec) * 1000;
	u.rss_bytes = (u64)ru.ru_maxrss * 1024;
	return u;
}

u64 ask(struct proc *p, const char *fmt, ...)
{
	char line[128];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(line, sizeof(line) - 1, fmt, ap);
	va_end(ap);
	line[n++] = '\n';
	if (write(p->in, line, (size_t)n) != n || !fgets(line, sizeof(line), p->out)) {
		errno = EPIPE;
		die("the target is gone");
	}
	return strtoull(line, NULL, 10);
}

void stop(struct proc *p)
{
	int status;

	if (!p->pid)
		return;
	if (p->out) {
		close(p->in);
		fclose(p->out);
	} else {
		kill(p->pid, SIGINT);
	}
	while (waitpid(p->pid, &status, 0) < 0 && errno == EINTR)
		;
	*p = (struct proc){ .in = -1 };
}

bool wait_on(struct proc *target, struct proc *tracer, bool on)
{
	u64 until = now_ns() + 20000000000ull;

	while ((ask(target, "on") != 0) != on) {
		if (now_ns() > until ||
		    (tracer && tracer->pid && waitpid(tracer->pid, NULL, WNOHANG) > 0)) {
			if (tracer)
				tracer->pid = 0;
			return false;
		}
		nap_ms(5);
	}
	return true;
}

u64 cpu_ns_of(pid_t pid)
{
	char path[64];
	unsigned long long sum = 0, one;
	struct dirent *d;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	while (dir && (d = readdir(dir))) {
		char file[384];
		FILE *f;

		/* ".." has one too, of the first thread. */
		if (*d->d_name == '.')
			continue;
		snprintf(file, sizeof(file), "%s/%s/schedstat", path, d->d_name);
		f = fopen(file, "r");
		if (f && fscanf(f, "%llu", &one) == 1)
			sum += one;
		if (f)
			fclose(f);
	}
	if (dir)
		closedir(dir);
	return sum;
}

u64 switches_of(pid_t pid)
{
	char line[128], path[64];
	unsigned long long v = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "voluntary_ctxt_switches: %llu", &v) == 1)
			break;
	if (f)
		fclose(f);
	return v;
}

bool bpf_stats(bool on)
{
	FILE *f = fopen("/proc/sys/kernel/bpf_stats_enabled", "r+");
	int was = f ? fgetc(f) : '0';

	if (f) {
		rewind(f);
		fputc(on ? '1' : '0', f);
		fclose(f);
	}
	return was == '1';
}

u64 probe_runs_of(pid_t pid)
{
	char path[64];
	struct dirent *d;
	u64 sum = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo", (int)pid);
	dir = opendir(path);
	while (dir && (d = readdir(dir))) {
		unsigned long long v, type = 0, runs = 0;
		char file[384], line[128];
		FILE *f;

		snprintf(file, sizeof(file), "%s/%s", path, d->d_name);
		f = fopen(file, "r");
		while (f && fgets(line, sizeof(line), f)) {
			if (sscanf(line, "prog_type: %llu", &v) == 1)
				type = v;
			if (sscanf(line, "run_cnt: %llu", &v) == 1)
				runs = v;
		}
		if (f)
			fclose(f);
		if (type == BPF_PROG_TYPE_KPROBE)
			sum += runs;
	}
	if (dir)
		closedir(dir);
	return sum;
}

void first_line(char *dst, size_t cap, const char *command)
{
	FILE *f = popen(command, "r");

	*dst = 0;
	if (f && fgets(dst, (int)cap, f))
		dst[strcspn(dst, "\n")] = 0;
	if (f)
		pclose(f);
}

bool have(const char *program)
{
	const char *p = getenv("PATH");
	char path[512];

	for (; p && *p; p += *p == ':') {
		size_t n = strcspn(p, ":");

		snprintf(path, sizeof(path), "%.*s/%s", (int)n, p, program);
		if (!access(path, X_OK))
			return true;
		p += n;
	}
	return false;
}
