/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counts the instructions that the carrier executes for a hand-over of marks, and for a batch of
 * version 1 of the SDK. Programs at user
 * probes cannot be test-run in the kernel, and its statistics are of time. So the
 * compiled program is interpreted here, with helpers that do what the kernel's
 * would: a traced process, a ring with room, a batch that can be read.
 *
 *   bpfrun OBJECT       prints `bpf-flush-RECORDS COUNT` lines, and
 *                       `bpf-flush-other COUNT` of a process nobody traces
 */

#include "base/types.h"
#include "bpf/wire.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <gelf.h>
#include <libelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <unistd.h>

enum {
	STEPS_LIMIT = 1000000,
	SECTIONS = 128,
	STACK = 512,
	PID = 42
};

static struct {
	Elf *elf;
	Elf_Data *symbols;
	struct btf *btf;
	size_t names; /* section of the symbols' */
	char *data[SECTIONS]; /* copies; the maps' section stands for maps */
	size_t maps;
} object;

/* What the helpers answer with. */
static bool is_traced;
static u64 counters[COUNT_MAX], now_ns;
static struct traced_process traced = { .flags = TRACED_PROCESS };
static char room[sizeof(struct wire_marks) + WIRE_FULL + WIRE_MARKS_FULL];
/* What the kernel has of the task: nothing but zeros, and pointers to nowhere. */
static char task[65536];
#define NOWHERE 65536

static void fail(const char *what)
{
	fprintf(stderr, "bpfrun: %s\n", what);
	exit(1);
}

/* -------------------------------------------------------------- Object -- */

static const char *symbol_name(const GElf_Sym *s)
{
	return elf_strptr(object.elf, object.names, s->st_name);
}

static bool symbol_get(size_t i, GElf_Sym *s)
{
	return gelf_getsym(object.symbols, (int)i, s) != NULL;
}

static bool symbol_find(const char *name, GElf_Sym *s)
{
	size_t i;

	for (i = 0; symbol_get(i, s); i++)
		if (!strcmp(symbol_name(s), name))
			return true;
	return false;
}

/* Addresses of data go where the loader would put them; calls are left alone. */
static void relocate(size_t section, const GElf_Rel *rel)
{
	struct bpf_insn *in;
	GElf_Sym s;
	u64 to;

	if (!symbol_get(GELF_R_SYM(rel->r_info), &s))
		fail("a relocation without a symbol");
	in = (void *)(object.data[section] + rel->r_offset);
	if (in->code != (BPF_LD | BPF_DW | BPF_IMM) || s.st_shndx >= SECTIONS)
		return;
	to = (u64)(uintptr_t)object.data[s.st_shndx] + s.st_value + (u32)in->imm;
	in[0].imm = (int)(u32)to;
	in[1].imm = (int)(u32)(to >> 32);
}

static void load(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf_Scn *scn = NULL;
	GElf_Shdr h;
	size_t str;

	elf_version(EV_CURRENT);
	object.elf = elf_begin(fd, ELF_C_READ, NULL);
	if (fd < 0 || !object.elf || elf_getshdrstrndx(object.elf, &str))
		fail("no such object");
	while ((scn = elf_nextscn(object.elf, scn))) {
		Elf_Data *d = elf_getdata(scn, NULL);
		size_t i = elf_ndxscn(scn);

		if (!gelf_getshdr(scn, &h) || i >= SECTIONS)
			fail("too many sections");
		object.data[i] = calloc(1, h.sh_size + 1);
		if (!object.data[i])
			fail("no memory");
		if (d && d->d_buf)
			memcpy(object.data[i], d->d_buf, d->d_size);
		if (!strcmp(elf_strptr(object.elf, str, h.sh_name), ".maps"))
			object.maps = i;
		if (h.sh_type == SHT_SYMTAB) {
			object.symbols = d;
			object.names = h.sh_link;
		}
	}
	while ((scn = elf_nextscn(object.elf, scn))) {
		GElf_Rel rel;
		int i;

		gelf_getshdr(scn, &h);
		for (i = 0; h.sh_type == SHT_REL && gelf_getrel(elf_getdata(scn, NULL), i, &rel);
		     i++)
			relocate(h.sh_info, &rel);
	}
	close(fd);
	object.btf = btf__parse_elf(path, NULL);
	if (!object.btf)
		fail("no type information");
}

/* ------------------------------------------------------------- Helpers -- */

static const char *map_name(u64 address)
{
	GElf_Sym s;
	size_t i;

	for (i = 0; symbol_get(i, &s); i++)
		if (s.st_shndx == object.maps &&
		    (u64)(uintptr_t)object.data[object.maps] + s.st_value == address)
			return symbol_name(&s);
	return "";
}

static u64 map_lookup(u64 map, const u32 *key)
{
	if (!strcmp(map_name(map), "traced"))
		return is_traced && *key == PID ? (u64)(uintptr_t)&traced : 0;
	if (!strcmp(map_name(map), "counters") && *key < COUNT_MAX)
		return (u64)(uintptr_t)&counters[*key];
	fail("a map that is not known here");
	return 0;
}

static u64 helper(int id, u64 *r)
{
	switch (id) {
	case BPF_FUNC_map_lookup_elem:
		return map_lookup(r[1], (void *)(uintptr_t)r[2]);
	case BPF_FUNC_ktime_get_ns:
		return now_ns;
	case BPF_FUNC_get_current_pid_tgid:
		return (u64)PID << 32 | PID;
	case BPF_FUNC_get_current_task:
	case BPF_FUNC_get_current_task_btf:
		return (u64)(uintptr_t)task;
	case BPF_FUNC_probe_read_user:
	case BPF_FUNC_probe_read_kernel:
		if (r[3] < NOWHERE) {
			memset((void *)(uintptr_t)r[1], 0, (u32)r[2]);
			return 0;
		}
		memcpy((void *)(uintptr_t)r[1], (void *)(uintptr_t)r[3], (u32)r[2]);
		return 0;
	case BPF_FUNC_ringbuf_reserve:
		return r[2] <= sizeof(room) ? (u64)(uintptr_t)room : 0;
	case BPF_FUNC_ringbuf_query:
	case BPF_FUNC_ringbuf_submit:
		return 0;
	}
	fprintf(stderr, "bpfrun: helper %d is not known here\n", id);
	exit(1);
}

/* -------------------------------------------------------- Instructions -- */

static u64 alu(u8 op, u64 a, u64 b, unsigned int bits)
{
	unsigned int shift = (unsigned int)b & (bits - 1);

	switch (op) {
	case BPF_ADD:
		return a + b;
	case BPF_SUB:
		return a - b;
	case BPF_MUL:
		return a * b;
	case BPF_DIV:
		return b ? a / b : 0;
	case BPF_MOD:
		return b ? a % b : a;
	case BPF_OR:
		return a | b;
	case BPF_AND:
		return a & b;
	case BPF_XOR:
		return a ^ b;
	case BPF_MOV:
		return b;
	case BPF_NEG:
		return -a;
	case BPF_LSH:
		return a << shift;
	case BPF_RSH:
		return a >> shift;
	case BPF_ARSH:
		return bits == 32 ? (u64)((int)(u32)a >> shift) : (u64)((s64)a >> shift);
	}
	fail("an operation that is not known here");
	return 0;
}

static bool jump(u8 op, u64 a, u64 b, bool wide)
{
	s64 sa = wide ? (s64)a : (int)(u32)a, sb = wide ? (s64)b : (int)(u32)b;

	if (!wide) {
		a = (u32)a;
		b = (u32)b;
	}
	switch (op) {
	case BPF_JA:
		return true;
	case BPF_JEQ:
		return a == b;
	case BPF_JNE:
		return a != b;
	case BPF_JGT:
		return a > b;
	case BPF_JGE:
		return a >= b;
	case BPF_JLT:
		return a < b;
	case BPF_JLE:
		return a <= b;
	case BPF_JSET:
		return a & b;
	case BPF_JSGT:
		return sa > sb;
	case BPF_JSGE:
		return sa >= sb;
	case BPF_JSLT:
		return sa < sb;
	case BPF_JSLE:
		return sa <= sb;
	}
	fail("a jump that is not known here");
	return false;
}

static unsigned int width(u8 code)
{
	return BPF_SIZE(code) == BPF_B   ? 1
	       : BPF_SIZE(code) == BPF_H ? 2
	       : BPF_SIZE(code) == BPF_W ? 4
					 : 8;
}

static void store(const struct bpf_insn *in, u64 *r)
{
	char *at = (char *)(uintptr_t)r[in->dst_reg] + in->off;
	u64 v = BPF_CLASS(in->code) == BPF_ST ? (u64)(s64)in->imm : r[in->src_reg], old = 0;

	if (BPF_MODE(in->code) == BPF_ATOMIC) {
		if ((in->imm & ~BPF_FETCH) != BPF_ADD)
			fail("an atomic operation that is not known here");
		memcpy(&old, at, width(in->code));
		if (in->imm & BPF_FETCH)
			r[in->src_reg] = old;
		v += old;
	}
	memcpy(at, &v, width(in->code));
}

/* Returns how many instructions it took. */
static u32 run(const struct bpf_insn *in, void *ctx)
{
	u64 stack[STACK / 8] = { 0 }, r[11] = {
		[1] = (u64)(uintptr_t)ctx, [10] = (u64)(uintptr_t)(stack + STACK / 8)
	};
	u32 n;

	for (n = 1; n < STEPS_LIMIT; n++, in++) {
		bool by_register = in->code & BPF_X;
		u64 b = by_register ? r[in->src_reg] : (u64)(s64)in->imm, *d = &r[in->dst_reg];

		switch (BPF_CLASS(in->code)) {
		case BPF_ALU64:
			*d = alu(BPF_OP(in->code), *d, b, 64);
			break;
		case BPF_ALU:
			*d = (u32)alu(BPF_OP(in->code), (u32)*d, (u32)b, 32);
			break;
		case BPF_JMP:
			if (BPF_OP(in->code) == BPF_EXIT)
				return n;
			if (BPF_OP(in->code) == BPF_CALL) {
				if (in->src_reg)
					fail("a call of another program");
				r[0] = helper(in->imm, r);
				break;
			}
			/* fall through */
		case BPF_JMP32:
			if (jump(BPF_OP(in->code), *d, b, BPF_CLASS(in->code) == BPF_JMP))
				in += in->off;
			break;
		case BPF_LD:
			*d = (u32)in[0].imm | (u64)(u32)in[1].imm << 32;
			in++;
			break;
		case BPF_LDX:
			b = r[in->src_reg] + (u64)(s64)in->off;
			*d = 0;
			memcpy(d, (void *)(uintptr_t)b, width(in->code));
			break;
		default:
			store(in, r);
		}
	}
	fail("it does not end");
	return 0;
}

/* ----------------------------------------------------------- The work -- */

/* Which word of the saved registers the object was compiled for; the loader
 * would move it to where this kernel has it. */
static u32 saved_at(const char *name)
{
	const struct btf_type *t;
	u32 i;
	int id = btf__find_by_name_kind(object.btf, "pt_regs", BTF_KIND_STRUCT);

	if (id < 0)
		fail("no pt_regs");
	t = btf__type_by_id(object.btf, (u32)id);
	for (i = 0; i < btf_vlen(t); i++)
		if (!strcmp(btf__name_by_offset(object.btf, btf_members(t)[i].name_off), name))
			return btf_member_bit_offset(t, i) / 64;
	fail("no such register");
	return 0;
}

/* The program at the probe, with its three arguments. */
static u32 flush(const void *what, u64 size, u64 from)
{
	u64 regs[64] = { 0 };
	GElf_Sym s;

	if (!symbol_find("flush", &s))
		fail("no program flush");
#if defined(__x86_64__)
	regs[saved_at("di")] = (u64)(uintptr_t)what;
	regs[saved_at("si")] = size;
	regs[saved_at("dx")] = from;
#else
	regs[saved_at("user_regs")] = (u64)(uintptr_t)what;
	regs[saved_at("user_regs") + 1] = size;
	regs[saved_at("user_regs") + 2] = from;
#endif
	memset(room, 0, sizeof(room));
	return run((void *)(object.data[s.st_shndx] + s.st_value), regs);
}

static u32 flush_batch(u32 records)
{
	static u64 batch[VMSPAN_BATCH_BYTES / 8];
	struct vmspan_batch *head = (void *)batch;
	u32 n;

	head->magic = VMSPAN_BATCH_MAGIC;
	head->abi = ABI1;
	head->records = records;
	head->bytes = VMSPAN_BATCH_HEADER + records * VMSPAN_SLOT;
	n = flush(batch, head->bytes, 0);
	if (is_traced && memcmp(room + sizeof(struct wire_head), batch, head->bytes))
		fail("the batch was not carried");
	return n;
}

static u32 flush_marks(u32 count)
{
	static struct vmspan_mark marks[VMSPAN_FLUSH_MAX / sizeof(struct vmspan_mark)];
	const u32 bytes = count * (u32)sizeof(*marks);
	struct vmspan_ring ring = { .base = (u64)(uintptr_t)marks,
				    .mask = sizeof(marks) - 1,
				    .magic = VMSPAN_MAGIC,
				    .abi = VMSPAN_ABI };
	u32 i, n;

	for (i = 0; i < count; i++)
		marks[i] = (struct vmspan_mark){ i, i, VMSPAN_MARK_ENTER };
	n = flush(&ring, VMSPAN_FLUSH_MARKS | bytes, 0);
	if (is_traced && memcmp(room + sizeof(struct wire_marks), marks, bytes))
		fail("the marks were not carried");
	return n;
}

int main(int argc, char **argv)
{
	static const u32 batches[] = { 1, 126, VMSPAN_BATCH_SLOTS };
	static const u32 marks[] = { 1, 64, 256, 1024 };
	size_t i;

	if (argc != 2)
		fail("usage: bpfrun OBJECT");
	load(argv[1]);
	printf("bpf-flush-other %u\n", flush_marks(1));
	is_traced = true;
	for (i = 0; i < ARRAY_SIZE(marks); i++)
		printf("bpf-flush-marks-%u %u\n", marks[i], flush_marks(marks[i]));
	for (i = 0; i < ARRAY_SIZE(batches); i++)
		printf("bpf-flush-batch-%u %u\n", batches[i], flush_batch(batches[i]));
	return 0;
}
