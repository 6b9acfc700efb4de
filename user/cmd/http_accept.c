/* SPDX-License-Identifier: BSD-2-Clause */
/* Content negotiation, as much of it as choosing among a few types takes. */
#include "cmd/http.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* A token or parameter at *at up to one of `ends`, without the blanks around it. */
static size_t piece(const char **at, const char *end, char until)
{
	const char *stop = memchr(*at, until, (size_t)(end - *at));
	size_t n;

	stop = stop ? stop : end;
	while (*at < stop && isspace((unsigned char)**at))
		++*at;
	n = (size_t)(stop - *at);
	while (n && isspace((unsigned char)(*at)[n - 1]))
		n--;
	return n;
}

static bool same(const char *a, size_t n, const char *b, size_t m)
{
	return n == m && !strncasecmp(a, b, n);
}

/* Has the type this parameter? */
static bool has(const char *type, const char *parameter, size_t n)
{
	const char *end = type + strlen(type), *at = type;
	size_t len;

	while ((at = memchr(at, ';', (size_t)(end - at)))) {
		at++;
		len = piece(&at, end, ';');
		if (same(at, len, parameter, n))
			return true;
	}
	return false;
}

/* In thousandths. */
static unsigned int quality(const char *text, size_t n)
{
	char number[8];

	if (n >= sizeof(number))
		return 0;
	memcpy(number, text, n);
	number[n] = 0;
	return (unsigned int)(strtod(number, NULL) * 1000 + 0.5);
}

/* How much a range of the header wants the type. What it says of versions and
 * character sets is not looked at; of the message it must say the same. */
static unsigned int wanted(const char *range, const char *end, const char *type)
{
	const char *at = range, *name = type;
	size_t n = piece(&at, end, ';'), m = piece(&name, type + strlen(type), ';');
	unsigned int q = 1000;
	bool proto = false;

	if (!same(at, n, name, m))
		return 0;
	for (at += n; (at = memchr(at, ';', (size_t)(end - at))); at += n) {
		at++;
		n = piece(&at, end, ';');
		if (n > 2 && !strncasecmp(at, "q=", 2))
			q = quality(at + 2, n - 2);
		else if (!strncasecmp(at, "proto=", 6) || !strncasecmp(at, "encoding=", 9))
			proto = true;
		if ((!strncasecmp(at, "proto=", 6) || !strncasecmp(at, "encoding=", 9)) &&
		    !has(type, at, n))
			return 0;
	}
	/* Protocol Buffers of what nobody has said. */
	return strstr(type, "proto=") && !proto ? 0 : q;
}

u32 http_choose(const char *accept, const char *const *types)
{
	const char *at = accept, *end;
	unsigned int best = 0, q;
	u32 chosen = 0, i;

	while (at && *at) {
		end = at + strcspn(at, ",");
		for (i = 0; types[i]; i++) {
			q = wanted(at, end, types[i]);
			if (q > best) {
				best = q;
				chosen = i;
			}
		}
		at = *end ? end + 1 : end;
	}
	return chosen;
}
