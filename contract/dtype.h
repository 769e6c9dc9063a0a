#ifndef FG_CONTRACT_DTYPE_H
#define FG_CONTRACT_DTYPE_H

#include "contract/status.h"
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Element types; numbers never change. */
typedef enum fg_dtype {
    FG_F64 = 0,
    FG_F32 = 1,
    FG_F16 = 2,
    FG_BF16 = 3,
    FG_I32 = 4,
    FG_I64 = 5,
    FG_POINTER = 6, /* one address per expert */
    FG_DTYPES = 7,
} fg_dtype;

/* Facts of a binary floating format (IEEE 754 and bfloat16). */
typedef struct fg_format {
    const char *name;
    size_t size;      /* bytes */
    int digits;       /* significand bits with the hidden one; 0 for integers */
    int exponent_min; /* exponent e of the smallest normal 2^e */
    double max;       /* largest finite */
} fg_format;

/* 2^exponent for exponents of normal float64 numbers; half the cost of ldexp in hot loops. */
static inline double fg_power_of_two(int exponent) {
    uint64_t bits = (uint64_t)(exponent + 1023) << 52;
    double value = 0;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Exponent of the ulp at |value|, finite, of a format with these digits and this exponent_min:
 * floor(log2 |value|) - digits + 1, not below the subnormals'. Inline for loops over elements. */
static inline int fg_ulp_exponent(int digits, int exponent_min, double value) {
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof bits);
    int exponent = (int)(bits >> 52 & 0x7ff) - 1023;
    return (exponent < exponent_min ? exponent_min : exponent) - digits + 1;
}

/* Facts of a type; a number that is no type gives NULL. Static storage. */
const fg_format *fg_dtype_format(fg_dtype dtype);

/* Size in bytes; 0 for a number that is no type. */
size_t fg_dtype_size(fg_dtype dtype);
const char *fg_dtype_name(fg_dtype dtype);
fg_status fg_dtype_from_name(const char *name, fg_dtype *out);

/* Conversions, one rounding to nearest even; overflow gives infinity, NaN stays NaN, the sign
 * stays. They live in their own translation unit and are never inlined (GCC 12.2 miscompiles the
 * usual bf16 masking idiom when it is). */
uint16_t fg_bf16_from_f32(float value);
float fg_f32_from_bf16(uint16_t bits);
uint16_t fg_f16_from_f32(float value);
float fg_f32_from_f16(uint16_t bits);

/* Rounds a float64 to the nearest value of a floating type, ties to even, once. */
double fg_dtype_round(fg_dtype dtype, double value);

/* Distance from |value| to the next larger magnitude of the type: ulp at |value|; never below the
 * smallest subnormal; infinity stays infinity. */
double fg_dtype_ulp(fg_dtype dtype, double value);

/* Reads n elements of a floating or integer type into float64 or float32; exact for f32, f16,
 * bf16; a float64 read as float32 is rounded once. */
void fg_dtype_load_f64(fg_dtype dtype, const void *from, int64_t n, double *to);
void fg_dtype_load_f32(fg_dtype dtype, const void *from, int64_t n, float *to);

/* Writes n elements, each rounded once to the type. */
void fg_dtype_store_f64(fg_dtype dtype, const double *from, int64_t n, void *to);
void fg_dtype_store_f32(fg_dtype dtype, const float *from, int64_t n, void *to);

#endif
