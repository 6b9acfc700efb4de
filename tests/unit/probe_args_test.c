/* SPDX-License-Identifier: BSD-2-Clause */
/* What a probe's note says of its arguments, and where the kernel side is told of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "attach/vm_sites.h"
#include "base/wire.h"
#include "probe/probe_args.h"

#include <asm/ptrace.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>

#ifdef __x86_64__

#define AT(reg) offsetof(struct pt_regs, reg)
#define NONE PROBE_NO_REGISTER

static void same(const struct probe_arg *a, const struct probe_arg *b, const char *text)
{
	if (memcmp(a, b, sizeof(*a)))
		fail_msg(
			"%s: value %lld, base %u, index %u, shift %u, is %u, bytes %u, negative %u",
			text, (long long)a->value, a->base, a->index, a->shift, a->is, a->bytes,
			a->negative);
}

/* Rule: each operand of the compiler's is read as what it is. */
static void operands_are_read(void **state)
{
	static const struct {
		const char *text;
		struct probe_arg arg;
	} cases[] = {
		{ "8@%rbp", { 0, AT(rbp), NONE, 0, PROBE_ARG_SUM, 8, 0 } },
		{ "-4@%eax", { 0, AT(rax), NONE, 0, PROBE_ARG_SUM, 4, 1 } },
		{ "-4@%r13d", { 0, AT(r13), NONE, 0, PROBE_ARG_SUM, 4, 1 } },
		{ "2@%si", { 0, AT(rsi), NONE, 0, PROBE_ARG_SUM, 2, 0 } },
		{ "1@%dil", { 0, AT(rdi), NONE, 0, PROBE_ARG_SUM, 1, 0 } },
		{ "-1@%r8b", { 0, AT(r8), NONE, 0, PROBE_ARG_SUM, 1, 1 } },
		{ "8@(%rsp)", { 0, AT(rsp), NONE, 0, PROBE_ARG_IN_MEMORY, 8, 0 } },
		{ "-4@112(%rsp)", { 112, AT(rsp), NONE, 0, PROBE_ARG_IN_MEMORY, 4, 1 } },
		{ "8@-320(%rbp)", { -320ull, AT(rbp), NONE, 0, PROBE_ARG_IN_MEMORY, 8, 0 } },
		{ "8@(%rax,%rbx)", { 0, AT(rax), AT(rbx), 0, PROBE_ARG_IN_MEMORY, 8, 0 } },
		{ "4@-8(%r9,%r10,8)", { -8ull, AT(r9), AT(r10), 3, PROBE_ARG_IN_MEMORY, 4, 0 } },
		{ "4@0x10(,%rdx,4)", { 16, NONE, AT(rdx), 2, PROBE_ARG_IN_MEMORY, 4, 0 } },
		{ "-4@$-5", { -5ull, NONE, NONE, 0, PROBE_ARG_SUM, 4, 1 } },
		{ "8@$18446744073709551615", { ~0ull, NONE, NONE, 0, PROBE_ARG_SUM, 8, 0 } },
	};
	struct probe_args args;
	const char *bad;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(probe_args_parse(cases[i].text, &args, &bad), 0);
		same(&args.of[0], &cases[i].arg, cases[i].text);
		assert_int_equal(args.of[1].is, PROBE_ARG_NONE);
	}
}

/* Rule: a register is one whatever its width, and no two share a place. */
static void registers_are_told_apart(void **state)
{
	static const char *const names[] = {
		"rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "rsp",
		"r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"
	};
	u16 at[ARRAY_SIZE(names)];
	struct probe_args args;
	const char *bad;
	char text[16];
	size_t i, k;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(text, sizeof(text), "8@%%%s", names[i]);
		assert_int_equal(probe_args_parse(text, &args, &bad), 0);
		at[i] = args.of[0].base;
		assert_true(at[i] + sizeof(u64) <= sizeof(struct pt_regs));
		for (k = 0; k < i; k++)
			assert_int_not_equal(at[i], at[k]);
	}
}

/* Rule: Debian's own VMs describe theirs like this. */
static void all_of_a_note_are_read(void **state)
{
	struct probe_args args;
	const char *bad;

	(void)state;
	assert_int_equal(
		probe_args_parse("8@%rax 8@%r14 -4@%r13d 8@(%rsp) 8@16(%rsp)", &args, &bad), 0);
	assert_int_equal(args.of[0].base, AT(rax));
	assert_int_equal(args.of[1].base, AT(r14));
	assert_int_equal(args.of[2].base, AT(r13));
	assert_int_equal(args.of[3].base, AT(rsp));
	assert_int_equal(args.of[4].value, 16);
	/* What comes behind those that are handed on does not matter. */
	assert_int_equal(
		probe_args_parse("-8@%rax 8@%rdx -4@%ecx 8@%rsi -4@%edi 8f@%xmm0 ?", &args, &bad),
		0);
	assert_int_equal(args.of[4].base, AT(rdi));
	assert_int_equal(probe_args_parse("", &args, &bad), 0);
	assert_int_equal(args.of[0].is, PROBE_ARG_NONE);
}

/* Rule: what is not known is refused, by its place, and nothing of the note is left. */
static void what_is_not_known_is_refused(void **state)
{
	static const char *const cases[] = {
		"8f@%xmm0",
		"8@%xmm0",
		"1@g8(%rip)",
		"8@8(%rip)",
		"8@name",
		"1@%ah",
		"8@%st",
		"3@%rax",
		"16@%rax",
		"8%rax",
		"8@",
		"8",
		"@%rax",
		"-@%rax",
		"8@(%eax)",
		"8@8(%rbp",
		"8@(%rax,%rbx,3)",
		"8@(%rax,%rbx,16)",
		"8@(%rax,%rbx,)",
		"8@(,)",
		"8@()",
		"8@$",
		"8@$99999999999999999999",
		"8@$-99999999999999999999",
		"8@$ 5",
		"8@$+5",
		"8@%fs:16",
		"8@%raxx",
		"8@%",
		"8@4096",
		"8@%rax,",
		"8@-(%rbp)",
		"8@*%rax",
		"8@[sp, 8]",
		"0@%rax",
		"8 @%rax",
	};
	static const struct probe_args none;
	struct probe_args args;
	char text[80];
	const char *bad;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		snprintf(text, sizeof(text), "8@%%rbx  %s 8@%%rcx", cases[i]);
		if (probe_args_parse(text, &args, &bad) != -ENOTSUP)
			fail_msg("taken: %s", cases[i]);
		assert_ptr_equal(bad, text + strlen("8@%rbx  "));
		assert_memory_equal(&args, &none, sizeof(none));
	}
}

/* Rule: whatever a note says, what the kernel side is told stays within what it reads. */
static void any_text_is_read_within_bounds(void **state)
{
	static const char letters[] = "0123456789-@$%(), raxbpsi8dlwfx";
	struct probe_args args;
	u64 random = 88172645463325252;
	const char *bad;
	char text[64];
	u32 i, k;

	(void)state;
	for (i = 0; i < 200000; i++) {
		strcpy(text, "8@-16(%rsp,%rax,4) -4@%r13d 2@$7");
		for (k = i % 5; k; k--) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			text[random % 33] = letters[(random >> 32) % sizeof(letters)];
		}
		bad = NULL;
		if (probe_args_parse(text, &args, &bad)) {
			assert_true(bad >= text && bad <= text + strlen(text));
			continue;
		}
		for (k = 0; k < PROBE_ARGS; k++) {
			const struct probe_arg *a = &args.of[k];

			assert_true(a->is <= PROBE_ARG_IN_MEMORY && a->shift <= 3);
			assert_true(!a->is || a->base == NONE ||
				    a->base + sizeof(u64) <= sizeof(struct pt_regs));
			assert_true(!a->is || a->index == NONE ||
				    a->index + sizeof(u64) <= sizeof(struct pt_regs));
			assert_true(!a->is || a->bytes == 1 || a->bytes == 2 || a->bytes == 4 ||
				    a->bytes == 8);
		}
	}
}

/* ---- The kernel side's table ---- */

static u32 told_at, told;
static int refuses;

/* Instead of libbpf's. */
int bpf_map_update_elem(int fd, const void *key, const void *value, __u64 flags)
{
	(void)value;
	(void)flags;
	assert_int_equal(fd, 7);
	told++;
	told_at = *(const u32 *)key;
	errno = refuses;
	return refuses ? -1 : 0;
}

static struct probe_args of_value(u64 value)
{
	return (struct probe_args){ .of[0] = { value, NONE, NONE, 0, PROBE_ARG_SUM, 8, 0 } };
}

/* Rule: what is described alike has one place, which is used again when nobody has it any more. */
static void alike_have_one_place(void **state)
{
	struct vm_args a = { .fd = 7 };
	const struct probe_args none = { 0 }, one = of_value(1), two = of_value(2),
				three = of_value(3), four = of_value(4);
	int at_one, at_two;

	(void)state;
	told = 0;
	assert_int_equal(vm_args_take(&a, &none), 0);
	assert_int_equal(told, 0);
	at_one = vm_args_take(&a, &one);
	assert_true(at_one > 0);
	assert_int_equal(told_at, at_one);
	at_two = vm_args_take(&a, &two);
	assert_true(at_two > 0 && at_two != at_one);
	assert_int_equal(vm_args_take(&a, &one), at_one);
	assert_int_equal(told, 2);
	vm_args_give(&a, (u32)at_one);
	assert_int_equal(vm_args_take(&a, &three), at_two + 1);
	vm_args_give(&a, (u32)at_one);
	assert_int_equal(vm_args_take(&a, &two), at_two);
	assert_int_equal(vm_args_take(&a, &four), at_one);
	vm_args_give(&a, 0);
	vm_args_free(&a);
}

/* Rule: a full table refuses, a place given back is there again; what the kernel refuses has none. */
static void a_full_table_refuses(void **state)
{
	struct vm_args a = { .fd = 7 };
	struct probe_args args;
	u32 i;

	(void)state;
	refuses = EPERM;
	args = of_value(1);
	assert_int_equal(vm_args_take(&a, &args), -EPERM);
	refuses = 0;
	for (i = 1; i < PROBE_ARGS_SETS; i++) {
		args = of_value(i);
		assert_int_equal(vm_args_take(&a, &args), i);
	}
	args = of_value(PROBE_ARGS_SETS);
	assert_int_equal(vm_args_take(&a, &args), -ENOSPC);
	vm_args_give(&a, 17);
	assert_int_equal(vm_args_take(&a, &args), 17);
	vm_args_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(operands_are_read),
		cmocka_unit_test(registers_are_told_apart),
		cmocka_unit_test(all_of_a_note_are_read),
		cmocka_unit_test(what_is_not_known_is_refused),
		cmocka_unit_test(any_text_is_read_within_bounds),
		cmocka_unit_test(alike_have_one_place),
		cmocka_unit_test(a_full_table_refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
	return 0;
}

#endif
