# SPDX-License-Identifier: BSD-2-Clause
# once: it does not use the build folder
# shellcheck shell=bash
# vmspan.h in every way a VM may be built: it compiles without a warning, marks
# when it runs, and leaves exactly one registry and one set of probes.
. "$(dirname "$0")/../lib.sh"

strict=(-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror)
src=(tests/golden/sdk/main.c tests/golden/sdk/other.c)
x86=$(uname -m)

notes() { # FILE PROBE: how many
	readelf -n "$1" 2>/dev/null | grep -c "^ *Name: $2\$"
}

note_field() { # FILE PROBE FIELD: its value without leading zeros
	readelf -n "$1" 2>/dev/null | awk -v probe="$2" -v field="$3" '
		/^ *Name:/ { name = $2 }
		name == probe && /Location:/ {
			for (i = 1; i < NF; i++)
				if ($i == field ":") { sub(/,$/, "", $(i + 1)); print $(i + 1); exit }
		}' | sed 's/^0x0*//'
}

symbol() { # FILE NAME: its address without leading zeros
	nm "$1" | awk -v name="$2" '$3 == name { print $1 }' | sed 's/^0*//'
}

carries() { # FILE: why it does not carry exactly one set of probes, or nothing
	local f=$1
	[ "$(notes "$f" flush)" = 1 ] || echo "$(notes "$f" flush) flush notes"
	[ "$(notes "$f" armed)" = 1 ] || echo "$(notes "$f" armed) armed notes"
	[[ $(note_field "$f" flush Semaphore) =~ ^0?$ ]] || echo "flush has a semaphore"
	[ -n "$(note_field "$f" armed Semaphore)" ] || echo "armed has no semaphore"
}

build() { # NAME COMPILER ARGUMENT...: builds main and other, runs, looks
	local name=$1 bad
	shift
	rm -f "$T/prog"
	if ! "$@" "${strict[@]}" -Iuser/sdk "${src[@]}" -o "$T/prog" -pthread >"$T/log" 2>&1; then
		not_ok "$name" "does not build"
		sed 's/^/  | /' "$T/log"
		return
	fi
	bad=$(carries "$T/prog")
	[ "$(nm "$T/prog" | grep -c vmspan_registry_1)" = 1 ] || bad+=" not one registry"
	[ "$(note_field "$T/prog" armed Semaphore)" = "$(symbol "$T/prog" vmspan_registry_1)" ] ||
		bad+=" the note does not lead to the registry"
	[ "$(note_field "$T/prog" flush Location)" = "$(symbol "$T/prog" vmspan_site_flush_1)" ] ||
		bad+=" the note does not lead to the site"
	"$T/prog" >"$T/log" 2>&1 || bad+=" exit $?: $(cat "$T/log")"
	if [ -z "$bad" ]; then ok "$name"; else not_ok "$name" "$bad"; fi
}

for cc in gcc clang; do
	lto=-flto
	[ $cc = gcc ] || lto='-flto -fuse-ld=lld'
	for how in -O0 -O2 -O3 "-O2 $lto" '-O2 -static' '-O2 -static-pie -fPIE' '-O2 -fPIE -pie' \
		'-O2 -fno-pie -no-pie' '-O2 -ffunction-sections -fdata-sections -Wl,--gc-sections' \
		'-O2 -DVMSPAN_PROBES' "-O2 -DVMSPAN_PROBES $lto" '-O2 -fvisibility=hidden'; do
		# shellcheck disable=SC2086 # the words of $how are arguments
		build "$cc -std=c11 $how" $cc -std=c11 $how
	done
	build "$cc -std=gnu11 -O2" $cc -std=gnu11 -O2
	build "$cc -std=gnu17 -O2 -fcf-protection=full" $cc -std=gnu17 -O2 -fcf-protection=full
done
for cxx in g++ clang++; do
	lto=-flto
	[ $cxx = g++ ] || lto='-flto -fuse-ld=lld'
	for how in '-std=c++11 -O0' '-std=c++11 -O2' '-std=c++17 -O2' "-std=c++17 -O3 $lto" \
		'-std=gnu++20 -O2' '-std=c++11 -O2 -fno-exceptions -fno-rtti' \
		'-std=c++17 -O2 -DVMSPAN_PROBES'; do
		# shellcheck disable=SC2086
		build "$cxx $how" $cxx -x c++ $how
	done
	for how in -O0 -O2; do
		check "scopes leave under exceptions and longjmp, $cxx $how" sh -c \
			"$cxx -std=c++11 $how ${strict[*]} -Iuser/sdk tests/golden/sdk/scopes.cc \
			-o '$T/scopes' -pthread && '$T/scopes'"
	done
done

# A C file and a C++ file of one program.
gcc -O2 -c -Iuser/sdk -Dother_marks=_Z11other_marksj -Dother_registry=_Z14other_registryv \
	-Dother_thread=_Z12other_threadv tests/golden/sdk/other.c -o "$T/other.o"
check "a C and a C++ file share a registry" sh -c \
	"g++ -x c++ -O2 -Iuser/sdk tests/golden/sdk/main.c -x none '$T/other.o' -o '$T/mixed' &&
	'$T/mixed'"
none "a C and a C++ file leave one set of notes" "$(carries "$T/mixed")"

# The site, byte by byte: a one-byte nop, the ten-byte nop, ret. No five-byte nop.
if [ "$x86" = x86_64 ]; then
	for cc in gcc clang; do
		$cc -O2 -Iuser/sdk "${src[@]}" -o "$T/prog" -pthread
		for site in flush armed; do
			bytes=$(objdump -d --disassemble=vmspan_site_${site}_1 "$T/prog" |
				sed -n 's/^ *[0-9a-f]*:\t\([0-9a-f ]*\).*/\1/p' | tr -d ' \n')
			eq "bytes of the site $site, $cc" "$bytes" 90662e0f1f840000000000c3
			eq "the site $site is aligned, $cc" \
				"$((0x$(symbol "$T/prog" vmspan_site_${site}_1) % 16))" 0
		done
		eq "arguments of flush, $cc" "$(readelf -n "$T/prog" |
			sed -n '/Name: flush/,/Arguments/s/^ *Arguments: *//p')" "8@%rdi 8@%rsi 8@%rdx"
	done
else
	skip "bytes of the sites" "not x86-64"
fi

gcc -O2 -DVMSPAN_PROBES -Iuser/sdk "${src[@]}" -o "$T/prog" -pthread
for probe in enter leave event__begin event__end gc__begin gc__end block__begin block__end mark; do
	eq "conventional probe $probe" "$(notes "$T/prog" $probe)" 1
done
eq "conventional probes have a semaphore of their own" \
	"$((0x$(note_field "$T/prog" enter Semaphore) - 0x$(note_field "$T/prog" armed Semaphore)))" 2

strip -s "$T/prog"
none "strip leaves the notes" "$(carries "$T/prog")"
check "a stripped program runs" "$T/prog"

# Libraries.
for cc in gcc clang; do
	for n in one two three; do
		check "library $n, $cc" $cc -std=c11 -O2 "${strict[@]}" -fPIC -shared -DLIB=$n -Iuser/sdk \
			tests/golden/sdk/lib.c -o "$T/lib$n.so" -pthread
	done
	none "a library carries its probes, $cc" "$(carries "$T/libone.so")"
	eq "a library exports nothing of the SDK, $cc" \
		"$(nm -D --defined-only "$T/libone.so" | grep -c vmspan)" 0
	check "a program with libraries, $cc" $cc -O2 -rdynamic -Iuser/sdk tests/golden/sdk/libs.c \
		-o "$T/libs" -L"$T" -lone -ltwo -Wl,-rpath,"$T" -pthread
	check "libraries in one program keep apart; one is unloaded under a thread, $cc" \
		"$T/libs" "$T/libthree.so"
done

if command -v aarch64-linux-gnu-gcc >/dev/null; then
	for how in '-std=c11 -O0' '-std=c11 -O2' '-std=c11 -O2 -DVMSPAN_PROBES'; do
		# shellcheck disable=SC2086
		check "aarch64 $how" aarch64-linux-gnu-gcc $how "${strict[@]}" -Iuser/sdk "${src[@]}" \
			-o "$T/arm" -pthread
		none "aarch64 $how carries the probes" "$(carries "$T/arm")"
	done
	check "aarch64 C++" aarch64-linux-gnu-g++ -x c++ -std=c++11 -O2 "${strict[@]}" -Iuser/sdk \
		"${src[@]}" -o "$T/arm" -pthread
else
	skip aarch64 "no cross compiler: tools/install-deps"
fi
