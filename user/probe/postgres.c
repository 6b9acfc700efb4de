/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * struct Port of PostgreSQL (src/include/libpq/libpq-be.h) has the addresses of the database's and of the user's name
 * side by side, in this order, in every version. Where in it they are differs; but they are the only two texts there
 * that the title says in the other order, with one blank between them.
 */
#include "probe/postgres.h"
#include "probe/target.h"

#include <errno.h>
#include <string.h>

enum {
	/* So much of struct Port is looked through. In PostgreSQL 15 they are at byte 336. */
	PORT_BYTES = 1024,
	NAME_CAP = 64, /* NAMEDATALEN: a name is shorter */
	PAGE = 4096,
};

/* A text that ends in the memory that can be read, else "". */
static size_t read_name(u32 pid, u64 at, char to[NAME_CAP])
{
	u64 left = PAGE - at % PAGE;
	size_t n = left < NAME_CAP ? (size_t)left : NAME_CAP;

	to[0] = 0;
	if (!at || target_read(pid, at, to, n))
		return to[0] = 0;
	/* The page behind need not be there: it is read where the text goes on in it. */
	if (!memchr(to, 0, n) && (n == NAME_CAP || target_read(pid, at + n, to + n, NAME_CAP - n) ||
				  !memchr(to, 0, NAME_CAP)))
		return to[0] = 0;
	return strlen(to);
}

/* Do the names end in this one, which begins a word? */
static bool ends_in(const char *names, size_t n, const char *name, size_t len)
{
	return len && len <= n && !memcmp(names + n - len, name, len) &&
	       (len == n || names[n - len - 1] == ' ');
}

int postgres_database(u32 pid, u64 root, const char *names, size_t n, char *to, size_t cap)
{
	char database[NAME_CAP], user[NAME_CAP];
	u64 port, at, pair[2];
	size_t i, len;
	int r = target_read(pid, root, &port, sizeof(port));

	for (i = 0; !r && i + sizeof(pair) <= PORT_BYTES; i += sizeof(u64)) {
		at = port + i;
		r = target_read(pid, at, pair, sizeof(pair));
		if (r || !pair[1])
			continue;
		len = read_name(pid, pair[0], database);
		if (len + 1 >= n || len >= cap || !ends_in(names, n, database, len))
			continue;
		if (!ends_in(names, n - len - 1, user, read_name(pid, pair[1], user)))
			continue;
		memcpy(to, database, len + 1);
		return 0;
	}
	return r ? r : -ENOENT;
}
