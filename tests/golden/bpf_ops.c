/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Atomic operations of BPF programs that no kernel before Linux 5.12 loads, even where they are never
 * reached: all but an addition whose result nobody takes.
 *   bpf_ops OBJECT...   Prints the program and the number of its instruction, a line each
 */
#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <stdio.h>

static void look(const struct bpf_program *p)
{
	const struct bpf_insn *in = bpf_program__insns(p);
	size_t n = bpf_program__insn_cnt(p), i;

	for (i = 0; i < n; i++)
		if (BPF_CLASS(in[i].code) == BPF_STX && BPF_MODE(in[i].code) == BPF_ATOMIC &&
		    in[i].imm != BPF_ADD)
			printf("%s %zu\n", bpf_program__name(p), i);
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
