/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/json.h"
#include "base/text.h"

#include <assert.h>
#include <string.h>

void json_open(struct json *j, struct out *out)
{
	*j = (struct json){ .out = out };
}

void json_line(struct json *j)
{
	assert(!j->depth);
	out_write(j->out, "\n", 1);
	j->more[0] = false;
}

static void json_separate(struct json *j)
{
	if (j->after_key)
		j->after_key = false;
	else if (j->more[j->depth])
		out_write(j->out, ",", 1);
	j->more[j->depth] = true;
}

static void json_begin(struct json *j, const char *bracket)
{
	json_separate(j);
	assert(j->depth < JSON_DEPTH);
	out_write(j->out, bracket, 1);
	j->more[++j->depth] = false;
}

static void json_end(struct json *j, const char *bracket)
{
	assert(j->depth);
	j->depth--;
	out_write(j->out, bracket, 1);
}

void json_object(struct json *j)
{
	json_begin(j, "{");
}

void json_end_object(struct json *j)
{
	json_end(j, "}");
}

void json_array(struct json *j)
{
	json_begin(j, "[");
}

void json_end_array(struct json *j)
{
	json_end(j, "]");
}

void json_key(struct json *j, const char *key)
{
	json_separate(j);
	out_write(j->out, "\"", 1);
	out_write(j->out, key, strlen(key));
	out_write(j->out, "\":", 2);
	j->after_key = true;
}

void json_key_text(struct json *j, const char *text)
{
	json_string(j, text);
	out_write(j->out, ":", 1);
	j->after_key = true;
}

/* Two digits a division: numbers are most of what an export writes. */
static const char pairs[] = "0001020304050607080910111213141516171819"
			    "2021222324252627282930313233343536373839"
			    "4041424344454647484950515253545556575859"
			    "6061626364656667686970717273747576777879"
			    "8081828384858687888990919293949596979899";

static void json_digits(struct json *j, u64 v, bool minus)
{
	char text[24], *p = text + sizeof(text);

	for (; v >= 100; v /= 100) {
		p -= 2;
		memcpy(p, pairs + v % 100 * 2, 2);
	}
	if (v >= 10) {
		p -= 2;
		memcpy(p, pairs + v * 2, 2);
	} else {
		*--p = (char)('0' + v);
	}
	if (minus)
		*--p = '-';
	out_write(j->out, p, (size_t)(text + sizeof(text) - p));
}

void json_u64(struct json *j, u64 v)
{
	json_separate(j);
	json_digits(j, v, false);
}

void json_i64(struct json *j, s64 v)
{
	json_separate(j);
	json_digits(j, v < 0 ? -(u64)v : (u64)v, v < 0);
}

void json_decimal(struct json *j, u64 ns, unsigned int digits)
{
	char text[40], *p = text + sizeof(text);
	unsigned int i;

	json_separate(j);
	for (i = 0; i < digits; i++, ns /= 10)
		*--p = (char)('0' + ns % 10);
	*--p = '.';
	do {
		*--p = (char)('0' + ns % 10);
		ns /= 10;
	} while (ns);
	out_write(j->out, p, (size_t)(text + sizeof(text) - p));
}

void json_bool(struct json *j, bool v)
{
	json_separate(j);
	out_puts(j->out, v ? "true" : "false");
}

void json_null(struct json *j)
{
	json_separate(j);
	out_puts(j->out, "null");
}

void json_bytes(struct json *j, const char *s, size_t len)
{
	static const char hex[] = "0123456789abcdef";
	size_t plain = 0, i = 0;

	json_separate(j);
	out_write(j->out, "\"", 1);
	while (i < len) {
		u8 c = (u8)s[i];
		size_t n = 1;

		if (c >= 0x20 && c < 0x7f && c != '"' && c != '\\' && c != '<') {
			i++;
			continue;
		}
		if (c >= 0x80) {
			n = text_utf8_len(s + i, len - i);
			if (n) {
				i += n;
				continue;
			}
		}
		out_write(j->out, s + plain, i - plain);
		if (c >= 0x80) {
			out_puts(j->out, "\xef\xbf\xbd");
		} else if (c == '"' || c == '\\') {
			out_write(j->out, c == '"' ? "\\\"" : "\\\\", 2);
		} else {
			char esc[6] = { '\\', 'u', '0', '0', hex[c >> 4], hex[c & 15] };

			out_write(j->out, esc, sizeof(esc));
		}
		plain = ++i;
	}
	out_write(j->out, s + plain, len - plain);
	out_write(j->out, "\"", 1);
}

void json_string(struct json *j, const char *s)
{
	json_bytes(j, s, strlen(s));
}

void json_key_u64(struct json *j, const char *key, u64 v)
{
	json_key(j, key);
	json_u64(j, v);
}

void json_key_i64(struct json *j, const char *key, s64 v)
{
	json_key(j, key);
	json_i64(j, v);
}

void json_key_bool(struct json *j, const char *key, bool v)
{
	json_key(j, key);
	json_bool(j, v);
}

void json_key_string(struct json *j, const char *key, const char *s)
{
	json_key(j, key);
	json_string(j, s);
}

void json_key_object(struct json *j, const char *key)
{
	json_key(j, key);
	json_object(j);
}

void json_key_array(struct json *j, const char *key)
{
	json_key(j, key);
	json_array(j);
}
