/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The stack of the kernel side's programs. Up to Linux 6.12 the kernel refuses a program whose
 * frames and those of all that it calls take more than 512 bytes together; later ones give many
 * programs a stack of their own and sum up nothing, so that loading there proves nothing.
 *
 * The rules are those of check_max_stack_depth() in kernel/bpf/verifier.c: each frame reaches
 * down to the lowest byte that it names, rounded up to 32; what a helper calls back (bpf_loop)
 * counts as a call; eight frames at most; what is called by 256 bytes of frames or more may hold
 * no tail call. The kernel measures the paths that it takes; here all of the code counts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "vmspan.skel.h"

#include <gelf.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>

#define FRAMES_BYTES 512 /* MAX_BPF_STACK */
#define FRAMES_DEEP 8 /* MAX_CALL_FRAMES */
#define TAIL_CALL_BYTES 256
#define SECTIONS 128
#define FUNCTIONS 512

/* A function of the object: a program where its section is not .text. */
struct function {
	const char *name;
	size_t section;
	size_t first, count; // instructions
	int frame; // bytes, rounded up
	bool tail_call;
};

struct object {
	Elf *elf;
	Elf_Data *code[SECTIONS],
		*relocations[SECTIONS]; // by section; code of those that hold programs
	size_t text; // the section of what is called
	Elf_Data *symbols;
	size_t n_symbols;
	const char *names;
	struct function functions[FUNCTIONS];
	size_t n_functions;
};

static const struct bpf_insn *insns(const struct object *o, size_t section)
{
	return o->code[section]->d_buf;
}

/*
 * The lowest byte that a function names below its frame's top, by what is known of each register:
 * whether it is an address in the frame, and which. Code is read from its begin to its end: what a
 * jump leads to is taken for reached from the line above.
 */
static int lowest(const struct bpf_insn *at, size_t count)
{
	bool is_frame[MAX_BPF_REG] = { [BPF_REG_10] = true };
	int offset[MAX_BPF_REG] = { 0 }, low = 0;
	size_t i;

	for (i = 0; i < count; i++) {
		const struct bpf_insn *in = &at[i];
		uint8_t class = BPF_CLASS(in->code), to = in->dst_reg,
			base = class == BPF_LDX ? in->src_reg : to;

		if (class == BPF_LDX || class == BPF_ST || class == BPF_STX) {
			if (is_frame[base] && offset[base] + in->off < low)
				low = offset[base] + in->off;
			if (class == BPF_LDX)
				is_frame[to] = false;
		} else if (in->code == (BPF_ALU64 | BPF_MOV | BPF_X)) {
			is_frame[to] = is_frame[in->src_reg];
			offset[to] = offset[in->src_reg];
		} else if (class == BPF_JMP && BPF_OP(in->code) == BPF_CALL) {
			memset(is_frame, 0, sizeof(is_frame[0]) * BPF_REG_6);
		} else if (in->code == (BPF_ALU64 | BPF_ADD | BPF_K) && is_frame[to]) {
			offset[to] += in->imm;
			if (offset[to] < low)
				low = offset[to];
		} else if (class == BPF_ALU64 || class == BPF_ALU || class == BPF_LD) {
			/* By a register's value: the address before it is the lowest of an array. */
			is_frame[to] = false;
		}
		if (in->code == (BPF_LD | BPF_IMM | BPF_DW))
			i++; // the second half of its number
	}
	return low;
}

static void add_function(struct object *o, const GElf_Sym *sym)
{
	struct function *f = &o->functions[o->n_functions++];
	size_t i;
	int low;

	assert_in_range(o->n_functions, 1, FUNCTIONS - 1);
	f->name = o->names + sym->st_name;
	f->section = sym->st_shndx;
	f->first = sym->st_value / sizeof(struct bpf_insn);
	f->count = sym->st_size / sizeof(struct bpf_insn);
	assert_true(f->count &&
		    (f->first + f->count) * sizeof(struct bpf_insn) <= o->code[f->section]->d_size);
	low = lowest(insns(o, f->section) + f->first, f->count);
	f->frame = low < 0 ? (-low + 31) / 32 * 32 : 32;
	for (i = f->first; i < f->first + f->count; i++) {
		const struct bpf_insn *in = &insns(o, f->section)[i];

		f->tail_call |= in->code == (BPF_JMP | BPF_CALL) && !in->src_reg &&
				in->imm == BPF_FUNC_tail_call;
	}
}

static void open_object(struct object *o)
{
	size_t size, names_section = 0, section_names, i;
	const void *bytes = vmspan_bpf__elf_bytes(&size);
	Elf_Scn *scn = NULL;

	memset(o, 0, sizeof(*o));
	elf_version(EV_CURRENT);
	o->elf = elf_memory((char *)(uintptr_t)bytes, size);
	assert_non_null(o->elf);
	assert_int_equal(elf_getshdrstrndx(o->elf, &section_names), 0);
	while ((scn = elf_nextscn(o->elf, scn))) {
		size_t at = elf_ndxscn(scn);
		GElf_Shdr sh;

		assert_true(at < SECTIONS && gelf_getshdr(scn, &sh));
		if (sh.sh_type == SHT_SYMTAB) {
			o->symbols = elf_getdata(scn, NULL);
			o->n_symbols = sh.sh_size / sh.sh_entsize;
			names_section = sh.sh_link;
		} else if (sh.sh_type == SHT_REL) {
			assert_in_range(sh.sh_info, 1, SECTIONS - 1);
			o->relocations[sh.sh_info] = elf_getdata(scn, NULL);
		} else if (sh.sh_type == SHT_PROGBITS && (sh.sh_flags & SHF_EXECINSTR)) {
			o->code[at] = elf_rawdata(scn, NULL);
			if (!strcmp(elf_strptr(o->elf, section_names, sh.sh_name), ".text"))
				o->text = at;
		}
	}
	assert_true(o->symbols && o->text);
	o->names = elf_getdata(elf_getscn(o->elf, names_section), NULL)->d_buf;
	for (i = 0; i < o->n_symbols; i++) {
		GElf_Sym sym;

		assert_non_null(gelf_getsym(o->symbols, (int)i, &sym));
		if (GELF_ST_TYPE(sym.st_info) == STT_FUNC && o->code[sym.st_shndx])
			add_function(o, &sym);
	}
}

static const struct function *function_at(const struct object *o, size_t section, size_t insn)
{
	size_t i;

	for (i = 0; i < o->n_functions; i++) {
		const struct function *f = &o->functions[i];

		if (f->section == section && f->first == insn)
			return f;
	}
	fail_msg("section %zu, instruction %zu: a call to what is no function", section, insn);
	return NULL;
}

/* The symbol that an instruction refers to; false if none. */
static bool symbol_at(const struct object *o, size_t section, size_t insn, GElf_Sym *sym)
{
	Elf_Data *d = o->relocations[section];
	GElf_Rel rel;
	int i;

	for (i = 0; d && gelf_getrel(d, i, &rel); i++) {
		if (rel.r_offset == insn * sizeof(struct bpf_insn)) {
			assert_non_null(gelf_getsym(o->symbols, (int)GELF_R_SYM(rel.r_info), sym));
			return true;
		}
	}
	return false;
}

/*
 * What an instruction calls, or hands to a helper that will; NULL if it does neither. A call
 * counts instructions from the one behind it or from its symbol, a function that is handed over is
 * so many bytes behind its symbol.
 */
static const struct function *called(const struct object *o, const struct function *by, size_t insn)
{
	const struct bpf_insn *in = &insns(o, by->section)[insn];
	size_t size = sizeof(*in);
	GElf_Sym sym;
	bool known;

	if (in->code == (BPF_JMP | BPF_CALL) && in->src_reg == BPF_PSEUDO_CALL) {
		known = symbol_at(o, by->section, insn, &sym);
		if (known && sym.st_shndx == SHN_UNDEF)
			return NULL; // a function of the kernel
		return function_at(o, known ? sym.st_shndx : by->section,
				   (known ? sym.st_value / size : insn) + (size_t)(in->imm + 1));
	}
	if (in->code != (BPF_LD | BPF_IMM | BPF_DW) || !symbol_at(o, by->section, insn, &sym) ||
	    sym.st_shndx != o->text)
		return NULL;
	return function_at(o, sym.st_shndx, (sym.st_value + (size_t)in->imm) / size);
}

/* A way down: a function, one that it calls, and so on. */
struct way {
	const struct function *f[FRAMES_DEEP];
	int deep, sum;
};

/* Finds the way down with the most bytes that begins as `at` does. Why a kernel refuses one of all,
 * or NULL. */
static const char *go_down(const struct object *o, const struct function *f, struct way at,
			   struct way *most)
{
	const char *why = NULL;
	size_t i;

	if (at.deep == FRAMES_DEEP)
		return "too many frames";
	if (at.deep && f->tail_call && at.sum >= TAIL_CALL_BYTES)
		return "a tail call behind frames that are too large";
	at.f[at.deep++] = f;
	at.sum += f->frame;
	if (at.sum > most->sum)
		*most = at;
	for (i = f->first; !why && i < f->first + f->count; i++) {
		const struct function *to = called(o, f, i);

		if (to)
			why = go_down(o, to, at, most);
		if (insns(o, f->section)[i].code == (BPF_LD | BPF_IMM | BPF_DW))
			i++;
	}
	return why;
}

static const char *refused(const struct object *o, const struct function *f, struct way *most)
{
	const char *why;

	*most = (struct way){ .sum = 0 };
	why = go_down(o, f, *most, most);
	return why || most->sum <= FRAMES_BYTES ? why : "frames that are too large together";
}

static void each_program_and_all_it_calls_has_512_bytes(void **state)
{
	static struct object o;
	size_t i, programs = 0;

	(void)state;
	open_object(&o);
	for (i = 0; i < o.n_functions; i++) {
		const struct function *f = &o.functions[i];
		const char *why;
		struct way most;
		int k;

		if (f->section == o.text)
			continue;
		programs++;
		why = refused(&o, f, &most);
		if (!why)
			continue;
		for (k = 0; k < most.deep; k++)
			print_error("%s: %d\n", most.f[k]->name, most.f[k]->frame);
		fail_msg("%s: %s, %d bytes", f->name, why, most.sum);
	}
	assert_int_equal(programs,
			 sizeof(((struct vmspan_bpf *)0)->progs) / sizeof(struct bpf_program *));
	elf_end(o.elf);
}

/* Functions of two instructions, each of which calls the next; the last has a tail call, or calls
 * nothing. */
static const char *chain(size_t n, int frame, bool tail_call)
{
	struct bpf_insn code[2 * FRAMES_DEEP + 2];
	Elf_Data data = { .d_buf = code };
	static struct object o;
	struct way most;
	size_t i;

	memset(&o, 0, sizeof(o));
	o.code[1] = &data;
	o.text = 1;
	o.n_functions = n;
	for (i = 0; i < n; i++) {
		code[2 * i] = (struct bpf_insn){ .code = BPF_JMP | BPF_CALL,
						 .src_reg = BPF_PSEUDO_CALL,
						 .imm = 1 };
		code[2 * i + 1] = (struct bpf_insn){ .code = BPF_JMP | BPF_EXIT };
		o.functions[i] = (struct function){ "one", 1, 2 * i, 2, frame, false };
	}
	code[2 * n - 2] = code[2 * n - 1];
	o.functions[n - 1].tail_call = tail_call;
	return refused(&o, o.functions, &most);
}

static void a_chain_is_as_long_and_as_large_as_kernels_take(void **state)
{
	(void)state;
	assert_null(chain(FRAMES_DEEP, 64, false));
	assert_string_equal(chain(FRAMES_DEEP + 1, 32, false), "too many frames");
	assert_null(chain(4, 128, false));
	assert_string_equal(chain(4, 160, false), "frames that are too large together");
	assert_null(chain(2, 224, true));
	assert_string_equal(chain(2, 256, true), "a tail call behind frames that are too large");
}

static void a_frame_is_what_is_named_of_it(void **state)
{
	const struct bpf_insn plain[] = {
		{ .code = BPF_STX | BPF_MEM | BPF_DW,
		  .dst_reg = BPF_REG_10,
		  .src_reg = BPF_REG_1,
		  .off = -40 },
		{ .code = BPF_LDX | BPF_MEM | BPF_DW,
		  .dst_reg = BPF_REG_1,
		  .src_reg = BPF_REG_10,
		  .off = -8 },
		{ .code = BPF_LDX | BPF_MEM | BPF_DW,
		  .dst_reg = BPF_REG_1,
		  .src_reg = BPF_REG_1,
		  .off = -80 },
	};
	const struct bpf_insn handed_on[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_X,
		  .dst_reg = BPF_REG_2,
		  .src_reg = BPF_REG_10 },
		{ .code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = BPF_REG_2, .imm = -72 },
		{ .code = BPF_LD | BPF_IMM | BPF_DW, .dst_reg = BPF_REG_2 },
		{ .code = 0, .imm = 1 },
		{ .code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = BPF_REG_2, .imm = -500 },
	};
	const struct bpf_insn in_steps[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_X,
		  .dst_reg = BPF_REG_2,
		  .src_reg = BPF_REG_10 },
		{ .code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = BPF_REG_2, .imm = -8 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = BPF_REG_3, .src_reg = BPF_REG_2 },
		{ .code = BPF_ST | BPF_MEM | BPF_W, .dst_reg = BPF_REG_3, .off = -64 },
		{ .code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = BPF_REG_3, .imm = -80 },
	};

	(void)state;
	assert_int_equal(lowest(plain, 3), -40);
	assert_int_equal(lowest(handed_on, 5), -72);
	assert_int_equal(lowest(in_steps, 4), -72);
	assert_int_equal(lowest(in_steps, 5), -88);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_frame_is_what_is_named_of_it),
		cmocka_unit_test(a_chain_is_as_long_and_as_large_as_kernels_take),
		cmocka_unit_test(each_program_and_all_it_calls_has_512_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
