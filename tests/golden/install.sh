#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Installing and removing leaves what was there before; what is installed works.
# once: a build with sanitizers is not installed
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

version=$(cat VERSION)
image=$T/image
# A sanitized program is not for installing.
case $B in *san*) skip_rest "install" "the sanitized build is not installed" ;; esac

install_it() { # TARGET
	make -s B="$B" "$1" DESTDIR="$image" prefix=/opt/it
}

check "make install" install_it install
none "everything is below the prefix" "$(cd "$image" && find . -type f -not -path './opt/it/*')"
eq "the installed program" "$("$image/opt/it/bin/vmspan" --version)" "vmspan $version"
options=0
for c in $("$VMSPAN" --generate commands); do
	page=$image/opt/it/share/man/man1/vmspan-$c.1
	check "a manual page for $c" test -s "$page"
	# Every option that help has, in the page, with its roff hyphens.
	"$VMSPAN" "$c" --help | grep -oE -- '^ .{4} --[a-z-]+' | grep -oE -- '--[a-z-]+' |
		sed 's/-/\\-/g' >"$T/options"
	options=$((options + $(wc -l <"$T/options")))
	check "help of $c shows options, --help among them" grep -qx '\\-\\-help' "$T/options"
	none "the page of $c has every option" \
		"$(while read -r o; do grep -qF -- "$o" "$page" || echo "$o"; done <"$T/options")"
done
check "commands have options that pages are compared by: $options" test $options -gt 100
if command -v man >/dev/null && man --version 2>&1 | grep -q '^man'; then
	none "manual pages are roff without a complaint" "$(
		for page in "$image"/opt/it/share/man/man1/*.1; do
			LC_ALL=C.UTF-8 MANROFFSEQ='' man --warnings -E UTF-8 -l -Tutf8 -Z "$page" 2>&1 >/dev/null
		done
	)"
else
	skip "manual pages are roff without a complaint" "no man here"
fi

# ---- Documents lead to each other ----

docs=$image/opt/it/share/doc/vmspan
links=$(cd "$docs" && find . -name '*.md' | while read -r page; do
	grep -oE '\]\([^)#]+' "$page" | cut -c 3- | grep -v '^[a-z]*:' | sed "s|^|${page%/*}/|"
done)
check "documents have links" test "$(wc -l <<<"$links")" -gt 20
# The header is where headers are.
none "what they lead to is installed" "$(cd "$docs" && while read -r f; do
	[ -e "$f" ] || case $f in *.h) ;; *) echo "$f" ;; esac
done <<<"$links")"

# ---- Completion, asked as bash asks it ----

complete_it() { # WORD...
	bash -c '. "$1" && shift && COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) && _vmspan &&
		printf "%s " "${COMPREPLY[@]}"' bash "$image/opt/it/share/bash-completion/completions/vmspan" "$@"
}
eq "completes commands" "$(complete_it vmspan re)" "record report "
eq "completes options" "$(complete_it vmspan report --so)" "--sort "
eq "completes values" "$(complete_it vmspan top --sort ja)" "jank "
eq "completes alternatives" "$(complete_it vmspan record --method f)" "flush "

# ---- The SDK, as a VM's build finds it ----

if command -v pkg-config >/dev/null; then
	export PKG_CONFIG_PATH=$image/opt/it/share/pkgconfig
	eq "pkg-config: the folders" \
		"$(pkg-config --variable=prefix vmspan-sdk) $(pkg-config --variable=includedir vmspan-sdk)" "/opt/it /opt/it/include/vmspan"
	eq "pkg-config: version" "$(pkg-config --modversion vmspan-sdk)" "$version"
	# shellcheck disable=SC2046 # flags are words
	check "pkg-config: the example builds" "${CC:-cc}" -o "$T/example" \
		"$image/opt/it/share/doc/vmspan/user/sdk/example.c" \
		$(PKG_CONFIG_SYSROOT_DIR=$image pkg-config --cflags --libs vmspan-sdk)
	unset PKG_CONFIG_PATH
else
	skip "pkg-config" "no pkg-config here"
fi

# ---- The library, as a program of one's own finds it ----

if command -v pkg-config >/dev/null; then
	export PKG_CONFIG_PATH=$image/opt/it/lib/pkgconfig
	for name in prefix:/opt/it libdir:/opt/it/lib includedir:/opt/it/include; do
		eq "pkg-config: the library's ${name%%:*}" "$(pkg-config --variable="${name%%:*}" libvmspan)" "${name#*:}"
	done
	eq "pkg-config: the library's version" "$(pkg-config --modversion libvmspan)" "$version"
	# shellcheck disable=SC2046 # flags are words
	check "pkg-config: the library's example builds" "${CC:-cc}" -Wall -Werror -o "$T/lib-example" \
		"$image/opt/it/share/doc/vmspan/user/lib/example/example.c" \
		-I"$image/opt/it/include" -L"$image/opt/it/lib" $(pkg-config --libs --static libvmspan |
			sed 's|-L/opt/it/lib||')
	"$B/golden/make_recording" basic "$T/a.vmspan" || exit 1
	check_status "the installed library's example runs" 0 "$T/lib-example" "$T/a.vmspan"
	"$VMSPAN" report "$T/a.vmspan" --json >"$T/report.json"
	eq "its figures are the report's" \
		"$(sed -n 's/^\([a-z]*:.*\) \([0-9]*\) \([0-9]*\)$/\1 \2 \3/p' "$T/out" | LC_ALL=C sort)" \
		"$(jq -r '.groups[] | "\(.name) \(.ticks) \(.wall_ns)"' "$T/report.json" | LC_ALL=C sort)"
	none "nothing of the library's inside is visible" \
		"$(nm -g --defined-only "$image/opt/it/lib/libvmspan.a" | awk 'NF == 3 && $3 !~ /^libvmspan_/')"
	unset PKG_CONFIG_PATH
else
	skip "pkg-config: the library" "no pkg-config here"
fi

# ---- The systemd unit ----

unit=$image/opt/it/lib/systemd/system/vmspan-metrics@.service
check "the unit names the installed program" grep -q '^ExecStart=/opt/it/bin/vmspan export-metrics ' "$unit"
if command -v systemd-analyze >/dev/null; then
	# systemd wants the program to be there.
	mkdir "$T/unit"
	sed "s|/opt/it/bin/vmspan|$PWD/$VMSPAN|" "$unit" >"$T/unit/vmspan-metrics@.service"
	# It fails for other units of the machine as well.
	rc=0
	SYSTEMD_LOG_LEVEL=warning systemd-analyze verify --man=no "$T/unit/vmspan-metrics@node.service" >"$T/verify" 2>&1 || rc=$?
	check "systemd looks at the unit" test $rc -le 1
	none "the unit is what systemd understands" "$(grep -F vmspan-metrics "$T/verify")"
else
	skip "the unit is what systemd understands" "no systemd-analyze here"
fi

# What systemd would not complain of: it attaches to hundreds of processes, a handful of
# descriptors each, and listens where its comment says one may tell it to.
setting() { # KEY
	sed -n "s/^$1=//p" "$unit"
}
check "the unit may hold descriptors of many processes" test "$(setting LimitNOFILE)" -ge 65536
for family in UNIX INET INET6; do
	check "the unit has sockets of AF_$family" grep -qw "AF_$family" <(setting RestrictAddressFamilies)
done

check "make uninstall" install_it uninstall
none "uninstall leaves no file" "$(find "$image" -type f)"

# ---- The Debian package ----

if ! command -v dpkg-deb >/dev/null || ! command -v dpkg-query >/dev/null; then
	skip_rest "make-deb" "this is not Debian"
fi
check "make-deb" tools/make-deb "$T"
deb=$(echo "$T"/vmspan_*.deb)
eq "the package's version" "$(dpkg-deb -f "$deb" Version)" "$version"
# dpkg passes over sums that it does not understand.
dpkg-deb -R "$deb" "$T/unpacked"
check "the package's sums are those of its files" \
	env -C "$T/unpacked" md5sum --check --strict --quiet DEBIAN/md5sums
(cd "$T/unpacked" && find . -type f -not -path './DEBIAN/*' -printf '%P\n' | LC_ALL=C sort) >"$T/files"
sed 's/^[0-9a-f]*  //' "$T/unpacked/DEBIAN/md5sums" >"$T/summed"
same "each of its files has one" "$T/summed" "$T/files"
# Of the packages it needs each holds a library that the linker names, and each library is held.
libraries=$(ldd "$T/unpacked/usr/bin/vmspan" | sed -n 's|.*=> /.*/\([^ ]*\) .*|\1|p' | LC_ALL=C sort -u)
check "the linker names libbpf" grep -q '^libbpf\.so' <<<"$libraries"
needs=$(dpkg-deb -f "$deb" Depends | sed 's/, /\n/g')
eq "the package needs what holds its libraries" \
	"$(cut -d' ' -f1 <<<"$needs" | xargs dpkg-query -L | sed 's|.*/||' | grep -xF -- "$libraries" | LC_ALL=C sort -u)" "$libraries"
while read -r package at_least; do
	check "the package needs $package: it holds one" grep -qxF -- "$libraries" <(dpkg-query -L "$package" | sed 's|.*/||')
	eq "the package needs $package: at least as it is here" "$at_least" \
		"(>= $(dpkg-query -W -f '${Version}\n' "$package" | sed '1!d; s/^[0-9]*://; s/[-+].*//'))"
done <<<"$needs"
# That one is loaded by name when something is served: the linker does not know of it.
eq "the package recommends what serve loads" "$(dpkg-deb -f "$deb" Recommends)" \
	"$(sed -n 's/^#define LIBRARY "\(libmicrohttpd\)\.so\.\([0-9]*\)"$/\1\2/p' user/cmd/mhd.c)"
eq "the package's files are root's" "$(dpkg-deb -c "$deb" | grep -vc ' root/root ')" 0
# A system of its own: nothing of this machine is touched.
root=$T/root
mkdir -p "$root/var/lib/dpkg/info" "$root/var/lib/dpkg/updates"
: >"$root/var/lib/dpkg/status"
dpkg_there() {
	fakeroot=()
	[ "$(id -u)" = 0 ] || fakeroot=(--force-not-root)
	dpkg --root="$root" --log="$T/dpkg.log" --force-depends --force-script-chrootless \
		${fakeroot+"${fakeroot[@]}"} "$@"
}
check "dpkg installs it" dpkg_there --install "$deb"
eq "installed: it runs" "$("$root/usr/bin/vmspan" --version)" "vmspan $version"
none "installed: its files are whole" "$(dpkg_there --verify vmspan)"
check "installed: the manual page" gzip -t "$root/usr/share/man/man1/vmspan.1.gz"
check "dpkg removes it" dpkg_there --purge vmspan
none "removed: nothing stays" "$(cd "$root" && find . -type f -not -path './var/lib/dpkg/*')"
