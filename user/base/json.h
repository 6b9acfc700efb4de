/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The one JSON writer. It streams, puts the commas, and escapes: control
 * bytes as \u00XX, '<' as \u003c (so output may stand inside an HTML script
 * element), invalid UTF-8 as U+FFFD. Numbers are printed from integers; there
 * is no NaN, no infinity and no locale in the output.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include "base/out.h"

#define JSON_DEPTH 32

struct json {
	struct out *out; /* borrowed */
	unsigned int depth;
	bool more[JSON_DEPTH + 1]; /* a value stands before, at this depth */
	bool after_key;
};

void json_open(struct json *j, struct out *out);
/* After a complete value: a line end, ready for another value. */
void json_line(struct json *j);

void json_object(struct json *j);
void json_end_object(struct json *j);
void json_array(struct json *j);
void json_end_array(struct json *j);
/* key: a word of ours, which is not escaped. */
void json_key(struct json *j, const char *key);
/* A key that comes from elsewhere. */
void json_key_text(struct json *j, const char *text);

void json_u64(struct json *j, u64 v);
void json_i64(struct json *j, s64 v);
void json_bool(struct json *j, bool v);
void json_null(struct json *j);
void json_string(struct json *j, const char *s);
void json_bytes(struct json *j, const char *s, size_t len);
/* ns / 10^digits as a decimal number with all its digits: 1234567 ns with 3
 * is 1234.567 (microseconds), with 6 is 1.234567 (milliseconds). */
void json_decimal(struct json *j, u64 ns, unsigned int digits);

/* The same with a key before it. */
void json_key_u64(struct json *j, const char *key, u64 v);
void json_key_i64(struct json *j, const char *key, s64 v);
void json_key_bool(struct json *j, const char *key, bool v);
void json_key_string(struct json *j, const char *key, const char *s);
void json_key_object(struct json *j, const char *key);
void json_key_array(struct json *j, const char *key);

#endif
