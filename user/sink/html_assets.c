/* SPDX-License-Identifier: BSD-2-Clause */
/* The assembler reads the files, from the top folder. */
#include "sink/html_assets.h"

#define EMBED(name, file)                                 \
	__asm__(".pushsection .rodata\n"                  \
		".global html_asset_" #name "\n"          \
		"html_asset_" #name ":\n"                 \
		".incbin \"user/sink/assets/" file "\"\n" \
		".global html_asset_" #name "_end\n"      \
		"html_asset_" #name "_end:\n"             \
		".byte 0\n"                               \
		".popsection\n");
HTML_ASSETS(EMBED)
