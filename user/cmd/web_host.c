/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/web_host.h"
#include "base/text.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* "HOST", "HOST:PORT", "[V6]:PORT" -> host and port; *port stays if absent. */
static bool split(const char *s, char host[64], u16 *port)
{
	const char *end, *colon;
	u64 number;

	if (s[0] == '[') {
		end = strchr(++s, ']');
		if (!end || (end[1] && end[1] != ':'))
			return false;
		colon = end[1] ? end + 1 : NULL;
	} else {
		colon = strchr(s, ':');
		end = colon ? colon : s + strlen(s);
	}
	if (end == s || end - s >= 64)
		return false;
	memcpy(host, s, (size_t)(end - s));
	host[end - s] = 0;
	if (!colon)
		return true;
	if (text_parse_u64(colon + 1, UINT16_MAX, &number))
		return false;
	*port = (u16)number;
	return true;
}

enum where {
	NOT_AN_ADDRESS,
	LOOPBACK,
	ELSEWHERE
};

static enum where where_is(const char *host)
{
	struct in6_addr six;
	struct in_addr four;

	if (inet_pton(AF_INET, host, &four) == 1)
		return ntohl(four.s_addr) >> 24 == 127 ? LOOPBACK : ELSEWHERE;
	if (inet_pton(AF_INET6, host, &six) == 1)
		return IN6_IS_ADDR_LOOPBACK(&six) ? LOOPBACK : ELSEWHERE;
	return NOT_AN_ADDRESS;
}

bool web_host_ok(const char *header, u16 port, bool remote)
{
	u16 asked = 80;
	char host[64];

	if (!header || !split(header, host, &asked) || asked != port)
		return false;
	if (!strcasecmp(host, "localhost"))
		return true;
	switch (where_is(host)) {
	case LOOPBACK:
		return true;
	case ELSEWHERE:
		return remote;
	default:
		return false;
	}
}

static int open_socket(const struct addrinfo *a, u16 *port)
{
	struct sockaddr_storage name;
	socklen_t len = sizeof(name);
	int fd, one = 1, rc;

	fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
	    bind(fd, a->ai_addr, a->ai_addrlen) || listen(fd, 16) ||
	    getsockname(fd, (struct sockaddr *)&name, &len)) {
		rc = -errno;
		close(fd);
		return rc;
	}
	*port = ntohs(a->ai_family == AF_INET6 ? ((struct sockaddr_in6 *)&name)->sin6_port
					       : ((struct sockaddr_in *)&name)->sin_port);
	return fd;
}

int web_listen(const char *where, bool allow_remote, char host[64], u16 *port, struct err *e)
{
	struct addrinfo hints = { .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
				  .ai_socktype = SOCK_STREAM };
	struct addrinfo *a = NULL;
	char address[64], service[8];
	int fd;

	*port = 0;
	if (!split(where, address, port) || where_is(address) == NOT_AN_ADDRESS) {
		err_set_status(e, -EINVAL, EXIT_USAGE, "--listen: '%s' is not ADDR:PORT", where);
		err_hint(e,
			 "an address in digits and a port: 127.0.0.1:8080, [::1]:0 for any port");
		return -EINVAL;
	}
	if (where_is(address) != LOOPBACK && !allow_remote) {
		err_set_status(e, -EPERM, EXIT_USAGE, "--listen: other hosts could reach %s",
			       where);
		err_hint(e, "--allow-remote lets them; the trace then travels unencrypted");
		return -EPERM;
	}
	snprintf(service, sizeof(service), "%u", *port);
	if (getaddrinfo(address, service, &hints, &a) || !a)
		return err_set(e, -EINVAL, "cannot use the address %s", where);
	fd = open_socket(a, port);
	snprintf(host, 64, a->ai_family == AF_INET6 ? "[%.60s]" : "%.60s", address);
	freeaddrinfo(a);
	if (fd < 0) {
		err_set_status(e, fd, EXIT_FAILED, "cannot listen on %s: %s", where, strerror(-fd));
		err_hint(e, "choose another port with --listen, or 0 for any");
	}
	return fd;
}
