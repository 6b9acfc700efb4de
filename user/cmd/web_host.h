/* SPDX-License-Identifier: BSD-2-Clause */
/* Addresses: what the server listens on, and by which name it is asked. */
#ifndef CMD_WEB_HOST_H
#define CMD_WEB_HOST_H

#include "base/err.h"

#include <sys/socket.h>

/* A listening socket at "ADDR:PORT" (numeric; IPv6 in brackets). *port is the
 * real one; host[] the address as it stands in a URL. Negative with *e. */
int web_listen(const char *where, bool allow_remote, char host[64], u16 *port, struct err *e);
/*
 * May a request with this Host header be answered? A page of elsewhere whose
 * name was made to point here names that name. So only addresses are taken,
 * and localhost; loopback ones unless remote is set.
 */
bool web_host_ok(const char *header, u16 port, bool remote);

#endif
