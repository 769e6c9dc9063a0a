/* Planted fault: the plan key does not hold the margin of delayed scaling. */
#include "conformance/mutants/fuser_mutant.h"

size_t fg_right_recipe_options_bytes(const fg_recipe *recipe, uint8_t bytes[FG_RECIPE_BYTES])
    FG_REAL("fg_recipe_options_bytes");
size_t fg_faulty_recipe_options_bytes(const fg_recipe *recipe, uint8_t bytes[FG_RECIPE_BYTES])
    FG_FAULTY("fg_recipe_options_bytes");

size_t fg_faulty_recipe_options_bytes(const fg_recipe *recipe, uint8_t bytes[FG_RECIPE_BYTES]) {
    fg_recipe forgotten = *recipe;
    forgotten.margin = 0;
    return fg_right_recipe_options_bytes(&forgotten, bytes);
}
