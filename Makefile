# Fusegate. `make help` lists the targets. One Makefile, explicit source lists, one object folder
# for each variant (release, debug, asan, tsan, coverage, clang).

VARIANT ?= release
# CUDA kernels: auto says what is left out, 1 insists, 0 is silent.
CUDA ?= auto
JOBS ?= $(shell nproc)
# Seconds that one suite may take.
SUITE_LIMIT ?= 600
CC := gcc
O := build/$(VARIANT)
BIN := $(if $(filter release,$(VARIANT)),build,$(O))

CONTRACT := status alloc dtype tensor problem recipe
REFERENCE := backend_args expert_gradient float_activation float_gemm float_kernel float_rows \
	gate_columns host_backend host_backward host_device host_forward host_tile \
	reference_backend reference_backward reference_forward scratch_arena
REFERENCE += activation bound oracle oracle_activation oracle_backward oracle_forward
REFERENCE += oracle_load oracle_memory oracle_operand oracle_stage
CUDA_HOST := cuda_absent
FUSER := op fusion plan_key call_gate buffer_pool device_table recipe_state plan plan_cache
FUSER += call_memory plan_run fuser plan_choice call_check fuser_call fuser_executor
CONFORMANCE := clock run schedule
CONFORMANCE += $(addprefix case/,action case case_format case_key case_list case_parse \
	case_splits case_suite case_word)
CONFORMANCE += $(addprefix tensors/,data data_exact data_normal data_order data_random \
	data_selection fresh tensors tensor_span tensor_watch safetensors)
CONFORMANCE += $(addprefix judge/,bias comparison diagnosis explain naive_check mlp_calls \
	mlp_judge mlp_verdict number run_mlp self_test self_test_blas self_test_compare \
	self_test_convert)
CONFORMANCE += $(addprefix executor/,exec_data exec_driver exec_env exec_env_remote exec_judge \
	exec_set exec_watch executor_model passes plan_checks plan_checks_forms plan_checks_random \
	plan_checks_rows plan_checks_threads boundary_checks recompute_checks recompute_checks_moves \
	run_executor)
CONFORMANCE += $(addprefix process/,client client_backend client_executor client_process protocol \
	protocol_args protocol_args_read protocol_fields protocol_maps shm)
CONFORMANCE += $(addprefix report/,capability journal record report report_json report_junit \
	report_markdown report_terminal result)
WORKER := worker_main backend_calls executor_calls executor_queries loader recorder session session_memory state_guard
WORKER += traits_check
CLI := fusegate_main options selection machine run_setup verb_run verb_list verb_explain verb_bench verb_backends
CLI += bench_fuser bench_hits bench_report bench_rig null_backend
# Criterion suites, conformance/suites/test_NAME.c each.
SUITES := status alloc dtype tensor problem recipe
SUITES += activation oracle oracle_spec bound golden safetensors
SUITES += fuser fuser_plans fuser_state fuser_memory fuser_runs fuser_threads
SUITES += fusion plan_key plan_store bench_fuser
SUITES += host_backend reference_backend float_parts
SUITES += plan_cache boundary recompute model run_executor executor_faults recorder exec_parts
SUITES += shm protocol protocol_args journal report worker client_executor client_backend schedule cli resume
SUITES += plain_plugin
SUITES += worker_contract worker_start cli_output case_list
SUITES += exact_sums
SUITES += case suite_pr data tensors comparison judge diagnosis run_mlp self_test explain
# Objects that several suites share (test doubles), conformance/suites/NAME.c.
SUITE_PARTS :=
SUITE_PARTS += naive_mlp oracle_case float_mlp
SUITE_PARTS += tiny_backend fuser_rig fuser_threads
SUITE_PARTS += abi_battery backend_fixture backend_judge backend_threads numeric_battery
SUITE_PARTS += exec_fixture faulty_executor
SUITE_PARTS += exec_starve
SUITE_PARTS += program_run schedule_rig
# Plain programs that share the suites' test bodies, conformance/suites/tsan_NAME.c each.
TSAN_PROGRAMS :=
TSAN_PROGRAMS += backend fuser
TSAN_PROGRAMS += plan
TSAN_PROGRAMS += schedule
# Plugins, conformance/plugins/NAME.c -> build/plugins/NAME.so; they link nothing of ours.
PLUGINS := careless forgetful misbehaving device_memory plain_backend
# Planted faults of backends, conformance/mutants/NAME.c -> build/mutants/NAME.so: `host` with the
# functions replaced that NAME.c calls faulty.
BACKEND_MUTANTS := accumulate_for_overwrite empty_dw lost_k_tile missing_p padding_nan
BACKEND_MUTANTS += segment_off_by_one swapped_gate_up truncated_output
# Planted faults of executors, likewise: the fuser with the functions replaced that NAME.c calls
# faulty; the contract they share with the worker.
EXECUTOR_MUTANTS := backward_newest_plan boundary_from_cached_plan current_device_asked
EXECUTOR_MUTANTS += option_by_address option_missing_from_key plan_rebuilt_on_mode_change
EXECUTOR_MUTANTS += saved_overwritten_by_nograd state_reset_on_plan_choice
# Plugins that wrap an executor of ours and link it.
EXECUTOR_PLUGINS := one_slot_executor bare_executor troubled_executor

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
PART_O := $(call objects,conformance/suites,$(SUITE_PARTS)) $(call objects,conformance/worker,recorder) \
    $(call objects,conformance/cli,$(filter bench_% null_backend,$(CLI)))
SUITE_O := $(call objects,conformance/suites,$(SUITES:%=test_%) $(TSAN_PROGRAMS:%=tsan_%))
LIBRARY_O := $(CONTRACT_O) $(REFERENCE_O) $(FUSER_O) $(CONFORMANCE_O)
SUITE_BINS := $(SUITES:%=$(BIN)/suites/test_%)
TSAN_BINS := $(TSAN_PROGRAMS:%=$(BIN)/suites/tsan_%)
PLUGIN_SOS := $(PLUGINS:%=$(BIN)/plugins/%.so)
EXECUTOR_PLUGIN_SOS := $(EXECUTOR_PLUGINS:%=$(BIN)/plugins/%.so)
BACKEND_MUTANT_SOS := $(BACKEND_MUTANTS:%=$(BIN)/mutants/%.so)
EXECUTOR_MUTANT_SOS := $(EXECUTOR_MUTANTS:%=$(BIN)/mutants/%.so)

.DEFAULT_GOAL := build
.SECONDARY:

# Changes only when the compiler or its flags change.
$(O)/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(CC) $(CPPFLAGS) $(CFLAGS)' | cmp -s - $@ || echo '$(CC) $(CPPFLAGS) $(CFLAGS)' >$@

$(O)/%.o: %.c $(O)/flags
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) $(EXTRA_CFLAGS) -MMD -MP -c $< -o $@

# Changes only when a list of sources changes.
$(O)/lists: FORCE
	@mkdir -p $(@D)
	@echo '$(LIBRARY_O) $(PART_O)' | cmp -s - $@ || echo '$(LIBRARY_O) $(PART_O)' >$@

# The suites travel inside the program.
$(O)/conformance/case/case_suite.o: $(wildcard conformance/cases/*.case)

$(O)/libfusegate.a: $(LIBRARY_O) $(O)/lists
	@rm -f $@
	ar rcs $@ $(LIBRARY_O)

$(O)/libparts.a: $(PART_O) $(O)/lists
	@rm -f $@
	ar rcs $@ $(PART_O)

$(BIN)/fusegate: $(CLI_O) $(O)/libfusegate.a
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) $^ $(LDLIBS) -o $@

$(BIN)/fusegate-worker: $(WORKER_O) $(O)/libfusegate.a
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -rdynamic $^ $(LDLIBS) -o $@

$(BIN)/suites/test_%: $(O)/conformance/suites/test_%.o $(O)/libparts.a $(O)/libfusegate.a
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) $^ -lcriterion $(LDLIBS) -o $@

$(BIN)/suites/tsan_%: $(O)/conformance/suites/tsan_%.o $(O)/libparts.a $(O)/libfusegate.a
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) $^ $(LDLIBS) -o $@

$(BIN)/plugins/%.so: conformance/plugins/%.c $(O)/flags
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -shared -MMD -MP -MF $(O)/$*.so.d $< -o $@ -lm

$(EXECUTOR_PLUGIN_SOS): $(BIN)/plugins/%.so: $(O)/conformance/plugins/%.o $(O)/libfusegate.a
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -shared $^ $(LDLIBS) -o $@

# The worker has the same functions and exports them: nothing here may be bound to those.
$(BACKEND_MUTANT_SOS): $(BIN)/mutants/%.so: $(O)/conformance/mutants/%.o \
    $(O)/conformance/mutants/mutant_entry.o $(O)/libfusegate.a
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -shared -Wl,--exclude-libs,ALL -Wl,-Bsymbolic \
	    $$(sed -nE 's/.*FG_FAULTY\("(\w+)"\).*/-Wl,--wrap=\1/p' conformance/mutants/$*.c) \
	    $^ $(LDLIBS) -o $@

$(BIN)/suites/test_run_executor: | $(BIN)/fusegate-worker $(BIN)/plugins/one_slot_executor.so \
    $(BIN)/plugins/troubled_executor.so
$(BIN)/suites/test_plain_plugin: | $(BIN)/plugins/plain_backend.so

$(BIN)/kill-table: $(O)/conformance/mutants/kill_table.o
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) $^ -ljansson -o $@

$(EXECUTOR_MUTANT_SOS): $(BIN)/mutants/%.so: $(O)/conformance/mutants/%.o \
    $(O)/conformance/mutants/fuser_mutant.o $(FUSER_O)
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -shared -Wl,-Bsymbolic \
	    $$(sed -nE 's/.*FG_FAULTY\("(\w+)"\).*/-Wl,--wrap=\1/p' conformance/mutants/$*.c) \
	    $^ -lxxhash -o $@

build: $(BIN)/fusegate $(BIN)/fusegate-worker $(PLUGIN_SOS) $(EXECUTOR_PLUGIN_SOS) ## build the programs and plugins

suites: $(SUITE_BINS) $(TSAN_BINS) ## build the Criterion suites and the thread programs

# Targets below set up what they need, then build and run; VARIANT is theirs to choose.
SUBMAKE = $(MAKE) --no-print-directory $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(JOBS))
PROGRAM_SOURCES := $(patsubst $(O)/%.o,%.c,$(LIBRARY_O) $(WORKER_O) $(CLI_O))
SOURCES := $(PROGRAM_SOURCES) $(patsubst $(O)/%.o,%.c,$(PART_O) $(SUITE_O)) \
    $(PLUGINS:%=conformance/plugins/%.c) $(EXECUTOR_PLUGINS:%=conformance/plugins/%.c) \
    $(BACKEND_MUTANTS:%=conformance/mutants/%.c) conformance/mutants/mutant_entry.c \
    $(EXECUTOR_MUTANTS:%=conformance/mutants/%.c) conformance/mutants/fuser_mutant.c \
    conformance/mutants/kill_table.c

setup: ## install the Debian packages that gate and test need
	.ci/setup.sh build

gate: ## build, then judge the embedded backend: verdict table, build/report
	@.ci/setup.sh build
	@.ci/cuda_note.sh $(CUDA)
	@$(SUBMAKE) build
	build/fusegate run --suite pr --report build/report

test: ## build and run every Criterion suite
	@.ci/setup.sh build
	@$(SUBMAKE) build suites
	@.ci/run_suites.sh build $(SUITE_LIMIT) $(SUITES)

suites-mission: ## run the suites plan-cache, boundary and recompute on the embedded backend
	@.ci/setup.sh build
	@$(SUBMAKE) build
	build/fusegate run --suite plan-cache --report build/report-plan-cache
	build/fusegate run --suite boundary --report build/report-boundary
	build/fusegate run --suite recompute --report build/report-recompute

mutants: ## wrap right implementations in each planted fault and print the kill table
	@.ci/setup.sh build
	@$(SUBMAKE) build mutant-plugins
	build/kill-table conformance/mutants/mutants.tsv build/fusegate build/mutants

asan: ## every suite under the address, leak and undefined-behaviour sanitizers
	@.ci/setup.sh build
	@$(SUBMAKE) VARIANT=asan build suites
	@.ci/run_suites.sh build/asan $(SUITE_LIMIT) $(SUITES)

tsan: ## the thread programs under the thread sanitizer
	@.ci/setup.sh build
	@$(SUBMAKE) VARIANT=tsan build suites-thread
	@.ci/run_thread_programs.sh build/tsan $(SUITE_LIMIT) $(TSAN_PROGRAMS)

mutant-plugins: $(BIN)/kill-table $(BACKEND_MUTANT_SOS) $(EXECUTOR_MUTANT_SOS)

suites-thread: $(TSAN_BINS) $(BIN)/fusegate-worker

lint: ## clang-format, clang-tidy, cppcheck and a clang build without warnings
	@.ci/setup.sh build lint
	@.ci/lint.sh $(JOBS) $(SOURCES)
	@$(SUBMAKE) VARIANT=clang build suites

check-headers: ## each header compiles alone; no source is missing from the lists above
	@.ci/setup.sh build
	@.ci/check_headers.sh $(SOURCES)

check-includes: ## who may include whom; file names are unique
	@.ci/check_includes.sh

coverage: ## line and branch coverage of the host's C under build/coverage, with its gate
	@.ci/setup.sh build coverage
	@$(SUBMAKE) VARIANT=coverage build suites
	@coverage/coverage.sh $(SUITE_LIMIT) "$(SUITES)" $(PROGRAM_SOURCES)

N ?= 20
SEED ?= $(shell od -An -N4 -tu4 /dev/urandom | tr -d ' ')
# Regular expression on 'file:line name' of the functions that may be picked.
ONLY ?=
mutation-smoke: ## empty N functions at random (N=20 SEED=.. ONLY=REGEX); each must fail a test
	@.ci/setup.sh build python
	@$(SUBMAKE) build suites
	@python3 coverage/mutation_smoke.py --number $(N) --seed $(SEED) --jobs $(JOBS) \
	    --only '$(ONLY)' --suites "$(SUITES)" $(PROGRAM_SOURCES)

bench: ## host time of the fuser against its two baselines
	@.ci/setup.sh build
	@$(SUBMAKE) build
	build/fusegate bench --fuser

fresh-check: ## the README's commands in a fresh Debian 12 (root; debootstrap)
	@.ci/setup.sh fresh
	@.ci/fresh_check.sh

help: ## list every target
	@grep -hE '^[a-z][a-z-]*:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 20

clean: ## remove everything that was built
	rm -rf build

.PHONY: build suites mutant-plugins suites-thread setup gate test suites-mission mutants asan tsan lint \
    check-headers check-includes coverage mutation-smoke bench fresh-check help clean FORCE
-include $(shell find $(O) -name '*.d' 2>/dev/null)
