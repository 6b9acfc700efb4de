/* SPDX-License-Identifier: BSD-2-Clause */
/* Serves the figures to a Prometheus. */
#include "cmd/http.h"
#include "cmd/session.h"
#include "cmd/watch_rules.h"
#include "sink/openmetrics.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define DEFAULT_ADDRESS "127.0.0.1:9464"

enum {
	TIMER_ALERTS,
	TIMER_HTTP
};

struct run {
	struct session session;
	struct metrics *metrics;
	struct http *http;
};

/* Text is what people and most others want. */
static const struct metrics_form *const forms[] = { &metrics_text, &metrics_plain, &metrics_proto };

static int write_page(void *ctx, u32 type, struct out *o)
{
	struct run *r = ctx;
	struct snapshot *s = snapshot_take(r->session.model);
	int rc = s ? metrics_page(r->metrics, s, forms[type], o) : -ENOMEM;

	snapshot_free(s);
	return rc;
}

static void arm(struct run *r)
{
	struct wake *w = &r->session.wake;
	u64 due = trace_due(r->session.trace), now = now_ns();

	wake_arm(w, TIMER_ALERTS, !due ? 0 : due > now ? due - now : 1, 0);
	wake_arm(w, TIMER_HTTP, http_timeout(r->http), 0);
}

static int serve(struct run *r, struct err *e)
{
	struct session *s = &r->session;
	bool ended = false;
	int rc = 0;

	while (!rc) {
		unsigned int bits;

		session_say_not_exact(s);
		if (ended)
			wake_wait(&s->wake);
		else
			rc = trace_poll(s->trace, -1, s->wake.epoll, e);
		bits = wake_take(&s->wake);
		if (rc < 0 || bits & WAKE_STOP)
			break;
		/* The targets are gone: their last figures stay to be fetched. */
		if (!ended && !rc) {
			ended = true;
			fprintf(stderr, "the targets have ended; still serving, until ^C\n");
		} else {
			rc = trace_advance(s->trace);
		}
		http_run(r->http);
		arm(r);
	}
	return rc;
}

static int count_alert(void *ctx, const struct alert *a)
{
	return metrics_alert(ctx, a->group, a->reasons, a->cause);
}

static const struct alert_observer counting = { .alert = count_alert };

/* As `watch` would tell them. */
static int count_alerts(struct run *r, struct err *e)
{
	struct listeners *l = alerts_listeners(trace_alerts(r->session.trace));
	u64 id;

	if (listen_add(l, NULL, &counting, r->metrics, &id))
		return err_set(e, -ENOMEM, "out of memory");
	return 0;
}

static int run(struct run *r, const struct options *o, struct err *e)
{
	const char *address = o->web.listen ? o->web.listen : DEFAULT_ADDRESS;
	struct http_page page = {
		.path = "/metrics",
		.types = { forms[0]->content_type, forms[1]->content_type, forms[2]->content_type },
		.write = write_page,
		.ctx = r,
	};
	struct alert_config config = { .threshold_ns = o->watch.threshold_ns,
				       .rules = o->watch.rules,
				       .rule_count = o->watch.rule_count };
	int rc;

	r->metrics = metrics_new(o->view.limit);
	if (!r->metrics)
		return err_set(e, -ENOMEM, "out of memory");
	/* The port first: an answer comes before anything is attached. */
	r->http = http_open(address, &page, e);
	if (!r->http)
		return e->code;
	r->session.alerts = &config;
	rc = session_live(&r->session, o, false, e);
	r->session.alerts = NULL;
	if (!rc)
		rc = count_alerts(r, e);
	if (!rc)
		rc = wake_on_fd(&r->session.wake, http_fd(r->http), e);
	if (rc)
		return rc;
	fprintf(stderr, "serving %s, until ^C\n", http_url(r->http));
	rc = serve(r, e);
	http_close(r->http);
	r->http = NULL;
	if (rc < 0 && !e->code)
		err_set(e, rc, "the trace has ended early: %s", strerror(-rc));
	return rc;
}

int cmd_metrics(int argc, char **argv)
{
	const struct command *c = command_find("export-metrics");
	struct run r = { 0 };
	struct options o;
	struct err e = { 0 };
	int status = options_parse(c, argc, argv, &o);

	if (status != OPTIONS_RUN)
		return status;
	if ((!o.target.count && !options_sweep(&o)) || o.rest_count)
		usage_error(&e, c,
			    o.rest_count ? "unexpected argument '%s'"
					 : "no process given: -p PID%s",
			    o.rest_count ? o.rest[0] : "");
	else if (!o.watch.rules_file || !rules_read(o.watch.rules_file, &o, &e))
		run(&r, &o, &e);
	http_close(r.http);
	session_close(&r.session);
	metrics_free(r.metrics);
	rules_free(&o);
	return e.code ? say_error(&e) : EXIT_DONE;
}
