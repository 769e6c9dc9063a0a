# Fusegate. `make help` lists the targets. One Makefile, explicit source lists, one object folder
# for each variant (release, debug, asan, tsan, coverage, clang).

VARIANT ?= release
CC := gcc
O := build/$(VARIANT)
BIN := $(if $(filter release,$(VARIANT)),build,$(O))

CONTRACT := status alloc dtype tensor problem recipe
REFERENCE :=
CUDA_HOST := cuda_absent
FUSER :=
CONFORMANCE :=
WORKER :=
CLI :=
# Criterion suites, conformance/suites/test_NAME.c each.
SUITES :=
# Objects that several suites share (test doubles), conformance/suites/NAME.c.
SUITE_PARTS :=
# Plugins, conformance/plugins/NAME.c -> build/plugins/NAME.so; they link nothing of ours.
PLUGINS :=

WARNINGS := -Wall -Wextra -Wconversion -Wshadow -Wvla -Werror
CPPFLAGS := -I. -D_GNU_SOURCE
CFLAGS := -std=c17 -g -fno-omit-frame-pointer -fPIC $(WARNINGS)
LDLIBS := -lopenblas -ljansson -lxxhash -lm -ldl -lpthread
FLAGS_release := -O2
FLAGS_debug := -O0
FLAGS_asan := -O1 -fsanitize=address,undefined -fno-sanitize-recover=all
FLAGS_tsan := -O1 -fsanitize=thread
FLAGS_coverage := -O0 --coverage -fprofile-abs-path
FLAGS_clang := -O2
ifeq ($(VARIANT),clang)
CC := clang
endif
CFLAGS += $(FLAGS_$(VARIANT))
LDFLAGS += $(filter -fsanitize% --coverage,$(FLAGS_$(VARIANT)))

objects = $(foreach s,$(2),$(O)/$(1)/$(s).o)
CONTRACT_O := $(call objects,contract,$(CONTRACT))
REFERENCE_O := $(call objects,reference,$(REFERENCE)) $(call objects,cuda,$(CUDA_HOST))
FUSER_O := $(call objects,fuser,$(FUSER))
CONFORMANCE_O := $(call objects,conformance,$(CONFORMANCE))
WORKER_O := $(call objects,conformance/worker,$(WORKER))
CLI_O := $(call objects,conformance/cli,$(CLI))
PART_O := $(call objects,conformance/suites,$(SUITE_PARTS))
LIBRARY_O := $(CONTRACT_O) $(REFERENCE_O) $(FUSER_O) $(CONFORMANCE_O)
SUITE_BINS := $(SUITES:%=$(BIN)/suites/test_%)
PLUGIN_SOS := $(PLUGINS:%=$(BIN)/plugins/%.so)

.DEFAULT_GOAL := build
.SECONDARY:

$(O)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c $< -o $@

$(O)/libfusegate.a: $(LIBRARY_O)
	@rm -f $@
	ar rcs $@ $^

$(BIN)/fusegate: $(CLI_O) $(O)/libfusegate.a
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) $^ $(LDLIBS) -o $@

$(BIN)/fusegate-worker: $(WORKER_O) $(O)/libfusegate.a
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -rdynamic $^ $(LDLIBS) -o $@

$(BIN)/suites/test_%: $(O)/conformance/suites/test_%.o $(PART_O) $(O)/libfusegate.a
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) $^ -lcriterion $(LDLIBS) -o $@

$(BIN)/plugins/%.so: conformance/plugins/%.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -shared -MMD -MP -MF $(O)/$*.so.d $< -o $@ -lm

build: $(BIN)/fusegate $(BIN)/fusegate-worker $(PLUGIN_SOS) ## build the programs and plugins

suites: $(SUITE_BINS) ## build the Criterion suites

help: ## list every target
	@grep -hE '^[a-z][a-z-]*:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 20

clean: ## remove everything that was built
	rm -rf build

.PHONY: build suites help clean
-include $(shell find $(O) -name '*.d' 2>/dev/null)
