/* SPDX-License-Identifier: BSD-2-Clause */
#include "probe/probe_args.h"

#include "base/wire.h"

#include <asm/ptrace.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* ---- Registers ---- */

#ifdef __x86_64__

#define WIDTHS 4 /* of 8, 4, 2 and 1 bytes */
static const struct {
	u16 at;
	char names[WIDTHS][5];
} registers[] = {
	{ offsetof(struct pt_regs, rax), { "rax", "eax", "ax", "al" } },
	{ offsetof(struct pt_regs, rbx), { "rbx", "ebx", "bx", "bl" } },
	{ offsetof(struct pt_regs, rcx), { "rcx", "ecx", "cx", "cl" } },
	{ offsetof(struct pt_regs, rdx), { "rdx", "edx", "dx", "dl" } },
	{ offsetof(struct pt_regs, rsi), { "rsi", "esi", "si", "sil" } },
	{ offsetof(struct pt_regs, rdi), { "rdi", "edi", "di", "dil" } },
	{ offsetof(struct pt_regs, rbp), { "rbp", "ebp", "bp", "bpl" } },
	{ offsetof(struct pt_regs, rsp), { "rsp", "esp", "sp", "spl" } },
	{ offsetof(struct pt_regs, r8), { "r8", "r8d", "r8w", "r8b" } },
	{ offsetof(struct pt_regs, r9), { "r9", "r9d", "r9w", "r9b" } },
	{ offsetof(struct pt_regs, r10), { "r10", "r10d", "r10w", "r10b" } },
	{ offsetof(struct pt_regs, r11), { "r11", "r11d", "r11w", "r11b" } },
	{ offsetof(struct pt_regs, r12), { "r12", "r12d", "r12w", "r12b" } },
	{ offsetof(struct pt_regs, r13), { "r13", "r13d", "r13w", "r13b" } },
	{ offsetof(struct pt_regs, r14), { "r14", "r14d", "r14w", "r14b" } },
	{ offsetof(struct pt_regs, r15), { "r15", "r15d", "r15w", "r15b" } },
};

/* "%rax" at *s, and moves *s behind it. An address has whole registers. */
static bool take_register(const char **s, bool whole, u16 *at)
{
	size_t i, w, n;

	if (**s != '%')
		return false;
	n = strspn(*s + 1, "abcdefghijklmnopqrstuvwxyz0123456789");
	for (i = 0; i < ARRAY_SIZE(registers); i++)
		for (w = 0; w < (whole ? 1 : WIDTHS); w++) {
			const char *name = registers[i].names[w];

			if (strlen(name) != n || strncmp(*s + 1, name, n))
				continue;
			*at = registers[i].at;
			*s += 1 + n;
			return true;
		}
	return false;
}

/* ---- Operands ---- */

/* strtoll() takes spaces and plus signs too. */
static bool take_number(const char **s, u64 *to)
{
	const char *digits = *s + (**s == '-');
	char *end;

	if (*digits < '0' || *digits > '9')
		return false;
	errno = 0;
	*to = **s == '-' ? (u64)strtoll(*s, &end, 0) : strtoull(*s, &end, 0);
	*s = end;
	return !errno;
}

static bool take_shift(const char **s, u8 *shift)
{
	u64 scale;

	*shift = 0;
	if (**s != ',')
		return true;
	(*s)++;
	if (!take_number(s, &scale))
		return false;
	while (*shift < 3 && scale != 1ull << *shift)
		++*shift;
	return scale == 1ull << *shift;
}

/* "16(%rbp)", "(%rbp,%rax,8)", "(,%rax,8)". */
static bool take_memory(const char **s, struct probe_arg *a)
{
	a->is = PROBE_ARG_IN_MEMORY;
	if (**s != '(' && !take_number(s, &a->value))
		return false;
	if (*(*s)++ != '(' || (**s != ',' && !take_register(s, true, &a->base)))
		return false;
	if (**s == ',') {
		(*s)++;
		if (!take_register(s, true, &a->index) || !take_shift(s, &a->shift))
			return false;
	}
	return *(*s)++ == ')';
}

static bool take_operand(const char **s, struct probe_arg *a)
{
	a->base = a->index = PROBE_NO_REGISTER;
	a->is = PROBE_ARG_SUM;
	switch (**s) {
	case '$':
		(*s)++;
		return take_number(s, &a->value);
	case '%':
		return take_register(s, false, &a->base);
	default:
		return take_memory(s, a);
	}
}

static bool take_arg(const char **s, struct probe_arg *a)
{
	u64 bytes;

	a->negative = **s == '-';
	*s += a->negative;
	if (!take_number(s, &bytes) || (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8))
		return false;
	a->bytes = (u8)bytes;
	if (*(*s)++ != '@' || !take_operand(s, a))
		return false;
	return !**s || **s == ' ';
}

int probe_args_parse(const char *text, struct probe_args *to, const char **bad)
{
	u32 n;

	memset(to, 0, sizeof(*to));
	text += strspn(text, " ");
	for (n = 0; n < PROBE_ARGS && *text; n++) {
		*bad = text;
		if (!take_arg(&text, &to->of[n])) {
			memset(to, 0, sizeof(*to));
			return -ENOTSUP;
		}
		text += strspn(text, " ");
	}
	return 0;
}

#else

int probe_args_parse(const char *text, struct probe_args *to, const char **bad)
{
	memset(to, 0, sizeof(*to));
	*bad = text;
	return *text ? -ENOTSUP : 0;
}

#endif
