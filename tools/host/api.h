/* SPDX-License-Identifier: BSD-2-Clause */
/* What scripts see of the host: the properties of the `host` object. */
#ifndef HOST_API_H
#define HOST_API_H

#include <duktape.h>

/* Fill in the object on top of the stack: for the main thread, for workers. */
void api_main(duk_context *ctx);
void api_worker(duk_context *ctx);

#endif
