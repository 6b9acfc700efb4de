/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/calls_price.h"

#include "sink/words.h"
#include "source/live_trial.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

/* From here on it is asked for. */
#define TIMES_FREE 2.0

static double times(const struct call_price *p)
{
	return (double)p->traced_ns / (double)p->bare_ns;
}

static void say(const struct call_price *p)
{
	char rate[COUNT_TEXT_MAX], with[TEXT_NS_MAX], bare[TEXT_NS_MAX];

	if (!p->bare_ns) {
		fprintf(stderr, "exact calls: too few calls in the trial second to tell what they "
				"cost\n");
		return;
	}
	count_text(rate, p->calls * NSEC_PER_SEC / p->wall_ns);
	time_text(with, p->traced_ns);
	time_text(bare, p->bare_ns);
	fprintf(stderr,
		"exact calls: %s %.*fx a call here: %s of CPU time a call, %s%s without; %s calls "
		"a second in the trial\n",
		p->least ? "more than" : "about", times(p) < 10, times(p), with,
		p->least ? "less than " : "", bare, rate);
}

/* A signal does not end a read: both are waited for. */
static bool agreed(struct wake *w)
{
	struct pollfd p[] = { { .fd = STDIN_FILENO, .events = POLLIN },
			      { .fd = w->epoll, .events = POLLIN } };
	char answer[16];

	if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
		return false;
	fprintf(stderr, "go on? [y/N] ");
	while (poll(p, ARRAY_SIZE(p), -1) >= 0 || errno == EINTR) {
		if (wake_take(w) & WAKE_STOP)
			break;
		if (!p[0].revents)
			continue;
		if (!fgets(answer, sizeof(answer), stdin))
			break;
		return answer[0] == 'y' || answer[0] == 'Y';
	}
	fputc('\n', stderr);
	return false;
}

static int refuse(struct err *e, const char *why)
{
	err_set_status(e, -ECANCELED, EXIT_REFUSED, "nothing is traced: %s", why);
	err_hint(e, "With --yes it is traced whatever it costs. Without --exact-calls it costs "
		    "next to nothing.");
	return -ECANCELED;
}

int calls_price(const struct options *o, const struct live_config *config, struct wake *w,
		struct err *e)
{
	struct call_price p;
	int rc = -EINTR;

	if (options_sweep(o)) {
		err_set_status(e, -EINVAL, EXIT_USAGE,
			       "--exact-calls wants processes that are there: -p PID");
		return -EINVAL;
	}
	if (config->command)
		return o->target.yes ? 0
				     : refuse(e, "what every call costs a program that has not "
						 "begun is not known");
	fprintf(stderr, "exact calls: trying what they cost, for some seconds\n");
	/* A terminal that changes its size interrupts, too. */
	while (rc == -EINTR) {
		rc = live_trial(config, w->epoll, &p, e);
		if (rc == -EINTR)
			*e = (struct err){ 0 };
		if (!e->code && wake_take(w) & WAKE_STOP)
			return refuse(e, "it was interrupted");
	}
	if (rc == -EPERM && o->target.yes) {
		fprintf(stderr, "exact calls: %s\n", e->what);
		*e = (struct err){ 0 };
		return 0;
	}
	if (rc)
		return rc;
	say(&p);
	if (o->target.yes || (p.bare_ns && times(&p) <= TIMES_FREE) || agreed(w))
		return 0;
	return refuse(e, p.bare_ns ? "it would be more than twice as slow"
				   : "what every call costs is not known");
}
