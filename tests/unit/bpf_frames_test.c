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
		return function_at(o, known ? sym.st_shndx : by->section,
				   (known ? sym.st_value / size : insn) + (size_t)(in->imm + 1));
	}
	if (in->code != (BPF_LD | BPF_IMM | BPF_DW) || !symbol_at(o, by->section, insn, &sym) ||
	    sym.st_shndx != o->text)
		return NULL;
	return function_at(o, sym.st_shndx, (sym.st_value + (size_t)in->imm) / size);
}

/* The deepest way down from a function, which comes behind `above` bytes in `deep` frames. */
static int deepest(const struct object *o, const struct function *f, int above, int deep)
{
	int most = above + f->frame;
	size_t i;

	if (deep == FRAMES_DEEP)
		fail_msg("%s: the frames are more than %d", f->name, FRAMES_DEEP);
	if (deep && f->tail_call && above >= TAIL_CALL_BYTES)
		fail_msg("%s: a tail call behind %d bytes of frames", f->name, above);
	for (i = f->first; i < f->first + f->count; i++) {
		const struct function *to = called(o, f, i);
		int sum = to ? deepest(o, to, above + f->frame, deep + 1) : 0;

		if (sum > most)
			most = sum;
		if (insns(o, f->section)[i].code == (BPF_LD | BPF_IMM | BPF_DW))
			i++;
	}
	return most;
}

static void each_program_and_all_it_calls_has_512_bytes(void **state)
{
	static struct object o;
	size_t i, programs = 0;

	(void)state;
	open_object(&o);
	for (i = 0; i < o.n_functions; i++) {
		const struct function *f = &o.functions[i];
		int sum;

		if (f->section == o.text)
			continue;
		programs++;
		sum = deepest(&o, f, 0, 0);
		if (sum > FRAMES_BYTES)
			fail_msg("%s and what it calls: %d bytes of frames", f->name, sum);
	}
	assert_true(programs > 0);
	elf_end(o.elf);
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
		cmocka_unit_test(each_program_and_all_it_calls_has_512_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
