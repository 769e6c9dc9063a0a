/* Planted fault: the plan key does not hold the margin of delayed scaling. */
#include "conformance/mutants/fuser_mutant.h"

size_t __real_fg_recipe_options_bytes(const fg_recipe *recipe, uint8_t bytes[FG_RECIPE_BYTES]);
size_t __wrap_fg_recipe_options_bytes(const fg_recipe *recipe, uint8_t bytes[FG_RECIPE_BYTES]);

size_t __wrap_fg_recipe_options_bytes(const fg_recipe *recipe, uint8_t bytes[FG_RECIPE_BYTES]) {
    fg_recipe forgotten = *recipe;
    forgotten.margin = 0;
    return __real_fg_recipe_options_bytes(&forgotten, bytes);
}
