/* base/variants.h - one loop, compiled for several instruction sets.
 *
 *     VARIANTS(void, add, (const float *x, float *y, size_t n), (x, y, n))
 *     {
 *         for (size_t i = 0; i < n; i++)
 *             y[i] += x[i];
 *     }
 *
 * defines a static function add() that runs the widest variant of its body that
 * processor_level() allows. A function that the body calls is compiled for
 * those instruction sets only if it is inlined: declare it VARIANT_PART. All
 * variants compute the same bits.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BASE_VARIANTS_H
#define BASE_VARIANTS_H

#include "base/processor.h"

#define VARIANT_PART static inline __attribute__((always_inline))

/* ISO C does not allow "return f();" if f() returns nothing, so each result
 * type of a function with variants is listed here. */
#define VARIANT_RETURN_void
#define VARIANT_RETURN_bool     return
#define VARIANT_RETURN__Bool    return /* bool may be a macro for this */
#define VARIANT_RETURN_double   return
#define VARIANT_RETURN_uint64_t return

/* A test defines this to see which variant runs. */
#ifndef VARIANT_RUNS
#define VARIANT_RUNS(level) ((void)0)
#endif

#ifdef __x86_64__
#define VARIANTS(result, name, parameters, arguments)                          \
    VARIANT_PART result name##_body parameters;                                \
    VARIANT_OF(PROCESSOR_AVX512, "avx512f", result, name, _avx512, parameters, \
               arguments)                                                      \
    VARIANT_OF(PROCESSOR_AVX2, "avx2", result, name, _avx2, parameters,        \
               arguments)                                                      \
    static result name parameters                                              \
    {                                                                          \
        enum processor_level level_ = processor_level();                       \
                                                                               \
        if (level_ >= PROCESSOR_AVX512) {                                      \
            VARIANT_RETURN_##result name##_avx512 arguments;                   \
        } else if (level_ >= PROCESSOR_AVX2) {                                 \
            VARIANT_RETURN_##result name##_avx2 arguments;                     \
        } else {                                                               \
            VARIANT_RUNS(PROCESSOR_PLAIN);                                     \
            VARIANT_RETURN_##result name##_body arguments;                     \
        }                                                                      \
    }                                                                          \
    VARIANT_PART result name##_body parameters

#define VARIANT_OF(level, sets, result, name, suffix, parameters, arguments)   \
    __attribute__((target(sets))) static result name##suffix parameters        \
    {                                                                          \
        VARIANT_RUNS(level);                                                   \
        VARIANT_RETURN_##result name##_body arguments;                         \
    }
#else
#define VARIANTS(result, name, parameters, arguments)                          \
    static result name parameters
#endif

#endif
