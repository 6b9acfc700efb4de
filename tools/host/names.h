/* SPDX-License-Identifier: BSD-2-Clause */
/* What pages and add-ons are called; hostile or long names on demand. */
#ifndef HOST_NAMES_H
#define HOST_NAMES_H

#include "base/wire.h"
#include "tools/host/options.h"

#define NAME_SIZE (VMSPAN_NAME_MAX + 1)

/* Plain names: "shop", "tracker"; distinct for distinct i. */
void name_page(u32 i, char out[NAME_SIZE]);
void name_addon(u32 i, char out[NAME_SIZE]);
/* The script an add-on runs. */
const char *name_addon_script(u32 i);
/* The name as it is defined: `plain`, dressed as the options ask. Still distinct. */
void name_dress(const struct options *o, const char *plain, u32 i, char out[NAME_SIZE]);

#endif
