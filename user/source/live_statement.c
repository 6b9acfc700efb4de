/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Statements of PostgreSQL, transactions whose client sends nothing, and how
 * transactions ended -> spans and events that are measured whole.
 */
#include "source/live_vm_int.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Deeper than any span of a statement's: waits are told of before those are. */
#define WAIT_DEPTH 3

/* "postgres: 15/main: USER DATABASE [local] SELECT" -> DATABASE. */
static void database_of(const char *title, char *to, size_t cap)
{
	char words[6][64];
	int n, first;

	if (strncmp(title, "postgres: ", 10)) {
		snprintf(to, cap, "(unknown)");
		return;
	}
	n = sscanf(title + 10, "%63s %63s %63s %63s %63s %63s", words[0], words[1], words[2],
		   words[3], words[4], words[5]);
	first = n > 0 && words[0][strlen(words[0]) - 1] == ':';
	if (n >= first + 3 && !strcmp(words[first], "autovacuum"))
		snprintf(to, cap, "%s", words[first + 2]);
	else if (n >= first + 3 && strcmp(words[first], "parallel"))
		snprintf(to, cap, "%s", words[first + 1]);
	else
		snprintf(to, cap, "(background)");
}

/* The first word of a statement, in capitals; comments are stepped over. */
static void verb_of(const char *s, char *to, size_t cap)
{
	size_t n = 0;

	for (;;) {
		s += strspn(s, " \t\r\n(;");
		if (!strncmp(s, "--", 2)) {
			s += strcspn(s, "\n");
		} else if (!strncmp(s, "/*", 2)) {
			const char *e = strstr(s + 2, "*/");

			s = e ? e + 2 : s + strlen(s);
		} else {
			break;
		}
	}
	while (n + 1 < cap && isalpha((unsigned char)s[n])) {
		to[n] = (char)toupper((unsigned char)s[n]);
		n++;
	}
	to[n] = 0;
	if (!n)
		snprintf(to, cap, "(empty)");
}

static struct vmspan_block wait_of(struct live *l, u64 begin, u64 end, u32 iteration)
{
	return (struct vmspan_block){
		.h = { .type = VMSPAN_BLOCK,
		       .slots = sizeof(struct vmspan_block) / VMSPAN_SLOT,
		       .depth = WAIT_DEPTH },
		.begin = live_cycles(l, begin),
		.end = live_cycles(l, end),
		.iteration = iteration,
	};
}

int statement_take_wait(struct live *l, struct process *p, struct vm_stream *s,
			const struct wire_stay *w)
{
	struct vmspan_block b = wait_of(l, w->begin, w->end, w->iteration);

	if (w->end < w->begin)
		return live_emit_loss(l, LOSS_MALFORMED, 1, 0);
	vm_count_record(s, w->iteration);
	return vm_emit(l, p, s, w->h.tid, 1, &b, sizeof(b));
}

#define DATABASE_MAX 64
#define BOTH_MAX 96

/* Its database, and that with what it does there. */
static void name_of(const struct wire_turn *w, char database[DATABASE_MAX], char both[BOTH_MAX])
{
	char text[VM_TEXT + 1], title[VM_TITLE + 1], verb[24];

	vm_text(w->text, w->text_len, 0, text, sizeof(text));
	vm_text(w->title, w->title_len, 0, title, sizeof(title));
	database_of(title, database, DATABASE_MAX);
	if (w->kind == TURN_IDLE)
		snprintf(verb, sizeof(verb), "(idle in transaction)");
	else
		verb_of(text, verb, sizeof(verb));
	snprintf(both, BOTH_MAX, "%s %s", database, verb);
}

u32 statement_label(struct live *l, struct process *p, const struct wire_turn *w)
{
	char database[DATABASE_MAX], both[BOTH_MAX];

	name_of(w, database, both);
	return vm_label(l, p, both);
}

/* What a statement is charged to, innermost first: what it is; and that a transaction
 * ended in it. Their number. */
static u32 groups_of(struct live *l, struct process *p, const struct wire_turn *w, u32 comps[3],
		     u32 *label)
{
	char database[DATABASE_MAX], both[BOTH_MAX];
	u32 n = 0;

	name_of(w, database, both);
	*label = vm_label(l, p, both);
	comps[n++] = vm_compartment(l, p, VMSPAN_TENANT, both);
	snprintf(both, sizeof(both), "%s (commit)", database);
	if (w->ended & TURN_COMMIT)
		comps[n++] = vm_compartment(l, p, VMSPAN_TENANT, both);
	snprintf(both, sizeof(both), "%s (rollback)", database);
	if (w->ended & TURN_ROLLBACK)
		comps[n++] = vm_compartment(l, p, VMSPAN_TENANT, both);
	return n;
}

int statement_take(struct live *l, struct process *p, struct vm_stream *s,
		   const struct wire_turn *w)
{
	u64 room[(WAIT_DEPTH * sizeof(struct vmspan_span) + sizeof(struct vmspan_event)) / 8];
	struct vmspan_block waits = wait_of(l, w->begin, w->end, w->iteration);
	u32 comps[WAIT_DEPTH], label, n = groups_of(l, p, w, comps, &label), i;
	struct vmspan_span *spans = (void *)room;

	if (l->failed)
		return l->failed;
	/* Nobody runs while the client is waited for. */
	if (w->kind == TURN_IDLE) {
		vm_count_record(s, w->iteration);
		if (vm_emit(l, p, s, w->h.tid, 1, &waits, sizeof(waits)))
			return l->failed;
	}
	for (i = 0; i < n; i++) {
		spans[i] = (struct vmspan_span){
			.h = { VMSPAN_SPAN, sizeof(*spans) / VMSPAN_SLOT, (u16)(n - 1 - i),
			       comps[i] },
			.begin = live_cycles(l, w->begin),
			.end = live_cycles(l, w->end),
			/* One clock for all CPUs: nothing is wrong with a span that moved. */
			.cpu_begin = w->cpu_end,
			.cpu_end = w->cpu_end,
			.iteration = w->iteration,
		};
		vm_count_record(s, w->iteration);
	}
	vm_event(l, s, w, label, (struct vmspan_event *)(void *)(spans + n));
	return vm_emit(l, p, s, w->h.tid, n + 1, room,
		       n * (u32)sizeof(*spans) + (u32)sizeof(struct vmspan_event));
}
