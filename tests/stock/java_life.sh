#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A JVM whose classes and compiled code come and go while it is looked at, and one with
# 5,000 threads: every name is right, nothing is lost, and it lives on.
# shellcheck disable=SC2154 # start_app sets app_pid
# shellcheck source=tests/stock/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/tasks_lib.sh
. "$(dirname "$0")/../tasks_lib.sh"

JAVA=/usr/lib/jvm/java-17-openjdk-amd64/bin
if [ ! -x $JAVA/javac ] || [ ! -x $JAVA/jar ]; then
	skip_rest "OpenJDK" "no $JAVA/javac or jar: tools/install-deps --vms"
fi
java_plugins "$T/plugins"
$JAVA/javac -d "$T/life" "$APPS/Life.java"
echo 'Premain-Class: Life
Can-Redefine-Classes: true' >"$T/manifest"
$JAVA/jar cfm "$T/life.jar" "$T/manifest" -C "$T/life" .

# Plugins work, whatever else goes on: all groups are those that there are, and they have
# the time.
check_life() { # NAME PLUGIN...
	local name=$1
	shift
	report "$T/l"
	jq -r '.groups[].name | select(startswith("package:"))' "$T/l.json" |
		grep -vxE "package:($(printf '%s|' "$@")\((main|stdlib|jit|gc|vm|native)\))" >"$T/others"
	check "$name: no other names than there are: $(head -n 1 "$T/others")" test ! -s "$T/others"
	json_eq "$name: the plugins have the time of the program's own packages" "$T/l.json" \
		'[.groups[] | select(.name | test("^package:(heavy|middle|light|.main.|.stdlib.)$"))] |
		[.[] | select(.name | test("[(]") | not).self_samples] as $p | ($p | add) > 1000 and
		($p | add) / ([.[].self_samples] | add) > 0.8' true
	json_eq "$name: nothing is lost but what cannot be walked, one look of 50 at most" "$T/l.json" \
		'([.losses[]] | add) == .losses.read_fault and .losses.read_fault * 50 < .events.samples' true
	check_ledger "$name" "$T/l.json"
	answer=$(ask gc 1)
	json_eq "$name: it lives on" <(echo "$answer") '.gc > 0' true
}

app $JAVA/java -Xmx64m -cp "$T/life" Life unload "$T/plugins"
ask work 1 >"$T/warm"
start_record "$T/l" "$app_pid" --hz 999
ask work 20 >"$T/answer"
finish rec INT
json_eq "unloaded classes: they were" "$T/answer" '.unloaded >= 57' true
check_life "unloaded classes" heavy middle light
# Their code is made anew and thrown away all the time: each look knows whose it was, but
# those that could not be walked.
check_shares "unloaded classes" "$T/l.json" package "$(jq .used "$T/warm")" "$(jq .used "$T/answer")" \
	"$(jq '.losses.read_fault / .events.samples' "$T/l.json")"
json_eq "unloaded classes: collections are as many as the VM counts" "$T/l.json" .gc.count \
	"$(($(jq .gc "$T/answer") - $(jq .gc "$T/warm")))"

app $JAVA/java -Xmx64m -javaagent:"$T/life.jar" -cp "$T/life" Life redefine "$T/plugins"
start_record "$T/l" "$app_pid" --hz 999
ask work 15 >"$T/answer"
finish rec INT
json_eq "redefined classes: they were" "$T/answer" .redefined 15
check_life "redefined classes" heavy

if [ "$(tasks_free)" -lt 5100 ]; then
	skip_rest "5,000 threads" "only $(tasks_free) may be made here"
fi
app $JAVA/java -Xmx64m -cp "$T/life" Life threads "$T/plugins" 5000
check "5,000 threads are there" test "$(find "/proc/$app_pid/task" -maxdepth 1 | wc -l)" -gt 5000
start_record "$T/l" "$app_pid" --hz 999
ask work 2000 >"$T/answer"
finish rec INT
check_life "5,000 threads" heavy
check_kill "5,000 threads" "$app_pid"
