/* SPDX-License-Identifier: BSD-2-Clause */
/* What the parts of the bench share. Times: ps a pair unless said otherwise. */
#ifndef BENCH_H
#define BENCH_H

#include "base/json.h"

#include <stdio.h>
#include <sys/types.h>

#define ROUNDS_MAX 99

struct bench {
	const char *dir; /* of its programs and files */
	const char *vmspan;
	unsigned int rounds;
	bool quick; /* to see that it works: figures mean nothing */
	struct json *json;
	FILE *text; /* the tables */
};

/* ---- proc.c: children ---- */

struct proc {
	pid_t pid; /* 0: none */
	int in; /* its standard input, or -1 */
	FILE *out; /* its standard output, or NULL */
};

struct usage {
	u64 cpu_ns, wall_ns, rss_bytes;
	int status;
};

u64 now_ns(void);
void nap_ms(unsigned int ms);
/* Starts argv with pipes for input and output; they are not there for a
 * tracer, whose output goes to `log`. On failure the bench ends. */
struct proc start_target(const struct bench *b, const char *variant, unsigned int groups);
struct proc start_tracer(const struct bench *b, char *const argv[], const char *log);
/* Runs argv to its end, its output into `out` (NULL: nowhere). */
struct usage run_to_end(char *const argv[], const char *out);
/* Sends a line to a target and reads the number it answers. */
u64 ask(struct proc *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Ends a tracer as ^C does, or a target by the end of its input. */
void stop(struct proc *p);
/* Until the target sees a tracer (or none). False: it did not in 20 s. */
bool wait_on(struct proc *target, struct proc *tracer, bool on);
/* CPU time of all threads so far; voluntary switches of the first. */
u64 cpu_ns_of(pid_t pid);
u64 switches_of(pid_t pid);
/* The kernel counts runs of BPF programs, or stops to; what it did before. */
bool bpf_stats(bool on);
/* Runs of a tracer's programs at probes, by the kernel's count. */
u64 probe_runs_of(pid_t pid);
/* The first line a command prints, without its end; "" when it cannot run. */
void first_line(char *dst, size_t cap, const char *command);
bool have(const char *program);

/* ---- stat.c ---- */

struct spread {
	u64 median, min, max;
};
struct spread spread_of(u64 *values, size_t n);

/* ---- peers.c: who measures the loop ---- */

struct peer {
	const char *key, *name;
	const char *variant; /* of the target: sdk, probes, lttng */
	const char *kind; /* of the loop */
	const char *args[10]; /* of vmspan; NULL first: none */
	u64 pairs; /* a window: fits every buffer on the way */
	const char *needs; /* program that must be there */
	/* Attaches to the target by other means than vmspan. */
	struct proc (*attach)(const struct bench *b, struct proc *target);
	void (*detach)(const struct bench *b, struct proc *tracer);
};

extern const struct peer peers[]; /* ends with key NULL */
const struct peer *peer_find(const char *key);
/* Attaches p to the target; .pid 0 where there is nothing to attach. */
struct proc peer_attach(const struct bench *b, const struct peer *p, struct proc *target);
void peer_detach(const struct bench *b, const struct peer *p, struct proc *target,
		 struct proc *tracer);

/* A loop to run in a target. */
struct shape {
	u64 pairs, event;
	unsigned int depth, threads;
};
/* The median of some windows. */
u64 windows(const struct bench *b, struct proc *target, const struct proc *tracer, const char *kind,
	    struct shape s);
/* Records lost, as a recording says. */
u64 losses_of(const struct bench *b, const char *file);
void path_in(const struct bench *b, char dst[256], const char *name);

/* ---- budget.c: what is wanted ---- */

/* Notes a figure that may have a budget, and prints those noted. */
void bench_note(const char *key, double value);
void bench_budgets(const struct bench *b);

/* ---- the parts ---- */

void bench_pairs(const struct bench *b); /* pairs.c */
void bench_series(const struct bench *b); /* series.c */
void bench_tracer(const struct bench *b); /* tracer.c */

#endif
