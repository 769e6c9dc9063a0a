#include "conformance/case/case_list.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

Test(case_list, of_equal_cases_the_first_stays) {
    fg_case_list list = {0};
    cr_assert_eq(
        fg_case_expand("mlp E=1 H=8 F=8 T={4|5} seed={1|2|1|01} act={swiglu|srelu|swiglu}", &list),
        FG_STATUS_OK, "%s", fg_message());
    cr_assert_eq(list.count, 8);
    for (int64_t i = 0; i < list.count; i++) {
        cr_assert_eq(list.cases[i].rows, 4 + i / 4);
        cr_assert_eq(list.cases[i].seed, 1 + (uint64_t)(i / 2 % 2));
        cr_assert_eq(list.cases[i].problem.activation, i % 2);
    }
    fg_case_list_free(&list);
}

/* A time that grows with the square of the alternatives would be minutes. */
Test(case_list, many_alternatives_take_no_longer_each, .timeout = 60) {
    enum { MANY = 60000 };
    static char line[MANY * 8 + 64];
    size_t length = (size_t)snprintf(line, sizeof line, "mlp E=1 H=8 F=8 T=4 seed={0");
    for (int i = 1; i < MANY; i++) {
        length += (size_t)snprintf(line + length, sizeof line - length, "|%d", i);
    }
    (void)snprintf(line + length, sizeof line - length, "}");
    fg_case_list list = {0};
    cr_assert_eq(fg_case_expand(line, &list), FG_STATUS_OK, "%s", fg_message());
    cr_assert_eq(list.count, MANY);
    cr_assert_eq(list.cases[MANY - 1].seed, MANY - 1);
    fg_case_list_free(&list);
}

Test(case_list, a_zero_byte_is_named_by_line_and_column) {
    static const char text[] = "# one\nmlp E=1 H=8\0F=8 T=4\n";
    fg_case_list list = {0};
    cr_assert_eq(fg_case_read_text(text, sizeof text - 1, "own.case", &list), FG_STATUS_PARSE);
    cr_assert_not_null(strstr(fg_message(), "own.case:2: column 12: found a zero byte"), "%s",
                       fg_message());
    cr_assert_eq(list.count, 0);
    fg_case_list_free(&list);
}
