#include "conformance/judge/self_test_convert.h"

#include "contract/dtype.h"

#include <math.h>
#include <string.h>

/* A 16-bit format as its definition has it, apart from contract/dtype.c. */
typedef struct half_format {
    fg_dtype dtype;
    int exponent_bits, mantissa_bits;
    uint16_t (*narrow)(float value);
    float (*widen)(uint16_t bits);
} half_format;

static const half_format halves[] = {
    {FG_BF16, 8, 7, fg_bf16_from_f32, fg_f32_from_bf16},
    {FG_F16, 5, 10, fg_f16_from_f32, fg_f32_from_f16},
};

/* The value of a code without its sign; infinity and NaN for the largest exponent. */
static double decode(const half_format *format, unsigned code) {
    unsigned mantissa = code & ((1u << format->mantissa_bits) - 1);
    int exponent = (int)(code >> format->mantissa_bits);
    int bias = (1 << (format->exponent_bits - 1)) - 1;
    if (exponent == (1 << format->exponent_bits) - 1) {
        return mantissa != 0 ? NAN : INFINITY;
    }
    double fraction = ldexp((double)mantissa, -format->mantissa_bits);
    return exponent == 0 ? ldexp(fraction, 1 - bias) : ldexp(1 + fraction, exponent - bias);
}

static fg_status differs(const half_format *format, unsigned code, double value, const char *what) {
    return FG_FAIL(FG_STATUS_INTERNAL, "converters: %s code 0x%04x (%.17g): %s",
                   fg_dtype_name(format->dtype), code, value, what);
}

/* All three ways from a wider type must give `code` for `value`, and its negation. */
static int narrows_to(const half_format *format, double value, unsigned code) {
    for (unsigned sign = 0; sign < 2; sign++) {
        double signed_value = sign ? -value : value;
        uint16_t expected = (uint16_t)(code | sign << 15), stored = 0;
        double again = 0;
        fg_dtype_store_f64(format->dtype, &signed_value, 1, &stored);
        fg_dtype_load_f64(format->dtype, &stored, 1, &again);
        if (stored != expected || fg_dtype_round(format->dtype, signed_value) != again) {
            return 0;
        }
        if ((double)(float)signed_value == signed_value &&
            format->narrow((float)signed_value) != expected) {
            return 0;
        }
    }
    return 1;
}

static fg_status check_code(const half_format *format, unsigned code, int64_t *checks) {
    double value = decode(format, code);
    ++*checks;
    if (isnan(value)) {
        uint16_t again = format->narrow(format->widen((uint16_t)code));
        return isnan(format->widen((uint16_t)code)) && isnan(decode(format, again & 0x7fffu))
                   ? FG_STATUS_OK
                   : differs(format, code, value, "NaN is lost");
    }
    if ((double)format->widen((uint16_t)code) != value ||
        (double)format->widen((uint16_t)(code | 0x8000u)) != -value) {
        return differs(format, code, value, "widens to another value");
    }
    if (!narrows_to(format, value, code)) {
        return differs(format, code, value, "does not come back");
    }
    if (isinf(value)) {
        return FG_STATUS_OK;
    }
    // The midpoint to the next code: that of infinity would be one more step of the same size.
    double next = decode(format, code + 1);
    double step = isinf(next) ? value - decode(format, code - 1) : next - value;
    double middle = value + step / 2;
    unsigned even = code & 1u ? code + 1 : code;
    *checks += 5;
    if (!narrows_to(format, middle, even) ||
        !narrows_to(format, nextafter(middle, INFINITY), code + 1) ||
        !narrows_to(format, nextafter(middle, 0), code) ||
        !narrows_to(format, (double)nextafterf((float)middle, INFINITY), code + 1) ||
        !narrows_to(format, (double)nextafterf((float)middle, 0), code)) {
        return differs(format, code, middle, "the midpoint behind it rounds wrongly");
    }
    return FG_STATUS_OK;
}

/* float32 from float64 on midpoints spread over all exponents, and 0. */
static fg_status check_single(int64_t *checks) {
    for (uint32_t bits = 0; bits < 0x7f7fffffu; bits += 0x20003u) {
        float low = 0, high = 0, even = 0, stored = 0;
        uint32_t above = bits + 1, round = bits & 1u ? bits + 1 : bits;
        memcpy(&low, &bits, sizeof low);
        memcpy(&high, &above, sizeof high);
        memcpy(&even, &round, sizeof even);
        double middle = ((double)low + (double)high) / 2;
        fg_dtype_store_f64(FG_F32, &middle, 1, &stored);
        ++*checks;
        if (stored != even || fg_dtype_round(FG_F32, middle) != (double)even) {
            return FG_FAIL(FG_STATUS_INTERNAL, "converters: f32 midpoint %.17g rounds wrongly",
                           middle);
        }
    }
    return FG_STATUS_OK;
}

fg_status fg_self_test_convert(int64_t *checks) {
    for (size_t i = 0; i < sizeof halves / sizeof halves[0]; i++) {
        for (unsigned code = 0; code < 0x8000u; code++) {
            FG_TRY(check_code(&halves[i], code, checks));
        }
    }
    return check_single(checks);
}
