/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/host/names.h"

#include <stdio.h>
#include <string.h>

static const char *const pages[] = { "shop", "mail", "news",  "video",
				     "wiki", "bank", "forum", "maps" };

static const struct {
	const char *name, *script;
} addons[] = {
	{ "tracker", "tracker" },       { "adblock", "adblock" },     { "darkmode", "darkmode" },
	{ "spellcheck", "spellcheck" }, { "translate", "translate" }, { "coupons", "tracker" },
	{ "popup-guard", "adblock" },   { "contrast", "darkmode" },   { "grammar", "spellcheck" },
	{ "dictionary", "translate" },
};

static void numbered(const char *const name, u32 round, char out[NAME_SIZE])
{
	if (round)
		snprintf(out, NAME_SIZE, "%s %u", name, round + 1);
	else
		snprintf(out, NAME_SIZE, "%s", name);
}

void name_page(u32 i, char out[NAME_SIZE])
{
	numbered(pages[i % ARRAY_SIZE(pages)], i / ARRAY_SIZE(pages), out);
}

void name_addon(u32 i, char out[NAME_SIZE])
{
	numbered(addons[i % ARRAY_SIZE(addons)].name, i / ARRAY_SIZE(addons), out);
}

const char *name_addon_script(u32 i)
{
	return addons[i % ARRAY_SIZE(addons)].script;
}

/* Each follows a plain name. None has a zero byte: names end there. */
static const char *const dresses[] = {
	" \"quoted\" \\ 'single' </script><b>&amp;", /* JSON, HTML, shell */
	" \x01\x08\t\r\nnext line\x7f", /* control bytes */
	" \x1b[31;1mred\x1b[0m\x1b]0;title\x07\x1b[2J", /* terminal escapes */
	" \xff\xfe\xc3( \xed\xa0\x80 \xf8\x88\x80\x80\x80 \xc0\xaf", /* never UTF-8 */
	" \xe2\x80\xae"
	"drowssap \xe2\x81\xa6\xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d", /* bidi */
	" %s%n%x ../../etc/passwd $(id) `id` ;{}", /* formats, paths, shell */
	" \xf0\x9f\x98\x80\xcc\x81\xe2\x80\x8d\xe5\xad\x97\xc2\x9b"
	"31m", /* wide, C1 */
};

/* To 255 bytes, the last character cut in its middle. */
static void lengthen(char out[NAME_SIZE])
{
	static const char tail[] = "-\xe9\x95\xb7"; /* 4 bytes: a dash, a long character */
	size_t n = strlen(out), i;

	for (i = 0; n < VMSPAN_NAME_MAX; i++, n++)
		out[n] = tail[i % (sizeof(tail) - 1)];
	out[n] = '\0';
}

void name_dress(const struct options *o, const char *plain, u32 i, char out[NAME_SIZE])
{
	snprintf(out, NAME_SIZE, "%s%s", plain, o->hostile ? dresses[i % ARRAY_SIZE(dresses)] : "");
	if (o->long_names || (o->hostile && i % 8 == 7))
		lengthen(out);
}
