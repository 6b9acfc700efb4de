# SPDX-License-Identifier: BSD-2-Clause
# once: it does not use the build folder
# shellcheck shell=bash
# vmspan.h in the ways a VM may be built (in all of them with VMSPAN_TEST_ALL): it compiles
# without a warning, marks when it runs, and leaves exactly one registry and one set of probes.
. "$(dirname "$0")/../lib.sh"

strict=(-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror)
src=(tests/golden/sdk/main.c tests/golden/sdk/other.c)
x86=$(uname -m)

# What is in a file: notes has "PROBE LOCATION SEMAPHORE ARGUMENTS" of each probe, symbols "NAME
# ADDRESS" of each symbol, addresses without leading zeros.
notes='' symbols=''
look_at() { # FILE
	notes=$(readelf -n "$1" 2>/dev/null | sed -nE '
		/^ *Name: /{s/^ *Name: //;h}
		/^ *Location: /{s/^ *Location: 0x0*([0-9a-f]*),.*Semaphore: 0x0*([0-9a-f]*)$/\1 \2/;H}
		/^ *Arguments: /{s/^ *Arguments: *//;H;x;s/\n/ /g;p}')
	symbols=$(nm "$1" 2>/dev/null | sed -nE 's/^0*([0-9a-f]*) . (.*)$/\2 \1/p')
}

count() { # PROBE: how many notes
	grep -c "^$1 " <<<"$notes"
}
field() { # PROBE NUMBER: 2 is its location, 3 its semaphore; of the first
	local line
	line=$(grep -m 1 "^$1 " <<<"$notes") && cut -d' ' -f"$2" <<<"$line"
}
symbol() { # NAME: its address
	sed -n "s/^$1 //p" <<<"$symbols"
}

carries() { # FILE: why it does not carry exactly one set of probes, or nothing
	look_at "$1"
	carries_it
}
carries_it() { # of what has been looked at
	local flush armed
	flush=$(count flush) armed=$(count armed)
	[ "$flush" = 1 ] || echo "$flush flush notes"
	[ "$armed" = 1 ] || echo "$armed armed notes"
	[ -z "$(field flush 3)" ] || echo "flush has a semaphore"
	[ -n "$(field armed 3)" ] || echo "armed has no semaphore"
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
	look_at "$T/prog"
	bad=$(carries_it)
	[ "$(grep -c '^vmspan_registry_2' <<<"$symbols")" = 1 ] || bad+=" not one registry"
	[ "$(field armed 3)" = "$(symbol vmspan_registry_2)" ] || bad+=" the note does not lead to the registry"
	[ "$(field flush 2)" = "$(symbol vmspan_site_flush_2)" ] || bad+=" the note does not lead to the site"
	"$T/prog" >"$T/log" 2>&1 || bad+=" exit $?: $(cat "$T/log")"
	if [ -z "$bad" ]; then ok "$name"; else not_ok "$name" "$bad"; fi
}

# With VMSPAN_TEST_ALL each compiler builds in each way. Else a way that is much like another is
# tried by one compiler, or by none.
of_gcc=(-O0 '-O2 LTO' '-O2 -static' '-O2 -static-pie -fPIE' '-O2 -fno-pie -no-pie'
	'-O2 -ffunction-sections -fdata-sections -Wl,--gc-sections' '-O2 -DVMSPAN_PROBES LTO'
	'-std=gnu17 -O2 -fcf-protection=full')
of_clang=(-O0 '-O2 LTO' '-O2 -static-pie -fPIE' '-O2 -DVMSPAN_PROBES')
of_gxx=('-std=c++11 -O0' '-std=c++17 -O3 LTO' '-std=c++17 -O2 -DVMSPAN_PROBES')
of_clangxx=('-std=gnu++20 -O2' '-std=c++11 -O2 -fno-exceptions -fno-rtti')
scopes=(-O2)
if [ -n "${VMSPAN_TEST_ALL-}" ]; then
	of_gcc+=(-O2 -O3 '-O2 -fPIE -pie' '-O2 -DVMSPAN_PROBES' '-O2 -fvisibility=hidden' '-std=gnu11 -O2')
	of_gxx+=('-std=c++11 -O2' '-std=c++17 -O2' '-std=gnu++20 -O2' '-std=c++11 -O2 -fno-exceptions -fno-rtti')
	of_clang=("${of_gcc[@]}")
	of_clangxx=("${of_gxx[@]}")
	scopes=(-O0 -O2)
fi
ways() { # COMPILER LTO WAY...
	local compiler=$1 lto=$2 way
	shift 2
	for way; do
		way=${way/LTO/$lto}
		# shellcheck disable=SC2086 # the words of a way are arguments
		case $compiler in
		*++) build "$compiler $way" $compiler -x c++ $way ;;
		*) build "$compiler -std=c11 $way" $compiler -std=c11 $way ;;
		esac
	done
}
ways gcc -flto "${of_gcc[@]}"
ways clang '-flto -fuse-ld=lld' "${of_clang[@]}"
ways g++ -flto "${of_gxx[@]}"
ways clang++ '-flto -fuse-ld=lld' "${of_clangxx[@]}"
for cxx in g++ clang++; do
	for how in "${scopes[@]}"; do
		check "scopes leave under exceptions and longjmp, $cxx $how" sh -c \
			"$cxx -std=c++11 $how ${strict[*]} -Iuser/sdk tests/golden/sdk/scopes.cc \
			-o '$T/scopes' -pthread && '$T/scopes'"
	done
done

# A C file and a C++ file of one program.
gcc -O2 -c -Iuser/sdk -Dother_marks=_Z11other_marksj -Dother_registry=_Z14other_registryv \
	-Dother_ring=_Z10other_ringv tests/golden/sdk/other.c -o "$T/other.o"
check "a C and a C++ file share a registry" sh -c \
	"g++ -x c++ -O2 -Iuser/sdk tests/golden/sdk/main.c -x none '$T/other.o' -o '$T/mixed' &&
	'$T/mixed'"
none "a C and a C++ file leave one set of notes" "$(carries "$T/mixed")"

# The site, byte by byte: a one-byte nop, the ten-byte nop, ret. No five-byte nop.
if [ "$x86" = x86_64 ]; then
	for cc in gcc clang; do
		rm -f "$T/prog"
		$cc -O2 -Iuser/sdk "${src[@]}" -o "$T/prog" -pthread
		look_at "$T/prog"
		for site in flush armed; do
			bytes=$(objdump -d --disassemble=vmspan_site_${site}_2 "$T/prog" |
				sed -n 's/^ *[0-9a-f]*:\t\([0-9a-f ]*\).*/\1/p' | tr -d ' \n')
			eq "bytes of the site $site, $cc" "$bytes" 90662e0f1f840000000000c3
			eq "the site $site is aligned, $cc" \
				"$((0x$(symbol vmspan_site_${site}_2) % 16))" 0
		done
		eq "arguments of flush, $cc" "$(field flush 4-)" "8@%rdi 8@%rsi 8@%rdx"
	done
else
	skip "bytes of the sites" "not x86-64"
fi

# What is there once a program is the first file's. One for newer CPUs (which a program runs when it
# has looked) must not bring their instructions into it.
if [ "$x86" = x86_64 ]; then
	for cc in gcc clang; do
		rm -f "$T/prog"
		$cc -O3 -march=skylake-avx512 -c -Iuser/sdk "${src[0]}" -o "$T/new.o"
		$cc -O3 -c -Iuser/sdk "${src[1]}" -o "$T/old.o"
		$cc "$T/new.o" "$T/old.o" -o "$T/prog" -pthread
		objdump -d --no-show-raw-insn "$T/prog" >"$T/code"
		none "no instruction of newer CPUs in what is the program's, $cc" "$(awk '
			/^[0-9a-f]+ <.*>:$/ { name = substr($2, 2) }
			name ~ /^vmspan/ && $2 ~ /^(v[a-z]|andn|bextr|bls|bzhi|mulx|pdep|pext|rorx|s[ahr]+lx|s[ahr]+rx|[tl]zcnt)/ {
				print name, $2
			}' "$T/code" | sort | uniq -c)"
		eq "that was of the whole of it, $cc" \
			"$(grep -cE '<vmspan_(loaded|unloaded|slow|full)_2>:$' "$T/code")" 4
	done
else
	skip "instructions of newer CPUs" "not x86-64"
fi

# libc's fortified functions are of the file's machine.
if [ "$x86" = x86_64 ]; then
	for cc in 'gcc -std=c11' 'g++ -x c++' clang; do
		for machine in -mavx2 -march=x86-64-v3 -march=skylake-avx512; do
			# shellcheck disable=SC2086 # the words of cc
			check "$machine with libc's fortified functions, $cc" $cc -O2 $machine -U_FORTIFY_SOURCE \
				-D_FORTIFY_SOURCE=2 -c -Iuser/sdk "${src[0]}" -o "$T/new.o"
		done
	done
fi

# Programs that have calls of their own where libc has some, and functions that are told of each call.
for cc in gcc clang; do
	check "a program with calls of its own, $cc: is built" $cc -O2 -Iuser/sdk tests/golden/sdk/own_calls.c \
		-o "$T/own" -pthread
	check "a program with calls of its own, $cc: the header leaves them alone" "$T/own"
	for how in -O0 -O2; do
		check "-finstrument-functions, $cc $how: is built" $cc $how -finstrument-functions -Iuser/sdk \
			tests/golden/sdk/hooks.c -o "$T/hooks"
		check "-finstrument-functions, $cc $how: marks in it" "$T/hooks"
	done
	$cc -O2 -DHOOKS -Iuser/sdk -c tests/golden/sdk/hooks.c -o "$T/hooks.o" &&
		$cc -O2 -DWORK -finstrument-functions -Iuser/sdk -c tests/golden/sdk/hooks.c -o "$T/work.o" ||
		not_ok "-finstrument-functions, $cc" "does not build"
	check "-finstrument-functions, $cc: hooks of another file" sh -c \
		"$cc '$T/work.o' '$T/hooks.o' -o '$T/hooks' && '$T/hooks' &&
		$cc '$T/hooks.o' '$T/work.o' -o '$T/hooks' && '$T/hooks'"
done

# (It does not know every place that the kernel gives memory at random.)
for cc in gcc clang; do
	check "ThreadSanitizer, $cc: threads that follow each other, built" $cc -O1 -fsanitize=thread -Iuser/sdk \
		tests/golden/sdk/follow.c -o "$T/follow" -pthread
	check "ThreadSanitizer, $cc: threads that follow each other" setarch -R "$T/follow"
done

check "memory that is not to be had: is built" gcc -O2 -Iuser/sdk tests/golden/sdk/refused.c -o "$T/refused"
check "memory that is not to be had is not asked for at each mark" "$T/refused"
if [ "$x86" = x86_64 ]; then
	check "marks under a debugger that steps: is built" gcc -O2 -Iuser/sdk tests/golden/sdk/stepped.c \
		-o "$T/stepped"
	check "marks under a debugger that steps are there" "$T/stepped"
else
	skip "marks under a debugger that steps" "not x86-64"
fi

# What hides the system's names from programs: with it the header comes first, or says so.
for hides in -std=c11 -D_POSIX_C_SOURCE=200809L -D_XOPEN_SOURCE=700; do
	check "$hides: the header first" gcc $hides -c -Iuser/sdk "${src[0]}" -o "$T/new.o"
	if gcc $hides -include stdio.h -c -Iuser/sdk "${src[0]}" -o "$T/new.o" 2>"$T/log"; then
		not_ok "$hides: the header behind another" "it is taken"
	else
		check "$hides: the header behind another says why not" grep -q 'error.*include it first' "$T/log"
	fi
done

gcc -O2 -DVMSPAN_PROBES -Iuser/sdk "${src[@]}" -o "$T/prog" -pthread
look_at "$T/prog"
for probe in enter leave event__begin event__end gc__begin gc__end block__begin block__end mark; do
	eq "conventional probe $probe" "$(count $probe)" 1
done
eq "conventional probes have a semaphore of their own" \
	"$((0x$(field enter 3) - 0x$(field armed 3)))" 2

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
	none "a library has no thread-local storage, $cc" "$(readelf -rlW "$T/libone.so" |
		grep -E 'DTPMOD|DTPOFF|TPOFF|TLSDESC|^ *TLS ')"
	eq "a library exports nothing of the SDK, $cc" \
		"$(nm -D --defined-only "$T/libone.so" | grep -c vmspan)" 0
	check "a program with libraries, $cc" $cc -O2 -rdynamic -Iuser/sdk tests/golden/sdk/libs.c \
		-o "$T/libs" -L"$T" -lone -ltwo -Wl,-rpath,"$T" -pthread
	check "libraries in one program keep apart; one is unloaded under a thread, $cc" \
		"$T/libs" "$T/libthree.so"
	check "a forked child unloads the one in which its parent was, $cc" "$T/libs" "$T/libthree.so" fork
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
