#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# tools/check over a tree of its own: it is content with what is sound, and names the file
# of each thing that is not.
# once: nothing of it is built
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

for tool in clang-format shellcheck python3; do
	command -v $tool >/dev/null || skip_rest "the checks" "no $tool: tools/install-deps"
done
tree=$T/tree
mkdir -p "$tree"/{tools,bpf,user/{base,model,sink},tests/{unit,golden},build}
cp tools/{check,include-table,bench-md} tools/*.py "$tree/tools/"
cp README.md BENCHMARKS.md .clang-format "$tree/"
c_file() { # PATH: its text is read
	{
		echo '/* SPDX-License-Identifier: BSD-2-Clause */'
		cat
	} >"$tree/$1"
}
checked() { # STATUS ARGUMENT...
	check_status "tools/check: status" "$1" "$tree/tools/check" "${@:2}"
}
names='C files are formatted
shell scripts pass shellcheck
every source file names its licence
no file is empty
no file is too long to read
includes keep to the table
the README quotes the tables of BENCHMARKS.md
no path or name of a workplace
nothing is put off
no test waits for time to pass'

c_file user/model/sound.c <<<'#include "base/sound.h"'
c_file user/base/sound.h <<<'int sound(void);'
printf '/* %s */\n' 'SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause' >"$tree/bpf/sound.bpf.c"
# shellcheck disable=SC2016 # for the script
printf '#!/bin/sh\n# SPDX-License-Identifier: BSD-2-Clause\n. "$(dirname "$0")/not_there.sh"\n' >"$tree/tests/alone.sh"
checked 0
eq "a tree that is sound" "$(cat "$T/out")" "ok ${names//$'\n'/$'\nok '}"$'\ndone'

checked 1 sourced
check "what a script sources is not there: told when it is looked at" grep -q '^  | tests/alone.sh:3:' "$T/out"

# The words are split, so that this file is none of what it makes.
c_file user/model/spaces.c <<<'int  spaces;'
c_file user/sink/above.h <<<'int above(void);'
c_file user/model/upwards.c <<<'#include "sink/above.h"'
c_file user/model/rings.c <<<'#include <bpf/libbpf.h>'
c_file user/model/reads.c <<<'#include <stdio.h>'
mkdir "$tree/user/new"
c_file user/new/folder.c <<<'#include "base/sound.h"'
printf '/* SPDX-License-Identifier: BSD-2-Clause */\n' >"$tree/bpf/other.bpf.c"
{
	printf 'int %s;\n' one two three
	echo '/* SPDX-License-Identifier: BSD-2-Clause */'
} >"$tree/user/base/late.c"
yes '/* */' | head -n 700 | c_file user/base/long.c
c_file user/base/later.c <<<"/* TO""DO: all of it */"
c_file tests/unit/waits.c <<<"void waits(void) { us""leep(1); }"
c_file user/base/where.c <<<"/* in /ho""me/somebody/project */"
# shellcheck disable=SC2016 # for the script
printf '#!/bin/sh\n# SPDX-License-Identifier: BSD-2-Clause\necho $1\n' >"$tree/tests/unquoted"
# shellcheck disable=SC2016 # for the script
printf '# SPDX-License-Identifier: BSD-2-Clause\n# shellcheck shell=bash\necho $1\n' >"$tree/tests/library.bash"
printf '#!/bin/sh\n# SPDX-License-Identifier: BSD-2-Clause\nsl''eep 1\n' >"$tree/tests/waits.sh"
printf '#!/usr/bin/env bash\n# SPDX-License-Identifier: BSD-2-Clause\nread -r''t 1 _\n' >"$tree/tests/reads.sh"
# shellcheck disable=SC2016 # for the script
printf '#!/usr/bin/env bash\n# SPDX-License-Identifier: BSD-2-Clause\nread -r -t "$LIMIT" _\n' >"$tree/tests/may.sh"
printf '#!/bin/sh\ntrue\n' >"$tree/tools/unlicensed"
: >"$tree/crash-of-a-fuzzer"
sed -i '0,/| vmspan record |/s/| vmspan record | [0-9.]*/| vmspan record | 0.01/' "$tree/README.md"
checked 1
eq "all of it is refused, and there is no last line" "$(grep -v '^  | ' "$T/out" | sed 's/ - [0-9]* complaints$//')" \
	"not ok ${names//$'\n'/$'\nnot ok '}"
complains() { # CHECK FILE...: of these and no others
	local name=$1
	shift
	eq "$name: whom it names" \
		"$(sed -n "/^not ok $name/,/^not ok/{/^not ok $name/d;/^not ok/d;p}" "$T/out" |
			grep -oE '^ +\| [^:]*' | sed 's/^ *| //' | LC_ALL=C sort -u | paste -sd' ')" "$*"
}
complains "C files are formatted" tests/unit/waits.c user/model/spaces.c
complains "shell scripts pass shellcheck" tests/library.bash tests/unquoted
complains "every source file names its licence" bpf/other.bpf.c tools/unlicensed user/base/late.c
complains "no file is empty" crash-of-a-fuzzer
complains "no file is too long to read" user/base/long.c
complains "includes keep to the table" user/model/reads.c user/model/rings.c user/model/upwards.c user/new/folder.c
complains "no path or name of a workplace" user/base/where.c
complains "nothing is put off" user/base/later.c
complains "no test waits for time to pass" tests/reads.sh tests/unit/waits.c tests/waits.sh

# A formatter that falls over has not looked.
mkdir "$T/bin"
printf '#!/bin/sh\necho fallen over >&2\nexit 139\n' >"$T/bin/clang-format"
chmod +x "$T/bin/clang-format"
PATH=$T/bin:$PATH checked 1
check "a formatter that falls over" grep -q '^not ok C files are formatted' "$T/out"
