#include "conformance/report/capability.h"

#include "reference/oracle.h"

typedef enum axis {
    AXIS_DT,
    AXIS_ACT,
    AXIS_LAYOUT,
    AXIS_RECIPE,
    AXIS_WDT,
    AXIS_MODE,
    AXIS_WANT,
} axis;

static const struct {
    const char *name;
    axis axis;
    int32_t value;
} table[] = {
    {"dt=bf16", AXIS_DT, FG_BF16},
    {"dt=f16", AXIS_DT, FG_F16},
    {"dt=f32", AXIS_DT, FG_F32},
    {"act=swiglu", AXIS_ACT, FG_ACT_SWIGLU},
    {"act=srelu", AXIS_ACT, FG_ACT_SRELU},
    {"layout=half", AXIS_LAYOUT, 0},
    {"layout=gate32", AXIS_LAYOUT, 32},
    {"recipe=none", AXIS_RECIPE, FG_RECIPE_NONE},
    {"recipe=current", AXIS_RECIPE, FG_RECIPE_CURRENT},
    {"recipe=delayed", AXIS_RECIPE, FG_RECIPE_DELAYED},
    {"wdt=f32", AXIS_WDT, 0},
    {"wdt=dt", AXIS_WDT, 1},
    {"mode=grad", AXIS_MODE, FG_MODE_GRAD},
    {"mode=nograd", AXIS_MODE, FG_MODE_NOGRAD},
    {"mode=recompute", AXIS_MODE, FG_MODE_RECOMPUTE},
    {"want=y", AXIS_WANT, FG_OUT_Y},
    {"want=dx", AXIS_WANT, FG_X},
    {"want=dw1", AXIS_WANT, FG_W1},
    {"want=db1", AXIS_WANT, FG_B1},
    {"want=dp", AXIS_WANT, FG_P},
    {"want=dw2", AXIS_WANT, FG_W2},
    {"want=db2", AXIS_WANT, FG_B2},
    {"want=dbp", AXIS_WANT, FG_BIAS_P},
};

int32_t fg_capabilities(void) {
    return (int32_t)(sizeof table / sizeof table[0]);
}

const char *fg_capability_name(int32_t capability) {
    return table[capability].name;
}

int fg_capability_in(int32_t capability, const fg_case *value) {
    const fg_problem *problem = &value->problem;
    int32_t asked = table[capability].value;
    switch (table[capability].axis) {
    case AXIS_DT:
        return problem->dtype == asked;
    case AXIS_ACT:
        return problem->activation == asked;
    case AXIS_LAYOUT:
        return problem->interleave == asked;
    case AXIS_RECIPE:
        return value->recipe.kind == asked;
    case AXIS_WDT:
        return (problem->wgrad_dtype == FG_F32) == (asked == 0);
    case AXIS_MODE:
        return (int32_t)value->mode == asked;
    case AXIS_WANT:
        return asked == FG_OUT_Y ||
               (value->mode != FG_MODE_NOGRAD && (value->want & FG_BIT(asked)) != 0);
    }
    return 0;
}

void fg_capability_ask(int32_t capability, fg_problem *problem, fg_recipe *recipe) {
    int32_t asked = table[capability].value;
    *problem = fg_problem_default(2, 64, 64);
    *recipe = fg_recipe_default(FG_RECIPE_NONE);
    switch (table[capability].axis) {
    case AXIS_DT:
        problem->dtype = asked;
        break;
    case AXIS_ACT:
        problem->activation = asked;
        break;
    case AXIS_LAYOUT:
        problem->interleave = asked;
        break;
    case AXIS_RECIPE:
        *recipe = fg_recipe_default((fg_recipe_kind)asked);
        break;
    case AXIS_WDT:
        problem->wgrad_dtype = asked == 0 ? FG_F32 : problem->dtype;
        break;
    case AXIS_MODE:
        break;
    case AXIS_WANT:
        problem->bias = asked == FG_B1 || asked == FG_B2 || asked == FG_BIAS_P;
        problem->scale_bias = asked == FG_BIAS_P;
        problem->separate_bias_scale = asked == FG_BIAS_P;
        break;
    }
}
