#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Libraries that come and go, each where another one lay: every span is there, and its own library's.
# shellcheck source=tests/attach_lib.sh
. "$(dirname "$0")/../attach_lib.sh"

# Set by target, by name.
vm_pid='' vm_in=''
for n in one two; do
	build "$T/$n.so" tests/vm/crowd.c -pthread -shared -fPIC -DCROWD_LIBRARY "-DCROWD_GROUP=\"$n\""
done
for host in crowd plain; do
	if [ "$host" = crowd ]; then build "$T/crowd" tests/vm/crowd.c -pthread; else take_programs plain; fi
	target vm "$T/$host"
	# The first one loads what can be traced, where the program itself has nothing.
	start record "$VMSPAN" record -p "$vm_pid" --wait -o "$T/rec.vmspan"
	need_line record '^recording ' err
	echo "again $T/one.so $T/two.so 10 101" >&"$vm_in"
	said=$(answer vm)
	answer vm >/dev/null
	check "$host: they lie where others lay" test "${said#same }" -gt 0
	finish record INT
	ends_well "$VMSPAN" report "$T/rec.vmspan" --json >"$T/report.json"
	# Where nothing else is traced what is loaded does not wait by itself: all but the first, with which the trace
	# began, have gone on, and the trace cannot know for what.
	json_eq "$host: every span is there" "$T/report.json" \
		'[.events.count, .events.incomplete, .losses.marks_off, (.losses | del(.marks_off) | [.[]] | add)]' \
		"[2020,0,$([ "$host" = plain ] && echo 1 || echo 0),0]"
	json_eq "$host: and its own library's" "$T/report.json" \
		'[.groups[] | select(.kind == "addon") | [.name, .spans]] | sort' '[["addon:one",1010],["addon:two",1010]]'
	dismiss vm
done

# The kernel turns on the marks of one of two copies of one file; the trace ends before anybody need have looked at the
# other.
target vm "$T/crowd"
start record "$VMSPAN" record -p "$vm_pid" -o "$T/rec.vmspan"
need_line record '^recording ' err
tell vm "open $T/one.so" "apart $T/one.so" "lib 100"
finish record INT
ends_well "$VMSPAN" report "$T/rec.vmspan" --json >"$T/report.json"
json_eq "one file twice: what is not traced is said" "$T/report.json" \
	'[.complete, .left_out, ([.processes[].notes[]?.text | test("it has loaded one.so 2 times .*, of which 1 cannot be traced")] | any)]' \
	'[false,1,true]'
dismiss vm

# What comes and goes before anybody has looked at it is missing: where nothing waits, since the program has no copy of
# the SDK, or the library sees none (dlmopen), and where it has waited in vain.
for by in wait comm apart vain; do
	host=crowd copies=2 how=(-p) does=pass
	case $by in
	wait) host=plain copies=1 how=(--wait -p) ;;
	comm) host=plain copies=1 how=(--comm plain) ;;
	apart) does=aside ;;
	esac
	target vm "$T/$host"
	[ $by = comm ] || how+=("$vm_pid")
	start record "$VMSPAN" record "${how[@]}" -o "$T/rec.vmspan"
	need_line record '^recording ' err
	kill -s STOP "$record_pid"
	tell vm "$does $T/one.so 50"
	kill -s CONT "$record_pid"
	tell vm "open $T/two.so"
	check "gone before it was looked at, $by: what stays is attached to" until_true is_armed "$vm_pid" $copies
	tell vm "lib 10"
	finish record INT
	ends_well "$VMSPAN" report "$T/rec.vmspan" --json >"$T/report.json"
	json_eq "gone before it was looked at, $by: that is a loss" "$T/report.json" \
		'[.complete, .losses.marks_off, [.groups[] | select(.kind == "addon") | [.name, .spans]]]' \
		'[false,1,[["addon:two",10]]]'
	json_eq "gone before it was looked at, $by: and is told" "$T/report.json" \
		'[.processes[].notes[]?.text | select(test("loaded a library .* gone before it could be attached to"))] | length' 1
	dismiss vm
done

# What is started to be traced waits for that, each time: where it did not have to wait for too long, nothing is missing.
late=1
for ((try = 0; try < 10 && late; try++)); do
	ends_well "$VMSPAN" record -q -o "$T/rec.vmspan" -- "$T/plain" "pass $T/one.so 7" "pass $T/one.so 7" \
		"pass $T/two.so 7" "pass $T/one.so 7" "aside $T/two.so 7" "pass $T/two.so 7" >/dev/null
	ends_well "$VMSPAN" report "$T/rec.vmspan" --json >"$T/report.json"
	late=$(jq '.losses.marks_off' "$T/report.json")
	[ "$late" = 0 ] && late=''
done
check "come and gone, and waited for: nothing is missing" test -z "$late"
json_eq "come and gone, and waited for: all is there" "$T/report.json" '[.complete, .spans]' '[true,42]'

# Each library that is loaded when no other is has another place for its threads' marks, and the kernel side knows eight
# of them: what is in an older one is read before, or is missing.
complete=''
for ((try = 0; try < 10 && !complete; try++)); do
	ends_well "$VMSPAN" record -q -o "$T/rec.vmspan" -- "$T/plain" "guests $T/one.so $T/two.so 20 50" >/dev/null 2>&1
	ends_well "$VMSPAN" report "$T/rec.vmspan" --json >"$T/report.json"
	json_eq "twenty places, try $try: all is there, or it is said that it is not" "$T/report.json" \
		'.complete == (.spans == 1000) or .losses.read_fault + (.losses_uncounted.read_fault // 0) > 0' true
	complete=$(jq 'select(.complete) | 1' "$T/report.json")
done
check "twenty places: all is there" test -n "$complete"
ends_well "$VMSPAN" record -q --exact -o "$T/rec.vmspan" -- "$T/plain" "guests $T/one.so $T/two.so 20 50" >/dev/null 2>&1
ends_well "$VMSPAN" report "$T/rec.vmspan" --json >"$T/report.json"
json_eq "twenty places: in exact mode what cannot be read is missing" "$T/report.json" '[.complete, .losses.no_sched > 0]' \
	'[false,true]'

# Conventional probes are attached one by one, and a library that was begun under the trace waits for all of them:
# where it did not have to wait for too long, all is there, once each. Else that is said. What one has defined is read when
# its first records come, and it may have taken that with it.
for n in one two; do
	build "$T/direct-$n.so" tests/vm/crowd.c -pthread -shared -fPIC -DVMSPAN_PROBES -DCROWD_LIBRARY "-DCROWD_GROUP=\"$n\""
done
build "$T/direct" tests/vm/crowd.c -pthread -DVMSPAN_PROBES
for host in direct plain; do
	missing=1 own=22
	[ $host = direct ] || own=0
	for ((try = 0; try < 15 && missing; try++)); do
		ends_well "$VMSPAN" record -q --method direct -o "$T/rec.vmspan" -- "$T/$host" "spans 11" \
			"again $T/direct-one.so $T/direct-two.so 3 101" "spans 11" >"$T/out"
		check "direct, $host: libraries lie where others lay" grep -q 'same [1-9]' "$T/out"
		ends_well "$VMSPAN" report "$T/rec.vmspan" --json >"$T/report.json"
		missing=$(jq '.losses | .marks_off + .names' "$T/report.json")
		[ "$missing" = 0 ] && missing=''
		[ -z "$missing" ] || json_eq "direct, $host, try $try: what is missing is said" "$T/report.json" .complete false
	done
	check "direct, $host: libraries that come and go are waited for" test -z "$missing"
	json_eq "direct, $host: every span is there, once" "$T/report.json" \
		'[.events.count, .spans, (.losses | add)]' "[$((own + 6 * 101)),$((own + 6 * 101)),0]"
	json_eq "direct, $host: and its own library's" "$T/report.json" \
		'[.groups[] | select(.name | test("one|two")) | [.name, .spans]] | sort' '[["addon:one",303],["addon:two",303]]'
done
