#include "conformance/suites/oracle_case.h"
#include "contract/alloc.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

static const int64_t some_splits[] = {0, 3, 0, 5, 1, 0};

static fg_problem bf16_problem(void) {
    fg_problem problem = fg_problem_default(6, 5, 8);
    problem.bias = 1;
    problem.scale_bias = 1;
    return problem;
}

/* Makes a weight tensor one of addresses. */
static void point_at_experts(fg_tensor *tensor, void **addresses) {
    for (int64_t e = 0; e < tensor->dims[0]; e++) {
        addresses[e] = fg_tensor_row(tensor, e);
    }
    int64_t experts = tensor->dims[0];
    *tensor = fg_tensor_tight(addresses, FG_POINTER, -1, 1, &experts);
}

Test(oracle_spec, weights_by_pointer_are_read_as_weights_in_one_tensor) {
    fg_problem problem = bf16_problem();
    fg_oracle_case whole;
    fg_oracle_case pointed;
    fg_oracle_case_create(&problem, some_splits, 35, 0, 0, &whole);
    problem.weight_form = FG_WEIGHTS_POINTERS;
    fg_oracle_case_create(&problem, some_splits, 35, 0, 0, &pointed);
    fg_tensor *tensors[] = {&pointed.inputs[FG_W1], &pointed.inputs[FG_W2],
                            &pointed.grads_before[FG_W1]};
    void *addresses[3][FG_ORACLE_CASE_EXPERTS];
    void *owned[3];
    for (int i = 0; i < 3; i++) {
        owned[i] = tensors[i]->data;
        point_at_experts(tensors[i], addresses[i]);
    }
    whole.spec.accumulate = pointed.spec.accumulate = FG_BIT(FG_W1);
    fg_oracle *a = fg_oracle_case_open(&whole);
    fg_oracle *b = fg_oracle_case_open(&pointed);
    for (int output = 0; output < FG_OUTPUTS; output++) {
        cr_assert(fg_oracle_case_same(a, b, problem.experts, output), "%s", fg_output_name(output));
    }
    fg_oracle_destroy(a);
    fg_oracle_destroy(b);
    for (int i = 0; i < 3; i++) {
        tensors[i]->data = owned[i];
    }
    fg_oracle_case_free(&whole);
    fg_oracle_case_free(&pointed);
}

Test(oracle_spec, a_spec_that_does_not_fit_is_refused_with_a_reason) {
    static const struct {
        const char *word;
        fg_status status;
    } wanted[] = {
        {"run", FG_STATUS_INVALID}, {"dbp", FG_STATUS_INVALID}, {"mask", FG_STATUS_INVALID},
        {"x", FG_STATUS_SHAPE},     {"dy", FG_STATUS_SHAPE},    {"splits", FG_STATUS_SHAPE},
        {"dw2", FG_STATUS_SHAPE},   {"T", FG_STATUS_INVALID},   {"splits", FG_STATUS_INVALID},
    };
    for (int i = 0; i < 9; i++) {
        fg_problem problem = bf16_problem();
        fg_oracle_case value;
        fg_oracle_case_create(&problem, some_splits, 36, 0, 0, &value);
        value.problem.op_count = i == 0 ? 2 : 3;
        value.spec.mask |= i == 1 ? FG_BIT(FG_BIAS_P) : i == 2 ? FG_BIT(8) : 0;
        value.inputs[FG_X].dims[1] += i == 3;
        value.spec.dy = i == 4 ? NULL : value.spec.dy;
        value.in.rows = i == 7 ? -1 : value.in.rows;
        value.splits_device[0] = i == 5 ? 1000 : i == 8 ? -1 : 0;
        value.spec.accumulate = i == 6 ? FG_BIT(FG_W2) : 0;
        value.spec.grads_before[FG_W2] = i == 6 ? NULL : value.spec.grads_before[FG_W2];
        fg_oracle *oracle = NULL;
        cr_assert_eq(fg_oracle_create(&value.spec, &oracle), wanted[i].status, "spec %d", i);
        cr_assert_null(oracle);
        cr_assert_not_null(strstr(fg_message(), wanted[i].word), "spec %d: %s", i, fg_message());
        fg_oracle_case_free(&value);
    }
}

Test(oracle_spec, an_expert_that_does_not_exist_is_refused) {
    fg_oracle_case value;
    fg_problem problem = bf16_problem();
    fg_oracle_case_create(&problem, some_splits, 38, 0, 0, &value);
    fg_oracle *oracle = fg_oracle_case_open(&value);
    cr_assert_eq(fg_oracle_expert(oracle, -1), FG_STATUS_INVALID);
    cr_assert_eq(fg_oracle_expert(oracle, 6), FG_STATUS_INVALID);
    fg_oracle_destroy(oracle);
    fg_oracle_destroy(NULL);
    fg_oracle_case_free(&value);
}

Test(oracle_spec, every_allocation_that_fails_is_a_status_without_a_leak) {
    fg_problem problem = bf16_problem();
    fg_oracle_case value;
    fg_oracle_case_create(&problem, some_splits, 37, 0, 0, &value);
    size_t live = fg_alloc_live(FG_ALLOC_ORACLE);
    int64_t n = 1;
    for (;; n++) {
        fg_oracle *oracle = NULL;
        fg_alloc_fail_at(n);
        fg_status status = fg_oracle_create(&value.spec, &oracle);
        fg_alloc_fail_at(0);
        fg_oracle_destroy(oracle);
        cr_assert_eq(fg_alloc_live(FG_ALLOC_ORACLE), live);
        if (status == FG_STATUS_OK) {
            break;
        }
        cr_assert_eq(status, FG_STATUS_NO_MEMORY);
    }
    cr_assert_eq(n, 4);
    fg_oracle_case_free(&value);
}

Test(oracle_spec, names_its_outputs) {
    cr_assert_str_eq(fg_output_name(FG_W2), "dw2");
    cr_assert_str_eq(fg_output_name(FG_BIAS_P), "dbp");
    cr_assert_str_eq(fg_output_name(FG_OUT_Y), "y");
}

/* Whether some mapping of this process asks for large pages. */
static int asks_for_large_pages(void) {
    char line[512];
    int found = 0;
    FILE *stream = fopen("/proc/self/smaps", "r");
    while (stream != NULL && fgets(line, sizeof line, stream) != NULL) {
        found |= strncmp(line, "VmFlags:", 8) == 0 && strstr(line, " hg") != NULL;
    }
    if (stream != NULL) {
        fclose(stream);
    }
    return found;
}

Test(oracle_spec, arrays_of_many_pages_ask_for_large_ones_where_the_kernel_has_them) {
    static const int64_t splits[] = {600};
    size_t bytes = (size_t)8 << 20;
    void *probe = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int have = madvise(probe, bytes, MADV_HUGEPAGE) == 0 && asks_for_large_pages();
    munmap(probe, bytes);
    fg_oracle_case value;
    fg_problem problem = fg_oracle_case_problem_f64(1, 64, 256);
    fg_oracle_case_create(&problem, splits, 78, 0, 0, &value);
    cr_assert(!asks_for_large_pages());
    fg_oracle *oracle = fg_oracle_case_open(&value);
    cr_assert_eq(asks_for_large_pages(), have);
    fg_oracle_destroy(oracle);
    fg_oracle_case_free(&value);
}
