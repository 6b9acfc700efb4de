/* SPDX-License-Identifier: BSD-2-Clause */
/* What is said of CPU time that a hypervisor takes. */
#include "attach/checks.h"

#include "attach/steal.h"
#include "base/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Adds to a text of size `cap`. */
__attribute__((format(printf, 3, 4))) static void add(char *to, size_t cap, const char *fmt, ...)
{
	size_t n = strlen(to);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(to + n, cap - n, fmt, ap);
	va_end(ap);
}

static void add_percent(char *to, size_t cap, u64 used, u64 stolen)
{
	double percent = 100.0 * (double)stolen / (double)(used + stolen);

	if (percent < 0.05)
		add(to, cap, "less than 0.1 %%");
	else
		add(to, cap, "%.*f %%", percent < 10, percent);
}

/* "12 % (CPU 1: 24 %)" */
static void add_share(char *to, size_t cap, const struct steal_count *d)
{
	const struct steal_cpu *worst = steal_worst(d);

	add_percent(to, cap, d->used, d->stolen);
	if (!worst)
		return;
	add(to, cap, " (CPU %u: ", worst->cpu);
	add_percent(to, cap, worst->used, worst->stolen);
	add(to, cap, ")");
}

static void add_window(char *to, size_t cap, const struct steal_look *l)
{
	const struct steal_count *d = &l->window;
	char window[TEXT_NS_MAX], wanted[TEXT_NS_MAX], stolen[TEXT_NS_MAX];

	if (l->window_error) {
		add(to, cap, "just now: not known%s",
		    l->window_error == -ERANGE ? ", the kernel's count went back" : "");
		return;
	}
	add(to, cap, "in the last %s programs wanted %s of CPU time, and the hypervisor took ",
	    text_ns(window, l->window_ns), text_ns(wanted, steal_ns(d->used + d->stolen, l->hz)));
	if (!d->stolen) {
		add(to, cap, "none of it");
		return;
	}
	add(to, cap, "%s, ", text_ns(stolen, steal_ns(d->stolen, l->hz)));
	add_share(to, cap, d);
}

static void put_nothing(struct check *c, const struct steal_look *l, const char *boot)
{
	static const char *const words[] = {
		[STEAL_UNKNOWN] = "but not every hypervisor tells, and this one may not",
		[STEAL_NO] = "but this hypervisor does not tell what it takes",
		[STEAL_YES] = "and this hypervisor tells what it takes",
	};

	if (l->host.is_virtual == STEAL_NO)
		add(c->detail, sizeof(c->detail), "none: this is no virtual machine");
	else
		add(c->detail, sizeof(c->detail), "none since the start %s ago, %s", boot,
		    l->host.is_virtual == STEAL_YES ? words[l->host.tells]
						    : "as far as a hypervisor, if there is one, "
						      "tells");
}

static void put_advice(struct check *c, enum steal_answer clock_without)
{
	static const char *const words[] = {
		[STEAL_UNKNOWN] =
			"Wall times contain it in every mode, and CPU times may. Where they "
			"do not, --exact marks events that lost over 0.1 ms + 1 %"
			" as incomplete.",
		[STEAL_NO] =
			"Wall times and CPU times contain it, and no mode can tell: the CPU "
			"clocks of this machine go on meanwhile. Go by shares over many events.",
		[STEAL_YES] = "Wall times contain it in every mode; go by the CPU times of events, "
			      "which do not. --exact marks events that lost over 0.1 ms + 1 %"
			      " as incomplete.",
	};

	snprintf(c->advice, sizeof(c->advice),
		 "%s It ends outside of this machine only: fewer neighbours on its host, CPUs of "
		 "its own, a CPU limit or credits that are not used up.",
		 words[clock_without]);
}

void check_steal(const struct steal_look *l, struct check *c)
{
	char boot[TEXT_NS_MAX];

	*c = (struct check){ .id = "stolen", .what = "stolen CPU time", .status = EXIT_FAILED };
	if (l->boot_error) {
		add(c->detail, sizeof(c->detail), "not known: %s",
		    l->boot_error == -ENODATA  ? "this kernel does not count it"
		    : l->boot_error == -EINVAL ? "/proc/stat is not as Linux has it"
					       : strerror(-l->boot_error));
		return;
	}
	text_ns(boot, l->boot_ns);
	if (!l->boot.stolen) {
		put_nothing(c, l, boot);
		return;
	}
	add_window(c->detail, sizeof(c->detail), l);
	add(c->detail, sizeof(c->detail), "; since the start %s ago ", boot);
	add_share(c->detail, sizeof(c->detail), &l->boot);
	if (!steal_matters(l->boot.used, l->boot.stolen) &&
	    (l->window_error || !steal_matters(l->window.used, l->window.stolen)))
		return;
	c->result = CHECK_WARN;
	put_advice(c, l->host.clock_without);
}
