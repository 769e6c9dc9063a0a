#include "contract/dtype.h"

#include <float.h>
#include <math.h>
#include <string.h>

static const fg_format formats[FG_DTYPES] = {
    [FG_F64] = {"f64", 8, 53, -1022, DBL_MAX}, [FG_F32] = {"f32", 4, 24, -126, FLT_MAX},
    [FG_F16] = {"f16", 2, 11, -14, 65504.0},   [FG_BF16] = {"bf16", 2, 8, -126, 0x1.fep127},
    [FG_I32] = {"i32", 4, 0, 0, 2147483647.0}, [FG_I64] = {"i64", 8, 0, 0, 0x1p63},
    [FG_POINTER] = {"pointer", 8, 0, 0, 0.0},
};

const fg_format *fg_dtype_format(fg_dtype dtype) {
    return (unsigned)dtype < FG_DTYPES ? &formats[dtype] : NULL;
}

size_t fg_dtype_size(fg_dtype dtype) {
    return (unsigned)dtype < FG_DTYPES ? formats[dtype].size : 0;
}

const char *fg_dtype_name(fg_dtype dtype) {
    return (unsigned)dtype < FG_DTYPES ? formats[dtype].name : "?";
}

fg_status fg_dtype_from_name(const char *name, fg_dtype *out) {
    for (int i = 0; i < FG_DTYPES; i++) {
        if (strcmp(name, formats[i].name) == 0) {
            *out = (fg_dtype)i;
            return FG_STATUS_OK;
        }
    }
    return FG_FAIL(FG_STATUS_NOT_FOUND, "found type '%s', expected f64 f32 f16 bf16 i32 or i64",
                   name);
}

static uint32_t bits_of(float value) {
    uint32_t bits = 0;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits) {
    float value = 0;
    memcpy(&value, &bits, sizeof value);
    return value;
}

__attribute__((noinline)) uint16_t fg_bf16_from_f32(float value) {
    uint32_t bits = bits_of(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) {
        return (uint16_t)((bits >> 16) | 0x40u); // quiet, and never an infinity by truncation
    }
    return (uint16_t)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

__attribute__((noinline)) float fg_f32_from_bf16(uint16_t bits) {
    return float_of((uint32_t)bits << 16);
}

__attribute__((noinline)) uint16_t fg_f16_from_f32(float value) {
    uint32_t bits = bits_of(value);
    uint32_t sign = (bits >> 16) & 0x8000u;
    uint32_t rest = bits & 0x7fffffffu;
    if (rest > 0x7f800000u) {
        return (uint16_t)(sign | 0x7e00u | ((rest >> 13) & 0x3ffu));
    }
    if (rest >= 0x477ff000u) { // 65520, half-way past the largest finite, and above
        return (uint16_t)(sign | 0x7c00u);
    }
    if (rest < 0x38800000u) { // below 2^-14: subnormal, unit 2^-24; adding .5 rounds to even
        uint32_t unit = bits_of(float_of(rest) + 0.5f) - 0x3f000000u;
        return (uint16_t)(sign | unit);
    }
    uint32_t rebased = rest - 0x38000000u;
    return (uint16_t)(sign | ((rebased + 0xfffu + ((rebased >> 13) & 1u)) >> 13));
}

__attribute__((noinline)) float fg_f32_from_f16(uint16_t bits) {
    uint32_t sign = (uint32_t)(bits & 0x8000u) << 16;
    uint32_t rest = bits & 0x7fffu;
    if (rest >= 0x7c00u) {
        return float_of(sign | 0x7f800000u | ((rest & 0x3ffu) << 13));
    }
    if (rest < 0x400u) { // subnormal: rest * 2^-24, exact
        return float_of(sign | bits_of((float)rest * 0x1p-24f));
    }
    return float_of(sign | ((rest << 13) + 0x38000000u));
}

double fg_dtype_round(fg_dtype dtype, double value) {
    const fg_format *format = fg_dtype_format(dtype);
    if (dtype == FG_F64 || format == NULL || format->digits == 0 || !isfinite(value)) {
        return value;
    }
    if (dtype == FG_F32) {
        return (double)(float)value;
    }
    if (fabs(value) > 2 * format->max) {
        return copysign(INFINITY, value);
    }
    // Adding 1.5 * 2^52 ulps leaves no bits below one ulp; the hardware rounds to even.
    double magic =
        0x1.8p52 * fg_power_of_two(fg_ulp_exponent(format->digits, format->exponent_min, value));
    double rounded = (value + magic) - magic;
    return fabs(rounded) > format->max ? copysign(INFINITY, value) : copysign(rounded, value);
}

double fg_dtype_ulp(fg_dtype dtype, double value) {
    const fg_format *format = fg_dtype_format(dtype);
    if (format == NULL || format->digits == 0) {
        return 1;
    }
    if (!isfinite(value)) {
        return fabs(value);
    }
    int exponent = fg_ulp_exponent(format->digits, format->exponent_min, value);
    return exponent < -1022 ? ldexp(1, exponent) : fg_power_of_two(exponent);
}

void fg_dtype_load_f64(fg_dtype dtype, const void *from, int64_t n, double *to) {
    switch (dtype) {
    case FG_F64:
        memcpy(to, from, (size_t)n * sizeof *to);
        return;
    case FG_F32:
        for (int64_t i = 0; i < n; i++) {
            to[i] = (double)((const float *)from)[i];
        }
        return;
    case FG_F16:
        for (int64_t i = 0; i < n; i++) {
            to[i] = (double)fg_f32_from_f16(((const uint16_t *)from)[i]);
        }
        return;
    case FG_BF16:
        for (int64_t i = 0; i < n; i++) {
            to[i] = (double)fg_f32_from_bf16(((const uint16_t *)from)[i]);
        }
        return;
    case FG_I32:
        for (int64_t i = 0; i < n; i++) {
            to[i] = (double)((const int32_t *)from)[i];
        }
        return;
    default:
        for (int64_t i = 0; i < n; i++) {
            to[i] = (double)((const int64_t *)from)[i];
        }
    }
}

void fg_dtype_load_f32(fg_dtype dtype, const void *from, int64_t n, float *to) {
    switch (dtype) {
    case FG_F64:
        for (int64_t i = 0; i < n; i++) {
            to[i] = (float)((const double *)from)[i];
        }
        return;
    case FG_F32:
        memcpy(to, from, (size_t)n * sizeof *to);
        return;
    case FG_F16:
        for (int64_t i = 0; i < n; i++) {
            to[i] = fg_f32_from_f16(((const uint16_t *)from)[i]);
        }
        return;
    case FG_BF16:
        for (int64_t i = 0; i < n; i++) {
            to[i] = fg_f32_from_bf16(((const uint16_t *)from)[i]);
        }
        return;
    case FG_I32:
        for (int64_t i = 0; i < n; i++) {
            to[i] = (float)((const int32_t *)from)[i];
        }
        return;
    default:
        for (int64_t i = 0; i < n; i++) {
            to[i] = (float)((const int64_t *)from)[i];
        }
    }
}

void fg_dtype_store_f64(fg_dtype dtype, const double *from, int64_t n, void *to) {
    switch (dtype) {
    case FG_F64:
        memcpy(to, from, (size_t)n * sizeof *from);
        return;
    case FG_F32:
        for (int64_t i = 0; i < n; i++) {
            ((float *)to)[i] = (float)from[i];
        }
        return;
    case FG_F16:
        for (int64_t i = 0; i < n; i++) {
            ((uint16_t *)to)[i] = fg_f16_from_f32((float)fg_dtype_round(FG_F16, from[i]));
        }
        return;
    case FG_BF16:
        for (int64_t i = 0; i < n; i++) {
            ((uint16_t *)to)[i] = fg_bf16_from_f32((float)fg_dtype_round(FG_BF16, from[i]));
        }
        return;
    case FG_I32:
        for (int64_t i = 0; i < n; i++) {
            ((int32_t *)to)[i] = (int32_t)from[i];
        }
        return;
    default:
        for (int64_t i = 0; i < n; i++) {
            ((int64_t *)to)[i] = (int64_t)from[i];
        }
    }
}

void fg_dtype_store_f32(fg_dtype dtype, const float *from, int64_t n, void *to) {
    switch (dtype) {
    case FG_F64:
        for (int64_t i = 0; i < n; i++) {
            ((double *)to)[i] = (double)from[i];
        }
        return;
    case FG_F32:
        memcpy(to, from, (size_t)n * sizeof *from);
        return;
    case FG_F16:
        for (int64_t i = 0; i < n; i++) {
            ((uint16_t *)to)[i] = fg_f16_from_f32(from[i]);
        }
        return;
    case FG_BF16:
        for (int64_t i = 0; i < n; i++) {
            ((uint16_t *)to)[i] = fg_bf16_from_f32(from[i]);
        }
        return;
    case FG_I32:
        for (int64_t i = 0; i < n; i++) {
            ((int32_t *)to)[i] = (int32_t)from[i];
        }
        return;
    default:
        for (int64_t i = 0; i < n; i++) {
            ((int64_t *)to)[i] = (int64_t)from[i];
        }
    }
}
