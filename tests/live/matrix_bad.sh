#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The failing twins of the attach matrix: files and processes that are not what
# they seem, or not any more. Words, a status, an end, and nothing left behind.
# shellcheck source=tests/attach_lib.sh
. "$(dirname "$0")/../attach_lib.sh"

v_pid='' a_pid=''
take_programs crowd
build_library "$T/libcrowd.so" || exit 1

words() { # NAME REGEX: of the last check_status
	if grep -Eq "$2" "$T/err"; then ok "$1: words"; else not_ok "$1: words" "$(cat "$T/err")"; fi
}

# ---- Notes ----

# 400,000 notes of other probes before and behind ours, half of them forged.
cat >"$T/notes.s" <<-'EOF'
	.section .note.stapsdt,"",%note
	.rept 200000
	.balign 4
	.4byte 8,29,3
	.asciz "stapsdt"
	.8byte main,_.stapsdt.base,0
	.asciz "p"
	.asciz "n"
	.asciz ""
	.balign 4
	.4byte 8,29,3
	.asciz "stapsdt"
	.8byte 0x6666666666666666,0,0x7777
	.asciz "p"
	.asciz "n"
	.asciz ""
	.endr
	.section .note.GNU-stack,"",%progbits
EOF
if build "$T/many" "$T/notes.s" -x c tests/vm/steady.c -pthread 2>"$T/cc.err" ||
	{ "$CC" -c -o "$T/notes.o" "$T/notes.s" 2>"$T/cc.err" &&
		build "$T/many" tests/vm/steady.c "$T/notes.o" -pthread 2>>"$T/cc.err"; }; then
	eq "400,000 notes are there" \
		"$(($("$VMSPAN" list "$T/many" | grep -c ' p:n ') >= 200000))" 1
	target v "$T/many"
	attach a -p "$v_pid"
	# Of the tracer's own: a busy machine makes more of the time that passes.
	ticks=$(awk '{ print $14 + $15 }' "/proc/$a_pid/stat")
	tell v "spans 1009"
	detach a
	eq "400,000 notes: exact counts" "$(counts a .spans)" 1009
	check "400,000 notes: within 15 s of CPU time" test "$ticks" -lt $((15 * $(getconf CLK_TCK)))
	eq "400,000 notes: as it was" "$(state "$v_pid")" "$untouched"
	dismiss v
else
	not_ok "400,000 notes" "the assembler cannot: $(head -n 1 "$T/cc.err")"
fi

# Offsets that point at code which is no probe. Section contents are rewritten
# as bytes: the note's site is the first 8 bytes behind each "stapsdt".
forge() { # FILE OFFSET-TO-ADD
	local at site i bytes
	forged=0
	while IFS=: read -r at _; do
		site=$(($(od -An -t d8 -j $((at + 12)) -N 8 "$1") + $2))
		bytes=''
		for i in 0 8 16 24 32 40 48 56; do
			printf -v bytes '%s\\x%02x' "$bytes" $((site >> i & 255))
		done
		printf '%b' "$bytes" | dd of="$1" bs=1 seek=$((at + 12)) conv=notrunc status=none
		forged=$((forged + 1))
	done < <(LC_ALL=C grep -obUaP '\x03\x00\x00\x00stapsdt\x00' "$1" | tr -d '\0')
}
forged=0
cp "$T/steady" "$T/forged"
forge "$T/forged" 11
eq "forged: all notes there are" $forged "$("$VMSPAN" list "$T/steady" --json | jq '[.files[].probes[]] | length')"
target v "$T/forged"
check_status "notes that point at other instructions" 1 "$PROBE" -p "$v_pid"
words "notes that point at other instructions" 'no nop where its note says'
tell v "spans 11" "fork 3"
eq "notes that point at other instructions: the target lives" $? 0
dismiss v
cp "$T/steady" "$T/forged"
forge "$T/forged" 1099511627776
target v "$T/forged"
check_status "notes that point outside the file" 4 "$PROBE" -p "$v_pid"
words "notes that point outside the file" 'nothing to trace'
dismiss v

# ---- Files that change ----

target v "$T/crowd"
tell v "open $T/libcrowd.so"
site=$(printf %d "$("$VMSPAN" list "$T/libcrowd.so" --json |
	jq '.files[0].probes[] | select(.name == "armed") | .offset')")
# Written over in place, as careless installers do: no nop is there any more.
printf '\x06\x06' | dd of="$T/libcrowd.so" bs=1 seek="$site" conv=notrunc status=none
check_status "a library that was written over in place" 1 "$PROBE" -p "$v_pid"
words "a library that was written over in place" 'changed in place'
tell v "spans 3" "lib 3"
eq "a library that was written over in place: the target lives" $? 0
dismiss v
printf '\x90\x66' | dd of="$T/libcrowd.so" bs=1 seek="$site" conv=notrunc status=none
check "the library is whole again" "$PROBE" -- "$T/crowd" "open $T/libcrowd.so" "lib 3"

# A file that ends in the middle: ours, so that no program has it mapped.
head -c 6000 "$T/steady" >"$T/cut"
chmod 755 "$T/cut"
check_status "a file that is cut short: it dies, and had nothing to trace" 4 "$PROBE" -- "$T/cut"
check_status "a file that is cut short: list" 4 "$VMSPAN" list "$T/cut"
cp "$T/steady" "$T/sparse"
if truncate -s 300G "$T/sparse" 2>"$T/err"; then
	check_status "a file of 300 GB, most of it holes" 0 timeout "$LIMIT" "$VMSPAN" list "$T/sparse"
elif grep -q 'File too large' "$T/err"; then
	skip "a file of 300 GB, most of it holes" "no file may be as large here: $(stat -f -c %T "$T"), ulimit -f $(ulimit -f)"
else
	not_ok "a file of 300 GB, most of it holes" "$(head -n 1 "$T/err")"
fi

# A script whose interpreter is gone, one that is no program, a directory.
printf '#!%s/nowhere\n' "$T" >"$T/script"
chmod 755 "$T/script"
check_status "a script without its interpreter" 1 "$PROBE" -- "$T/script"
words "a script without its interpreter" 'cannot be started: No such file'
check_status "a directory as a command" 1 "$PROBE" -- "$T"
words "a directory as a command" 'cannot be started'

# ---- Processes ----

"$T/steady" "spans 1" &
gone=$!
wait $gone
check_status "a process that has ended" 1 "$PROBE" -p $gone
words "a process that has ended" "process $gone does not exist"
