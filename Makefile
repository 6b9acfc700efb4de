# SPDX-License-Identifier: BSD-2-Clause
# Builds vmspan, its demo host and its tests. Everything a source directory
# holds is picked up by wildcard: a new file needs no line here.
#
#   make              program, demo host          build/vmspan, build/demohost
#   make test         what needs no root: unit tests, golden files, checks
#   make test-live    live tests on the real kernel (root)
#   make test-vms     the same with stock VMs: tools/install-deps --vms
#   make test-kernels the same on other kernels, emulated (tools/install-deps --kernels)
#   make nightly      what is slow or random, hours: tools/nightly (root)
#   make mutants      defects are planted, the tests must find them: tools/mutants (root; hours)
#   make test-viewers the real viewers open our exports (tools/install-deps --viewers)
#   make check        format, include table, shell scripts
#   make install      see tools/install.mk for the variables; uninstall
#   make bench        costs beside the peers', and budgets (root; minutes)
#   make bench-scale  costs and memory up to 10^8 spans (root; minutes)
#   make accuracy   the table of errors alone, two runs (root; some minutes)
#   make bench-vms    stock VMs: accuracy, cost, price of exact calls (root; minutes)
#   make guard        instruction counts of the hot paths, against those kept
#   SAN=1             the same with ASan and UBSan, in build-san
#   CC=clang          with clang; B=DIR chooses another build directory

# make has a CC of its own: cc.
ifeq ($(origin CC),default)
CC := gcc
endif
CLANG ?= clang
BPFTOOL ?= $(firstword $(wildcard /usr/sbin/bpftool) bpftool)
B ?= $(if $(SAN),build-san,build)
ARCH := $(shell uname -m)
BPF_ARCH := $(if $(filter aarch64,$(ARCH)),arm64,x86)
VERSION := $(shell cat VERSION)

comma := ,
WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Werror
# Sanitizers take most of gcc's time at -O2, and want no more than line numbers.
OPT ?= $(if $(SAN),-O1 -g1,-O2)
# Tests start a sanitized program a thousand times. At its end the search for leaks reads all its
# variables, and the two shared runtimes of gcc have 6 MB each: so the runtime is linked in, which
# clang does anyway. A program at a fixed address need not be relocated page by page. At -O1 gcc
# knows less of the texts that are printed. Of the time to link those hundred programs gold, which is
# with binutils where they still have it, takes half.
SANITIZE := -fsanitize=address,undefined -fno-omit-frame-pointer -fno-sanitize-recover=all \
	$(if $(findstring clang,$(CC)),,-Wno-format-truncation -Wno-format-overflow \
	-fno-pie -no-pie -static-libasan -static-libubsan $(if $(shell command -v ld.gold),-fuse-ld=gold))
CFLAGS_ALL = -std=gnu11 -g $(WARN) $(OPT) -D_GNU_SOURCE -DVMSPAN_VERSION='"$(VERSION)"' \
	-I. -Iuser -I$(B) $(if $(SAN),$(SANITIZE)) $(CFLAGS)
# What is done in a short line; V=1 shows the commands.
Q := $(if $(V),,@)
say = $(if $(V),,@echo '  $(1)  $(if $(2),$(2),$@)')
LIBS := -lbpf -lelf -lz -linih -lncursesw -ljansson -lm
DEP = -MMD -MP

BPF_SRC := $(wildcard bpf/*.bpf.c)
BPF_SKEL := $(BPF_SRC:bpf/%.bpf.c=$(B)/%.skel.h)
LIB_SRC := $(filter-out user/cmd/% user/sdk/%,$(wildcard user/*/*.c))
CMD_SRC := $(wildcard user/cmd/*.c)
LIB_OBJ := $(LIB_SRC:%.c=$(B)/%.o)
CMD_OBJ := $(CMD_SRC:%.c=$(B)/%.o)
PROFILES := $(wildcard user/profiles/*.ini)
UNIT := $(patsubst tests/unit/%.c,$(B)/tests/%,$(wildcard tests/unit/*_test.c))
HOST_SRC := $(wildcard tools/host/*.c)
HOST_OBJ := $(HOST_SRC:%.c=$(B)/%.o)
VM_SRC := $(wildcard tests/vm/*.c)
VM_BIN := $(VM_SRC:tests/vm/%.c=$(B)/vm/%) $(B)/vm/plain
GOLDEN := $(patsubst tests/golden/%.c,$(B)/golden/%,$(wildcard tests/golden/*.c))
FUZZ := $(patsubst tests/fuzz/%.c,$(B)/fuzz/%,$(wildcard tests/fuzz/*_fuzz.c))

.PHONY: all lib sanitized shipped list-shipped soak test test-live test-vms test-kernels test-viewers nightly mutants check clean host vm unit header golden fuzz fuzz-seeds tests bench bench-programs bench-scale bench-vms accuracy guard
.SECONDARY:
.DELETE_ON_ERROR:

all: $(B)/vmspan $(if $(HOST_SRC),$(B)/demohost)

$(B)/vmspan: $(CMD_OBJ) $(B)/libvmspan.a
	$(call say,LINK)
	$(Q)$(CC) $(CFLAGS_ALL) -o $@ $(CMD_OBJ) $(B)/libvmspan.a $(LIBS) $(LDFLAGS)

$(B)/libvmspan.a: $(LIB_OBJ)
	$(call say,AR  )
	$(Q)rm -f $@ && ar rcs $@ $^

# The library as others link it: one object, nothing visible but its interface.
# $(B)/lib holds all of it, found by PKG_CONFIG_PATH=$(B)/lib without installing.
lib: $(B)/lib/libvmspan.a $(B)/lib/libvmspan.pc $(B)/lib/libvmspan.h
$(B)/lib/libvmspan.a: $(LIB_OBJ)
	@mkdir -p $(@D)
	$(call say,LIB )
	$(Q)$(LD) -r -o $(B)/lib/libvmspan.o $(LIB_OBJ)
	$(Q)objcopy -w --keep-global-symbol='libvmspan_*' $(B)/lib/libvmspan.o
	$(Q)rm -f $@ && ar rcs $@ $(B)/lib/libvmspan.o
$(B)/lib/libvmspan.pc: user/lib/libvmspan.pc.in VERSION
	@mkdir -p $(@D)
	$(Q)sed -e 's|@prefix@|$(abspath $(B))|' -e 's|@libdir@|$(abspath $(B))/lib|' \
		-e 's|@includedir@|$(abspath $(B))/lib|' -e 's|@version@|$(VERSION)|' $< > $@
$(B)/lib/libvmspan.h: user/lib/libvmspan.h
	@mkdir -p $(@D)
	$(Q)cp $< $@

# One BPF object a concern, linked into one, so they share maps.
$(B)/bpf/%.bpf.o: bpf/%.bpf.c
	@mkdir -p $(@D)
	$(call say,BPF )
	$(Q)$(CLANG) -g -O2 -target bpf -mcpu=v3 -D__TARGET_ARCH_$(BPF_ARCH) -Wall -Werror $(DEP) \
		-Ivmlinux/$(ARCH) -I. -idirafter /usr/include/$(ARCH)-linux-gnu -c $< -o $@

$(B)/vmspan.bpf.o: $(BPF_SRC:bpf/%.bpf.c=$(B)/bpf/%.bpf.o)
	$(call say,GEN )
	$(Q)$(BPFTOOL) gen object $@ $^

$(B)/vmspan.skel.h: $(B)/vmspan.bpf.o
	$(call say,GEN )
	$(Q)$(BPFTOOL) gen skeleton $< name vmspan_bpf > $@

# Not pattern rules: one without a recipe would cancel the rule below.
$(filter $(B)/user/attach/%,$(LIB_OBJ)): $(if $(BPF_SRC),$(B)/vmspan.skel.h)

# The profiles as one C file: name and text of each.
$(B)/profiles.inc: $(PROFILES) tools/embed
	@mkdir -p $(@D)
	$(call say,GEN )
	$(Q)tools/embed $(PROFILES) > $@
$(filter $(B)/user/probe/%,$(LIB_OBJ)): $(if $(PROFILES),$(B)/profiles.inc)

$(B)/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC  )
	$(Q)$(CC) $(CFLAGS_ALL) $(DEP) -c $< -o $@

# The page's scripts and styles are embedded by the assembler.
$(B)/user/sink/html_assets.o: $(wildcard user/sink/assets/*)

# The host's scripts, embedded in the same way.
HOST_JS := $(wildcard tools/host/js/*.js)
$(B)/host_js.inc: $(HOST_JS) tools/embed
	@mkdir -p $(@D)
	$(call say,GEN )
	$(Q)tools/embed $(HOST_JS) > $@
$(B)/tools/host/vm.o: $(B)/host_js.inc

host: $(B)/demohost
$(B)/demohost: $(HOST_OBJ) $(B)/libvmspan.a
	$(call say,LINK)
	$(Q)$(CC) $(CFLAGS_ALL) -o $@ $(HOST_OBJ) $(B)/libvmspan.a -lduktape -lm -pthread $(LDFLAGS)

vm: $(VM_BIN) $(B)/vm/live_probe
# Of the live tests: attaches and counts, and stops at stages of attaching.
LIVE_WRAPS := $(patsubst %,-Wl$(comma)--wrap=%,tracer_open site_flush site_armed \
	children_open bpf_program__attach_uprobe_opts kernel_uprobe_multi)
$(B)/vm/live_probe: tests/live/live_probe.c tests/live/live_stage.c $(B)/libvmspan.a
	@mkdir -p $(@D)
	$(call say,CC  )
	$(Q)$(CC) $(CFLAGS_ALL) $(LIVE_WRAPS) -o $@ $(filter %.c,$^) $(B)/libvmspan.a $(LIBS) $(LDFLAGS)
$(B)/vm/plain: tests/vm/crowd.c
	@mkdir -p $(@D)
	$(call say,CC  )
	$(Q)$(CC) $(CFLAGS_ALL) -DCROWD_NONE -o $@ $< -pthread $(LDFLAGS)
$(B)/vm/%: tests/vm/%.c user/sdk/vmspan.h
	@mkdir -p $(@D)
	$(call say,CC  )
	$(Q)$(CC) $(CFLAGS_ALL) $(DEP) -o $@ $< -pthread $(LDFLAGS)

unit: $(UNIT)
# Those that hold the SDK's header; by another compiler too, which need not build the library
# anew: LIBVMSPAN names one.
header: $(filter $(B)/tests/sdk_% $(B)/tests/v2_%,$(UNIT))
LIBVMSPAN ?= $(B)/libvmspan.a
# The kernel side's programs copy texts and records by words.
$(B)/tests/bpf_%: private CFLAGS_ALL += -fno-strict-aliasing
# What it says to the kernel side.
$(B)/tests/live_vm_%: private LDFLAGS += -Wl,--wrap=vm_want_waits,--wrap=vm_looked,--wrap=vm_open_turns,--wrap=clock_mono_ns
# A test's own text takes longer to optimize than to run; alert_oracle_test computes for long.
# Programs that include what they test (the SDK's header, a source) have it as it ships; the kernel
# side, which bpf_* include, ships as another compiler makes it.
UNIT_PLAIN := $(filter-out $(B)/tests/sdk_% $(B)/tests/v2_% $(B)/tests/alert_oracle_test \
	$(filter-out $(B)/tests/bpf_%,$(patsubst tests/unit/%.c,$(B)/tests/%, \
	$(shell grep -lE '^.include ".*[.]c"' tests/unit/*_test.c))),$(UNIT))
$(UNIT_PLAIN): private OPT := $(if $(SAN),-O0 -g1,-O0)
$(B)/tests/%: tests/unit/%.c $(LIBVMSPAN)
	@mkdir -p $(@D)
	$(call say,CC  )
	$(Q)$(CC) $(CFLAGS_ALL) $(DEP) -Itests/unit -Ivmlinux/$(ARCH) -o $@ $< $(LIBVMSPAN) \
		-lcmocka $(LIBS) -lm -pthread $(LDFLAGS)

# One library that tells what of it is reached, for all fuzzers: whole folders, and what those and
# the commands' options refer to besides. A fuzzer that includes sources of the commands is made
# with those.
FUZZ_ALSO := model/clock model/hist model/item model/parts \
	sink/history sink/listen sink/rows sink/table sink/words
FUZZ_CC := clang -std=gnu11 -g1 -O1 $(WARN) -D_GNU_SOURCE -DVMSPAN_VERSION='"$(VERSION)"' -I. -Iuser -I$(B) \
	-fno-sanitize-recover=all
FUZZ_OBJ := $(patsubst %.c,$(B)/fuzz/%.o,$(filter user/base/% user/probe/% user/rec/%,$(LIB_SRC)) \
	$(addprefix user/,$(addsuffix .c,$(FUZZ_ALSO))))
fuzz: $(FUZZ) $(B)/fuzz/make_seeds
$(filter $(B)/fuzz/user/probe/%,$(FUZZ_OBJ)): $(if $(PROFILES),$(B)/profiles.inc)
$(B)/fuzz/user/%.o: user/%.c
	@mkdir -p $(@D)
	$(call say,CC  )
	$(Q)$(FUZZ_CC) -fsanitize=fuzzer-no-link,address,undefined $(DEP) -c $< -o $@
$(B)/fuzz/libvmspan.a: $(FUZZ_OBJ) Makefile
	$(call say,AR  )
	$(Q)rm -f $@ && ar rcs $@ $(FUZZ_OBJ)
$(B)/fuzz/make_seeds: tests/fuzz/make_seeds.c $(B)/fuzz/libvmspan.a
	$(call say,CC  )
	$(Q)$(FUZZ_CC) -fsanitize=address,undefined $(DEP) -MF $@.d -o $@ $< $(B)/fuzz/libvmspan.a $(LIBS)
$(B)/fuzz/%_fuzz: tests/fuzz/%_fuzz.c $(B)/fuzz/libvmspan.a
	@mkdir -p $(@D)
	$(call say,CC  )
	$(Q)$(FUZZ_CC) -fsanitize=fuzzer,address,undefined $(DEP) -MF $@.d -o $@ $< \
		$(B)/fuzz/libvmspan.a $(LIBS)
# What they begin with, written anew: for when the formats change.
fuzz-seeds: $(B)/fuzz/make_seeds
	$(B)/fuzz/make_seeds tests/fuzz/corpus

golden: $(GOLDEN) $(B)/bench/guard $(B)/bench/bpfrun $(B)/bench/quiet
$(B)/golden/%: tests/golden/%.c $(B)/libvmspan.a
	@mkdir -p $(@D)
	$(call say,CC  )
	$(Q)$(CC) $(CFLAGS_ALL) $(DEP) -o $@ $< $(B)/libvmspan.a $(LIBS) $(LDFLAGS)

# Every program the tests run, the fuzzers apart: those need clang.
tests: all unit golden vm lib
# Of the unit tests each runs under sanitizers in every run of the tests; as they ship, those that hold the
# SDK's header, those that do less under sanitizers, and those whose output is read by golden/json.sh.
SHIPPED := $(sort $(filter $(B)/tests/sdk_% $(B)/tests/v2_% $(B)/tests/sink_test $(B)/tests/export_test,$(UNIT)) \
	$(patsubst tests/unit/%.c,$(B)/tests/%,$(shell grep -lE '__SANITIZE_ADDRESS__|"each_nth.h"' tests/unit/*_test.c)))
shipped: all golden vm lib $(SHIPPED)
list-shipped:
	$(if $(SHIPPED),@printf '%s\n' $(SHIPPED:$(B)/tests/%=unit/%),@false)
# What runs under sanitizers.
sanitized: $(B)/vmspan unit $(GOLDEN) $(B)/bench/quiet

test: all unit golden lib
	tests/run unit golden

test-live: all vm
	tests/run live

# watch for long, with processes that come and go: root, two minutes.
soak: all vm
	tests/run soak

test-vms: all vm
	tests/run stock

# What is slow or random; it may be broken off and gone on with.
nightly:
	tools/nightly

# Planted defects; MUTANTS: lists, or LIST/NAME. It may be broken off and gone on with.
mutants:
	tools/mutants $(MUTANTS)

# KERNELS: series, e.g. "6.1 7.2"; all that can be had.
test-kernels: all vm
	B=$(B) tools/kernel-matrix $(KERNELS)

test-viewers: all golden
	tests/run viewers

check:
	tools/check

# ---- The bench. Its peers are optional: tools/install-deps --bench. ----
BENCH := $(B)/bench
BENCH_SRC := $(addprefix tests/bench/,bench.c proc.c stat.c peers.c pairs.c series.c tracer.c budget.c quiet.c)
LTTNG := $(wildcard /usr/include/lttng/tracepoint.h /usr/include/*/lttng/tracepoint.h)
BENCH_TARGETS := $(addprefix $(BENCH)/target-,sdk v1 probes ring4096 ring8192 ring65536 ring262144 $(if $(LTTNG),lttng))

bench-programs: all $(BENCH)/bench $(BENCH_TARGETS) $(BENCH)/accuracy $(BENCH)/quiet $(B)/vm/burn $(B)/vm/pair
# The run before is kept: tools/bench-md puts the two beside each other.
bench: bench-programs
	$(Q)[ ! -s $(BENCH)/bench.json ] || mv $(BENCH)/bench.json $(BENCH)/bench-before.json
	$(BENCH)/bench $(BENCH_FLAGS) $(BENCH) $(B)/vmspan

# What grows with spans, groups and threads, and what does not: to 10^8 spans.
bench-scale: bench-programs golden
	B=$(B) bash tests/bench/scale.sh

bench-vms: all $(BENCH)/quiet
	B=$(B) bash tests/bench/vms.sh
	tools/vms-md $(BENCH)/vms.json

# The table of errors in two runs: build/bench/accuracy.json, README, BENCHMARKS.
accuracy: all $(BENCH)/accuracy $(BENCH)/quiet $(B)/vm/burn $(B)/vm/pair
	B=$(B) bash tests/bench/accuracy.sh 2

# Instruction counts, kept in tests/bench/guard.txt.
guard: $(B)/vmspan $(BENCH)/guard $(BENCH)/bpfrun
	tests/run golden/guard.sh

$(BENCH)/guard: tests/bench/guard.c tests/unit/rec_gen.h user/source/marks.h $(B)/libvmspan.a
	@mkdir -p $(@D)
	$(call say,CC  )
	$(Q)$(CC) $(CFLAGS_ALL) -o $@ $< $(B)/libvmspan.a $(LIBS) -lm $(LDFLAGS)

$(BENCH)/bpfrun: tests/bench/bpfrun.c bpf/wire.h user/sdk/vmspan.h
	@mkdir -p $(@D)
	$(call say,CC  )
	$(Q)$(CC) $(CFLAGS_ALL) -o $@ $< -lbpf -lelf -lz $(LDFLAGS)

$(BENCH)/accuracy: tests/bench/accuracy.c tests/bench/original.c tests/bench/original.h $(B)/libvmspan.a
	@mkdir -p $(@D)
	$(call say,CC  )
	$(Q)$(CC) $(CFLAGS_ALL) -o $@ $(filter %.c,$^) $(B)/libvmspan.a $(LIBS) $(LDFLAGS)

$(BENCH)/quiet: tests/bench/quiet.c tests/bench/quiet_main.c tests/bench/quiet.h $(B)/libvmspan.a
	@mkdir -p $(@D)
	$(call say,CC  )
	$(Q)$(CC) $(CFLAGS_ALL) -o $@ $(filter %.c,$^) $(B)/libvmspan.a $(LIBS) $(LDFLAGS)

$(BENCH)/bench: $(BENCH_SRC) tests/bench/bench.h tests/bench/quiet.h $(B)/libvmspan.a
	@mkdir -p $(@D)
	$(call say,CC  )
	$(Q)$(CC) $(CFLAGS_ALL) -o $@ $(BENCH_SRC) $(B)/libvmspan.a $(LIBS) $(LDFLAGS)

target_flags_probes := -DVMSPAN_PROBES
target_flags_v1 := -DSDK_V1
target_flags_ring4096 := -DVMSPAN_RING=4096
target_flags_ring8192 := -DVMSPAN_RING=8192
target_flags_ring65536 := -DVMSPAN_RING=65536
target_flags_ring262144 := -DVMSPAN_RING=262144
target_flags_lttng := -DBENCH_LTTNG -Itests/bench -Wno-error tests/bench/lttng_tp.c -llttng-ust -ldl
$(BENCH)/target-%: tests/bench/target.c tests/bench/lttng_tp.h tests/bench/lttng_tp.c user/sdk/vmspan.h \
		user/sdk/v1/vmspan.h
	@mkdir -p $(@D)
	$(call say,CC  )
	$(Q)$(CC) $(CFLAGS_ALL) -o $@ $< $(target_flags_$*) -pthread $(LDFLAGS)

clean:
	rm -rf build build-san build-clang

include tools/install.mk

-include $(shell find $(B) -type f -name '*.d' 2>/dev/null)
