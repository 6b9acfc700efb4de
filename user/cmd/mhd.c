/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/mhd.h"
#include "base/types.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

/* The name says which interface it has: the one of the header since 0.9.46. */
#define LIBRARY "libmicrohttpd.so.12"

struct mhd mhd;

int mhd_load(struct err *err)
{
	static const struct {
		const char *name;
		size_t offset;
	} calls[] = {
#define CALL(name) { "MHD_" #name, offsetof(struct mhd, name) },
		MHD_CALLS(CALL)
#undef CALL
	};
	void *library, *call;
	size_t i;

	if (mhd.run)
		return 0;
	library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	for (i = 0; library && i < ARRAY_SIZE(calls); i++) {
		call = dlsym(library, calls[i].name);
		if (!call)
			break;
		memcpy((char *)&mhd + calls[i].offset, &call, sizeof(call));
	}
	if (library && i == ARRAY_SIZE(calls))
		return 0;
	err_set(err, -ENOENT, "cannot serve a page: %s", dlerror());
	err_hint(err, "Install libmicrohttpd; on Debian: apt install libmicrohttpd12");
	if (library)
		dlclose(library);
	memset(&mhd, 0, sizeof(mhd));
	return -ENOENT;
}
