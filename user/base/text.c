/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/text.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static u32 utf8_decode(const char *s, size_t len, size_t *n)
{
	/* Smallest code point of each length: shorter forms are invalid. */
	static const u32 least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	u8 c = (u8)s[0];
	u32 cp;
	size_t i;

	*n = c < 0x80 ? 1 : c < 0xc0 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf8 ? 4 : 0;
	if (!*n || *n > len) {
		*n = 0;
		return 0;
	}
	cp = *n == 1 ? c : c & (0x7fu >> *n);
	for (i = 1; i < *n; i++) {
		if (((u8)s[i] & 0xc0) != 0x80) {
			*n = 0;
			return 0;
		}
		cp = cp << 6 | ((u8)s[i] & 0x3f);
	}
	if (cp < least[*n] || cp > 0x10ffff || (cp >= 0xd800 && cp < 0xe000))
		*n = 0;
	return cp;
}

size_t text_utf8_len(const char *s, size_t len)
{
	size_t n;

	utf8_decode(s, len, &n);
	return n;
}

/* C0, C1, DEL; line and paragraph separators; bidirectional controls. */
static bool text_unsafe(u32 cp)
{
	return cp < 0x20 || (cp >= 0x7f && cp < 0xa0) || cp == 0x61c ||
	       (cp >= 0x200e && cp <= 0x200f) || (cp >= 0x2028 && cp <= 0x202e) ||
	       (cp >= 0x2066 && cp <= 0x2069) || cp == 0xfeff;
}

char *text_clean(char *dst, size_t cap, const char *s, size_t len)
{
	static const char bad[] = "\xef\xbf\xbd";
	size_t at = 0, i = 0;

	while (i < len) {
		size_t n, put;
		u32 cp = utf8_decode(s + i, len - i, &n);
		bool ok = n && !text_unsafe(cp);

		put = ok ? n : 3;
		if (at + put >= cap)
			break;
		memcpy(dst + at, ok ? s + i : bad, put);
		at += put;
		i += n ? n : 1;
	}
	dst[at] = 0;
	return dst;
}

char *text_ns(char dst[TEXT_NS_MAX], u64 ns)
{
	static const struct {
		const char *unit;
		u64 ns;
	} units[] = { { "s", NSEC_PER_SEC }, { "ms", 1000000 }, { "us", 1000 } };
	size_t i;

	if (ns >= 3600 * NSEC_PER_SEC) {
		u64 minutes = ns / (60 * NSEC_PER_SEC);

		snprintf(dst, TEXT_NS_MAX, "%" PRIu64 "h%02um", minutes / 60,
			 (unsigned int)(minutes % 60));
		return dst;
	}
	for (i = 0; i < ARRAY_SIZE(units); i++) {
		double v = (double)ns / (double)units[i].ns;

		if (ns < units[i].ns)
			continue;
		snprintf(dst, TEXT_NS_MAX, "%.*f %s",
			 v < 9.995   ? 2
			 : v < 99.95 ? 1
				     : 0,
			 v, units[i].unit);
		return dst;
	}
	snprintf(dst, TEXT_NS_MAX, "%u ns", (unsigned int)ns);
	return dst;
}

char *text_bytes(char dst[TEXT_BYTES_MAX], u64 bytes)
{
	static const char *const units[] = { "B", "KB", "MB", "GB", "TB", "PB", "EB" };
	double v = (double)bytes;
	size_t i = 0;

	for (; v >= 1024 && i + 1 < ARRAY_SIZE(units); i++)
		v /= 1024;
	snprintf(dst, TEXT_BYTES_MAX, "%.*f %s", !i || v >= 100 ? 0 : v >= 10 ? 1 : 2, v, units[i]);
	return dst;
}

struct unit {
	const char *name;
	double scale;
};

static int parse_scaled(const char *s, const struct unit *units, size_t n, u64 *out)
{
	char *end;
	double v;
	size_t i;

	/* No sign, no hex, no "inf": a digit or a point must come first. */
	if (!strchr("0123456789.", s[0]) || !s[0] || strpbrk(s, "xXpP"))
		return -EINVAL;
	v = strtod(s, &end);
	for (i = 0; i < n; i++) {
		if (strcmp(end, units[i].name))
			continue;
		v *= units[i].scale;
		if (!(v < 9.2e18))
			return -EINVAL;
		*out = (u64)(v + 0.5);
		return 0;
	}
	return -EINVAL;
}

int text_parse_ns(const char *s, u64 *ns)
{
	static const struct unit units[] = { { "", 1e9 },    { "s", 1e9 }, { "ms", 1e6 },
					     { "us", 1e3 },  { "ns", 1 },  { "m", 60e9 },
					     { "h", 3600e9 } };

	return parse_scaled(s, units, ARRAY_SIZE(units), ns);
}

int text_parse_bytes(const char *s, u64 *bytes)
{
	static const struct unit units[] = {
		{ "", 1 },
		{ "B", 1 },
		{ "k", 1024 },
		{ "K", 1024 },
		{ "KB", 1024 },
		{ "M", 1048576 },
		{ "MB", 1048576 },
		{ "G", 1073741824.0 },
		{ "GB", 1073741824.0 },
	};

	return parse_scaled(s, units, ARRAY_SIZE(units), bytes);
}

int text_parse_u64(const char *s, u64 max, u64 *v)
{
	char *end;

	if (s[0] < '0' || s[0] > '9')
		return -EINVAL;
	errno = 0;
	*v = strtoull(s, &end, 10);
	return errno || *end || *v > max ? -EINVAL : 0;
}

bool glob_matches(const char *name, const char *glob)
{
	const char *colon;

	if (!glob || !fnmatch(glob, name, 0))
		return true;
	colon = strchr(name, ':');
	return colon && !strchr(glob, ':') && !fnmatch(glob, colon + 1, 0);
}

void glob_quote(char *to, size_t cap, const char *name)
{
	size_t n = 0;

	for (; *name && n + 2 < cap; name++) {
		if (strchr("*?[\\", *name))
			to[n++] = '\\';
		to[n++] = *name;
	}
	to[n] = 0;
}
