/* SPDX-License-Identifier: BSD-2-Clause */
#include "attach/steal.h"

#include "attach/clock.h"
#include "attach/kernel.h"
#include "attach/kernel_types.h"
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

/* A line of a CPU has 10 numbers of 20 digits at most. */
#define FILE_MOST (256u << 10)
/* Some centuries of as many CPUs as Linux can have; sums of them do not overflow. */
#define TICKS_MOST (1ull << 56)

enum column {
	USER,
	NICE,
	SYSTEM,
	IDLE,
	IOWAIT,
	IRQ,
	SOFTIRQ,
	STEAL,
	COLUMNS /* what follows, time in guests of ours, is in USER and NICE too */
};

/* A number up to a blank or the end; false: it is none, or too large. */
static bool number(const char **p, const char *end, u64 most, u64 *v)
{
	const char *at = *p;

	for (*v = 0; at < end && *at >= '0' && *at <= '9'; at++) {
		*v = *v * 10 + (u64)(*at - '0');
		if (*v > most)
			return false;
	}
	if (at == *p || (at < end && *at != ' '))
		return false;
	*p = at;
	return true;
}

/* How many of the columns are there, up to the first that is no number. */
static int columns(const char *p, const char *end, u64 v[COLUMNS])
{
	int n;

	for (n = 0; n < COLUMNS; n++) {
		while (p < end && *p == ' ')
			p++;
		if (!number(&p, end, TICKS_MOST, &v[n]))
			break;
	}
	return n;
}

static u64 used(const u64 v[COLUMNS])
{
	return v[USER] + v[NICE] + v[SYSTEM] + v[IRQ] + v[SOFTIRQ];
}

static void parse_cpu(const char *p, const char *end, struct steal_count *c)
{
	u64 v[COLUMNS], id;

	if (c->cpu_count == STEAL_CPUS || !number(&p, end, UINT32_MAX, &id) ||
	    columns(p, end, v) < COLUMNS)
		return;
	if (c->cpu_count && id <= c->cpus[c->cpu_count - 1].cpu)
		return;
	c->cpus[c->cpu_count++] =
		(struct steal_cpu){ .cpu = (u32)id, .used = used(v), .stolen = v[STEAL] };
}

int steal_parse(const char *text, size_t len, struct steal_count *c)
{
	const char *p = text, *end = text + len, *line;
	u64 v[COLUMNS];
	int n;

	c->used = c->stolen = c->cpu_count = 0;
	line = len ? memchr(p, '\n', len) : NULL;
	if (!line || line - p < 4 || memcmp(p, "cpu ", 4))
		return -EINVAL;
	n = columns(p + 4, line, v);
	if (n < COLUMNS)
		return n < STEAL ? -EINVAL : -ENODATA;
	c->used = used(v);
	c->stolen = v[STEAL];
	for (p = line + 1; p < end; p = line + 1) {
		line = memchr(p, '\n', (size_t)(end - p));
		if (!line || line - p < 4 || memcmp(p, "cpu", 3))
			break;
		parse_cpu(p + 3, line, c);
	}
	return 0;
}

int steal_read(const char *path, struct steal_count *c)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), r = fd < 0 ? -errno : 0;
	char *text = fd < 0 ? NULL : malloc(FILE_MOST);
	ssize_t n;

	c->used = c->stolen = c->cpu_count = 0;
	if (fd >= 0 && !text)
		r = -ENOMEM;
	if (!r) {
		n = file_read(fd, text, FILE_MOST, 0);
		r = n < 0 ? (int)n : steal_parse(text, (size_t)n, c);
	}
	if (fd >= 0)
		close(fd);
	free(text);
	return r;
}

int steal_between(const struct steal_count *from, const struct steal_count *to,
		  struct steal_count *d)
{
	u32 i, k = 0, n = 0, count = from->cpu_count;

	if (to->used < from->used || to->stolen < from->stolen)
		return -ERANGE;
	d->used = to->used - from->used;
	d->stolen = to->stolen - from->stolen;
	for (i = 0; i < to->cpu_count; i++) {
		const struct steal_cpu *b = &to->cpus[i];
		struct steal_cpu a;

		while (k < count && from->cpus[k].cpu < b->cpu)
			k++;
		if (k == count)
			break;
		a = from->cpus[k];
		if (a.cpu != b->cpu || a.used > b->used || a.stolen > b->stolen)
			continue;
		d->cpus[n++] = (struct steal_cpu){ .cpu = b->cpu,
						   .used = b->used - a.used,
						   .stolen = b->stolen - a.stolen };
	}
	d->cpu_count = n;
	return 0;
}

bool steal_matters(u64 used_ticks, u64 stolen)
{
	return stolen > 1 && stolen - 1 >= (used_ticks + stolen) / 100.0;
}

const struct steal_cpu *steal_worst(const struct steal_count *d)
{
	const struct steal_cpu *worst = NULL;
	double share, most = 0, rest_used = 0, rest_stolen = 0;
	u32 i, others = 0;

	for (i = 0; i < d->cpu_count; i++) {
		const struct steal_cpu *c = &d->cpus[i];

		if (!steal_matters(c->used, c->stolen))
			continue;
		share = (double)(c->stolen - 1) / (double)(c->used + c->stolen);
		if (share > most) {
			most = share;
			worst = c;
		}
	}
	for (i = 0; worst && i < d->cpu_count; i++) {
		const struct steal_cpu *c = &d->cpus[i];

		if (c == worst || !(c->used + c->stolen))
			continue;
		rest_used += (double)c->used;
		rest_stolen += (double)c->stolen;
		others++;
	}
	/* Each of the others may have an all but full tick more. */
	if (!others || most < 2 * (rest_stolen + others) / (rest_used + rest_stolen))
		return NULL;
	return worst;
}

/* ---- Who takes it, and does he say so? ---- */

#define CPUID_HYPERVISOR (1u << 31) /* leaf 1, ECX */
#define CPUID_KVM_STEAL (1u << 5) /* KVM's features, EAX */

/* KVM puts its leaves behind those of another hypervisor where it imitates one. */
static bool kvm_features(steal_cpuid cpuid, u32 *features)
{
	u32 base, r[4], words[3];

	for (base = 0x40000000; base < 0x40010000; base += 0x100) {
		cpuid(base, r);
		memcpy(words, &r[1], sizeof(words));
		if (memcmp(words, "KVMKVMKVM\0\0\0", sizeof(words)))
			continue;
		cpuid(base + 1, r);
		*features = r[0];
		return true;
	}
	return false;
}

static bool has_word(const char *line, const char *word)
{
	size_t n = strlen(word);
	const char *p = line;

	while ((p = strstr(p, word))) {
		if ((p == line || p[-1] == ' ') && (!p[n] || p[n] == ' ' || p[n] == '\n'))
			return true;
		p += n;
	}
	return false;
}

void steal_host(struct steal_host *h, steal_cpuid cpuid, const struct steal_kernel *k)
{
	u32 r[4], features = 0;

	*h = (struct steal_host){ 0 };
	/* Without the code nobody leaves it out, whoever tells. */
	if (k->accounts == STEAL_NO || has_word(k->command_line, "no-steal-acc"))
		h->clock_without = STEAL_NO;
	if (!cpuid)
		return;
	cpuid(1, r);
	h->is_virtual = r[2] & CPUID_HYPERVISOR ? STEAL_YES : STEAL_NO;
	if (h->is_virtual == STEAL_NO)
		return;
	if (!kvm_features(cpuid, &features))
		return;
	/* Of a kernel without that code it is not known whether it listens. */
	if (!(features & CPUID_KVM_STEAL))
		h->tells = STEAL_NO;
	else if (k->accounts == STEAL_YES)
		h->tells = STEAL_YES;
	if (h->tells == STEAL_NO)
		h->clock_without = STEAL_NO;
	else if (h->tells == STEAL_YES && !h->clock_without)
		h->clock_without = STEAL_YES;
}

#if defined(__x86_64__)
static void real_cpuid(u32 leaf, u32 r[4])
{
	__cpuid_count(leaf, 0, r[0], r[1], r[2], r[3]);
}
#endif

static enum steal_answer kernel_accounts(void)
{
	const struct kernel_types *types = kernel_types();

	if (types->run_queue_has_steal)
		return STEAL_YES;
	return types->has_run_queue ? STEAL_NO : STEAL_UNKNOWN;
}

void steal_look_begin(struct steal_look *l)
{
	char line[4096];
	struct steal_kernel k = { .accounts = kernel_accounts(), .command_line = line };
	long hz = sysconf(_SC_CLK_TCK);

	if (kernel_read_line("/proc/cmdline", line, sizeof(line)))
		line[0] = 0;
#if defined(__x86_64__)
	steal_host(&l->host, real_cpuid, &k);
#else
	steal_host(&l->host, NULL, &k);
#endif
	l->hz = hz > 0 ? (u64)hz : 100;
	l->window_error = steal_read("/proc/stat", &l->window);
	l->window_ns = clock_mono_ns();
}

void steal_look_end(struct steal_look *l, u64 least_ns)
{
	u64 end = l->window_ns + least_ns, now;

	while (!l->window_error && (now = clock_mono_ns()) < end) {
		struct timespec t = { .tv_sec = (time_t)((end - now) / NSEC_PER_SEC),
				      .tv_nsec = (long)((end - now) % NSEC_PER_SEC) };

		nanosleep(&t, NULL);
	}
	l->boot_error = steal_read("/proc/stat", &l->boot);
	l->window_ns = clock_mono_ns() - l->window_ns;
	l->boot_ns = clock_boot_ns();
	if (!l->window_error)
		l->window_error = l->boot_error;
	if (!l->window_error)
		l->window_error = steal_between(&l->window, &l->boot, &l->window);
}

u64 steal_ns(u64 ticks, u64 hz)
{
	u64 each = NSEC_PER_SEC / hz;

	return ticks > UINT64_MAX / each ? UINT64_MAX : ticks * each;
}
