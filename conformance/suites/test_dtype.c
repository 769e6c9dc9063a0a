#include "contract/dtype.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static const fg_dtype narrow[] = {FG_F16, FG_BF16};

/* Value of a 16-bit code from its fields, independent of the converters. */
static double decode(fg_dtype dtype, unsigned code) {
    int fraction_bits = fg_dtype_format(dtype)->digits - 1;
    int exponent_bits = 15 - fraction_bits;
    unsigned fraction = code & ((1u << fraction_bits) - 1);
    int exponent = (int)((code & 0x7fffu) >> fraction_bits);
    int bias = (1 << (exponent_bits - 1)) - 1;
    double sign = (code & 0x8000u) != 0 ? -1 : 1;
    if (exponent == (1 << exponent_bits) - 1) {
        return fraction != 0 ? NAN : sign * INFINITY;
    }
    double value = exponent == 0
                       ? ldexp(fraction, 1 - bias - fraction_bits)
                       : ldexp(fraction + (1u << fraction_bits), exponent - bias - fraction_bits);
    return sign * value;
}

static uint16_t encode(fg_dtype dtype, float value) {
    return dtype == FG_F16 ? fg_f16_from_f32(value) : fg_bf16_from_f32(value);
}

static float widen(fg_dtype dtype, uint16_t code) {
    return dtype == FG_F16 ? fg_f32_from_f16(code) : fg_f32_from_bf16(code);
}

Test(dtype, every_16_bit_code_widens_to_its_value) {
    for (size_t d = 0; d < 2; d++) {
        for (unsigned code = 0; code < 65536; code++) {
            double expected = decode(narrow[d], code);
            double got = (double)widen(narrow[d], (uint16_t)code);
            cr_assert(isnan(expected) ? isnan(got) : got == expected, "%s code %04x",
                      fg_dtype_name(narrow[d]), code);
            cr_assert_eq(!signbit(got), (code & 0x8000u) == 0);
        }
    }
}

Test(dtype, every_16_bit_code_survives_the_way_back) {
    for (size_t d = 0; d < 2; d++) {
        for (unsigned code = 0; code < 65536; code++) {
            double value = decode(narrow[d], code);
            uint16_t back = encode(narrow[d], widen(narrow[d], (uint16_t)code));
            cr_assert(isnan(value) ? isnan(decode(narrow[d], back)) : back == code);
        }
    }
}

Test(dtype, midpoints_round_to_even_and_neighbours_to_nearest) {
    for (size_t d = 0; d < 2; d++) {
        unsigned infinity = narrow[d] == FG_F16 ? 0x7c00 : 0x7f80;
        for (unsigned code = 0; code < infinity; code++) {
            double low = decode(narrow[d], code);
            // Past the largest finite number stands the value the next exponent would have.
            double high = code + 1 == infinity ? 2 * low - decode(narrow[d], code - 1)
                                               : decode(narrow[d], code + 1);
            float middle = (float)((low + high) / 2);
            unsigned even = code % 2 == 0 ? code : code + 1;
            cr_assert_eq(encode(narrow[d], middle), even);
            cr_assert_eq(encode(narrow[d], -middle), even | 0x8000u);
            cr_assert_eq(encode(narrow[d], nextafterf(middle, 0)), code);
            cr_assert_eq(encode(narrow[d], nextafterf(middle, INFINITY)), code + 1);
        }
    }
}

Test(dtype, rounding_a_float64_agrees_with_the_converters_at_every_midpoint) {
    for (size_t d = 0; d < 2; d++) {
        unsigned infinity = narrow[d] == FG_F16 ? 0x7c00 : 0x7f80;
        for (unsigned code = 0; code + 1 < infinity; code++) {
            double low = decode(narrow[d], code);
            double high = decode(narrow[d], code + 1);
            double middle = (low + high) / 2;
            cr_assert_eq(fg_dtype_round(narrow[d], middle), code % 2 == 0 ? low : high);
            cr_assert_eq(fg_dtype_round(narrow[d], nextafter(middle, 0)), low);
            cr_assert_eq(fg_dtype_round(narrow[d], -nextafter(middle, INFINITY)), -high);
            cr_assert_eq(fg_dtype_round(narrow[d], low), low);
        }
        double most = fg_dtype_format(narrow[d])->max;
        double half = fg_dtype_ulp(narrow[d], most) / 2;
        cr_assert_eq(fg_dtype_round(narrow[d], most + half), INFINITY);
        cr_assert_eq(fg_dtype_round(narrow[d], -nextafter(most + half, 0)), -most);
        cr_assert_eq(fg_dtype_round(narrow[d], 1e300), INFINITY);
    }
}

Test(dtype, a_float64_is_rounded_once) {
    // Nearest f32 of 1 + 2^-8 + 2^-40 is a bf16 midpoint: rounding twice would give 1.
    double value = 1 + 0x1p-8 + 0x1p-40;
    uint16_t code = 0;
    fg_dtype_store_f64(FG_BF16, &value, 1, &code);
    cr_assert_eq(code, 0x3f81);
    cr_assert_eq(fg_dtype_round(FG_BF16, value), 1 + 0x1p-7);
    cr_assert_eq(fg_dtype_round(FG_F32, 1 + 0x1p-24), 1);
    cr_assert_eq(fg_dtype_round(FG_F64, 1 + 0x1p-52), 1 + 0x1p-52);
}

Test(dtype, signs_of_zero_and_infinity_stay) {
    for (int d = FG_F64; d <= FG_BF16; d++) {
        cr_assert(signbit(fg_dtype_round((fg_dtype)d, -0.0)));
        cr_assert_eq(fg_dtype_round((fg_dtype)d, -INFINITY), -INFINITY);
        cr_assert(isnan(fg_dtype_round((fg_dtype)d, NAN)));
    }
    cr_assert(signbit(fg_dtype_round(FG_BF16, -1e-300)));
}

Test(dtype, ulp_is_the_distance_of_neighbours) {
    for (size_t d = 0; d < 2; d++) {
        unsigned infinity = narrow[d] == FG_F16 ? 0x7c00 : 0x7f80;
        for (unsigned code = 0; code + 1 < infinity; code++) {
            double low = decode(narrow[d], code);
            double step = decode(narrow[d], code + 1) - low;
            cr_assert_eq(fg_dtype_ulp(narrow[d], low), step);
            cr_assert_eq(fg_dtype_ulp(narrow[d], -low - step / 2), step);
        }
    }
    cr_assert_eq(fg_dtype_ulp(FG_F32, 1), 0x1p-23);
    cr_assert_eq(fg_dtype_ulp(FG_F32, 0), 0x1p-149);
    cr_assert_eq(fg_dtype_ulp(FG_F64, 1), 0x1p-52);
    cr_assert_eq(fg_dtype_ulp(FG_F64, 0), 0x1p-1074);
    cr_assert_eq(fg_dtype_ulp(FG_BF16, -INFINITY), INFINITY);
}

Test(dtype, the_masking_idiom_is_not_miscompiled) {
    // 4931 = 0x459a1800: bf16 neighbours are 4928 and 4960; an inlined mask printed 4931 again.
    cr_assert_eq(fg_f32_from_bf16(fg_bf16_from_f32(4931.0f)), 4928.0f);
}

Test(dtype, arrays_round_trip_in_every_type) {
    const double values[] = {0, 1, -2, 3.5, 1024, -0.25};
    enum { N = 6 };
    for (int d = FG_F64; d <= FG_BF16; d++) {
        unsigned char bytes[N * 8];
        double wide[N];
        float single[N];
        fg_dtype_store_f64((fg_dtype)d, values, N, bytes);
        fg_dtype_load_f64((fg_dtype)d, bytes, N, wide);
        fg_dtype_load_f32((fg_dtype)d, bytes, N, single);
        unsigned char again[N * 8];
        fg_dtype_store_f32((fg_dtype)d, single, N, again);
        cr_assert_eq(memcmp(bytes, again, N * fg_dtype_size((fg_dtype)d)), 0);
        for (int i = 0; i < N; i++) {
            cr_assert_eq(wide[i], values[i]);
            cr_assert_eq((double)single[i], values[i]);
        }
    }
}

Test(dtype, integers_load_and_store) {
    const double values[] = {0, 7, 2147483647, -1};
    float single[4];
    double wide[4];
    int32_t i32[4];
    int64_t i64[4];
    fg_dtype_store_f64(FG_I32, values, 4, i32);
    fg_dtype_store_f64(FG_I64, values, 4, i64);
    cr_assert_eq(i32[2], 2147483647);
    cr_assert_eq(i64[3], -1);
    fg_dtype_load_f64(FG_I32, i32, 4, wide);
    cr_assert_eq(wide[2], 2147483647);
    fg_dtype_load_f64(FG_I64, i64, 4, wide);
    cr_assert_eq(wide[3], -1);
    fg_dtype_load_f32(FG_I32, i32, 2, single);
    cr_assert_eq(single[1], 7);
    fg_dtype_load_f32(FG_I64, i64, 2, single);
    cr_assert_eq(single[1], 7);
    fg_dtype_store_f32(FG_I32, single, 2, i32);
    fg_dtype_store_f32(FG_I64, single, 2, i64);
    cr_assert(i32[1] == 7 && i64[1] == 7);
}

Test(dtype, names_and_sizes_agree) {
    const size_t sizes[] = {8, 4, 2, 2, 4, 8, 8};
    for (int d = 0; d < FG_DTYPES; d++) {
        fg_dtype found = FG_POINTER;
        cr_assert_eq(fg_dtype_from_name(fg_dtype_name((fg_dtype)d), &found), FG_STATUS_OK);
        cr_assert_eq((int)found, d);
        cr_assert_eq(fg_dtype_size((fg_dtype)d), sizes[d]);
    }
    fg_dtype found = FG_F16;
    cr_assert_eq(fg_dtype_from_name("fp16", &found), FG_STATUS_NOT_FOUND);
    cr_assert(strstr(fg_message(), "fp16") != NULL);
    cr_assert_eq(fg_dtype_size((fg_dtype)77), 0);
    cr_assert_str_eq(fg_dtype_name((fg_dtype)77), "?");
    cr_assert(fg_dtype_format((fg_dtype)77) == NULL);
}
