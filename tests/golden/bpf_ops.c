/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What of BPF programs old kernels refuse, even where it is never reached:
 *   atomic     before Linux 5.12: an atomic operation other than an addition whose result nobody takes
 *   loop       up to 6.1 and later (check_cfg() in kernel/bpf/verifier.c): a loop that is closed by an instruction
 *              that is no jump
 *
 *   bpf_ops OBJECT...   Prints the program, one of the words, and the number of the instruction
 */
#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum state {
	NEW,
	ON_THE_WAY, /* from the first instruction to where we are */
	DONE
};

struct look {
	const char *name;
	const struct bpf_insn *in;
	size_t n;
	unsigned char *state; /* of each instruction */
};

static bool is_jump(const struct bpf_insn *in)
{
	return (BPF_CLASS(in->code) == BPF_JMP || BPF_CLASS(in->code) == BPF_JMP32) &&
	       BPF_OP(in->code) != BPF_CALL;
}

static void follow(const struct look *l, size_t at);

static void go(const struct look *l, size_t from, size_t to)
{
	if (to >= l->n)
		return;
	if (l->state[to] == NEW)
		follow(l, to);
	else if (l->state[to] == ON_THE_WAY && !is_jump(&l->in[from]))
		printf("%s loop %zu\n", l->name, from);
}

/* As the kernel goes: first on to the next instruction, then where it jumps to. */
static void follow(const struct look *l, size_t at)
{
	const struct bpf_insn *in = &l->in[at];
	bool wide = in->code == (BPF_LD | BPF_IMM | BPF_DW);

	l->state[at] = ON_THE_WAY;
	if (is_jump(in) && BPF_OP(in->code) == BPF_EXIT) {
		l->state[at] = DONE;
		return;
	}
	if (!is_jump(in) || BPF_OP(in->code) != BPF_JA)
		go(l, at, at + 1 + wide);
	if (is_jump(in))
		go(l, at, (size_t)((long)at + 1 + in->off));
	l->state[at] = DONE;
}

static void look(const struct bpf_program *p)
{
	struct look l = {
		.name = bpf_program__name(p),
		.in = bpf_program__insns(p),
		.n = bpf_program__insn_cnt(p),
	};
	size_t i;

	for (i = 0; i < l.n; i++)
		if (BPF_CLASS(l.in[i].code) == BPF_STX && BPF_MODE(l.in[i].code) == BPF_ATOMIC &&
		    l.in[i].imm != BPF_ADD)
			printf("%s atomic %zu\n", l.name, i);
	l.state = calloc(l.n, 1);
	if (!l.state)
		exit(1);
	follow(&l, 0);
	free(l.state);
}

int main(int argc, char **argv)
{
	struct bpf_program *p;
	struct bpf_object *o;
	unsigned int programs = 0;
	int i;

	for (i = 1; i < argc; i++) {
		o = bpf_object__open_file(argv[i], NULL);
		if (!o) {
			perror(argv[i]);
			return 1;
		}
		bpf_object__for_each_program(p, o)
		{
			programs++;
			look(p);
		}
		bpf_object__close(o);
	}
	return programs ? 0 : 1;
}
