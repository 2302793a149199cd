# SPDX-License-Identifier: Apache-2.0
#
# One Makefile, no recursion into folders. `make help` lists the targets.
# CC CPPFLAGS CFLAGS LDFLAGS LDLIBS given by the user come last and win.

VERSION     := 0.1.0

PREFIX      ?= /usr/local
BINDIR      ?= $(PREFIX)/bin
SBINDIR     ?= $(PREFIX)/sbin
LIBEXECDIR  ?= $(PREFIX)/libexec/fuzzd
MANDIR      ?= $(PREFIX)/share/man
DATADIR     ?= $(PREFIX)/share/fuzzd
SYSTEMDDIR  ?= $(PREFIX)/lib/systemd
TMPFILESDIR ?= $(PREFIX)/lib/tmpfiles.d
DESTDIR     ?=

PKG_CONFIG  ?= pkg-config
INSTALL     ?= install
AR          ?= ar
STRICT      ?=
WERROR      ?=
SAN         ?=
V           ?=

# SAN=1 is SAN=address,undefined; objects of the two kinds never mix.
comma       := ,
override SAN := $(if $(filter 1,$(SAN)),address$(comma)undefined,$(SAN))
BUILD       ?= $(if $(SAN),build-san,build)

Q           := $(if $(V),,@)
say          = $(if $(V),@:,@printf '  %-7s %s\n' '$(1)' '$(patsubst $(BUILD)/%,%,$(2))')

.DELETE_ON_ERROR:
.SUFFIXES:
.PHONY: all check check-unit check-e2e check-san check-faults check-kill check-vm soak lint golden plant seeds demo \
	install install-units uninstall clean help programs units FORCE
all: programs

# ---- Another AFL++ ------------------------------------------------------------------------
# AFLPP=PREFIX: all that is built and run takes the AFL++ in PREFIX/bin; what another one built is built anew.
ifneq ($(AFLPP),)
ifneq ($(words $(AFLPP)),1)
$(error AFLPP=$(AFLPP): a folder whose name has no blank is needed, make cannot name another)
endif
aflpp_lacks := $(strip $(foreach p,afl-fuzz afl-clang-fast afl-showmap,$(if $(wildcard $(AFLPP)/bin/$(p)),,$(AFLPP)/bin/$(p))))
ifneq ($(aflpp_lacks),)
$(error AFLPP=$(AFLPP): there is no $(aflpp_lacks) (contrib/aflpp-of-debian makes such a folder))
endif
export PATH := $(abspath $(AFLPP))/bin:$(PATH)
AFL_CC      := $(abspath $(AFLPP))/bin/afl-clang-fast
# Coverage and libFuzzer builds are none of AFL++'s.
HARNESS_CLANG ?= clang
endif

# ---- Dependencies -------------------------------------------------------------------------
# Asked before pkg-config is, so that a bare machine ends with the right flags. Targets
# that compile nothing do not ask; NODEPS=1 turns the question off.
goals       := $(or $(MAKECMDGOALS),all)
dry_run     := $(findstring n,$(filter-out --%,$(firstword -$(MAKEFLAGS))))
ifneq ($(filter-out clean help uninstall replay-builds,$(goals)),)
ifeq ($(dry_run)$(NODEPS),)
deps_group  := $(if $(filter lint,$(goals)),all,$(if $(filter check check-e2e,$(goals)),check,$(if $(filter check-vm,$(goals)),vm,build)))
ifneq ($(shell sh contrib/install-deps --check $(deps_group) >/dev/null 2>&1; echo $$?),0)
ifneq ($(shell sh contrib/install-deps 1>&2; echo $$?),0)
$(warning contrib/install-deps could not install everything, going on without)
endif
endif
endif
endif

# ---- Flags --------------------------------------------------------------------------------
LIBS        := inih libbsd libmd libzstd libxxhash libarchive libsystemd sqlite3 jansson libelf libdw
pkg_cflags  := $(patsubst -I%,-isystem%,$(shell $(PKG_CONFIG) --cflags $(LIBS) 2>/dev/null))
pkg_libs    := $(shell $(PKG_CONFIG) --libs $(LIBS) 2>/dev/null)
test_libs   := $(or $(shell $(PKG_CONFIG) --libs cmocka 2>/dev/null),-lcmocka)
machine     := $(shell $(CC) -dumpmachine 2>/dev/null)

ifeq ($(origin CFLAGS),undefined)
CFLAGS      := -O2 -g
endif

warnings    := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wformat=2 \
	-Wcast-qual -Wundef -Wwrite-strings -Wimplicit-fallthrough $(if $(WERROR),-Werror)
hardening   := -fstack-protector-strong -fstack-clash-protection \
	$(if $(filter x86_64-% i%86-%,$(machine)),-fcf-protection)
# Fortify wants an optimising build, and hides faults from the sanitizers.
fortify     := $(if $(SAN)$(filter -O0,$(CFLAGS)),,-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)
san_flags   := $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer)
dir_flags   := -DFZ_BINDIR='"$(BINDIR)"' -DFZ_SBINDIR='"$(SBINDIR)"' -DFZ_LIBEXECDIR='"$(LIBEXECDIR)"'

ALL_CPPFLAGS = -Iorchestrator -Iharnesses -D_GNU_SOURCE -DFZ_VERSION='"$(VERSION)"' $(fortify) $(pkg_cflags) $(CPPFLAGS)
ALL_CFLAGS   = -std=c17 $(warnings) $(hardening) $(san_flags) $(CFLAGS)
ALL_LDFLAGS  = $(san_flags) -Wl,-z,relro,-z,now,-z,noexecstack -Wl,--as-needed $(LDFLAGS)
ALL_LDLIBS   = $(pkg_libs) -lm $(LDLIBS)
banned       = -include orchestrator/base/banned.h
dep_flags    = -MMD -MP -MF $(@:.o=.d)

# ---- Sources ------------------------------------------------------------------------------
FOLDERS     := base sys spec plan store farm engine triage corpus oracle bundle report ctl
LIB_SRC     := $(sort $(wildcard $(FOLDERS:%=orchestrator/%/*.c)))
LIB_OBJ     := $(LIB_SRC:%.c=$(BUILD)/obj/%.o)
LIB         := $(BUILD)/libfuzzd.a

# program:source pairs; a program is built when its source is there.
PROGRAM_MAP := fuzzd:fuzzd fuzzctl:fuzzctl fuzz-keeper:keeper fuzz-triage:triage_main
have_main    = $(wildcard orchestrator/$(lastword $(subst :, ,$(1))).c)
PRESENT     := $(foreach p,$(PROGRAM_MAP),$(if $(call have_main,$(p)),$(p)))
PROGRAMS    := $(foreach p,$(PRESENT),$(BUILD)/$(firstword $(subst :, ,$(p))))
# A main may have parts of its own beside it: fuzzd.c and fuzzd_*.c.
main_src     = $(sort $(wildcard orchestrator/$(1).c orchestrator/$(1)_*.c))
MAIN_OBJ    := $(foreach p,$(PRESENT),$(patsubst %.c,$(BUILD)/obj/%.o,$(call main_src,$(lastword $(subst :, ,$(p))))))
PRELOAD     := $(if $(wildcard orchestrator/preload.c),$(BUILD)/fuzz-preload.so)

# tests/unit/test_*.c are programs; the other files there are linked into each of them.
UNIT_SRC    := $(sort $(wildcard tests/unit/test_*.c))
UNIT_COMMON := $(filter-out $(UNIT_SRC),$(sort $(wildcard tests/unit/*.c)))
UNITS       := $(UNIT_SRC:%.c=$(BUILD)/%)
UNIT_OBJ    := $(UNIT_SRC:%.c=$(BUILD)/obj/%.o)
UNIT_COMMON_OBJ := $(UNIT_COMMON:%.c=$(BUILD)/obj/%.o)

programs: $(LIB) $(PROGRAMS) $(PRELOAD)
units: $(UNITS)

# ---- Stamps: what was built with other flags, or from another list of files, is stale -----
export FZ_STAMP_FLAGS = $(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(ALL_LDFLAGS) $(ALL_LDLIBS)
export FZ_STAMP_LIB   = $(LIB_OBJ:$(BUILD)/%=%)
git_version := $(shell git describe --always --dirty --tags 2>/dev/null)
export FZ_STAMP_GIT   = $(git_version)
export FZ_STAMP_DIRS  = $(dir_flags)

$(BUILD)/.stamp-%: FORCE
	@mkdir -p $(@D)
	@case '$*' in flags) now=$$FZ_STAMP_FLAGS ;; lib) now=$$FZ_STAMP_LIB ;; \
		dirs) now=$$FZ_STAMP_DIRS ;; *) now=$$FZ_STAMP_GIT ;; esac; \
	if [ ! -f $@ ] || [ "$$now" != "$$(cat $@)" ]; then printf '%s\n' "$$now" >$@; fi

# ---- Rules --------------------------------------------------------------------------------
$(BUILD)/obj/orchestrator/%.o: orchestrator/%.c $(BUILD)/.stamp-flags
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(dep_flags) $(banned) -fPIE $(own_flags) $(ALL_CPPFLAGS) $(ALL_CFLAGS) -c -o $@ $<

$(BUILD)/obj/orchestrator/base/version.o: $(BUILD)/.stamp-git
$(BUILD)/obj/orchestrator/base/version.o: own_flags := -DFZ_GIT='"$(git_version)"'
# Where the programs look for each other; another PREFIX rebuilds this file only.
$(BUILD)/obj/orchestrator/base/path.o: $(BUILD)/.stamp-dirs
$(BUILD)/obj/orchestrator/base/path.o: own_flags := $(dir_flags)

$(BUILD)/obj/tests/%.o: tests/%.c $(BUILD)/.stamp-flags
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(dep_flags) -fPIE -Itests/unit $(ALL_CPPFLAGS) $(ALL_CFLAGS) -c -o $@ $<

$(LIB): $(LIB_OBJ) $(BUILD)/.stamp-lib
	$(call say,AR,$@)
	$(Q)rm -f $@.new && $(AR) rcsD $@.new $(LIB_OBJ) && mv $@.new $@

define program_rule
$(BUILD)/$(1): $(patsubst %.c,$(BUILD)/obj/%.o,$(call main_src,$(2))) $(LIB)
	$$(call say,LINK,$$@)
	$$(Q)$$(CC) -pie $$(ALL_CFLAGS) $$(ALL_LDFLAGS) -o $$@.new $$(filter %.o %.a,$$^) $$(ALL_LDLIBS) && mv $$@.new $$@
endef
$(foreach p,$(PRESENT),$(eval $(call program_rule,$(firstword $(subst :, ,$(p))),$(lastword $(subst :, ,$(p))))))

# Loaded into the program under test: no library, no sanitizer of ours.
$(BUILD)/fuzz-preload.so: san_flags :=
$(BUILD)/fuzz-preload.so: orchestrator/preload.c $(BUILD)/.stamp-flags
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) -MMD -MP -MF $@.d $(banned) -fPIC -shared $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $<

$(BUILD)/tests/unit/%: $(BUILD)/obj/tests/unit/%.o $(UNIT_COMMON_OBJ) $(LIB)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) -pie $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $(filter %.o %.a,$^) $(test_libs) $(ALL_LDLIBS)

# These use the real programs.
$(BUILD)/tests/unit/test_keeper: $(BUILD)/fuzz-keeper
$(BUILD)/tests/unit/test_preload: $(BUILD)/fuzz-preload.so

# Write faults: loaded into the tests, never installed, without a sanitizer of its own.
FAULT_SHIM  := $(BUILD)/tests/fault/shim.so
$(FAULT_SHIM): san_flags :=
$(FAULT_SHIM): tests/fault/shim.c tests/fault/shim.h $(BUILD)/.stamp-flags
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) -fPIC -shared $(filter-out -D_FORTIFY_SOURCE=3,$(ALL_CPPFLAGS)) $(ALL_CFLAGS) $(ALL_LDFLAGS) \
		-o $@ $<
check check-e2e check-faults: $(FAULT_SHIM)
FAULT_UNITS := $(filter $(BUILD)/tests/unit/test_fault%,$(UNITS))
$(FAULT_UNITS) $(BUILD)/tests/unit/test_finish: $(FAULT_SHIM)
$(BUILD)/tests/unit/test_fault_farm: $(BUILD)/fuzz-keeper

# Drivers of the end-to-end scripts.
E2E_SRC     := $(sort $(wildcard tests/e2e/*.c))
E2E_OBJ     := $(E2E_SRC:%.c=$(BUILD)/obj/%.o)
$(BUILD)/tests/e2e/%: $(BUILD)/obj/tests/e2e/%.o $(LIB)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) -pie $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $(filter %.o %.a,$^) $(ALL_LDLIBS)
check check-e2e: $(E2E_SRC:%.c=$(BUILD)/%)

# What tests/bench/replay.py asks for the rates of the engine alone.
$(BUILD)/tests/bench/%: $(BUILD)/obj/tests/bench/%.o $(LIB)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) -pie $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $(filter %.o %.a,$^) $(ALL_LDLIBS)
# An afl-fuzz that fuzzes nothing, for many instances.
check check-e2e: $(BUILD)/tests/bench/standin
-include $(E2E_OBJ:.o=.d)

.SECONDARY: $(E2E_OBJ) $(UNIT_OBJ) $(UNIT_COMMON_OBJ) $(MAIN_OBJ)
-include $(LIB_OBJ:.o=.d) $(MAIN_OBJ:.o=.d) $(UNIT_OBJ:.o=.d) $(UNIT_COMMON_OBJ:.o=.d) \
	$(addsuffix .d,$(PRELOAD))

# A program that attacks whoever runs it, for tests of containment; not part of what is shipped.
CHAOS_SRC   := $(wildcard tests/chaos/*.c)
$(BUILD)/tests/chaos/static: chaos_flags := -static
$(BUILD)/tests/chaos/%: $(CHAOS_SRC) $(wildcard tests/chaos/*.h) $(BUILD)/.stamp-harness-afl
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(h_cc.afl) $(call h_flags,afl) $(chaos_flags) -o $@ $(CHAOS_SRC)
check check-e2e: $(BUILD)/tests/chaos/dynamic $(BUILD)/tests/chaos/static

# A program for the fork-server client, in the ways that programs read their input.
ENGINE_TARGETS := $(addprefix $(BUILD)/tests/engine/,persistent stdin asan static)
$(BUILD)/tests/engine/persistent $(BUILD)/tests/engine/asan: engine_flags := -DTARGET_PERSISTENT
$(BUILD)/tests/engine/static: engine_flags := -DTARGET_PERSISTENT -static
$(BUILD)/tests/engine/%: tests/engine/target.c $(BUILD)/.stamp-harness-afl
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(if $(filter asan,$*),AFL_USE_ASAN=1) AFL_QUIET=1 $(AFL_CC) $(call h_flags,afl) $(engine_flags) -o $@ $<
# One that keeps state from input to input.
$(BUILD)/tests/engine/stateful: tests/engine/stateful.c $(BUILD)/.stamp-harness-afl
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)AFL_QUIET=1 $(AFL_CC) $(call h_flags,afl) -o $@ $<
# One that plays a fork server and worse, by the plain compiler.
$(BUILD)/tests/engine/hostile: tests/engine/hostile.c
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) -std=c17 -D_GNU_SOURCE -O1 -Wall -Wextra -o $@ $<
ENGINE_TARGETS += $(BUILD)/tests/engine/stateful $(BUILD)/tests/engine/hostile
$(BUILD)/tests/unit/test_forkserver $(BUILD)/tests/unit/test_forkserver_folder $(BUILD)/tests/unit/test_stability $(BUILD)/tests/unit/test_job_floor: $(ENGINE_TARGETS) $(PRELOAD)

# A program that plays the harness's side of batch mode, wrong.
$(BUILD)/tests/engine/liar: tests/engine/liar.c harnesses/sdk/fz_ring.h $(BUILD)/.stamp-flags
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $<

# ---- Checks -------------------------------------------------------------------------------
run_tests    = BUILD=$(BUILD) STRICT=$(STRICT) sh tests/run

# Tests mostly wait, so some run beside others where there are two cores.
LANES       ?= $(if $(filter 1,$(shell nproc)),1,3)
check: all units
	@LANES=$(LANES) $(run_tests) unit e2e replay

check-unit: units
	@$(run_tests) unit

check-e2e: all
	@$(run_tests) e2e

# Each takes longer under the sanitizers.
check-san: export UNIT_LIMIT ?= 400
check-san:
	@$(MAKE) --no-print-directory SAN=$(or $(SAN),1) BUILD=build-san programs units
	@BUILD=build-san STRICT=$(STRICT) sh tests/run unit

# The kill matrix: a real campaign a seed, 3 to 8 s each.
N           ?= 2000
check-faults: programs units
	@FZ_FAULTS_ALL=1 UNIT_LIMIT=1800 BUILD=$(BUILD) STRICT=1 sh tests/run $(FAULT_UNITS) tests/e2e/64-write-faults.sh

check-kill: programs
	@python3 tests/kill/kill.py --build $(BUILD) --seeds 0-199
soak: programs
	@python3 tests/kill/kill.py --build $(BUILD) --seeds 0-$(shell expr $(N) - 1)

# In a guest with systemd and pure cgroup v2, as root and as an ordinary user (VM=uml or qemu).
VM          ?= uml
check-vm: programs harnesses plants $(BUILD)/tests/chaos/dynamic $(BUILD)/tests/chaos/static \
		$(addprefix $(BUILD)/tests/unit/,test_cgroup test_cgroup_v2 test_keeper test_scope)
	@BUILD=$(BUILD) STRICT=$(STRICT) VM=$(VM) sh tests/vm/run

golden: units
	@GOLDEN_UPDATE=1 $(run_tests) unit

lint:
	@MAKE='$(MAKE)' sh tests/lint/run

# ---- Install ------------------------------------------------------------------------------
MAN1        := $(wildcard orchestrator/man/*.1)
MAN5        := $(wildcard orchestrator/man/*.5)
MAN8        := $(wildcard orchestrator/man/*.8)
d           := $(DESTDIR)
libexec_set := $(filter %/fuzz-keeper %/fuzz-triage,$(PROGRAMS)) $(PRELOAD)

# What a harness outside this tree is built from.
KIT         := $(wildcard harnesses/sdk/*.[ch] harnesses/sdk/*.txt)

# A path for sed's right side and systemd's quotes, where % begins a specifier.
comma       := ,
unit_path    = $(subst $(comma),\$(comma),$(subst &,\&,$(subst %,%%,$(1))))
# 1 from contrib/systemd, 2 to SYSTEMDDIR: the units name the programs where they are installed.
put_unit     = sed -e 's,@SBINDIR@,$(call unit_path,$(SBINDIR)),g' -e 's,@BINDIR@,$(call unit_path,$(BINDIR)),g' \
	'contrib/systemd/$(1)' >'$(d)$(SYSTEMDDIR)/$(2)' && chmod 644 '$(d)$(SYSTEMDDIR)/$(2)'

install: programs install-units
	$(INSTALL) -d '$(d)$(BINDIR)' '$(d)$(SBINDIR)' '$(d)$(LIBEXECDIR)' '$(d)$(MANDIR)/man1' \
		'$(d)$(MANDIR)/man5' '$(d)$(MANDIR)/man8'
	$(if $(KIT),$(INSTALL) -d '$(d)$(DATADIR)/sdk' && $(INSTALL) -m 644 $(KIT) '$(d)$(DATADIR)/sdk/')
	$(foreach p,$(filter %/fuzzctl,$(PROGRAMS)),$(INSTALL) -m 755 $(p) '$(d)$(BINDIR)/')
	$(foreach p,$(filter %/fuzzd,$(PROGRAMS)),$(INSTALL) -m 755 $(p) '$(d)$(SBINDIR)/')
	$(if $(strip $(libexec_set)),$(INSTALL) -m 755 $(libexec_set) '$(d)$(LIBEXECDIR)/')
	$(if $(MAN1),$(INSTALL) -m 644 $(MAN1) '$(d)$(MANDIR)/man1/')
	$(if $(MAN5),$(INSTALL) -m 644 $(MAN5) '$(d)$(MANDIR)/man5/')
	$(if $(MAN8),$(INSTALL) -m 644 $(MAN8) '$(d)$(MANDIR)/man8/')

install-units:
	$(INSTALL) -d '$(d)$(SYSTEMDDIR)/system' '$(d)$(SYSTEMDDIR)/user' '$(d)$(TMPFILESDIR)'
	$(call put_unit,fuzzd.service.in,system/fuzzd.service)
	$(call put_unit,fuzz-campaign@.service.in,system/fuzz-campaign@.service)
	$(call put_unit,fuzz-campaign@.timer,system/fuzz-campaign@.timer)
	$(call put_unit,user-fuzzd.service.in,user/fuzzd.service)
	$(call put_unit,fuzz.slice,system/fuzz.slice)
	$(call put_unit,fuzz.slice,user/fuzz.slice)
	$(INSTALL) -m 644 contrib/systemd/fuzzd.tmpfiles '$(d)$(TMPFILESDIR)/fuzzd.conf'

uninstall:
	rm -f $(foreach u,system/fuzzd.service system/fuzz-campaign@.service system/fuzz-campaign@.timer system/fuzz.slice \
		user/fuzzd.service user/fuzz.slice,'$(d)$(SYSTEMDDIR)/$(u)') '$(d)$(TMPFILESDIR)/fuzzd.conf'
	rm -f '$(d)$(BINDIR)/fuzzctl' '$(d)$(SBINDIR)/fuzzd' '$(d)$(LIBEXECDIR)/fuzz-keeper' \
		'$(d)$(LIBEXECDIR)/fuzz-triage' '$(d)$(LIBEXECDIR)/fuzz-preload.so'
	rm -f $(foreach m,$(notdir $(MAN1)),'$(d)$(MANDIR)/man1/$(m)') \
		$(foreach m,$(notdir $(MAN5)),'$(d)$(MANDIR)/man5/$(m)') \
		$(foreach m,$(notdir $(MAN8)),'$(d)$(MANDIR)/man8/$(m)')
	rm -f $(foreach k,$(notdir $(KIT)),'$(d)$(DATADIR)/sdk/$(k)')
	-rmdir '$(d)$(LIBEXECDIR)' '$(d)$(DATADIR)/sdk' '$(d)$(DATADIR)' 2>/dev/null

clean:
	rm -rf build build-san build-lint $(BUILD)

help:
	@printf '%s\n' \
	'make [all]      fuzzd, fuzzctl, fuzz-keeper, fuzz-triage and the harnesses, into build/' \
	'make check      every test; ends with "N passed, N failed" (STRICT=1: a skip fails)' \
	'make check-unit the cmocka programs only' \
	'make check-e2e  the scripts with real afl-fuzz only' \
	'make check-san  the unit programs under ASan and UBSan' \
	'make check-faults  every write of every change failing in turn, files cut at every length' \
	'make check-kill 200 seeds of the kill matrix; make soak N=2000 as many as N says' \
	'make check AFLPP=PREFIX  with the AFL++ in PREFIX/bin' \
	'make check-vm   isolation, scopes and adoption in a guest with systemd and cgroup v2 (VM=uml or qemu)' \
	'make lint       both compilers with -Werror, layers, format, cppcheck, shellcheck, man pages' \
	'make golden     rewrite the golden files of the unit programs; review the diff' \
	'make plant PLANT=ID   a harness with one planted bug, into build/plants/' \
	'make plants     every planted bug in every variant (PLANT_VARIANTS)' \
	'make replay-builds  what fuzzctl replay needs, by a plain compiler, without AFL++' \
	'make harnesses  the harnesses only (HARNESS_CFLAGS, HARNESS_LDFLAGS, AFL_CC)' \
	'make selftest   harnesses of our own parsers, for conf/campaigns/self.ini' \
	'make fuzz-short each of them with libFuzzer for a minute (FUZZ_SECONDS)' \
	'make dict       add what the libraries compare with to dictionaries/' \
	'make seeds      regenerate the committed seeds; make check-seeds compares' \
	'make demo       a campaign of about a minute, with live progress and a report' \
	'make install    PREFIX, DESTDIR, BINDIR, SBINDIR, LIBEXECDIR, MANDIR, DATADIR, SYSTEMDDIR, TMPFILESDIR; uninstall removes it' \
	'make clean      remove what was built' \
	'' \
	'WERROR=1 warnings are errors · SAN=1 sanitizers into build-san · V=1 shows commands' \
	'NODEPS=1 does not ask contrib/install-deps'

# ==== Harnesses: variants, plants, seeds, demo ============================================
# build/harnesses/TARGET/{afl,cmplog,laf,asan,replay,libfuzzer,cov}, build/plants/PLANT/TARGET/VARIANT.
# A target is a folder harnesses/targets/NAME with an invariants.c; every .c in it but gen_seeds.c
# and mutator.c is the target, with the libraries of other folders that h_uses.NAME lists. The
# kit's objects are shared by all targets and plants of a variant; a plant recompiles the files that
# name it, with -DPLANT_BUG_ID.
AFL_CC      ?= afl-clang-fast
H_TARGETS   := $(patsubst harnesses/targets/%/invariants.c,%,$(sort $(wildcard harnesses/targets/*/invariants.c)))
H_VARIANTS  := afl cmplog laf asan replay libfuzzer cov
h_uses.control_json := json/*.c
h_uses.negotiation_frame := json/*.c chunk_frame/chunk_frame.c
h_uses.session_opseq := json/*.c chunk_frame/chunk_frame.c control_json/control_json.c
H_PLANT_VARIANTS := afl cmplog asan replay
H_GENERATED := $(patsubst harnesses/targets/%/gen_seeds.c,%,$(sort $(wildcard harnesses/targets/*/gen_seeds.c)))
H_PLANTS    := $(shell sed -n 's/^\[\(.*\)\]$$/\1/p' harnesses/plants.ini 2>/dev/null)

# The clang of AFL++ is the one whose sanitizer and fuzzer runtimes are installed.
ifneq ($(filter-out clean help uninstall,$(goals)),)
afl_clang   := $(wildcard $(shell AFL_QUIET=1 $(AFL_CC) --version 2>/dev/null | sed -n 's/^InstalledDir: //p')/clang)
endif
HARNESS_CLANG ?= $(or $(afl_clang),clang)

h_afl        = AFL_QUIET=1 AFL_LLVM_DENYLIST=harnesses/sdk/afl-denylist.txt
h_ubsan     := -fsanitize=undefined -fno-sanitize-recover=all
h_cc.afl     = $(h_afl) $(AFL_CC)
h_cc.cmplog  = $(h_afl) AFL_LLVM_CMPLOG=1 $(AFL_CC)
h_cc.laf     = $(h_afl) AFL_LLVM_LAF_ALL=1 $(AFL_CC)
h_cc.asan    = $(h_afl) AFL_USE_ASAN=1 $(AFL_CC)
h_cc.replay  = $(CC)
h_cc.libfuzzer = $(HARNESS_CLANG)
h_cc.cov     = $(HARNESS_CLANG)
h_flags.afl := -O2
h_flags.cmplog := -O2
h_flags.laf := -O2
h_flags.asan := -O1 $(h_ubsan)
h_flags.replay := -O1 -fPIE $(san_flags)
h_flags.libfuzzer := -O1 -DFZ_LIBFUZZER -fsanitize=fuzzer,address $(h_ubsan)
h_flags.cov := -O0 -fprofile-instr-generate -fcoverage-mapping
h_main.afl  := main_afl
h_main.cmplog := main_afl
h_main.laf  := main_afl
h_main.asan := main_afl
h_main.replay := main_replay
h_main.cov  := main_replay
h_main.libfuzzer := main_libfuzzer
h_flags      = -std=c17 -g -fno-omit-frame-pointer -D_GNU_SOURCE -Iharnesses $(warnings) \
	$(h_flags.$(1)) $(HARNESS_CFLAGS)
h_link       = -Wl,--build-id -Wl,-z,relro,-z,now $(HARNESS_LDFLAGS)

# Objects of the kit for variant 1, of target 2; of target 2 with plant 3.
h_sdk        = $(patsubst harnesses/%.c,$(BUILD)/obj/harnesses/$(1)/%.o,$(wildcard harnesses/sdk/fz_*.c) \
	harnesses/sdk/$(h_main.$(1)).c)
h_src        = $(filter-out %/gen_seeds.c %/mutator.c,$(wildcard harnesses/targets/$(1)/*.c \
	$(addprefix harnesses/targets/,$(h_uses.$(1)))))
h_obj        = $(patsubst harnesses/%.c,$(BUILD)/obj/harnesses/$(1)/%.o,$(call h_src,$(2)))
h_plant_obj  = $(patsubst harnesses/%.c,$(BUILD)/obj/plants/$(3)/$(1)/%.o,$(plant_src.$(3))) \
	$(patsubst harnesses/%.c,$(BUILD)/obj/harnesses/$(1)/%.o,$(filter-out $(plant_src.$(3)),$(call h_src,$(2))))

.PHONY: harnesses plant plants check-seeds
all: harnesses
harnesses: $(foreach t,$(H_TARGETS),$(H_VARIANTS:%=$(BUILD)/harnesses/$(t)/%))

$(BUILD)/.stamp-harness-%: export FZ_STAMP_H = $(h_cc.$*) $(call h_flags,$*) $(h_link)
$(BUILD)/.stamp-harness-%: FORCE
	@mkdir -p $(@D)
	@if [ ! -f $@ ] || [ "$$FZ_STAMP_H" != "$$(cat $@)" ]; then printf '%s\n' "$$FZ_STAMP_H" >$@; fi

# 1 variant, 2 path of the objects, 3 more flags
define harness_compile
$(BUILD)/obj/$(2)/%.o: harnesses/%.c $(BUILD)/.stamp-harness-$(1) harnesses/sdk/afl-denylist.txt
	@mkdir -p $$(@D)
	$$(call say,CC,$$@)
	$$(Q)$$(h_cc.$(1)) $$(dep_flags) $$(call h_flags,$(1)) $(3) -c -o $$@ $$<
endef
# 1 variant, 2 program, 3 objects
define harness_link
$(2): $(3) $(BUILD)/.stamp-harness-$(1)
	@mkdir -p $$(@D)
	$$(call say,LINK,$$@)
	$$(Q)$$(h_cc.$(1)) $$(call h_flags,$(1)) $$(h_link) -o $$@ $$(filter %.o,$$^)
endef
$(foreach v,$(H_VARIANTS),$(eval $(call harness_compile,$(v),harnesses/$(v),)))
$(foreach t,$(H_TARGETS),$(foreach v,$(H_VARIANTS),\
	$(eval $(call harness_link,$(v),$(BUILD)/harnesses/$(t)/$(v),$(call h_sdk,$(v)) $(call h_obj,$(v),$(t))))))

# Units of the kit link the objects of the replay build of a target: test_harness_TARGET*.c of
# that one, test_harness_json*.c of one that reads JSON, any other of the first.
$(BUILD)/obj/tests/unit/test_harness_%.o: ALL_CPPFLAGS += -Iharnesses -Iharnesses/targets/chunk_frame
h_unit_of    = $(or $(strip $(foreach t,$(H_TARGETS),$(if $(filter test_harness_$(t)%,$(1)),$(t)))),\
	$(if $(filter test_harness_json%,$(1)),control_json),chunk_frame)
$(foreach u,$(filter $(BUILD)/tests/unit/test_harness_%,$(UNITS)),\
	$(eval $(u): $(filter-out %/main_replay.o,$(call h_sdk,replay)) \
		$(call h_obj,replay,$(strip $(call h_unit_of,$(notdir $(u)))))))

# Rules for the plants that are asked for: PLANT=ID, in PLANT_VARIANTS. The tests take the replay
# build of each and what they fuzz; `fuzzctl selftest` has the others made one by one.
PLANT       ?=
PLANT_VARIANTS ?= $(H_PLANT_VARIANTS)
plant_key    = $(shell awk -v id='[$(1)]' -v key='$(2)' '/^\[/ { on = $$0 == id } \
	on && $$1 == key && $$2 == "=" { print $$3 }' harnesses/plants.ini)
plants_wanted := $(if $(filter plants check check-e2e,$(goals)),$(H_PLANTS),\
	$(PLANT) $(if $(filter demo check-faults check-vm,$(goals)),CHUNK_MAX_PLUS1))
# Those that the scripts name, and those of campaigns that they run.
plants_of_tests := $(sort CHUNK_MAX_PLUS1/afl CHUNK_MAX_PLUS1/asan CHUNK_MAX_PLUS1/cmplog \
	$(foreach p,CHUNK_ALLOC_FIRST CHUNK_EOF_SPIN,$(p)/afl $(p)/asan) CHUNK_STATE_LEAK/afl SESS_STALL/afl \
	$(shell sed -n 's,plants/\([A-Z0-9_]*\)/[a-z_]*/\([a-z]*\),\n\1/\2\n,gp' tests/e2e/*.sh | grep -x '[A-Z0-9_]*/[a-z]*'))
# For the tests, of plant 1: a bug that shows in a sanitizer build only is replayed there.
plant_tested = replay $(filter asan,$(call plant_key,$(1),variant)) \
	$(patsubst $(1)/%,%,$(filter $(1)/%,$(plants_of_tests)))
plant_variants = $(if $(filter check check-e2e check-faults,$(goals)),$(sort $(call plant_tested,$(1))),$(PLANT_VARIANTS))
# What plant 1 changes in target 2: the sources that name it, or all where a header does.
plant_grep   = $(shell grep -lw PLANT_BUG_$(1) $(2) /dev/null)
plant_files  = $(if $(call plant_grep,$(1),$(wildcard $(addsuffix *.h,$(sort $(dir $(call h_src,$(2))))))),\
	$(call h_src,$(2)),$(call plant_grep,$(1),$(call h_src,$(2))))
define plant_rules
$(foreach v,$(H_PLANT_VARIANTS),
$(call harness_compile,$(v),plants/$(1)/$(v),-DPLANT_BUG_$(1))
$(call harness_link,$(v),$(BUILD)/plants/$(1)/$(2)/$(v),$(call h_sdk,$(v)) $(call h_plant_obj,$(v),$(2),$(1)))
)
plants: $(patsubst %,$(BUILD)/plants/$(1)/$(2)/%,$(call plant_variants,$(1)))
endef
$(foreach p,$(filter $(H_PLANTS),$(plants_wanted)),\
	$(eval plant_src.$(p) := $(call plant_files,$(p),$(call plant_key,$(p),target)))\
	$(eval $(call plant_rules,$(p),$(call plant_key,$(p),target))))

plant: plants
	@$(if $(PLANT),,echo 'usage: make plant PLANT=ID; known: $(H_PLANTS)' >&2; exit 2)
	@$(foreach p,$(filter-out $(H_PLANTS),$(PLANT)),echo 'no plant $(p) in harnesses/plants.ini' >&2; exit 2;)
	@$(foreach v,$(filter-out $(H_PLANT_VARIANTS),$(PLANT_VARIANTS)),echo 'no variant $(v) of plants' >&2; exit 2;)
check check-e2e check-faults: plants

# A custom mutator for afl-fuzz: mutator.c with the operations (ops.c) that the target decodes.
H_MUTATORS  := $(patsubst harnesses/targets/%/mutator.c,%,$(wildcard harnesses/targets/*/mutator.c))
mutator_src  = $(wildcard harnesses/targets/$(1)/mutator.c harnesses/targets/$(1)/ops.c)
define mutator_link
$(BUILD)/harnesses/$(1)/mutator.so: $(call mutator_src,$(1)) $(wildcard harnesses/targets/$(1)/*.h) \
		$(BUILD)/.stamp-harness-replay
	@mkdir -p $$(@D)
	$$(call say,LINK,$$@)
	$$(Q)$$(CC) $$(call h_flags,replay) -fPIC -shared $$(h_link) -o $$@ $(call mutator_src,$(1))
endef
$(foreach t,$(H_MUTATORS),$(eval $(call mutator_link,$(t))))
harnesses: $(H_MUTATORS:%=$(BUILD)/harnesses/%/mutator.so)

# Dictionaries: what a person wrote, and behind it what the library compares with. The oracle's
# and the invariants' own numbers are no tokens of the format.
.PHONY: dict
dict_src     = $(filter-out %/invariants.c %/oracle.c %/oracle_%.c,$(call h_src,$(1)))
DICTS       ?= dictionaries
dict: $(H_TARGETS:%=dict-%)
dict-%:
	@mkdir -p $(BUILD)/obj/dict/$* && rm -f $(BUILD)/obj/dict/$*/tokens && : >$(BUILD)/obj/dict/$*/tokens
	@set -e; for f in $(call dict_src,$*); do \
		AFL_LLVM_DICT2FILE='$(abspath $(BUILD))/obj/dict/$*/tokens' $(h_cc.afl) $(call h_flags,afl) \
			-c -o $(BUILD)/obj/dict/$*/x.o $$f; \
	done
	@sh harnesses/sdk/dict-merge $(DICTS)/$*.dict $(BUILD)/obj/dict/$*/tokens

# A harness of the kit for the tests of the engine, and what they compare the engines by.
define engine_kit_rule
$(BUILD)/tests/engine/kit-$(1): tests/engine/kit.c $(call h_sdk,$(1)) $(BUILD)/.stamp-harness-$(1)
	@mkdir -p $$(@D)
	$$(call say,LINK,$$@)
	$$(Q)$$(h_cc.$(1)) $$(call h_flags,$(1)) $$(h_link) -o $$@ $$(filter %.c %.o,$$^)
endef
$(foreach v,afl asan replay,$(eval $(call engine_kit_rule,$(v))))
engine_variants := afl cmplog laf asan
$(BUILD)/tests/unit/test_batch $(BUILD)/tests/unit/test_forkserver_folder: $(addprefix $(BUILD)/tests/engine/,kit-afl kit-asan liar) $(PRELOAD) \
	$(foreach t,$(H_TARGETS),$(engine_variants:%=$(BUILD)/harnesses/$(t)/%))
$(BUILD)/tests/unit/test_job_floor: $(BUILD)/tests/engine/kit-afl $(BUILD)/harnesses/chunk_frame/afl
check check-e2e: $(addprefix $(BUILD)/tests/engine/,kit-afl kit-asan kit-replay)

# The generators are plain programs of the build machine.
$(BUILD)/harnesses/%/gen_seeds: harnesses/targets/%/gen_seeds.c harnesses/sdk/seedgen.c harnesses/sdk/seedgen.h \
		$(BUILD)/.stamp-harness-replay
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(call h_flags,replay) -o $@ $(filter %.c,$^) -lmd

seeds: $(H_GENERATED:%=$(BUILD)/harnesses/%/gen_seeds)
	@set -e; for g in $^; do $$g seeds; done
check-seeds: $(H_GENERATED:%=$(BUILD)/harnesses/%/gen_seeds)
	@set -e; for g in $^; do $$g --check seeds; done
harnesses: $(H_GENERATED:%=$(BUILD)/harnesses/%/gen_seeds)

-include $(foreach v,$(H_VARIANTS),$(patsubst %.o,%.d,$(call h_sdk,$(v)) \
	$(foreach t,$(H_TARGETS),$(call h_obj,$(v),$(t)))))
-include $(foreach p,$(plants_wanted),$(wildcard $(BUILD)/obj/plants/$(p)/*/targets/*/*.d))

# The main job of the README: a clean build beside a planted one, in about a minute.
demo: programs harnesses plants
	@BUILD=$(BUILD) sh contrib/demo

# ==== Self-test: harnesses of our own parsers =============================================
# build/harnesses/selftest-NAME/{afl,asan,replay,libfuzzer}: harnesses/selftest/NAME.c with the
# sources st_src.NAME, compiled for each variant, as the parsers are what is fuzzed.
# `make check` builds replay alone, with the sanitizers of the plain compiler.
st_spec     := $(filter-out %/spec_paths.c,$(wildcard orchestrator/spec/*.c))
st_src.ini  := $(st_spec)
st_src.stats := orchestrator/farm/stats.c
st_src.statsd := orchestrator/farm/stats.c
st_src.lastwords := orchestrator/farm/lastwords.c
st_src.report := $(patsubst %,orchestrator/triage/%.c,classify report_sanitizer signature text)
st_src.bundle := $(patsubst %,orchestrator/bundle/%.c,bundle_read bundle_scan manifest)
st_src.handshake := orchestrator/engine/handshake.c
st_src.ring := $(patsubst %,orchestrator/engine/%.c,batch_maps batch_slot map)
st_src.proto := orchestrator/ctl/proto.c
# Without elfprobe, which looks for words in a harness and would find its own.
st_src.plan := $(wildcard orchestrator/spec/*.c) \
	$(filter-out %/elfprobe.c %/elfcalls.c %/host.c %/draft.c,$(wildcard orchestrator/plan/*.c)) \
	$(wildcard orchestrator/sys/proc*.c) $(addprefix orchestrator/,sys/drop.c sys/guard.c sys/launcher.c sys/nofile.c sys/raw.c) $(wildcard orchestrator/sys/seal*.c)
st_src.record := orchestrator/sys/keeper_wire.c
st_base     := $(filter-out %/version.c,$(wildcard orchestrator/base/*.c))

ST_NAMES    := $(patsubst harnesses/selftest/%.c,%,$(sort $(wildcard harnesses/selftest/*.c)))
ST_VARIANTS := afl asan replay libfuzzer
st_cflags.replay := -fsanitize=address,undefined -fno-sanitize-recover=all
st_cflags    = $(call h_flags,$(1)) $(st_cflags.$(1)) -Iorchestrator -DFZ_VERSION='"$(VERSION)"' $(dir_flags) $(pkg_cflags)
st_libs     := -Wl,--as-needed $(pkg_libs) -lm
st_obj       = $(patsubst %.c,$(BUILD)/obj/selftest/$(1)/%.o,harnesses/selftest/$(2).c $(st_src.$(2)) $(st_base))
# The replay build's kit must know that it is a sanitizer build.
st_sdk       = $(if $(st_cflags.$(1)),$(patsubst $(BUILD)/obj/harnesses/$(1)/%,$(BUILD)/obj/selftest/$(1)/harnesses/%,$(h_sdk)),$(h_sdk))

.PHONY: selftest selftest-replay fuzz-short replay-builds
selftest: $(foreach n,$(ST_NAMES),$(ST_VARIANTS:%=$(BUILD)/harnesses/selftest-$(n)/%))
selftest-replay: $(ST_NAMES:%=$(BUILD)/harnesses/selftest-%/replay)
check check-e2e: selftest-replay
# What fuzzctl replay runs, by the plain compiler alone: no AFL++ is looked for.
replay-builds: $(BUILD)/fuzzctl $(H_TARGETS:%=$(BUILD)/harnesses/%/replay) selftest-replay

$(BUILD)/.stamp-selftest-%: export FZ_STAMP_S = $(h_cc.$*) $(call st_cflags,$*) $(h_link) $(st_libs) $(foreach n,$(ST_NAMES),$(st_src.$(n)))
$(BUILD)/.stamp-selftest-%: FORCE
	@mkdir -p $(@D)
	@if [ ! -f $@ ] || [ "$$FZ_STAMP_S" != "$$(cat $@)" ]; then printf '%s\n' "$$FZ_STAMP_S" >$@; fi

# 1 variant
define selftest_compile
$(BUILD)/obj/selftest/$(1)/%.o: %.c $(BUILD)/.stamp-selftest-$(1)
	@mkdir -p $$(@D)
	$$(call say,CC,$$@)
	$$(Q)$$(h_cc.$(1)) $$(dep_flags) $$(if $$(filter orchestrator/%,$$<),$$(banned)) $$(call st_cflags,$(1)) -c -o $$@ $$<
endef
# 1 variant, 2 name
define selftest_link
$(BUILD)/harnesses/selftest-$(2)/$(1): $(call st_obj,$(1),$(2)) $(call st_sdk,$(1)) $(BUILD)/.stamp-selftest-$(1)
	@mkdir -p $$(@D)
	$$(call say,LINK,$$@)
	$$(Q)$$(h_cc.$(1)) $$(call st_cflags,$(1)) $$(h_link) -o $$@ $$(filter %.o,$$^) $$(st_libs)
endef
$(foreach v,$(ST_VARIANTS),$(eval $(call selftest_compile,$(v)))\
	$(foreach n,$(ST_NAMES),$(eval $(call selftest_link,$(v),$(n)))))
-include $(foreach v,$(ST_VARIANTS),$(patsubst %.o,%.d,$(sort $(call st_sdk,$(v)) $(foreach n,$(ST_NAMES),$(call st_obj,$(v),$(n))))))

# A minute each with libFuzzer; what is found stays in build/fuzz-short/NAME.
FUZZ_SECONDS ?= 60
fuzz-short: $(ST_NAMES:%=$(BUILD)/harnesses/selftest-%/libfuzzer)
	@BUILD=$(BUILD) sh tests/fuzz-short.sh $(FUZZ_SECONDS) $(ST_NAMES)
