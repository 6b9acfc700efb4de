/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Stock VMs that serve statements (PostgreSQL): each is an event, and so is the time
 * in which a transaction is open and its client sends nothing. In which statements
 * transactions ended is told with them.
 *
 * All are optional ("?").
 */
#include "bpf/args.bpf.h"
#include "bpf/stopwatch.bpf.h"
#include "bpf/turn.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* The server writes a title over its arguments: user, database, peer, what it does. */
static __always_inline __u64 title_at(void)
{
	return BPF_CORE_READ(bpf_get_current_task_btf(), mm, arg_start);
}

static __always_inline void read_title(struct vm_thread *t)
{
	long n = bpf_probe_read_user_str(t->title, sizeof(t->title), (const void *)title_at());

	t->title_len = n > 1 ? n - 1 : 0;
}

#define END_LEN 8

static __always_inline bool end_is(const char end[END_LEN], const char *what)
{
	bool same = true;
	int i;

	for (i = 0; i < END_LEN; i++)
		same &= end[i] == what[i];
	return same;
}

/* "... idle in transaction", "... idle in transaction (aborted)". Of a title that has no
 * room for it that is not known. */
static __always_inline bool in_transaction(const struct vm_thread *t)
{
	char end[END_LEN];

	if (t->title_len < END_LEN || t->title_len >= sizeof(t->title) - 1 ||
	    user_read(end, END_LEN, title_at() + t->title_len - END_LEN))
		return false;
	return end_is(end, "nsaction") || end_is(end, "aborted)");
}

/* The client may go on, or has. */
static __always_inline void statement_close(struct vm_thread *t, struct ids ids)
{
	__u64 now = bpf_ktime_get_ns();

	if (!t->open)
		return;
	if (t->turn_kind == TURN_IDLE && !t->ended && now - t->turn_begin < TURN_IDLE_LEAST)
		turn_forget(t, bpf_get_current_task_btf(), now);
	else
		turn_close(t, bpf_get_current_task_btf(), ids, now);
}

/*
 * statement__status(text or NULL). A prepared query says its text for each of its
 * messages, and NULL once, when the client may go on.
 */
SEC("?usdt")
int vm_status(struct pt_regs *ctx)
{
	__u64 text = probe_arg(ctx, 0);
	const struct vm_proc *p;
	struct vm_thread *t;
	struct ids ids;
	long n;

	t = probed(ctx, &ids, &p);
	if (!t || (t->open && text && t->turn_kind == TURN_STATEMENT))
		return 0;
	statement_close(t, ids);
	read_title(t);
	if (!text && !in_transaction(t))
		return 0;
	t->loop = LOOP_PROBES;
	n = t->title_len;
	turn_open(t, bpf_get_current_task_btf(), text ? TURN_STATEMENT : TURN_IDLE,
		  bpf_ktime_get_ns());
	t->title_len = n;
	n = text ? bpf_probe_read_user_str(t->text, sizeof(t->text), (void *)text) : 0;
	/* An empty statement is one too. */
	if (n <= 1) {
		t->text[0] = ';';
		n = 2;
	}
	t->text_len = n - 1;
	return 0;
}

static __always_inline int transaction_ended(struct pt_regs *ctx, enum turn_ended how)
{
	const struct vm_proc *p;
	struct vm_thread *t;
	struct ids ids;

	t = probed(ctx, &ids, &p);
	if (t && t->open)
		t->ended |= how;
	return 0;
}

SEC("?usdt")
int vm_commit(struct pt_regs *ctx)
{
	return transaction_ended(ctx, TURN_COMMIT);
}

SEC("?usdt")
int vm_rollback(struct pt_regs *ctx)
{
	return transaction_ended(ctx, TURN_ROLLBACK);
}
