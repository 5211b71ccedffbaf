# kiln's build. `make help` lists the targets; everything built goes to $(BUILD).
#
# All paths are relative, so the checkout may lie anywhere. Nothing of the
# system is looked up while this file is read: recipes do it, after `deps`.

MAKEFLAGS += --no-builtin-rules
.SECONDEXPANSION:
.DELETE_ON_ERROR:
.DEFAULT_GOAL := all

# --- what may be set on the command line ------------------------------------

BUILD   ?= build
OUT     ?= out
PREFIX  ?= /usr/local
LIBDIR  ?= $(PREFIX)/lib
TIER    ?= cpu
JOBS    ?= 1
SPECS   ?= spec
TRUTH_USER ?= tests/truth/truth_user.c
# CC=gcc|clang  CFLAGS=, LDFLAGS= (added last)  WERROR=1  V=1 (show commands)
# DESTDIR=  OPS= KEYS= ONLY=stale|new|all JOBS= (certify)
# SPECS: spec folders, later ones over earlier; TRUTH_USER: a C file with the
# truth of a user's own ops, see tests/truth/truth_ops.h

# --- flags ------------------------------------------------------------------

# No warning of these groups is switched off.
WARN   := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wvla -Wundef \
          $(if $(WERROR),-Werror)
WARN_C := -Wstrict-prototypes -Wmissing-prototypes
# Value-safe: the same bits at every level and from every compiler, and lane
# loops that become vectors.
FLOAT  := -ffp-contract=off -fno-trapping-math -fno-math-errno
AVX2   := -mavx2 -mfma -mf16c
SAN    := -fsanitize=address,undefined -fno-sanitize-recover=all \
          -fno-omit-frame-pointer
LUA_PC := lua5.4 yaml-0.1

# The three ways a file is compiled: for use, for tests, for tests with
# sanitizers. Kernels are vectorised as at -O3 without its unrolling, which
# costs compile time and code for no speed.
VECTOR     = $(if $(filter $(OUT)/cpu/%,$<),-ftree-vectorize \
    $$($(CC) --version | grep -q clang || echo -fvect-cost-model=dynamic))
MODE_rel   = -O2 $(VECTOR) -g -fPIC -fvisibility=hidden
MODE_plain = -O1 -g
MODE_san   = -O1 -g $(SAN)
MODE_fuzz  = -O1 -g $(SAN) -fsanitize=fuzzer-no-link

# Of one file: its ISA by its name, Lua and libyaml for the generator's.
of_file = $(if $(filter %_avx2.c,$<),$(AVX2)) \
    $(if $(filter gen/% tests/% $(BUILD)/embed_data.c,$<),-Igen -Itests \
        $$(pkg-config --cflags $(LUA_PC) 2>/dev/null))
compile = $(CC) -std=c11 $(WARN) $(WARN_C) $(FLOAT) $(MODE_$1) -pthread \
    -Iruntime -I$(OUT)/include $(of_file) $(CFLAGS) -MMD -MP -c -o $@ $<
# Evidence names the toolkit.
$(BUILD)/rel/tests/certify/tier.o: private of_file = \
    -DKILN_NVCC="\"$$($(NVCC) --version 2>/dev/null | tail -n 1)\""

Q := $(if $(V),,@)
say = @mkdir -p $(@D)$(if $(V),, && echo "  $1  $@")
# Writes $1 to the target when that changes it: what depends on it is rebuilt
# then, and only then.
keep = @mkdir -p $(@D); printf '%s\n' '$1' | cmp -s - $@ || \
    printf '%s\n' '$1' >$@

# --- lists: from the tree, never typed --------------------------------------

objects = $(patsubst %.c,$(BUILD)/$1/%.o,$2)
EMBED := $(sort $(shell find lua -name '*.lua' -o -name '*.tmpl')) \
         $(wildcard runtime/kiln.h runtime/core/*.h runtime/cpu/*.h \
         runtime/cuda/*.cuh)
CORE  := $(wildcard runtime/core/*.c)
GEN   := $(filter-out gen/embed.c,$(wildcard gen/*.c)) $(CORE) \
         $(BUILD)/embed_data.c
MODULES := $(patsubst $(OUT)/cuda/units/%.cu,$(BUILD)/cuda/%.c,\
    $(wildcard $(OUT)/cuda/units/*.cu))
LIB   := $(wildcard runtime/*.c) $(CORE) \
         $(wildcard runtime/cpu/*.c runtime/cuda/*.c $(OUT)/table/*.c \
         $(OUT)/table/*/*.c $(OUT)/cpu/units/*.c) $(MODULES)
TRUTH := $(filter-out %/truth_user.c,$(wildcard tests/truth/*.c)) $(TRUTH_USER)
UNIT  := $(basename $(notdir $(wildcard tests/unit/test_*.c)))
FUZZ  := $(notdir $(wildcard tests/fuzz/corpus/*))
MADE  := $(addprefix $(BUILD)/,libkiln.a libkiln.so kiln)
PLAIN := $(MADE) $(UNIT:%=$(BUILD)/plain/%)
STYLED = $(shell find gen runtime tests -name '*.[ch]' ! -name dlpack.h \
         ! -path '*/golden/*' ! -path '*/out/*')

specs = $(foreach d,$(SPECS),--spec '$d')

# --- targets ----------------------------------------------------------------

# Goals by name run one after another as given, also with -j, so that `deps`
# is done before anything else begins and what follows `gen` sees the tree it
# wrote. Files are built by a make of their own: with -j as given, else on all
# cores.
ifeq ($(filter $(BUILD)/%,$(MAKECMDGOALS)),)
.NOTPARALLEL:
endif
make = +@$(MAKE) --no-print-directory $(if $(V),,-s) \
    $(if $(filter -j%,$(MAKEFLAGS)),,-j$$(nproc))

.PHONY: bench resources check-resources help deps gen check-gen all lib demo plain tests test certify install \
        fuzz fuzzers format lint check-cxx clean FORCE

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-10s %s\n", $$1, $$2}' \
	    Makefile
	@echo "Variables: CC BUILD PREFIX DESTDIR WERROR=1 V=1 OPS= KEYS= ONLY=" \
	    "SECONDS= TARGET="

deps: ## install what building and testing need (apt)
	@sh tests/deps.sh

all: ## the library and the generator (default)
	$(make) $(MADE)

lib: ## the library alone: needs a C compiler, nothing else
	$(make) $(BUILD)/libkiln.a $(BUILD)/libkiln.so

gen: ## write out/ from spec/
	$(make) $(BUILD)/kiln
	$(BUILD)/kiln gen $(specs) --out '$(OUT)'

check-gen: ## fail when out/ is not what spec/ gives
	$(make) $(BUILD)/kiln
	$(BUILD)/kiln gen --check $(specs) --out '$(OUT)'

bench: lib ## time kiln against PyTorch on the cpu
	python3 tests/bench/vs_torch_cpu.py --lib $(BUILD)/libkiln.so

demo: gen ## generate, build, and run the census of three models
	$(make) BUILD=$(BUILD)/cpu CUDA= $(BUILD)/cpu/demo
	$(BUILD)/kiln census --tier cpu $(wildcard spec/census/*.json) \
	    >$(BUILD)/demo.tsv
	$(BUILD)/cpu/demo $(BUILD)/demo.tsv

plain: ## build the test programs without sanitizers
	$(make) -k $(PLAIN)

tests: ## build the test programs, plain and with sanitizers
	$(make) -k $(PLAIN) $(BUILD)/san/kiln $(UNIT:%=$(BUILD)/san/%)

test: ## run the tests, plain and with sanitizers
	-$(make) tests
	+@BUILD='$(BUILD)' CC='$(CC)' bash tests/run.sh

fuzzers: # the programs of `make fuzz` and tests/fuzz_test.sh
	$(make) $(FUZZ:%=$(BUILD)/fuzz/fuzz_%)

fuzz: ## fuzz each target for SECONDS=120, or one: TARGET=yaml
	+@BUILD='$(BUILD)' bash tests/fuzz/run.sh $(or $(SECONDS),120) $(TARGET)

certify: ## measure candidates, rewrite spec/certified/TIER
	$(make) $(BUILD)/kiln
	$(BUILD)/kiln candidates $(specs) --out $(BUILD)/candidates \
	    --tier $(TIER) \
	    $(if $(OPS),--ops '$(OPS)') $(if $(KEYS),--keys '$(KEYS)') \
	    $(if $(ONLY),--only '$(ONLY)')
	$(make) OUT=$(BUILD)/candidates $(BUILD)/certify/runner
	@# What was judged by another truth or another judge is judged again.
	@if [ -n "$$(find $(BUILD)/certify/$(TIER).jsonl ! -newer \
	    $(BUILD)/certify/runner 2>/dev/null)" ]; then \
	    echo "certify: the runner is newer than the journal: starting anew"; \
	    rm -f $(BUILD)/certify/$(TIER).jsonl; \
	fi
	$(BUILD)/certify/runner --list $(BUILD)/candidates/CANDIDATES.tsv \
	    --journal $(BUILD)/certify/$(TIER).jsonl --jobs $(JOBS) \
	    || [ $$? -eq 3 ] # some failed: what passed is certified
	$(BUILD)/kiln certify $(specs) --tier $(TIER) \
	    $(if $(OPS),--ops '$(OPS)') $(BUILD)/certify/$(TIER).jsonl

# What ptxas says of every kernel of out/, a file a tier. Each tier's own code.
CUBINS = $(patsubst $(OUT)/cuda/units/%.cu,$(BUILD)/cuda/%.cubin,\
    $(wildcard $(OUT)/cuda/units/*.cu))
TIERS = $(sort $(foreach c,$(CUBINS),$(firstword $(subst _, ,$(notdir $c)))))

$(BUILD)/cuda/%.tsv: $(CUBINS) runtime/cuda/resources.sh
	$(Q)printf '# kernel\tregisters\tshared_bytes\tspill_bytes\tcode_bytes\n' \
	    >$@
	$(Q)for cubin in $(filter $(BUILD)/cuda/$*_%,$(CUBINS)); do \
	    sh runtime/cuda/resources.sh $${cubin%.cubin} || exit 1; \
	done | LC_ALL=C sort >>$@

resources: ## record what nvcc makes of each CUDA kernel, in spec/certified
	$(make) $(TIERS:%=$(BUILD)/cuda/%.tsv)
	@for tier in $(TIERS); do \
	    cp $(BUILD)/cuda/$$tier.tsv spec/certified/$$tier/resources.tsv; \
	done

check-resources: ## fail when nvcc makes something else of them, or is absent
	$(make) $(TIERS:%=$(BUILD)/cuda/%.tsv)
	@for tier in $(TIERS); do \
	    diff spec/certified/$$tier/resources.tsv $(BUILD)/cuda/$$tier.tsv || \
	        { echo "$$tier is not what make resources recorded with nvcc" \
	            "(none here? another release?)" >&2; exit 1; }; \
	done

format: ## clang-format what is written by hand
	clang-format -i $(STYLED)

lint: ## clang-format and luacheck, changing nothing
	clang-format --dry-run -Werror $(STYLED)
	luacheck --no-color -q lua tests

check-cxx: ## read out/ as C++17 under the same warnings
	$(Q)find $(OUT) -name '*.[ch]' | LC_ALL=C sort | while read -r file; do \
	    case $$file in *_avx2.c) isa='$(AVX2)';; *) isa=;; esac; \
	    $(CXX) -x c++ -std=c++17 $(WARN) -Werror $$isa -Iruntime \
	        -I$(OUT)/include -fsyntax-only "$$file" || exit 1; \
	done

clean: ## remove everything built
	rm -rf $(BUILD)

# --- compiling --------------------------------------------------------------

$(BUILD)/flags: FORCE
	$(call keep,$(CC) $(WARN) $(FLOAT) $(AVX2) $(CFLAGS) $(LDFLAGS))

$(BUILD)/rel/%.o: %.c $(BUILD)/flags
	$(call say,CC)
	$(Q)$(call compile,rel)

$(BUILD)/plain/%.o: %.c $(BUILD)/flags
	$(call say,CC)
	$(Q)$(call compile,plain)

$(BUILD)/san/%.o: %.c $(BUILD)/flags
	$(call say,CC)
	$(Q)$(call compile,san)

.SECONDARY:
-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)

# --- the generator ----------------------------------------------------------

$(BUILD)/embed: $(call objects,rel,gen/embed.c)
	$(call say,LD)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^

$(BUILD)/embed.list: FORCE
	$(call keep,$(EMBED))

$(BUILD)/embed_data.c: $(BUILD)/embed $(BUILD)/embed.list $(EMBED)
	$(call say,EMBED)
	$(Q)$(BUILD)/embed $@ lua $(filter lua/%,$(EMBED)) \
	    $(foreach f,$(filter-out lua/%,$(EMBED)),$f=$f)

link_kiln = $(CC) $(SAN_$1) $(LDFLAGS) -o $@ $^ \
    $$(pkg-config --libs $(LUA_PC)) -lm -pthread
SAN_san := $(SAN)

$(BUILD)/kiln: $(call objects,rel,$(GEN))
	$(call say,LD)
	$(Q)$(call link_kiln,rel)

$(BUILD)/san/kiln: $(call objects,san,$(GEN))
	$(call say,LD)
	$(Q)$(call link_kiln,san)

# --- CUDA: units become cubins, cubins data of the library ------------------

# Without nvcc, or with CUDA= on the command line, modules are empty and their
# kernels refused by name.
CUDA ?= 1
NVCC ?= $$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
# Of a unit, by its tier. FORCED=sm_90: every lower tier's virtual architecture
# built for that chip, to run where the tier's own chip is not.
code_sm90 := sm_90a
ptx_sm90  := compute_90a
code_of = $(or $(code_$1),$(1:sm%=sm_%))
ptx_of  = $(or $(ptx_$1),$(1:sm%=compute_%))
cuda_flags = -std=c++17 -O3 -fmad=false -gencode arch=$(call ptx_of,$1),code=$(or \
    $(if $(filter-out sm90,$1),$(FORCED)),$(call code_of,$1))

# What nvcc says it is; nothing: there is none, or CUDA= leaves it out.
TOOLKIT = $(if $(CUDA),$(shell $(NVCC) --version 2>/dev/null | tail -n 1))

$(BUILD)/cuda/flags: FORCE
	$(call keep,$(call cuda_flags,sm75) $(call cuda_flags,sm90) $(NVCCFLAGS) \
	    $(if $(EMU),emulated,$(TOOLKIT)))
	$(if $(CUDA),$(if $(EMU)$(TOOLKIT),,\
	    @echo 'no nvcc: the CUDA tiers are left out of the library'))

nvcc_unit = $(if $(TOOLKIT),$(NVCC) -cubin \
	    $(call cuda_flags,$(firstword $(subst _, ,$*))) -Xptxas -v \
	    -Iruntime/cuda -Iruntime $(NVCCFLAGS) -MD -MF $(@:.cubin=.d) \
	    -o $@ $< >$(@:.cubin=.log) 2>&1 || \
	    { cat $(@:.cubin=.log) >&2; exit 1; },\
	    : >$@; : >$(@:.cubin=.log))
# EMU=1: a shared object that tests/emu runs on the CPU; see its README.md.
emu_unit = $(CXX) -x c++ -std=c++17 -O1 -g $(FLOAT) -Wno-unknown-pragmas \
	    $(CFLAGS) -shared -fPIC -Itests/emu -Iruntime/cuda -Iruntime \
	    -MD -MF $(@:.cubin=.d) -MT $@ -o $(@:.cubin=.so) $< && \
	printf 'kiln-emu:%s\n' "$$(realpath $(@:.cubin=.so))" >$@

$(BUILD)/cuda/%.cubin: $(OUT)/cuda/units/%.cu $(BUILD)/cuda/flags
	$(if $(EMU)$(TOOLKIT),$(call say,$(if $(EMU),CXX,NVCC)))
	@mkdir -p $(@D)
	$(Q)$(if $(EMU),$(emu_unit),$(nvcc_unit))

$(BUILD)/cuda/%.c: $(BUILD)/cuda/%.cubin runtime/cuda/module.sh
	$(Q)sh runtime/cuda/module.sh $* $< >$@

# --- the library: only what kiln.h declares leaves it -----------------------

$(BUILD)/lib.list: FORCE
	$(call keep,$(LIB))

$(BUILD)/libkiln.o: $(call objects,rel,$(LIB)) $(BUILD)/lib.list
	$(call say,LD)
	$(Q)ld -r -o $@ $(filter %.o,$^)
	$(Q)objcopy --localize-hidden $@

$(BUILD)/libkiln.a: $(BUILD)/libkiln.o
	$(call say,AR)
	$(Q)rm -f $@ && ar rcs $@ $<

$(BUILD)/libkiln.so: $(BUILD)/libkiln.o
	$(call say,LD)
	$(Q)printf '{ global: kiln_*; local: *; };\n' >$(BUILD)/libkiln.map
	$(Q)$(CC) -shared -Wl,-soname,libkiln.so.0 -Wl,-z,defs \
	    -Wl,--version-script=$(BUILD)/libkiln.map $(LDFLAGS) -o $@ $< \
	    -lm -pthread
	$(Q)ln -sf libkiln.so $(BUILD)/libkiln.so.0

# --- programs that test -----------------------------------------------------

# A test's first lines say what else it is made of:
#   /* sources: runtime/core/ runtime/cpu/pool.c */ (a folder: all in it)
#   /* libs: -lyaml */
header = $(shell sed -n '1,30{/^\/\* $1:/,/\*\//p}' $2 | tr '\n' ' ' | \
    sed 's,\*/.*,,; s,^/\* $1:,,; s, \* , ,g')
sources = $(foreach f,$(filter %.c %/,$(call header,sources,$1)),$(if \
    $(filter build/cuda/,$f),$(MODULES),$(if $(filter %/,$f),$(wildcard $f*.c),\
    $(patsubst build/%,$(BUILD)/%,$f))))

link_test = $(CC) $(SAN_$1) $(LDFLAGS) -o $@ $(filter %.o,$^) \
    $(call header,libs,tests/unit/$(@F).c) -lcmocka -lm -pthread

$(BUILD)/plain/test_%: $(BUILD)/plain/tests/unit/test_%.o \
    $$(call objects,plain,$$(call sources,tests/unit/test_$$*.c))
	$(call say,LD)
	$(Q)$(call link_test,plain)

$(BUILD)/san/test_%: $(BUILD)/san/tests/unit/test_%.o \
    $$(call objects,san,$$(call sources,tests/unit/test_$$*.c))
	$(call say,LD)
	$(Q)$(call link_test,san)

# libFuzzer is clang's. Kernels are those of the library: guard pages watch
# them.
$(BUILD)/fuzz/%: private CC := clang
fuzz_objects = $(call objects,fuzz,$(filter-out out/cpu/%,$1)) \
    $(call objects,rel,$(filter out/cpu/%,$1))

$(BUILD)/fuzz/%.o: %.c $(BUILD)/flags
	$(call say,CC)
	$(Q)$(call compile,fuzz)

$(BUILD)/fuzz/fuzz_%: $(BUILD)/fuzz/tests/fuzz/%.o \
    $$(call fuzz_objects,$$(call sources,tests/fuzz/$$*.c))
	$(call say,LD)
	$(Q)$(CC) $(SAN) -fsanitize=fuzzer $(LDFLAGS) -o $@ $(filter %.o,$^) \
	    $(call header,libs,tests/fuzz/$*.c) -lm -pthread

$(BUILD)/demo: $(call objects,rel,$(wildcard tests/demo/*.c) $(TRUTH) \
    $(foreach f,call guard fill judge,tests/certify/$f.c)) $(BUILD)/libkiln.a
	$(call say,LD)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ -lm -pthread

# Linked with OUT=$(BUILD)/candidates, whose tables hold every candidate.
$(BUILD)/certify/runner: \
    $(call objects,rel,$(wildcard tests/certify/*.c) $(TRUTH) $(LIB))
	$(call say,LD)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ -lm -pthread

# The same with EMU=1, on the harness in place of a GPU.
$(BUILD)/certify/emu_runner: $(call objects,plain,$(wildcard tests/certify/*.c \
    tests/emu/*.c) tests/device/driver_emu.c $(TRUTH) $(LIB))
	$(call say,LD)
	$(Q)$(CC) $(LDFLAGS) -rdynamic -o $@ $^ -ldl -lm -pthread

ifeq ($(EMU),tsan) # which sees the fibers, not the engine
$(BUILD)/plain/tests/emu/%.o: override private CFLAGS += \
    -fno-sanitize=thread -DKILN_EMU_TSAN
endif

# --- install ----------------------------------------------------------------

VERSION = $(shell sed -n 's/^#define KILN_VERSION "\(.*\)"/\1/p' \
    runtime/kiln.h)
fill = sed -e 's|@PREFIX@|$(PREFIX)|g' -e 's|@LIBDIR@|$(LIBDIR)|g' \
    -e 's|@VERSION@|$(VERSION)|g' \
    -e "s|@INCLUDE_FROM_LIB@|$$(realpath -m --relative-to='$(LIBDIR)' \
        '$(PREFIX)/include/kiln')|g"

install: lib ## into DESTDIR/PREFIX, with pkg-config and CMake files
	@dest='$(DESTDIR)'; lib="$$dest$(LIBDIR)"; \
	inc="$$dest$(PREFIX)/include/kiln"; so=libkiln.so.$(VERSION); set -e; \
	install -d "$$lib/pkgconfig" "$$lib/cmake/kiln" "$$inc/kiln"; \
	install -m 644 runtime/kiln.h runtime/dlpack.h "$$inc"; \
	install -m 644 $(OUT)/include/kiln/*.h "$$inc/kiln"; \
	install -m 644 $(BUILD)/libkiln.a "$$lib"; \
	install -m 755 $(BUILD)/libkiln.so "$$lib/$$so"; \
	ln -sf "$$so" "$$lib/libkiln.so.0"; \
	ln -sf "$$so" "$$lib/libkiln.so"; \
	$(fill) runtime/kiln.pc.in >"$$lib/pkgconfig/kiln.pc"; \
	$(fill) runtime/kilnConfig.cmake.in \
	    >"$$lib/cmake/kiln/kilnConfig.cmake"; \
	echo "installed into $$dest$(PREFIX)"
