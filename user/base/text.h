/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Text from elsewhere made safe, and numbers as people write and read them.
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include "base/types.h"

/* Bytes of the valid UTF-8 character at s (1 to 4), or 0. len >= 1. */
size_t text_utf8_len(const char *s, size_t len);

/*
 * Copies s for a terminal: control characters, escapes, bidirectional
 * controls and invalid UTF-8 become U+FFFD. Cut at a character's edge to fit
 * `cap` (>= 4), always terminated. Returns dst.
 */
char *text_clean(char *dst, size_t cap, const char *s, size_t len);

/* "812 ns", "3.42 us", "17.1 ms", "2.05 s", "1h03m". At most 16 bytes with
 * the terminator. Returns dst. */
#define TEXT_NS_MAX 16
char *text_ns(char dst[TEXT_NS_MAX], u64 ns);
/* "512 B", "3.4 KB", "1.20 MB" (powers of 1024). */
#define TEXT_BYTES_MAX 16
char *text_bytes(char dst[TEXT_BYTES_MAX], u64 bytes);

/* Does "kind:name" match? fnmatch(3), on the name alone when the glob holds no
 * ':'. NULL matches all. */
bool glob_matches(const char *name, const char *glob);
/* A glob that matches the name and nothing else; 2 * strlen(name) + 1 bytes always suffice. */
void glob_quote(char *to, size_t cap, const char *name);

/* "64ms", "1.5s", "250us", "2m", "1h", plain numbers are seconds -> ns.
 * 0 or -EINVAL (empty, negative, unknown unit, more than 2^63 ns). */
int text_parse_ns(const char *s, u64 *ns);
/* "16M", "512k", "1G", plain bytes -> bytes. 0 or -EINVAL. */
int text_parse_bytes(const char *s, u64 *bytes);
/* Decimal digits only, at most `max`. 0 or -EINVAL. */
int text_parse_u64(const char *s, u64 max, u64 *v);

#endif
