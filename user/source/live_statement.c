/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Statements of PostgreSQL, transactions whose client sends nothing, and how
 * transactions ended -> spans and events that are measured whole.
 */
#include "probe/postgres.h"
#include "source/live_vm_int.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Deeper than any span of a statement's: waits are told of before those are. */
#define WAIT_DEPTH 3

#define DATABASE_MAX 64
#define BOTH_MAX 96

/* "[local]", or an address with its port: "127.0.0.1(5433)". */
static bool is_client(const char *word, size_t n)
{
	size_t digits = 0;

	if (n == 7 && !memcmp(word, "[local]", 7))
		return true;
	if (n < 4 || word[n - 1] != ')')
		return false;
	while (digits + 2 < n && isdigit((unsigned char)word[n - 2 - digits]))
		digits++;
	return digits && word[n - 2 - digits] == '(';
}

/* Where the client stands in the title; NULL: it has none. */
static const char *client_in(const char *title)
{
	const char *word = title;

	while (*word) {
		size_t n = strcspn(word, " ");

		if (is_client(word, n))
			return word;
		word += n;
		word += strspn(word, " ");
	}
	return NULL;
}

/* Behind the last "CLUSTER: " in front of `end`. */
static const char *behind_cluster(const char *title, const char *end)
{
	const char *at = title, *next;

	while ((next = strstr(at, ": ")) && next + 2 <= end)
		at = next + 2;
	return at;
}

static void leaders_database(const struct live *l, const struct process *p, const char *number,
			     char *to, size_t cap);

/*
 * Of "postgres: CLUSTER: USER DATABASE [local] SELECT" the DATABASE. Names may have blanks and colons in them, and the
 * title does not say where they end: the backend's memory does. If that is gone, the first colon is taken for the
 * cluster's, and of more than two words behind it nobody knows which are the database's.
 */
static void clients_database(const struct process *p, const char *title, const char *client,
			     char *to, size_t cap)
{
	const char *colon = strstr(title, ": "),
		   *names = colon && colon < client ? colon + 2 : title;
	const char *blank = strchr(names, ' ');
	bool two = blank && blank < client && strchr(blank + 1, ' ') == client - 1;

	if (client == title || (two && names == title) || (p->vm_state && p->vm_state->unread) ||
	    postgres_database(p->pid, p->vm_root, title, (size_t)(client - title) - 1, to, cap)) {
		if (two)
			snprintf(to, cap, "%.*s", (int)(client - blank - 2), blank + 1);
	}
}

/* Whose a process with this title works for; in parentheses: nobody's, or it is not known. */
static void database_of(const struct live *l, const struct process *p, const char *title, char *to,
			size_t cap)
{
	static const char prefix[] = "postgres: ", vacuum[] = "autovacuum worker ",
			  parallel[] = "parallel worker for PID ", sender[] = "walsender ",
			  replication[] = "logical replication ";
	const char *client, *names;

	snprintf(to, cap, "(unknown)");
	if (strncmp(title, prefix, sizeof(prefix) - 1))
		return;
	title += sizeof(prefix) - 1;
	client = client_in(title);
	names = behind_cluster(title, client ? client : title + strlen(title));
	if (!strncmp(names, sender, sizeof(sender) - 1) ||
	    (!client && !strncmp(names, replication, sizeof(replication) - 1)))
		snprintf(to, cap, "(replication)");
	else if (!client && !strncmp(names, vacuum, sizeof(vacuum) - 1))
		snprintf(to, cap, "%s", names + sizeof(vacuum) - 1);
	else if (!client && !strncmp(names, parallel, sizeof(parallel) - 1))
		leaders_database(l, p, names + sizeof(parallel) - 1, to, cap);
	else if (!client && strlen(title) + sizeof(prefix) - 1 < VM_TITLE - 1)
		snprintf(to, cap, "(background)");
	else if (client)
		clients_database(p, title, client, to, cap);
}

/* Of a parallel worker: that of the backend that it works for, of whose statement no more may be known than its title
 * says. */
static void leaders_database(const struct live *l, const struct process *p, const char *number,
			     char *to, size_t cap)
{
	const struct process *leader = process_find(l, (u32)strtoul(number, NULL, 10));
	char title[VM_TITLE] = "", path[40];
	FILE *f;

	snprintf(to, cap, "(background)");
	/* In a container numbers are others: whoever has that one here is then of another server. */
	if (!leader || leader->vm_profile != p->vm_profile || leader->ppid != p->ppid)
		return;
	if (leader->vm_state && leader->vm_state->database[0]) {
		snprintf(to, cap, "%s", leader->vm_state->database);
		return;
	}
	snprintf(path, sizeof(path), "/proc/%u/cmdline", leader->pid);
	f = fopen(path, "re");
	if (f && fgets(title, sizeof(title), f) && client_in(title))
		database_of(l, leader, title, to, cap);
	else if (strlen(title) == sizeof(title) - 1)
		snprintf(to, cap, "(unknown)");
	if (f)
		fclose(f);
}

/* Those that PostgreSQL's statements begin with. */
static bool is_verb(const char *word)
{
	static const char *const verbs[] = {
		"ABORT",   "ALTER",   "ANALYSE", "ANALYZE", "BEGIN",    "CALL",      "CHECKPOINT",
		"CLOSE",   "CLUSTER", "COMMENT", "COMMIT",  "COPY",     "CREATE",    "DEALLOCATE",
		"DECLARE", "DELETE",  "DISCARD", "DO",      "DROP",     "END",       "EXECUTE",
		"EXPLAIN", "FETCH",   "GRANT",   "IMPORT",  "INSERT",   "LISTEN",    "LOAD",
		"LOCK",    "MERGE",   "MOVE",    "NOTIFY",  "PREPARE",  "REASSIGN",  "REFRESH",
		"REINDEX", "RELEASE", "RESET",   "REVOKE",  "ROLLBACK", "SAVEPOINT", "SECURITY",
		"SELECT",  "SET",     "SHOW",    "START",   "TABLE",    "TRUNCATE",  "UNLISTEN",
		"UPDATE",  "VACUUM",  "VALUES",  "WITH",
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(verbs); i++)
		if (!strcmp(word, verbs[i]))
			return true;
	return false;
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
	else if (!is_verb(to))
		snprintf(to, cap, "(other)");
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

/* Its database, and that with what it does there. */
static void name_of(const struct live *l, struct process *p, const struct wire_turn *w,
		    char database[DATABASE_MAX], char both[BOTH_MAX])
{
	char text[VM_TEXT + 1], title[VM_TITLE + 1], verb[24];

	vm_text(w->text, w->text_len, 0, text, sizeof(text));
	vm_text(w->title, w->title_len, 0, title, sizeof(title));
	if (p->vm_state && p->vm_state->database[0])
		snprintf(database, DATABASE_MAX, "%s", p->vm_state->database);
	else
		database_of(l, p, title, database, DATABASE_MAX);
	if (p->vm_state && database[0] != '(')
		snprintf(p->vm_state->database, sizeof(p->vm_state->database), "%s", database);
	else if (p->vm_state)
		p->vm_state->unread = !strcmp(database, "(unknown)");
	if (w->kind == TURN_IDLE)
		snprintf(verb, sizeof(verb), "(idle in transaction)");
	else
		verb_of(text, verb, sizeof(verb));
	snprintf(both, BOTH_MAX, "%s %s", database, verb);
}

u32 statement_label(struct live *l, struct process *p, const struct wire_turn *w)
{
	char database[DATABASE_MAX], both[BOTH_MAX];

	name_of(l, p, w, database, both);
	return vm_label(l, p, both);
}

/* What a statement is charged to, innermost first: what it is; and that a transaction
 * ended in it. Their number. */
static u32 groups_of(struct live *l, struct process *p, const struct wire_turn *w, u32 comps[3],
		     u32 *label)
{
	char database[DATABASE_MAX], both[BOTH_MAX];
	u32 n = 0;

	name_of(l, p, w, database, both);
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
