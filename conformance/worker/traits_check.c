#include "conformance/worker/traits_check.h"

#include <string.h>

#define MOST_ALIGN 4096
#define MOST_ACTIVATION_ERROR 1024.0

/* A trait of 32 bits and the values that it may have. */
typedef struct range {
    const char *name;
    size_t offset;
    int32_t zero; /* what zero stands for */
    int32_t least, most;
    int32_t also;  /* one more value */
    int32_t power; /* a power of two */
} range;

#define RANGE(member, ...)                                                                         \
    { #member, offsetof(fg_traits, member), __VA_ARGS__ }

static const range ranges[] = {
    RANGE(memory, FG_MEMORY_HOST, FG_MEMORY_HOST, FG_MEMORY_DEVICE, 0, 0),
    RANGE(deterministic, 0, 0, 1, 0, 0),
    RANGE(row_invariant, 0, 0, 1, 0, 0),
    RANGE(writes_padding, 0, 0, 1, 0, 0),
    RANGE(capturable, 0, 0, 1, 0, 0),
    RANGE(flush_subnormals, 0, 0, 1, 0, 0),
    RANGE(base_align, 1, 1, MOST_ALIGN, 1, 1),
    RANGE(row_align, 1, 1, MOST_ALIGN, 1, 1),
    RANGE(segment_align, 1, 1, MOST_ALIGN, 1, 1),
    RANGE(accumulator_digits, 24, 8, 53, 53, 0),
    RANGE(accumulator_truncates, 0, 0, 1, 0, 0),
    RANGE(accumulator_block, 1, 1, 4096, 1, 0),
    RANGE(operand_digits, 24, 8, 24, 53, 0),
};

static fg_status range_check(const char *backend, const range *trait, fg_traits *traits) {
    int32_t value = 0;
    char *at = (char *)traits + trait->offset;
    memcpy(&value, at, sizeof value);
    value = value == 0 ? trait->zero : value;
    memcpy(at, &value, sizeof value);
    if (value != trait->also && (value < trait->least || value > trait->most)) {
        return FG_FAIL(FG_STATUS_ABI, "%s: found trait %s %d, expected %d to %d", backend,
                       trait->name, (int)value, (int)trait->least, (int)trait->most);
    }
    if (trait->power && (value & (value - 1)) != 0) {
        return FG_FAIL(FG_STATUS_ABI, "%s: found trait %s %d, expected a power of two", backend,
                       trait->name, (int)value);
    }
    return FG_STATUS_OK;
}

fg_status fg_traits_check(const char *backend, fg_traits *traits) {
    const uint32_t known = (FG_ROUND_DBIAS << 1) - 1;
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        FG_TRY(range_check(backend, &ranges[i], traits));
    }
    if ((traits->rounding & ~known) != 0) {
        return FG_FAIL(FG_STATUS_ABI, "%s: found trait rounding %#x, expected flags of %#x",
                       backend, (unsigned)traits->rounding, (unsigned)known);
    }
    traits->activation_error = traits->activation_error == 0 ? 8 : traits->activation_error;
    if (!(traits->activation_error > 0 && traits->activation_error <= MOST_ACTIVATION_ERROR)) {
        return FG_FAIL(FG_STATUS_ABI, "%s: found trait activation_error %g, expected above 0 to %g",
                       backend, traits->activation_error, MOST_ACTIVATION_ERROR);
    }
    return FG_STATUS_OK;
}
